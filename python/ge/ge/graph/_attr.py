# SPDX-License-Identifier: Apache-2.0
"""Values of attributes: what kind they are in Python, and how they reach the library and come back."""

import ctypes
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from ge import _check as check
from ge._native import lib

from .tensor import Tensor
from .types import AttrValueType as VT
from .types import DataType


class NativeAttr(ctypes.Structure):
    """gepy::Attr of python/ge/native/wrapper.h."""

    _fields_ = [("type", ctypes.c_int32), ("count", ctypes.c_int64), ("ints", ctypes.POINTER(ctypes.c_int64)),
                ("floats", ctypes.POINTER(ctypes.c_float)), ("texts", ctypes.POINTER(ctypes.c_char_p)),
                ("tensors", ctypes.POINTER(ctypes.c_void_p)), ("lengths", ctypes.POINTER(ctypes.c_int64))]


class _Kind(NamedTuple):
    """How one value is written and read."""

    field: str  # of NativeAttr
    item: Any  # what an element of the field is
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _whole(value: Any) -> int:
    number = int(value)
    check.integer("attribute", check.INT64_MIN, check.INT64_MAX, value=number)
    return number


def _utf8(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    check.text("attribute", value=value)
    return value.encode("utf-8")


def _address(value: Any) -> Optional[int]:
    check.instance("attribute", Tensor, value=value)
    return value._native


_KINDS: Dict[VT, _Kind] = {
    VT.VT_INT: _Kind("ints", ctypes.c_int64, _whole, int),
    VT.VT_BOOL: _Kind("ints", ctypes.c_int64, _whole, bool),
    VT.VT_DATA_TYPE: _Kind("ints", ctypes.c_int64, _whole, DataType),
    VT.VT_FLOAT: _Kind("floats", ctypes.c_float, float, float),
    VT.VT_STRING: _Kind("texts", ctypes.c_char_p, _utf8, lambda words: words.decode("utf-8", errors="replace")),
    VT.VT_TENSOR: _Kind("tensors", ctypes.c_void_p, _address, Tensor._adopt),
}
# Python type: kind. A bool and a DataType are integers too, so the order counts.
_TYPES = ((str, VT.VT_STRING), (float, VT.VT_FLOAT), (bool, VT.VT_BOOL), (DataType, VT.VT_DATA_TYPE), (int, VT.VT_INT),
          (Tensor, VT.VT_TENSOR))
_ADVICE = "a str, int, float, bool, DataType or Tensor, or a list of one of them or of lists of int, not empty"


def kind_of(where: str, value: Any) -> VT:
    """The kind of attribute that a Python value makes."""
    values = value if isinstance(value, list) else [value]
    for item, kind in _TYPES:
        if values and all(isinstance(one, item) for one in values):
            return VT(VT.VT_LIST_BASE + kind) if isinstance(value, list) else kind
    if values and all(isinstance(row, list) and all(isinstance(one, int) for one in row) for row in values):
        return VT.VT_LIST_LIST_INT
    raise check.refusal(ValueError, where, "value", value, _ADVICE)


def encode(kind: VT, value: Any) -> NativeAttr:
    """The value as the library takes it. What the fields point to lives as long as the result."""
    if kind == VT.VT_LIST_LIST_INT:
        attr = NativeAttr(type=kind, count=len(value))
        kept = [_point(attr, "ints", ctypes.c_int64, [_whole(one) for row in value for one in row]),
                _point(attr, "lengths", ctypes.c_int64, [len(row) for row in value])]
    else:
        values = list(value) if kind > VT.VT_LIST_BASE else [value]
        how = _KINDS[_single(kind)]
        attr = NativeAttr(type=kind, count=len(values))
        kept = [_point(attr, how.field, how.item, [how.write(one) for one in values]), values]
    attr.kept = kept
    return attr


def decode(where: str, address: int) -> Any:
    """The value that the library handed out, whose memory it gets back."""
    try:
        attr = ctypes.cast(address, ctypes.POINTER(NativeAttr)).contents
        kind = VT(attr.type)
        if kind == VT.VT_LIST_LIST_INT:
            return _rows(attr)
        how = _KINDS.get(_single(kind))
        if how is None or attr.count == 0 and kind < VT.VT_LIST_BASE:
            raise RuntimeError(f"{where}: Python has no value for an attribute of {kind.name}; leave it to the engine")
        values = [how.read(getattr(attr, how.field)[place]) for place in range(attr.count)]
        return values if kind > VT.VT_LIST_BASE else values[0]
    finally:
        lib.attr_destroy(address)


def _single(kind: VT) -> VT:
    return VT(kind - VT.VT_LIST_BASE) if kind > VT.VT_LIST_BASE else kind


def _point(attr: NativeAttr, field: str, item: Any, values: List[Any]) -> Any:
    """Lets the field point to an array of the values, which is the caller's to keep."""
    made = (item * len(values))(*values)
    setattr(attr, field, ctypes.cast(made, ctypes.POINTER(item)))
    return made


def _rows(attr: NativeAttr) -> List[List[int]]:
    rows, first = [], 0
    for row in range(attr.count):
        rows.append(attr.ints[first:first + attr.lengths[row]])
        first += attr.lengths[row]
    return rows

# SPDX-License-Identifier: Apache-2.0
"""Values of attributes: what they are in Python, and how they reach the library."""

import ctypes
from typing import Any, Callable, List, Optional, Tuple

from ge._native import int64s, lib

from .types import AttrValueType as VT, DataType


class NativeAttr(ctypes.Structure):
    """gepy::Attr of python/ge/native/wrapper.h."""

    _fields_ = [("type", ctypes.c_int32), ("count", ctypes.c_int64), ("ints", ctypes.POINTER(ctypes.c_int64)),
                ("floats", ctypes.POINTER(ctypes.c_float)), ("texts", ctypes.POINTER(ctypes.c_char_p)),
                ("tensors", ctypes.POINTER(ctypes.c_void_p)), ("lengths", ctypes.POINTER(ctypes.c_int64))]


_INTEGERS = (VT.VT_INT, VT.VT_BOOL, VT.VT_DATA_TYPE)


def encode(kind: VT, value: Any) -> NativeAttr:
    """`value` as the library takes it. What the fields point to lives as long as the result."""
    is_list = kind >= VT.VT_LIST_BASE or kind == VT.VT_LIST_LIST_INT
    single = VT(kind - VT.VT_LIST_BASE) if kind > VT.VT_LIST_BASE else kind
    values = list(value) if is_list else [value]
    attr = NativeAttr(type=kind, count=len(values))
    kept: List[Any] = []

    def keep(field: str, made: ctypes.Array, item: Any) -> None:
        kept.append(made)
        setattr(attr, field, ctypes.cast(made, ctypes.POINTER(item)))

    if kind == VT.VT_LIST_LIST_INT:
        keep("ints", int64s([int(one) for row in values for one in row]), ctypes.c_int64)
        keep("lengths", int64s([len(row) for row in values]), ctypes.c_int64)
    elif single in _INTEGERS:
        keep("ints", int64s([int(one) for one in values]), ctypes.c_int64)
    elif single == VT.VT_FLOAT:
        keep("floats", (ctypes.c_float * len(values))(*[float(one) for one in values]), ctypes.c_float)
    elif single == VT.VT_STRING:
        texts = [one if isinstance(one, bytes) else one.encode("utf-8") for one in values]
        keep("texts", (ctypes.c_char_p * len(texts))(*texts), ctypes.c_char_p)
    elif single == VT.VT_TENSOR:
        keep("tensors", (ctypes.c_void_p * len(values))(*[getattr(one._handle, "value", one._handle) for one in values]), ctypes.c_void_p)
        kept.append(values)
    else:
        raise ValueError(f"Unsupported attribute type: {kind!r}")
    attr.kept = kept
    return attr


def decode(address: int) -> Tuple[VT, Any]:
    """The kind and the value of what the library handed out, which is given back."""
    from .tensor import Tensor

    try:
        attr = ctypes.cast(address, ctypes.POINTER(NativeAttr)).contents
        kind = VT(attr.type)
        single = VT(kind - VT.VT_LIST_BASE) if kind > VT.VT_LIST_BASE else kind
        count = range(attr.count)
        if kind == VT.VT_LIST_LIST_INT:
            rows, place = [], 0
            for row in count:
                rows.append(attr.ints[place:place + attr.lengths[row]])
                place += attr.lengths[row]
            return kind, rows
        if single == VT.VT_STRING:
            values: List[Any] = [attr.texts[place].decode("utf-8", errors="replace") for place in count]
        elif single == VT.VT_FLOAT:
            values = [attr.floats[place] for place in count]
        elif single == VT.VT_TENSOR:
            values = [Tensor._create_from(attr.tensors[place]) for place in count]
        elif single in _INTEGERS:
            convert = {VT.VT_BOOL: bool, VT.VT_DATA_TYPE: DataType}.get(single, int)
            values = [convert(attr.ints[place]) for place in count]
        else:
            raise RuntimeError(f"Unsupported attribute type: {kind.name}")
        return kind, values if kind > VT.VT_LIST_BASE else values[0]
    finally:
        lib.attr_destroy(address)


_SINGLE = ((str, VT.VT_STRING, "a string"), (float, VT.VT_FLOAT, "a number"), (bool, VT.VT_BOOL, "a boolean"),
           (DataType, VT.VT_DATA_TYPE, "a DataType"), (int, VT.VT_INT, "an integer"))
_LISTS = ((float, VT.VT_LIST_FLOAT), (bool, VT.VT_LIST_BOOL), (DataType, VT.VT_LIST_DATA_TYPE), (int, VT.VT_LIST_INT), (str, VT.VT_LIST_STRING))


def kind_of(value: Any) -> VT:
    """The kind of attribute that a Python value makes: text, numbers, types, tensors, and lists of one of them."""
    from .tensor import Tensor

    if isinstance(value, list):
        if not value:
            raise ValueError("Empty list is not supported")
        for item, kind in _LISTS:
            if all(isinstance(one, item) for one in value):
                return kind
        if all(isinstance(one, Tensor) for one in value):
            return VT.VT_LIST_TENSOR
        if all(isinstance(row, list) and all(isinstance(one, int) for one in row) for row in value):
            return VT.VT_LIST_LIST_INT
    elif isinstance(value, Tensor):
        return VT.VT_TENSOR
    else:
        for item, kind, _ in _SINGLE:
            if isinstance(value, item):
                return kind
    raise ValueError(f"Unsupported attribute type: {type(value)} for value: {value}")


class _AttrValue:
    """One value with its kind. get_<kind> refuses what is of another kind."""

    def __init__(self) -> None:
        self._kind = VT.VT_NONE
        self._value: Any = None

    @property
    def value_type(self) -> VT:
        return self._kind

    def get_value_type(self) -> VT:
        return self._kind

    def get_value(self) -> Any:
        if self._kind == VT.VT_NONE:
            raise RuntimeError(f"Unsupported attribute type: {self._kind}")
        return self._value

    def set_value(self, value: Any) -> None:
        self._set(kind_of(value), value)

    def _set(self, kind: VT, value: Any) -> bool:
        self._kind, self._value = kind, value
        return True

    def _get(self, kind: VT) -> Any:
        if self._kind != kind:
            raise RuntimeError(f"Failed to get {kind.name[3:].lower()} value; the value is {self._kind.name}")
        return self._value

    def __str__(self) -> str:
        return f"AttrValue(type: {self._kind.name[3:].lower()}, value: {self._value!r})"

    __repr__ = __str__


def _setter(kind: VT, items: tuple, words: str, is_list: bool, convert: Optional[type]) -> Callable[["_AttrValue", Any], bool]:
    def set_one(self: _AttrValue, value: Any) -> bool:
        if not isinstance(value, items):
            raise TypeError(f"Value must be {words}")
        return self._set(kind, convert(value) if convert else value)

    def set_list(self: _AttrValue, values: List[Any]) -> bool:
        if not isinstance(values, list):
            raise TypeError("Values must be a list")
        if not values:
            raise ValueError("Empty list is not supported")
        if not all(isinstance(value, items) for value in values):
            raise TypeError(f"All values must be {words}")
        return self._set(kind, [convert(value) for value in values] if convert else list(values))

    return set_list if is_list else set_one


def _define() -> None:
    from .tensor import Tensor

    kinds = (("string", str, "a string", "strings", None), ("float", (int, float), "a number", "numbers", float),
             ("bool", bool, "a boolean", "booleans", None), ("int", int, "an integer", "integers", None),
             ("data_type", DataType, "a DataType", "DataTypes", None), ("tensor", Tensor, "a Tensor", "Tensors", None))
    for name, items, one, many, convert in kinds:
        for prefix, words in (("", one), ("list_", many)):
            kind = VT[f"VT_{prefix}{name}".upper()]
            setattr(_AttrValue, f"set_{prefix}{name}", _setter(kind, items, words, bool(prefix), convert))
            setattr(_AttrValue, f"get_{prefix}{name}", lambda self, kind=kind: self._get(kind))


_define()

# SPDX-License-Identifier: Apache-2.0
"""Between lists of Python numbers and the bytes of a tensor."""

import array
import struct
from typing import Any, List, Optional, Sequence, Union

from .types import DataType

Number = Union[int, float]
Nested = Union[Number, List["Nested"]]

# Type: (code of array and struct, bytes of one value)
_CODES = {
    DataType.DT_FLOAT: ("f", 4), DataType.DT_DOUBLE: ("d", 8), DataType.DT_INT8: ("b", 1), DataType.DT_UINT8: ("B", 1), DataType.DT_INT16: ("h", 2),
    DataType.DT_UINT16: ("H", 2), DataType.DT_INT32: ("i", 4), DataType.DT_UINT32: ("I", 4), DataType.DT_INT64: ("q", 8), DataType.DT_UINT64: ("Q", 8),
    DataType.DT_BOOL: ("B", 1), DataType.DT_COMPLEX64: ("f", 8), DataType.DT_COMPLEX128: ("d", 16), DataType.DT_FLOAT16: ("H", 2),
    DataType.DT_BF16: ("H", 2),
}
_FROM_LISTS = (DataType.DT_FLOAT, DataType.DT_FLOAT16, DataType.DT_INT8, DataType.DT_UINT8, DataType.DT_INT16, DataType.DT_UINT16, DataType.DT_INT32,
               DataType.DT_UINT32, DataType.DT_INT64, DataType.DT_UINT64)


def value_bytes(data_type: DataType) -> Optional[int]:
    """Of one value; None for types that have no counterpart in Python."""
    return _CODES[data_type][1] if data_type in _CODES else None


def to_bytes(data: Sequence[Number], data_type: DataType) -> bytes:
    if data_type == DataType.DT_BOOL and all(isinstance(value, bool) for value in data):
        return bytes(data)
    if data_type == DataType.DT_DOUBLE:
        raise RuntimeError("DT_DOUBLE is not supported in python Tensor constructor")
    if data_type not in _FROM_LISTS:
        raise RuntimeError(f"Failed to create Tensor with data type: {data_type}")
    code = _CODES[data_type][0]
    if data_type == DataType.DT_FLOAT16:
        return b"".join(_half(float(value)) for value in data)
    if data_type == DataType.DT_FLOAT:
        return array.array(code, [float(value) for value in data]).tobytes()
    try:
        return array.array(code, [int(value) for value in data]).tobytes()
    except OverflowError as error:
        raise ValueError(f"a value does not fit {data_type.name}: {error}") from error


def _half(value: float) -> bytes:
    try:
        return struct.pack("<e", value)
    except OverflowError:  # too large is infinite, as in a conversion on the device
        return struct.pack("<e", float("inf") if value > 0 else float("-inf"))


def from_bytes(data: bytes, data_type: DataType) -> List[Any]:
    if data_type not in _CODES:
        raise RuntimeError(f"Failed to get Tensor data; a {data_type.name} has no counterpart in Python")
    if data_type == DataType.DT_FLOAT16:
        return [value for value, in struct.iter_unpack("<e", data)]
    values = array.array(_CODES[data_type][0])
    values.frombytes(data)
    if data_type == DataType.DT_BF16:
        return [value for value, in struct.iter_unpack("<f", array.array("I", [bits << 16 for bits in values]).tobytes())]
    if data_type == DataType.DT_BOOL:
        return [value != 0 for value in values]
    if data_type in (DataType.DT_COMPLEX64, DataType.DT_COMPLEX128):
        return [complex(real, imaginary) for real, imaginary in zip(values[::2], values[1::2])]
    return values.tolist()


def nest(values: List[Any], shape: Sequence[int]) -> Nested:
    """[1, 2, 3, 4] as [[1, 2], [3, 4]] for the shape [2, 2]; the value itself for []."""
    if not shape:
        if len(values) != 1:
            raise ValueError(f"Scalar tensor should contain exactly one element, got {len(values)}")
        return values[0]
    size = 1
    for dim in shape:
        size *= dim
    if len(values) != size:
        raise ValueError(f"Length of list {len(values)} does not match shape {size}")
    if size == 0:  # the dimensions before the first 0 are there
        return [nest([], shape[1:]) for _ in range(shape[0])] if shape[0] > 0 else []
    for dim in reversed(shape[1:]):
        values = [values[start:start + dim] for start in range(0, len(values), dim)]
    return values

# SPDX-License-Identifier: Apache-2.0
"""Between lists of Python numbers and the bytes of a tensor."""

import array
import struct
from typing import Any, Callable, List, Optional, Sequence, Union

from ge import _check as check

from .types import DataType

Number = Union[int, float]
Nested = Union[Number, List["Nested"]]

# Integers as array knows them.
_WHOLE = {DataType.DT_INT8: "b", DataType.DT_UINT8: "B", DataType.DT_INT16: "h", DataType.DT_UINT16: "H",
          DataType.DT_INT32: "i", DataType.DT_UINT32: "I", DataType.DT_INT64: "q", DataType.DT_UINT64: "Q"}
# Bytes of one value, of every type that Python has numbers for.
_BYTES = {**{data_type: array.array(code).itemsize for data_type, code in _WHOLE.items()},
          DataType.DT_BOOL: 1, DataType.DT_FLOAT16: 2, DataType.DT_BF16: 2, DataType.DT_FLOAT: 4,
          DataType.DT_DOUBLE: 8, DataType.DT_COMPLEX64: 8, DataType.DT_COMPLEX128: 16}


def bytes_needed(data_type: DataType, shape: Sequence[int]) -> Optional[int]:
    """By the values of a tensor; None where the type has no counterpart in Python or a dimension is not known."""
    if data_type not in _BYTES or any(dim < 0 for dim in shape):
        return None
    return _BYTES[data_type] * check.product(list(shape))


def pack(where: str, values: List[Any], data_type: DataType) -> bytes:
    """The bytes of a list. Numbers are converted: 2.7 is 2 as an integer, what is too large for a half is infinite."""
    if data_type in _WHOLE:
        return _converted(where, values, data_type, int, lambda whole: array.array(_WHOLE[data_type], whole).tobytes())
    if data_type == DataType.DT_FLOAT:
        return _converted(where, values, data_type, float, lambda numbers: array.array("f", numbers).tobytes())
    if data_type == DataType.DT_FLOAT16:
        return _converted(where, values, data_type, float, lambda numbers: b"".join(map(_half, numbers)))
    if data_type == DataType.DT_BOOL and all(isinstance(value, bool) for value in values):
        return bytes(values)
    name = DataType(data_type).name
    if data_type == DataType.DT_BOOL:
        raise RuntimeError(f"{where}: data has a value that is not a bool; give True and False for {name}")
    raise RuntimeError(f"{where}: a list cannot become {name}; give the bytes in a file, or one of DT_BOOL, DT_FLOAT, "
                       f"DT_FLOAT16 and the integers of 8 to 64 bits as data_type")


def _converted(where: str, values: List[Any], data_type: DataType, convert: type,
               write: Callable[[List[Any]], bytes]) -> bytes:
    try:
        return write([convert(value) for value in values])
    except (TypeError, ValueError, OverflowError):
        pass  # told with the value that caused it
    for place, value in enumerate(values):
        try:
            write([convert(value)])
        except TypeError:
            raise check.refusal(TypeError, where, f"data[{place}]", value, "a number") from None
        except (ValueError, OverflowError) as error:
            give = f"a number that fits {data_type.name}"
            raise check.refusal(ValueError, where, f"data[{place}]", value, give) from error
    raise AssertionError(f"{where}: each value of data can be converted, but not all of them")


def _half(value: float) -> bytes:
    try:
        return struct.pack("<e", value)
    except OverflowError:  # as in a conversion on the device
        return struct.pack("<e", float("inf") if value > 0 else float("-inf"))


def unpack(where: str, data: bytes, data_type: DataType) -> List[Any]:
    if data_type in _WHOLE:
        return _read(_WHOLE[data_type], data)
    if data_type in (DataType.DT_FLOAT, DataType.DT_DOUBLE):
        return _read("f" if data_type == DataType.DT_FLOAT else "d", data)
    if data_type == DataType.DT_BOOL:
        return [value != 0 for value in data]
    if data_type == DataType.DT_FLOAT16:
        return [value for value, in struct.iter_unpack("<e", data)]
    if data_type == DataType.DT_BF16:  # the upper half of a float
        return _read("f", array.array("I", [half << 16 for half in _read("H", data)]).tobytes())
    if data_type in (DataType.DT_COMPLEX64, DataType.DT_COMPLEX128):
        parts = _read("f" if data_type == DataType.DT_COMPLEX64 else "d", data)
        return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2])]
    raise RuntimeError(f"{where}: Python has no numbers like {data_type.name}; let the graph cast it to DT_FLOAT")


def _read(code: str, data: bytes) -> List[Any]:
    values = array.array(code)
    values.frombytes(data)
    return values.tolist()


def nest(where: str, values: List[Any], shape: Sequence[int]) -> Nested:
    """[1, 2, 3, 4] as [[1, 2], [3, 4]] for the shape [2, 2]; the value itself for []."""
    wanted = check.product(list(shape))
    if len(values) != wanted:
        raise ValueError(f"{where}: the tensor has {len(values)} values, but its shape {list(shape)} has {wanted}; "
                         f"make it with a shape that fits")
    return _rows(values, list(shape))


def _rows(values: List[Any], shape: List[int]) -> Nested:
    if not shape:
        return values[0]
    length = len(values) // shape[0] if shape[0] else 0
    return [_rows(values[row * length:(row + 1) * length], shape[1:]) for row in range(shape[0])]

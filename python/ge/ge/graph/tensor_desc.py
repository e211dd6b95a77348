# SPDX-License-Identifier: Apache-2.0
"""Shapes and descriptions of tensors."""

from typing import List, NoReturn, Optional

from ge._native import dims as read_dims, failed, int64s, lib

from .types import DataType, Format

UNKNOWN_DIM = -1
UNKNOWN_DIM_NUM = -2
UNKNOWN_DIM_SIZE = -1


def _checked_dims(dims: Optional[List[int]], name: str) -> List[int]:
    if dims is None:
        return []
    if not isinstance(dims, list) or not all(isinstance(dim, int) for dim in dims):
        raise TypeError(f"{name} must be a list of integers")
    return dims


class Shape(list):
    """The dimensions as a list; [] is a scalar. -1 stands for one that is not known, -2 for not even knowing how many there are."""

    def __init__(self, dims: Optional[List[int]] = None) -> None:
        super().__init__(_checked_dims(dims, "dims"))

    def get_shape_size(self) -> int:
        """The product; -1 when a dimension is not known, 0 for a scalar."""
        if not self:
            return 0
        if self.is_unknown_shape():
            return UNKNOWN_DIM_SIZE
        size = 1
        for dim in self:
            size *= dim
        return size

    def is_unknown_shape(self) -> bool:
        return any(dim in (UNKNOWN_DIM, UNKNOWN_DIM_NUM) for dim in self)


class TensorDesc:
    """Shape, format and type, each also as it was before the engine changed it (origin)."""

    _owns_handle = False

    def __init__(self, shape: Optional[List[int]] = None, format: Format = Format.FORMAT_ND, data_type: DataType = DataType.DT_FLOAT) -> None:
        self._handle: Optional[int] = None
        dims = _checked_dims(shape, "shape")
        if not isinstance(format, Format):
            raise TypeError("Format must be a Format")
        if not isinstance(data_type, DataType):
            raise TypeError("Data type must be a DataType")
        self._handle = lib.desc_create(int64s(dims), len(dims), format, data_type)
        if not self._handle:
            raise RuntimeError("Failed to create TensorDesc")
        self._owns_handle = True

    def __del__(self) -> None:
        if self._owns_handle:
            self._owns_handle = False
            lib.desc_destroy(self._handle)
            self._handle = None

    def __copy__(self) -> NoReturn:
        raise RuntimeError("TensorDesc does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("TensorDesc does not support deepcopy")

    def __repr__(self) -> str:
        return f"TensorDesc(shape={list(self.shape)}, format={self.format}, data_type={self.data_type})"

    @classmethod
    def _create_from(cls, handle: int) -> "TensorDesc":
        if not handle:
            raise ValueError("TensorDesc pointer cannot be None")
        made = cls.__new__(cls)
        made._handle = handle
        made._owns_handle = True
        return made

    @property
    def shape(self) -> Shape:
        return self.get_shape()

    @property
    def origin_shape(self) -> Shape:
        return self.get_origin_shape()

    @property
    def format(self) -> Format:
        return self.get_format()

    @property
    def origin_format(self) -> Format:
        return self.get_origin_format()

    @property
    def data_type(self) -> DataType:
        return self.get_data_type()

    def get_shape(self) -> Shape:
        return self._get_shape(False, "shape")

    def set_shape(self, shape: List[int]) -> "TensorDesc":
        return self._set_shape(False, shape, "shape")

    def get_origin_shape(self) -> Shape:
        return self._get_shape(True, "origin shape")

    def set_origin_shape(self, shape: List[int]) -> "TensorDesc":
        return self._set_shape(True, shape, "origin shape")

    def get_format(self) -> Format:
        return Format(lib.desc_get_format(self._handle, False))

    def set_format(self, format: Format) -> "TensorDesc":
        return self._set_format(False, format, "format")

    def get_origin_format(self) -> Format:
        return Format(lib.desc_get_format(self._handle, True))

    def set_origin_format(self, format: Format) -> "TensorDesc":
        return self._set_format(True, format, "origin format")

    def get_data_type(self) -> DataType:
        return DataType(lib.desc_get_type(self._handle))

    def set_data_type(self, data_type: DataType) -> "TensorDesc":
        if not isinstance(data_type, DataType):
            raise TypeError("Data type must be a DataType")
        if lib.desc_set_type(self._handle, data_type) != 0:
            raise failed(f"Failed to set data type {data_type}")
        return self

    def _get_shape(self, origin: bool, name: str) -> Shape:
        dims = read_dims(lib.desc_get_shape, self._handle, origin)
        if dims is None:
            raise failed(f"Failed to get {name}")
        return Shape(dims)

    def _set_shape(self, origin: bool, shape: List[int], name: str) -> "TensorDesc":
        dims = _checked_dims(shape, name)
        if lib.desc_set_shape(self._handle, origin, int64s(dims), len(dims)) != 0:
            raise failed(f"Failed to set {name}")
        return self

    def _set_format(self, origin: bool, format: Format, name: str) -> "TensorDesc":
        if not isinstance(format, Format):
            raise TypeError("Format must be a Format")
        if lib.desc_set_format(self._handle, origin, format) != 0:
            raise failed(f"Failed to set {name} {format}")
        return self

# SPDX-License-Identifier: Apache-2.0
"""Shapes, and descriptions of tensors."""

from typing import List, Optional

from ge import _check as check
from ge._native import dims as read_dims
from ge._native import failed, int64s, lib
from ge._object import NativeObject

from .types import DataType, Format

UNKNOWN_DIM = -1
UNKNOWN_DIM_NUM = -2
UNKNOWN_DIM_SIZE = -1


class Shape(list):
    """Dimensions; [] is a scalar. -1 is a dimension that is not known, -2 a number of dimensions that is not."""

    def __init__(self, dims: Optional[List[int]] = None) -> None:
        super().__init__(check.dims_or_scalar("Shape", dims=dims))

    def get_shape_size(self) -> int:
        """How many values there are: -1 where that is not known. A scalar gives 0."""
        if self.is_unknown_shape():
            return UNKNOWN_DIM_SIZE
        return check.product(self) if self else 0

    def is_unknown_shape(self) -> bool:
        return UNKNOWN_DIM in self or UNKNOWN_DIM_NUM in self


class TensorDesc(NativeObject):
    """Type, shape and format of a tensor. The origin ones are the program's, before the engine chose its own."""

    _release = staticmethod(lib.desc_destroy)

    def __init__(self, shape: Optional[List[int]] = None, format: Format = Format.FORMAT_ND,
                 data_type: DataType = DataType.DT_FLOAT) -> None:
        dims = check.dims_or_scalar("TensorDesc", shape=shape)
        check.instance("TensorDesc", Format, format=format)
        check.instance("TensorDesc", DataType, data_type=data_type)
        self._native = lib.desc_create(int64s(dims), len(dims), format, data_type)
        if not self._native:
            raise failed("TensorDesc: the library could not make one")

    def __repr__(self) -> str:
        return f"TensorDesc(shape={list(self.shape)}, format={self.format.name}, data_type={self.data_type.name})"

    @property
    def shape(self) -> Shape:
        return self._read_shape("shape", False)

    @property
    def origin_shape(self) -> Shape:
        return self._read_shape("origin_shape", True)

    @property
    def format(self) -> Format:
        return self._read_format("format", False)

    @property
    def origin_format(self) -> Format:
        return self._read_format("origin_format", True)

    @property
    def data_type(self) -> DataType:
        number = lib.desc_get_type(self._native)
        if number < 0:
            raise failed("TensorDesc.data_type: there is no description")
        return DataType(number)

    def get_shape(self) -> Shape:
        return self.shape

    def get_origin_shape(self) -> Shape:
        return self.origin_shape

    def get_format(self) -> Format:
        return self.format

    def get_origin_format(self) -> Format:
        return self.origin_format

    def get_data_type(self) -> DataType:
        return self.data_type

    # Setters return the description, so that they can be chained.
    def set_shape(self, shape: List[int]) -> "TensorDesc":
        return self._write_shape("TensorDesc.set_shape", False, shape)

    def set_origin_shape(self, shape: List[int]) -> "TensorDesc":
        return self._write_shape("TensorDesc.set_origin_shape", True, shape)

    def set_format(self, format: Format) -> "TensorDesc":
        return self._write_format("TensorDesc.set_format", False, format)

    def set_origin_format(self, format: Format) -> "TensorDesc":
        return self._write_format("TensorDesc.set_origin_format", True, format)

    def set_data_type(self, data_type: DataType) -> "TensorDesc":
        where = "TensorDesc.set_data_type"
        check.instance(where, DataType, data_type=data_type)
        if lib.desc_set_type(self._native, data_type) != 0:
            raise failed(f"{where}: {data_type.name} was refused")
        return self

    def _read_shape(self, what: str, origin: bool) -> Shape:
        found = read_dims(lib.desc_get_shape, self._native, origin)
        if found is None:
            raise failed(f"TensorDesc.{what}: there is no description")
        return Shape(found)

    def _read_format(self, what: str, origin: bool) -> Format:
        number = lib.desc_get_format(self._native, origin)
        if number < 0:
            raise failed(f"TensorDesc.{what}: there is no description")
        return Format(number)

    def _write_shape(self, where: str, origin: bool, shape: List[int]) -> "TensorDesc":
        check.dims(where, shape=shape)
        if lib.desc_set_shape(self._native, origin, int64s(shape), len(shape)) != 0:
            raise failed(f"{where}: {shape} was refused")
        return self

    def _write_format(self, where: str, origin: bool, format: Format) -> "TensorDesc":
        check.instance(where, Format, format=format)
        if lib.desc_set_format(self._native, origin, format) != 0:
            raise failed(f"{where}: {format.name} was refused")
        return self

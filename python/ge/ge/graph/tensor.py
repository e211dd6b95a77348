# SPDX-License-Identifier: Apache-2.0
"""Tensors: what goes into a run and comes out of it, and the values of constants."""

import ctypes
import os
import stat
from enum import IntEnum
from typing import Callable, List, Optional, Union

from ge import _check as check
from ge._native import failed, lib
from ge._object import Part

from . import _values
from .tensor_desc import Shape, TensorDesc
from .types import DataType, Format, Placement


class Tensor(Part):
    """Values with their type, shape and format, from a flat list of numbers or a file of raw bytes; or empty.

    Without a shape it is a scalar. A list may be longer or shorter than the shape: the run refuses such a tensor.
    """

    _release = staticmethod(lib.tensor_destroy)

    def __init__(
        self,
        data: Optional[Union[List[int], List[float], List[bool]]] = None,
        file_path: Optional[str] = None,
        data_type: DataType = DataType.DT_FLOAT,
        format: Format = Format.FORMAT_ND,
        shape: Optional[List[int]] = None,
        placement: Placement = Placement.PLACEMENT_HOST,
    ) -> None:
        dims = check.dims_or_scalar("Tensor", shape=shape)
        check.instance("Tensor", DataType, data_type=data_type)
        check.instance("Tensor", Format, format=format)
        check.instance("Tensor", Placement, placement=placement)
        values = _bytes_of(data, file_path, data_type, dims)
        if values is None:
            self._native = lib.tensor_create()
        else:
            desc = TensorDesc(dims, format, data_type)
            self._native = lib.tensor_create_with(desc._native, values, len(values))
        if not self._native:
            raise failed("Tensor: the library could not make one")
        if placement != self.placement:
            self.to_device()

    def __str__(self) -> str:
        on_host = self.placement == Placement.PLACEMENT_HOST
        values = f"data={self.data}" if on_host else f"placement={self.placement.name}"
        return f"Tensor(data_type={self.data_type.name}, format={self.format.name}, shape={list(self.shape)}, {values})"

    @property
    def format(self) -> Format:
        return self.get_tensor_desc().format

    @property
    def data_type(self) -> DataType:
        return self.get_tensor_desc().data_type

    @property
    def shape(self) -> Shape:
        return self.get_tensor_desc().shape

    @property
    def placement(self) -> Placement:
        number = lib.tensor_placement(self._native)
        if number < 0:
            raise failed("Tensor.placement: there is no tensor")
        return Placement(number)

    @property
    def data(self) -> _values.Nested:
        return self.get_data()

    def get_format(self) -> Format:
        return self.format

    def set_format(self, format: Format) -> "Tensor":
        return self._put("Tensor.set_format", lib.tensor_set_format, Format, format=format)

    def get_data_type(self) -> DataType:
        return self.data_type

    def set_data_type(self, data_type: DataType) -> "Tensor":
        return self._put("Tensor.set_data_type", lib.tensor_set_type, DataType, data_type=data_type)

    def _put(self, where: str, setter: Callable, kind: type, **given: IntEnum) -> "Tensor":
        check.instance(where, kind, **given)
        for value in given.values():
            if setter(self._native, value) != 0:
                raise failed(f"{where}: {value.name} was refused")
        return self

    def get_shape(self) -> Shape:
        return self.shape

    def get_placement(self) -> Placement:
        return self.placement

    def get_tensor_desc(self) -> TensorDesc:
        """A copy: changing it does not change the tensor."""
        address = lib.tensor_desc(self._native)
        if not address:
            raise failed("Tensor.get_tensor_desc: there is no tensor to describe")
        return TensorDesc._adopt(address)

    def get_data(self) -> _values.Nested:
        """The values in nested lists, one level per dimension; of a scalar the value itself. On the host only."""
        where = "Tensor.get_data"
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        if lib.tensor_data(self._native, ctypes.byref(address), ctypes.byref(size)) != 0:
            raise failed(f"{where}: there is no tensor to read")
        if self.placement != Placement.PLACEMENT_HOST:
            raise RuntimeError(f"{where}: the values are in device memory; call to_host() first")
        if size.value and not address:
            raise RuntimeError(f"{where}: the tensor has {size.value} bytes but no memory; set its data first")
        desc = self.get_tensor_desc()
        shape, data_type = desc.shape, desc.data_type
        needed = _values.bytes_needed(data_type, shape)
        # Memory of a run is a little larger than the values in it.
        length = size.value if needed is None else min(needed, size.value)
        data = ctypes.string_at(address, length) if address else b""
        return _values.nest(where, _values.unpack(where, data, data_type), shape)

    def to_host(self) -> "Tensor":
        """Moves the values into host memory, in place. Synchronise the stream that writes them first."""
        self._expect("Tensor.to_host", Placement.PLACEMENT_DEVICE)
        needed = _values.bytes_needed(self.data_type, self.shape)
        status = lib.tensor_to_host(self._native, needed or 0)
        if status != 0:
            raise failed(f"Tensor.to_host: copying from the device returned {status}")
        return self

    def to_device(self) -> "Tensor":
        """Moves the values into device memory, in place. The thread must have chosen a device (aclrtSetDevice)."""
        self._expect("Tensor.to_device", Placement.PLACEMENT_HOST)
        status = lib.tensor_to_device(self._native)
        if status != 0:
            raise failed(f"Tensor.to_device: copying to the device returned {status}")
        return self

    def _expect(self, where: str, placement: Placement) -> None:
        if self.placement != placement:
            raise ValueError(f"{where}: the tensor is at {self.placement.name} already; call it at {placement.name}")


def _bytes_of(data: Optional[list], path: Optional[str], data_type: DataType, shape: List[int]) -> Optional[bytes]:
    """The values of a tensor that is made of a list or of a file; None when there is neither."""
    if path is None:
        if data is None:
            return None
        check.instance("Tensor", list, data=data)
        return _values.pack("Tensor", data, data_type)
    if data is not None:
        raise RuntimeError(f"Tensor: both data and file_path ({path!r}) are given; give one of them")
    check.text("Tensor", file_path=path)
    return _file_bytes(path, data_type, shape)


def _file_bytes(path: str, data_type: DataType, shape: List[int]) -> bytes:
    needed = _values.bytes_needed(data_type, shape)
    try:
        # A pipe would hold the opener until somebody writes, a device may have no end.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise RuntimeError(f"Tensor: file_path {path!r} is not a file; name an ordinary file")
            if needed and info.st_size != needed:
                raise RuntimeError(f"Tensor: {path} has {info.st_size} bytes, but {shape} of {data_type.name} needs {needed}")
            return file.read(info.st_size)
    except OSError as error:
        raise RuntimeError(f"Tensor: file_path cannot be read: {error}") from error

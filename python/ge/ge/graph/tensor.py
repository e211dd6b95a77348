# SPDX-License-Identifier: Apache-2.0
"""Tensors: what goes into a run and comes out of it, and the values of constants."""

import ctypes
from typing import TYPE_CHECKING, List, NoReturn, Optional, Union

from ge._native import failed, int64s, lib

from . import _values
from .tensor_desc import Shape, TensorDesc
from .types import DataType, Format, Placement

if TYPE_CHECKING:
    from ge.es.graph_builder import GraphBuilder


class Tensor:
    """Made from a flat list of numbers or from a file of raw bytes; on the host unless `placement` says otherwise. Without either it is empty.

    The list may be of another length than the shape asks for; a run then refuses the tensor.
    """

    _owns_handle = False
    _lent = False

    def __init__(
        self,
        data: Optional[Union[List[int], List[float], List[bool]]] = None,
        file_path: Optional[str] = None,
        data_type: DataType = DataType.DT_FLOAT,
        format: Format = Format.FORMAT_ND,
        shape: Optional[List[int]] = None,
        placement: Placement = Placement.PLACEMENT_HOST,
    ) -> None:
        self._handle: Optional[int] = None
        self._owner: Optional["GraphBuilder"] = None
        if shape is not None and (not isinstance(shape, list) or not all(isinstance(dim, int) for dim in shape)):
            raise TypeError("Shape must be a list of integers")
        if not isinstance(placement, Placement):
            raise TypeError("Placement must be a Placement")
        if data is not None and file_path is not None:
            raise RuntimeError("Tensor should be created either by data or by file")
        if data is not None:
            if not isinstance(data, list):
                raise TypeError("data should be List")
            self._handle = self._make(_values.to_bytes(data, data_type), data_type, format, shape or [])
        elif file_path is not None:
            self._handle = self._make(self._read(file_path, data_type, shape or []), data_type, format, shape or [])
        else:
            self._handle = lib.tensor_create()
        if not self._handle:
            raise failed("Failed to create Tensor")
        self._owns_handle = True
        if placement == Placement.PLACEMENT_DEVICE:
            self.to_device()

    @staticmethod
    def _make(data: bytes, data_type: DataType, format: Format, shape: List[int]) -> Optional[int]:
        desc = lib.desc_create(int64s(shape), len(shape), format, data_type)
        try:
            return lib.tensor_create_with(desc, data, len(data))
        finally:
            lib.desc_destroy(desc)

    @staticmethod
    def _read(path: str, data_type: DataType, shape: List[int]) -> bytes:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise RuntimeError(f"Failed to create Tensor; {error}") from error
        size = _values.value_bytes(data_type) or 0
        for dim in shape:
            size *= dim
        if size and len(data) != size:
            raise RuntimeError(f"Failed to create Tensor; {path} has {len(data)} bytes, and {shape} of {DataType(data_type).name} needs {size}")
        return data

    def __del__(self) -> None:
        if self._owns_handle or self._lent:
            self._owns_handle = self._lent = False
            lib.tensor_destroy(self._handle)
            self._handle = None

    def __copy__(self) -> NoReturn:
        raise RuntimeError("Tensor does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("Tensor does not support deepcopy")

    def __str__(self) -> str:
        lines = (f"Tensor format is {int(self.get_format())},", f"data_type is {int(self.get_data_type())},", f"shape is {list(self.get_shape())},",
                 f"data is {self.get_data()}")
        return "".join(f"\n        {line}" for line in lines) + "\n        "

    @classmethod
    def _create_from(cls, handle: int) -> "Tensor":
        if not handle:
            raise ValueError("Tensor pointer cannot be None")
        made = cls.__new__(cls)
        made._handle = handle
        made._owns_handle = True
        made._lent = False
        made._owner = None
        return made

    def _transfer_ownership_when_pass_as_attr(self, new_owner: "GraphBuilder") -> None:
        """A tensor can be the attribute of one operator only."""
        if self._owner is not None:
            raise RuntimeError(f"Tensor already has an new owner builder :{self._owner.name}, cannot transfer ownership again")
        self._lent = self._owns_handle
        self._owns_handle = False
        self._owner = new_owner

    @property
    def format(self) -> Format:
        return self.get_format()

    @property
    def data_type(self) -> DataType:
        return self.get_data_type()

    @property
    def shape(self) -> Shape:
        return self.get_shape()

    @property
    def placement(self) -> Placement:
        return self.get_placement()

    @property
    def data(self) -> _values.Nested:
        return self.get_data()

    def set_format(self, format: Format) -> "Tensor":
        if not isinstance(format, Format):
            raise TypeError("Format must be a Format")
        if lib.tensor_set_format(self._handle, format) != 0:
            raise failed(f"Failed to set format {int(format)}")
        return self

    def get_format(self) -> Format:
        return self.get_tensor_desc().format

    def set_data_type(self, data_type: DataType) -> "Tensor":
        if not isinstance(data_type, DataType):
            raise TypeError("Data_type must be a DataType")
        if lib.tensor_set_type(self._handle, data_type) != 0:
            raise failed(f"Failed to set datatype {int(data_type)}")
        return self

    def get_data_type(self) -> DataType:
        return self.get_tensor_desc().data_type

    def get_shape(self) -> Shape:
        return self.get_tensor_desc().shape

    def get_placement(self) -> Placement:
        return Placement(lib.tensor_placement(self._handle))

    def get_tensor_desc(self) -> TensorDesc:
        """A copy."""
        handle = lib.tensor_desc(self._handle)
        if not handle:
            raise failed("Failed to get tensor desc")
        return TensorDesc._create_from(handle)

    def get_data(self) -> _values.Nested:
        """The values as lists in lists, as the shape says; one value for a scalar. The tensor must be on the host."""
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        if lib.tensor_data(self._handle, ctypes.byref(address), ctypes.byref(size)) != 0:
            raise failed("Failed to get Tensor data")
        if self.get_placement() != Placement.PLACEMENT_HOST:
            raise RuntimeError("Failed to get Tensor data; it is on the device, where Python cannot read it: call to_host() first")
        if not address and size.value:
            raise RuntimeError("Failed to get Tensor data; the tensor has no memory")
        wanted = self._value_bytes()
        data = ctypes.string_at(address, min(size.value, wanted) if wanted is not None else size.value) if address else b""
        return _values.nest(_values.from_bytes(data, self.get_data_type()), self.get_shape())

    def _value_bytes(self) -> Optional[int]:
        """What shape and type ask for; a run may give a little more memory than that."""
        size = _values.value_bytes(self.get_data_type())
        shape = self.get_shape()
        if size is None or shape.is_unknown_shape():
            return None
        for dim in shape:
            size *= dim
        return size

    def to_host(self) -> "Tensor":
        """Moves it, in place. Synchronise the stream that fills it first."""
        if self.get_placement() != Placement.PLACEMENT_DEVICE:
            raise ValueError("to_host() only supports device tensors")
        status = lib.tensor_to_host(self._handle, self._value_bytes() or 0)
        if status != 0:
            raise failed(f"Failed to move tensor from device to host, ret={status}")
        return self

    def to_device(self) -> "Tensor":
        """Moves it, in place, into device memory of its own; acl.rt.set_device comes first."""
        if self.get_placement() != Placement.PLACEMENT_HOST:
            raise ValueError("to_device() only supports host tensors")
        status = lib.tensor_to_device(self._handle)
        if status != 0:
            raise failed(f"Failed to move tensor from host to device, ret={status}")
        return self

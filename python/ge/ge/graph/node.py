# SPDX-License-Identifier: Apache-2.0
"""Nodes of graphs. A Node keeps the graph that it was asked of."""

import ctypes
from typing import Any, List, NoReturn, Optional, Tuple

from ge._native import failed, lib, listed, text

from ._attr import decode, encode, kind_of
from .tensor_desc import TensorDesc

_NODE, _INPUT, _OUTPUT = range(3)


class Node:
    _owns_handle = False

    def __init__(self) -> None:
        raise RuntimeError("Node objects should not be created directly.")

    def __del__(self) -> None:
        if self._owns_handle:
            self._owns_handle = False
            lib.node_destroy(self._handle)
            self._handle = None

    def __copy__(self) -> NoReturn:
        raise RuntimeError("Node does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("Node does not support deepcopy")

    @classmethod
    def _create_from(cls, node_handle: int, owns_handle: bool = True, owner: Optional[object] = None) -> "Node":
        if not node_handle:
            raise ValueError("Node handle cannot be None")
        made = cls.__new__(cls)
        made._handle = node_handle
        made._owns_handle = owns_handle
        made._owner = owner
        return made

    def _near(self, handle: int) -> "Node":
        return Node._create_from(handle, owner=self._owner)

    @property
    def name(self) -> str:
        name = text(lib.node_name(self._handle))
        if name is None:
            raise failed("Failed to get Node name")
        return name

    @property
    def type(self) -> str:
        name = text(lib.node_type(self._handle))
        if name is None:
            raise failed("Failed to get Node type")
        return name

    # --- neighbours
    def get_in_control_nodes(self) -> List["Node"]:
        return [self._near(one) for one in listed(lib.node_controls, self._handle, False)]

    def get_out_control_nodes(self) -> List["Node"]:
        return [self._near(one) for one in listed(lib.node_controls, self._handle, True)]

    def get_in_data_nodes_and_port_indexes(self, in_index: int) -> Tuple["Node", int]:
        """Where an input comes from: the node and which of its outputs."""
        if not isinstance(in_index, int):
            raise TypeError("Input index must be an integer")
        output = ctypes.c_int32()
        source = lib.node_source(self._handle, in_index, ctypes.byref(output))
        if not source:
            raise failed(f"Failed to get input data node for index {in_index}")
        return self._near(source), output.value

    def get_out_data_nodes_and_port_indexes(self, out_index: int) -> List[Tuple["Node", int]]:
        """Who reads an output: each node and which of its inputs."""
        if not isinstance(out_index, int):
            raise TypeError("Output index must be an integer")
        nodes, inputs, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
        status = lib.node_users(self._handle, out_index, ctypes.byref(nodes), ctypes.byref(inputs), ctypes.byref(count))
        if status != 0:
            raise failed(f"Failed to get output data node for index {out_index}")
        try:
            return [(self._near(nodes[place]), inputs[place]) for place in range(count.value)]
        finally:
            lib.free(ctypes.cast(nodes, ctypes.c_void_p))
            lib.free(ctypes.cast(inputs, ctypes.c_void_p))

    # --- operands
    def get_inputs_size(self) -> int:
        return lib.node_size(self._handle, False)

    def get_outputs_size(self) -> int:
        return lib.node_size(self._handle, True)

    def get_input_desc(self, index: int) -> TensorDesc:
        """A copy; update_input_desc writes it back."""
        return self._get_desc(False, index, "input")

    def get_output_desc(self, index: int) -> TensorDesc:
        return self._get_desc(True, index, "output")

    def update_input_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        self._set_desc(False, index, tensor_desc, "input")

    def update_output_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        self._set_desc(True, index, tensor_desc, "output")

    def _get_desc(self, output: bool, index: int, word: str) -> TensorDesc:
        if not isinstance(index, int):
            raise TypeError(f"{word.capitalize()} index must be an integer")
        handle = lib.node_get_desc(self._handle, output, index)
        if not handle:
            raise failed(f"Failed to get {word} desc for index {index}")
        return TensorDesc._create_from(handle)

    def _set_desc(self, output: bool, index: int, tensor_desc: TensorDesc, word: str) -> None:
        if not isinstance(index, int):
            raise TypeError(f"{word.capitalize()} index must be an integer")
        if not isinstance(tensor_desc, TensorDesc):
            raise TypeError("tensor_desc must be a TensorDesc")
        if lib.node_set_desc(self._handle, output, index, tensor_desc._handle) != 0:
            raise failed(f"Failed to update {word} desc for index {index}")

    # --- attributes
    def has_attr(self, attr_name: str) -> bool:
        if not isinstance(attr_name, str):
            raise TypeError("attr_name must be a string")
        return lib.node_has_attr(self._handle, attr_name.encode("utf-8"))

    def get_attr(self, key: str) -> Any:
        if not isinstance(key, str):
            raise TypeError("Attribute key must be a string")
        return self._get_attr(_NODE, 0, key, f"Failed to get attribute '{key}' from Node")

    def set_attr(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError("Attribute key must be a string")
        self._set_attr(_NODE, 0, key, value, "Failed to set attribute '{0}' on Node {2}")

    def get_input_attr(self, attr_name: str, input_index: int) -> Any:
        self._check_operand_attr(attr_name, input_index, "Input")
        return self._get_attr(_INPUT, input_index, attr_name, f"Failed to get Node {self.name} input attribute '{attr_name}' for index {input_index}")

    def set_input_attr(self, attr_name: str, input_index: int, value: Any) -> None:
        self._check_operand_attr(attr_name, input_index, "Input")
        self._set_attr(_INPUT, input_index, attr_name, value, "Failed to set Node {2} input attribute '{0}' for index {1}")

    def get_output_attr(self, attr_name: str, output_index: int) -> Any:
        self._check_operand_attr(attr_name, output_index, "Output")
        return self._get_attr(_OUTPUT, output_index, attr_name,
                              f"Failed to get Node {self.name} output attribute '{attr_name}' for index {output_index}")

    def set_output_attr(self, attr_name: str, output_index: int, value: Any) -> None:
        self._check_operand_attr(attr_name, output_index, "Output")
        self._set_attr(_OUTPUT, output_index, attr_name, value, "Failed to set Node {2} output attribute '{0}' for index {1}")

    @staticmethod
    def _check_operand_attr(name: str, index: int, word: str) -> None:
        if not isinstance(name, str):
            raise TypeError("Attribute name must be a string")
        if not isinstance(index, int):
            raise TypeError(f"{word} index must be an integer")

    def _get_attr(self, side: int, index: int, name: str, failure: str) -> Any:
        address = lib.node_get_attr(self._handle, side, index, name.encode("utf-8"))
        if not address:
            raise failed(failure)
        return decode(address)[1]

    def _set_attr(self, side: int, index: int, name: str, value: Any, failure: str) -> None:
        attr = encode(kind_of(value), value)
        if lib.node_set_attr(self._handle, side, index, name.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(failure.format(name, index, self.name))

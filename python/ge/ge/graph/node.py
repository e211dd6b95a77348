# SPDX-License-Identifier: Apache-2.0
"""Nodes of graphs."""

import ctypes
from typing import Any, List, Optional, Tuple

from ge import _check as check
from ge._native import failed, lib, listed, text
from ge._object import NativeObject

from ._attr import decode, encode, kind_of
from .tensor_desc import TensorDesc

# Whose attribute it is, as python/ge/native/node.cc numbers them.
_OF_NODE, _OF_INPUT, _OF_OUTPUT = range(3)


def _checked(where: str, attr_name: str, **index: int) -> str:
    check.text(where, attr_name=attr_name)
    check.integer(where, 0, check.UINT32_MAX, **index)
    return where


class Node(NativeObject):
    """One operator in a graph. It keeps the graph alive that it was found in."""

    _release = staticmethod(lib.node_destroy)
    _maker = "Graph.find_node_by_name or Graph.get_all_nodes"

    @property
    def name(self) -> str:
        return self._word("name", lib.node_name)

    @property
    def type(self) -> str:
        return self._word("type", lib.node_type)

    def _word(self, what: str, read: Any) -> str:
        found = text(read(self._native))
        if found is None:
            raise failed(f"Node.{what}: there is no node")
        return found

    # --- neighbours
    def get_in_control_nodes(self) -> List["Node"]:
        return [self._neighbour(one) for one in listed(lib.node_controls, self._native, False)]

    def get_out_control_nodes(self) -> List["Node"]:
        return [self._neighbour(one) for one in listed(lib.node_controls, self._native, True)]

    def get_in_data_nodes_and_port_indexes(self, in_index: int) -> Tuple["Node", int]:
        """The node that an input comes from, and the number of the output there."""
        where = "Node.get_in_data_nodes_and_port_indexes"
        check.integer(where, check.INT32_MIN, check.INT32_MAX, in_index=in_index)
        output = ctypes.c_int32()
        source = lib.node_source(self._native, in_index, ctypes.byref(output))
        if not source:
            raise failed(f"{where}: nothing is connected to input {in_index} of {self._said()}")
        return self._neighbour(source), output.value

    def get_out_data_nodes_and_port_indexes(self, out_index: int) -> List[Tuple["Node", int]]:
        """The nodes that read an output, each with the number of the input there."""
        where = "Node.get_out_data_nodes_and_port_indexes"
        check.integer(where, check.INT32_MIN, check.INT32_MAX, out_index=out_index)
        nodes, inputs, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
        if lib.node_users(self._native, out_index, ctypes.byref(nodes), ctypes.byref(inputs), ctypes.byref(count)) != 0:
            raise failed(f"{where}: output {out_index} is asked for of {self._said()}")
        try:
            return [(self._neighbour(nodes[place]), inputs[place]) for place in range(count.value)]
        finally:
            for memory in (nodes, inputs):
                lib.free(ctypes.cast(memory, ctypes.c_void_p))

    def _neighbour(self, address: int) -> "Node":
        return Node._adopt(address, keeps=self._keeps)

    def _said(self) -> str:
        """For messages: who it is, and how many inputs and outputs there are."""
        return f"'{self.name}', which has {self.get_inputs_size()} inputs and {self.get_outputs_size()} outputs"

    # --- inputs and outputs
    def get_inputs_size(self) -> int:
        return lib.node_size(self._native, False)

    def get_outputs_size(self) -> int:
        return lib.node_size(self._native, True)

    def get_input_desc(self, index: int) -> TensorDesc:
        """A copy; update_input_desc writes it back."""
        return self._desc("Node.get_input_desc", False, index)

    def get_output_desc(self, index: int) -> TensorDesc:
        """A copy; update_output_desc writes it back."""
        return self._desc("Node.get_output_desc", True, index)

    def update_input_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        self._set_desc("Node.update_input_desc", False, index, tensor_desc)

    def update_output_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        self._set_desc("Node.update_output_desc", True, index, tensor_desc)

    def _desc(self, where: str, output: bool, index: int) -> TensorDesc:
        check.integer(where, check.INT32_MIN, check.INT32_MAX, index=index)
        address = lib.node_get_desc(self._native, output, index)
        if not address:
            raise failed(f"{where}: index {index} is asked for of {self._said()}")
        return TensorDesc._adopt(address)

    def _set_desc(self, where: str, output: bool, index: int, desc: TensorDesc) -> None:
        check.integer(where, check.INT32_MIN, check.INT32_MAX, index=index)
        check.instance(where, TensorDesc, tensor_desc=desc)
        if lib.node_set_desc(self._native, output, index, desc._native) != 0:
            raise failed(f"{where}: index {index} cannot be set to {desc!r} in {self._said()}")

    # --- attributes. set_attr takes what ge.graph._attr.kind_of knows.
    def has_attr(self, attr_name: str) -> bool:
        check.text("Node.has_attr", attr_name=attr_name)
        return lib.node_has_attr(self._native, attr_name.encode("utf-8"))

    def get_attr(self, key: str) -> Any:
        check.text("Node.get_attr", key=key)
        return self._attr("Node.get_attr", _OF_NODE, None, key)

    def set_attr(self, key: str, value: Any) -> None:
        check.text("Node.set_attr", key=key)
        self._set_attr("Node.set_attr", _OF_NODE, None, key, value)

    def get_input_attr(self, attr_name: str, input_index: int) -> Any:
        where = _checked("Node.get_input_attr", attr_name, input_index=input_index)
        return self._attr(where, _OF_INPUT, input_index, attr_name)

    def set_input_attr(self, attr_name: str, input_index: int, value: Any) -> None:
        where = _checked("Node.set_input_attr", attr_name, input_index=input_index)
        self._set_attr(where, _OF_INPUT, input_index, attr_name, value)

    def get_output_attr(self, attr_name: str, output_index: int) -> Any:
        where = _checked("Node.get_output_attr", attr_name, output_index=output_index)
        return self._attr(where, _OF_OUTPUT, output_index, attr_name)

    def set_output_attr(self, attr_name: str, output_index: int, value: Any) -> None:
        where = _checked("Node.set_output_attr", attr_name, output_index=output_index)
        self._set_attr(where, _OF_OUTPUT, output_index, attr_name, value)

    def _attr(self, where: str, side: int, index: Optional[int], name: str) -> Any:
        address = lib.node_get_attr(self._native, side, index or 0, name.encode("utf-8"))
        if not address:
            place = "" if index is None else f" at index {index}"
            raise failed(f"{where}: there is no attribute '{name}'{place} of {self._said()}")
        return decode(where, address)

    def _set_attr(self, where: str, side: int, index: Optional[int], name: str, value: Any) -> None:
        attr = encode(kind_of(where, value), value)
        if lib.node_set_attr(self._native, side, index or 0, name.encode("utf-8"), ctypes.byref(attr)) != 0:
            place = "" if index is None else f" at index {index}"
            raise failed(f"{where}: attribute '{name}'{place} cannot be set to {check.shown(value)} in {self._said()}")

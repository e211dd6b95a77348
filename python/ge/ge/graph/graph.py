# SPDX-License-Identifier: Apache-2.0
"""Graphs. ge.es builds them; this looks into them and changes them."""

import ctypes
from enum import Enum
from typing import Any, List, Optional, Tuple

from ge import _check as check
from ge._native import failed, lib, listed, pointers, take_message, text
from ge._object import Part

from ._attr import decode, encode, kind_of
from .node import Node
from .operator import Operator


class DumpFormat(Enum):
    kOnnx = 0
    kTxt = 1
    kReadable = 2


class Graph(Part):
    """Nodes, the edges between them, and subgraphs: the branches and bodies of nodes like If and While."""

    _release = staticmethod(lib.graph_destroy)

    def __init__(self, name: str = "graph") -> None:
        check.text("Graph", name=name)
        self._native = lib.graph_create(name.encode("utf-8"))
        if not self._native:
            raise failed(f"Graph: the library could not make '{name}'")

    def __str__(self) -> str:
        return self.dump_to_stream()

    @property
    def name(self) -> str:
        found = text(lib.graph_name(self._native))
        if found is None:
            raise failed("Graph.name: there is no graph")
        return found

    # --- nodes
    def get_all_nodes(self) -> List[Node]:
        """With those of the subgraphs."""
        return [Node._adopt(one, keeps=self) for one in listed(lib.graph_nodes, self._native, True)]

    def get_direct_nodes(self) -> List[Node]:
        """Without those of the subgraphs."""
        return [Node._adopt(one, keeps=self) for one in listed(lib.graph_nodes, self._native, False)]

    def find_node_by_name(self, name: str) -> Node:
        where = "Graph.find_node_by_name"
        check.text(where, name=name)
        address = lib.graph_find_node(self._native, name.encode("utf-8"))
        if not address:
            raise failed(f"{where}: no node of '{self.name}' is called '{name}'; get_all_nodes() has them all")
        return Node._adopt(address, keeps=self)

    def remove_node(self, node: Node) -> None:
        """With its edges."""
        check.instance("Graph.remove_node", Node, node=node)
        name = node.name
        if lib.graph_remove_node(self._native, node._native) != 0:
            raise failed(f"Graph.remove_node: '{name}' cannot be taken out of '{self.name}'")

    # --- edges
    def add_data_edge(self, src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int) -> None:
        where = "Graph.add_data_edge"
        ends = _checked_ends(where, src_node, src_port_index, dst_node, dst_port_index)
        if lib.graph_add_edge(self._native, *ends) != 0:
            raise failed(f"{where}: output {src_port_index} of {src_node._said()} cannot be connected to "
                         f"input {dst_port_index} of {dst_node._said()}")

    def add_control_edge(self, src_node: Node, dst_node: Node) -> None:
        """The second node runs after the first."""
        where = "Graph.add_control_edge"
        check.instance(where, Node, src_node=src_node, dst_node=dst_node)
        if lib.graph_add_control_edge(self._native, src_node._native, dst_node._native) != 0:
            raise failed(f"{where}: '{dst_node.name}' cannot be ordered after '{src_node.name}'")

    def remove_edge(self, src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int) -> None:
        """Control edges have -1 on both sides."""
        where = "Graph.remove_edge"
        ends = _checked_ends(where, src_node, src_port_index, dst_node, dst_port_index)
        if lib.graph_remove_edge(self._native, *ends) != 0:
            raise failed(f"{where}: there is no edge from output {src_port_index} of '{src_node.name}' to "
                         f"input {dst_port_index} of '{dst_node.name}'")

    # --- subgraphs, which are known by name
    def get_all_subgraphs(self) -> List["Graph"]:
        return [Graph._adopt(one) for one in listed(lib.graph_subgraphs, self._native)]

    def get_subgraph(self, name: str) -> Optional["Graph"]:
        """None when none has that name."""
        check.text("Graph.get_subgraph", name=name)
        address = lib.graph_get_subgraph(self._native, name.encode("utf-8"))
        if not address:
            take_message()  # an answer, not a failure: the next failure must not report it
            return None
        return Graph._adopt(address)

    def add_subgraph(self, subgraph: "Graph") -> None:
        """A graph that is part of another one already is copied."""
        where = "Graph.add_subgraph"
        check.instance(where, Graph, subgraph=subgraph)
        if not self.get_direct_nodes():  # the engine takes a graph without nodes for one that was never built
            lib.graph_set_valid(self._native)
        if lib.graph_add_subgraph(self._native, subgraph._native) != 0:
            raise failed(f"{where}: '{self.name}' does not take '{subgraph.name}' as a subgraph")

    def remove_subgraph(self, name: str) -> None:
        where = "Graph.remove_subgraph"
        check.text(where, name=name)
        if lib.graph_remove_subgraph(self._native, name.encode("utf-8")) != 0:
            raise failed(f"{where}: no subgraph of '{self.name}' is called '{name}'; get_all_subgraphs() has them all")

    # --- attributes
    def get_attr(self, key: str) -> Any:
        where = "Graph.get_attr"
        check.text(where, key=key)
        address = lib.graph_get_attr(self._native, key.encode("utf-8"))
        if not address:
            raise failed(f"{where}: there is no attribute '{key}' of the graph '{self.name}'")
        return decode(where, address)

    def set_attr(self, key: str, value: Any) -> None:
        """A str, number, bool, DataType or Tensor, or a list of one of these that is not empty."""
        where = "Graph.set_attr"
        check.text(where, key=key)
        attr = encode(kind_of(where, value), value)
        if lib.graph_set_attr(self._native, key.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(f"{where}: attribute '{key}' of '{self.name}' cannot be {check.shown(value)}")

    # --- files
    def dump_to_file(self, format: DumpFormat = DumpFormat.kReadable, suffix: str = "") -> None:
        """Into the working directory, or where DUMP_GRAPH_PATH says, under a name that ends in `suffix`."""
        where = "Graph.dump_to_file"
        check.instance(where, DumpFormat, format=format)
        check.text(where, suffix=suffix)
        if lib.graph_dump_to_file(self._native, format.value, suffix.encode("utf-8")) != 0:
            raise failed(f"{where}: no file was written for '{self.name}' as {format.name} with the suffix '{suffix}'")

    def dump_to_stream(self, format: DumpFormat = DumpFormat.kReadable) -> str:
        """The text that dump_to_file writes."""
        where = "Graph.dump_to_stream"
        check.instance(where, DumpFormat, format=format)
        found = text(lib.graph_dump(self._native, format.value))
        if found is None:
            raise failed(f"{where}: the graph has no text as {format.name}")
        return found

    def save_to_air(self, file_path: str) -> None:
        check.text("Graph.save_to_air", file_path=file_path)
        if lib.graph_save(self._native, file_path.encode("utf-8")) != 0:
            raise failed(f"Graph.save_to_air: the graph was not written to {file_path}")

    def load_from_air(self, file_path: str) -> None:
        """The file's graph takes the place of this one, with its name."""
        check.text("Graph.load_from_air", file_path=file_path)
        if lib.graph_load(self._native, file_path.encode("utf-8")) != 0:
            raise failed(f"Graph.load_from_air: no graph was read from {file_path}")

    # --- for the functions that build graphs
    def _add(self, where: str, operator: Operator) -> Node:
        address = lib.graph_add_operator(self._native, operator._native)
        if not address:
            raise failed(f"{where}: the graph '{self.name}' does not take '{operator.name}'")
        return Node._adopt(address, keeps=self)

    def _set_outputs(self, where: str, outputs: List[Tuple[Node, int]]) -> None:
        nodes = pointers([node._native for node, _ in outputs])
        indices = (ctypes.c_int32 * len(outputs))(*[index for _, index in outputs])
        if lib.graph_set_outputs(self._native, nodes, indices, len(outputs)) != 0:
            raise failed(f"{where}: the {len(outputs)} outputs of '{self.name}' cannot be set")


def _checked_ends(where: str, source: Node, output: int, user: Node, place: int) -> tuple:
    """The two ends of an edge as the library takes them."""
    check.instance(where, Node, src_node=source, dst_node=user)
    check.integer(where, check.INT32_MIN, check.INT32_MAX, src_port_index=output, dst_port_index=place)
    return source._native, output, user._native, place

# SPDX-License-Identifier: Apache-2.0
"""Graphs. ge.es builds them; this looks into them and changes them."""

import ctypes
from enum import Enum
from typing import TYPE_CHECKING, Any, List, NoReturn, Optional

from ge._native import failed, lib, listed, take_message, text

from ._attr import decode, encode, kind_of
from .node import Node

if TYPE_CHECKING:
    from ge.es.graph_builder import GraphBuilder


class DumpFormat(Enum):
    kOnnx = 0
    kTxt = 1
    kReadable = 2


class Graph:
    _owns_handle = False
    _lent = False

    def __init__(self, name: str = "graph") -> None:
        self._handle: Optional[int] = None
        self._owner: Optional[Any] = None
        if not isinstance(name, str):
            raise TypeError("Graph name must be a string")
        self._handle = lib.graph_create(name.encode("utf-8"))
        if not self._handle:
            raise failed("Failed to create Graph")
        self._owns_handle = True

    def __del__(self) -> None:
        if self._owns_handle or self._lent:
            self._owns_handle = self._lent = False
            lib.graph_destroy(self._handle)
            self._handle = None

    def __copy__(self) -> NoReturn:
        raise RuntimeError("Graph does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("Graph does not support deepcopy")

    def __str__(self) -> str:
        return self.dump_to_stream(DumpFormat.kReadable)

    @classmethod
    def _create_from(cls, handle: int, owns_handle: bool = True, owner: Optional[Any] = None) -> "Graph":
        if not handle:
            raise ValueError("Graph pointer cannot be None")
        made = cls.__new__(cls)
        made._handle = handle
        made._owns_handle = owns_handle
        made._owner = owner
        return made

    def _transfer_ownership_when_pass_as_subgraph(self, new_owner: "GraphBuilder") -> None:
        """A graph can be the branch or body of one operator only."""
        if self._owner is not None:
            raise RuntimeError(f"Graph :{self.name} already has an new owner builder :{self._owner.name}, cannot transfer ownership again")
        self._lent = self._owns_handle
        self._owns_handle = False
        self._owner = new_owner

    @property
    def name(self) -> str:
        name = text(lib.graph_name(self._handle))
        if name is None:
            raise failed("Failed to get Graph name")
        return name

    # --- nodes
    def get_all_nodes(self) -> List[Node]:
        """Those of the subgraphs too."""
        return [Node._create_from(one, owner=self) for one in listed(lib.graph_nodes, self._handle, True)]

    def get_direct_nodes(self) -> List[Node]:
        return [Node._create_from(one, owner=self) for one in listed(lib.graph_nodes, self._handle, False)]

    def find_node_by_name(self, name: str) -> Node:
        _check_text(name, "name")
        handle = lib.graph_find_node(self._handle, name.encode("utf-8"))
        if not handle:
            raise failed(f"Failed to find Node name {name}")
        return Node._create_from(handle, owner=self)

    def remove_node(self, node: Node) -> None:
        _check_node(node, "node")
        name = node.name
        if lib.graph_remove_node(self._handle, node._handle) != 0:
            raise failed(f"Failed to remove Node {name} from Graph {self.name}")

    # --- edges
    def add_data_edge(self, src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int) -> None:
        _check_edge(src_node, src_port_index, dst_node, dst_port_index)
        if lib.graph_add_edge(self._handle, src_node._handle, src_port_index, dst_node._handle, dst_port_index) != 0:
            raise failed(f"Failed to add DataEdge {_edge(src_node, src_port_index, dst_node, dst_port_index)}")

    def add_control_edge(self, src_node: Node, dst_node: Node) -> None:
        _check_node(src_node, "src_node")
        _check_node(dst_node, "dst_node")
        if lib.graph_add_control_edge(self._handle, src_node._handle, dst_node._handle) != 0:
            raise failed(f"Failed to add Control from Node {src_node.name} to Node {dst_node.name}")

    def remove_edge(self, src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int) -> None:
        """-1 for both places: the control edge."""
        _check_edge(src_node, src_port_index, dst_node, dst_port_index)
        if lib.graph_remove_edge(self._handle, src_node._handle, src_port_index, dst_node._handle, dst_port_index) != 0:
            raise failed(f"Failed to remove Edge {_edge(src_node, src_port_index, dst_node, dst_port_index)}")

    # --- subgraphs, which are known by name
    def get_all_subgraphs(self) -> List["Graph"]:
        return [Graph._create_from(one) for one in listed(lib.graph_subgraphs, self._handle)]

    def get_subgraph(self, name: str) -> Optional["Graph"]:
        """None when there is none of that name."""
        _check_text(name, "name")
        handle = lib.graph_get_subgraph(self._handle, name.encode("utf-8"))
        if not handle:
            take_message()  # an answer, not a failure: the next failure must not report it
            return None
        return Graph._create_from(handle)

    def add_subgraph(self, subgraph: "Graph") -> None:
        if not isinstance(subgraph, Graph):
            raise TypeError("subgraph must be a Graph")
        # A graph that has no node yet counts as not built.
        if not self.get_direct_nodes():
            lib.graph_set_valid(self._handle)
        if lib.graph_add_subgraph(self._handle, subgraph._handle) != 0:
            raise failed(f"Failed to add subgraph '{subgraph.name}' to graph '{self.name}'")

    def remove_subgraph(self, name: str) -> None:
        _check_text(name, "name")
        if lib.graph_remove_subgraph(self._handle, name.encode("utf-8")) != 0:
            raise failed(f"Failed to remove subgraph '{name}' from graph '{self.name}'")

    # --- attributes
    def get_attr(self, key: str) -> Any:
        if not isinstance(key, str):
            raise TypeError("Attribute key must be a string")
        address = lib.graph_get_attr(self._handle, key.encode("utf-8"))
        if not address:
            raise failed(f"Failed to get attribute '{key}' from Graph {self.name}")
        return decode(address)[1]

    def set_attr(self, key: str, value: Any) -> None:
        """Text, a number, a truth value, a DataType, a Tensor, or a list of one of them that is not empty."""
        if not isinstance(key, str):
            raise TypeError("Attribute key must be a string")
        attr = encode(kind_of(value), value)
        if lib.graph_set_attr(self._handle, key.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(f"Failed to set attribute '{key}' on Graph {self.name}")

    # --- files
    def dump_to_file(self, format: DumpFormat = DumpFormat.kReadable, suffix: str = "") -> None:
        """Into the working directory, or where DUMP_GRAPH_PATH says; the name is chosen by the engine and ends in `suffix`."""
        if not isinstance(suffix, str):
            raise TypeError("Suffix must be a string")
        _check_format(format)
        if lib.graph_dump_to_file(self._handle, format.value, suffix.encode("utf-8")) != 0:
            raise failed(f"Failed to dump graph to file format {format} with suffix {suffix}")

    def dump_to_stream(self, format: DumpFormat = DumpFormat.kReadable) -> str:
        _check_format(format)
        dumped = text(lib.graph_dump(self._handle, format.value))
        if dumped is None:
            raise failed("Failed to dump graph to stream")
        return dumped

    def save_to_air(self, file_path: str) -> None:
        _check_text(file_path, "file_path")
        if lib.graph_save(self._handle, file_path.encode("utf-8")) != 0:
            raise failed("Failed to save graph to AIR format")

    def load_from_air(self, file_path: str) -> None:
        """Replaces the graph, its name too."""
        _check_text(file_path, "file_path")
        if lib.graph_load(self._handle, file_path.encode("utf-8")) != 0:
            raise failed("Failed to load graph from AIR format")


def _check_text(value: str, name: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string")


def _check_node(node: Node, name: str) -> None:
    if not isinstance(node, Node):
        raise TypeError(f"{name} must be a Node")


def _check_format(format: DumpFormat) -> None:
    if not isinstance(format, DumpFormat):
        raise TypeError("Format must be in [DumpFormat.kOnnx, DumpFormat.kTxt, DumpFormat.kReadable]")


def _check_edge(src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int) -> None:
    for node, index, side in ((src_node, src_port_index, "src"), (dst_node, dst_port_index, "dst")):
        _check_node(node, f"{side}_node")
        if not isinstance(index, int):
            raise TypeError(f"{side}_port_index must be an integer")


def _edge(src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int) -> str:
    return f"from Node {src_node.name}, Port Index {src_port_index} to Node {dst_node.name}, Port Index {dst_port_index}"

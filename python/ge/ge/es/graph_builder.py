# SPDX-License-Identifier: Apache-2.0
"""Builds one graph."""

import contextlib
import ctypes
import threading
from enum import Enum
from typing import Any, Dict, Iterator, List, NoReturn, Optional, Sequence, Set, Tuple, Union

from ge._native import failed, lib, pointers
from ge.graph._attr import encode, kind_of
from ge.graph.graph import Graph
from ge.graph.node import Node
from ge.graph.tensor import Tensor
from ge.graph.tensor_desc import TensorDesc
from ge.graph.types import AttrValueType, DataType, Format

from .tensor_holder import TensorHolder

_scopes = threading.local()


class InputType(Enum):
    DATA = "Data"
    REF_DATA = "RefData"
    AIPP_DATA = "AippData"
    ANY_DATA = "AnyData"


_INPUT_TYPES = {kind.value for kind in InputType}


class GraphBuilder:
    """Tensors keep their builder. After build_and_reset nothing can be added any more."""

    def __init__(self, name: Optional[str] = None) -> None:
        self._handle: Optional[int] = None
        if name is not None and not isinstance(name, str):
            raise TypeError("Graph name must be a string")
        self._name = name or "graph"
        self._is_built = False
        self._named = 0
        self._inputs: Set[int] = set()
        # Nodes and places, not tensors: a tensor keeps its builder, and the two would keep each other.
        self._outputs: Dict[int, Tuple[Node, int]] = {}
        self._handle = lib.graph_create(self._name.encode("utf-8"))
        if not self._handle or lib.graph_set_valid(self._handle) != 0:
            raise failed("Failed to create graph builder")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.graph_destroy(self._handle)
            self._handle = None

    def __copy__(self) -> NoReturn:
        raise RuntimeError("GraphBuilder does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("GraphBuilder does not support deepcopy")

    @property
    def name(self) -> str:
        return self._name

    # --- inputs and variables
    def create_input(
        self,
        index: int,
        *,
        name: Optional[str] = None,
        type_str: InputType = InputType.DATA,
        data_type: DataType = DataType.DT_FLOAT,
        format: Format = Format.FORMAT_ND,
        shape: Optional[List[int]] = None,
    ) -> TensorHolder:
        """The graph's input of that number; they count from 0 without a gap. Without a shape it is a scalar, but one that says nothing at all (no shape, and
        the default type and format) is what the first run brings.
        """
        self._check_usable("create input")
        if not isinstance(index, int):
            raise TypeError("Input index must be an integer")
        if shape is not None and (not isinstance(shape, list) or not all(isinstance(dim, int) for dim in shape)):
            raise TypeError("Shape must be a list of integers")
        if index < 0 or index in self._inputs:
            raise RuntimeError(f"Failed to create input; the index {index} is {'negative' if index < 0 else 'taken'}")
        desc = TensorDesc(shape, format, data_type)
        is_open = shape is None and data_type == DataType.DT_FLOAT and format == Format.FORMAT_ND
        operands = () if is_open else (("x", False), ("y", True))
        holder = self._create(type_str.value, name or f"input_{index}", index, operands, desc, "input")
        self._inputs.add(index)
        return holder

    def create_inputs(self, num: int, start_index: int = 0) -> List[TensorHolder]:
        """Scalars of type float."""
        self._check_usable("create inputs")
        if not isinstance(num, int) or num <= 0:
            raise TypeError("Number of inputs must be a positive integer")
        if not isinstance(start_index, int) or start_index < 0:
            raise TypeError("Start index must be a non-negative integer")
        return [self.create_input(index) for index in range(start_index, start_index + num)]

    def create_variable(self, index: int, name: str) -> TensorHolder:
        self._check_usable("create variable")
        if not isinstance(index, int):
            raise TypeError("Index must be an integer")
        if not isinstance(name, str):
            raise TypeError("Name must be a string")
        return self._create("Variable", name, index, (), None, "variable")

    def _create(self, kind: str, name: str, index: int, operands: Sequence[Tuple[str, bool]], desc: Optional[TensorDesc],
                what: str) -> TensorHolder:
        operator = lib.operator_create(name.encode("utf-8"), kind.encode("utf-8"))
        if not operator:
            raise failed(f"Failed to create {what}")
        try:
            self._set_attr(operator, "index", index, what)
            for operand, is_output in operands:
                if lib.operator_set_desc(operator, is_output, operand.encode("utf-8"), desc._handle) != 0:
                    raise failed(f"Failed to create {what}")
            node = self._add(operator, name)
        finally:
            lib.operator_destroy(operator)
        return self._apply_scope_infos_to_node(TensorHolder._create_from(node, self))

    # --- constants
    def create_const_int64(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        """A number makes a scalar, a list a vector, unless a shape is given."""
        return self._const(value, shape, DataType.DT_INT64, "int64")

    def create_const_uint64(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._const(value, shape, DataType.DT_UINT64, "uint64")

    def create_const_int32(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._const(value, shape, DataType.DT_INT32, "int32")

    def create_const_uint32(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._const(value, shape, DataType.DT_UINT32, "uint32")

    def create_const_float(self, value: Union[float, List[float]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._const(value, shape, DataType.DT_FLOAT, "float")

    def create_vector_int64(self, value: List[int]) -> TensorHolder:
        self._check_usable("create vector")
        if not isinstance(value, list) or not all(isinstance(one, int) for one in value):
            raise TypeError("Value must be a list of integers")
        return self._add_const(value, [len(value)], DataType.DT_INT64, "int64 vector")

    def create_scalar_int64(self, value: int) -> TensorHolder:
        return self._scalar(value, DataType.DT_INT64, "int64")

    def create_scalar_int32(self, value: int) -> TensorHolder:
        return self._scalar(value, DataType.DT_INT32, "int32")

    def create_scalar_uint64(self, value: int) -> TensorHolder:
        if isinstance(value, int) and value < 0:
            raise ValueError("Value must be non-negative for uint64")
        return self._scalar(value, DataType.DT_UINT64, "uint64")

    def create_scalar_uint32(self, value: int) -> TensorHolder:
        if isinstance(value, int) and not 0 <= value < 1 << 32:
            raise ValueError("Value must be in range [0, 2^32-1] for uint32")
        return self._scalar(value, DataType.DT_UINT32, "uint32")

    def create_scalar_float(self, value: float) -> TensorHolder:
        return self._scalar(value, DataType.DT_FLOAT, "float")

    def _const(self, value: Any, shape: Optional[List[int]], data_type: DataType, word: str) -> TensorHolder:
        self._check_usable("create constant")
        is_float = data_type == DataType.DT_FLOAT
        items = (int, float) if is_float else int
        if isinstance(value, items):
            values, dims = [value], shape or []
        elif isinstance(value, list) and all(isinstance(one, items) for one in value):
            values, dims = value, shape if shape is not None else [len(value)]
        else:
            raise TypeError("Value must be a float or list of floats" if is_float else "Value must be an integer or list of integers")
        if not dims and len(values) == 1:
            return getattr(self, f"create_scalar_{word}")(values[0])
        expected = 1
        for dim in dims:
            expected *= dim
        if len(values) != expected:
            raise ValueError(f"Value count ({len(values)}) doesn't match shape {dims} (expected {expected} elements)")
        return self._add_const(values, dims, data_type, f"{word} constant")

    def _scalar(self, value: Any, data_type: DataType, word: str) -> TensorHolder:
        self._check_usable("create scalar")
        if not isinstance(value, (int, float) if data_type == DataType.DT_FLOAT else int):
            raise TypeError("Value must be a number" if data_type == DataType.DT_FLOAT else "Value must be an integer")
        return self._add_const([value], [], data_type, f"{word} scalar")

    def _add_const(self, values: List[Any], dims: List[int], data_type: DataType, what: str) -> TensorHolder:
        name = self._next_name("Const")
        tensor = Tensor(values, None, data_type, Format.FORMAT_ND, dims)
        desc = tensor.get_tensor_desc()
        operator = lib.operator_create(name.encode("utf-8"), b"Const")
        if not operator:
            raise failed(f"Failed to create {what}")
        try:
            self._set_attr(operator, "value", tensor, what)
            if lib.operator_set_desc(operator, True, b"y", desc._handle) != 0:
                raise failed(f"Failed to create {what}")
            node = self._add(operator, name)
        finally:
            lib.operator_destroy(operator)
        return self._apply_scope_infos_to_node(TensorHolder._create_from(node, self))

    # --- attributes
    def set_graph_attr_int64(self, attr_name: str, value: int) -> None:
        self._set_graph_attr(attr_name, value, AttrValueType.VT_INT)

    def set_graph_attr_string(self, attr_name: str, value: str) -> None:
        self._set_graph_attr(attr_name, value, AttrValueType.VT_STRING)

    def set_graph_attr_bool(self, attr_name: str, value: bool) -> None:
        self._set_graph_attr(attr_name, value, AttrValueType.VT_BOOL)

    def set_tensor_attr_int64(self, tensor: TensorHolder, attr_name: str, value: int) -> None:
        self._set_holder_attr(tensor, attr_name, value, AttrValueType.VT_INT, "tensor")

    def set_tensor_attr_string(self, tensor: TensorHolder, attr_name: str, value: str) -> None:
        self._set_holder_attr(tensor, attr_name, value, AttrValueType.VT_STRING, "tensor")

    def set_tensor_attr_bool(self, tensor: TensorHolder, attr_name: str, value: bool) -> None:
        self._set_holder_attr(tensor, attr_name, value, AttrValueType.VT_BOOL, "tensor")

    def set_node_attr_int64(self, tensor: TensorHolder, attr_name: str, value: int) -> None:
        self._set_holder_attr(tensor, attr_name, value, AttrValueType.VT_INT, "node")

    def set_node_attr_string(self, tensor: TensorHolder, attr_name: str, value: str) -> None:
        self._set_holder_attr(tensor, attr_name, value, AttrValueType.VT_STRING, "node")

    def set_node_attr_bool(self, tensor: TensorHolder, attr_name: str, value: bool) -> None:
        self._set_holder_attr(tensor, attr_name, value, AttrValueType.VT_BOOL, "node")

    def _set_graph_attr(self, name: str, value: Any, kind: AttrValueType) -> None:
        self._check_usable("set graph attribute")
        _check_attr(name, value, kind)
        attr = encode(kind, value)
        if lib.graph_set_attr(self._handle, name.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(f"Failed to set graph attribute {name} for graph {self.name}")

    def _set_holder_attr(self, tensor: TensorHolder, name: str, value: Any, kind: AttrValueType, word: str) -> None:
        self._check_usable(f"set {word} attribute")
        if not isinstance(tensor, TensorHolder):
            raise TypeError("Tensor must be a TensorHolder")
        _check_attr(name, value, kind)
        side, index = (2, tensor._index) if word == "tensor" else (0, 0)
        attr = encode(kind, value)
        if lib.node_set_attr(tensor._handle._handle, side, index, name.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(f"Failed to set {word} attribute {name} for {word} {tensor.name}")

    # --- edges and outputs
    def add_control_dependency(self, dst_tensor: TensorHolder, src_tensors: List[TensorHolder]) -> None:
        """The node of dst_tensor runs after those of src_tensors."""
        self._check_usable("add control dependency")
        if not isinstance(dst_tensor, TensorHolder):
            raise TypeError("dst_tensor must be a TensorHolder")
        if not isinstance(src_tensors, list):
            raise TypeError("src_tensors must be a list")
        if not all(isinstance(tensor, TensorHolder) for tensor in src_tensors):
            raise TypeError("src_tensors must be a list of TensorHolder")
        for source in src_tensors:
            if lib.graph_add_control_edge(self._handle, source._handle._handle, dst_tensor._handle._handle) != 0:
                raise failed(f"Failed to add control dependency for nodes in graph {self.name}")

    def set_graph_output(self, tensor: TensorHolder, output_index: int) -> None:
        """What a run returns in that place; they count from 0 without a gap."""
        self._check_usable("set graph output")
        if not isinstance(tensor, TensorHolder):
            raise TypeError("Tensor must be a TensorHolder")
        if not isinstance(output_index, int):
            raise TypeError("Output index must be an integer")
        failure = f"Failed to set graph output for graph {self.name} output index {output_index}"
        if output_index < 0 or output_index in self._outputs:
            raise RuntimeError(f"{failure}; the index is {'negative' if output_index < 0 else 'taken'}")
        if tensor._builder is not self or tensor._index < 0:
            raise RuntimeError(f"{failure}; {tensor.name} is {'of another GraphBuilder' if tensor._builder is not self else 'a node without outputs'}")
        self._outputs[output_index] = (tensor._handle, tensor._index)

    def build_and_reset(self, outputs: Optional[List[TensorHolder]] = None) -> Graph:
        """The graph. `outputs`: what it returns, in this order, where set_graph_output did not say."""
        self._check_usable("build_and_reset")
        if outputs is not None:
            if not isinstance(outputs, list):
                raise TypeError("Outputs must be a list")
            if not all(isinstance(tensor, TensorHolder) for tensor in outputs):
                raise TypeError("All outputs must be TensorHolder objects")
            for place, tensor in enumerate(outputs):
                self.set_graph_output(tensor, place)
        for word, indices in (("input", self._inputs), ("output", self._outputs)):
            if sorted(indices) != list(range(len(indices))):
                raise RuntimeError(f"Failed to build graph; {word}s must count from 0 without a gap, but are {sorted(indices)}")
        self._settle_inputs()
        self._add_net_output([self._outputs[place] for place in range(len(self._outputs))])
        self._is_built = True
        graph = lib.graph_share(self._handle)
        if not graph:
            raise failed("Failed to build graph")
        return Graph._create_from(graph)

    def _settle_inputs(self) -> None:
        """What was said about an input's tensor is said about the input."""
        for node in Graph._create_from(self._handle, owns_handle=False, owner=self).get_direct_nodes():
            if node.type in _INPUT_TYPES:
                node.update_input_desc(0, node.get_output_desc(0))

    def _add_net_output(self, outputs: List[Tuple[Node, int]]) -> None:
        operator = lib.operator_create(b"NetOutput", b"NetOutput")
        try:
            if not operator or lib.operator_dynamic(operator, False, b"x", len(outputs)) != 0:
                raise failed("Failed to build graph")
            end = self._add(operator, "NetOutput")
        finally:
            lib.operator_destroy(operator)
        for place, (node, index) in enumerate(outputs):
            if lib.graph_add_edge(self._handle, node._handle, index, end._handle, place) != 0:
                raise failed("Failed to build graph")
        indices = (ctypes.c_int32 * len(outputs))(*[index for _, index in outputs])
        if lib.graph_set_outputs(self._handle, pointers([node._handle for node, _ in outputs]), indices, len(outputs)) != 0:
            raise failed("Failed to build graph")

    # --- for the functions that add operators
    def _check_usable(self, operation: str) -> None:
        if self._is_built:
            raise RuntimeError(f"Cannot {operation}: GraphBuilder has already been built. Create a new GraphBuilder to build another graph.")

    def _next_name(self, kind: str) -> str:
        name = f"{kind}_{self._named}"
        self._named += 1
        return name

    def _add(self, operator: int, name: str) -> Node:
        node = lib.graph_add_operator(self._handle, operator)
        if not node:
            raise failed(f"Failed to add {name} to graph {self.name}")
        return Node._create_from(node)

    @staticmethod
    def _set_attr(operator: int, name: str, value: Any, what: str) -> None:
        attr = encode(kind_of(value), value)
        if lib.operator_set_attr(operator, name.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(f"Failed to create {what}")

    def _apply_scope_infos_to_node(self, tensor_holder: TensorHolder) -> TensorHolder:
        for name, value in getattr(_scopes, "attrs", {}).items():
            tensor_holder._handle.set_attr(name, value)
        before = getattr(_scopes, "controls", [])
        if before:
            self.add_control_dependency(tensor_holder, before)
        return tensor_holder


def _check_attr(name: str, value: Any, kind: AttrValueType) -> None:
    if not isinstance(name, str):
        raise TypeError("Attribute name must be a string")
    item, word = {AttrValueType.VT_INT: (int, "an integer"), AttrValueType.VT_STRING: (str, "a string"), AttrValueType.VT_BOOL: (bool, "a boolean")}[kind]
    if not isinstance(value, item):
        raise TypeError(f"Value must be {word}")


@contextlib.contextmanager
def attr_scope(attr_maps: Dict[str, Any]) -> Iterator[None]:
    """Nodes made on this thread in the meantime get these attributes. Scopes add up; the inner one counts."""
    before = getattr(_scopes, "attrs", {})
    _scopes.attrs = {**before, **attr_maps}
    try:
        yield
    finally:
        _scopes.attrs = before


@contextlib.contextmanager
def control_dependency_scope(tensors: List[TensorHolder]) -> Iterator[None]:
    """Nodes made on this thread in the meantime run after the nodes of these tensors. Scopes add up."""
    before = getattr(_scopes, "controls", [])
    _scopes.controls = before + tensors
    try:
        yield
    finally:
        _scopes.controls = before

# SPDX-License-Identifier: Apache-2.0
"""Builds one graph."""

from enum import Enum
from typing import Any, Dict, List, Optional, Set, Tuple, Union

from ge import _check as check
from ge._native import failed, lib
from ge._object import Uncopyable
from ge.graph.graph import Graph
from ge.graph.node import Node
from ge.graph.operator import Operator
from ge.graph.tensor import Tensor
from ge.graph.tensor_desc import TensorDesc
from ge.graph.types import AttrValueType, DataType, Format

from ._scopes import attr_scope, control_dependency_scope, current
from .tensor_holder import TensorHolder

__all__ = ["GraphBuilder", "InputType", "attr_scope", "control_dependency_scope"]


class InputType(Enum):
    DATA = "Data"
    REF_DATA = "RefData"
    AIPP_DATA = "AippData"
    ANY_DATA = "AnyData"


class GraphBuilder(Uncopyable):
    """Inputs and constants come from here, other nodes from the functions of ge.es.all. build_and_reset ends it."""

    def __init__(self, name: Optional[str] = None) -> None:
        if name is not None:
            check.text("GraphBuilder", name=name)
        self._graph = Graph(name or "graph")
        self._name = name or "graph"
        self._done = False
        self._numbered = 0  # nodes that were named by their type and a number
        self._inputs: Set[int] = set()
        # Not the tensors: they keep the builder, and the two would keep each other.
        self._outputs: Dict[int, Tuple[Node, int]] = {}
        if lib.graph_set_valid(self._graph._native) != 0:
            raise failed(f"GraphBuilder: the graph '{self._name}' cannot be filled")

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
        """Input number `index` of the graph; the numbers have no gap when it is built.

        An input of which nothing is said (no shape, the default type and format) takes what the first run brings.
        Otherwise no shape means a scalar.
        """
        where = "GraphBuilder.create_input"
        self._check_open(where)
        check.instance(where, InputType, type_str=type_str)
        if name is not None:
            check.text(where, name=name)
        if not isinstance(index, int):
            raise check.refusal(TypeError, where, "index", index, "an int from 0 on")
        if index < 0:
            raise check.refusal(RuntimeError, where, "index", index, "an int from 0 on")
        if index in self._inputs:
            raise RuntimeError(f"{where}: '{self._name}' has an input {index} already; "
                               f"the next free index is {_gap(self._inputs)}")
        if shape is not None:
            check.dims(where, shape=shape)
        desc = TensorDesc(shape, format, data_type)
        with Operator._new(where, name or f"input_{index}", type_str.value) as operator:
            operator._put(where, "index", AttrValueType.VT_INT, index)
            if shape is not None or data_type != DataType.DT_FLOAT or format != Format.FORMAT_ND:
                operator._describe(where, False, "x", desc)
                operator._describe(where, True, "y", desc)
            made = self._settle(self._graph._add(where, operator))
        self._inputs.add(index)
        return made

    def create_inputs(self, num: int, start_index: int = 0) -> List[TensorHolder]:
        """Inputs of which nothing is said."""
        where = "GraphBuilder.create_inputs"
        self._check_open(where)
        for what, value, least in (("num", num, 1), ("start_index", start_index, 0)):
            if not isinstance(value, int) or value < least:
                raise check.refusal(TypeError, where, what, value, f"an int from {least} on")
        return [self.create_input(start_index + place) for place in range(num)]

    def create_variable(self, index: int, name: str) -> TensorHolder:
        where = "GraphBuilder.create_variable"
        self._check_open(where)
        check.integer(where, index=index)
        check.text(where, name=name)
        with Operator._new(where, name, "Variable") as operator:
            operator._put(where, "index", AttrValueType.VT_INT, index)
            return self._settle(self._graph._add(where, operator))

    # --- constants. A number makes a scalar, a list a vector, unless a shape is given.
    def create_const_int64(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._constant("create_const_int64", DataType.DT_INT64, value, shape)

    def create_const_uint64(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._constant("create_const_uint64", DataType.DT_UINT64, value, shape)

    def create_const_int32(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._constant("create_const_int32", DataType.DT_INT32, value, shape)

    def create_const_uint32(self, value: Union[int, List[int]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._constant("create_const_uint32", DataType.DT_UINT32, value, shape)

    def create_const_float(self, value: Union[float, List[float]], shape: Optional[List[int]] = None) -> TensorHolder:
        return self._constant("create_const_float", DataType.DT_FLOAT, value, shape)

    def create_vector_int64(self, value: List[int]) -> TensorHolder:
        check.listed("GraphBuilder.create_vector_int64", int, value=value)
        return self._constant("create_vector_int64", DataType.DT_INT64, value)

    def create_scalar_int64(self, value: int) -> TensorHolder:
        return self._scalar("create_scalar_int64", DataType.DT_INT64, value)

    def create_scalar_int32(self, value: int) -> TensorHolder:
        return self._scalar("create_scalar_int32", DataType.DT_INT32, value)

    def create_scalar_uint64(self, value: int) -> TensorHolder:
        return self._scalar("create_scalar_uint64", DataType.DT_UINT64, value)

    def create_scalar_uint32(self, value: int) -> TensorHolder:
        return self._scalar("create_scalar_uint32", DataType.DT_UINT32, value)

    def create_scalar_float(self, value: float) -> TensorHolder:
        return self._scalar("create_scalar_float", DataType.DT_FLOAT, value)

    def _scalar(self, method: str, data_type: DataType, value: Any) -> TensorHolder:
        if isinstance(value, list):
            give = f"{'a number' if data_type == DataType.DT_FLOAT else 'an int'}; the create_const_ methods take lists"
            raise check.refusal(TypeError, f"GraphBuilder.{method}", "value", value, give)
        return self._constant(method, data_type, value)

    def _constant(self, method: str, data_type: DataType, value: Any,
                  shape: Optional[List[int]] = None) -> TensorHolder:
        where = f"GraphBuilder.{method}"
        self._check_open(where)
        number, word = ((int, float), "a number") if data_type == DataType.DT_FLOAT else (int, "an int")
        values = value if isinstance(value, list) else [value]
        for place, one in enumerate(values):
            if not isinstance(one, number):
                what = "value" if values is not value else f"value[{place}]"
                raise check.refusal(TypeError, where, what, one, f"{word} that fits {data_type.name}")
        dims = shape if shape is not None else [len(values)] if values is value else []
        check.dims(where, shape=dims)
        if check.product(dims) != len(values):
            raise ValueError(f"{where}: {len(values)} values are given for shape {dims}; give {check.product(dims)}")
        try:
            tensor = Tensor(values, None, data_type, Format.FORMAT_ND, dims)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        with Operator._new(where, self._next_name("Const"), "Const") as operator:
            operator._put(where, "value", AttrValueType.VT_TENSOR, tensor)
            operator._describe(where, True, "y", tensor.get_tensor_desc())
            return self._settle(self._graph._add(where, operator))

    # --- attributes: of the graph, of the node of a tensor, of the tensor itself
    def set_graph_attr_int64(self, attr_name: str, value: int) -> None:
        self._checked_attr("set_graph_attr_int64", attr_name, value, int)
        self._graph.set_attr(attr_name, int(value))

    def set_graph_attr_string(self, attr_name: str, value: str) -> None:
        self._checked_attr("set_graph_attr_string", attr_name, value, str)
        self._graph.set_attr(attr_name, value)

    def set_graph_attr_bool(self, attr_name: str, value: bool) -> None:
        self._checked_attr("set_graph_attr_bool", attr_name, value, bool)
        self._graph.set_attr(attr_name, value)

    def set_tensor_attr_int64(self, tensor: TensorHolder, attr_name: str, value: int) -> None:
        self._checked_attr("set_tensor_attr_int64", attr_name, value, int, tensor)
        tensor._node.set_output_attr(attr_name, tensor._output, int(value))

    def set_tensor_attr_string(self, tensor: TensorHolder, attr_name: str, value: str) -> None:
        self._checked_attr("set_tensor_attr_string", attr_name, value, str, tensor)
        tensor._node.set_output_attr(attr_name, tensor._output, value)

    def set_tensor_attr_bool(self, tensor: TensorHolder, attr_name: str, value: bool) -> None:
        self._checked_attr("set_tensor_attr_bool", attr_name, value, bool, tensor)
        tensor._node.set_output_attr(attr_name, tensor._output, value)

    def set_node_attr_int64(self, tensor: TensorHolder, attr_name: str, value: int) -> None:
        self._checked_attr("set_node_attr_int64", attr_name, value, int, tensor)
        tensor._node.set_attr(attr_name, int(value))

    def set_node_attr_string(self, tensor: TensorHolder, attr_name: str, value: str) -> None:
        self._checked_attr("set_node_attr_string", attr_name, value, str, tensor)
        tensor._node.set_attr(attr_name, value)

    def set_node_attr_bool(self, tensor: TensorHolder, attr_name: str, value: bool) -> None:
        self._checked_attr("set_node_attr_bool", attr_name, value, bool, tensor)
        tensor._node.set_attr(attr_name, value)

    def _checked_attr(self, method: str, name: str, value: Any, kind: type, *tensors: Any) -> None:
        where = f"GraphBuilder.{method}"
        self._check_open(where)
        for tensor in tensors:
            check.instance(where, TensorHolder, tensor=tensor)
        check.text(where, attr_name=name)
        check.instance(where, kind, value=value)

    # --- the order of nodes, outputs, and the graph
    def add_control_dependency(self, dst_tensor: TensorHolder, src_tensors: List[TensorHolder]) -> None:
        """The node of dst_tensor runs after the nodes of src_tensors."""
        where = "GraphBuilder.add_control_dependency"
        self._check_open(where)
        check.instance(where, TensorHolder, dst_tensor=dst_tensor)
        check.listed(where, TensorHolder, src_tensors=src_tensors)
        for earlier in src_tensors:
            self._graph.add_control_edge(earlier._node, dst_tensor._node)

    def set_graph_output(self, tensor: TensorHolder, output_index: int) -> None:
        """Makes the tensor output number `output_index` of the graph; the numbers have no gap when it is built."""
        where = "GraphBuilder.set_graph_output"
        self._check_open(where)
        check.instance(where, TensorHolder, tensor=tensor)
        check.integer(where, output_index=output_index)
        if output_index < 0:
            raise check.refusal(RuntimeError, where, "output_index", output_index, "an int from 0 on")
        if output_index in self._outputs:
            raise RuntimeError(f"{where}: '{self._name}' has an output {output_index} already; "
                               f"the next free index is {_gap(self._outputs)}")
        if tensor._home is not self:
            raise RuntimeError(f"{where}: '{tensor.name}' is in the graph '{tensor._home.name}'; "
                               f"give a tensor of '{self._name}'")
        if tensor._output < 0:
            raise RuntimeError(f"{where}: the node '{tensor.name}' has no output; give a tensor of another node")
        self._outputs[output_index] = (tensor._node, tensor._output)

    def build_and_reset(self, outputs: Optional[List[TensorHolder]] = None) -> Graph:
        """Ends the builder and returns the graph. `outputs` become its outputs, as set_graph_output makes them."""
        where = "GraphBuilder.build_and_reset"
        self._check_open(where)
        if outputs is not None:
            check.listed(where, TensorHolder, outputs=outputs)
            for place, tensor in enumerate(outputs):
                self.set_graph_output(tensor, place)
        for word, taken in (("input", self._inputs), ("output", self._outputs)):
            if _gap(taken) < len(taken):
                raise RuntimeError(f"{where}: the {word}s of '{self._name}' are {sorted(taken)}; "
                                   f"{word} {_gap(taken)} is missing")
        kinds = {kind.value for kind in InputType}
        for node in self._graph.get_direct_nodes():
            if node.type in kinds:  # what was said of the tensor since then holds for the input
                node.update_input_desc(0, node.get_output_desc(0))
        self._end_in(where, [self._outputs[place] for place in range(len(self._outputs))])
        self._done = True
        return self._graph

    def _end_in(self, where: str, outputs: List[Tuple[Node, int]]) -> None:
        with Operator._new(where, "NetOutput", "NetOutput") as operator:
            operator.register_dynamic_input("x", len(outputs))
            end = self._graph._add(where, operator)
        for place, (node, index) in enumerate(outputs):
            self._graph.add_data_edge(node, index, end, place)
        self._graph._set_outputs(where, outputs)

    # --- for the functions that add operators
    def _check_open(self, where: str) -> None:
        if self._done:
            raise RuntimeError(f"{where}: the graph '{self._name}' is built; make a new GraphBuilder for another one")

    def _next_name(self, kind: str) -> str:
        name = f"{kind}_{self._numbered}"
        self._numbered += 1
        return name

    def _settle(self, node: Node) -> TensorHolder:
        """A node that was just added gets what the scopes around it say."""
        made = TensorHolder._of(node, self)
        for name, value in current.attributes.items():
            node.set_attr(name, value)
        if current.earlier:
            self.add_control_dependency(made, current.earlier)
        return made


def _gap(taken: Any) -> int:
    """The first number that is missing."""
    return next(number for number in range(len(taken) + 1) if number not in taken)

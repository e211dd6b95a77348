# SPDX-License-Identifier: Apache-2.0
"""How a node gets into the graph of a builder. ge.es.all, which is generated, has one function per operator that ends here."""

import ctypes
from typing import Any, List, Optional, Sequence, Tuple, Union

from ge._native import failed, lib, pointers
from ge.graph._attr import encode
from ge.graph.graph import Graph
from ge.graph.node import Node
from ge.graph.types import AttrValueType as VT

from .graph_builder import GraphBuilder
from .tensor_holder import TensorHolder
from .tensor_like import TensorLike, convert_to_tensor_holder, resolve_builder

In = Union[TensorHolder, TensorLike]
# What the table of operators calls the types of attributes.
KINDS = {"Int": VT.VT_INT, "Float": VT.VT_FLOAT, "String": VT.VT_STRING, "Bool": VT.VT_BOOL, "Type": VT.VT_DATA_TYPE, "Tensor": VT.VT_TENSOR,
         "ListInt": VT.VT_LIST_INT, "ListFloat": VT.VT_LIST_FLOAT, "ListString": VT.VT_LIST_STRING, "ListBool": VT.VT_LIST_BOOL,
         "ListType": VT.VT_LIST_DATA_TYPE, "ListTensor": VT.VT_LIST_TENSOR, "ListListInt": VT.VT_LIST_LIST_INT}


class Outputs:
    """The outputs of an operator that has several, by name: those that the class annotates, in their order."""

    def __init__(self, outputs: Sequence[Any]) -> None:
        self.__dict__.update(zip(type(self).__annotations__, outputs))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.__dict__)})"


def build(kind: str, inputs: Sequence[Tuple[str, Any]], outputs: Sequence[Tuple[str, Optional[int]]] = (("y", None),),
          attributes: Sequence[Tuple[str, str, Any]] = (), subgraphs: Sequence[Tuple[str, Any]] = (), owner: Optional[GraphBuilder] = None,
          gives: Optional[type] = None) -> Any:
    """Adds an operator. Names end in * where there may be any number: the value is then a list, an output's its length. After a colon stands the type of
    whole numbers where int64 will not do. An attribute that is None keeps the definition's default. `gives`: the class for several outputs.
    """
    operands = [(*name.partition(":")[::2], value) for name, value in inputs]
    builder = resolve_builder(owner, *[one for name, _, value in operands for one in (value if name.endswith("*") else [value])])
    linked = [(name, [_tensor(one, kind, builder) for one in value] if name.endswith("*") else _tensor(value, kind, builder))
              for name, kind, value in operands]
    return add_node(builder, kind, linked, outputs, attributes, subgraphs, gives)


def _tensor(value: Optional[In], kind: str, builder: GraphBuilder) -> Optional[TensorHolder]:
    if kind == "i32" and (isinstance(value, int) or isinstance(value, list) and all(isinstance(one, int) for one in value)):
        return builder.create_const_int32(value)
    return convert_to_tensor_holder(value, builder)


def add_node(builder: GraphBuilder, kind: str, inputs: Sequence[Tuple[str, Any]], outputs: Sequence[Tuple[str, Optional[int]]] = (("y", None),),
             attributes: Sequence[Tuple[str, str, Any]] = (), subgraphs: Sequence[Tuple[str, Any]] = (), gives: Optional[type] = None) -> Any:
    """The same, of tensors only."""
    builder._check_usable(f"add {kind}")
    name = builder._next_name(kind)
    operator = lib.operator_create(name.encode("utf-8"), kind.encode("utf-8"))
    if not operator:
        raise failed(f"Failed to create {kind}; no operator of that type is defined")
    try:
        for operand, value in inputs:
            if operand.endswith("*"):
                _dynamic(operator, False, operand[:-1], len(value), name)
        for operand, count in outputs:
            if operand.endswith("*"):
                _dynamic(operator, True, operand[:-1], count, name)
        for attribute, word, value in attributes:
            if value is not None:
                _set_attribute(builder, operator, name, attribute, word, value)
        node = builder._add(operator, name)
    finally:
        lib.operator_destroy(operator)
    try:
        for operand, value in inputs:
            _link(builder, node, operand, value)
        for subgraph, value in subgraphs:
            _attach(builder, node, subgraph, value)
    except BaseException:
        lib.graph_remove_node(builder._handle, node._handle)
        raise
    made = _outputs(builder, node, outputs)
    builder._apply_scope_infos_to_node(TensorHolder._create_from(node, builder))
    if gives is not None:
        return gives(made)
    return made[0] if made else TensorHolder._create_from(node, builder, -1)


def _dynamic(operator: int, output: bool, operand: str, count: Optional[int], name: str) -> None:
    side = "outputs" if output else "inputs"
    if not isinstance(count, int) or count < 0:
        raise TypeError(f"{name}: the number of {side} {operand} must be an integer that is not negative, not {count!r}")
    if lib.operator_dynamic(operator, output, operand.encode("utf-8"), count) != 0:
        raise failed(f"{name}: {count} {side} {operand} could not be made")


def _set_attribute(builder: GraphBuilder, operator: int, name: str, attribute: str, word: str, value: Any) -> None:
    try:
        attr = encode(KINDS[word], value)
    except (TypeError, ValueError, AttributeError) as error:
        raise TypeError(f"{name}: attribute {attribute} is {value!r}, but must be {word}") from error
    if word == "Tensor":
        value._transfer_ownership_when_pass_as_attr(builder)
    if lib.operator_set_attr(operator, attribute.encode("utf-8"), ctypes.byref(attr)) != 0:
        raise failed(f"{name}: attribute {attribute} could not be set to {value!r}")


def _link(builder: GraphBuilder, node: Node, operand: str, value: Union[None, TensorHolder, List[TensorHolder]]) -> None:
    many = operand.endswith("*")
    for place, source in enumerate(value if many else [value]):
        if source is None:
            continue  # an input that may be absent; the engine refuses to run without one that may not
        if source._index < 0:
            raise ValueError(f"{node.name}: {source.name} has no output that could be its input {operand}")
        if source._builder is not builder:
            raise ValueError(f"{node.name}: input {operand} comes from the GraphBuilder '{source._builder.name}', not from '{builder.name}'")
        index = lib.node_operand(node._handle, False, operand.rstrip("*").encode("utf-8"), place if many else -1)
        if index < 0 or lib.graph_add_edge(builder._handle, source._handle._handle, source._index, node._handle, index) != 0:
            raise failed(f"{node.name}: input {operand} could not be connected to {source.name}")


def _attach(builder: GraphBuilder, node: Node, subgraph: str, value: Union[Graph, List[Graph]]) -> None:
    many = subgraph.endswith("*")
    graphs = list(value) if many else [value]
    if not all(isinstance(graph, Graph) for graph in graphs):
        raise TypeError(f"{node.name}: {subgraph} must be {'a list of Graph' if many else 'a Graph'}")
    for graph in graphs:
        graph._transfer_ownership_when_pass_as_subgraph(builder)
    if lib.node_set_subgraphs(node._handle, subgraph.rstrip("*").encode("utf-8"), pointers([graph._handle for graph in graphs]), len(graphs), many) != 0:
        raise failed(f"{node.name}: {subgraph} could not be set")


def _outputs(builder: GraphBuilder, node: Node, outputs: Sequence[Tuple[str, Optional[int]]]) -> List[Any]:
    made: List[Any] = []
    place = 0
    for operand, count in outputs:  # in the order of the definition, which is the order of the indices
        if operand.endswith("*"):
            made.append([TensorHolder._create_from(node, builder, place + one) for one in range(count or 0)])
            place += count or 0
        else:
            made.append(TensorHolder._create_from(node, builder, place))
            place += 1
    return made

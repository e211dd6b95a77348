# SPDX-License-Identifier: Apache-2.0
"""How a node gets into the graph of a builder: where the functions of ge.es.all, which are generated, end."""

from typing import Any, List, Optional, Sequence, Tuple, Union

from ge import _check as check
from ge._native import failed, lib, pointers
from ge.graph.graph import Graph
from ge.graph.node import Node
from ge.graph.operator import Operator
from ge.graph.tensor import Tensor
from ge.graph.types import AttrValueType as VT

from .graph_builder import GraphBuilder
from .tensor_holder import TensorHolder
from .tensor_like import TensorLike, convert_to_tensor_holder, resolve_builder

In = Union[TensorHolder, TensorLike]
# What the table of operators calls the types of attributes.
KINDS = {"Int": VT.VT_INT, "Float": VT.VT_FLOAT, "String": VT.VT_STRING, "Bool": VT.VT_BOOL, "Type": VT.VT_DATA_TYPE,
         "Tensor": VT.VT_TENSOR, "ListInt": VT.VT_LIST_INT, "ListFloat": VT.VT_LIST_FLOAT,
         "ListString": VT.VT_LIST_STRING, "ListBool": VT.VT_LIST_BOOL, "ListType": VT.VT_LIST_DATA_TYPE,
         "ListTensor": VT.VT_LIST_TENSOR, "ListListInt": VT.VT_LIST_LIST_INT}


class Outputs:
    """The outputs of an operator that has several, by name: those that the class annotates, in their order."""

    def __init__(self, outputs: Sequence[Any]) -> None:
        self.__dict__.update(zip(type(self).__annotations__, outputs))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.__dict__)})"


class _Operand:
    """One input in the definition: its tensors, of which None is one that is left out."""

    def __init__(self, word: str, value: Any) -> None:
        name, _, self.whole = word.partition(":")
        self.many = name.endswith("*")
        self.name = name.rstrip("*")
        if self.many and not isinstance(value, (list, tuple)):
            raise check.refusal(TypeError, "ge.es", self.name, value, "a list of tensors")
        self.values: List[Any] = list(value) if self.many else [value]

    def convert(self, kind: str, builder: GraphBuilder) -> None:
        """Numbers become constants of the builder's graph; its tensors stay what they are, and others are refused."""
        self.values = [self._tensor(value, builder) for value in self.values]
        for tensor in self.values:
            if tensor is None:
                continue  # the engine refuses to run without an input that must be there
            if tensor._home is not builder:
                raise ValueError(f"{kind}: input {self.name} is '{tensor.name}' of the builder '{tensor._home.name}'; "
                                 f"give a tensor of '{builder.name}', like the other inputs")
            if tensor._output < 0:
                raise ValueError(f"{kind}: input {self.name} is '{tensor.name}', which has no outputs")

    def _tensor(self, value: Any, builder: GraphBuilder) -> Optional[TensorHolder]:
        numbers = value if isinstance(value, list) else [value]
        if self.whole == "i32" and all(isinstance(number, int) for number in numbers):
            return builder.create_const_int32(value)
        return convert_to_tensor_holder(value, builder)

    def link(self, kind: str, graph: Graph, node: Node) -> None:
        for place, tensor in enumerate(self.values):
            if tensor is None:
                continue
            index = lib.node_operand(node._native, False, self.name.encode("utf-8"), place if self.many else -1)
            if index < 0:
                raise failed(f"{kind}: '{node.name}' has no input {self.name}")
            graph.add_data_edge(tensor._node, tensor._output, node, index)


def build(kind: str, inputs: Sequence[Tuple[str, Any]], outputs: Sequence[Tuple[str, Optional[int]]] = (("y", None),),
          attributes: Sequence[Tuple[str, str, Any]] = (), subgraphs: Sequence[Tuple[str, Any]] = (),
          owner: Optional[GraphBuilder] = None, gives: Optional[type] = None) -> Any:
    """Adds an operator to the graph of its inputs and returns its outputs, as `gives` where there are several.

    Names end in * where there may be any number: the value is then a list, an output's its length. After a colon stands
    the type of whole numbers where int64 will not do. An attribute that is None keeps the default of the definition.
    """
    operands = [_Operand(word, value) for word, value in inputs]
    builder = resolve_builder(owner, *[value for operand in operands for value in operand.values])
    builder._check_open(kind)
    for operand in operands:
        operand.convert(kind, builder)
    node = _add(builder, kind, operands, outputs, attributes)
    try:
        for operand in operands:
            operand.link(kind, builder._graph, node)
        for word, value in subgraphs:
            _attach(builder, kind, node, word, value)
    except BaseException:
        builder._graph.remove_node(node)
        raise
    made = _outputs(builder, node, outputs)
    builder._settle(node)
    if gives is not None:
        return gives(made)
    return made[0] if made else TensorHolder._of(node, builder, -1)


def _add(builder: GraphBuilder, kind: str, operands: Sequence[_Operand], outputs: Sequence[Tuple[str, Optional[int]]],
         attributes: Sequence[Tuple[str, str, Any]]) -> Node:
    with Operator._new(kind, builder._next_name(kind), kind) as operator:
        for operand in operands:
            if operand.many:
                operator._define_many(f"{kind}, input {operand.name}", False, operand.name, len(operand.values))
        for word, count in outputs:
            if word.endswith("*"):
                if not isinstance(count, int) or count < 0:
                    what = f"the number of outputs {word[:-1]}"
                    raise check.refusal(TypeError, kind, what, count, "an int from 0 on")
                operator._define_many(f"{kind}, output {word[:-1]}", True, word[:-1], count)
        for name, word, value in attributes:
            if value is not None:
                _set_attribute(builder, operator, kind, name, word, value)
        return builder._graph._add(kind, operator)


def _set_attribute(builder: GraphBuilder, operator: Operator, kind: str, name: str, word: str, value: Any) -> None:
    if word == "Tensor":
        check.instance(kind, Tensor, **{name: value})
        value._take(kind, builder.name)
    try:
        operator._put(kind, name, KINDS[word], value)
    except (TypeError, ValueError) as error:
        raise check.refusal(TypeError, kind, f"the attribute {name}", value, f"what suits the type {word}") from error


def _attach(builder: GraphBuilder, kind: str, node: Node, word: str, value: Union[Graph, List[Graph]]) -> None:
    many, name = word.endswith("*"), word.rstrip("*")
    if many:
        check.listed(kind, Graph, **{name: value})
    else:
        check.instance(kind, Graph, **{name: value})
    graphs = value if isinstance(value, list) else [value]
    for graph in graphs:
        graph._take(kind, builder.name)
    handles = pointers([graph._native for graph in graphs])
    if lib.node_set_subgraphs(node._native, name.encode("utf-8"), handles, len(graphs), many) != 0:
        raise failed(f"{kind}: '{node.name}' does not take {[graph.name for graph in graphs]} as its {name}")


def _outputs(builder: GraphBuilder, node: Node, outputs: Sequence[Tuple[str, Optional[int]]]) -> List[Any]:
    made: List[Any] = []
    first = 0
    for word, count in outputs:  # in the order of the definition, which is the order of the indices
        if word.endswith("*"):
            made.append([TensorHolder._of(node, builder, first + place) for place in range(count or 0)])
            first += count or 0
        else:
            made.append(TensorHolder._of(node, builder, first))
            first += 1
    return made

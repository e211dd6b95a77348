# SPDX-License-Identifier: Apache-2.0
"""Tensors of a graph that is being built."""

from typing import TYPE_CHECKING, Any, List, NoReturn, Union

from ge import _check as check
from ge.graph.node import Node
from ge.graph.tensor_desc import TensorDesc
from ge.graph.types import DataType, Format

if TYPE_CHECKING:
    from .graph_builder import GraphBuilder
    from .tensor_like import TensorLike

Operand = Union["TensorHolder", "TensorLike"]


class TensorHolder:
    """One output of a node; it keeps the builder of its graph. Arithmetic adds nodes; numbers become constants."""

    _node: Node
    _home: "GraphBuilder"
    _output: int  # -1: the node has none, and stands here for its place in the order of nodes

    def __init__(self) -> NoReturn:
        raise RuntimeError("TensorHolder(): programs do not make a TensorHolder; get one from a create_ method of "
                           "GraphBuilder or a function of ge.es.all")

    @classmethod
    def _of(cls, node: Node, home: "GraphBuilder", output: int = 0) -> "TensorHolder":
        made = cls.__new__(cls)
        made._node, made._home, made._output = node, home, output
        return made

    def get_owner_builder(self) -> "GraphBuilder":
        return self._home

    @property
    def name(self) -> str:
        """The name of the node."""
        return self._node.name

    # Setters return the tensor, so that they can be chained.
    def set_data_type(self, data_type: DataType) -> "TensorHolder":
        where = "TensorHolder.set_data_type"
        desc = self._described(where)
        check.instance(where, DataType, data_type=data_type)
        return self._describe(desc.set_data_type(data_type))

    def set_format(self, format: Format) -> "TensorHolder":
        where = "TensorHolder.set_format"
        desc = self._described(where)
        check.instance(where, Format, format=format)
        return self._describe(desc.set_format(format).set_origin_format(format))

    def set_shape(self, shape: List[int]) -> "TensorHolder":
        where = "TensorHolder.set_shape"
        desc = self._described(where)
        check.dims(where, shape=shape)
        return self._describe(desc.set_shape(shape).set_origin_shape(shape))

    def _described(self, where: str) -> TensorDesc:
        self._home._check_open(where)
        return self._node.get_output_desc(self._output)

    def _describe(self, desc: TensorDesc) -> "TensorHolder":
        self._node.update_output_desc(self._output, desc)
        return self

    def add(self, other: Operand) -> "TensorHolder":
        return self._compute("Add", self, other)

    def sub(self, other: Operand) -> "TensorHolder":
        return self._compute("Sub", self, other)

    def mul(self, other: Operand) -> "TensorHolder":
        return self._compute("Mul", self, other)

    def div(self, other: Operand) -> "TensorHolder":
        return self._compute("Div", self, other)

    __add__ = __radd__ = add
    __sub__ = sub
    __mul__ = __rmul__ = mul
    __truediv__ = div

    def __rsub__(self, other: Operand) -> "TensorHolder":
        return self._compute("Sub", other, self)

    def __rtruediv__(self, other: Operand) -> "TensorHolder":
        return self._compute("Div", other, self)

    def _compute(self, kind: str, left: Any, right: Any) -> "TensorHolder":
        from . import _operators  # which needs this module

        if left is None or right is None:  # to build(), an input that is left out
            raise check.refusal(TypeError, kind, "an operand", None, "a TensorHolder, a number or a list of numbers")
        return _operators.build(kind, (("x1", left), ("x2", right)), owner=self._home)

# SPDX-License-Identifier: Apache-2.0
"""One output of a node in a graph that is being built."""

from typing import TYPE_CHECKING, List, NoReturn, Union

from ge.graph.node import Node
from ge.graph.types import DataType, Format

from .tensor_like import TensorLike, convert_to_tensor_holder

if TYPE_CHECKING:
    from .graph_builder import GraphBuilder

Operand = Union["TensorHolder", TensorLike]


class TensorHolder:
    """Keeps its builder. + - * / add operators; the other side may be a number or a list of numbers."""

    def __init__(self) -> NoReturn:
        raise RuntimeError("TensorHolder objects should not be created directly")

    @classmethod
    def _create_from(cls, handle: Node, owner_builder: "GraphBuilder", index: int = 0) -> "TensorHolder":
        if not handle:
            raise ValueError("Tensor handle cannot be None")
        if not owner_builder:
            raise ValueError("Owner builder cannot be None")
        made = cls.__new__(cls)
        made._handle = handle
        made._builder = owner_builder
        made._index = index  # -1: the node has no output, and is here for control edges
        return made

    def get_owner_builder(self) -> "GraphBuilder":
        return self._builder

    @property
    def name(self) -> str:
        """The node's."""
        return self._handle.name

    def _get_node_snapshot(self) -> Node:
        return self._handle

    def set_data_type(self, data_type: DataType) -> "TensorHolder":
        self._builder._check_usable("set data type")
        if not isinstance(data_type, DataType):
            raise TypeError("Data type must be a DataType enum")
        return self._update("data type", lambda desc: desc.set_data_type(data_type))

    def set_format(self, format: Format) -> "TensorHolder":
        self._builder._check_usable("set format")
        if not isinstance(format, Format):
            raise TypeError("Format must be a Format enum")
        return self._update("format", lambda desc: desc.set_format(format).set_origin_format(format))

    def set_shape(self, shape: List[int]) -> "TensorHolder":
        self._builder._check_usable("set shape")
        if not isinstance(shape, list):
            raise TypeError("Shape must be a list of integers")
        if not all(isinstance(dim, int) for dim in shape):
            raise TypeError("All shape dimensions must be integers")
        return self._update("shape", lambda desc: desc.set_shape(shape).set_origin_shape(shape))

    def _update(self, what: str, change) -> "TensorHolder":
        try:
            desc = self._handle.get_output_desc(self._index)
            change(desc)
            self._handle.update_output_desc(self._index, desc)
        except RuntimeError as error:
            raise RuntimeError(f"Failed to set {what}; {error}") from error
        return self

    def _binary(self, other: Operand, kind: str, word: str) -> "TensorHolder":
        from ._operators import add_node

        self._builder._check_usable(word)
        right = convert_to_tensor_holder(other, self._builder)
        if right is None:
            raise TypeError("Value must be TensorHolder or int|float or nested lists of int|float")
        if self._builder is not right._builder:
            raise ValueError(
                f"Cannot perform {word}: tensors from different GraphBuilders ('{self._builder.name}' vs '{right._builder.name}')")
        return add_node(self._builder, kind, (("x1", self), ("x2", right)))

    def add(self, other: Operand) -> "TensorHolder":
        return self._binary(other, "Add", "add")

    def sub(self, other: Operand) -> "TensorHolder":
        return self._binary(other, "Sub", "sub")

    def mul(self, other: Operand) -> "TensorHolder":
        return self._binary(other, "Mul", "mul")

    def div(self, other: Operand) -> "TensorHolder":
        return self._binary(other, "Div", "div")

    __add__ = __radd__ = add
    __sub__ = sub
    __mul__ = __rmul__ = mul
    __truediv__ = div

    def __rsub__(self, other: Operand) -> "TensorHolder":
        return convert_to_tensor_holder(other, self._builder).sub(self)

    def __rtruediv__(self, other: Operand) -> "TensorHolder":
        return convert_to_tensor_holder(other, self._builder).div(self)

# SPDX-License-Identifier: Apache-2.0
"""Numbers and lists of numbers where a tensor is wanted: they become constants of the graph."""

from typing import TYPE_CHECKING, List, Optional, Tuple, Union

if TYPE_CHECKING:
    from ge.es import GraphBuilder, TensorHolder

Number = Union[int, float]
TensorLike = Union[int, float, List["TensorLike"]]


def convert_to_tensor_holder(value: "Optional[Union[TensorHolder, TensorLike]]", owner_builder: "GraphBuilder") -> "Optional[TensorHolder]":
    """Integers become int64, anything with a float in it float; None stays None."""
    from ge.es.tensor_holder import TensorHolder

    if value is None or isinstance(value, TensorHolder):
        return value
    if isinstance(value, int):
        return owner_builder.create_scalar_int64(value)
    if isinstance(value, float):
        return owner_builder.create_scalar_float(value)
    if isinstance(value, list):
        flat, shape = _flatten_and_infer_shape(value)
        if any(isinstance(one, float) for one in flat):
            return owner_builder.create_const_float(flat, shape=shape)
        return owner_builder.create_const_int64(flat, shape=shape)
    raise TypeError("Value must be TensorHolder or int|float or nested lists of int|float or None")


def resolve_builder(*values: "Union[TensorHolder, TensorLike, GraphBuilder, None]") -> "GraphBuilder":
    """The builder of the first tensor among them."""
    from ge.es import GraphBuilder, TensorHolder

    if not values:
        raise ValueError("At least one argument is required to resolve GraphBuilder")
    for value in values:
        if isinstance(value, GraphBuilder):
            return value
        if isinstance(value, TensorHolder):
            return value.get_owner_builder()
    raise ValueError("Please ensure at least one input tensor or an explicit owner_builder is provided when supported")


def _flatten_and_infer_shape(value: List[TensorLike]) -> Tuple[List[Number], List[int]]:
    """[[1, 2], [3, 4]] as [1, 2, 3, 4] and [2, 2]."""
    if not value:
        return value, [0]

    def walk(current: TensorLike) -> Tuple[List[Number], List[int]]:
        if isinstance(current, (int, float)):
            return [current], []
        if not isinstance(current, list) or not current:
            raise TypeError("Value must be int|float or nested lists of int|float")
        parts = [walk(one) for one in current]
        if any(shape != parts[0][1] for _, shape in parts):
            raise ValueError("Irregular nested list: all sub-lists must have the same shape")
        return [one for flat, _ in parts for one in flat], [len(current), *parts[0][1]]

    return walk(value)

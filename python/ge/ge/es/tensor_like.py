# SPDX-License-Identifier: Apache-2.0
"""What may stand where an operator wants a tensor: numbers, and lists of them, become constants of its graph."""

from typing import List, Optional, Tuple, Union

from ge import _check as check

from .graph_builder import GraphBuilder
from .tensor_holder import TensorHolder

Number = Union[int, float]
TensorLike = Union[int, float, List["TensorLike"]]

_WANTED = "a TensorHolder, a number or lists of numbers"


def convert_to_tensor_holder(value: Union[TensorHolder, TensorLike, None],
                             owner_builder: GraphBuilder) -> Optional[TensorHolder]:
    """A constant of float where there is a float among the numbers, else of int64. None stays None: no input."""
    if value is None or isinstance(value, TensorHolder):
        return value
    numbers, shape = _flat("convert_to_tensor_holder", value)
    if any(isinstance(number, float) for number in numbers):
        return owner_builder.create_const_float(numbers, shape)
    return owner_builder.create_const_int64(numbers, shape)


def resolve_builder(*values: Union[TensorHolder, TensorLike, GraphBuilder, None]) -> GraphBuilder:
    """The builder among the values, or that of a tensor among them: the first that is found."""
    for value in values:
        builder = value._home if isinstance(value, TensorHolder) else value
        if isinstance(builder, GraphBuilder):
            return builder
    raise ValueError(f"resolve_builder: none of the {len(values)} values tells the graph; give a TensorHolder, "
                     f"or the GraphBuilder where the operator takes one")


def _flat(where: str, value: TensorLike) -> Tuple[List[Number], List[int]]:
    """[[1, 2], [3, 4]] as the numbers [1, 2, 3, 4] and the shape [2, 2]."""
    if isinstance(value, (int, float)):
        return [value], []
    if not isinstance(value, list):
        raise check.refusal(TypeError, where, "value", value, _WANTED)
    numbers: List[Number] = []
    shapes = []
    for row in value:
        more, shape = _flat(where, row)
        numbers += more
        shapes.append(shape)
    if any(shape != shapes[0] for shape in shapes):
        uneven = next(place for place, shape in enumerate(shapes) if shape != shapes[0])
        raise ValueError(f"{where}: value[0] has the shape {shapes[0]}, but value[{uneven}] has {shapes[uneven]}; "
                         f"give lists of one length: {check.shown(value)}")
    return numbers, [len(value), *(shapes[0] if shapes else [])]

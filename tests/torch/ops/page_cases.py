# SPDX-License-Identifier: Apache-2.0
"""Cases of operators' pages in a row: a name, arguments of which `...` is an output, and what gives the results in float64."""

import math

import torch
from aclnn_calls import room

INF = math.inf

D = lambda tensor: tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


class Ref:
    """An argument that is changed in place; its wanted contents stand among the results."""

    def __init__(self, tensor):
        self.tensor = tensor


def same(got, want, message, dtype=None):
    """Exact for whole numbers and truth values; float64 stands for the type that was computed in."""
    if not (want.is_floating_point() or want.is_complex()):
        assert got.dtype == want.dtype and torch.equal(got, want), f"{message}: {got} instead of {want}"
        return
    torch.testing.assert_close(D(got), D(want), rtol=2e-5, atol=3e-6, equal_nan=True, msg=lambda text: f"{message}: {text}")


def within_a_rounding(got, want, message):
    """A card computes in float32 and rounds once."""
    digits, least = (11, 2.0**-24) if got.dtype == torch.float16 else (8, 2.0**-133)
    assert torch.equal(got.isnan(), want.isnan()), message
    exponent = torch.frexp(want.nan_to_num(0, 0, 0).abs()).exponent
    step = torch.ldexp(torch.ones(exponent.shape).double(), exponent - digits).clamp(min=least)
    off = ((got.double() - want).nan_to_num(0, INF, INF).abs() / step).masked_fill(got.double() == want, 0)
    assert off.max() <= 0.55, f"{message}: {off.max().item()} roundings: {got} instead of {want}"


def run_case(aclnn, name, arguments, reference, check=same, dtype=torch.float32):
    """`...` is an output, of the result's shape and, but for float64, type."""
    wanted = iter(reference())
    outputs, filled = [], []
    for argument in arguments:
        if argument is ...:
            want = next(wanted)
            kind = {torch.float64: dtype, torch.complex128: torch.complex64}.get(want.dtype, want.dtype)
            outputs.append((room(want.shape, dtype=kind), want))
            argument = outputs[-1][0]
        elif isinstance(argument, Ref):
            outputs.append((argument.tensor.clone(), next(wanted)))
            argument = outputs[-1][0]
        filled.append(argument)
    assert next(wanted, None) is None, "the case has more results than outputs"
    aclnn.run(name, *filled)
    for number, (got, want) in enumerate(outputs):
        check(got, want, f"{name}, output {number}")


def ids(cases):
    return [f"{case[0]}-{number}" for number, case in enumerate(cases)]

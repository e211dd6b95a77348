# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors: every foreach operator of the wheel against the CPU, in place and not."""

import pytest
import torch
import torch_npu  # noqa: F401 - brings the device

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
SHAPES = [(3, 4), (7,), (2, 1, 5), (), (0, 3), (33, 17)]
UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac log log10 log1p log2 neg reciprocal round sigmoid sign sin sinh "
         "sqrt tan tanh trunc").split()
COUNT = len(SHAPES)
BINARY = "add sub mul div maximum minimum pow".split()
MANY = 60  # the wheel cuts long lists into several calls


def lists(dtype, seed, count=COUNT):
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(SHAPES[i % len(SHAPES)], generator=generator).mul(0.8).add(0.1).to(dtype) for i in range(count)]


def to_npu(tensors):
    return [x.npu() for x in tensors]


def close(got, want):
    assert len(got) == len(want)
    for one, two in zip(got, want):
        torch.testing.assert_close(one.cpu(), two, equal_nan=True)


def check(name, cpu, *operands):
    """Both forms; operands: lists go to the device, the rest stays."""
    def move(x):
        return to_npu(x) if isinstance(x, list) and x and isinstance(x[0], torch.Tensor) else x

    npu, others = to_npu(cpu), [move(x) for x in operands]
    function = getattr(torch, f"_foreach_{name}")
    close(function(npu, *others), function(cpu, *operands))
    in_place = getattr(torch, f"_foreach_{name}_")
    in_place(npu, *others)
    in_place(cpu, *operands)
    close(npu, cpu)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_one_list(name, dtype):
    check(name, lists(dtype, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_a_second_list_a_scalar_or_a_list_of_scalars(name, dtype):
    check(name, lists(dtype, 1), lists(dtype, 2))
    check(name, lists(dtype, 1), 2)
    check(name, lists(dtype, 1), 0.75)
    check(name, lists(dtype, 1), [0.5 + i for i in range(len(SHAPES))])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum"])
def test_integers(name):
    cpu, other = [torch.arange(6, dtype=torch.int32)], [torch.arange(6, 0, -1, dtype=torch.int32)]
    check(name, cpu, other)
    check(name, [torch.arange(6, dtype=torch.int32)], 3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_three_lists(name, dtype):
    operands = lists(dtype, 2), lists(dtype, 3)
    check(name, lists(dtype, 1), *operands, 0.5)
    check(name, lists(dtype, 1), *operands, [0.5 + i for i in range(len(SHAPES))])
    check(name, lists(dtype, 1), *operands, torch.arange(len(SHAPES), dtype=torch.float32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_lerp(dtype):
    check("lerp", lists(dtype, 1), lists(dtype, 2), 0.25)
    check("lerp", lists(dtype, 1), lists(dtype, 2), lists(dtype, 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [1, 2])
def test_norm(dtype, order):
    cpu = [x for x in lists(dtype, 1, MANY) if x.numel()]
    close(torch._foreach_norm(to_npu(cpu), order), torch._foreach_norm(cpu, order))


def test_copy_zero_and_a_scalar_to_the_power_of_a_list():
    cpu = lists(torch.float32, 1, MANY)
    room = [torch.empty_like(x) for x in to_npu(cpu)]
    torch._foreach_copy_(room, to_npu(cpu))
    close(room, cpu)
    torch._foreach_zero_(room)
    close(room, [torch.zeros_like(x) for x in cpu])
    close(torch._foreach_pow(2.0, to_npu(cpu)), torch._foreach_pow(2.0, cpu))


def test_long_lists_and_alpha():
    cpu, other = lists(torch.float32, 1, MANY), lists(torch.float32, 2, MANY)
    npu = to_npu(cpu)
    torch._foreach_add_(npu, to_npu(other), alpha=-0.5)
    torch._foreach_add_(cpu, other, alpha=-0.5)
    close(npu, cpu)


@pytest.mark.parametrize("spoil", [None, float("inf"), float("nan")])
def test_unscale_finds_what_is_not_finite(spoil):
    grads = lists(torch.float32, 1)
    if spoil is not None:
        grads[1][3] = spoil
    npu, found = to_npu(grads), torch.zeros(1, device="npu")
    torch._amp_foreach_non_finite_check_and_unscale_(npu, found, torch.full((1,), 0.25, device="npu"))
    assert found.item() == (0.0 if spoil is None else 1.0)
    close(npu, [x * 0.25 for x in grads])

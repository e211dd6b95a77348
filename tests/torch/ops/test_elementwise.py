# SPDX-License-Identifier: Apache-2.0
"""What the operator database does not reach of the elementwise functions: host scalars, views, aliases, mixed types."""

import operator

import pytest
import torch
import torch_npu  # noqa: F401 - brings the device

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
NUMBERS = [*FLOATS, torch.int32, torch.int64, torch.uint8, torch.int8, torch.int16]


def same(got, want):
    torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0, equal_nan=True)


def values(dtype, *shape):
    generator = torch.Generator().manual_seed(3)
    data = torch.randn(*shape, generator=generator) * 4 + 9
    return data.to(dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow])
@pytest.mark.parametrize("scalar", [2, 2.5])
def test_a_number_on_either_side(op, dtype, scalar):
    cpu = values(dtype, 3, 5)
    same(op(cpu.npu(), scalar), op(cpu, scalar))
    if op is not operator.pow or dtype.is_floating_point or isinstance(scalar, float):
        same(op(scalar, cpu.npu()), op(scalar, cpu))


# A 0-d tensor on the host reaches the operator as a mere number; the wanted arithmetic is the tensor's.
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float16])
@pytest.mark.parametrize("host", [torch.tensor(0.1, dtype=torch.float16), torch.tensor(0.1), torch.tensor(3)])
@pytest.mark.parametrize("op", [torch.add, torch.sub, torch.mul, torch.div, torch.remainder])
def test_a_host_tensor_without_dimensions(op, dtype, host):
    cpu = values(dtype, 4, 3)
    same(op(cpu.npu(), host), op(cpu, host))


@pytest.mark.parametrize("left", [torch.float16, torch.float32, torch.int32, torch.bool])
@pytest.mark.parametrize("right", [torch.bfloat16, torch.int64, torch.uint8])
@pytest.mark.parametrize("op", [torch.add, torch.mul, torch.div, torch.maximum, torch.eq, torch.lt, torch.pow])
def test_types_promote(op, left, right):
    one, two = values(left, 2, 3), values(right, 3)
    if op is torch.pow:
        one, two = one.clamp(max=3), two.clamp(max=3)
    same(op(one.npu(), two.npu()), op(one, two))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_in_place_on_views(dtype):
    for write in (lambda x, y: x.add_(y, alpha=2), lambda x, y: x.mul_(y), lambda x, y: x.sub_(3), lambda x, y: x.clamp_(2, 9),
                  lambda x, y: x.abs_(), lambda x, y: x.eq_(y), lambda x, y: x.neg_(), lambda x, y: x.sign_()):
        cpu, other = values(dtype, 6, 8), values(dtype, 4)
        npu = cpu.npu()
        write(npu[::2, 1::2], other.npu())
        write(cpu[::2, 1::2], other)
        same(npu, cpu)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("function", [torch.exp, torch.sqrt, torch.sigmoid, torch.tanh, torch.erf, torch.rsqrt, torch.log1p])
def test_transposed_sliced_empty_and_0d(function, dtype):
    cpu = values(dtype, 5, 6).abs()
    npu = cpu.npu()
    for cut in (lambda x: x, lambda x: x.t(), lambda x: x[1::2, ::3], lambda x: x[:0], lambda x: x[2, 2], lambda x: x[:1].expand(4, 6)):
        torch.testing.assert_close(function(cut(npu)).cpu(), function(cut(cpu)))


def test_out_tensors_are_written_where_they_are():
    cpu, other = values(torch.float32, 4, 4), values(torch.float32, 4, 4)
    room, want = torch.zeros(4, 8, device="npu"), torch.zeros(4, 8)
    torch.add(cpu.npu(), other.npu(), out=room[:, ::2])
    torch.add(cpu, other, out=want[:, ::2])
    same(room, want)
    shifted = torch.empty(4, 4, device="npu", dtype=torch.float16)
    torch.mul(cpu.npu(), other.npu(), out=shifted)
    same(shifted, torch.mul(cpu, other, out=torch.empty(4, 4, dtype=torch.float16)))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_shifts(dtype):
    cpu, bits = torch.arange(1, 9, dtype=dtype), torch.arange(8, dtype=dtype) % 4
    npu = cpu.npu()
    same(npu << bits.npu(), cpu << bits)
    same(npu >> bits.npu(), cpu >> bits)
    same(npu << 2, cpu << 2)
    same(npu >> 1, cpu >> 1)
    npu <<= 1
    cpu <<= 1
    same(npu, cpu)


def test_nan_and_infinities():
    cpu = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0, -0.0])
    npu = cpu.npu()
    for function in (torch.nan_to_num, torch.isfinite, torch.isnan, torch.isposinf, torch.isneginf, torch.signbit, torch.sign,
                     lambda x: torch.nan_to_num(x, 3.0, 4.0, -5.0), lambda x: torch.maximum(x, x.flip(0)), lambda x: x.clamp(min=0)):
        same(function(npu), function(cpu))
    same(npu.nan_to_num_(), cpu.nan_to_num_())


def test_equal_looks_at_shape_and_value():
    one = torch.arange(6).npu()
    assert torch.equal(one, one.clone())
    assert not torch.equal(one, one + 1)
    assert not torch.equal(one, one[:5])


def test_complex_numbers():
    cpu = torch.complex(values(torch.float32, 3, 4), values(torch.float32, 3, 4).flip(0))
    npu = cpu.npu()
    for function in (torch.abs, torch.angle, torch.sgn, lambda x: x * x.conj(), lambda x: x / (x + 1), lambda x: x.real + x.imag,
                     lambda x: torch.polar(x.abs(), x.angle()), lambda x: torch.resolve_conj(x.conj())):
        torch.testing.assert_close(function(npu).cpu(), function(cpu))


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(RuntimeError, match=r"(?s)shape.*broadcast|must match|Sizes of tensors"):
        torch.add(torch.ones(3, device="npu"), torch.ones(4, device="npu"))

# SPDX-License-Identifier: Apache-2.0
"""Random numbers: a pure function of the seed, rightly distributed, the same in a captured graph as outside."""

import math

import pytest
import torch

import torch_npu

COUNT = 20000
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


def drawn(draw):
    """Three draws: two from the same seed, one after."""
    torch.npu.manual_seed(5)
    first = draw()
    torch.npu.manual_seed(5)
    again, next_one = draw(), draw()
    assert torch.equal(first, again)
    assert not torch.equal(again, next_one)
    return first.cpu().double()


def check(draw, mean, deviation, low=-math.inf, high=math.inf):
    values = drawn(draw)
    error = 6 * deviation / math.sqrt(values.numel()) + 2e-3 * abs(mean)
    assert abs(values.mean().item() - mean) < error
    assert abs(values.std().item() - deviation) < 0.05 * deviation
    assert low <= values.min() and values.max() <= high


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    def empty():
        return torch.empty(COUNT, device="npu", dtype=dtype)

    def full(value):
        return torch.full((COUNT,), value, device="npu", dtype=dtype)

    check(lambda: torch.rand(COUNT, device="npu", dtype=dtype), 0.5, 12**-0.5, 0, 1)
    check(lambda: empty().uniform_(-2, 3), 0.5, 5 * 12**-0.5, -2, 3)
    check(lambda: torch.randn(COUNT, device="npu", dtype=dtype), 0, 1)
    check(lambda: empty().normal_(2, 3), 2, 3)
    check(lambda: torch.normal(full(2.0), full(0.5)), 2, 0.5)
    check(lambda: torch.normal(full(2.0), 0.5), 2, 0.5)
    check(lambda: torch.normal(2.0, full(0.5)), 2, 0.5)
    check(lambda: empty().exponential_(2), 0.5, 0.5, 0)
    check(lambda: empty().bernoulli_(0.3), 0.3, math.sqrt(0.21), 0, 1)
    check(lambda: torch.bernoulli(full(0.3)), 0.3, math.sqrt(0.21), 0, 1)
    check(lambda: empty().random_(0, 10), 4.5, 2.872, 0, 9)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    check(lambda: torch.randint(0, 100, (COUNT,), device="npu", dtype=dtype), 49.5, 28.87, 0, 99)
    most = torch.iinfo(dtype).max
    check(lambda: torch.empty(COUNT, device="npu", dtype=dtype).random_(), most / 2, most * 12**-0.5, 0, most)


def test_choices():
    check(lambda: torch.multinomial(torch.tensor([1.0, 3.0], device="npu"), COUNT, True), 0.75, math.sqrt(0.1875), 0, 1)
    without = torch.multinomial(torch.rand(5, 20, device="npu"), 20).sort()[0].cpu()
    assert without.equal(torch.arange(20).expand(5, 20))
    assert torch.randperm(1000, device="npu").sort()[0].cpu().equal(torch.arange(1000))


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout_mask_is_bits(dtype):
    x = torch.randn(1000, 7).abs().add(1).to(dtype).npu()
    out, mask = torch_npu._npu_dropout(x, 0.4)
    assert mask.numel() == 880  # 7000 elements, in bits, to a multiple of 128
    bits = ((mask.cpu().unsqueeze(1) >> torch.arange(8)) & 1).flatten()[:7000].bool().view(1000, 7)
    assert bits.equal((out != 0).cpu())
    torch.testing.assert_close(out.cpu(), (x.cpu().float() * bits / 0.6).to(dtype))
    assert abs(bits.float().mean().item() - 0.6) < 0.03


def test_dropout_gradient_uses_the_same_mask():
    x = torch.randn(1000, 7, device="npu", requires_grad=True)
    out = torch.nn.functional.dropout(x, 0.4)
    out.sum().backward()
    torch.testing.assert_close(out.detach().cpu(), (x.detach() * x.grad).cpu())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("drop", [0.0, 0.3, 0.5, 1.0])
def test_dropout_in_place_draws_the_same_mask(dtype, drop):
    x = torch.ones(1003, 7, device="npu", dtype=dtype)
    torch.npu.manual_seed(5)
    apart = torch.nn.functional.dropout(x, drop)
    torch.npu.manual_seed(5)
    in_place = torch.nn.functional.dropout(x.clone(), drop, inplace=True)
    assert torch.equal(apart != 0, in_place != 0)


def test_captured_numbers_are_those_of_eager():
    def draw():
        return (torch.empty(1000, device="npu").uniform_(), torch.randn(1000, device="npu"),
                torch.nn.functional.dropout(torch.ones(1000, device="npu"), 0.5),
                torch.randint(0, 9, (1000,), device="npu"))

    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        captured = draw()
    torch.npu.manual_seed(9)
    graph.replay()
    torch.npu.synchronize()
    first = [t.clone() for t in captured]
    graph.replay()
    torch.npu.synchronize()
    assert not any(a.equal(b) for a, b in zip(first, captured))
    torch.npu.manual_seed(9)
    assert all(a.equal(b) for a, b in zip(first, draw()))

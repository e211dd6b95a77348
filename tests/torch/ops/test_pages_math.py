# SPDX-License-Identifier: Apache-2.0
"""Reductions, ranges, distances, activations and recurrences against their own pages, in float64 and at the edges."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import drawing
from page_types import FLOATS, INTEGERS, ROUNDING, near, refused, result

SEED, values, _ = drawing(37)
INF, NAN = math.inf, math.nan

# Loss scale


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale, found, tracker, interval, want", [
    (1024.0, 0.0, 1, 2000, (1024.0, 2)),
    (1024.0, 0.0, 1999, 2000, (2048.0, 0)),
    (1024.0, 1.0, 1999, 2000, (512.0, 0)),
    (1024.0, 0.5, 3, 2000, (512.0, 0)),
    ("largest", 0.0, 1999, 2000, ("largest", 0)),  # twice as much is infinite
    (8.0, 0.0, 0, 1, (16.0, 0)),
])
def test_the_loss_scale_grows_and_backs_off(aclnn, dtype, scale, found, tracker, interval, want):
    number = lambda x: torch.tensor([torch.finfo(dtype).max if x == "largest" else x]).to(dtype)
    new_scale, new_tracker = room(1, dtype=dtype), room(1, dtype=torch.int32)
    aclnn.run("aclnnAmpUpdateScale", number(scale), torch.tensor([tracker], dtype=torch.int32), number(found), 2.0, 0.5, interval, new_scale, new_tracker)
    assert torch.equal(new_scale, number(want[0]))
    assert new_tracker.item() == want[1]


@pytest.mark.parametrize("interval", [0, -1, 2**31])
def test_a_growth_interval_has_bounds(aclnn, interval):
    one = torch.ones(1)
    refused(aclnn, "aclnnAmpUpdateScale", one, torch.ones(1, dtype=torch.int32), one, 2.0, 0.5, interval, room(1), room(1, dtype=torch.int32))


# Casts


@pytest.mark.parametrize("source", [torch.float64, *FLOATS])
@pytest.mark.parametrize("target", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
def test_nan_becomes_a_zero_and_fractions_are_cut(aclnn, source, target):
    x = torch.tensor([NAN, 0.0, 1.75, 2.5, 100.5, NAN], dtype=source)
    got = result(aclnn, "aclnnCast", x, target, shape=(6,), dtype=target)
    assert got.tolist() == [0, 0, 1, 2, 100, 0]
    if target != torch.uint8:
        assert result(aclnn, "aclnnCast", -x, target, shape=(6,), dtype=target).tolist() == [0, 0, -1, -2, -100, 0]


def test_nan_is_true(aclnn):
    assert result(aclnn, "aclnnCast", torch.tensor([NAN, 0.0, 2.0]), torch.bool, shape=(3,), dtype=torch.bool).tolist() == [True, False, True]


# Reductions


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, torch.float64, *FLOATS])
@pytest.mark.parametrize("dims, keep, shape", [([], False, ()), ([1], True, (3, 1, 2)), ([0, -1], False, (4,)), ([0, 1, 2], True, (1, 1, 1))])
def test_truth_over_dimensions(aclnn, dtype, dims, keep, shape):
    x = torch.randint(0, 2, (3, 4, 2), generator=SEED).to(dtype)
    x[:, 1] = 1
    over = dims or [0, 1, 2]
    for name, of in (("aclnnAll", torch.all), ("aclnnAny", torch.any)):
        want = of(x.bool(), dim=tuple(over), keepdim=keep)
        assert torch.equal(result(aclnn, name, x, dims, keep, shape=shape, dtype=torch.bool), want)
    assert torch.equal(result(aclnn, "aclnnAll", x, dims, keep, shape=shape, dtype=torch.uint8).bool(), torch.all(x.bool(), dim=tuple(over), keepdim=keep))


@pytest.mark.parametrize("name", ["aclnnAll", "aclnnAny"])
def test_truth_of_nothing(aclnn, name):
    assert result(aclnn, name, torch.empty(0, 3), [0], False, shape=(3,), dtype=torch.bool).tolist() == [name == "aclnnAll"] * 3


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, torch.float64, *FLOATS])
@pytest.mark.parametrize("dims, keep", [([0], False), ([-1, 0], True), ([], False), ([0, 1, 2], False)])
def test_extremes_over_dimensions(aclnn, dtype, dims, keep):
    x = torch.randint(0, 2 if dtype == torch.bool else 100, (3, 4, 2), generator=SEED).to(dtype)
    low, high = x.double().amin(dims, keepdim=keep), x.double().amax(dims, keepdim=keep)
    assert torch.equal(result(aclnn, "aclnnAmin", x, dims, keep, shape=low.shape, dtype=dtype).double(), low)
    assert torch.equal(result(aclnn, "aclnnAmax", x, dims, keep, shape=low.shape, dtype=dtype).double(), high)
    got = room(low.shape, dtype=dtype), room(low.shape, dtype=dtype)
    aclnn.run("aclnnAminmax", x, dims, keep, *got)
    assert torch.equal(got[0].double(), low)
    assert torch.equal(got[1].double(), high)
    if not dims:
        got = room((), dtype=dtype), room((), dtype=dtype)
        aclnn.run("aclnnAminmaxAll", x, *got)
    elif len(dims) == 1:
        aclnn.run("aclnnAminmaxDim", x, dims[0], keep, *got)
    assert torch.equal(got[0].double(), low)
    assert torch.equal(got[1].double(), high)


@pytest.mark.parametrize("name", ["aclnnAmax", "aclnnAmin"])
@pytest.mark.parametrize("x, dims, shape", [(torch.empty(0, 3), [0], (3,)), (torch.ones(2, 3), [2], (2, 3)), (torch.ones(2, 3), [0, 0], (3,)),
                                            (torch.ones(2, 3), [0, -2], (3,))])
def test_extremes_refuse_dimensions_that_cannot_be(aclnn, name, x, dims, shape):
    refused(aclnn, name, x, dims, False, room(shape))


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.float64, *FLOATS])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dim, keep", [(0, True), (-1, False)])
def test_places_of_extremes_are_the_first_ones(aclnn, dtype, index, dim, keep):
    x = torch.randint(0, 4, (5, 6), generator=SEED).to(dtype)
    for name, extreme in (("aclnnArgMax", x.amax), ("aclnnArgMin", x.amin)):
        first = (x == extreme(dim, keepdim=True)).to(torch.int8).argmax(dim, keepdim=keep)
        assert torch.equal(result(aclnn, name, x, dim, keep, shape=first.shape, dtype=index), first.to(index))


# Running results, counts


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("source, target", [(torch.float32, torch.float32), (torch.float16, torch.float16), (torch.bfloat16, torch.bfloat16),
                                            (torch.int32, torch.int64), (torch.float32, torch.int32), (torch.uint8, torch.uint8),
                                            (torch.float16, torch.float32),
                                            (torch.int64, torch.float32)])
def test_running_sums_and_products(aclnn, source, target, dim):
    x = torch.rand(40, 9, generator=SEED).mul(1.5).add(0.5).to(source)
    first = x.to(target).double()
    for name, running in (("aclnnCumsum", torch.cumsum), ("aclnnCumprod", torch.cumprod)):
        want = running(first, dim)
        got = result(aclnn, name, x, dim, target, shape=x.shape, dtype=target)
        if target.is_floating_point:
            torch.testing.assert_close(got.double(), want.to(target).double(), rtol=ROUNDING[target] * 4, atol=0)
        else:
            assert torch.equal(got.double(), want)


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, torch.float64, *FLOATS])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dim", [0, -1])
def test_running_extremes_with_their_places(aclnn, dtype, index, dim):
    x = torch.randint(0, 2 if dtype == torch.bool else 9, (12, 5), generator=SEED).to(dtype)
    for name, of in (("aclnnCummax", torch.maximum), ("aclnnCummin", torch.minimum)):
        best = x.movedim(dim, 0).clone()
        for i in range(1, len(best)):
            best[i] = of(best[i - 1], best[i])
        got, places = room(x.shape, dtype=dtype), room(x.shape, dtype=index)
        aclnn.run(name, x, dim, got, places)
        assert torch.equal(got, best.movedim(0, dim))
        assert torch.equal(x.gather(dim, places.long()), got)
        order = torch.arange(x.size(dim)).view((-1, 1) if dim == 0 else (1, -1))
        assert (places <= order).all()


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("weights", [None, torch.float32, torch.float16, torch.float64, torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("least", [0, 3, 20])
def test_counts_of_small_integers(aclnn, dtype, weights, least):
    x = torch.tensor([1, 0, 1, 7, 3, 3, 3], dtype=dtype)
    by = None if weights is None else torch.tensor([1, 2, 0, 1, 3, 1, 1]).to(weights)
    target = torch.int64 if weights is None else torch.float32 if weights == torch.float32 else torch.float64
    want = torch.zeros(max(8, least), dtype=torch.float64)
    for place, value in enumerate(x.tolist()):
        want[value] += 1 if by is None else by[place].double()
    for dtype_out in (target, torch.int32, torch.float32):
        assert torch.equal(result(aclnn, "aclnnBincount", x, by, least, shape=want.shape, dtype=dtype_out).double(), want)


def test_counts_refuse_what_cannot_be_counted(aclnn):
    refused(aclnn, "aclnnBincount", torch.tensor([1, -1]), None, 4, room(4, dtype=torch.int64))
    refused(aclnn, "aclnnBincount", torch.tensor([1, 1]), torch.ones(3), 4, room(4))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float16])
@pytest.mark.parametrize("low, high", [(0, 0), (10, 60), (0, 100)])
def test_a_histogram_counts_both_bounds(aclnn, dtype, low, high):
    x = torch.randint(0, 100, (6, 50), generator=SEED).to(dtype)
    x[0, :4] = torch.tensor([10, 60, 10, 60]).to(dtype)
    wide = x.double()
    first, last = (wide.min(), wide.max()) if low == high else (low, high)
    inside = wide[(wide >= first) & (wide <= last)]
    want = torch.zeros(8)
    for place in ((inside - first) * 8 / (last - first)).floor().clamp(max=7).long():
        want[place] += 1
    for target in (dtype, torch.float32, torch.int32):
        got = result(aclnn, "aclnnHistc", x, 8, low, high, shape=(8,), dtype=target)
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("bins, low, high, size", [(0, 0, 1, 0), (4, 2, 1, 4), (4, 0, 1, 5)])
def test_a_histogram_refuses_bounds_that_cannot_be(aclnn, bins, low, high, size):
    refused(aclnn, "aclnnHistc", torch.rand(9), bins, low, high, room(size))


# Ranges


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float64, *FLOATS])
@pytest.mark.parametrize("start, end, step", [(0, 10, 1), (5, -5, -3), (1, 2, 5), (-4, 9, 4)])
def test_a_range_ends_before_its_end(aclnn, dtype, start, end, step):
    want = torch.tensor([float(x) for x in range(start, end, step)], dtype=torch.float64)
    assert torch.equal(result(aclnn, "aclnnArange", start, end, step, shape=want.shape, dtype=dtype).double(), want)


@pytest.mark.parametrize("count", [10, 11])
def test_a_client_s_length_of_a_range_counts(aclnn, count):
    """The page reckons lengths in float32, where 1 / 0.1 may round to either side."""
    got = result(aclnn, "aclnnArange", 0.0, 1.0, 0.1, shape=(count,))
    near(got, torch.arange(count) * 0.1)


@pytest.mark.parametrize("start, end, step, size", [(0, 5, -1, 5), (5, 0, 1, 5), (0, 5, 0, 5), (0.0, 1.0, 0.1, 13), (0.0, 1.0, 0.1, 8)])
def test_a_range_that_cannot_be(aclnn, start, end, step, size):
    refused(aclnn, "aclnnArange", start, end, step, room(size, dtype=torch.float32 if isinstance(step, float) else torch.int64))


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, *FLOATS])
@pytest.mark.parametrize("n, m", [(3, 3), (2, 5), (4, 1), (0, 3)])
def test_a_diagonal_of_ones(aclnn, dtype, n, m):
    want = torch.tensor([[float(i == j) for j in range(m)] for i in range(n)]).view(n, m)
    assert torch.equal(result(aclnn, "aclnnEye", n, m, shape=(n, m), dtype=dtype), want.to(dtype))


# Distances, boxes


def distance(x1, x2, p):
    difference = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
    if p == 0:
        return (difference != 0).sum(-1).double()
    return difference.amax(-1) if math.isinf(p) else (difference**p).sum(-1)**(1 / p)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.0, 0.7, 1.0, 2.0, 3.0, INF])
@pytest.mark.parametrize("mode", [0, 2])
def test_distances_and_their_gradient(aclnn, dtype, p, mode):
    x1, x2 = values(2, 30, 5, dtype=dtype), values(1, 28, 5, dtype=dtype)
    x2[0, :9] = x1[0, :9]  # nothing between them
    a, b = x1.double().requires_grad_(), x2.double()
    want = distance(a, b, p)
    got = result(aclnn, "aclnnCdist", x1, x2, p, mode, shape=(2, 30, 28), dtype=dtype)
    near(got, want.detach())
    grad, moved = values(2, 30, 28, dtype=dtype), (a.unsqueeze(-2) - b.unsqueeze(-3)).detach()
    far = got.double().unsqueeze(-1)
    if p == 0:
        slope = torch.zeros_like(moved)
    elif math.isinf(p):
        slope = moved.sign() * (moved.abs().to(dtype).double() == far)
    else:
        slope = torch.where((far == 0) | (moved == 0), 0.0, moved * moved.abs().clamp(min=1e-300)**(p - 2) / far**(p - 1))
    wanted = (grad.double().unsqueeze(-1) * slope).sum(-2)
    back = result(aclnn, "aclnnCdistBackward", grad, x1, x2, got, p, shape=x1.shape, dtype=dtype)
    if not math.isinf(p) or dtype == torch.float32:
        torch.testing.assert_close(back.double(), wanted, rtol=ROUNDING[dtype] * 4, atol=ROUNDING[dtype] * 20)


@pytest.mark.parametrize("p", [-1.5, NAN])
def test_a_norm_that_is_none(aclnn, p):
    refused(aclnn, "aclnnCdist", values(2, 3), values(4, 3), p, 2, room(2, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("mode", ["iou", "iof"])
def test_boxes_with_their_distance_and_proportions(aclnn, dtype, centred, mode):
    first, size = torch.rand(2, 2, 1024, generator=SEED) * 4, torch.rand(2, 2, 1024, generator=SEED) * 3 + 0.5
    boxes = [torch.cat((a + s / 2, s) if centred else (a, a + s)).to(dtype) for a, s in zip(first, size)]
    (p, g), least = ([x.double() for x in boxes], 1e-5 if dtype == torch.float32 else 4e-3)
    corners = [(b[:2] - b[2:] / 2, b[:2] + b[2:] / 2) if centred else (b[:2], b[2:]) for b in (p, g)]
    (p0, p1), (g0, g1) = corners
    shared = (torch.minimum(p1, g1) - torch.maximum(p0, g0)).clamp(min=0).prod(0)
    over = (g1 - g0).prod(0) if mode == "iof" else (g1 - g0).prod(0) + (p1 - p0).prod(0) - shared
    iou = shared / over
    apart = ((p0 + p1 - g0 - g1) / 2).square().sum(0) / (torch.maximum(p1, g1) - torch.minimum(p0, g0)).square().sum(0)
    turn = torch.atan((g1 - g0)[0] / (g1 - g0)[1]) - torch.atan((p1 - p0)[0] / (p1 - p0)[1])
    v = 4 / math.pi**2 * turn**2
    overlap, sub = room(1, 1024, dtype=dtype), room(1, 1024, dtype=dtype)
    aclnn.run("aclnnCIoU", *boxes, centred, False, mode, overlap, sub)
    torch.testing.assert_close(overlap[0].double(), iou - apart - v / (1 - iou + v) * v, rtol=least, atol=least)
    torch.testing.assert_close(sub[0].double(), turn, rtol=least, atol=least)


@pytest.mark.parametrize("cross, mode", [(True, "iou"), (False, "giou")])
def test_boxes_refuse_what_their_page_rules_out(aclnn, cross, mode):
    refused(aclnn, "aclnnCIoU", torch.rand(4, 1024), torch.rand(4, 1024), False, cross, mode, room(1, 1024), room(1, 1024))


# Integers, activations


@pytest.mark.parametrize("types, target", [
    ((torch.int8, torch.int8), torch.int8), ((torch.uint8, torch.int8), torch.int16), ((torch.int32, torch.int64), torch.int64),
    ((torch.int16, torch.int32), torch.int32), ((torch.uint8, torch.uint8), torch.uint8), ((torch.int32, torch.int32), torch.int64),
    ((torch.int32, torch.int32), torch.uint32), ((torch.int64, torch.int64), torch.uint64), ((torch.int16, torch.int16), torch.uint16)])
def test_the_greatest_common_divisor(aclnn, types, target):
    x, y = torch.tensor([[12], [0], [7], [100]]), torch.tensor([18, 0, -4 if types[1] != torch.uint8 else 4, 75])
    want = [[math.gcd(a, b) for b in y.tolist()] for a in x.flatten().tolist()]
    assert result(aclnn, "aclnnGcd", x.to(types[0]), y.to(types[1]), shape=(4, 4), dtype=target).tolist() == want


HARD = torch.tensor([-INF, -4.0, -3.0, -2.999, -1.0, -0.0, 0.5, 2.999, 3.0, 4.0, INF])


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_hard_sigmoid_and_its_gradient(aclnn, dtype):
    x, grad = HARD.to(dtype, copy=True), torch.linspace(-2, 2, len(HARD)).to(dtype)
    near(result(aclnn, "aclnnHardsigmoid", x, shape=x.shape, dtype=dtype), (x.double() / 6 + 0.5).clamp(0, 1))
    inside = (x > -3) & (x < 3)
    near(result(aclnn, "aclnnHardsigmoidBackward", grad, x, shape=x.shape, dtype=dtype), grad.double() / 6 * inside)
    near(result(aclnn, "aclnnHardsigmoidBackward", grad, x.float(), shape=x.shape), grad.double() / 6 * inside)
    aclnn.run("aclnnInplaceHardsigmoid", x)
    near(x, (HARD.to(dtype).double() / 6 + 0.5).clamp(0, 1))


def test_a_hard_sigmoid_of_integers_is_cut(aclnn):
    x = torch.tensor([-9, -3, -2, 0, 2, 3, 4], dtype=torch.int32)
    assert result(aclnn, "aclnnHardsigmoid", x, shape=x.shape, dtype=torch.int32).tolist() == [0, 0, 0, 0, 0, 1, 1]
    aclnn.run("aclnnInplaceHardsigmoid", x)
    assert x.tolist() == [0, 0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("dtype", [torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, *FLOATS])
@pytest.mark.parametrize("low, high", [(1, 5), (3, 3), (True, 4)])
def test_a_hard_tangent_stays_between_its_bounds(aclnn, dtype, low, high):
    x = torch.tensor([0, 1, 2, 5, 6, 100]).to(dtype)
    assert torch.equal(result(aclnn, "aclnnHardtanh", x, low, high, shape=x.shape, dtype=dtype), x.clamp(int(low), high))
    want = x.clamp(int(low), high)
    aclnn.run("aclnnInplaceHardtanh", x, low, high)
    assert torch.equal(x, want)


@pytest.mark.parametrize("name", ["aclnnHardtanh", "aclnnInplaceHardtanh"])
def test_bounds_the_wrong_way_round_are_refused(aclnn, name):
    refused(aclnn, name, torch.ones(3), 2.0, 1.0, *([room(3)] if name == "aclnnHardtanh" else []))


def erf_gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def tanh_gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


GELU = {"none": erf_gelu, "tanh": tanh_gelu}


def slope(function, x):
    x = x.double().clone().requires_grad_()
    function(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("how", ["none", "tanh", None])
def test_a_gate_of_gelu(aclnn, dtype, how):
    x = values(3, 2, 16, dtype=dtype)
    a, b = x.double().chunk(2, -1)
    near(result(aclnn, "aclnnGeluMul", x, how, shape=(3, 2, 8), dtype=dtype), GELU[how or "none"](a) * b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("how", ["none", "tanh"])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("dim", [-1, 1])
def test_the_gradient_of_a_gate_of_gelu(aclnn, dtype, how, left, dim):
    x, grad = values(3, 4, 6, dtype=dtype), values(*((3, 4, 3) if dim == -1 else (3, 2, 6)), dtype=dtype)
    a, b = x.double().chunk(2, dim)
    gate, up = (a, b) if left else (b, a)
    active = GELU[how](gate).to(dtype)
    parts = grad.double() * up * slope(GELU[how], gate), grad.double() * active.double()
    want = torch.cat(parts if left else parts[::-1], dim)
    near(result(aclnn, "aclnnGeGluV3Backward", grad, x, active, dim, int(how == "tanh"), left, shape=x.shape, dtype=dtype), want, least=3e-6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("how", ["none", "tanh"])
def test_the_gradient_of_gelu_broadcasts(aclnn, dtype, how):
    x, grad = values(3, 1, 6, dtype=dtype), values(4, 6)
    want = grad.double() * slope(GELU[how], x)
    near(result(aclnn, "aclnnGeluBackwardV2", grad.to(dtype), x, how, shape=(3, 4, 6), dtype=dtype), grad.to(dtype).double() * slope(GELU[how], x), least=3e-6)
    near(result(aclnn, "aclnnGeluBackwardV2", grad, x, how, shape=(3, 4, 6)), want, least=3e-6)
    if how == "tanh":
        near(result(aclnn, "aclnnGeluBackward", grad, x, shape=(3, 4, 6)), want, least=3e-6)


@pytest.mark.parametrize("name, arguments", [("aclnnGeluBackwardV2", (values(3), values(3), "erf", room(3))),
                                             ("aclnnGeluMul", (values(2, 4), "erf", room(2, 2))),
                                             ("aclnnGeGluV3Backward", (values(2, 2), values(2, 4), values(2, 2), -1, 2, True, room(2, 4)))])
def test_a_gelu_that_is_none(aclnn, name, arguments):
    refused(aclnn, name, *arguments)


# Sums and powers of half types


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("number", [0.1, 0.5, 2.0, 3.0, -2.0])
def test_sums_and_powers_are_rounded_once(aclnn, dtype, number):
    x, y = values(400).abs().add(0.25).to(dtype), values(400, dtype=dtype)
    a, b = x.double(), y.double()
    for name, arguments, want in (("aclnnAdd", (x, y, number), a + number * b), ("aclnnSub", (x, y, number), a - number * b),
                                  ("aclnnAdds", (x, number, 1.0), a + number), ("aclnnAdds", (x, number, 3.0), a + 3 * number),
                                  ("aclnnSubs", (x, number, 1.0), a - number), ("aclnnPowTensorScalar", (x, number), a**number),
                                  ("aclnnPowScalarTensor", (abs(number), y), abs(number)**b)):
        near(result(aclnn, name, *arguments, shape=x.shape, dtype=dtype), want, least=1e-7)


# Integers of a product


@pytest.mark.parametrize("scale, target", [(torch.float32, torch.float16), (torch.bfloat16, torch.bfloat16)])
@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("bias", [None, torch.int32, torch.float32, torch.float16, torch.bfloat16])
def test_dequantised_with_an_early_or_a_late_bias(aclnn, scale, target, rows, bias):
    x = torch.randint(-9999, 9999, (5, 8), generator=SEED, dtype=torch.int32)
    weight, by = torch.rand(8, generator=SEED).div(1000).to(scale), torch.rand(5, generator=SEED) if rows else None
    added = None if bias is None else (values(8) * (900 if bias == torch.int32 else 2)).to(bias)
    want = (x.double() + (added.double() if bias == torch.int32 else 0)) * weight.double()
    want = want * by.double()[:, None] if rows else want
    want = want if bias in (None, torch.int32) else want + added.double()
    near(result(aclnn, "aclnnDequantBias", x, weight, by, added, 1 if target == torch.float16 else 27, shape=(5, 8), dtype=target), want)


# Recurrences


def gru(x, params, h0, layers, directions, biased):
    """(time, batch, features); the gates stand in the order reset, update, candidate."""
    each, kept, last = 4 if biased else 2, [], []
    for layer in range(layers):
        parts = []
        for direction in range(directions):
            place = layer * directions + direction
            w, u, *biases = params[place * each:(place + 1) * each]
            b, c = biases or (torch.zeros(len(w)).double(),) * 2
            h, lists = h0[place], [[None] * len(x) for _ in range(5)]
            for t in (range(len(x)) if direction == 0 else range(len(x) - 1, -1, -1)):
                i, g = (x[t] @ w.T + b).chunk(3, -1), (h @ u.T + c).chunk(3, -1)
                r, z = torch.sigmoid(i[0] + g[0]), torch.sigmoid(i[1] + g[1])
                n = torch.tanh(i[2] + r * g[2])
                h = (1 - z) * n + z * h
                for one, value in zip(lists, (r, z, n, g[2], h)):
                    one[t] = value
            kept.append([torch.stack(one) for one in lists])
            last.append(h)
            parts.append(kept[-1][4])
        x = torch.cat(parts, -1)
    return x, torch.stack(last), kept


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("layers, directions, biased, batch_first, started, dropout", [
    (1, 1, True, False, True, 0.0), (2, 2, True, True, True, 0.5), (2, 1, False, False, False, 0.0), (1, 2, True, False, False, 0.9)])
def test_a_gated_recurrence_and_its_gradient(aclnn, dtype, layers, directions, biased, batch_first, started, dropout):
    time, batch, features, hidden = 4, 3, 5, 6
    x = values(time, batch, features, dtype=dtype)
    params = []
    for layer in range(layers):
        for _ in range(directions):
            width = features if layer == 0 else directions * hidden
            params += [values(3 * hidden, width).div(3).to(dtype), values(3 * hidden, hidden).div(3).to(dtype)]
            params += [values(3 * hidden, dtype=dtype), values(3 * hidden, dtype=dtype)] if biased else []
    places = layers * directions
    h0 = values(places, batch, hidden, dtype=dtype) if started else torch.zeros(places, batch, hidden, dtype=dtype)
    inner = [t.double().requires_grad_() for t in (x, h0, *params)]
    y, last, kept = gru(inner[0], inner[2:], inner[1], layers, directions, biased)
    turned = (lambda t: t.transpose(0, 1).contiguous()) if batch_first else lambda t: t
    out, hy = room(turned(y).shape, dtype=dtype), room(last.shape, dtype=dtype)
    lists = [[room(time, batch, hidden, dtype=dtype) for _ in range(places)] for _ in range(5)]
    start = h0 if started else None
    aclnn.run("aclnnGRU", turned(x), params, start, None, biased, layers, dropout, True, directions == 2, batch_first, out, hy, *lists)
    least = 2e-6 if dtype == torch.float32 else 2e-3
    near(out, turned(y.detach()), least)
    near(hy, last.detach(), least)
    for which, one in enumerate(lists):
        for place in range(places):
            near(one[place], kept[place][which].detach(), least)
    plain = room(turned(y).shape, dtype=dtype)
    aclnn.run("aclnnGRU", turned(x), params, start, None, biased, layers, dropout, False, directions == 2, batch_first, plain, hy, *[None] * 5)
    assert torch.equal(plain, out)
    dy, dh = values(*y.shape, dtype=dtype), values(*last.shape, dtype=dtype)
    (y * dy.double()).sum().add((last * dh.double()).sum()).backward()
    dx, dh0, dparams = room(turned(x).shape, dtype=dtype), room(h0.shape, dtype=dtype), [room(p.shape, dtype=dtype) for p in params]
    aclnn.run("aclnnGRUBackward", turned(x), params, h0, turned(dy), dh, *lists, None, biased, layers, directions == 2, batch_first, dx, dh0, dparams)
    for got, want in zip((dx, dh0, *dparams), (turned(inner[0].grad), inner[1].grad, *(p.grad for p in inner[2:])), strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4 if dtype == torch.float32 else 2e-2, atol=1e-5 if dtype == torch.float32 else 2e-2)


@pytest.mark.parametrize("changed", [{1: [values(9, 2), values(9, 3), values(9)]}, {12: None}, {16: [room(2, 1, 3)] * 2}, {2: values(2, 1, 3)},
                                     {11: room(2, 1, 3)}])
def test_a_recurrence_refuses_lists_that_do_not_fit(aclnn, changed):
    params, kept = [values(9, 2), values(9, 3), values(9), values(9)], [[room(2, 1, 3)] for _ in range(5)]
    arguments = [values(2, 1, 2), params, values(1, 1, 3), None, True, 1, 0.0, True, False, False, room(2, 1, 3), room(1, 1, 3), *kept]
    for place, value in changed.items():
        arguments[place] = value
    refused(aclnn, "aclnnGRU", *arguments)


@pytest.mark.parametrize("fading", [True, False])
@pytest.mark.parametrize("state", [torch.float32, torch.bfloat16])
def test_a_gated_delta_rule(aclnn, fading, state):
    lengths, keys, heads, dk, dv = [3, 1, 4], 2, 4, 5, 6
    total = sum(lengths)
    unit = lambda *shape: (torch.rand(*shape, generator=SEED) - 0.5).bfloat16()
    q, k, v, beta = unit(total, keys, dk), unit(total, keys, dk), unit(total, heads, dv), torch.rand(total, heads, generator=SEED).bfloat16()
    g, first = -torch.rand(total, heads, generator=SEED), values(3, heads, dv, dk, dtype=state)
    out, last = room(total, heads, dv, dtype=torch.bfloat16), room(3, heads, dv, dk, dtype=state)
    aclnn.run("aclnnChunkGatedDeltaRule", q, k, v, beta, first, torch.tensor(lengths, dtype=torch.int32), g if fading else None, 0.3, out, last)
    t = 0
    for batch, length in enumerate(lengths):
        s = first[batch].double()
        for _ in range(length):
            for head in range(heads):
                alpha = math.exp(g[t, head]) if fading else 1.0
                key, value, b = k[t, head // 2].double(), v[t, head].double(), beta[t, head].double()
                s[head] = alpha * s[head] + b * torch.outer(value - alpha * s[head] @ key, key)
                near(out[t, head], s[head] @ (q[t, head // 2].double() * 0.3), 1e-3)
            t += 1
        near(last[batch], s, 1e-5)

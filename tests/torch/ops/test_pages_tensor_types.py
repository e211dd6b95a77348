# SPDX-License-Identifier: Apache-2.0
"""The operators of test_pages_tensor.py in half types and in each type of their pages, what the pages rule out, random numbers, and results whose length
shows when they are there."""

import itertools
import math

import pytest
import torch
from aclnn_calls import room
from page_cases import D, Ref, ids, run_case, same, within_a_rounding
from page_checks import drawing
from page_tensor import (
    A, BOXES, CUBE, HOW, LOGS, PLACES, ROW, SHARES, STEPS, TRUTHS, X, Y, close, mish_gradient, pad_gradient, pdist, reflected, renormed, scattered,
    variance,
)

SEED, values, whole = drawing(37)
INF, NAN = math.inf, math.nan
WHERE, TENSOR = torch.where, torch.tensor
REFUSED = 161002

MANY = whole(0, 3, 4, 64)
FINE = torch.rand(4, 64, generator=SEED)
# name, a function of the half type that gives arguments and results
HALVES = [
    ("aclnnScatter", lambda h: ((h(X[:, :1]), 0, MANY.view(-1, 1), h(FINE.view(-1, 1)), 1, ...), lambda: [scattered(h(X[:, :1]), 0, MANY.view(-1, 1),
                                                                                                       h(FINE.view(-1, 1)), sum)])),
    ("aclnnScatterValue", lambda h: ((h(X[:, :1]), 0, MANY.view(-1, 1)[:9].clone(), 1.1, 2, ...),
                                     lambda: [scattered(h(X[:, :1]), 0, MANY.view(-1, 1)[:9], torch.full((9, 1), 1.1).double(), math.prod)])),
    ("aclnnInplacePut", lambda h: ((Ref(h(ROW)), MANY.view(-1), h(FINE.view(-1)), True), lambda: [scattered(h(ROW), 0, MANY.view(-1), h(FINE.view(-1)), sum)])),
    ("aclnnIndexPutImpl", lambda h: ((Ref(h(ROW)), [MANY.view(-1)], h(FINE.view(-1)), True, False),
                                     lambda: [scattered(h(ROW), 0, MANY.view(-1), h(FINE.view(-1)), sum)])),
    ("aclnnLinspace", lambda h: ((0.0, 1.0, 1000, ...), lambda: [torch.arange(1000).double() / 999])),
    ("aclnnLogSpace", lambda h: ((-3.0, 3.0, 100, 2.0, ...), lambda: [2**torch.linspace(-3, 3, 100, dtype=torch.float64)])),
    ("aclnnLogSumExp", lambda h: ((h(FINE * 9), [0], False, ...), lambda: [torch.logsumexp(D(h(FINE * 9)), 0)])),
    ("aclnnRoundDecimals", lambda h: ((h(FINE * 30), 2, ...), lambda: [torch.round(D(h(FINE * 30)).float() * 100).double() / 100])),
    ("aclnnSigmoidBackward", lambda h: ((h(FINE), h(FINE.flip(0)), ...), lambda: [D(h(FINE)) * D(h(FINE.flip(0))) * (1 - D(h(FINE.flip(0))))])),
    ("aclnnTanhBackward", lambda h: ((h(FINE), h(FINE.flip(0)), ...), lambda: [D(h(FINE)) * (1 - D(h(FINE.flip(0)))**2)])),
    ("aclnnMishBackward", lambda h: ((h(FINE), h(FINE.flip(0) * 4 - 2), ...), lambda: [mish_gradient(D(h(FINE)), D(h(FINE.flip(0) * 4 - 2)))])),
    ("aclnnInplaceHardsigmoid", lambda h: ((Ref(h(FINE * 8 - 4)),), lambda: [(D(h(FINE * 8 - 4)) / 6 + 0.5).clamp(0, 1)])),
    ("aclnnRenorm", lambda h: ((h(FINE), 2.0, 0, 1.0, ...), lambda: [renormed(D(h(FINE)), 2, 0, 1.0)])),
    ("aclnnStd", lambda h: ((h(FINE), [1], 1, False, ...), lambda: [variance(D(h(FINE)), (1,), 1).sqrt()])),
    ("aclnnVarMean", lambda h: ((h(FINE), [1], 1, False, ..., ...), lambda: [variance(D(h(FINE)), (1,), 1), D(h(FINE)).mean(1)])),
    ("aclnnMean", lambda h: ((h(FINE), [1], False, h(FINE).dtype, ...), lambda: [D(h(FINE)).mean(1)])),
    ("aclnnReduceSum", lambda h: ((h(FINE), [1], False, h(FINE).dtype, ...), lambda: [D(h(FINE)).sum(1)])),
    ("aclnnReduceNansum", lambda h: ((h(FINE), [1], False, h(FINE).dtype, ...), lambda: [D(h(FINE)).sum(1)])),
    ("aclnnProdDim", lambda h: ((h(FINE[:, :8] + 0.5), 1, False, h(FINE).dtype, ...), lambda: [D(h(FINE[:, :8] + 0.5)).prod(1)])),
    ("aclnnTrace", lambda h: ((h(FINE), ...), lambda: [D(h(FINE)).diagonal().sum()])),
    ("aclnnMv", lambda h: ((h(FINE), h(FINE[0] - 0.5), ..., 0), lambda: [(D(h(FINE)) * D(h(FINE[0] - 0.5))).sum(1)])),
    ("aclnnSoftmax", lambda h: ((h(FINE * 8), -1, ...), lambda: [torch.softmax(D(h(FINE * 8)), -1)])),
    ("aclnnSoftmaxBackward", lambda h: ((h(FINE), h(FINE / 16), 1, ...),
                                        lambda: [D(h(FINE)) * D(h(FINE / 16)) - (D(h(FINE)) * D(h(FINE / 16))).sum(1, keepdim=True) * D(h(FINE / 16))])),
    ("aclnnRepeatInterleaveGrad", lambda h: ((h(FINE), TENSOR([32]), 1, ...), lambda: [D(h(FINE)).view(4, 2, 32).sum(-1)])),
    ("aclnnMaskedScale", lambda h: ((h(FINE), torch.ones(4, 64, dtype=torch.uint8), 1.3, ...), lambda: [D(h(FINE)) * D(TENSOR(1.3))])),
    ("aclnnInverse", lambda h: ((h(torch.eye(3) * 3 + FINE[:3, :3]), ...), lambda: [torch.linalg.inv(D(h(torch.eye(3) * 3 + FINE[:3, :3])))])),
    ("aclnnLinalgCholesky", lambda h: ((h(torch.eye(3) * 3 + 0.5), False, ...), lambda: [torch.linalg.cholesky(D(h(torch.eye(3) * 3 + 0.5)))])),
    ("aclnnPdist", lambda h: ((h(FINE), 2.0, ...), lambda: [pdist(D(h(FINE)), 2)])),
    ("aclnnReflectionPad1dBackward", lambda h: ((h(FINE), h(FINE[:, :60]), [2, 2], ...), lambda: [pad_gradient(D(h(FINE)), h(FINE[:, :60]), [2, 2], reflected)])),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name, case", HALVES, ids=ids(HALVES))
def test_half_types_are_rounded_once(aclnn, name, case, dtype):
    arguments, reference = case(lambda tensor: tensor.to(dtype).contiguous())
    run_case(aclnn, name, arguments, reference, within_a_rounding, dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_closeness_of_half_types_is_decided_in_float(aclnn, dtype):
    a = (torch.rand(20000, generator=SEED) * 3 + 0.5).to(dtype)
    b = (a * (1 + 0.012 * (torch.rand(20000, generator=SEED) * 2 - 1))).to(dtype)
    run_case(aclnn, "aclnnIsClose", (a, b, 1e-2, 3e-4, False, ...), lambda: [close(D(a), D(b), 1e-2, 3e-4, False)])


def test_qr_of_halves(aclnn):
    x = values(5, 3).half()
    q, r = room(5, 3, dtype=torch.float16), room(3, 3, dtype=torch.float16)
    aclnn.run("aclnnLinalgQr", x, 0, q, r)
    torch.testing.assert_close(q.double() @ r.double(), D(x), rtol=5e-3, atol=5e-3)
    assert torch.equal(r, r.triu())


# name, arguments, a part of the message
REFUSALS = [
    ("aclnnPdist", (STEPS, -1.0, room(21)), "p is -1"),
    ("aclnnPdist", (STEPS, NAN, room(21)), "p is nan"),
    ("aclnnRenorm", (X, -1.0, 0, 1.0, room(3, 4)), "negative"),
    ("aclnnRenorm", (X, 2.0, 0, -1.0, room(3, 4)), "negative"),
    ("aclnnRepeat", (X, [-1, 1], room(3, 4)), "negative"),
    ("aclnnOneHot", (torch.zeros(0, dtype=torch.int64), 0, TENSOR([1.0]), TENSOR([0.0]), -1, room(0, 0)), "numClasses is 0"),
    ("aclnnHardtanh", (X, 1.0, 0.5, room(3, 4)), "clipValueMin is 1"),
    ("aclnnIou", (BOXES, TRUTHS, "iou", -0.5, False, room(3, 3)), "eps is -0.5"),
    ("aclnnIou", (BOXES[:1].clone(), TRUTHS, "iou", 0.0, True, room(3, 1)), "aligned"),
    ("aclnnStridedSlice", (CUBE, [0, 0], [1, 1], [1, 1], 0, 0, 3, 0, 0, room(2, 3, 4)), "ellipsisMask is 3"),
    ("aclnnStridedSlice", (X, [0, 0], [1, 1], [-1, 1], 0, 0, 0, 0, 1, room(1)), "shrinkAxisMask"),
    ("aclnnScatterNdUpdate", (room(4, 5, 6), TENSOR([[0, 1], [2, 3]]), values(1, 6)), "updates has shape"),
    ("aclnnInplaceScatterUpdate", (room(2, 5), TENSOR([-1, 0]), values(2, 1), 1), "negative"),
    ("aclnnUnfoldGrad", (values(2, 2, 3), [2, 8], 1, 3, 2, room(2, 8)), "gradOut has shape"),
    ("aclnnMaxUnpool2d", (values(1, 2, 2), TENSOR([[[0, 1], [2, 0]]]), [1, 3], room(1, 1, 3)), "outputSize is"),
    ("aclnnRepeatInterleaveGrad", (ROW, TENSOR([3]), 0, room(2)), "parts of 3"),
    ("aclnnInplaceBernoulli", (room(8), 0.5, 7, 3), "multiple of 4"),
    ("aclnnInplaceBernoulli", (room(8), 1.5, 7, 0), "prob is 1.5"),
    ("aclnnScatterReduce", (X, 0, PLACES, Y, 6, True, room(3, 4)), "reduce is 6"),
    ("aclnnInplaceRandom", (room(8), 5, 5, 7, 0), "from"),
    ("aclnnInplaceRandom", (room(8, dtype=torch.int8), 0, 1000, 7, 0), "out of bounds"),
    ("aclnnInplaceFillDiagonal", (room(3, 3, dtype=torch.int8), 300, False), "fillValue is 300"),
    ("aclnnInplaceFillDiagonal", (room(3, 3, dtype=torch.float16), 1e6, False), "cannot hold it"),
    ("aclnnInplaceUniform", (room(8), 2.0, 1.0, 7, 0), "from"),
    ("aclnnSimThreadExponential", (room(8), 8, 0.0, 7, 0), "lambda"),
    ("aclnnLinspace", (0.0, 1.0, -1, room(1)), "steps"),
    ("aclnnKlDivBackward", (TENSOR([1.0]), LOGS, SHARES, 4, False, room(3, 5)), "reduction is 4"),
    ("aclnnRoll", (X, [1, 2], [0], room(3, 4)), "shifts"),
    ("aclnnRepeatInterleaveTensor", (TENSOR([1, -1]), 0, room(0, dtype=torch.int64)), "negative"),
    ("aclnnLinalgQr", (X, 3, room(3, 3), room(3, 4)), "mode is 3"),
]


@pytest.mark.parametrize("name, arguments, says", REFUSALS, ids=ids(REFUSALS))
def test_what_the_page_rules_out_is_refused(aclnn, name, arguments, says):
    code, said = aclnn.status(name, arguments)
    assert code != 0
    assert says in said


def test_the_power_of_truth_values_is_refused(aclnn):
    mask = TENSOR([True, False])
    for name, more in (("aclnnPowTensorTensor", (room(2, dtype=torch.bool),)), ("aclnnInplacePowTensorTensor", ())):
        code, said = aclnn.status(name, (mask, mask, *more))
        assert code == REFUSED
        assert "BOOL" in said


@pytest.mark.parametrize("dtype, low, high", [(torch.float16, 1.0, 2.0), (torch.bfloat16, -1.0, 1.0), (torch.float32, 1.0, 1.00001)])
def test_uniform_numbers_do_not_reach_the_upper_bound(aclnn, dtype, low, high):
    out = room(1 << 16, dtype=dtype)
    aclnn.run("aclnnInplaceUniform", out, low, high, 7, 0)
    assert out.min() >= low
    assert (out < torch.tensor(high, dtype=dtype)).all()


def test_uniform_whole_numbers(aclnn):
    out = room(1 << 14, dtype=torch.int32)
    aclnn.run("aclnnInplaceUniform", out, -3.0, 2.0, 7, 0)
    counts = torch.bincount(out + 3, minlength=5)
    assert len(counts) == 5
    assert ((counts / out.numel() - 0.2).abs() < 0.02).all()


@pytest.mark.parametrize("shape, counted", [((4, 2), 8), ((4, 4, 2), 16)])
def test_chances_of_another_shape_go_by_their_order(aclnn, shape, counted):
    chances = whole(0, 2, *shape).float()
    out = room(4, 4)
    aclnn.run("aclnnInplaceBernoulliTensor", out, chances, 7, 0)
    assert torch.equal(out.flatten()[:counted], chances.flatten()[:counted])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("extra", [0, 5])
def test_randomised_leaky_relu(aclnn, dtype, training, extra):
    x, noise, out = values(200).to(dtype), room(200 + extra, dtype=dtype), room(200, dtype=dtype)
    x[0] = 0
    aclnn.run("aclnnRReluWithNoise", x, noise, 0.25, 0.75, training, 7, 0, out)
    if not training:
        (same if dtype == torch.float32 else within_a_rounding)(out, WHERE(x > 0, D(x), D(x) * 0.5), "out")
        return
    drawn = noise[:200]
    assert (drawn[x > 0] == 1).all()
    assert ((drawn[x <= 0] >= 0.25) & (drawn[x <= 0] <= 0.75)).all()
    assert drawn[x <= 0].unique().numel() > 20
    torch.testing.assert_close(D(out), D(x) * D(drawn), rtol=1e-2 if dtype != torch.float32 else 1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_random_numbers_without_bounds_reach_what_the_type_counts(aclnn, dtype):
    most = {torch.float16: 2**11, torch.bfloat16: 2**8, torch.float32: 2**24}[dtype]
    out = room(1 << 14, dtype=dtype)
    aclnn.run("aclnnInplaceRandomWithoutFromTo", out, 7, 0)
    wide = D(out)
    assert torch.equal(wide, wide.round())
    assert wide.min() >= 0 and wide.max() <= most and wide.max() > most * 0.99


def test_counts_come_with_the_inverse(aclnn):
    x = TENSOR([3, 1, 3, 2, 1])
    kinds, inverse, counts = room(5, dtype=torch.int64), room(5, dtype=torch.int64), room(5, dtype=torch.int64)
    aclnn.run("aclnnUnique2", x, True, False, True, kinds, inverse, counts)
    assert kinds[:3].tolist() == [1, 2, 3]
    assert counts[:3].tolist() == [2, 1, 2]
    assert inverse.tolist() == [2, 0, 2, 1, 0]


def test_singular_values(aclnn):
    x = values(2, 5, 3)
    for full in (True, False):
        sigma, u, v = room(2, 3), room(2, 5, 5 if full else 3), room(2, 3, 3)
        aclnn.run("aclnnSvd", x, full, True, sigma, u, v)
        torch.testing.assert_close(u[..., :3] @ torch.diag_embed(sigma) @ v.transpose(-2, -1), x, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(u.transpose(-2, -1) @ u, torch.eye(u.shape[-1]).expand(2, -1, -1), rtol=1e-4, atol=1e-5)


def test_the_gated_delta_rule(aclnn):
    lengths, heads, groups, wide, deep = [3, 1, 2], 2, 2, 4, 3
    tokens = sum(lengths)
    query, key = (torch.nn.functional.normalize(values(tokens, heads, deep), dim=-1).bfloat16() for _ in range(2))
    value, beta = values(tokens, heads * groups, wide).bfloat16(), torch.rand(tokens, heads * groups, generator=SEED).bfloat16()
    states, place = values(9, heads * groups, wide, deep).bfloat16(), TENSOR([4, 0, 7, 2, 8, 5], dtype=torch.int32)
    g, gk = -torch.rand(tokens, heads * groups, generator=SEED), -torch.rand(tokens, heads * groups, deep, generator=SEED)
    accepted = TENSOR([2, 1, 1], dtype=torch.int32)
    out, got = room(tokens, heads * groups, wide, dtype=torch.bfloat16), states.clone()
    aclnn.run("aclnnRecurrentGatedDeltaRule", query, key, value, beta, got, TENSOR(lengths, dtype=torch.int32), place, g, gk, accepted, 0.5, out)
    wanted, want, first = D(states).clone(), torch.zeros(out.shape).double(), 0
    for length, taken in zip(lengths, accepted.tolist()):
        each = D(states)[place[first + taken - 1]].clone()
        for t in range(first, first + length):
            for head in range(heads * groups):
                k, q, v = D(key)[t, head // groups], D(query)[t, head // groups], D(value)[t, head]
                fade = torch.exp(D(g)[t, head]) * torch.diag(torch.exp(D(gk)[t, head]))
                each[head] = each[head] @ fade @ (torch.eye(deep).double() - D(beta)[t, head] * torch.outer(k, k)) + D(beta)[t, head] * torch.outer(v, k)
                want[t, head] = each[head] @ q * 0.5
            wanted[place[t]] = each
        first += length
    within_a_rounding(out, want, "out")
    within_a_rounding(got, wanted, "states")


EVERY = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.float16, torch.float32, torch.float64, torch.bfloat16,
         torch.complex64, torch.complex128]


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("how", [0, 1, 2])
def test_every_type_of_the_page_scatters(aclnn, how, dtype):
    self, src = whole(0, 5, 3, 4).to(dtype), whole(0, 5, 2, 4).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    want = scattered(self.to(wide), 0, PLACES, src.to(wide), HOW[how]).to(dtype)
    out = room(3, 4, dtype=dtype)
    aclnn.run("aclnnScatter", self, 0, PLACES, src, how, out)
    assert torch.equal(out, want)
    want = scattered(self.to(wide), 0, PLACES, torch.full((2, 4), 3).to(dtype).to(wide), HOW[how]).to(dtype)
    aclnn.run("aclnnInplaceScatterValue", self, 0, PLACES, True if dtype == torch.bool else 3, how)
    assert torch.equal(self, want)


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("name", ["aclnnScatterAdd", "aclnnIndexAdd", "aclnnInplacePut"])
def test_every_type_of_the_page_adds(aclnn, name, dtype):
    if name == "aclnnIndexAdd" and dtype.is_complex:
        pytest.skip("not among the types of aclnnIndexAdd's page")
    self, src = whole(0, 5, 3, 4).to(dtype), whole(0, 5, 2, 4).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    rows = TENSOR([[2, 2, 2, 2]] * 2)
    index = PLACES if name == "aclnnScatterAdd" else rows
    want = scattered(self.to(wide), 0, index, src.to(wide), sum).to(dtype)
    out = room(3, 4, dtype=dtype)
    if name == "aclnnScatterAdd":
        aclnn.run(name, self, 0, index, src, out)
    elif name == "aclnnIndexAdd":
        aclnn.run(name, self, 0, TENSOR([2, 2]), src, True if dtype == torch.bool else 1, out)
    else:
        out = self.clone()
        aclnn.run(name, out, torch.arange(8, 12).repeat(2), src, True)
    assert torch.equal(out, want)


def test_a_cache_s_layout_is_not_chosen_by_a_reserved_argument(aclnn):
    tokens, slots = values(3, 2, 8), TENSOR([5, 0, 2])
    for mode in ("Norm", "PA_NZ"):
        cache = torch.zeros(2, 4, 2, 8)
        aclnn.run("aclnnScatterPaCache", tokens, cache, slots, None, None, None, mode)
        assert torch.equal(cache.view(8, 2, 8)[slots], tokens)
        assert cache.abs().sum() == tokens.abs().sum()


@pytest.mark.parametrize("averaged", [True, False])
def test_a_cache_keeps_part_of_each_head_s_keys(aclnn, averaged):
    key, slots = values(2, 6, 2, 8).half(), TENSOR([[0, 9], [4, 14]])
    lengths, offsets, tokens = TENSOR([2, 1, 3, 2]), TENSOR([1, 0, 2, 0]), [4, 6]
    cache = torch.zeros(5, 4, 1, 8).half()
    want = D(cache).view(20, 8)
    for batch, head in itertools.product(range(2), range(2)):
        keys, length, offset = D(key)[batch, :tokens[batch], head], lengths[2 * batch + head], offsets[2 * batch + head]
        kept = torch.cat((keys[:offset], keys[offset:offset + length].mean(0, True), keys[offset + length:])) if averaged else keys[-length:]
        want[slots[batch, head]:slots[batch, head] + len(kept)] = kept
    aclnn.run("aclnnScatterPaCache", key, cache, slots, lengths, offsets if averaged else None, TENSOR(tokens), "Norm")
    within_a_rounding(cache.view(20, 8), want, "cache")


MIXED = TENSOR([[3, 1, 1], [3, 3, 2]])
INDEX = torch.int64
# name, arguments, results, which fill the outputs' memory from the front: their lengths are known only after the run
GROWN = [
    ("aclnnMaskedSelect", (X, X[0] > 0, room(12)), lambda: [A[(X[0] > 0).expand(3, 4)]]),
    ("aclnnNonzero", (TENSOR([[0.0, NAN], [-0.0, 2.0]]), room(4, 2, dtype=INDEX)), lambda: [TENSOR([[0, 1], [1, 1]])]),
    ("aclnnNonzeroV2", (MIXED - 3, room(2, 6, dtype=INDEX)), lambda: [TENSOR([[0, 0, 1], [1, 2, 2]])]),
    ("aclnnUnique", (MIXED, True, True, room(6, dtype=INDEX), room(2, 3, dtype=INDEX)), lambda: [TENSOR([1, 2, 3]), TENSOR([[2, 0, 0], [2, 2, 1]])]),
    ("aclnnUnique2", (MIXED, True, True, True, room(6, dtype=INDEX), room(2, 3, dtype=INDEX), room(6, dtype=INDEX)),
     lambda: [TENSOR([1, 2, 3]), TENSOR([[2, 0, 0], [2, 2, 1]]), TENSOR([2, 1, 3])]),
    ("aclnnUniqueConsecutive", (MIXED, True, True, 1000, room(6, dtype=INDEX), room(2, 3, dtype=torch.int32), room(6, dtype=torch.int32)),
     lambda: [TENSOR([3, 1, 3, 2]), TENSOR([[0, 1, 1], [2, 2, 3]], dtype=torch.int32), TENSOR([1, 2, 2, 1], dtype=torch.int32)]),
    ("aclnnUniqueConsecutive", (MIXED[TENSOR([1, 1, 0])], True, True, -2, room(9, dtype=INDEX), room(3, dtype=INDEX), room(3, dtype=INDEX)),
     lambda: [MIXED.flip(0), TENSOR([0, 0, 1]), TENSOR([2, 1])]),
    ("aclnnUniqueDim", (MIXED[TENSOR([1, 0, 1])], True, True, 0, room(9, dtype=INDEX), room(3, dtype=INDEX), room(3, dtype=INDEX)),
     lambda: [MIXED, TENSOR([1, 0, 1]), TENSOR([1, 2])]),
]


@pytest.mark.parametrize("name, arguments, reference", GROWN, ids=ids(GROWN))
def test_results_whose_length_shows_when_they_are_there(aclnn, name, arguments, reference):
    results = reference()
    outputs = [one.clone() for one in arguments[-len(results):]]
    aclnn.run(name, *arguments[:-len(results)], *outputs)
    for number, (got, want) in enumerate(zip(outputs, results)):
        same(got.flatten()[:want.numel()].view(want.shape), want, f"output {number}")


def test_parts_and_the_whole(aclnn):
    parts = [room(3, 1), room(3, 0), room(3, 3)]
    aclnn.run("aclnnSplitWithSize", X, [1, 0, 3], -1, parts)
    assert torch.equal(torch.cat(parts, 1), X)
    out = room(3, 2, 4)
    aclnn.run("aclnnStack", [X, Y], -2, out)
    assert torch.equal(out, torch.cat((X[:, None], Y[:, None]), 1))


def test_unpooling_a_volume(aclnn):
    x, places = values(2, 1, 2, 2, 2), torch.randperm(24, generator=SEED)[:8].view(1, 1, 2, 2, 2).expand(2, -1, -1, -1, -1).contiguous()
    out = room(2, 1, 2, 3, 4)
    aclnn.run("aclnnMaxUnpool3d", x, places, [2, 3, 4], [1, 1, 1], [0, 0, 0], out)
    want = torch.zeros(2, 1, 24).scatter(-1, places.flatten(2), x.flatten(2))
    assert torch.equal(out.flatten(2), want)

# SPDX-License-Identifier: Apache-2.0
"""Versions and late operators by the formulas of their pages: norms and quantisers, experts, packed weights."""

import pytest
import torch
import torch.nn.functional as F
from aclnn_calls import room
from page_checks import drawing, near, refused, D

SEED, values, whole = drawing(59)
I8, I32, E4 = torch.int8, torch.int32, torch.float8_e4m3fn


@pytest.mark.parametrize("divide", [True, False])
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_sum_and_norm_beside_the_quantised_norm(aclnn, mode, divide):
    x1, x2, gamma, beta, bias = values(5, 8), values(5, 8), values(8), values(8), values(8)
    one, two = (torch.rand(8, generator=SEED) + 0.5 for _ in range(2))
    total = D(x1) + D(x2) + D(bias)
    norm = F.layer_norm(total, (8,), D(gamma), D(beta), 1e-5)
    y1, y2, x, told, s1, s2 = room(5, 8, dtype=I8), room(5, 8, dtype=I8), room(5, 8), room(5, 8), room(5), room(5)
    aclnn.run("aclnnAddLayerNormQuantV2", x1, x2, gamma, beta, bias, one, two, None, None, mode, 1e-5, True, divide, y1, y2, x, told, s1, s2)
    near(x, total)
    near(told, norm, 1e-4)
    for y, scale, step in ((y1, one, s1), (y2, two, s2)):
        if mode == "static":
            want = norm / D(scale) if divide else norm * D(scale)
        else:
            smooth = norm * D(scale)
            near(step, smooth.abs().amax(-1) / 127, 1e-4)
            want = smooth / (smooth.abs().amax(-1, keepdim=True) / 127)
        assert (D(y) - want.clamp(-128, 127)).abs().max() <= 0.51


@pytest.mark.parametrize("dtype, tight", [(torch.float32, 1e-4), (torch.float16, 1e-2)])
@pytest.mark.parametrize("with_weight", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_gradients_of_the_adaptive_norm(aclnn, dtype, tight, with_weight, kept):
    x, grad = values(2, 3, 8, dtype=dtype), values(2, 3, 8, dtype=dtype)
    scale, shift = (values(*((2, 1, 8) if kept else (2, 8)), dtype=dtype) for _ in range(2))
    weight, bias = (values(8, dtype=dtype), values(8, dtype=dtype)) if with_weight else (None, None)
    mean, rstd = D(x).mean(-1, keepdim=True).to(dtype), (D(x).var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt().to(dtype)
    leaves = [None if one is None else D(one).clone().requires_grad_() for one in (x, scale, shift, weight, bias)]
    rows = [one.view(2, 1, 8) for one in leaves[1:3]]
    (F.layer_norm(leaves[0], (8,), leaves[3], leaves[4], 1e-5) * (1 + rows[0]) + rows[1]).backward(D(grad))
    out = [room(*x.shape, dtype=dtype), room(*scale.shape, dtype=dtype), room(*scale.shape, dtype=dtype)] + [room(8, dtype=dtype) for _ in range(2)]
    aclnn.run("aclnnAdaLayerNormBackward", grad, x, [8], rstd, mean, scale, shift, weight, bias, *(out if with_weight else out[:3] + [None, None]))
    for got, leaf in zip(out, leaves):
        if leaf is not None:
            near(got, leaf.grad, tight)
    refused(aclnn, "aclnnAdaLayerNormBackward", [grad, x, [4], rstd, mean, scale, shift, weight, bias, *out[:3], None, None], "normalizedShape is [4]")


@pytest.mark.parametrize("shape", [(4, 16), (3, 4, 16)], ids=str)
def test_first_quantised_product(aclnn, shape):
    x, w, bias = whole(-128, 128, *shape, dtype=I8), whole(-128, 128, *shape[:-2], 16, 8, dtype=I8), whole(-1000, 1000, 8, dtype=I32)
    out = room(*shape[:-1], 8, dtype=torch.float16)
    for given in (bias, None):
        aclnn.run("aclnnQuantMatmul", x, w, given, 0.0125, out)
        near(out, (D(x) @ D(w) + (0 if given is None else D(given))) * D(torch.tensor(0.0125)), 1e-3)


def test_convolution_of_bytes_whose_weight_may_lie_in_blocks(aclnn):
    x, w, bias, scale = whole(-128, 128, 2, 3, 4, 5, 6, dtype=I8), whole(-128, 128, 4, 3, 2, 3, 3, dtype=I8), values(4), torch.rand(4, generator=SEED) / 100
    out = room(2, 4, 3, 3, 6, dtype=torch.float16)
    aclnn.run("aclnnQuantConvolutionWeightNz", x, w, bias, scale, None, [1, 2, 1], [0, 1, 1], [1, 1, 1], False, None, 1, 0, None, out)
    near(out, F.conv3d(D(x), D(w), stride=(1, 2, 1), padding=(0, 1, 1)) * D(scale).view(4, 1, 1, 1) + D(bias).view(4, 1, 1, 1), 2e-3)


def situ(x, beta, linear, left):
    gate, up = x.chunk(2, -1) if left else x.chunk(2, -1)[::-1]
    return beta * (gate / beta).tanh() * gate.sigmoid() * (linear * (up / linear).tanh() if linear > 0 else up)


@pytest.mark.parametrize("kind", ["int8", "int32", "half"])
@pytest.mark.parametrize("left, linear", [(True, 25.0), (False, 0.0)])
def test_situ_between_scales(aclnn, kind, left, linear):
    weight, activation, bias, quant = torch.rand(16, generator=SEED) / 20, torch.tensor([0.05]), values(16), torch.rand(8, generator=SEED) + 0.5
    if kind == "half":
        x, given, value = values(5, 16, dtype=torch.float16), [None] * 5, None
        value = D(x)
    else:
        x = whole(-100, 100, 5, 16, dtype=I8) if kind == "int8" else whole(-2000, 2000, 5, 16, dtype=I32)
        given = [weight, activation if kind == "int32" else None, bias, quant if kind == "int8" else None, None]
        value = D(x) * D(weight) * (D(activation) if kind == "int32" else 1) + D(bias)
    value = situ(value, 4.0, linear, left)
    smooth = value * D(quant) if kind == "int8" else value
    y, scale = room(5, 8, dtype=I8), room(5)
    aclnn.run("aclnnDequantSituQuant", x, *given, None, 4.0, linear, left, "dynamic", y, scale)
    step = smooth.abs().amax(-1, keepdim=True) / 127
    near(scale, step.squeeze(-1), 1e-3)
    exact = smooth / step
    # Truncated: a number that float32 has on the other side of a whole one may be one off.
    assert (D(y) == exact.trunc()).double().mean() > 0.9 and (D(y) - exact).abs().max() < 1.001
    if kind == "int8":
        aclnn.run("aclnnDequantSituQuant", x, *given[:3], quant, quant, None, 4.0, linear, left, "static", y, scale)
        want = (value / D(quant) + D(quant)).clamp(-128, 127)
        assert (D(y) == want.trunc()).double().mean() > 0.9 and (D(y) - want).abs().max() < 1.001


@pytest.mark.parametrize("kind, most", [(E4, 8), (torch.float8_e5m2, 15)])
def test_situ_and_blocks_of_32(aclnn, kind, most):
    x = values(3, 160, dtype=torch.float16)
    y, scale = room(3, 80, dtype=kind), room(3, 2, 2, dtype=torch.float8_e8m0fnu)
    aclnn.run("aclnnSituMxQuant", x, 1.0, 2.0, True, -1, 36 if kind == E4 else 35, "rint", y, scale)
    value = situ(D(x), 1.0, 2.0, True)
    for row in range(3):
        for block in range(4):
            part = value[row, block * 32:(block + 1) * 32]
            stored = int(scale.view(torch.uint8)[row, block // 2, block % 2])
            if part.numel() == 0:
                assert stored == 0
                continue
            power = int(part.abs().max().log2().floor()) - most
            assert stored == power + 127
            near(y[row, block * 32:(block + 1) * 32].double() * 2.0**power, part, 0.13)


def test_int4_weights_are_packed(npu):
    from page_npu import Int4
    weight = whole(-8, 8, 6, 16, dtype=I32)
    packed, pairs = room(6, 2, dtype=I32), Int4(torch.zeros(6, 16, dtype=I8))
    npu("aclnnConvertWeightToINT4Pack", weight=weight, weightInt4Pack=packed)
    places = torch.arange(8) * 4
    assert torch.equal(packed.long() & 0xFFFFFFFF, ((weight.long() & 15).view(6, 2, 8) << places).sum(-1))
    npu("aclnnConvertWeightToINT4Pack", weight=weight, weightInt4Pack=pairs)
    assert torch.equal(pairs.values().int(), weight)
    npu.refuses("aclnnConvertWeightToINT4Pack", "weight + 8 has places", weight=weight + 8, weightInt4Pack=packed)


def test_flat_quantisation_of_the_third_version(aclnn):
    x, p1, p2 = values(3, 4, 8, dtype=torch.float16), values(4, 4, dtype=torch.float16), values(8, 8, dtype=torch.float16)
    out, scale, older, other = room(3, 4, 1, dtype=I32), room(3), room(3, 4, 1, dtype=I32), room(3)
    aclnn.run("aclnnFlatQuantV3", x, p1, p2, None, 0.9, 0.0, 0, out, scale)
    near(scale, (D(p1) @ (D(x) @ D(p2))).abs().amax((1, 2)) / (7 / 0.9), 1e-3)
    aclnn.run("aclnnFlatQuant", x, p1, p2, 0.9, older, other)
    assert torch.equal(out, older)
    refused(aclnn, "aclnnFlatQuantV3", [x, p1, p2, torch.tensor([3]), 0.9, 0.0, 0, out, scale], "groups are not supported")


# Mixtures of experts.

@pytest.mark.parametrize("normalised", [True, False])
def test_experts_of_the_best_groups(aclnn, normalised):
    x, add = values(6, 12), values(12)
    y, indices = room(6, 3), room(6, 3, dtype=I32)
    aclnn.run("aclnnMoeFusedTopk", x, add, None, None, 4, 2, 2, 3, 0, normalised, 2.5, False, y, indices)
    chances = D(x).sigmoid()
    worth = (chances + D(add)).view(6, 4, 3)
    best = worth.topk(2, -1).values.sum(-1).topk(2).indices
    for row in range(6):
        kept = sorted((worth[row, g, e].item(), 3 * g + e) for g in best[row].tolist() for e in range(3))[::-1][:3]
        assert indices[row].tolist() == [place for _, place in kept]
    want = chances.gather(1, indices.long())
    near(y, want / want.sum(-1, keepdim=True) * 2.5 if normalised else want, 1e-4)
    refused(aclnn, "aclnnMoeFusedTopk", [x, add, None, None, 4, 2, 2, 3, 0, normalised, 2.5, True, y, indices], "mapping of experts is not supported")


@pytest.mark.parametrize("rank", [0, 2, 5])
@pytest.mark.parametrize("dtype", [I32, torch.int64])
def test_instances_of_experts_share_the_ranks(aclnn, rank, dtype):
    table = torch.tensor([[1, 7, 0, 0], [3, 4, 9, 2], [2, 11, 5, 0]], dtype=I32)
    experts = torch.tensor([[0, 1], [2, 1], [1, 0], [2, 2], [0, 2]], dtype=dtype)
    out, mask = room(5, 2, dtype=dtype), room(5, 2, dtype=torch.bool)
    aclnn.run("aclnnMoeUpdateExpert", experts, table, None, None, None, rank, 6, 0, out, mask)
    for token in range(5):
        for k in range(2):
            count, *places = table[experts[token, k]].tolist()
            assert out[token, k] == places[rank // -(-6 // count)]
    for changed, says in (({0: experts + 1}, "expertIds has places"), ({2: torch.rand(5, 2)}, "pruning is not supported"), ({7: 1}, "only 0 (by rank)"),
                          ({5: 6}, "localRankId is 6")):
        arguments = [experts, table, None, None, None, rank, 6, 0, out, None]
        for place, value in changed.items():
            arguments[place] = value
        refused(aclnn, "aclnnMoeUpdateExpert", arguments, says)


def test_routed_rows_in_8_bits(aclnn):
    x, experts, rows = values(4, 6), whole(0, 5, 4, 2, dtype=I32), (torch.arange(2)[None] * 4 + torch.arange(4)[:, None]).int()
    out, place, expert = room(8, 6, dtype=I8), room(8, dtype=I32), room(8, dtype=I32)
    aclnn.run("aclnnMoeInitRoutingQuant", x, rows, experts, 4, 20.0, 3.0, out, place, expert)
    order = experts.flatten().argsort(stable=True)
    source = rows.flatten()[order].long()
    assert torch.equal(expert, experts.flatten()[order])
    assert torch.equal(place[source], torch.arange(8).int())
    assert (D(out) - (D(x)[source % 4] * 20 + 3).clamp(-128, 127)).abs().max() <= 0.501


def test_finished_experts_of_the_third_version(aclnn):
    rows, index, scales = values(6, 4), torch.randperm(6, generator=SEED).int(), torch.rand(3, 2, generator=SEED)
    bias, experts, own, x1, out = values(5, 4), torch.tensor([[0, 3], [1, 2], [4, 0]], dtype=I32), values(3, 4), values(3, 4), room(3, 4)
    a1, a2, v = values(1, 4), values(1, 4), values(1, 4)
    aclnn.run("aclnnMoeFinalizeRoutingV3", rows, index, x1, None, bias, scales, experts, own, a1, a2, v, 2, [2, 3], [3, 4], [4, 5], out)
    want = D(x1).clone()
    for i in range(3):
        for k in range(2):
            e = experts[i, k].item()
            if e == 2:
                continue
            part = D(own[i]) if e == 3 else D(a1[0]) * D(own[i]) + D(a2[0]) * D(v[0]) if e == 4 else D(rows[index[i * 2 + k].item()])
            want[i] += D(scales[i, k]) * (part + D(bias[e]))
    near(out, want, 1e-4)


@pytest.mark.parametrize("quantised", [False, True])
def test_permuted_tokens_of_the_second_version(aclnn, quantised):
    tokens, experts = values(4, 64, dtype=torch.float16), whole(0, 5, 4, 2, dtype=I32)
    order = experts.flatten().argsort(stable=True)
    out, place = room(8, 64, dtype=E4 if quantised else torch.float16), room(8, dtype=I32)
    scale = room(8, 2, dtype=torch.float8_e8m0fnu) if quantised else room(0)
    aclnn.run("aclnnMoeTokenPermuteV2", tokens, experts, 0, False, 3 if quantised else -1, out, place, scale)
    assert torch.equal(place[order], torch.arange(8).int())
    want = tokens[order // 2]
    if quantised:
        steps = (scale.view(torch.uint8).double() - 127).exp2().repeat_interleave(32, -1)
        assert torch.equal(scale.view(torch.uint8).int(), (D(want).view(8, 2, 32).abs().amax(-1).log2().floor() - 8 + 127).int())
        near(out.double() * steps, want, 0.07)
    else:
        assert torch.equal(out, want)


@pytest.mark.parametrize("ends", [True, False])
def test_experts_whose_counts_lie_on_the_device(aclnn, ends):
    x, w1, w2 = values(6, 8, dtype=torch.float16), values(3, 8, 16, dtype=torch.float16) / 4, values(3, 16, 8, dtype=torch.float16) / 4
    counts, y = [2, 0, 4], room(6, 8, dtype=torch.float16)
    given = torch.tensor([2, 2, 6] if ends else counts)
    aclnn.run("aclnnFFNV3", x, w1, w2, given, *[None] * 10, "relu", 0, ends, y)
    want = torch.cat([(D(part) @ D(w1[i])).relu() @ D(w2[i]) for i, part in enumerate(x.split(counts))])
    near(y, want, 5e-3)

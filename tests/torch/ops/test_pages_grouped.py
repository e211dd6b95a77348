# SPDX-License-Identifier: Apache-2.0
"""Gates between quantised products and products of groups against the formulas of their own pages, and the values that a page rules out."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import D, drawing
from page_npu import INT4, INT8, Int4, near, silu

SEED, values, whole = drawing(31)
INF = math.inf

# Gates between quantised products.

@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_one_factor_for_each_of_as_many_groups_as_columns(npu, counts, left):
    x, smooth, offsets = values(7, 4), torch.tensor([2.0, -30.0]), torch.tensor([0.5, -1.0])  # two groups, two columns
    out, scale = torch.full((7, 2), 77, dtype=torch.int8), room(7)
    groups = torch.tensor([2, 3] if counts else [2, 5], dtype=torch.int32)
    npu("aclnnSwiGluQuantV2", x=x, smoothScalesOptional=smooth, offsetsOptional=offsets, groupIndexOptional=groups, activateLeft=left,
        quantModeOptional="static",
        groupListType=int(counts), dstType=INT8, yOut=out, scaleOut=scale)
    one, two = D(x).chunk(2, -1)
    gated = silu(one) * two if left else silu(two) * one
    group = torch.tensor([0, 0, 1, 1, 1])
    assert torch.equal(out[:5].double(), torch.round(gated[:5] * D(smooth)[group, None] + D(offsets)[group, None]).clamp(-128, 127))
    assert (out[5:] == 77).all(), "a row behind the last group was written"


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_a_gate_in_int4(npu, mode):
    x, smooth, offsets, out, scale = values(3, 8) * 3, values(1, 4) * 4, values(1, 4), Int4(torch.zeros(3, 4)), room(3)
    npu("aclnnSwiGluQuantV2", x=x, smoothScalesOptional=smooth, offsetsOptional=offsets if mode == "static" else None, activateLeft=True,
        quantModeOptional=mode,
        dstType=INT4, yOut=out, scaleOut=scale)
    one, two = D(x).chunk(2, -1)
    value = silu(one) * two * D(smooth)
    if mode == "dynamic":
        near(scale, 7 / value.abs().amax(-1))
        value = value * 7 / value.abs().amax(-1, keepdim=True)
    else:
        value = value + D(offsets)
    assert torch.equal(out.values().double(), torch.round(value).clamp(-8, 7))


@pytest.mark.parametrize("given, says", [({"groupListType": 2}, "groupListType is 2"), ({"dstType": INT4}, "dstType 29 is not supported"),
                                         ({"quantModeOptional": "dynamic_msd"}, "dynamic_msd")])
def test_a_gate_with_a_scale_refuses(npu, given, says):
    npu.refuses("aclnnSwiGluQuantV2", says, **{"x": values(3, 8), "activateLeft": True, "quantModeOptional": "dynamic", "dstType": INT8,
                                              "yOut": room(3, 4, dtype=torch.int8), "scaleOut": room(3), **given})


def gate(mode, left, glu, limit=0.8, alpha=1.5, bias=0.25):
    one, two = (glu[..., ::2], glu[..., 1::2]) if mode == 1 else glu.chunk(2, -1)
    one, two = (one, two) if left else (two, one)
    if mode == 0:
        return silu(one) * two
    if mode == 3:
        return silu(one).clamp(max=limit) * two.clamp(-limit, limit)
    one = one.clamp(max=limit)
    return one * torch.sigmoid(alpha * one) * (two.clamp(-limit, limit) + bias)


def dequantised(**more):
    return {"weightScaleOptional": values(3, 8) / 300, "activationScaleOptional": values(7), "groupIndexOptional": torch.tensor([3, 0, 2]),
            "activateLeft": True,
            "quantModeOptional": "dynamic", "dstType": INT8, "roundModeOptional": "rint", "activateDim": -1, "clampLimit": 0.8, "gluAlpha": 1.5,
            "gluBias": 0.25,
            "yOut": room(7, 4, dtype=torch.int8), "scaleOut": room(7), **more}


@pytest.mark.parametrize("mode, left", [(0, True), (0, False), (1, True), (2, True), (2, False), (3, True), (3, False)])
@pytest.mark.parametrize("pairs", [False, True])
def test_a_gate_of_sums(npu, mode, left, pairs):
    x, group = whole(-900, 900, 7, 8).int(), torch.tensor([2, 2, 2, 0, 0]) if pairs else torch.tensor([0, 0, 0, 2, 2])
    given = dequantised(x=x, biasOptional=whole(-90, 90, 3, 8).int(), swigluMode=mode, activateLeft=left, quantScaleOptional=values(3, 4),
                        groupIndexOptional=torch.tensor([[2, 3], [0, 2]] if pairs else [3, 0, 2]))
    npu("aclnnDequantSwigluQuantV2", **given)
    real = D(x[:5] + given["biasOptional"][group]) * D(given["weightScaleOptional"])[group] * D(given["activationScaleOptional"])[:5, None]
    want = gate(mode, left, real) * D(given["quantScaleOptional"])[group]
    step = want.abs().amax(-1, keepdim=True) / 127
    near(given["scaleOut"][:5], step[:, 0])
    assert ((given["yOut"][:5].double() - want / step).abs() <= 0.5 + 1e-3).all()
    assert (given["yOut"][5:] == 77).all()


@pytest.mark.parametrize("given, says", [
    ({"swigluMode": 1, "activateLeft": False}, "activateLeft must be true"), ({"swigluMode": 2, "clampLimit": 0.0}, "clampLimit is 0"),
    ({"swigluMode": 3, "clampLimit": INF}, "clampLimit is inf"), ({"quantModeOptional": "static"}, "quantScale, which is NULL"),
    ({"swigluMode": 4}, "swigluMode is 4"),
    ({"groupIndexOptional": torch.zeros(2, 3, dtype=torch.int64)}, "groupIndex has shape")])
def test_a_gate_of_sums_refuses(npu, given, says):
    npu.refuses("aclnnDequantSwigluQuantV2", says, x=whole(-9, 9, 7, 8).int(), **dequantised(**given))


# Products of groups.

def packed(weight):
    """int4 values, eight to an int32, the first lowest."""
    halves = (weight.long() & 15).unflatten(-1, (-1, 8)) << torch.arange(0, 32, 4)
    return halves.sum(-1).to(torch.int32)


def float_words(scale):
    return scale.view(torch.int32).long() & 0xFFFFFFFF


W4 = whole(-8, 8, 2, 16, 8).to(torch.int8)
X8, TOKEN = whole(-128, 128, 5, 16).to(torch.int8), values(5).abs() / 50
OF_ROW = torch.tensor([0, 0, 1, 1, 1])


def by_depth(scale):
    """[2, groups, 8] for each of 16 rows."""
    return D(scale).repeat_interleave(16 // scale.shape[1], 1)


@pytest.mark.parametrize("depth_groups", [1, 4])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_int8_rows_of_int4_weights(npu, depth_groups, typed, exact):
    scale = values(2, depth_groups, 8).abs() / 30
    real = D(W4) * by_depth(scale)
    bias = (8 * real.sum(1)).float() if exact else values(2, 8)
    out = room(5, 8, dtype=torch.bfloat16)
    npu("aclnnGroupedMatmulV5", x=[X8], weight=[Int4(W4) if typed else packed(W4)], biasOptional=[bias], scaleOptional=[float_words(scale)],
        perTokenScaleOptional=[TOKEN],
        groupListOptional=torch.tensor([2, 3]), splitItem=3, groupListType=1, out=[out])
    want = torch.stack([(D(X8[i]) - 8) @ real[g] + D(bias[g]) for i, g in enumerate(OF_ROW)]) * D(TOKEN)[:, None]
    near(out, want, 1e-2)
    if exact:
        near(out, torch.stack([D(X8[i]) @ real[g] for i, g in enumerate(OF_ROW)]) * D(TOKEN)[:, None], 1e-2)


def test_int4_rows_of_int4_weights_with_a_scale_of_each_depth(npu):
    x, scale, out = whole(-8, 8, 4, 16).to(torch.int8), values(2, 4, 8) / 30, room(4, 8, dtype=torch.float16)
    npu("aclnnGroupedMatmulV5", x=[Int4(x)], weight=[Int4(W4)], scaleOptional=[float_words(scale)], groupListOptional=torch.tensor([0, 4]), splitItem=3,
        out=[out])
    near(out, D(x) @ (D(W4) * by_depth(scale))[1], 1e-2)


def test_int8_rows_of_int4_weights_need_their_bias(npu):
    npu.refuses("aclnnGroupedMatmulV5", "an int8 x and none", x=[X8], weight=[Int4(W4)], scaleOptional=[float_words(values(2, 1, 8))],
                groupListOptional=torch.tensor([2, 3]),
                splitItem=3, groupListType=1, out=[room(5, 8, dtype=torch.bfloat16)])


@pytest.mark.parametrize("typed", [False, True])
def test_tokens_of_int4_experts_are_added_up(npu, typed):
    scale, where, weights, shared = values(2, 1, 8).abs() / 30, torch.tensor([1, 0, 2, 1, 2]), values(5), values(2, 8).bfloat16()
    real = D(W4) * D(scale)
    out = room(3, 8)
    npu("aclnnGroupedMatmulFinalizeRoutingV2", x1=X8, x2=Int4(W4) if typed else packed(W4), scaleOptional=float_words(scale),
        biasOptional=(8 * real.sum(1)).float(),
        pertokenScaleOptional=TOKEN, groupListOptional=torch.tensor([2, 3]), groupListType=1, sharedInputOptional=shared, logitOptional=weights,
        rowIndexOptional=where,
        sharedInputWeight=0.5, sharedInputOffset=1, out=out)
    rows = torch.stack([D(X8[i]) @ real[g] for i, g in enumerate(OF_ROW)]) * D(TOKEN)[:, None] * D(weights)[:, None]
    want = torch.zeros(3, 8).double().index_add_(0, where, rows)
    want[1:] += 0.5 * D(shared)
    near(out, want, 1e-4)


@pytest.mark.parametrize("depth_groups", [None, 4])
def test_int4_experts_with_a_gate(npu, depth_groups):
    scale = values(2, 8).abs() / 30 if depth_groups is None else values(2, depth_groups, 8).abs() / 30
    real = D(W4) * (D(scale)[:, None] if depth_groups is None else by_depth(scale))
    assist, out, step = (8 * real.sum(1)).float(), room(5, 4, dtype=torch.int8), room(5)
    given = {"x": X8, "weight": Int4(W4), "weightScale": scale, "xScale": TOKEN, "groupList": torch.tensor([2, 4]), "output": out, "outputScale": step}
    npu("aclnnGroupedMatmulSwigluQuantWeightNZ", bias=assist, **given)
    value = torch.stack([D(X8[i]) @ real[g] for i, g in enumerate(OF_ROW[:4])]) * D(TOKEN)[:4, None]
    gated = silu(value[:, :4]) * value[:, 4:]
    near(step[:4], gated.abs().amax(-1) / 127, 1e-4)
    assert ((out[:4].double() - gated / gated.abs().amax(-1, keepdim=True) * 127).abs() <= 0.52).all()
    assert (out[4] == 77).all()
    npu.refuses("aclnnGroupedMatmulSwigluQuantWeightNZ", "int4 weights without their bias", **given)


@pytest.mark.parametrize("mode, tokens", [("pertensor", 1), ("pertoken", 5)])
@pytest.mark.parametrize("words", [False, True])
def test_a_weight_s_scale_in_words_has_the_one_of_x_in_it(npu, mode, tokens, words):
    if words and mode == "pertoken":
        pytest.skip("the page rules it out")
    x, weight, scale, smooth = values(5, 16).half(), whole(-128, 128, 2, 8, 16).to(torch.int8), values(2, 8) / 20, values(16).half()
    step = (values(tokens).abs() / 20 + 0.01).half() if words else values(tokens).abs() / 20 + 0.01
    given = {"x": x, "weight": weight, "weightScale": float_words(scale * step.float()) if words else scale, "xScaleOptional": step,
             "smoothScaleOptional": smooth,
             "xQuantMode": mode, "transposeWeight": True, "out": room(5, 8, dtype=torch.float16)}
    npu("aclnnQuantGroupedMatmulDequant", groupList=torch.tensor([2, 5]), **given)
    whole_x = torch.round(D(x) * D(smooth) / D(step).reshape(-1, 1)).clamp(-128, 127)
    want = torch.stack([D(weight[g]) @ whole_x[i] * D(scale[g]) for i, g in enumerate(OF_ROW)]) * D(step).reshape(-1, 1)
    near(given["out"], want, 2e-2)
    one = {**given, "weight": weight[0], "weightScale": given["weightScale"][0], "out": room(5, 8, dtype=torch.float16)}
    npu("aclnnQuantMatmulDequant", **one)
    near(one["out"], whole_x @ D(weight[0]).t() * D(scale[0]) * D(step).reshape(-1, 1), 2e-2)


def test_several_weights_share_the_summed_dimension(npu):
    x, weights, outs = values(6, 5), [values(2, 3), values(4, 7)], [room(5, 3), room(5, 7)]
    npu("aclnnGroupedMatmulV5", x=[x.t()], weight=weights, groupType=2, out=outs)
    near(outs[0], D(x[:2]).t() @ D(weights[0]))
    near(outs[1], D(x[2:]).t() @ D(weights[1]))


def test_a_list_on_the_host_may_cut_the_summed_dimension(npu):
    x, weight, out = values(6, 5), values(6, 3), room(2, 5, 3)
    npu("aclnnGroupedMatmulV2", x=[x.t()], weight=[weight], groupListOptional=[2, 6], splitItem=3, groupType=2, y=[out])
    near(out, torch.stack([D(x[:2]).t() @ D(weight[:2]), D(x[2:]).t() @ D(weight[2:])]))


def test_a_list_beside_several_tensors_says_what_they_say(npu):
    given = {"x": [values(2, 4), values(3, 4)], "weight": [values(4, 3), values(4, 3)], "splitItem": 3, "groupType": 0, "out": [room(5, 3)]}
    npu("aclnnGroupedMatmulV5", groupListOptional=torch.tensor([2, 5]), **given)
    near(given["out"][0], torch.cat([D(x) @ D(w) for x, w in zip(given["x"], given["weight"])]))
    npu.refuses("aclnnGroupedMatmulV5", "groupList does not say", groupListOptional=torch.tensor([1, 5]), **given)


def test_tokens_of_a_feed_forward_block_are_all_spoken_of(npu):
    npu.refuses("aclnnFFNV2", "expertTokens speaks of 3 tokens", x=values(4, 6).half(), weight1=values(2, 6, 8).half(), weight2=values(2, 8, 6).half(),
                expertTokens=[1, 2],
                activation="relu", y=room(4, 6, dtype=torch.float16))

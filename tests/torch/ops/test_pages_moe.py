# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts against the formulas of their own pages, in float64, and the values that a page rules out."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import D, drawing
from page_npu import Int4, near

SEED, values, whole = drawing(31)
INF = math.inf

# Which experts a token goes to.

GATE = {"k": 2, "kGroup": 1, "groupCount": 1, "normType": 1, "routedScalingFactor": 2.5, "eps": 1e-3}


@pytest.mark.parametrize("norm, renorm", [(0, 0), (0, 1), (1, 0), (2, 0)])
def test_experts_of_a_table(npu, norm, renorm):
    x, ids, table = values(5, 8), whole(0, 3, 5), torch.tensor([[1, 7], [0, 0], [6, 2]])
    y, chosen, kept = room(5, 2), room(5, 2, dtype=torch.int32), room(5, 8)
    npu("aclnnMoeGatingTopKV2", x=x, biasOptional=values(8), inputIdsOptional=ids, tid2eidOptional=table, yOut=y, expertIdxOut=chosen, outOut=kept,
        **{**GATE, "normType": norm, "renorm": renorm, "outFlag": True})
    scores = {0: D(x).softmax(-1), 1: D(x).sigmoid(), 2: torch.log1p(D(x).exp()).sqrt()}[norm]
    want = scores.gather(1, table[ids])
    want = want / (want.sum(-1, keepdim=True) + 1e-3) if norm or renorm else want
    near(y, want * 2.5)
    near(kept, scores)
    assert torch.equal(chosen.long(), table[ids])


@pytest.mark.parametrize("given, says", [
    ({"k": 5, "groupCount": 4, "kGroup": 2}, "k is 5; there are 4"), ({"kGroup": 0}, "kGroup is 0"), ({"kGroup": 2}, "kGroup is 2"), ({"k": 0}, "k is 0"),
    ({"groupSelectMode": 2}, "groupSelectMode is 2"), ({"groupSelectMode": 1, "groupCount": 8, "kGroup": 4}, "two experts in each group"),
    ({"normType": 0, "renorm": 2}, "renorm is 2"), ({"groupCount": 3}, "does not divide"), ({"normType": 3}, "normType is 3")])
def test_a_gate_refuses(npu, given, says):
    npu.refuses("aclnnMoeGatingTopK", says, x=values(3, 8), yOut=room(3, given.get("k", 2)), expertIdxOut=room(3, given.get("k", 2), dtype=torch.int32),
                **{**GATE, **given})


# Tokens in the order of their experts.

EXPERTS = torch.tensor([[2, 0], [1, 2], [0, 1], [2, 1]], dtype=torch.int32)
ORDER = EXPERTS.flatten().argsort(stable=True)


def routed(x, **more):
    return {"x": x, "expertIdx": EXPERTS, "expertNum": 3, "expandedXOut": room(8, x.shape[1], dtype=torch.int8),
            "expandedRowIdxOut": room(8, dtype=torch.int32),
            **more}


@pytest.mark.parametrize("smooth", [False, True])
def test_rows_become_int4_by_their_largest(npu, smooth):
    x, scale, factor = values(4, 16), room(8), values(1, 16).abs() + 0.5
    out = Int4(torch.zeros(8, 16))
    npu("aclnnMoeInitRoutingQuantV2", **routed(x, expandedXOut=out, quantMode=1, scaleOptional=factor if smooth else None, dynamicQuantScaleOutOptional=scale))
    rows = D(x)[ORDER // 2] * (D(factor) if smooth else 1)
    step = rows.abs().amax(-1) / 7
    near(scale, step)
    assert torch.equal(out.values().double(), torch.round(rows / step[:, None]))


def test_int4_of_a_given_scale_is_saturated(npu):
    x, out = values(4, 16), Int4(torch.zeros(8, 16))
    npu("aclnnMoeInitRoutingQuantV2", **routed(x, expandedXOut=out, scaleOptional=torch.tensor([6.0]), offsetOptional=torch.tensor([0.25])))
    assert torch.equal(out.values().double(), torch.round(D(x)[ORDER // 2] * 6 + 0.25).clamp(-8, 7))


@pytest.mark.parametrize("flat", [False, True])
def test_rows_take_their_scales_along(npu, flat):
    x, scale, out = values(4, 6), values(4), room(8, 6)
    came = room(8) if flat else room(8, 1)
    npu("aclnnMoeInitRoutingV3", x=x, expertIdx=EXPERTS, scaleOptional=scale, expertNum=3, quantMode=-1, expandedXOut=out,
        expandedRowIdxOut=room(8, dtype=torch.int32), expandedScaleOut=came)
    assert torch.equal(out, x[ORDER // 2])
    assert torch.equal(came.flatten(), scale[ORDER // 2])


@pytest.mark.parametrize("given, says", [
    ({"dropPadMode": 2}, "dropPadMode is 2"), ({"dropPadMode": 1, "expertCapacity": 5}, "expertCapacity is 5"), ({"dropPadMode": 1}, "expertCapacity is 0"),
    ({"quantMode": 2}, "quantMode is 2"), ({"quantMode": -1}, "quantMode is -1"), ({"scaleOptional": torch.ones(1)}, "a scale and an offset"),
    ({"expertTokensCountOrCumsumFlag": 1, "quantMode": 1}, "expertTokensCountOrCumsumOut is wanted"),
    ({"expertTokensCountOrCumsumFlag": 3}, "is 3; 0, 1 and 2")])
def test_routing_refuses(npu, given, says):
    npu.refuses("aclnnMoeInitRoutingQuantV2", says, **routed(values(4, 8), **given))


@pytest.mark.parametrize("given, says", [
    ({"activeExpertRangeOptional": [0, 4]}, "ends at 4"), ({"expertTokensNumFlag": True, "expertTokensNumType": 1}, "is wanted and NULL"),
    ({"dropPadMode": 1, "expertCapacity": 2, "activeExpertRangeOptional": [0, 2]}, "of all experts")])
def test_routing_v3_refuses(npu, given, says):
    npu.refuses("aclnnMoeInitRoutingV3", says, **routed(values(4, 8), quantMode=-1, **{"expandedXOut": room(8, 8), **given}))


@pytest.mark.parametrize("mode", [0, 2])
@pytest.mark.parametrize("with_bias", [False, True])
def test_zero_copy_and_constant_experts(npu, mode, with_bias):
    k, experts = 3, torch.tensor([[0, 2, 3], [4, 1, 5], [5, 6, 2]], dtype=torch.int32)  # 2 adds nothing, 3 and 4 copy, 5 and 6 are constant
    rows, x, x1, scales, bias = values(9, 4), values(3, 4), values(3, 4), values(3, k), values(7, 4)
    a1, a2, v, out = values(2, 4), values(2, 4), values(2, 4), room(3, 4)
    index = torch.randperm(9, generator=SEED).int()
    npu("aclnnMoeFinalizeRoutingV4", expandedX=rows, expandedRowIdx=index, x1Optional=x1, biasOptional=bias if with_bias else None, scalesOptional=scales,
        expertIdxOptional=experts, xOptional=x, a1Optional=a1, a2Optional=a2, vOptional=v, dropPadMode=mode, zeroExpertRange=[2, 3], copyExpertRange=[3, 5],
        constantExpertRange=[5, 7], k=k, out=out)
    want = D(x1)
    for i in range(3):
        for j in range(k):
            expert, place = int(experts[i, j]), int(index[i + j * 3 if mode == 0 else i * k + j])
            if expert == 2:
                continue
            part = D(x[i]) if expert in (3, 4) else D(a1[expert - 5]) * D(x[i]) + D(a2[expert - 5]) * D(v[expert - 5]) if expert > 4 else D(rows[place])
            want[i] += D(scales[i, j]) * (part + (D(bias[expert]) if with_bias else 0))
    near(out, want)


@pytest.mark.parametrize("given, says", [
    ({"k": 3}, "k is 3"), ({"x2Optional": values(3, 4)}, "x2 is given without x1"), ({"dropPadMode": 4}, "dropPadMode is 4"),
    ({"zeroExpertRange": [1, 3], "copyExpertRange": [2, 4]}, "overlap"), ({"copyExpertRange": [2, 4]}, "x is NULL")])
def test_the_way_back_refuses(npu, given, says):
    experts = torch.tensor([[0, 2], [2, 1], [3, 2]], dtype=torch.int32)
    npu.refuses("aclnnMoeFinalizeRoutingV4", says, **{"expandedX": values(6, 4), "expandedRowIdx": torch.arange(6).int(), "scalesOptional": values(3, 2),
                                                     "expertIdxOptional": experts, "k": 1, "out": room(3, 4), **given})


def test_tokens_of_more_dimensions_are_permuted(npu):
    tokens, out, place = values(4, 2, 3), room(8, 6), room(8, dtype=torch.int32)
    npu("aclnnMoeTokenPermute", tokens=tokens, indices=EXPERTS, numOutTokens=8, permuteTokensOut=out, sortedIndicesOut=place)
    assert torch.equal(out, tokens.flatten(1)[ORDER // 2])
    npu.refuses("aclnnMoeTokenPermute", "for 3 tokens", tokens=tokens[:3], indices=EXPERTS, permuteTokensOut=out, sortedIndicesOut=place)


def test_without_weights_the_permuted_tokens_may_be_null(npu):
    grad, place, out = values(4, 3), torch.tensor([2, 0, 3, 1], dtype=torch.int32), room(4, 3)
    npu("aclnnMoeTokenUnpermuteGrad", unpermutedTokensGrad=grad, sortedIndices=place, permutedTokensGradOut=out)
    assert torch.equal(out[place.long()], grad)


MAP = torch.tensor([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]], dtype=torch.bool)  # of two slots each some are free


def test_a_map_may_leave_slots_free(npu):
    """Free slots hold -1 and take no part in the way back, nor in the gradients."""
    tokens, probs, slots = values(4, 5), values(4, 3), 8
    out, weights, place = room(slots, 5), room(slots), room(slots, dtype=torch.int32)
    npu("aclnnMoeTokenPermuteWithRoutingMap", tokens=tokens, routingMap=MAP, probsOptional=probs, numOutTokens=slots, permuteTokensOut=out,
        permuteProbsOutOptional=weights, sortedIndicesOut=place)
    expert, token = MAP.t().nonzero(as_tuple=True)
    assert torch.equal(out[:5], tokens[token])
    assert torch.equal(weights[:5], probs[token, expert])
    assert torch.equal(place, torch.tensor([0, 4, 2, -1, 1, 3, -1, -1], dtype=torch.int32))

    rows, back, index, ids, used = values(slots, 5), room(4, 5), room(slots, dtype=torch.int32), room(slots, dtype=torch.int32), room(slots)
    npu("aclnnMoeTokenUnpermuteWithRoutingMap", permutedTokens=rows, sortedIndices=place, routingMapOptional=MAP, probsOptional=probs,
        restoreShapeOptional=[4, 5],
        unpermutedTokens=back, outIndex=index, permuteTokenId=ids, permuteProbs=used)
    weighted = D(rows[:5]) * D(probs[token, expert])[:, None]
    near(back, torch.zeros(4, 5).double().index_add_(0, token, weighted))

    grad, dtokens, dprobs = values(4, 5), room(slots, 5), room(4, 3)
    npu("aclnnMoeTokenUnpermuteWithRoutingMapGrad", unpermutedTokensGrad=grad, outIndex=index, permuteTokenId=ids, routingMapOptional=MAP,
        permutedTokensOptional=rows, probsOptional=probs, restoreShapeOptional=[4, 5], permutedTokensGradOut=dtokens, probsGradOutOptional=dprobs)
    near(dtokens[:5], D(grad)[token] * D(probs[token, expert])[:, None])
    assert (dtokens[5:] == 0).all()
    near(dprobs, torch.zeros(4, 3).double().index_put_((token, expert), (D(grad)[token] * D(rows[:5])).sum(-1)))

    drows, dweights, dx, dp = values(slots, 5), values(slots), room(4, 5), room(4, 3)
    npu("aclnnMoeTokenPermuteWithRoutingMapGrad", permutedTokenOutputGrad=drows, permutedProbsOutputGradOptional=dweights, sortedIndices=place,
        routingMapOptional=MAP, numExperts=3, tokensNum=4, tokensGradOut=dx, probsGradOutOptional=dp)
    near(dx, torch.zeros(4, 5).double().index_add_(0, token, D(drows[:5])))
    near(dp, torch.zeros(4, 3).double().index_put_((token, expert), D(dweights[:5])))


@pytest.mark.parametrize("slots, says", [(4, "more experts than"), (13, "numOutTokens is 13")])
def test_a_map_refuses(npu, slots, says):
    npu.refuses("aclnnMoeTokenPermuteWithRoutingMap", says, tokens=values(4, 5), routingMap=MAP, numOutTokens=slots, permuteTokensOut=room(slots, 5),
                sortedIndicesOut=room(slots, dtype=torch.int32))

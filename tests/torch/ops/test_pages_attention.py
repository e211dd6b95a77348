# SPDX-License-Identifier: Apache-2.0
"""Operators of attention, of mixtures of experts, of rotary embeddings and of grouped products against the formulas of their own pages, in float64, where the
page and what is at hand in PyTorch could differ: what optional tensors do, edges of the shapes, and values that a page rules out."""

import ctypes
import math

import aclnn_calls
import pytest
import torch
from aclnn_calls import I64, POINTER, room

SEED = torch.Generator().manual_seed(31)
INF = math.inf
INT8, INT4 = 2, 29


class Int4:
    """A tensor of the type INT4: two values to a byte, the first in the low half."""

    def __init__(self, values):
        self.shape = values.shape
        halves = values.reshape(-1, 2).to(torch.int32) & 15
        self.bytes = (halves[:, 0] | halves[:, 1] << 4).to(torch.uint8)

    def values(self):
        halves = torch.stack((self.bytes & 15, self.bytes >> 4), -1).to(torch.int8)
        return torch.where(halves > 7, halves - 16, halves).reshape(self.shape)


class Call(aclnn_calls.Call):
    def tensor(self, given, written):
        if not isinstance(given, Int4):
            return super().tensor(given, written)
        there = given.bytes.npu()
        self.keep.append(there)
        if written:
            self.moved.append((given.bytes, there))
        sizes, strides = list(given.shape), list(torch.empty(given.shape).stride())
        return self.library.create("aclCreateTensor", (I64 * len(sizes))(*sizes), ctypes.c_uint64(len(sizes)), INT4, (I64 * len(sizes))(*strides), I64(0), 2,
                                   (I64 * 1)(math.prod(sizes)), ctypes.c_uint64(1), POINTER(there.data_ptr()))


@pytest.fixture
def npu(aclnn, monkeypatch):
    """Calls an operator by the names of its arguments; those that are not named are NULL, 0 or false."""
    monkeypatch.setattr(aclnn_calls, "Call", Call)

    def words(name, given):
        left = dict(given)
        found = [left.pop(one.name, None if one.kind not in ("kInt", "kBool", "kDouble") else 0) for one in aclnn.rows[name].args]
        assert not left, f"{name} has no {list(left)}"
        return found

    class Npu:
        def __call__(self, name, **given):
            aclnn.run(name, *words(name, given))

        def refuses(self, name, says, **given):
            code, said = aclnn.status(name, words(name, given))
            assert code != 0, f"{name} was taken"
            assert says in said, said

    return Npu()

D = torch.Tensor.double


def values(*shape):
    return torch.randn(*shape, generator=SEED)


def whole(low, high, *shape):
    return torch.randint(low, high, shape, generator=SEED)


def near(got, want, least=1e-5):
    torch.testing.assert_close(got.double(), want.double(), rtol=least, atol=least)


def silu(x):
    return x * torch.sigmoid(x)


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


# Rotary embeddings and caches.

@pytest.mark.parametrize("given, says", [({"layout": 0}, "layout is 0"), ({"layout": 5}, "layout is 5"),
                                         ({"rotaryMode": "interleave-half"}, "interleave-half")])
def test_turning_in_place_refuses(npu, given, says):
    npu.refuses("aclnnApplyRotaryPosEmbV2", says,
                **{"queryRef": values(1, 2, 2, 4), "keyRef": values(1, 2, 1, 4), "cos": values(1, 2, 1, 4), "sin": values(1, 2, 1, 4),
                                                    "layout": 1, "rotaryMode": "half", **given})


def test_a_matrix_turns_and_the_mode_still_counts(npu):
    x, cos, sin, turn, out = values(2, 3, 2, 8), values(1, 3, 1, 8), values(1, 3, 1, 8), values(8, 8), room(2, 3, 2, 8)
    npu("aclnnRotaryPositionEmbeddingV2", x=x, cos=cos, sin=sin, mode=1, rotate=turn, out=out)
    near(out, D(x) * D(cos) + D(x) @ D(turn) * D(sin))
    npu.refuses("aclnnRotaryPositionEmbeddingV2", "mode is 4", x=x, cos=cos, sin=sin, mode=4, rotate=turn, out=out)


def angles(neox, mode, cut, shape):
    """Queries of two heads of 8, the first 6 elements turned by angles of three positions for each token."""
    positions, query, cache = whole(0, 10, 3, 4), values(4, 16), values(10, 6)
    return {"positions": positions, "queryIn": query, "keyIn": values(4, 8), "cosSinCache": cache, "mropeSection": cut, "headSize": 8, "isNeoxStyle": neox,
            "cacheMode": mode, "queryOut": room(4, 16), "keyOut": room(*shape)}


@pytest.mark.parametrize("neox", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_angles_of_three_positions(npu, neox, mode):
    given = angles(neox, mode, [1, 1, 1], (4, 8))
    npu("aclnnRopeWithSinCosCacheV2", **given)
    rows = D(given["cosSinCache"])[given["positions"]]  # [3, 4, 6]
    cos, sin = (torch.stack([half[axis, :, axis] for axis in range(3)], -1)[:, None] for half in rows.chunk(2, -1))  # either mode: element i of position i
    for name in ("query", "key"):
        x = D(given[name + "In"]).view(4, -1, 8)
        one, two = x[..., :6].chunk(2, -1) if neox else (x[..., :6:2], x[..., 1:6:2])
        turned = (one * cos - two * sin, two * cos + one * sin)
        want = torch.cat([torch.cat(turned, -1) if neox else torch.stack(turned, -1).flatten(-2), x[..., 6:]], -1)
        near(given[name + "Out"], want.reshape(4, -1))


@pytest.mark.parametrize("cut, mode, says", [([1, 1, 0], 0, "adds up to 2"), ([1, 1, 1], 2, "cacheMode is 2"), ([1, 2], 0, "3 rows for 2")])
def test_angles_refuse(npu, cut, mode, says):
    npu.refuses("aclnnRopeWithSinCosCacheV2", says, **angles(True, mode, cut, (4, 8)))


def latent(**more):
    return {"kv": values(1, 1, 2, 12).half(), "gamma": values(8).half(), "cos": values(1, 1, 2, 4).half(), "sin": values(1, 1, 2, 4).half(),
            "index": torch.tensor([5, -1]), "kCacheRef": torch.zeros(2, 4, 1, 4).half(), "ckvCacheRef": torch.zeros(2, 4, 1, 8).half(), "epsilon": 1e-2,
            "cacheModeOptional": "PA_BNSD", **more}


def test_a_latent_cache_is_quantised_with_scale_and_offset(npu):
    given = latent(kCacheRef=torch.full((2, 4, 1, 4), 9, dtype=torch.int8), kRopeScaleOptional=values(1, 4) * 50, kRopeOffsetOptional=values(1, 4),
                   ckvCacheRef=torch.full((2, 4, 1, 8), 9, dtype=torch.int8), cKvScaleOptional=values(8) * 200, isOutputKv=True,
                   kRopeOut=room(1, 1, 2, 4).half(),
                   cKvOut=room(1, 1, 2, 8).half())
    npu("aclnnKvRmsNormRopeCacheV2", **given)
    front, back = D(given["kv"])[..., :8], D(given["kv"])[..., 8:]
    normed = front / torch.sqrt((front * front).mean(-1, keepdim=True) + 1e-2) * D(given["gamma"])
    even, odd = back[..., ::2], back[..., 1::2]
    turned = torch.cat((even, odd), -1) * D(given["cos"]) + torch.cat((-odd, even), -1) * D(given["sin"])
    near(given["kRopeOut"], turned, 1e-3)
    near(given["cKvOut"], normed, 2e-3)
    for name, want in (("kCacheRef", turned * D(given["kRopeScaleOptional"]) + D(given["kRopeOffsetOptional"])),
                       ("ckvCacheRef", normed * D(given["cKvScaleOptional"]))):
        cache = given[name].view(8, -1).double()
        assert ((cache[5] - want[0, 0, 0].clamp(-128, 127)).abs() <= 0.51).all()
        assert (cache[torch.arange(8) != 5] == 9).all(), "a slot that is not named was written"


@pytest.mark.parametrize("given, says", [
    ({"kRopeOffsetOptional": torch.ones(4)}, "an offset and no scale"), ({"ckvCacheRef": torch.zeros(2, 4, 1, 8, dtype=torch.int8)}, "without its scale"),
    ({"isOutputKv": True}, "isOutputKv is true"), ({"cacheModeOptional": "PA_XY"}, "cacheMode is 'PA_XY'")])
def test_a_latent_cache_refuses(npu, given, says):
    npu.refuses("aclnnKvRmsNormRopeCacheV2", says, **latent(**given))


@pytest.mark.parametrize("offset", [0, 3, 4, 7])
def test_an_offset_into_a_paged_cache_skips_whole_blocks(npu, offset):
    cache, table = values(6, 4, 1, 2).half(), torch.tensor([[4, 1, 5], [2, 0, 3]], dtype=torch.int32)
    key, value = room(7, 1, 2, dtype=torch.float16), room(7, 1, 2, dtype=torch.float16)
    npu("aclnnGatherPaKvCache", keyCache=cache, valueCache=cache + 1, blockTables=table, seqLens=torch.tensor([0, 2, 7], dtype=torch.int32), keyRef=key,
        valueRef=value,
        seqOffsetOptional=torch.tensor([offset, offset], dtype=torch.int32), cacheMode="Norm", isSeqLensCumsum=True)
    skipped = offset // 4
    want = torch.cat([torch.cat([cache[block] for block in row[skipped:]])[:count] for row, count in zip(table.long(), (2, 5))])
    assert torch.equal(key, want)
    assert torch.equal(value, want + 1)


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


# Attention.

def attention(q, k, v, scale, hidden=None):
    scores = q @ k.transpose(-1, -2) * scale
    return (scores if hidden is None else scores.masked_fill(hidden, -INF)).softmax(-1) @ v


def packed_attention(**more):
    query, key, value = values(9, 2, 4), values(9, 1, 4), values(9, 1, 4)
    return {"query": query, "key": key, "value": value, "scaleValue": 0.5, "keepProb": 1.0, "preTokens": 2**31 - 1, "nextTokens": 2**31 - 1, "headNum": 2,
            "inputLayout": "TND",
            "softmaxMaxOut": room(9, 2, 8), "softmaxSumOut": room(9, 2, 8), "attentionOutOut": room(9, 2, 4), **more}


def test_sequences_at_the_end_may_take_no_part(npu):
    given = packed_attention(actualSeqQLenOptional=[2, 5, 0, 0], actualSeqKvLenOptional=[3, 7, 0, 0])
    npu("aclnnFlashAttentionVarLenScore", **given)
    q, k, v = (D(given[name]).transpose(0, 1) for name in ("query", "key", "value"))
    want = torch.cat([attention(q[:, a:b], k[:, c:d], v[:, c:d], 0.5) for a, b, c, d in ((0, 2, 0, 3), (2, 5, 3, 7))], 1)
    near(given["attentionOutOut"][:5], want.transpose(0, 1))
    assert (given["attentionOutOut"][5:] == 0).all()
    npu.refuses("aclnnFlashAttentionVarLenScore", "must be cumulative", **packed_attention(actualSeqQLenOptional=[2, 0, 5], actualSeqKvLenOptional=[2, 0, 5]))


def test_the_gradient_leaves_sequences_at_the_end_out(npu):
    ends, key_ends = [2, 5, 0], [3, 7, 0]
    given = packed_attention()
    for name in ("softmaxMaxOut", "softmaxSumOut", "attentionOutOut"):
        del given[name]
    key, dy, results = given.pop("key"), values(9, 2, 4), {"dqOut": room(9, 2, 4), "dkOut": room(9, 1, 4), "dvOut": room(9, 1, 4)}
    npu("aclnnFlashAttentionUnpaddingScoreGrad", keyIn=key, dy=dy, actualSeqQLenOptional=ends, actualSeqKvLenOptional=key_ends, **given, **results)
    leaves = [D(x).requires_grad_() for x in (given["query"], key, given["value"])]
    q, k, v = (x.transpose(0, 1) for x in leaves)
    out = torch.cat([attention(q[:, a:b], k[:, c:d], v[:, c:d], 0.5) for a, b, c, d in ((0, 2, 0, 3), (2, 5, 3, 7))], 1).transpose(0, 1)
    for got, want in zip(results.values(), torch.autograd.grad(out, leaves, D(dy)[:5])):
        near(got, want)


def test_a_prefix_is_needed_where_the_mode_says_so(npu):
    npu.refuses("aclnnFlashAttentionVarLenScore", "sparseMode 6 needs prefix",
                **packed_attention(actualSeqQLenOptional=[9], actualSeqKvLenOptional=[9], attenMaskOptional=torch.ones(2048, 2048, dtype=torch.bool).triu(1),
                                   sparseMode=6))


@pytest.mark.parametrize("backward", [False, True])
def test_a_pse_of_distances_is_known_by_its_last_rows(npu, backward):
    length, slopes = 1500, torch.tensor([0.02, 0.3])
    query, key, value, dy = (values(1, 2, length, 2) for _ in range(4))
    distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    last = (-slopes.view(1, 2, 1, 1) * distance)[:, :, -1024:].contiguous()
    behind = (length - torch.arange(length) - 1).div(1024, rounding_mode="floor") * 1024  # row i is row i + behind, from column behind on
    row, column = torch.arange(length) + behind - (length - 1024), (torch.arange(length) + behind[:, None]).clamp(max=length - 1)
    mask = torch.ones(length, length, dtype=torch.bool).triu(1)
    given = {"query": query, "value": value, "attenMaskOptional": mask, "scaleValue": 0.5, "keepProb": 1.0, "preTokens": 2**31 - 1, "nextTokens": 2**31 - 1,
             "headNum": 2,
             "inputLayout": "BNSD"}
    leaves = [D(x).requires_grad_() for x in (query, key, value, last)]
    pse = leaves[3][:, :, row].gather(3, column.expand(1, 2, -1, -1))
    visible = ~mask
    torch.testing.assert_close(pse[..., visible], (-D(slopes).view(1, 2, 1, 1) * distance)[..., visible], rtol=1e-6, atol=1e-6)  # as they were
    scores = (leaves[0] @ leaves[1].transpose(-1, -2) + pse) * 0.5
    want = scores.masked_fill(mask, -INF).softmax(-1) @ leaves[2]
    if not backward:
        out = room(1, 2, length, 2)
        npu("aclnnFlashAttentionScore", key=key, realShiftOptional=last, softmaxMaxOut=room(1, 2, length, 8),
            softmaxSumOut=room(1, 2, length, 8), attentionOutOut=out, **given)
        near(out, want.detach(), 1e-4)
        return
    results = {"dqOut": room(1, 2, length, 2), "dkOut": room(1, 2, length, 2), "dvOut": room(1, 2, length, 2),
               "dpseOut": room(1, 2, 1024, length)}
    npu("aclnnFlashAttentionScoreGrad", keyIn=key, dy=dy, pseShiftOptional=last, **given, **results)
    for got, gradient in zip(results.values(), torch.autograd.grad(want, leaves, D(dy))):
        near(got, gradient, 2e-4)


def test_a_compressed_pse_needs_its_mask(npu):
    query = values(1, 1, 1100, 2)
    npu.refuses("aclnnFlashAttentionScore", "it needs a causal mask", query=query, key=query, value=query, realShiftOptional=values(1, 1, 1024, 1100),
                scaleValue=0.5,
                keepProb=1.0, headNum=1, inputLayout="BNSD", softmaxMaxOut=room(1, 1, 1100, 8), softmaxSumOut=room(1, 1, 1100, 8),
                attentionOutOut=room(1, 1, 1100, 2))


def inference(queries, size=4, width=4, **more):
    q, k, v = values(2, 2, queries, size), values(2, 1, 6, size), values(2, 1, 6, width)
    return {"query": q.half(), "key": [k.half()], "value": [v.half()], "numHeads": 2, "numKeyValueHeads": 1, "scaleValue": 0.5, "preTokens": 2**31 - 1,
            "nextTokens": 2**31 - 1, "inputLayout": "BNSD", "attentionOut": room(2, 2, queries, width, dtype=torch.float16), **more}


@pytest.mark.parametrize("lengths", [[0, 1], [6, 5], [37, 37]])
def test_one_row_has_one_length(npu, lengths):
    """Where the query has one row, its lengths do not count, whatever they are."""
    given = inference(1, actualSeqLengthsOptional=lengths, actualSeqLengthsKvOptional=[4, 6])
    npu("aclnnFusedInferAttentionScoreV3", **given)
    for batch, length in enumerate((4, 6)):
        q, k, v = D(given["query"])[batch], D(given["key"][0])[batch, :, :length], D(given["value"][0])[batch, :, :length]
        near(given["attentionOut"][batch], attention(q, k, v, 0.5), 2e-3)


@pytest.mark.parametrize("padding, start", [(0, 2), (2, 0), (3, None)])
def test_keys_that_stand_at_the_end(npu, padding, start):
    """They end `padding` before the end; without room for them the result is 0."""
    given = inference(2, actualSeqLengthsKvOptional=[4, 4], kvPaddingSizeOptional=torch.tensor([padding]))
    npu("aclnnFusedInferAttentionScoreV3", **given)
    if start is None:
        assert (given["attentionOut"] == 0).all()
        return
    k, v = (D(given[name][0])[:, :, start:start + 4] for name in ("key", "value"))
    near(given["attentionOut"], attention(D(given["query"]), k, v, 0.5), 2e-3)


@pytest.mark.parametrize("rope", [False, True])
def test_a_band_counts_for_one_row_of_latent_attention_only(npu, rope):
    more = {"queryRopeOptional": values(2, 2, 1, 2).half(), "keyRopeOptional": values(2, 1, 6, 2).half()} if rope else {}
    given = inference(1, attenMaskOptional=torch.ones(2048, 2048, dtype=torch.bool).triu(1), sparseMode=4, preTokens=2, nextTokens=0, **more)
    npu("aclnnFusedInferAttentionScoreV3", **given)
    q, k, v = D(given["query"]), D(given["key"][0]), D(given["value"][0])
    if rope:
        q, k = torch.cat([q, D(more["queryRopeOptional"])], -1), torch.cat([k, D(more["keyRopeOptional"])], -1)
    hidden = torch.arange(6) < 3 if rope else None
    near(given["attentionOut"], attention(q, k, v, 0.5, hidden), 2e-3)


@pytest.mark.parametrize("given, says", [({"updateType": 2, "lseOut": room(6)}, "updateType is 2"), ({"updateType": 1}, "needs lseOut")])
def test_parts_of_attention_refuse(npu, given, says):
    npu.refuses("aclnnAttentionUpdate", says, lse=[values(6), values(6)], localOut=[values(6, 8), values(6, 8)], out=room(6, 8), **given)


def test_parts_of_attention_are_put_together(npu):
    lse, parts, out, joined = [values(6) for _ in range(3)], [values(6, 8) for _ in range(3)], room(6, 8), room(6)
    npu("aclnnAttentionUpdate", lse=lse, localOut=parts, updateType=1, out=out, lseOut=joined)
    total = torch.logsumexp(torch.stack([D(x) for x in lse]), 0)
    near(joined, total)
    near(out, sum(D(x) * torch.exp(D(one) - total)[:, None] for x, one in zip(parts, lse)))


@pytest.mark.parametrize("order, lengths, says", [("BNS", torch.tensor([0, 4]), "inputSoftmaxLayout is 'BNS'"), ("TND", None, "actualSeqQlen")])
def test_a_ring_of_attention_refuses(npu, order, lengths, says):
    statistics = {name + part: values(4, 2, 8).abs() + 1 for name in ("prevSoftmax", "curSoftmax") for part in ("Max", "Sum")}
    npu.refuses("aclnnRingAttentionUpdateV2", says, prevAttnOut=values(4, 2, 8), curAttnOut=values(4, 2, 8), actualSeqQlenOptional=lengths,
                inputLayoutOptional="TND",
                inputSoftmaxLayoutOptional=order, attnOutOut=room(4, 2, 8), softmaxMaxOut=room(4, 2, 8), softmaxSumOut=room(4, 2, 8), **statistics)


# Hyper-connections.

@pytest.mark.parametrize("norms, sums", [(True, False), (False, True), (True, True)])
def test_what_a_doubly_stochastic_matrix_keeps_is_asked_for_one_by_one(npu, norms, sums):
    x, out, kept, divisors = values(3, 4, 4), room(3, 4, 4), room(2 * 3 * 4 * 8 * 3), room(2 * 3 * 8 * 3)
    npu("aclnnMhcSinkhorn", x=x, eps=1e-3, numIters=3, output=out, normOut=kept if norms else None, sumOut=divisors if sums else None)
    steps, totals = [D(x).softmax(-1) + 1e-3], [torch.zeros(3, 4).double()]
    for step in range(1, 6):
        total = steps[-1].sum(-2 if step % 2 else -1, keepdim=True) + 1e-3
        steps.append(steps[-1] / total)
        totals.append(total.reshape(3, 4))
    near(out, steps[-1])
    if norms:
        near(kept.view(6, 3, 4, 8)[..., :4], torch.stack(steps))
    if sums:
        near(divisors.view(6, 3, 8)[..., :4], torch.stack(totals))


@pytest.mark.parametrize("count", [0, 101])
def test_a_doubly_stochastic_matrix_refuses(npu, count):
    npu.refuses("aclnnMhcSinkhorn", f"numIters is {count}", x=values(3, 4, 4), eps=1e-3, numIters=count, output=room(3, 4, 4))


def streams(alphas):
    more = 16 if alphas == 3 else 0
    return {"x": values(5, 4, 16).bfloat16(), "phi": values(8 + more, 64), "alpha": values(alphas), "bias": values(8 + more), "gammaOptional": values(4, 16),
            "normEps": 1e-3,
            "hcEps": 1e-2, "hIn": room(5, 16, dtype=torch.bfloat16), "hPost": room(5, 4)}


@pytest.mark.parametrize("alphas, given", [(2, False), (2, True), (3, True)])
def test_streams_before_a_layer(npu, alphas, given):
    call = streams(alphas)
    between = room(5, 4, 4) if given else None
    npu("aclnnMhcPre", hRes=between, **call)
    x = D(call["x"]).flatten(1)
    mix = x * D(call["gammaOptional"]).flatten() @ D(call["phi"]).t() / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-3)
    parts = [part * D(alpha) + bias for part, alpha, bias in zip(mix.split([4, 4, 16][:alphas], -1), call["alpha"], D(call["bias"]).split([4, 4, 16][:alphas]))]
    near(call["hIn"], ((parts[0].sigmoid() + 1e-2)[..., None] * D(call["x"])).sum(1), 2e-2)
    near(call["hPost"], 2 * parts[1].sigmoid(), 1e-4)
    if given:
        near(between, parts[2].reshape(5, 4, 4) if alphas == 3 else torch.zeros(5, 4, 4), 1e-4)


def test_three_alphas_have_a_place_for_what_goes_between_streams(npu):
    npu.refuses("aclnnMhcPre", "hRes, which is NULL", **streams(3))

# SPDX-License-Identifier: Apache-2.0
"""Attention, rotary embeddings, caches and hyper-connections against the formulas of their own pages, in float64: what optional tensors do, edges of the
shapes, and values that a page rules out."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import D, drawing
from page_npu import near

SEED, values, whole = drawing(31)
INF = math.inf

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

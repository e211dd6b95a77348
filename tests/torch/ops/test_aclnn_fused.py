# SPDX-License-Identifier: Apache-2.0
"""Fused functions and older versions, called as a C program calls them, against plain torch."""

import pytest
import torch
import torch.nn.functional as F
from aclnn_calls import room

SEED = torch.Generator().manual_seed(13)


def values(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=SEED).to(dtype)


def bytes_(*shape):
    return torch.randint(-128, 128, shape, generator=SEED).to(torch.int8)


def close(got, want, tolerance=1e-5):
    torch.testing.assert_close(got.float(), want.float(), rtol=tolerance, atol=tolerance)


def test_cross_entropy_over_two_parts_of_the_vocabulary(aclnn):
    x, w, target = values(10, 8), values(12, 8), torch.randint(0, 12, (10,), generator=SEED)
    wide, weight = x.double().requires_grad_(), w.double().requires_grad_()
    loss = F.cross_entropy(wide @ weight.t(), target, reduction="none")
    grad = values(10)
    want_x, want_w = torch.autograd.grad(loss, (wide, weight), grad.double())
    parts = []
    for first in (0, 6):
        part = [room(10), room(10), room(10), room(2, dtype=torch.uint8), room(10, dtype=torch.int64), room(10, 6)]
        aclnn.run("aclnnFusedLinearOnlineMaxSum", x, w[first:first + 6].contiguous(), target, first, first + 5, *part)
        close(part[5], x @ w[first:first + 6].t())
        inside = (target >= first) & (target < first + 6)
        assert part[4].equal(torch.where(inside, target - first, 0))
        bits = (part[3].int()[:, None] >> torch.arange(7, -1, -1)).bitwise_and(1).flatten().bool()
        assert bits[:10].equal(~inside) and bits[10:].all()
        parts.append(part)
    most = torch.maximum(parts[0][0], parts[1][0])
    total = sum(part[1] * (part[0] - most).exp() for part in parts)
    predicted = torch.zeros(10)
    for part, first in zip(parts, (0, 6)):
        inside = (target >= first) & (target < first + 6)
        predicted += torch.where(inside, part[2] + part[0] - most, torch.zeros(()))
    out, got_x = room(10), torch.zeros(10, 8)
    for part, first in zip(parts, (0, 6)):
        shares = room(10, 6)
        aclnn.run("aclnnFusedCrossEntropyLossWithMaxSum", most, total, predicted, 0.0, None, None, part[5], out, shares)
        close(out, loss)
        for given in ((most, total, None), (None, None, shares)):
            gx, gw = room(10, 8), room(6, 8)
            aclnn.run("aclnnFusedLinearCrossEntropyLossGrad", grad, x, w[first:first + 6].contiguous(), part[3], part[4], 0.0, *given, gx, gw)
            close(gw, want_w[first:first + 6])
        got_x += gx
    close(got_x, want_x)


def test_add_lora(aclnn):
    y, x, a, b = values(3, 20), values(3, 6), values(2, 2, 4, 6), values(2, 2, 5, 4)
    indices, out = torch.tensor([1, 0, 1], dtype=torch.int32), room(3, 20)
    aclnn.run("aclnnAddLora", y, x, b, indices, a, 1, 0.5, 10, 5, out)
    want = y.clone()
    for row, which in enumerate(indices.tolist()):
        want[row, 10:15] += 0.5 * b[which, 1] @ (a[which, 1] @ x[row])
    close(out, want)


def test_advance_step_with_guesses(aclnn):
    tokens, positions, lengths, slots = (torch.zeros(4, 2, dtype=torch.int64), torch.tensor([5, 6, 9, 10]), torch.zeros(4, dtype=torch.int64),
                                         torch.zeros(4, dtype=torch.int64))
    aclnn.run("aclnnAdvanceStepV2", tokens[:2], torch.tensor([[7, 8], [3, -1]]), positions, lengths, slots, torch.tensor([[4, 2, 0], [1, 3, 6]]),
              torch.tensor([[11], [12]]), torch.tensor([1, 0]), 2, 2, 4)
    assert tokens[:2].tolist() == [[8, 11], [3, 12]]
    assert positions.tolist() == [7, 8, 10, 11] and lengths.tolist() == [8, 9, 11, 12]
    assert slots.tolist() == [2 * 4 + 3, 0 * 4 + 0, 6 * 4 + 2, 6 * 4 + 3]


@pytest.mark.parametrize("dropped", [False, True])
def test_routing_gradients(aclnn, dropped):
    places = torch.tensor([3, 0, 5, 1, 2, 4])
    if dropped:
        places[2] = -1
    grad = values(2, 3, 4) if dropped else values(6, 4)
    rows = torch.cat([grad.reshape(-1, 4), torch.zeros(1, 4)])
    out = room(3, 4)
    aclnn.run("aclnnMoeInitRoutingV2Grad", grad, places.int(), 2, int(dropped), 0, out)
    close(out, rows[places].view(3, 2, 4).sum(1))
    gy, x, scales, experts, bias = values(3, 4), values(6, 4), values(3, 2), torch.randint(0, 5, (3, 2), generator=SEED), values(5, 4)
    gx, gs = room(6, 4), room(3, 2)
    aclnn.run("aclnnMoeFinalizeRoutingV2Grad", gy, places.int(), x, scales, experts.int(), bias, int(dropped), 0, 2, 3, gx, gs)
    want, each = torch.zeros(7, 4), gy.repeat_interleave(2, 0)
    want[places] = each * scales.view(-1, 1)
    close(gx, want[:6])
    seen = torch.cat([x, torch.zeros(1, 4)])[places] + bias[experts.view(-1)]
    close(gs, (seen * each).sum(-1).view(3, 2))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 8e-3)])
def test_adaptive_layer_norm(aclnn, dtype, tolerance):
    x, scale, shift, weight, bias = values(2, 3, 8, dtype=dtype), *(values(2, 8, dtype=dtype) for _ in range(2)), *(values(8, dtype=dtype) for _ in range(2))
    norm = F.layer_norm(x.float(), (8,), weight.float(), bias.float(), 1e-5)
    want = norm * (1 + scale.float()[:, None]) + shift.float()[:, None]
    out, mean, rstd = room(2, 3, 8, dtype=dtype), room(2, 3, 1, dtype=dtype), room(2, 3, 1, dtype=dtype)
    aclnn.run("aclnnAdaLayerNorm", x, scale, shift, weight, bias, 1e-5, out)
    close(out, want, tolerance)
    aclnn.run("aclnnAdaLayerNormV2", x, scale[:, None].contiguous(), shift[:, None].contiguous(), weight, bias, 1e-5, out, mean, rstd)
    close(out, want, tolerance)
    close(mean, x.float().mean(-1, keepdim=True), tolerance)
    close(rstd, (x.float().var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt(), tolerance)


def test_norms_that_end_in_int8(aclnn):
    x, gamma, beta = values(5, 8), values(1, 8), values(1, 8)
    out = room(5, 8, dtype=torch.int8)
    aclnn.run("aclnnLayerNormQuant", x, gamma, beta, torch.tensor([0.05]), torch.tensor([3], dtype=torch.int8), 0, 1e-5, out, None)
    want = F.layer_norm(x, (8,), gamma[0], beta[0]) / 0.05 + 3
    assert (out.float() - want.clamp(-128, 127)).abs().max() <= 0.501
    x, gamma, beta, scale = values(2, 4, 5).half(), values(4).half(), values(4).half(), torch.rand(4, generator=SEED) * 0.1 + 0.01
    out, mean, rstd = room(2, 4, 5, dtype=torch.int8), room(2, 2, dtype=torch.float16), room(2, 2, dtype=torch.float16)
    aclnn.run("aclnnGroupNormSiluQuant", x, gamma, beta, scale, 2, 1e-5, True, out, mean, rstd)
    want = F.silu(F.group_norm(x.float(), 2, gamma.float(), beta.float())) / scale[:, None]
    assert (out.float() - want.clamp(-128, 127)).abs().max() <= 0.51
    close(mean, x.float().view(2, 2, -1).mean(-1), 1e-3)


def mx_values(rows, columns):
    """8-bit floats with a power of two for each 32 rows, and what they mean."""
    x = values(rows, columns).to(torch.float8_e4m3fn)
    scale = torch.randint(120, 132, ((rows + 63) // 64, columns, 2), generator=SEED).to(torch.uint8)
    powers = (scale.float() - 127).exp2().transpose(1, 2).flatten(0, 1).repeat_interleave(32, 0)[:rows]
    return x, scale.view(torch.float8_e8m0fnu), x.float() * powers


def test_products_of_blocks_are_added(aclnn):
    (a, a_scale, wide_a), (b, b_scale, wide_b), y = mx_values(70, 5), mx_values(70, 6), values(5, 6)
    want = y + wide_a.t() @ wide_b
    aclnn.run("aclnnQuantBatchMatmulInplaceAdd", a, b, a_scale, b_scale, y, True, False, 32)
    close(y, want, 1e-4)
    groups = [mx_values(40, 5), mx_values(30, 5)], [mx_values(40, 6), mx_values(30, 6)]
    def joined(parts, which):
        return torch.cat([part[which].view(torch.uint8) for part in parts])
    y = values(2, 5, 6)
    want = y + torch.stack([one[2].t() @ two[2] for one, two in zip(*groups)])
    aclnn.run("aclnnQuantGroupedMatmulInplaceAdd", joined(groups[0], 0).view(torch.float8_e4m3fn), joined(groups[1], 0).view(torch.float8_e4m3fn),
              joined(groups[0], 1).view(torch.float8_e8m0fnu), joined(groups[1], 1).view(torch.float8_e8m0fnu), torch.tensor([40, 70]), y, 0, 32)
    close(y, want, 1e-4)


def test_products_of_bytes_are_summed(aclnn):
    a, b, sa, sb = bytes_(3, 4, 8), bytes_(3, 8, 5), torch.rand(3, 4, generator=SEED), values(5).bfloat16()
    out = room(4, 5, dtype=torch.bfloat16)
    aclnn.run("aclnnQuantMatmulReduceSumWeightNz", a, b, sa, sb, None, None, None, None, None, False, False, 0, [0], False, out)
    want = ((a.double() @ b.double()) * sa.double()[..., None]).sum(0) * sb.double()
    close(out, want.bfloat16(), 8e-3)


@pytest.mark.parametrize("name", ["aclnnTransposeQuantBatchMatMul", "aclnnTransposeQuantBatchMatMulWeightNz"])
def test_transposed_products_of_8_bit_floats(aclnn, name):
    a, b = values(4, 3, 8).to(torch.float8_e4m3fn), values(3, 8, 5).to(torch.float8_e4m3fn)
    sa, sb, out = torch.rand(4, generator=SEED), torch.rand(5, generator=SEED), room(4, 3, 5, dtype=torch.bfloat16)
    aclnn.run(name, a, b, None, sa, sb, 27, 0, [1, 0, 2], [0, 1, 2], [1, 0, 2], 1, out)
    want = torch.einsum("mbk,bkn->mbn", a.float(), b.float()) * sa[:, None, None] * sb
    close(out, want, 8e-3)


@pytest.mark.parametrize("name", ["aclnnTransposeQuantBatchMatMul", "aclnnTransposeQuantBatchMatMulWeightNz"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("told", [0, 32 | 1 << 16 | 1 << 32])
def test_transposed_products_with_a_scale_for_each_block(aclnn, name, turned, told):
    """Powers of two for 32 values along the inner dimension, in pairs: (M, B, K / 64, 2), and x2's beside its own inner dimension."""
    m, b, k, n = 4, 3, 128, 5
    x1, x2 = values(m, b, k).to(torch.float8_e4m3fn), values(b, *((n, k) if turned else (k, n))).to(torch.float8_e4m3fn)
    s1 = torch.randint(120, 132, (m, b, k // 64, 2), generator=SEED).to(torch.uint8)
    s2 = torch.randint(120, 132, (b, *((n, k // 64) if turned else (k // 64, n)), 2), generator=SEED).to(torch.uint8)
    def steps(scale):
        return (scale.double() - 127).exp2().flatten(-2).repeat_interleave(32, -1)
    left = x1.double() * steps(s1)
    right = (x2.double() if turned else x2.double().transpose(1, 2)) * steps(s2 if turned else s2.transpose(1, 2))
    out = room(m, b, n, dtype=torch.bfloat16)
    order = [0, 2, 1] if turned else [0, 1, 2]
    aclnn.run(name, x1, x2, None, s1.view(torch.float8_e8m0fnu), s2.view(torch.float8_e8m0fnu), 27, told, [1, 0, 2], order, [1, 0, 2], 1, out)
    close(out, torch.einsum("mbk,bnk->mbn", left, right), 8e-3)
    code, said = aclnn.status(name, [x1, x2, None, s1.view(torch.float8_e8m0fnu), s2.view(torch.float8_e8m0fnu), 27, 64, [1, 0, 2], order, [1, 0, 2], 1, out])
    assert code != 0 and "groups of 64 along K" in said


def test_ring_attention_update(aclnn):
    """Two halves of the keys give what all of them give."""
    q, k, v = values(1, 2, 5, 8), values(1, 2, 6, 8), values(1, 2, 6, 8)
    parts = []
    for cut in (slice(0, 4), slice(4, 6)):
        scores = q @ k[:, :, cut].transpose(-1, -2)
        parts += [(scores.softmax(-1) @ v[:, :, cut]).permute(2, 0, 1, 3).reshape(5, 1, 16).contiguous(), scores.amax(-1, True).expand(1, 2, 5, 8).contiguous(),
                  (scores - scores.amax(-1, True)).exp().sum(-1, True).expand(1, 2, 5, 8).contiguous()]
    out = [room(5, 1, 16), room(1, 2, 5, 8), room(1, 2, 5, 8)]
    aclnn.run("aclnnRingAttentionUpdate", *parts, None, "SBH", *out)
    close(out[0], ((q @ k.transpose(-1, -2)).softmax(-1) @ v).permute(2, 0, 1, 3).reshape(5, 1, 16))


# --- versions of what torch_npu reaches by a newer one

def test_older_quantised_products(aclnn):
    a, b, scale, token, bias = bytes_(4, 16), bytes_(16, 8), torch.rand(8, generator=SEED) * 0.01, torch.rand(4, generator=SEED), bytes_(8).int()
    plain = (a.double() @ b.double() + bias.double()) * scale.double()
    word = scale.view(torch.int32).bitwise_and(-8192)
    trimmed = (a.double() @ b.double() + bias.double()) * word.view(torch.float32).double()
    out = room(4, 8, dtype=torch.float16)
    aclnn.run("aclnnQuantMatmulV2", a, b, bias, word.long(), False, False, out)
    close(out, trimmed, 1e-3)
    aclnn.run("aclnnQuantMatmulV3", a, b.t().contiguous(), word.long(), None, bias, False, True, out)
    close(out, trimmed, 1e-3)
    aclnn.run("aclnnQuantMatmulV4", a, b, scale, None, token, bias, False, False, out)
    close(out, plain * token.double()[:, None], 1e-3)


def test_quantised_products_by_their_other_names(aclnn):
    """Tensors here are not in the private layout, whatever the name says."""
    a, b, scale, token = bytes_(4, 16), bytes_(16, 8), torch.rand(8, generator=SEED) * 0.01, torch.rand(4, generator=SEED)
    out = room(4, 8, dtype=torch.bfloat16)
    aclnn.run("aclnnFusedQuantMatmulWeightNz", a, b, token, scale, None, None, None, None, None, None, "relu", 0, out)
    close(out, ((a.double() @ b.double()) * scale.double() * token.double()[:, None]).relu(), 8e-3)
    x, w, ends = values(6, 16).half(), bytes_(2, 16, 8), torch.tensor([2, 6])
    scales, result = torch.rand(2, 8, generator=SEED) * 0.01, room(6, 8, dtype=torch.float16)
    step = x.float().abs().amax(-1, keepdim=True) / 127
    steps = (x.float() / step).round().clamp(-128, 127)
    want = torch.cat([steps[:2] @ w[0].float() * scales[0], steps[2:] @ w[1].float() * scales[1]]) * step
    aclnn.run("aclnnQuantGroupedMatmulDequantWeightNZ", x, w.transpose(1, 2).contiguous(), scales, ends, None, None, None, None, "pertoken", True, result)
    close(result, want, 1e-2)
    grouped, weight_scale = bytes_(6, 16), torch.rand(2, 8, generator=SEED) * 0.01
    row_scale, y, y_scale = torch.rand(6, generator=SEED), room(6, 4, dtype=torch.int8), room(6)
    aclnn.run("aclnnGroupedMatmulSwigluQuant", grouped, w, None, None, weight_scale, row_scale, ends, y, y_scale, None)
    product = torch.cat([grouped[:2].double() @ w[0].double() * weight_scale[0].double(), grouped[2:].double() @ w[1].double() * weight_scale[1].double()])
    left, right = (product * row_scale.double()[:, None]).chunk(2, -1)
    value = F.silu(left) * right
    close(y_scale, value.abs().amax(-1) / 127, 1e-4)
    assert (y.double() - value / (value.abs().amax(-1, keepdim=True) / 127)).abs().max() <= 0.51


def attention(q, k, v, scale):
    return ((q.float() @ k.float().transpose(-1, -2)) * scale).softmax(-1) @ v.float()


def test_older_attention(aclnn):
    q, k, v = (values(2, 4, n, 16).half() for n in (5, 7, 7))
    want, out = attention(q, k, v, 0.25), room(2, 4, 5, 16, dtype=torch.float16)
    far = 2147483647
    aclnn.run("aclnnPromptFlashAttention", q, k, v, None, None, None, 4, 0.25, far, far, "BNSD", 4, out)
    close(out, want, 2e-3)
    aclnn.run("aclnnPromptFlashAttentionV2", q, k, v, None, None, None, None, None, None, None, None, None, 4, 0.25, far, far, "BNSD", 4, 0, out)
    close(out, want, 2e-3)
    lse = room(2, 4, 5, 1)
    aclnn.run("aclnnFusedInferAttentionScore", q, [k], [v], *[None] * 14, 4, 0.25, far, far, "BNSD", 4, 0, 0, 0, 0, True, out, lse)
    close(out, want, 2e-3)
    close(lse[..., 0], ((q.float() @ k.float().transpose(-1, -2)) * 0.25).logsumexp(-1), 2e-3)
    one, result = q[:, :, :1].contiguous(), room(2, 4, 1, 16, dtype=torch.float16)
    for name, none, more in (("aclnnIncreFlashAttention", 0, []), ("aclnnIncreFlashAttentionV2", 5, []), ("aclnnIncreFlashAttentionV3", 8, [0, 1])):
        result.fill_(77)
        aclnn.run(name, one, [k], [v], None, None, [7, 3], *[None] * none, 4, 0.25, "BNSD", 4, *more, result)
        close(result[0], attention(one[0], k[0], v[0], 0.25), 2e-3)
        close(result[1], attention(one[1], k[1, :, :3], v[1, :, :3], 0.25), 2e-3)


def test_older_grouped_products(aclnn):
    x, w = values(6, 8).half(), [values(8, 5).half() for _ in range(2)]
    want = torch.cat([x[:2].float() @ w[0].float(), x[2:].float() @ w[1].float()])
    for name, ends in (("aclnnGroupedMatmulV2", [2, 6]), ("aclnnGroupedMatmulV3", torch.tensor([2, 6]))):
        out = room(6, 5, dtype=torch.float16)
        aclnn.run(name, [x], w, None, None, None, None, None, ends, 3, 0, [out])
        close(out, want, 2e-3)


def test_feed_forward_network(aclnn):
    x, w1, w2 = values(4, 8).half(), values(8, 16).half(), values(16, 8).half()
    out = room(4, 8, dtype=torch.float16)
    aclnn.run("aclnnFFN", x, w1, w2, *[None] * 11, "relu", 1, out)
    close(out, (x.float() @ w1.float()).relu().half().float() @ w2.float(), 2e-2)


def test_products_that_end_in_routing(aclnn):
    x, w, scale, token = bytes_(4, 16), bytes_(2, 16, 8), torch.rand(2, 8, generator=SEED) * 0.01, torch.rand(4, generator=SEED)
    logit, rows = torch.rand(4, generator=SEED), torch.tensor([1, 0, 1, 2])
    groups = torch.tensor([1, 4])
    each = torch.cat([x[:1].double() @ w[0].double() * scale[0].double(), x[1:].double() @ w[1].double() * scale[1].double()])
    want = torch.zeros(3, 8, dtype=torch.float64).index_add_(0, rows, each * (token * logit).double()[:, None])
    for name in ("aclnnGroupedMatmulFinalizeRouting", "aclnnGroupedMatmulFinalizeRoutingWeightNz", "aclnnGroupedMatmulFinalizeRoutingWeightNzV2"):
        out, late = room(3, 8), name.endswith("V2")
        aclnn.run(name, x, w, scale, None, *([None] * 3 if late else []), token, groups, None, logit, rows, 0, 1.0, 0, False, False, 0, *([None] if late else []), out)
        close(out, want, 1e-4)


def test_swiglu_quant(aclnn):
    x, smooth, ends = values(6, 16).half(), torch.rand(2, 8, generator=SEED), torch.tensor([2, 6], dtype=torch.int32)
    a, b = x.float().chunk(2, -1)
    value = F.silu(a) * b * torch.cat([smooth[:1].expand(2, 8), smooth[1:].expand(4, 8)])
    y, scale = room(6, 8, dtype=torch.int8), room(6)
    aclnn.run("aclnnSwiGluQuant", x, smooth, None, ends, True, "dynamic", y, scale)
    close(scale, 127 / value.abs().amax(-1), 1e-4)
    assert (y.float() - value * scale[:, None]).abs().max() <= 0.51


def test_add_rms_norm_dynamic_quant(aclnn):
    x1, x2, gamma, smooth = values(5, 16).half(), values(5, 16).half(), values(16).half(), values(16).half()
    total = (x1.float() + x2.float())
    norm = total * (total.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * gamma.float() * smooth.float()
    y, added, scale = room(5, 16, dtype=torch.int8), room(5, 16, dtype=torch.float16), room(5)
    aclnn.run("aclnnAddRmsNormDynamicQuant", x1, x2, gamma, smooth, None, 1e-6, y, None, added, scale, None)
    close(added, total, 1e-3)
    close(scale, norm.abs().amax(-1) / 127, 2e-3)
    assert (y.float() - norm / scale[:, None]).abs().max() <= 0.6


def test_fast_batch_norm_gradient(aclnn):
    x, weight, grad = values(4, 3, 5), values(3), values(4, 3, 5)
    wide, factor = x.double().requires_grad_(), weight.double().requires_grad_()
    bias = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    want = torch.autograd.grad(F.batch_norm(wide, None, None, factor, bias, True), (wide, factor, bias), grad.double())
    mean, spread = x.mean((0, 2)), (x.var((0, 2), unbiased=False) + 1e-5).rsqrt()
    got = [room(4, 3, 5), room(3), room(3)]
    aclnn.run("aclnnFastBatchNormBackward", grad, x, weight, None, None, mean, spread, True, 1e-5, [True, True, True], 0, *got)
    for have, expected in zip(got, want):
        close(have, expected, 1e-4)

# SPDX-License-Identifier: Apache-2.0
"""Mixture-of-experts routing on one rank, against the same steps written in plain torch."""

import pytest
import torch
import torch_npu

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
TOKENS, EXPERTS, WIDTH, TOP_K = 12, 8, 16, 3


def values(dtype, *shape, seed=5):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def choices(seed=7, experts=EXPERTS):
    """Each token's experts, all different."""
    scores = torch.rand(TOKENS, experts, generator=torch.Generator().manual_seed(seed))
    return scores.topk(TOP_K).indices.int()


def npu(tensor):
    return None if tensor is None else tensor.npu()


def close(got, want, **tolerance):
    torch.testing.assert_close(got.cpu(), want, **tolerance)


def places(order):
    """The inverse of a permutation."""
    return torch.argsort(order, stable=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gating_top_k_softmax(dtype):
    x = values(dtype, TOKENS, EXPERTS)
    finished = torch.arange(TOKENS) % 4 == 0
    y, expert, row = torch_npu.npu_moe_gating_top_k_softmax(x.npu(), finished.npu(), k=TOP_K)
    weights, chosen = x.float().softmax(-1).sort(dim=-1, descending=True, stable=True)
    close(y, weights[:, :TOP_K].to(dtype))
    close(expert, chosen[:, :TOP_K].masked_fill(finished[:, None], EXPERTS).int())
    close(row, torch.arange(TOKENS * TOP_K).view(TOP_K, TOKENS).t().int())


@pytest.mark.parametrize("renorm", [0, 1])
def test_gating_top_k_softmax_v2(renorm):
    x = values(torch.float32, TOKENS, EXPERTS)
    y, expert, softmax = torch_npu.npu_moe_gating_top_k_softmax_v2(x.npu(), k=TOP_K, renorm=renorm, output_softmax=True)
    scores = x if renorm else x.softmax(-1)
    weights, chosen = scores.topk(TOP_K)
    close(y, weights.softmax(-1) if renorm else weights)
    close(expert, chosen.int())
    if not renorm:
        close(softmax, scores)


@pytest.mark.parametrize("groups, kept, select", [(1, 1, 0), (4, 2, 0), (4, 2, 1)])
@pytest.mark.parametrize("norm, renorm", [(0, 0), (0, 1), (1, 0)])
def test_gating_top_k(groups, kept, select, norm, renorm):
    experts = 16
    x, bias = values(torch.float32, TOKENS, experts), values(torch.float32, experts, seed=6) * 0.1
    y, expert, out = torch_npu.npu_moe_gating_top_k(
        x.npu(), TOP_K, bias=bias.npu(), k_group=kept, group_count=groups, group_select_mode=select, renorm=renorm,
        norm_type=norm, out_flag=True, routed_scaling_factor=2.5, eps=1e-20)
    scores = x.sigmoid() if norm else x.softmax(-1)
    grouped = (scores + bias).view(TOKENS, groups, -1)
    best = grouped.topk(2).values.sum(-1) if select else grouped.amax(-1)
    allowed = torch.zeros(TOKENS, groups, dtype=torch.bool).scatter_(1, best.topk(kept).indices, True)
    chosen = grouped.masked_fill(~allowed[..., None], -torch.inf).view(TOKENS, experts).topk(TOP_K).indices
    weights = scores.gather(1, chosen)
    if norm or renorm:
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
    close(y, weights * 2.5)
    close(expert, chosen.int())
    close(out, scores)


def test_compute_expert_tokens():
    sorted_experts = choices().flatten().sort().values
    got = torch_npu.npu_moe_compute_expert_tokens(sorted_experts.npu(), EXPERTS)
    close(got, torch.bincount(sorted_experts, minlength=EXPERTS).cumsum(0).int())


def test_compute_expert_tokens_leaves_rows_of_no_expert_out():
    sorted_experts = torch.tensor([0, 0, 1, 3, 3, EXPERTS, EXPERTS], dtype=torch.int32)
    close(torch_npu.npu_moe_compute_expert_tokens(sorted_experts.npu(), EXPERTS), torch.tensor([2, 3, 3, 5, 5, 5, 5, 5], dtype=torch.int32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_init_and_finalize_routing(dtype):
    x, expert = values(dtype, TOKENS, WIDTH), choices()
    row = torch.arange(TOKENS * TOP_K).view(TOP_K, TOKENS).t().int().contiguous()
    expanded, place, sorted_experts = torch_npu.npu_moe_init_routing(x.npu(), row.npu(), expert.npu(), TOKENS)
    want_experts, order = expert.flatten().sort(stable=True)
    rows = row.flatten()[order].long()
    close(sorted_experts, want_experts)
    close(expanded, x[rows % TOKENS])
    close(place, places(rows).int())
    scales, bias = values(dtype, TOKENS, TOP_K, seed=8), values(dtype, EXPERTS, WIDTH, seed=9)
    skip1, skip2 = values(dtype, TOKENS, WIDTH, seed=10), values(dtype, TOKENS, WIDTH, seed=11)
    out = torch_npu.npu_moe_finalize_routing(expanded, skip1.npu(), skip2.npu(), bias.npu(), scales.npu(), place, expert.npu())
    want = skip1.float() + skip2.float()
    for k in range(TOP_K):
        want += scales[:, k, None].float() * (x.float() + bias.float()[expert[:, k].long()])
    close(out, want.to(dtype), rtol=2e-2 if dtype == torch.bfloat16 else 2e-3, atol=2e-2 if dtype == torch.bfloat16 else 2e-3)


def test_finalize_routing_drops():
    """Place -1: the token's row counts as zero."""
    rows, scales = values(torch.float32, 4, WIDTH), values(torch.float32, 3, 2)
    place = torch.tensor([0, -1, 1, 3, -1, 2], dtype=torch.int32)
    out = torch_npu.npu_moe_finalize_routing(rows.npu(), None, None, None, scales.npu(), place.npu(), None, drop_pad_mode=3)
    padded = torch.cat([rows, torch.zeros(1, WIDTH)])
    close(out, (padded[place.long()].view(3, 2, WIDTH) * scales[..., None]).sum(1))


@pytest.mark.parametrize("begin, end", [(0, EXPERTS), (2, 6)])
@pytest.mark.parametrize("row_type", [0, 1])
@pytest.mark.parametrize("count_type", [0, 1, 2])
def test_init_routing_v2(begin, end, row_type, count_type):
    x, expert = values(torch.float16, TOKENS, WIDTH), choices()
    scale = values(torch.float32, TOKENS, seed=3)
    expanded, place, counts, scale_out = torch_npu.npu_moe_init_routing_v2(
        x.npu(), expert.npu(), scale=scale.npu(), active_num=TOKENS * TOP_K, expert_num=EXPERTS, drop_pad_mode=0,
        expert_tokens_num_type=count_type, expert_tokens_num_flag=True, quant_mode=-1, active_expert_range=[begin, end],
        row_idx_type=row_type)
    flat = expert.flatten().long()
    # Behind the active experts come those above by their numbers, then those below.
    order = torch.where(flat < begin, EXPERTS, flat).argsort(stable=True)
    active = int(((flat >= begin) & (flat < end)).sum())
    close(expanded[:active], x[order[:active] // TOP_K])
    close(scale_out[:active], scale[order[:active] // TOP_K])
    if row_type:
        close(place, order.int())
    else:
        want = torch.full_like(order, -1)
        want[order[:active]] = torch.arange(active)
        close(place, want.int())
    want = torch.bincount(flat, minlength=EXPERTS)[begin:end]
    if count_type == 2:
        used = want.nonzero().flatten()
        close(counts[: len(used)], torch.stack([used + begin, want[used]], 1))
    else:
        close(counts, want if count_type else want.cumsum(0))


@pytest.mark.parametrize("quant_mode", [-1, 1])
def test_init_routing_v2_drops_and_pads(quant_mode):
    capacity = 2
    x, expert = values(torch.float32, TOKENS, WIDTH), choices()
    expanded, place, counts, scale_out = torch_npu.npu_moe_init_routing_v2(
        x.npu(), expert.npu(), expert_capacity=capacity, expert_num=EXPERTS, drop_pad_mode=1, expert_tokens_num_type=1,
        expert_tokens_num_flag=True, quant_mode=quant_mode, active_expert_range=[0, EXPERTS], row_idx_type=0, active_num=0)
    want_x = torch.zeros(EXPERTS, capacity, WIDTH)
    want_place = torch.full((TOKENS * TOP_K,), -1, dtype=torch.int32)
    used = [0] * EXPERTS
    for pair, e in enumerate(expert.flatten().tolist()):
        if used[e] < capacity:
            want_x[e, used[e]] = x[pair // TOP_K]
            want_place[pair] = e * capacity + used[e]
        used[e] += 1
    close(place, want_place)
    close(counts, torch.tensor(used))
    if quant_mode == -1:
        close(expanded, want_x)
    else:
        scale = want_x.abs().amax(-1) / 127
        close(scale_out, scale.flatten())
        close(expanded, (want_x / scale.masked_fill(scale == 0, 1)[..., None]).round().to(torch.int8), rtol=0, atol=1)


@pytest.mark.parametrize("quant_mode", [0, 1])
def test_init_routing_v2_quantises(quant_mode):
    x, expert = values(torch.float32, TOKENS, WIDTH), choices()
    scale = torch.tensor([20.0]) if quant_mode == 0 else values(torch.float32, EXPERTS, WIDTH, seed=4).abs() + 0.5
    offset = torch.tensor([3.0]) if quant_mode == 0 else None
    expanded, _, _, scale_out = torch_npu.npu_moe_init_routing_v2(
        x.npu(), expert.npu(), scale=scale.npu(), offset=npu(offset), active_num=TOKENS * TOP_K, expert_num=EXPERTS,
        drop_pad_mode=0, expert_tokens_num_type=1, expert_tokens_num_flag=True, quant_mode=quant_mode,
        active_expert_range=[0, EXPERTS], row_idx_type=0)
    experts, order = expert.flatten().long().sort(stable=True)
    rows = x[order // TOP_K]
    if quant_mode == 0:
        want = rows * scale + offset
    else:
        rows = rows * scale[experts]
        want_scale = rows.abs().amax(-1) / 127
        close(scale_out, want_scale)
        want = rows / want_scale[:, None]
    close(expanded, want.round().clamp(-128, 127).to(torch.int8), rtol=0, atol=1)


@pytest.mark.parametrize("idx_type", [0, 1])
def test_re_routing(idx_type):
    per_rank = torch.tensor([[1, 3, 0], [2, 0, 4]], dtype=torch.int32)
    tokens, scales = values(torch.float16, 10, WIDTH), values(torch.float32, 10, seed=2)
    out, scale_out, index, counts = torch_npu.npu_moe_re_routing(tokens.npu(), per_rank.npu(), per_token_scales=scales.npu(), idx_type=idx_type)
    order = torch.tensor([0, 4, 5, 1, 2, 3, 6, 7, 8, 9])
    close(out, tokens[order])
    close(scale_out, scales[order])
    close(index, (places(order) if idx_type else order).int())
    close(counts, per_rank.sum(0).int())


@pytest.mark.parametrize("dtype", DTYPES)
def test_token_permute_and_unpermute(dtype):
    x, expert = values(dtype, TOKENS, WIDTH), choices()
    probs = values(dtype, TOKENS, TOP_K, seed=2)
    leaf, weights = x.npu().requires_grad_(), probs.npu().requires_grad_()
    permuted, place = torch_npu.npu_moe_token_permute(leaf, expert.npu())
    order = expert.flatten().argsort(stable=True)
    close(permuted.detach(), x[order // TOP_K])
    close(place, places(order).int())
    out = torch_npu.npu_moe_token_unpermute(permuted, place, weights)
    loose = {"rtol": 2e-2, "atol": 2e-2} if dtype != torch.float32 else {"rtol": 1e-5, "atol": 1e-5}
    close(out.detach(), (x.float() * probs.float().sum(1, keepdim=True)).to(dtype), **loose)
    grad = values(dtype, TOKENS, WIDTH, seed=3)
    out.backward(grad.npu())
    close(weights.grad, (grad.float() * x.float()).sum(-1, keepdim=True).expand(-1, TOP_K).to(dtype), **loose)
    close(leaf.grad, (grad.float() * probs.float().sum(1, keepdim=True)).to(dtype), **loose)


def test_token_permute_keeps_only_some():
    x, expert, kept = values(torch.float32, TOKENS, WIDTH), choices(), 20
    permuted, place = torch_npu.npu_moe_token_permute(x.npu(), expert.npu(), num_out_tokens=kept)
    order = expert.flatten().argsort(stable=True)
    close(permuted, x[order[:kept] // TOP_K])
    probs = torch.ones(TOKENS, TOP_K)
    want = torch.zeros_like(x).index_add_(0, order[:kept] // TOP_K, x[order[:kept] // TOP_K])
    close(torch_npu.npu_moe_token_unpermute(permuted, place, probs.npu()), want)


@pytest.mark.parametrize("pad", [False, True])
def test_routing_map_round_trip(pad):
    expert = choices().long()
    routing = torch.zeros(TOKENS, EXPERTS, dtype=torch.bool).scatter_(1, expert, True)
    x, probs = values(torch.float32, TOKENS, WIDTH), values(torch.float32, TOKENS, EXPERTS, seed=2)
    capacity = 3
    count = EXPERTS * capacity if pad else TOKENS * TOP_K
    leaf, weights = x.npu().requires_grad_(), probs.npu().requires_grad_()
    permuted, permuted_probs, place = torch_npu.npu_moe_token_permute_with_routing_map(
        leaf, routing.npu(), probs=weights, num_out_tokens=count, drop_and_pad=pad)
    if pad:
        token = routing.t().byte().argsort(descending=True, stable=True)[:, :capacity].flatten()
        owner = torch.arange(EXPERTS).repeat_interleave(capacity)
        close(place, token.int())
    else:
        owner, token = routing.t().nonzero().unbind(1)
        close(place, places(token).int())
    close(permuted.detach(), x[token])
    close(permuted_probs.detach(), probs[token, owner])
    grad, probs_grad = values(torch.float32, count, WIDTH, seed=3), values(torch.float32, count, seed=4)
    torch.autograd.backward([permuted, permuted_probs], [grad.npu(), probs_grad.npu()])
    close(leaf.grad, torch.zeros_like(x).index_add_(0, token, grad))
    close(weights.grad, torch.zeros_like(probs).index_put_((token, owner), probs_grad))

    rows = values(torch.float32, count, WIDTH, seed=5)
    leaf, weights = rows.npu().requires_grad_(), probs.npu().requires_grad_()
    out = torch_npu.npu_moe_token_unpermute_with_routing_map(
        leaf, place, [TOKENS, WIDTH], probs=weights, routing_map=routing.npu(), drop_and_pad=pad)
    close(out.detach(), torch.zeros_like(x).index_add_(0, token, rows * probs[token, owner][:, None]))
    grad = values(torch.float32, TOKENS, WIDTH, seed=6)
    out.backward(grad.npu())
    close(leaf.grad, grad[token] * probs[token, owner][:, None])
    close(weights.grad, torch.zeros_like(probs).index_put_((token, owner), (grad[token] * rows).sum(-1)))


def test_gating_top_k_backward():
    x = values(torch.float32, TOKENS, EXPERTS).requires_grad_()
    norm, chosen, grad = x.sigmoid(), choices(), values(torch.float32, TOKENS, TOP_K, seed=3)
    weights = norm.gather(1, chosen.long())
    (want,) = torch.autograd.grad(weights / (weights.sum(-1, keepdim=True) + 1e-6) * 2.5, x, grad)
    got = torch_npu.npu_moe_gating_top_k_backward(
        norm.detach().npu(), grad.npu(), chosen.npu(), renorm=1, norm_type=1, routed_scaling_factor=2.5, eps=1e-6)
    close(got, want)


def test_init_routing_quant():
    x, expert = values(torch.float32, TOKENS, WIDTH), choices()
    got = torch_npu.npu_moe_init_routing_quant(x.npu(), expert.npu(), active_num=TOKENS * TOP_K, expert_num=EXPERTS, expert_tokens_num_mode=2, quant_mode=1)
    order = expert.flatten().long().argsort(stable=True)
    rows = x[order // TOP_K]
    scale = rows.abs().amax(-1) / 127
    close(got[0], (rows / scale[:, None]).round().to(torch.int8), rtol=0, atol=1)
    close(got[1], places(order).int())
    close(got[2], torch.bincount(expert.flatten(), minlength=EXPERTS).to(got[2].dtype))
    close(got[4], scale)

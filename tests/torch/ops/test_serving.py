# SPDX-License-Identifier: Apache-2.0
"""Operators for serving language models on the device against plain torch on the CPU."""

import pytest
import torch
import torch_npu


def rand(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


def close(got, want, tolerance=1e-5):
    torch.testing.assert_close(got.detach().cpu().float(), want.detach().float(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8])
@pytest.mark.parametrize("cache_mode", ["Norm", "PA_NZ"])
def test_tokens_go_to_their_slots_and_come_back(dtype, cache_mode):
    blocks, size, heads, width = 4, 16, 2, 32
    key, value = ((rand(5, heads, width, seed=s) * 20).to(dtype) for s in (0, 1))
    slots = torch.tensor([33, 2, -1, 63, 17], dtype=torch.int32)
    piece = 32 // key.element_size()
    shape = (blocks, size, heads, width) if cache_mode == "Norm" else (blocks, heads * width // piece, size, piece)
    caches = [torch.zeros(shape, dtype=dtype).npu() for _ in range(2)]
    torch_npu.npu_scatter_pa_kv_cache(key.npu(), value.npu(), *caches, slots.npu(), cache_mode=cache_mode)
    for cache, tokens in zip(caches, (key, value)):
        want = torch.zeros(blocks * size, heads * width, dtype=dtype)
        for slot, token in zip(slots.tolist(), tokens):
            if slot >= 0:
                want[slot] = token.flatten()
        got = cache.cpu()
        if cache_mode == "PA_NZ":
            got = got.transpose(1, 2)
        assert torch.equal(got.reshape(blocks * size, -1), want)
    if cache_mode == "Norm":
        table, lengths = torch.tensor([[2, 3], [1, 0]], dtype=torch.int32), torch.tensor([18, 3], dtype=torch.int32)
        out = [torch.empty(21, heads, width, dtype=dtype).npu() for _ in range(2)]
        torch_npu.npu_gather_pa_kv_cache(*caches, table.npu(), lengths.npu(), *out)
        for cache, got in zip(caches, out):
            pages = cache.cpu()
            want = torch.cat([pages[table[b].long()].flatten(0, 1)[:n] for b, n in enumerate(lengths.tolist())])
            assert torch.equal(got.cpu(), want)


def test_scatter_pa_cache():
    key, cache, slots = rand(3, 2, 8), torch.zeros(2, 4, 2, 8), torch.tensor([5, 0, 3])
    got = torch_npu.npu_scatter_pa_cache(key.npu(), slots.npu(), key_cache=cache.npu())
    want = cache.clone().view(8, 2, 8)
    want[slots] = key
    close(got, want.view_as(cache), 0)


def test_advance_step():
    tokens, positions = torch.zeros(3, dtype=torch.int64).npu(), torch.zeros(3, dtype=torch.int64).npu()
    lengths, slots = torch.tensor([3, 4, 9]).npu(), torch.zeros(3, dtype=torch.int64).npu()
    sampled, table = torch.tensor([[11], [12]]), torch.tensor([[5, 6, 7], [8, 9, 1], [2, 3, 4]])
    torch_npu.npu_advance_step_flashattn(tokens, sampled.npu(), positions, lengths, slots, table.npu(), 3, 2, 4)
    assert tokens.tolist() == [11, 12, 0]
    assert positions.tolist() == [3, 4, 0]
    assert lengths.tolist() == [4, 5, 9]
    assert slots.tolist() == [5 * 4 + 3, 9 * 4, 0]


def filtered(logits, k, p):
    out = torch.full_like(logits, -torch.inf)
    for row, x in enumerate(logits):
        order = x.argsort(descending=True, stable=True)[: int(k[row]) if k is not None else None]
        chances = x[order].float().softmax(0)
        if p is not None:
            order = order[chances.cumsum(0) - chances < float(p[row])]
        out[row, order] = x[order]
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("use_k, use_p", [(True, True), (True, False), (False, True)])
def test_top_k_top_p(dtype, use_k, use_p):
    logits = (torch.randperm(60, generator=torch.Generator().manual_seed(0)).view(3, 20) * 0.25).to(dtype)
    k = torch.tensor([5, 20, 1], dtype=torch.int32) if use_k else None
    p = torch.tensor([0.7, 0.3, 0.9]).to(dtype) if use_p else None
    got = torch_npu.npu_top_k_top_p(logits.npu(), None if p is None else p.npu(), None if k is None else k.npu())
    close(got, filtered(logits, k, p), 0)


def test_top_k_top_p_sample():
    logits = torch.randperm(60, generator=torch.Generator().manual_seed(1)).view(3, 20) * 0.25
    k, p, q = torch.tensor([5, 0, 3], dtype=torch.int32), torch.tensor([0.7, 0.9, 1.0]), rand(3, 20).exp()
    index, kept = torch_npu.npu_top_k_top_p_sample(logits.npu(), k.npu(), p.npu(), q.npu(), is_need_logits=True)
    want = filtered(logits, torch.tensor([5, 20, 3]), p)
    close(kept, want, 0)
    assert index.tolist() == (want.softmax(-1) / (q + 1e-8)).argmax(-1).tolist()


def mhc_pre(x, phi, alpha, bias, gamma, eps):
    n = x.shape[-2]
    flat = x.flatten(-2)
    inverse = (flat.square().mean(-1, keepdim=True) + eps).rsqrt()
    mix = (flat * gamma.flatten()) @ phi.t()
    pre, post, res = (mix * inverse).split([n, n, n * n], -1)
    b = bias.split([n, n, n * n])
    pre = (pre * alpha[0] + b[0]).sigmoid() + eps
    return (pre.unsqueeze(-1) * x).sum(-2), 2 * (post * alpha[1] + b[1]).sigmoid(), (res * alpha[2] + b[2]).unflatten(-1, (n, n)), inverse, mix, pre


def test_hyper_connections_before_a_layer():
    n, d = 4, 16
    inputs = [rand(5, n, d), rand(n * n + 2 * n, n * d, seed=1) * 0.1, rand(3, seed=2), rand(n * n + 2 * n, seed=3), rand(n, d, seed=4)]
    leaves = [x.clone().requires_grad_() for x in inputs]
    want = mhc_pre(*leaves, 1e-6)
    x, phi, alpha, bias, gamma = (y.npu() for y in inputs)
    got = torch.ops.npu.npu_mhc_pre(x, phi, alpha, bias, gamma=gamma, out_flag=1)
    for a, b in zip(got, want):
        close(a.reshape(b.shape), b, 1e-4)
    grads = [rand(*y.shape, seed=9) for y in want[:3]]
    torch.autograd.backward(want[:3], grads)
    back = torch.ops.npu.npu_mhc_pre_backward(x, phi, alpha, *(y.npu() for y in grads), got[3], got[4], got[5], got[1], gamma=gamma, hc_eps=1e-6)
    for a, b in zip(back, leaves):
        close(a, b.grad.view(a.shape), 1e-3)


def test_hyper_connections_behind_a_layer():
    x, h_res, h_out, h_post = rand(5, 4, 16), rand(5, 4, 4, seed=1), rand(5, 16, seed=2), rand(5, 4, seed=3)
    inputs = [x.to(torch.bfloat16), h_res, h_out.to(torch.bfloat16), h_post]
    leaves = [y.float().clone().requires_grad_() for y in inputs]
    want = leaves[1].transpose(-1, -2) @ leaves[0] + leaves[3].unsqueeze(-1) * leaves[2].unsqueeze(-2)
    close(torch.ops.npu.npu_mhc_post(*(y.npu() for y in inputs)), want, 3e-2)
    dy = rand(5, 4, 16, seed=4).to(torch.bfloat16)
    want.backward(dy.float())
    for a, b in zip(torch.ops.npu.npu_mhc_post_backward(dy.npu(), *(y.npu() for y in inputs)), leaves):
        close(a.reshape(b.shape), b.grad, 3e-2)


def test_sinkhorn():
    x = rand(6, 4, 4).requires_grad_()
    norm = x.softmax(-1) + 1e-6
    for step in range(1, 10):
        norm = norm / (norm.sum(-2 if step % 2 else -1, keepdim=True) + 1e-6)
    dy = rand(6, 4, 4, seed=1)
    norm.backward(dy)
    out, steps, sums = torch.ops.npu.npu_mhc_sinkhorn(x.detach().npu(), num_iters=5, out_flag=1)
    close(out, norm)
    close(torch.ops.npu.npu_mhc_sinkhorn_backward(dy.npu(), steps, sums), x.grad, 1e-4)


def test_masked_causal_conv1d():
    x, weight, dy = (y.to(torch.bfloat16) for y in (rand(7, 2, 16), rand(3, 16, seed=1), rand(7, 2, 16, seed=2)))
    mask = rand(2, 7, seed=3).gt(-0.5)
    a, b = x.float().requires_grad_(), weight.float().requires_grad_()
    padded = torch.cat([torch.zeros(2, 2, 16), a])
    want = sum(padded[k : k + 7] * b[k] for k in range(3)) * mask.t().unsqueeze(-1)
    want.backward(dy.float())
    close(torch.ops.npu.npu_masked_causal_conv1d(x.npu(), weight.npu(), mask=mask.npu()), want, 3e-2)
    for got, leaf in zip(torch.ops.npu.npu_masked_causal_conv1d_backward(dy.npu(), x.npu(), weight.npu(), mask=mask.npu()), (a, b)):
        close(got, leaf.grad, 3e-2)


def cached_conv(x, weight, state, computed, accepted, residual):
    """One sequence; returns its outputs and the cache afterwards."""
    taps, room = weight.shape[0], state.shape[0]
    offset = 0 if computed == 0 else accepted - 1 if accepted is not None else room - (taps - 1)
    before = torch.zeros(taps - 1, x.shape[1]) if computed == 0 else state[: offset + taps - 1]
    tokens = torch.cat([before, x])
    out = sum(tokens[offset + k : offset + k + len(x)] * weight[k] for k in range(taps))
    moved = min(room, len(tokens))
    return out + x if residual else out, torch.cat([state[: room - moved], tokens[len(tokens) - moved :]])


@pytest.mark.parametrize("room, accepted", [(2, None), (4, [1, 2, 3])])
def test_fused_causal_conv1d_goes_on_from_its_cache(room, accepted):
    starts, lines, computed = [0, 3, 4, 9], [4, 0, 2], [0, 5, 7]
    x, weight, states = rand(9, 64), rand(3, 64, seed=1), rand(6, room, 64, seed=2)
    outputs, want = [], states.clone()
    for b, line in enumerate(lines):
        y, want[line] = cached_conv(x[starts[b] : starts[b + 1]], weight, states[line], computed[b], accepted and accepted[b], True)
        outputs.append(y)
    ints = lambda values: torch.tensor(values, dtype=torch.int32).npu()
    cache = states.to(torch.float16).npu()
    got = torch.ops.npu.npu_fused_causal_conv1d(
        x.half().npu(), weight.half().npu(), cache, query_start_loc=ints(starts), cache_indices=ints(lines), residual_connection=1,
        num_computed_tokens=ints(computed), num_accepted_tokens=ints(accepted) if accepted else None)
    close(got, torch.cat(outputs), 2e-2)
    close(cache, want, 2e-2)

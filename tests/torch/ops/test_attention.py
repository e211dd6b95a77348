# SPDX-License-Identifier: Apache-2.0
"""Attention on the device against the same sums written out on the CPU."""

import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu

TYPES = [torch.float32, torch.float16, torch.bfloat16]
CLOSE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
HALF_TYPES = TYPES[1:]


def rand(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


def close(got, want, dtype):
    torch.testing.assert_close(got.detach().cpu().float(), want.detach().float(), rtol=CLOSE[dtype], atol=CLOSE[dtype])


def causal(queries, keys, corner=True):
    """True where hidden; the diagonal ends in the right lower corner, or starts in the left upper one."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(1 + (keys - queries if corner else 0))


def compressed():
    return torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def attend(q, k, v, scale, hidden=None, bias=None, sink=None):
    """q [..., N, Sq, D], k and v [..., Nkv, Skv, D], in float; the log of the softmax's sum too."""
    q, k, v = (x.float() for x in (q, k, v))
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)
    scores = q @ k.transpose(-1, -2) * scale
    if bias is not None:
        scores = scores + bias
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    if sink is not None:
        scores = torch.cat([scores, sink.float().reshape(-1, 1, 1).expand(*scores.shape[:-1], 1)], -1)
    weights = scores.softmax(-1)[..., : k.shape[-2]].nan_to_num(0)
    return weights @ v, scores.logsumexp(-1, keepdim=True)


def layout_of(x, layout):
    """[B, N, S, D] in another layout."""
    return {"BNSD": lambda: x, "BSND": lambda: x.transpose(1, 2), "BSH": lambda: x.transpose(1, 2).flatten(2),
            "SBH": lambda: x.permute(2, 0, 1, 3).flatten(2)}[layout]().contiguous()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("is_causal, masked", [(False, False), (True, False), (False, True)])
def test_scaled_dot_product_attention(dtype, is_causal, masked):
    inputs = [rand(2, 4, 7, 16, dtype=dtype), rand(2, 2, 9, 16, dtype=dtype, seed=1), rand(2, 2, 9, 16, dtype=dtype, seed=2)]
    seen = rand(2, 1, 7, 9).gt(-0.5) if masked else None
    results = []
    for device in ("npu", "cpu"):
        q, k, v = (x.detach().clone().to(device).requires_grad_() for x in inputs)
        out = F.scaled_dot_product_attention(q, k, v, None if seen is None else seen.to(device), is_causal=is_causal, enable_gqa=True)
        (out.float() * rand(2, 4, 7, 16).to(device)).sum().backward()
        results.append([out, q.grad, k.grad, v.grad])
    for got, want in zip(*results):
        close(got, want.detach(), dtype)


def test_rows_without_keys_are_zero():
    q = rand(1, 1, 3, 16)
    seen = torch.tensor([[True, False], [False, False], [True, True]])
    got = F.scaled_dot_product_attention(q.npu(), q[:, :, :2].npu(), q[:, :, :2].npu(), seen.npu())
    close(got, F.scaled_dot_product_attention(q, q[:, :, :2], q[:, :, :2], seen), torch.float32)
    assert got[0, 0, 1].cpu().abs().max() == 0


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4, 6])
def test_fusion_attention(layout, mode):
    q, k, v, dy = rand(2, 4, 5, 8), rand(2, 2, 7, 8, seed=1), rand(2, 2, 7, 8, seed=2), rand(2, 4, 5, 8, seed=3)
    options, mask, hidden = {}, compressed(), None
    distance = torch.arange(7) - torch.arange(5).unsqueeze(1) - 2
    if mode in (0, 1):
        mask = hidden = rand(5, 7, seed=4).gt(0.7)
    elif mode in (2, 3):
        hidden = causal(5, 7, corner=mode == 3)
    elif mode == 4:
        options, hidden = {"pre_tockens": 2, "next_tockens": 1}, (distance < -2) | (distance > 1)
    else:
        options = {"prefix": [3, 5]}
        hidden = torch.stack([(distance > 0) & (torch.arange(7) >= n) for n in (3, 5)]).unsqueeze(1)
        mask = torch.cat([mask, torch.zeros(1024, 2048, dtype=torch.bool)])
    want_inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    want, lse = attend(*want_inputs, 0.3, hidden)
    want.backward(dy)
    got_inputs = [layout_of(x, layout).npu().requires_grad_() for x in (q, k, v)]
    out, maximum, total, *_ = torch_npu.npu_fusion_attention(*got_inputs, 4, layout, atten_mask=mask.npu(), scale=0.3, sparse_mode=mode, **options)
    out.backward(layout_of(dy, layout).npu())
    close(out, layout_of(want, layout), torch.float32)
    assert maximum.shape == (2, 4, 5, 8)
    close((maximum + total.log())[..., :1], lse, torch.float32)
    for got, expected in zip(got_inputs, want_inputs):
        close(got.grad, layout_of(expected.grad, layout), torch.float32)


@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("softmax_layout", ["", "TND"])
def test_fusion_attention_of_packed_sequences(mode, softmax_layout):
    ends_q, ends_k = [3, 3, 8], [4, 6, 12]
    q, k, v, dy = rand(8, 4, 8), rand(12, 2, 8, seed=1), rand(12, 2, 8, seed=2), rand(8, 4, 8, seed=3)
    want_inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    parts, lses, a, c = [], [], 0, 0
    for b, d in zip(ends_q, ends_k):
        hidden = causal(b - a, d - c) if mode == 3 else None
        part, lse = attend(want_inputs[0][a:b].transpose(0, 1), *(x[c:d].transpose(0, 1) for x in want_inputs[1:]), 0.5, hidden)
        parts.append(part.transpose(0, 1))
        lses.append(lse if softmax_layout else lse.transpose(0, 1))
        a, c = b, d
    want = torch.cat(parts)
    want.backward(dy)
    got_inputs = [x.npu().requires_grad_() for x in (q, k, v)]
    out, maximum, total, *_ = torch_npu.npu_fusion_attention(
        *got_inputs, 4, "TND", atten_mask=compressed().npu() if mode else None, scale=0.5, sparse_mode=mode,
        actual_seq_qlen=ends_q, actual_seq_kvlen=ends_k, softmax_layout=softmax_layout)
    out.backward(dy.npu())
    close(out, want, torch.float32)
    lse = (maximum + total.log()).cpu()[..., 0]
    expected = [x.squeeze(-1) for x in lses]
    if softmax_layout:
        close(lse, torch.cat([x.transpose(0, 1) for x in expected]), torch.float32)
    else:
        close(lse.flatten(), torch.cat([x.transpose(0, 1).flatten() for x in expected]), torch.float32)
    for got, wanted in zip(got_inputs, want_inputs):
        close(got.grad, wanted.grad, torch.float32)


def test_fusion_attention_with_bias_and_sink():
    q, k, v, dy = (rand(1, 2, 4, 8, seed=s) for s in range(4))
    pse, sink = rand(1, 2, 4, 4, seed=5), torch.tensor([0.3, -1.0])
    want_inputs = [x.clone().requires_grad_() for x in (q, k, v, pse, sink)]
    want, _ = attend(*want_inputs[:3], 0.5, bias=0.5 * want_inputs[3], sink=want_inputs[4])  # the bias is added first
    want.backward(dy)
    got_inputs = [x.npu().requires_grad_() for x in (q, k, v, pse, sink)]
    out = torch_npu.npu_fusion_attention(*got_inputs[:3], 2, "BNSD", pse=got_inputs[3], sink=got_inputs[4], scale=0.5)[0]
    out.backward(dy.npu())
    close(out, want, torch.float32)
    for got, wanted in zip(got_inputs, want_inputs):
        close(got.grad, wanted.grad, torch.float32)


def test_dropout_keeps_its_share_and_its_gradient_fits():
    q, k = rand(2, 2, 32, 16).npu(), rand(2, 2, 64, 16, seed=1).npu()
    v = torch.eye(64).expand(2, 2, 64, 64).contiguous().npu().requires_grad_()  # the output shows the weights
    out = torch_npu.npu_fusion_attention(q, k, v, 2, "BNSD", scale=0.0, keep_prob=0.75)[0]
    weights = out.detach().cpu() * 64
    assert {round(x, 3) for x in weights.unique().tolist()} == {0.0, 1.333}
    assert abs(weights.gt(0).float().mean() - 0.75) < 0.02
    dy = rand(2, 2, 32, 64, seed=2)
    out.backward(dy.npu())
    close(v.grad, (weights / 64).transpose(-1, -2) @ dy, torch.float32)


@pytest.mark.parametrize("dtype", HALF_TYPES)
def test_prompt_flash_attention(dtype):
    q, k, v = rand(2, 6, 4 * 16, dtype=dtype), rand(2, 6, 2 * 16, dtype=dtype, seed=1), rand(2, 6, 2 * 16, dtype=dtype, seed=2)
    got = torch_npu.npu_prompt_flash_attention(
        q.npu(), k.npu(), v.npu(), num_heads=4, num_key_value_heads=2, input_layout="BSH", scale_value=0.25,
        actual_seq_lengths=[6, 4], actual_seq_lengths_kv=[6, 4], atten_mask=compressed().npu(), sparse_mode=3)
    want = torch.zeros_like(q)
    for b, n in enumerate((6, 4)):
        heads = (x[b, :n].unflatten(-1, (-1, 16)).transpose(0, 1) for x in (q, k, v))
        want[b, :n] = attend(*heads, 0.25, causal(n, n))[0].transpose(0, 1).flatten(1)
    close(got, want, dtype)


@pytest.mark.parametrize("dtype", HALF_TYPES)
@pytest.mark.parametrize("cache", ["tokens", "heads"])
def test_decoding_from_pages(dtype, cache):
    lengths, size, n, d = [5, 9], 4, 2, 16
    table = torch.tensor([[3, 1, 0], [2, 5, 4]], dtype=torch.int32)
    keys, values = rand(6, size, n, d, dtype=dtype), rand(6, size, n, d, dtype=dtype, seed=1)
    q = rand(2, 1, 4 * d, dtype=dtype, seed=2)
    want = []
    for b, length in enumerate(lengths):
        k, v = (x[table[b].long()].flatten(0, 1)[:length].transpose(0, 1) for x in (keys, values))
        want.append(attend(q[b].unflatten(-1, (4, d)).transpose(0, 1), k, v, 0.25)[0].transpose(0, 1).flatten(1))
    pages = [(x.flatten(2) if cache == "tokens" else x.transpose(1, 2).contiguous()).npu() for x in (keys, values)]
    common = {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BSH", "block_table": table.npu(), "block_size": size}
    got = torch_npu.npu_incre_flash_attention(q.npu(), *pages, actual_seq_lengths=lengths, scale_value=0.25, **common)
    close(got, torch.stack(want), dtype)
    got, _ = torch_npu.npu_fused_infer_attention_score(q.npu(), *pages, actual_seq_lengths_kv=lengths, scale=0.25, **common)
    close(got, torch.stack(want), dtype)


def test_packed_prefill_from_pages():
    size, n, d = 4, 2, 16
    table = torch.tensor([[3, 1], [2, 0]], dtype=torch.int32)
    keys, values = rand(4, size, n, d, dtype=torch.float16), rand(4, size, n, d, dtype=torch.float16, seed=1)
    q = rand(5, 4, d, dtype=torch.float16, seed=2)
    got, _ = torch_npu.npu_fused_infer_attention_score(
        q.npu(), keys.flatten(2).npu(), values.flatten(2).npu(), num_heads=4, num_key_value_heads=2, input_layout="TND", scale=0.25,
        block_table=table.npu(), block_size=size, atten_mask=compressed().npu(), sparse_mode=3, actual_seq_lengths=[2, 5], actual_seq_lengths_kv=[6, 3])
    want = []
    for b, (rows, length) in enumerate(((slice(0, 2), 6), (slice(2, 5), 3))):
        k, v = (x[table[b].long()].flatten(0, 1)[:length].transpose(0, 1) for x in (keys, values))
        part = q[rows].transpose(0, 1)
        want.append(attend(part, k, v, 0.25, causal(part.shape[1], length))[0].transpose(0, 1))
    close(got, torch.cat(want), torch.float16)


@pytest.mark.parametrize("layout, out_layout", [("BNSD", "BNSD"), ("BNSD_BSND", "BSND"), ("BSND", "BSND"), ("BSH", "BSH")])
def test_fused_infer_attention_score(layout, out_layout):
    q, k, v = rand(2, 4, 5, 16, dtype=torch.float16), rand(2, 2, 7, 16, dtype=torch.float16, seed=1), rand(2, 2, 7, 16, dtype=torch.float16, seed=2)
    hidden = rand(2, 1, 5, 7, seed=3).gt(0.7)
    inputs = [layout_of(x, layout.split("_")[0]).npu() for x in (q, k, v)]
    got, lse = torch_npu.npu_fused_infer_attention_score(
        *inputs, num_heads=4, num_key_value_heads=2, input_layout=layout, scale=0.25, atten_mask=hidden.npu(), softmax_lse_flag=True)
    want, want_lse = attend(q, k, v, 0.25, hidden)
    close(got, layout_of(want, out_layout), torch.float16)
    close(lse, want_lse, torch.float16)


def test_latent_attention_with_rope_parts_and_a_sink():
    q, k = rand(1, 4, 3, 32, dtype=torch.bfloat16), rand(1, 1, 6, 32, dtype=torch.bfloat16, seed=1)
    q_rope, k_rope = rand(1, 4, 3, 16, dtype=torch.bfloat16, seed=2), rand(1, 1, 6, 16, dtype=torch.bfloat16, seed=3)
    got, _ = torch_npu.npu_fused_infer_attention_score(
        q.npu(), k.npu(), k.npu(), query_rope=q_rope.npu(), key_rope=k_rope.npu(), num_heads=4, num_key_value_heads=1, input_layout="BNSD", scale=0.2)
    close(got, attend(torch.cat([q, q_rope], -1), torch.cat([k, k_rope], -1), k, 0.2)[0], torch.bfloat16)
    sink = torch.tensor([0.5, 1.0, -1.0, 0.0], dtype=torch.bfloat16)
    got, _ = torch_npu.npu_fused_infer_attention_score_v2(
        q.npu(), k.npu(), k.npu(), learnable_sink=sink.npu(), num_query_heads=4, num_key_value_heads=1, input_layout="BNSD", softmax_scale=0.2)
    close(got, attend(q, k, k, 0.2, sink=sink)[0], torch.bfloat16)


def test_quantised_keys_are_refused():
    q, k = rand(1, 1, 16, dtype=torch.float16), torch.ones(1, 4, 16, dtype=torch.int8)
    with pytest.raises(RuntimeError, match="quantised"):
        torch_npu.npu_incre_flash_attention(q.npu(), k.npu(), k.npu(), num_heads=1, input_layout="BSH")
        torch.npu.synchronize()


@pytest.mark.parametrize("layout", ["SBH", "TND"])
def test_parts_of_a_ring_make_the_whole(layout):
    n, d, lengths = 2, 8, [0, 2, 5]
    shape = (5, 1, n * d) if layout == "SBH" else (5, n, d)
    q, k, v = rand(*shape), rand(*shape, seed=1), rand(*shape, seed=2)
    options = {"actual_seq_qlen": lengths[1:], "actual_seq_kvlen": lengths[1:], "softmax_layout": "TND"} if layout == "TND" else {}
    whole = torch_npu.npu_fusion_attention(q.npu(), k.npu(), v.npu(), n, layout, scale=0.3, **options)
    # The other part: the same queries against other keys. Joined, it is attention over both.
    other = torch_npu.npu_fusion_attention(q.npu(), (k + 1).npu(), (v - 1).npu(), n, layout, scale=0.3, **options)
    ring = {"input_layout": layout}
    if layout == "TND":
        ring.update(actual_seq_qlen=torch.tensor(lengths).npu(), input_softmax_layout="TND")
    out, maximum, total = torch_npu.npu_ring_attention_update(*whole[:3], *other[:3], **ring)
    heads = (lambda x: x.squeeze(1).unflatten(1, (n, d)).transpose(0, 1)) if layout == "SBH" else (lambda x: x.transpose(0, 1))
    spans = [(0, 5)] if layout == "SBH" else [(0, 2), (2, 5)]
    want = torch.cat([attend(heads(q[a:b]), torch.cat([heads(k[a:b]), heads(k[a:b] + 1)], 1),
                             torch.cat([heads(v[a:b]), heads(v[a:b] - 1)], 1), 0.3)[0].transpose(0, 1) for a, b in spans])
    close(out.cpu().reshape(5, n, d), want, torch.float32)
    assert (total > 0).all() and torch.equal(maximum.cpu(), torch.maximum(whole[1].cpu(), other[1].cpu()))


def test_attention_update():
    lse, parts = [rand(6, seed=s) for s in range(3)], [rand(6, 8, seed=s + 5) for s in range(3)]
    out, total = torch_npu.npu_attention_update([x.npu() for x in lse], [x.npu() for x in parts], 1)
    weights = torch.stack(lse).softmax(0).unsqueeze(-1)
    close(out, (weights * torch.stack(parts)).sum(0), torch.float32)
    close(total, torch.stack(lse).logsumexp(0), torch.float32)


def test_transform_bias_rescale_qkv():
    qkv, bias = rand(2, 3, 24), rand(24, seed=1)
    got = torch.ops.aten._transform_bias_rescale_qkv(qkv.npu(), bias.npu(), 2)
    for x, want in zip(got, torch.ops.aten._transform_bias_rescale_qkv(qkv, bias, 2)):
        close(x, want, torch.float32)


def test_attention_over_the_keys_an_indexer_chose():
    queries, keys, count = 4, 10, 3
    index_q, index_k = rand(1, queries, 8, 128, dtype=torch.bfloat16), rand(1, keys, 1, 128, dtype=torch.bfloat16, seed=1)
    weights = rand(1, queries, 8, dtype=torch.bfloat16, seed=2)
    chosen, _ = torch_npu.npu_lightning_indexer(index_q.npu(), index_k.npu(), weights.npu(), sparse_count=count, sparse_mode=3)
    scores = (torch.einsum("bqhd,bkd->bqhk", index_q.float(), index_k[:, :, 0].float()).relu() * weights.float().unsqueeze(-1)).sum(2)
    scores = scores.masked_fill(causal(queries, keys), -math.inf)
    want = scores.topk(count).indices
    assert torch.equal(chosen.cpu().long().squeeze(2).sort(-1).values, want.sort(-1).values)
    q, k = rand(1, queries, 8, 512, dtype=torch.bfloat16, seed=3), rand(1, keys, 1, 512, dtype=torch.bfloat16, seed=4)
    q_rope, k_rope = rand(1, queries, 8, 64, dtype=torch.bfloat16, seed=5), rand(1, keys, 1, 64, dtype=torch.bfloat16, seed=6)
    got = torch_npu.npu_sparse_flash_attention(q.npu(), k.npu(), k.npu(), chosen, 0.05, query_rope=q_rope.npu(), key_rope=k_rope.npu(),
                                               layout_query="BSND", layout_kv="BSND", sparse_mode=3, attention_mode=2)[0]
    hidden = torch.ones(queries, keys, dtype=torch.bool).scatter_(1, want[0], False)
    heads = lambda *parts: torch.cat(parts, -1).transpose(1, 2)
    close(got, attend(heads(q, q_rope), heads(k, k_rope), heads(k), 0.05, hidden)[0].transpose(1, 2), torch.bfloat16)


def test_gated_delta_rule_keeps_the_state_of_each_token():
    lengths, heads, size = [3, 2], 2, 8
    q, k, v, beta = (rand(5, *shape, dtype=torch.bfloat16, seed=s) * 0.3 for s, shape in enumerate([(1, size), (1, size), (heads, size), (heads,)]))
    g, states = -rand(5, heads, seed=7).abs(), (rand(6, heads, size, size, seed=8) * 0.3).to(torch.bfloat16)
    places, accepted = torch.tensor([4, 1, 0, 2, 5], dtype=torch.int32), torch.tensor([2, 1], dtype=torch.int32)
    want, want_states, t = torch.zeros(5, heads, size), states.float().clone(), 0
    for b, length in enumerate(lengths):
        state = states[places[t + accepted[b] - 1]].float()
        for _ in range(length):
            state = state * g[t].exp().view(-1, 1, 1)
            key = k[t].float().expand(heads, size)
            error = (v[t].float() - (state @ key.unsqueeze(-1)).squeeze(-1)) * beta[t].float().unsqueeze(-1)
            state = state + error.unsqueeze(-1) * key.unsqueeze(-2)
            want[t] = (state @ (q[t].float().expand(heads, size) * 0.5).unsqueeze(-1)).squeeze(-1)
            want_states[places[t]] = state
            t += 1
    cache = states.npu()
    got = torch.ops.npu.npu_recurrent_gated_delta_rule(
        q.npu(), k.npu(), v.npu(), cache, beta=beta.npu(), scale=0.5, actual_seq_lengths=torch.tensor(lengths, dtype=torch.int32).npu(),
        ssm_state_indices=places.npu(), num_accepted_tokens=accepted.npu(), g=g.npu())
    close(got, want, torch.bfloat16)
    close(cache, want_states, torch.bfloat16)


def test_out_forms_use_the_largest_workspace():
    q = rand(1, 2, 4, 16, dtype=torch.float16)
    options = {"num_heads": 2, "input_layout": "BNSD", "scale": 0.25}
    workspace = torch_npu._npu_fused_infer_attention_score_get_max_workspace(q.npu(), q.npu(), q.npu(), **options)
    out, lse = torch.empty_like(q).npu(), torch.empty(1).npu()
    torch_npu.npu_fused_infer_attention_score.out(q.npu(), q.npu(), q.npu(), workspace=workspace, **options, out=[out, lse])
    close(out, attend(q, q, q, 0.25)[0], torch.float16)


@pytest.mark.parametrize("pse_type", [0, 2, 3])
def test_fusion_attention_v2_adds_or_makes_a_bias(pse_type):
    q, k, v = (rand(2, 3, 5, 8, seed=s) for s in range(3))
    distance = (torch.arange(5.0) - torch.arange(5.0).unsqueeze(1) - 2 + 1).abs()  # the blocks start at 2 and 1
    pse = rand(2, 3, 5, 5, seed=4) if pse_type == 0 else rand(3, seed=4)
    bias = pse if pse_type == 0 else -pse.view(3, 1, 1) * (distance.sqrt() if pse_type == 3 else distance)
    out = torch_npu.npu_fusion_attention_v2(q.npu(), k.npu(), v.npu(), 3, "BNSD", pse=pse.npu(), scale=0.3, pse_type=pse_type,
                                            q_start_idx=[2], kv_start_idx=[1])[0]
    close(out, attend(q, k, v, 0.3, bias=bias)[0], torch.float32)


@pytest.mark.parametrize("window", [None, 100])
def test_long_sequences_are_cut_into_blocks_of_rows(window):
    length, dy = 700, rand(1, 8, 700, 16, seed=3)
    inputs = [rand(1, heads, length, 16, seed=s) for s, heads in enumerate((8, 2, 2))]
    distance = torch.arange(length) - torch.arange(length).unsqueeze(1)
    hidden = distance > 0 if window is None else (distance > 0) | (distance < -window)
    want_inputs = [x.clone().requires_grad_() for x in inputs]
    want, _ = attend(*want_inputs, 0.25, hidden)
    want.backward(dy)
    got_inputs = [x.npu().requires_grad_() for x in inputs]
    options = {"sparse_mode": 3} if window is None else {"sparse_mode": 4, "pre_tockens": window, "next_tockens": 0}
    out = torch_npu.npu_fusion_attention(*got_inputs, 8, "BNSD", atten_mask=compressed().npu(), scale=0.25, **options)[0]
    out.backward(dy.npu())
    torch.testing.assert_close(out.detach().cpu(), want.detach(), rtol=1e-4, atol=1e-5)
    for got, wanted in zip(got_inputs, want_inputs):
        torch.testing.assert_close(got.grad.cpu(), wanted.grad, rtol=1e-4, atol=1e-4)

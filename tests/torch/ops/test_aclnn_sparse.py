# SPDX-License-Identifier: Apache-2.0
"""Attention over chosen keys, called as a C program calls it: forwards and gradients against plain torch in float64."""

import pytest
import torch
from aclnn_calls import room

SEED = torch.Generator().manual_seed(9)
FAR = 2147483647


def values(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=SEED).to(dtype)


def attend(q, k, v, scale, hidden):
    """[S, N, D] with [S, Nkv, D]; hidden [N, Sq, Skv]. The output, and max and sum as [N, Sq]."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = (torch.einsum("qnd,knd->nqk", q, k) * scale).masked_fill(hidden, -torch.inf)
    return torch.einsum("nqk,knd->qnd", scores.softmax(-1), v), scores.amax(-1), (scores - scores.amax(-1, True)).exp().sum(-1)


def close(got, want, tolerance=2e-5):
    torch.testing.assert_close(got.float(), want.float(), rtol=tolerance, atol=tolerance)


def hidden_blocks(chosen, size, keys):
    """[N, Sq, Skv] of [Sq, N, count]."""
    seen = torch.zeros(chosen.shape[1], chosen.shape[0], keys, dtype=torch.bool)
    for q in range(chosen.shape[0]):
        for n in range(chosen.shape[1]):
            for block in chosen[q, n].tolist():
                if block >= 0:
                    seen[n, q, block * size:(block + 1) * size] = True
    return ~seen


def test_nsa_compress_and_its_gradient(aclnn):
    x, w, ends = values(40, 2, 4), values(8, 2), [24, 40]
    wide, weight = x.double().requires_grad_(), w.double().requires_grad_()
    rows = [(wide[s:s + 8] * weight[:, :, None]).sum(0) for s in (0, 4, 8, 12, 16, 24, 28, 32)]
    want = torch.stack(rows)
    out = room(8, 2, 4)
    aclnn.run("aclnnNsaCompress", x, w, ends, "TND", 8, 4, 0, out)
    close(out, want)
    grad = values(8, 2, 4)
    gx, gw = room(40, 2, 4), room(8, 2)
    aclnn.run("aclnnNsaCompressGrad", grad, x, w, ends, 8, 4, 0, "TND", gx, gw)
    for got, expected in zip((gx, gw), torch.autograd.grad(want, (wide, weight), grad.double())):
        close(got, expected)


@pytest.mark.parametrize("paged", [False, True])
def test_nsa_compress_with_cache(aclnn, paged):
    w, cache, slots, lengths = values(8, 2), values(5, 2, 4), torch.tensor([3, 0], dtype=torch.int32), [12, 10]
    tokens = values(22, 2, 4)
    before, given, table = cache.clone(), tokens, None
    if paged:
        given, table = torch.zeros(3, 16, 2, 4), torch.tensor([[2], [0]], dtype=torch.int32)
        given[2, :12], given[0, :10] = tokens[:12], tokens[12:]
    aclnn.run("aclnnNsaCompressWithCache", given, w, slots, lengths, table, "TND", 8, 4, 1, 16, cache)
    before[3] = (tokens[4:12] * w[:, :, None]).sum(0)  # 12 tokens end a window, 10 do not
    close(cache, before)


@pytest.mark.parametrize("mode", [0, 2])
def test_nsa_selected_attention(aclnn, mode):
    q, k, v = values(10, 4, 8), values(24, 2, 8), values(24, 2, 6)
    ends, key_ends = [4, 10], [12, 24]
    chosen = torch.tensor([[[0, 2], [1, 2]]] * 10, dtype=torch.int32)
    mask = torch.ones(12, 12, dtype=torch.bool).triu(1) if mode == 2 else None
    leaves = [t.double().requires_grad_() for t in (q, k, v)]
    outs, maxes, sums = [], [], []
    for (a, b), (c, d) in (((0, 4), (0, 12)), ((4, 10), (12, 24))):
        hidden = hidden_blocks(chosen[a:b], 4, d - c).repeat_interleave(2, 0)
        if mode == 2:
            hidden = hidden | torch.ones(b - a, d - c, dtype=torch.bool).triu(1)
        out, most, total = attend(leaves[0][a:b], leaves[1][c:d], leaves[2][c:d], 0.3, hidden)
        rows = ~hidden.all(-1)
        outs.append(torch.where(rows.t()[..., None], out, torch.zeros((), dtype=torch.float64)))
        maxes.append(most.t())
        sums.append(total.t())
    want = torch.cat(outs)
    out, most, total = room(10, 4, 6), room(10, 4, 8), room(10, 4, 8)
    aclnn.run("aclnnNsaSelectedAttention", q, k, v, chosen, mask, ends, key_ends, 0.3, 4, "TND", mode, 4, 2, most, total, out)
    close(out, want)
    rows = torch.cat(maxes).isfinite()
    close(most[..., 0][rows], torch.cat(maxes)[rows])
    close(total[..., 7][rows], torch.cat(sums)[rows])
    if mode == 2:
        return  # rows that see nothing have no gradient to compare
    grad = values(10, 4, 6)
    got = [room(*t.shape) for t in (q, k, v)]
    aclnn.run("aclnnNsaSelectedAttentionGrad", q, k, v, out, grad, most, total, chosen, ends, key_ends, mask, 0.3, 4, 2, 4, "TND", mode, *got)
    for have, expected in zip(got, torch.autograd.grad(want, leaves, grad.double())):
        close(have, expected)


def test_nsa_compress_attention(aclnn):
    q, k, v = values(3, 4, 8), values(10, 2, 8), values(10, 2, 6)
    blocks = 5  # two strides to a block
    out, most, total, chosen = room(3, 4, 6), room(3, 4, 8), room(3, 4, 8), room(3, 2, 2, dtype=torch.int32)
    aclnn.run("aclnnNsaCompressAttention", q, k, v, None, None, [3], [10], [blocks], 0.3, 4, "TND", 0, 32, 16, 32, 2, most, total, out, chosen)
    want, biggest, summed = attend(q.double(), k.double(), v.double(), 0.3, torch.zeros(4, 3, 10, dtype=torch.bool))
    close(out, want)
    close(most[..., 0], biggest.t())
    close(total[..., 0], summed.t())
    shares = (torch.einsum("qnd,knd->nqk", q.double(), k.double().repeat_interleave(2, 1)) * 0.3).softmax(-1).view(2, 2, 3, 10).sum(1)
    worth = torch.zeros(2, 3, blocks, dtype=torch.float64)
    for block in range(blocks):
        for m in range(2):
            for n in range(2):
                if 0 <= 2 * block - m - n < 10:
                    worth[..., block] += shares[..., 2 * block - m - n]
    assert chosen.long().equal(worth.topk(2, -1)[1].transpose(0, 1))


@pytest.mark.parametrize("layout", ["TND", "BNSD", "BSND"])
def test_block_sparse_attention(aclnn, layout):
    lengths, key_lengths = [5, 7], [9, 6]
    mask = torch.rand(2, 4, 2, 3, generator=SEED) < 0.6
    mask[..., 0] = True
    parts, wants = [], []
    for b in range(2):
        q, k, v = values(lengths[b], 4, 8), values(key_lengths[b], 2, 8), values(key_lengths[b], 2, 8)
        leaves = [t.double().requires_grad_() for t in (q, k, v)]
        hidden = ~mask[b].repeat_interleave(4, 1)[:, :lengths[b]].repeat_interleave(4, 2)[:, :, :key_lengths[b]]
        parts.append((q, k, v, values(lengths[b], 4, 8)))
        out, most, total = attend(*leaves, 0.3, hidden)
        wants.append((out, (most + total.log()).t()[..., None], *torch.autograd.grad(out, leaves, parts[-1][3].double(), retain_graph=True)))

    def packed(tensors, longest):
        if layout == "TND":
            return torch.cat(tensors)
        whole = torch.stack([torch.cat([t.float(), torch.zeros(longest - len(t), *t.shape[1:])]) for t in tensors])
        return whole.transpose(1, 2).contiguous() if layout == "BNSD" else whole

    def unpacked(whole, b, sizes):
        if layout == "TND":
            return whole[sum(sizes[:b]):sum(sizes[:b + 1])]
        return (whole[b].transpose(0, 1) if layout == "BNSD" else whole[b])[:sizes[b]]

    q, k, v, grad = (packed([part[i] for part in parts], 7 if i in (0, 3) else 9) for i in range(4))
    out, lse = room(*q.shape), room(*q.shape[:-1], 1)
    aclnn.run("aclnnBlockSparseAttention", q, k, v, mask.to(torch.int8), None, [4, 4], lengths, key_lengths, None, layout, layout, 2, 0, 0.3, 0, 0,
              FAR, FAR, 1, out, lse)
    got = [room(*t.shape) for t in (q, k, v)]
    for b in range(2):
        close(unpacked(out, b, lengths), wants[b][0])
        close(unpacked(lse, b, lengths), wants[b][1])
    if layout != "TND":  # what lies behind a sequence is not written
        out = torch.where(out.eq(77), torch.zeros(()), out)
        lse = torch.where(lse.eq(77), torch.zeros(()), lse)
    aclnn.run("aclnnBlockSparseAttentionGrad", grad, q, k, v, out, lse, mask.to(torch.int8), None, [4, 4], lengths, key_lengths, layout, layout, 2, 0, 0.3,
              FAR, FAR, *got)
    for b in range(2):
        for have, expected, sizes in zip(got, wants[b][2:], (lengths, key_lengths, key_lengths)):
            close(unpacked(have, b, sizes), expected)


def test_a_window_of_block_sparse_attention_is_refused(aclnn):
    q = values(1, 2, 4, 8)
    code, said = aclnn.status("aclnnBlockSparseAttention", [q, q, q, None, None, None, None, None, None, "BNSD", "BNSD", 2, 0, 0.3, 0, 0, 3, FAR, 0, room(1, 2, 4, 8), None])
    assert code != 0 and "no window" in said


@pytest.mark.parametrize("layout", ["TND", "BSND"])
@pytest.mark.parametrize("merged", [False, True])
def test_sparse_flash_attention_and_its_gradient(aclnn, layout, merged):
    q, k, v, q_rope, k_rope = values(6, 4, 8), values(12, 1, 8), values(12, 1, 8), values(6, 4, 2), values(12, 1, 2)
    v = k if merged else v
    chosen = torch.stack([torch.randperm(12, generator=SEED)[:5] for _ in range(6)])[:, None].int()
    leaves = [t.double().requires_grad_() for t in (q, k, v, q_rope, k_rope)]
    lq, lk, lv = torch.cat([leaves[0], leaves[3]], -1), torch.cat([leaves[1], leaves[4]], -1), leaves[1] if merged else leaves[2]
    hidden = hidden_blocks(chosen, 1, 12).expand(4, 6, 12) | torch.ones(6, 12, dtype=torch.bool).triu(7)
    want, most, total = attend(lq, lk, lv, 0.3, hidden)
    grad = values(6, 4, 8)
    wanted = torch.autograd.grad(want, leaves[:2] + ([] if merged else [leaves[2]]) + leaves[3:], grad.double())

    def shaped(t):
        return t[None] if layout == "BSND" else t

    lengths = None if layout == "BSND" else torch.tensor([6], dtype=torch.int32)
    key_lengths = None if layout == "BSND" else torch.tensor([12], dtype=torch.int32)
    stats = (1, 1, 6, 4) if layout == "BSND" else (1, 6, 4)
    out, highest, summed = shaped(room(6, 4, 8)), room(*stats), room(*stats)
    aclnn.run("aclnnSparseFlashAttention", shaped(q), shaped(k), shaped(v), shaped(chosen), None, lengths, key_lengths, shaped(q_rope), shaped(k_rope), 0.3, 1,
              layout, layout, 3, FAR, FAR, 0, True, out, highest, summed)
    close(out.view(6, 4, 8), want)
    close(highest.view(6, 4), most.t())
    close(summed.view(6, 4), total.t())
    got = [shaped(room(*t.shape)) for t in (q, k, v, q_rope, k_rope)]
    aclnn.run("aclnnSparseFlashAttentionGrad", shaped(q), shaped(k), None if merged else shaped(v), shaped(chosen), shaped(grad), out, highest, summed, lengths,
              key_lengths, shaped(q_rope), shaped(k_rope), 0.3, 1, layout, 3, FAR, FAR, False, got[0], got[1], None if merged else got[2], got[3], got[4])
    for have, expected in zip(got[:2] + ([] if merged else [got[2]]) + got[3:], wanted):
        close(have.view(expected.shape), expected)


def index_scores(q, k, w):
    return (torch.einsum("snd,kd->nsk", q, k).relu() * w.t()[..., None]).sum(0)


def test_lightning_indexer_gradient(aclnn):
    q, k, w = values(6, 4, 8), values(12, 1, 8), values(6, 4)
    leaves = [t.double().requires_grad_() for t in (q, k, w)]
    scores = index_scores(leaves[0], leaves[1][:, 0], leaves[2])
    chosen = torch.stack([torch.randperm(7, generator=SEED)[:5] for _ in range(6)])
    chosen[0, 4] = -1
    dy = values(6, 5)
    picked = scores.gather(1, chosen.clamp(min=0)) * (chosen >= 0)
    got = [room(1, *t.shape) for t in (q, k, w)]
    aclnn.run("aclnnLightningIndexerGrad", q[None], k[None], dy[None], chosen.int()[None], w[None], None, None, 4, "BSND", 3, FAR, FAR, False, *got)
    for have, expected in zip(got, torch.autograd.grad(picked, leaves, dy.double())):
        close(have[0], expected)


def test_dense_indexer_statistics(aclnn):
    q, k, w = values(2, 6, 4, 8), values(2, 9, 1, 8), values(2, 6, 4)
    most, total = room(2, 1, 6), room(2, 1, 6)
    aclnn.run("aclnnDenseLightningIndexerSoftmaxLse", q, k, w, None, None, "BSND", 3, FAR, FAR, most, total)
    hidden = torch.ones(6, 9, dtype=torch.bool).triu(4)
    for b in range(2):
        scores = index_scores(q[b].double(), k[b, :, 0].double(), w[b].double()).masked_fill(hidden, -torch.inf)
        close(most[b, 0], scores.amax(-1))
        close(total[b, 0], (scores - scores.amax(-1, True)).exp().sum(-1))


def test_quantised_indexer(aclnn):
    q, k = (torch.randint(-127, 128, shape, generator=SEED).to(torch.int8) for shape in ((1, 6, 4, 8), (1, 9, 1, 8)))
    w, sq, sk = values(1, 6, 4).half(), torch.rand(1, 6, 4, generator=SEED).half(), torch.rand(1, 9, 1, generator=SEED).half()
    out = room(1, 6, 1, 3, dtype=torch.int32)
    aclnn.run("aclnnQuantLightningIndexer", q, k, w, sq, sk, None, None, None, 0, 0, "BSND", "BSND", 3, 0, FAR, FAR, out)
    scores = index_scores(q[0].double() * sq[0].double()[..., None], k[0, :, 0].double() * sk[0].double(), w[0].double())
    assert out[0, :, 0].long().equal(scores.topk(3, -1)[1])


def test_floyd_attention_and_its_gradient(aclnn):
    q, k1, v1, k2, v2 = values(2, 2, 3, 4, 8), values(2, 2, 3, 5, 8), values(2, 2, 3, 5, 8), values(2, 2, 5, 4, 8), values(2, 2, 5, 4, 8)
    mask = torch.zeros(2, 1, 3, 1, 5, dtype=torch.bool)
    mask[..., 4] = True
    leaves = [t.double().requires_grad_() for t in (q, k1, v1, k2, v2)]
    scores = torch.einsum("bhnmd,bhnkd->bhnmk", leaves[0], leaves[1]) + torch.einsum("bhnmd,bhkmd->bhnmk", leaves[0], leaves[3])
    shares = (scores * 0.3).masked_fill(mask, -torch.inf).softmax(-1)
    want = torch.einsum("bhnmk,bhnkd->bhnmd", shares, leaves[2]) + torch.einsum("bhnmk,bhkmd->bhnmd", shares, leaves[4])
    most, total, out = room(2, 2, 3, 4, 8), room(2, 2, 3, 4, 8), room(2, 2, 3, 4, 8)
    aclnn.run("aclnnFusedFloydAttention", q, k1, v1, k2, v2, mask, 0.3, most, total, out)
    close(out, want)
    dy = values(2, 2, 3, 4, 8)
    got = [room(*t.shape) for t in (q, k1, v1, k2, v2)]
    aclnn.run("aclnnFusedFloydAttentionGrad", q, k1, v1, k2, v2, dy, mask, most, total, out, 0.3, *got)
    for have, expected in zip(got, torch.autograd.grad(want, leaves, dy.double())):
        close(have, expected)

# SPDX-License-Identifier: Apache-2.0
"""Attention over latent keys, by the formulas of its operators' pages: what comes before it, its caches, and the losses of the indexer."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import drawing, near, refused, D

SEED, values, whole = drawing(47)
HALF = torch.bfloat16


def rms(x, gamma, eps):
    return D(x) * torch.rsqrt(D(x).square().mean(-1, keepdim=True) + eps) * D(gamma)


def turned(x, cos, sin, interleaved):
    """Pairs are neighbours, and lie in two halves afterwards; or they lie in two halves before."""
    x = D(x)
    if interleaved:
        x = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    left, right = x.chunk(2, -1)
    return x * D(cos) + torch.cat((-right, left), -1) * D(sin)


def steps(x, smooth=None):
    x = x if smooth is None else x * D(smooth)
    scale = x.abs().amax(-1, keepdim=True) / 127
    return (x / scale).round().clamp(-128, 127), scale


HE, HCQ, HEADS, PLAIN, TURNED, LATENT = 32, 16, 4, 8, 4, 12


class Prolog:
    """Operands of a prolog, and what its page makes of them."""

    def __init__(self, *rows, kind="plain", latent=LATENT, tail=TURNED):
        self.rows, self.kind, self.latent, self.tail = rows, kind, latent, tail
        self.x = values(*rows, HE, dtype=HALF)
        self.dq, self.uq = values(HE, HCQ, dtype=HALF) / 4, values(HCQ, HEADS * (PLAIN + tail), dtype=HALF) / 4
        self.uk, self.dkv = values(HEADS, PLAIN, latent, dtype=HALF) / 4, values(HE, latent + tail, dtype=HALF) / 4
        self.gq, self.gk = values(HCQ, dtype=HALF), values(latent, dtype=HALF)
        self.cos, self.sin = values(*rows, tail, dtype=HALF), values(*rows, tail, dtype=HALF)
        self.scales, self.smooth = [None] * 4, None  # of x, dq, uq, dkv
        if kind != "plain":
            self.uq, self.scales[2], self.smooth = whole(-127, 128, *self.uq.shape, dtype=torch.int8), torch.rand(1, self.uq.shape[1], generator=SEED) / 100, \
                torch.rand(1, HCQ, generator=SEED) + 0.5
        if kind == "all":
            self.x, self.scales[0] = whole(-127, 128, *rows, HE, dtype=torch.int8), torch.rand(self.x.numel() // HE, 1, generator=SEED) / 100
            for name, place in (("dq", 1), ("dkv", 3)):
                weight = whole(-127, 128, *getattr(self, name).shape, dtype=torch.int8)
                setattr(self, name, weight)
                self.scales[place] = torch.rand(1, weight.shape[1], generator=SEED) / 100

    def product(self, weight, place):
        whole_product = D(self.x).reshape(-1, HE) @ D(weight)
        return whole_product if self.kind != "all" else whole_product * D(self.scales[0]) * D(self.scales[place])

    def want(self, factor_query=1.0, factor_key=1.0):
        query = rms(self.product(self.dq, 1), self.gq, 1e-5) * factor_query
        if self.kind == "plain":
            self.norm, self.norm_scale, grown = query, None, query @ D(self.uq)
        else:
            self.norm, self.norm_scale = steps(query, self.smooth)
            grown = self.norm @ D(self.uq) * self.norm_scale * D(self.scales[2])
        grown = grown.view(-1, HEADS, PLAIN + self.tail)
        cos, sin = self.cos.reshape(-1, self.tail), self.sin.reshape(-1, self.tail)
        key = self.product(self.dkv, 3)
        return (torch.einsum("tnd,ndh->tnh", grown[..., :PLAIN], D(self.uk)), turned(grown[..., PLAIN:], cos[:, None], sin[:, None], True),
                rms(key[:, :self.latent], self.gk, 2e-5) * factor_key, turned(key[:, self.latent:], cos, sin, True))

    def outputs(self):
        return room(*self.rows, HEADS, self.latent, dtype=HALF), room(*self.rows, HEADS, self.tail, dtype=HALF)

    def weights(self):
        return [self.x, self.dq, self.uq, self.uk, self.dkv, self.gq, self.gk, self.sin, self.cos]


def filed(cache, rows, slots):
    want = D(cache.clone()).flatten(0, 1)
    want[slots.flatten()] = rows.reshape(-1, *want.shape[1:])
    return want.view(cache.shape)


@pytest.mark.parametrize("kind", ["plain", "up", "all"])
@pytest.mark.parametrize("rows", [(6,), (2, 3)], ids=str)
def test_prolog_of_latent_attention(aclnn, rows, kind):
    given = Prolog(*rows, kind=kind)
    query, turned_query, key, turned_key = given.want(1.5, 0.5)
    keys, turned_keys, slots = room(3, 4, 1, LATENT, dtype=HALF), room(3, 4, 1, TURNED, dtype=HALF), torch.tensor([7, 2, 0, 11, 5, 9]).view(rows)
    wanted = filed(keys, key, slots), filed(turned_keys, turned_key, slots)
    out, norm = given.outputs(), room(*rows, HCQ, dtype=HALF if kind == "plain" else torch.int8)
    norm_scale = None if kind == "plain" else room(6, 1)
    scales = given.scales
    aclnn.run("aclnnMlaPrologV3WeightNz", *given.weights(), keys, turned_keys, slots, *scales, None, None, given.smooth, None, None, 1e-5, 2e-5, "PA_BSND",
              {"plain": 0, "up": 1, "all": 2}[kind], 0, 0, 0, 0, 128, 1.5, 0.5, *out, None, norm, norm_scale)
    near(out[0].view(query.shape), query, 2e-2)
    near(out[1].view(turned_query.shape), turned_query, 2e-2)
    near(keys, wanted[0], 1e-2)
    near(turned_keys, wanted[1], 1e-2)
    if kind == "plain":
        near(norm.view(6, -1), given.norm, 1e-2)
    else:
        assert (norm.view(6, -1).double() - given.norm).abs().max() <= 1
        near(norm_scale, given.norm_scale, 1e-3)


@pytest.mark.parametrize("mode", ["PA_BSND", "PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ", "BSND"])
def test_prolog_files_its_keys(aclnn, mode):
    given = Prolog(2, 3, latent=32, tail=16)
    query, _, key, turned_key = given.want()
    shape = (2, 3) if mode == "BSND" else (4, 4)
    caches = [room(*shape, 1, given.latent, dtype=HALF), room(*shape, 1, given.tail, dtype=HALF)]
    by_block = mode.startswith("PA_BLK")
    slots = torch.tensor([[2 * 4], [1 * 4]]) if by_block else torch.zeros(2, 3).long() if mode == "BSND" else torch.tensor([[3, 8, 1], [15, 0, 4]])
    places = torch.tensor([[8, 9, 10], [4, 5, 6]]) if by_block else torch.arange(6).view(2, 3) if mode == "BSND" else slots
    wanted = [filed(cache, rows, places) for cache, rows in zip(caches, (key, turned_key))]
    out = given.outputs()
    aclnn.run("aclnnMlaPrologV2WeightNz", *given.weights(), slots, *caches, *[None] * 7, 1e-5, 2e-5, mode, *out, None)
    near(out[0].view(query.shape), query, 2e-2)
    for cache, want in zip(caches, wanted):
        # Of fractals the same bytes are [blocks, pieces of 16, places, 16].
        got = cache.view(4, -1, 4, 16).transpose(1, 2).reshape(cache.shape) if mode.endswith("NZ") else cache
        near(got, want, 1e-2)
    if mode == "PA_BSND":
        again = given.outputs()
        aclnn.run("aclnnMlaProlog", *given.weights(), slots, *caches, *[None] * 7, 1e-5, 2e-5, mode, *again)
        assert torch.equal(again[0], out[0]) and torch.equal(again[1], out[1])


def test_prolog_refuses_what_it_does_not_do(aclnn):
    given = Prolog(2, 3)
    caches = room(4, 4, 1, LATENT, dtype=HALF), room(4, 4, 1, TURNED, dtype=HALF)
    slots, out = torch.zeros(2, 3).long(), given.outputs()
    refused(aclnn, "aclnnMlaPrologV2WeightNz", [*given.weights(), slots, *caches, None, None, None, None, torch.ones(1, LATENT), None, None, 1e-5, 1e-5, "PA_BSND",
                                                *out, None], "quantised caches are not supported")
    refused(aclnn, "aclnnMlaPrologV2WeightNz", [*given.weights(), slots, *caches, *[None] * 7, 1e-5, 1e-5, "BNSD", *out, None], "cacheMode is 'BNSD'")
    refused(aclnn, "aclnnMlaPrologV3WeightNz", [*given.weights(), *caches, slots, *[None] * 9, 1e-5, 1e-5, "PA_BSND", 0, 3, 0, 0, 0, 128, 1.0, 1.0, *out, *[None] * 3],
            "caches and queries that are not quantised")
    for cache, query in ((caches[0].to(torch.int8), out[0]), (caches[0], out[0].to(torch.int8))):
        refused(aclnn, "aclnnMlaPrologV2WeightNz", [*given.weights(), slots, cache, caches[1], *[None] * 7, 1e-5, 1e-5, "PA_BSND", query, out[1], None], "INT8")


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
def test_queries_keys_and_values_in_one_row(aclnn, quantised, shifted):
    tokens, size, heads, width = 6, 32, (4, 2, 2), 32 if quantised else 16
    qkv, qg, kg = values(tokens, 8 * size, dtype=HALF), values(size, dtype=HALF), values(size, dtype=HALF)
    cos, sin, index = values(tokens, size, dtype=HALF), values(tokens, size, dtype=HALF), torch.tensor([7, -1, 0, 3, 5, 2])
    rows = qkv.view(tokens, 8, size)
    query, key = (turned(rms(rows[:, part], gamma, 1e-6), cos[:, None], sin[:, None], False) for part, gamma in ((slice(0, 4), qg), (slice(4, 6), kg)))
    value = D(rows[:, 6:])
    kind = torch.int8 if quantised else HALF
    scales = [torch.rand(2, size, generator=SEED) / 10 + 0.02 for _ in range(2)] if quantised else [None] * 2
    offsets = [values(2, size) * 3 for _ in range(2)] if quantised and shifted else [None] * 2
    caches = [room(2, 2 * size // width, 4, width, dtype=kind) for _ in range(2)]
    wanted = []
    for cache, x, scale, offset in zip(caches, (key, value), scales, offsets):
        if quantised:
            x = (x / D(scale) + (0 if offset is None else D(offset))).round().clamp(-128, 127)
        want = D(cache.clone()).transpose(1, 2).reshape(8, -1)  # [slots, elements]
        for token, slot in enumerate(index.tolist()):
            if slot >= 0:
                want[slot] = x[token].flatten()
        wanted.append(want.view(2, 4, -1, width).transpose(1, 2))
    out, plain = room(tokens, 4 * size, dtype=HALF), [room(tokens, n * size, dtype=HALF) for n in heads]
    aclnn.run("aclnnQkvRmsNormRopeCache", qkv, qg, kg, cos, sin, index, out, *caches, *scales, *offsets, [2, 3, 8, size], list(heads), 1e-6, "PA_NZ", *plain)
    near(out, query.flatten(1), 1e-2)
    for cache, want in zip(caches, wanted):
        near(cache, want, 1e-2) if not quantised else None
        assert not quantised or (D(cache) - want).abs().max() <= 1
    for got, want in zip(plain, (query, key, value)):
        near(got, want.flatten(1), 1e-2)
    refused(aclnn, "aclnnQkvRmsNormRopeCache", [qkv, qg, kg, cos, sin, index, out, *caches, *scales, *offsets, [2, 3, 8, size], list(heads), 1e-6, "PA", None, None, None],
            "cacheMode is 'PA'")


@pytest.mark.parametrize("whole_numbers", [False, True])
@pytest.mark.parametrize("mode", ["contiguous", "page"])
def test_keys_that_are_turned_and_quantised_on_the_way(aclnn, mode, whole_numbers):
    batches, length, heads, kept, size = 2, 3, 4, 2, 16
    width = (heads + 2 * kept) * size
    cos, sin = values(batches, length, 1, size, dtype=torch.float16), values(batches, length, 1, size, dtype=torch.float16)
    scales, offsets = [torch.rand(kept, size, generator=SEED) * 20 for _ in range(2)], [values(kept, size) * 3, None]
    if whole_numbers:
        x, weight, activation, bias = whole(-1000, 1000, batches, length, width, dtype=torch.int32), torch.rand(width, generator=SEED) / 500, \
            torch.rand(batches * length, generator=SEED), values(width, dtype=torch.float16)
        rows = D(x).view(-1, width) * D(weight) * D(activation)[:, None] + D(bias)
    else:
        x, weight, activation, bias = values(batches, length, width, dtype=torch.float16), None, None, None
        rows = D(x).view(-1, width)
    parts = rows.view(batches, length, -1, size).split((heads, kept, kept), 2)
    query, key, value = turned(parts[0], cos, sin, False), turned(parts[1], cos, sin, False), parts[2]
    caches = [room(4, 8, kept, size, dtype=torch.int8) for _ in range(2)]
    indices = torch.tensor([4, 1] if mode == "contiguous" else [9, 3, 30, 0, 17, 22], dtype=torch.int32)
    slots = (torch.tensor([[4, 5, 6], [9, 10, 11]]) if mode == "contiguous" else indices.long().view(2, 3)).flatten()
    wanted = []
    for cache, tokens, scale, offset in zip(caches, (key, value), scales, offsets):
        wanted.append(filed(cache, (tokens * D(scale) + (0 if offset is None else D(offset))).round().clamp(-128, 127), slots))
    out = [room(batches, length, n, size, dtype=torch.float16) for n in (heads, kept, kept)]
    aclnn.run("aclnnDequantRopeQuantKvcache", x, cos, sin, *caches, indices, *scales, *offsets, weight, activation, bias, [heads * size, kept * size, kept * size],
              "static", "BSND", True, mode, *out)
    for got, want in zip(out, (query, key, value)):
        near(got, want, 2e-3)
    for cache, want in zip(caches, wanted):
        assert (D(cache) - want).abs().max() <= 1
    refused(aclnn, "aclnnDequantRopeQuantKvcache", [x, cos, sin, *caches, indices, *scales, *offsets, weight, activation, bias, [64, 32, 32], "dynamic", "BSND", True, mode,
                                                    *out], "only static")


def attended(q, k, v, hidden, scale):
    """[N, S1, D] with keys for all heads."""
    scores = (D(q) @ D(k).transpose(-1, -2)) * scale
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ D(v)


@pytest.mark.parametrize("paged", [False, True])
def test_keys_in_8_bits_with_their_scales_behind_them(aclnn, paged):
    heads, plain, tail, tile, queries, keys, kind = 2, 32, 8, 16, 3, 16, torch.float16
    numbers, rope, scale = whole(-127, 128, keys, plain, dtype=torch.int8), values(keys, tail, dtype=kind), torch.rand(keys, plain // tile, generator=SEED) / 50
    packed = torch.cat((numbers.view(torch.uint8), rope.view(torch.uint8), scale.view(torch.uint8)), -1).view(torch.int8)
    query, chosen = values(1, queries, heads, plain + tail, dtype=kind), torch.tensor([[[[3, 1, 8, -1]], [[5, 0, 2, 9]], [[15, 4, 6, 7]]]], dtype=torch.int32)
    if paged:
        table = torch.tensor([[2, 0]], dtype=torch.int32)
        cache = torch.zeros(3, 8, 1, packed.shape[-1], dtype=torch.int8)
        cache[2, :, 0], cache[0, :, 0] = packed[:8], packed[8:]
        key, layout, lengths = cache, "PA_BSND", torch.tensor([keys], dtype=torch.int32)
    else:
        key, layout, lengths, table = packed.view(1, keys, 1, -1), "BSND", None, None
    values_ = D(numbers) * D(scale).repeat_interleave(tile, -1)
    full = torch.cat((values_, D(rope)), -1)
    hidden = torch.ones(queries, keys, dtype=torch.bool)
    for row in range(queries):
        hidden[row, [i for i in chosen[0, row, 0].tolist() if i >= 0]] = False
    hidden |= torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
    want = attended(query[0].transpose(0, 1), full, values_, hidden, 0.2).transpose(0, 1)
    out = room(1, queries, heads, plain, dtype=kind)
    far = 2**63 - 1
    arguments = [query, key, key, chosen, None, None, table, None, lengths, 0.2, 2, 2, 1, "BSND", layout, 3, far, far, 2, 1, tile, tail, out]
    aclnn.run("aclnnKvQuantSparseFlashAttention", *arguments)
    near(out[0], want, 5e-3)
    refused(aclnn, "aclnnKvQuantSparseFlashAttention", [*arguments[:10], 1, *arguments[11:]], "only 2 is supported")


def indexer_loss(q, k, qi, ki, w, hidden, scale):
    """One sequence in double: the loss and what torch's own differentiation makes of it."""
    shares = (D(q) @ D(k).transpose(-1, -2) * scale).masked_fill(hidden, -math.inf).softmax(-1).sum(0)
    shares = (shares / shares.sum(-1, keepdim=True)).masked_fill(hidden, 0)
    leaves = [D(x).clone().requires_grad_() for x in (qi, ki, w)]
    scores = (torch.einsum("snd,kd->snk", leaves[0], leaves[1]).relu() * leaves[2].unsqueeze(-1)).sum(1)
    logs = scores.masked_fill(hidden, -math.inf).log_softmax(-1)
    loss = torch.where(shares > 0, shares * (shares.clamp_min(1e-300).log() - logs.masked_fill(hidden, 0)), 0.0).sum()
    loss.backward()
    return loss.detach(), [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("name", ["aclnnSparseLightningIndexerGradKLLoss", "aclnnSparseLightningIndexerGradKLLossV2", "aclnnDenseLightningIndexerGradKLLoss"])
@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("turned_part", [False, True])
def test_loss_of_the_indexer_and_its_gradients(aclnn, name, layout, turned_part):
    dense = "Dense" in name
    lengths, heads, index_heads, size, index_size, tail = [(3, 7), (4, 6)] if layout == "TND" else [(3, 7), (3, 7)], 4, 3, 8, 6, 4
    key_heads = heads if dense else 1
    make = lambda *shape: values(*shape, dtype=HALF)
    parts = []
    for s1, s2 in lengths:
        q, k, qi, ki, w = make(s1, heads, size), make(s2, key_heads, size), make(s1, index_heads, index_size), make(s2, 1, index_size), make(s1, index_heads)
        qr, kr = make(s1, heads, tail), make(s2, key_heads, tail)
        hidden = torch.ones(s1, s2, dtype=torch.bool).triu(s2 - s1 + 1)
        first = torch.zeros(1).long()  # a key that every query may see
        chosen = torch.stack([torch.cat((first, torch.randperm(s2 - 1, generator=SEED)[:3] + 1)) for _ in range(s1)]).int().unsqueeze(1)
        chosen[0, 0, 3] = -1
        if not dense:
            named = torch.ones(s1, s2, dtype=torch.bool)
            for row in range(s1):
                named[row, [i for i in chosen[row, 0].tolist() if i >= 0]] = False
            hidden = hidden | named
        full_q, full_k = (torch.cat((q, qr), -1), torch.cat((k, kr), -1)) if turned_part else (q, k)
        fq, fk = full_q.transpose(0, 1), full_k.transpose(0, 1).expand(heads, -1, -1)
        scores = (D(fq) @ D(fk).transpose(-1, -2) * 0.3).masked_fill(hidden, -math.inf)
        top = scores.amax(-1)
        total = (scores - top.unsqueeze(-1)).exp().sum(-1)
        own = (torch.einsum("snd,kd->snk", D(qi), D(ki[:, 0])).relu() * D(w).unsqueeze(-1)).sum(1).masked_fill(hidden, -math.inf)
        parts.append({"q": q, "k": k, "qi": qi, "ki": ki, "w": w, "qr": qr, "kr": kr, "chosen": chosen,
                      "max": top.view(key_heads, -1, s1).transpose(1, 2).float(), "sum": total.view(key_heads, -1, s1).transpose(1, 2).float(),
                      "imax": own.amax(-1).view(1, s1).float(), "isum": (own - own.amax(-1, keepdim=True)).exp().sum(-1).view(1, s1).float(),
                      "want": indexer_loss(fq, fk, qi, ki[:, 0], w, hidden, 0.3)})
    def joined(key, dim=0):
        return torch.cat([part[key] for part in parts], dim) if layout == "TND" else torch.stack([part[key] for part in parts])
    ends = [[sum(pair[side] for pair in lengths[:i + 1]) for i in range(2)] for side in range(2)] if layout == "TND" else [None, None]
    outputs = [torch.zeros_like(joined(key)) for key in ("qi", "ki", "w")] + [room(1)]
    statistics = [joined("max", 1).contiguous(), joined("sum", 1).contiguous()]
    given = [joined(key) for key in ("q", "k", "qi", "ki", "w")] + ([] if dense else [joined("chosen")]) + statistics
    given += [joined("imax", 1).contiguous(), joined("isum", 1).contiguous()] if dense else []
    given += [joined("qr"), joined("kr")] if turned_part else [None, None]
    far = 2147483647
    given += [*ends, *([None] if name.endswith("V2") else []), 0.3, layout, 3, far, far, *([] if dense else [True])]
    aclnn.run(name, *given, *outputs)
    near(outputs[3], torch.stack([part["want"][0] for part in parts]).sum().view(1), 2e-3)
    for got, which in zip(outputs, range(3)):
        want = [part["want"][1][which] for part in parts]
        want = [one.unsqueeze(1) if which == 1 else one for one in want]
        near(got, torch.cat(want) if layout == "TND" else torch.stack(want), 1e-2)
    mode = len(given) - (3 if dense else 4)
    assert given[mode] == 3
    refused(aclnn, name, [*given[:mode], 0, *given[mode + 1:], *outputs], "sparseMode is 0")


def test_lengths_may_be_counts_or_ends(aclnn):
    """The page tells of the tokens of each batch, callers give where each ends."""
    q, k, qi, ki, w = values(5, 2, 4, dtype=HALF), values(7, 1, 4, dtype=HALF), values(5, 2, 4, dtype=HALF), values(7, 1, 4, dtype=HALF), values(5, 2, dtype=HALF)
    chosen, top, total = torch.zeros(5, 1, 2, dtype=torch.int32), torch.zeros(1, 5, 2), torch.ones(1, 5, 2)
    got = []
    for lengths in ([[2, 3], [3, 4]], [[2, 5], [3, 7]]):
        out = [room(5, 2, 4, dtype=HALF), room(7, 1, 4, dtype=HALF), room(5, 2, dtype=HALF), room(1)]
        aclnn.run("aclnnSparseLightningIndexerGradKLLoss", q, k, qi, ki, w, chosen, top, total, None, None, *lengths, 1.0, "TND", 3, 0, 0, False, *out)
        got.append(out)
    assert all(torch.equal(a, b) for a, b in zip(*got))


class Pages:
    """Sequences in pages of a cache, and their keys one after another."""

    def __init__(self, lengths, heads, size, page, dtype):
        count = [-(-n // page) for n in lengths]
        order = torch.randperm(sum(count), generator=SEED)
        self.cache = values(sum(count), page, heads * size, dtype=dtype)
        self.table = torch.zeros(len(lengths), max(count), dtype=torch.int32)
        for i, n in enumerate(count):
            self.table[i, :n] = order[sum(count[:i]):sum(count[:i + 1])].int()
        self.rows = [self.cache[self.table[i, :count[i]].long()].flatten(0, 1)[:n].view(n, heads, size) for i, n in enumerate(lengths)]

    def values(self, heads, size, dtype):
        again = object.__new__(Pages)
        again.cache, again.table = values(*self.cache.shape[:2], heads * size, dtype=dtype), self.table
        again.rows = [again.cache[self.table[i].long()].flatten(0, 1)[:len(rows)].view(len(rows), heads, size) for i, rows in enumerate(self.rows)]
        return again


@pytest.mark.parametrize("layout", ["BSND", "TND", "BSH"])
def test_one_new_token_over_chosen_blocks(aclnn, layout):
    lengths, heads, key_heads, size, out_size, page, block, count = [40, 23], 4, 2, 8, 4, 16, 16, 2
    keys = Pages(lengths, key_heads, size, page, HALF)
    vals = keys.values(key_heads, out_size, HALF)
    query, chosen = values(2, heads, size, dtype=HALF), torch.tensor([[[2, 0], [1, -1]], [[1, 0], [0, -1]]], dtype=torch.int32)
    want = []
    for i, n in enumerate(lengths):
        hidden = torch.ones(key_heads, n, dtype=torch.bool)
        for head in range(key_heads):
            for number in chosen[i, head].tolist():
                if number >= 0:
                    hidden[head, number * block:(number + 1) * block] = False
        hidden = hidden.repeat_interleave(heads // key_heads, 0).unsqueeze(1)
        spread = lambda rows: rows.transpose(0, 1).repeat_interleave(heads // key_heads, 0)
        want.append(attended(query[i].unsqueeze(1), spread(keys.rows[i]), spread(vals.rows[i]), hidden, 0.35).squeeze(1))
    shape = {"BSND": (2, 1, heads), "TND": (2, heads), "BSH": (2, 1)}[layout]
    out = room(*shape, out_size * (heads if layout == "BSH" else 1), dtype=HALF)
    arguments = [query.view(*shape, -1), keys.cache, vals.cache, chosen if layout == "TND" else chosen.unsqueeze(1), None, keys.table, None, lengths, layout, heads,
                 key_heads, block, count, page, 0.35, 0, out]
    aclnn.run("aclnnNsaSelectedAttentionInfer", *arguments)
    near(out.view(2, heads, out_size), torch.stack(want), 1e-2)
    refused(aclnn, "aclnnNsaSelectedAttentionInfer", [*arguments[:6], [2, 2], *arguments[7:]], "several new tokens")


def test_one_new_token_over_pressed_keys(aclnn):
    lengths, heads, key_heads, size, out_size, page, window, stride, block, count = [9, 6], 4, 2, 8, 4, 16, 32, 16, 64, 2
    keys = Pages(lengths, key_heads, size, page, HALF)
    vals = keys.values(key_heads, out_size, HALF)
    query, group = values(2, heads, size, dtype=HALF), heads // key_heads
    out, top = room(2, heads, out_size, dtype=HALF), room(2, key_heads, count, dtype=torch.int32)
    aclnn.run("aclnnNsaCompressAttentionInfer", query, keys.cache, vals.cache, None, keys.table, None, lengths, None, None, heads, key_heads, block, count, window, stride,
              0.35, "TND", page, 0, out, top)
    for i, n in enumerate(lengths):
        k = keys.rows[i].transpose(0, 1).repeat_interleave(group, 0)
        shares = (D(query[i]).unsqueeze(1) @ D(k).transpose(-1, -2) * 0.35).softmax(-1)  # [N, 1, n]
        near(out[i], (shares @ D(vals.rows[i].transpose(0, 1).repeat_interleave(group, 0))).squeeze(1), 1e-2)
        blocks = -(-((n - 1) * stride + window) // block)
        worth = torch.zeros(key_heads, blocks).double()
        summed = shares.view(key_heads, group, n).sum(1)
        for j in range(blocks):
            for m in range(block // stride):
                for k_ in range(window // stride):
                    place = block // stride * j - m - k_
                    if 0 <= place < n:
                        worth[:, j] += summed[:, place]
        for head in range(key_heads):
            near(worth[head, top[i, head].long()], worth[head].topk(count).values, 1e-3)


def test_blocks_of_the_second_version(aclnn):
    q, k, v = values(2, 4, 5, 8, dtype=HALF), values(2, 2, 130, 8, dtype=HALF), values(2, 2, 130, 8, dtype=HALF)
    mask = torch.tensor([1, 0, 1, 1, 0, 1, 1, 1], dtype=torch.int8).view(2, 4, 1, 1).expand(-1, -1, 2, 2).clone()
    mask[..., 1] = 1 - mask[..., 1] * (torch.arange(2) == 0)  # each row of blocks sees some keys
    hidden = mask.bool().repeat_interleave(4, 2)[:, :, :5].repeat_interleave(128, 3)[..., :130].logical_not()
    out, lse = room(2, 4, 5, 8, dtype=HALF), room(2, 4, 5, 1)
    far = 2147483647
    arguments = [q, k, v, mask.contiguous(), None, [4, 128], None, None, None, None, None, None, "BNSD", "BNSD", 2, 0, 0.35, 0, 0, far, far, 1, out, lse]
    aclnn.run("aclnnBlockSparseAttentionV2", *arguments)
    for b in range(2):
        own_k, own_v = (D(x[b]).repeat_interleave(2, 0) for x in (k, v))
        scores = (D(q[b]) @ own_k.transpose(-1, -2) * 0.35).masked_fill(hidden[b], -math.inf)
        seen = scores.isfinite().any(-1, keepdim=True)
        near(out[b], torch.where(seen, scores.softmax(-1).nan_to_num(0) @ own_v, 0.0), 1e-2)
        near(torch.where(seen, lse[b], 0.0), torch.where(seen, scores.logsumexp(-1, keepdim=True), 0.0), 1e-3)
    refused(aclnn, "aclnnBlockSparseAttentionV2", [*arguments[:9], torch.ones(2, 4, 1, 1), *arguments[10:]], "8-bit floats are not supported")

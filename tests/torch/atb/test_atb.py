# SPDX-License-Identifier: Apache-2.0
"""torch_npu's operators of the transformer boost library, against plain torch on the CPU."""

import math

import pytest
import torch
import torch_npu

HEADS, KV_HEADS, SIZE, BLOCK = 4, 2, 64, 16


def attention(query, key, value, scale, hidden=None):
    """[Sq, N, D] over [Skv, Nkv, D]; `hidden` [Sq, Skv] is true where a key is not seen. In double; NaN free."""
    group = query.shape[1] // key.shape[1]
    q, k, v = (x.double().transpose(0, 1) for x in (query, key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)))
    scores = q @ k.transpose(1, 2) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return (scores.softmax(-1) @ v).transpose(0, 1), scores.logsumexp(-1)


def close(actual, expected, dtype=torch.float16):
    torch.testing.assert_close(actual.cpu().double(), expected.double(), rtol=2e-2 if dtype == torch.bfloat16 else 4e-3,
                               atol=2e-2 if dtype == torch.bfloat16 else 2e-3)


def random(*shape, dtype=torch.float16):
    return torch.randn(*shape, dtype=torch.float32).to(dtype)


class Pages:
    """Keys and values of sequences of these lengths, and the same in pages."""

    def __init__(self, lengths, dtype=torch.float16, size=SIZE):
        self.lengths = lengths
        self.keys = [random(length, KV_HEADS, size, dtype=dtype) for length in lengths]
        self.values = [random(length, KV_HEADS, size, dtype=dtype) for length in lengths]
        blocks = [math.ceil(length / BLOCK) for length in lengths]
        order = torch.randperm(sum(blocks) + 3)
        self.table = torch.zeros(len(lengths), max(blocks), dtype=torch.int32)
        self.key_cache = torch.zeros(len(order), BLOCK, KV_HEADS, size, dtype=dtype)
        self.value_cache = torch.zeros_like(self.key_cache)
        used = 0
        for i, count in enumerate(blocks):
            mine = order[used:used + count]
            used += count
            self.table[i, :count] = mine.int()
            for cache, tokens in ((self.key_cache, self.keys[i]), (self.value_cache, self.values[i])):
                for place, token in enumerate(tokens):
                    cache[mine[place // BLOCK], place % BLOCK] = token


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_paged_attention_reads_each_sequence_out_of_its_pages(dtype):
    pages = Pages([5, 33, 16], dtype)
    query = random(3, HEADS, SIZE, dtype=dtype)
    out = torch.empty_like(query).npu()
    torch_npu._npu_paged_attention(query.npu(), pages.key_cache.npu(), pages.value_cache.npu(), KV_HEADS, HEADS, 0.125, pages.table.npu(),
                                   torch.tensor(pages.lengths, dtype=torch.int32), out)
    for i in range(3):
        close(out[i], attention(query[i:i + 1], pages.keys[i], pages.values[i], 0.125)[0][0], dtype)


def test_paged_attention_takes_a_workspace_that_it_asked_for():
    pages = Pages([7, 20])
    query = random(2, HEADS, SIZE)
    out = torch.empty_like(query).npu()
    arguments = (query.npu(), pages.key_cache.npu(), pages.value_cache.npu(), KV_HEADS, HEADS, 0.125, pages.table.npu(),
                 torch.tensor(pages.lengths, dtype=torch.int32), out)
    workspace = torch_npu._npu_paged_attention_get_workspace(*arguments)
    torch_npu._npu_paged_attention(*arguments, workspace=workspace)
    close(out[1], attention(query[1:], pages.keys[1], pages.values[1], 0.125)[0][0])


def test_paged_attention_with_lengths_in_a_list():
    pages = Pages([9, 17])
    query = random(2, HEADS, SIZE)
    out = torch.empty_like(query).npu()
    torch_npu.atb._npu_paged_attention_v2(query.npu(), pages.key_cache.npu(), pages.table.npu(), pages.lengths, value_cache=pages.value_cache.npu(),
                                          num_kv_heads=KV_HEADS, num_heads=HEADS, scale_value=0.125, out=out)
    close(out[0], attention(query[:1], pages.keys[0], pages.values[0], 0.125)[0][0])


def test_latent_pages_hold_keys_and_values_in_one():
    pages = Pages([5, 30], size=96)
    query = random(2, HEADS, 96)
    out = torch.empty(2, HEADS, 64, dtype=torch.float16).npu()
    torch_npu._npu_paged_attention_mla(query.npu(), pages.key_cache.npu(), KV_HEADS, HEADS, 0.1, pages.table.npu(),
                                       torch.tensor(pages.lengths, dtype=torch.int32), 64, out)
    for i in range(2):
        close(out[i], attention(query[i:i + 1], pages.keys[i], pages.keys[i][..., :64], 0.1)[0][0])


def test_int8_pages_are_dequantised_by_their_scales():
    lengths = [6, 21]
    pages = Pages(lengths)
    keys = [torch.randint(-100, 100, key.shape, dtype=torch.int8) for key in pages.keys]
    scale = torch.rand(KV_HEADS * SIZE) * 0.02
    pages.key_cache = pages.key_cache.to(torch.int8)
    pages.value_cache = torch.zeros_like(pages.key_cache)
    for i, key in enumerate(keys):
        for place, token in enumerate(key):
            pages.key_cache[pages.table[i, place // BLOCK], place % BLOCK] = token
            pages.value_cache[pages.table[i, place // BLOCK], place % BLOCK] = token
    query = random(2, HEADS, SIZE)
    out = torch.empty_like(query).npu()
    torch_npu._npu_paged_attention_quant(query.npu(), pages.key_cache.npu(), pages.value_cache.npu(), KV_HEADS, HEADS, 0.125, pages.table.npu(),
                                         torch.tensor(lengths, dtype=torch.int32), 1, -1, scale.npu(), scale.npu(), out)
    for i in range(2):
        key = keys[i].float() * scale.view(KV_HEADS, SIZE)
        close(out[i], attention(query[i:i + 1], key, key, 0.125)[0][0])


def causal(rows, keys):
    return torch.ones(rows, keys, dtype=torch.bool).triu(keys - rows + 1)


def test_split_fuse_takes_several_queries_of_each_sequence_and_a_mask_row_for_each():
    pages, rows = Pages([12, 30]), [4, 3]
    query = random(sum(rows), HEADS, SIZE)
    mask = torch.zeros(sum(rows), 64, dtype=torch.float16)
    for i, start in enumerate((0, 4)):
        mask[start:start + rows[i], :pages.lengths[i]].masked_fill_(causal(rows[i], pages.lengths[i]), -10000)
    out = torch.empty_like(query).npu()
    torch_npu._npu_paged_attention_splitfuse(query.npu(), pages.key_cache.npu(), pages.value_cache.npu(), pages.table.npu(),
                                             torch.tensor(pages.lengths, dtype=torch.int32), mask.npu(), torch.tensor(rows, dtype=torch.int32), KV_HEADS, HEADS,
                                             0.125, out)
    for i, start in enumerate((0, 4)):
        here = slice(start, start + rows[i])
        close(out[here], attention(query[here], pages.keys[i], pages.values[i], 0.125, causal(rows[i], pages.lengths[i]))[0])


@pytest.mark.parametrize(("dtype", "hides"), [(torch.float16, -math.inf), (torch.bfloat16, 1)])
def test_flash_attention_takes_the_mask_that_serving_engines_make_of_each_type(dtype, hides):
    lengths = [5, 8]
    query, key, value = random(13, HEADS, SIZE, dtype=dtype), random(13, KV_HEADS, SIZE, dtype=dtype), random(13, KV_HEADS, SIZE, dtype=dtype)
    mask = torch.zeros(16, 16, dtype=dtype).masked_fill_(causal(16, 16), hides)
    out = torch.empty_like(query).npu()
    torch_npu._npu_flash_attention(query.npu(), key.npu(), value.npu(), mask.npu(), torch.tensor(lengths, dtype=torch.int32), 0.125, HEADS, KV_HEADS, out)
    for here in (slice(0, 5), slice(5, 13)):
        rows = here.stop - here.start
        close(out[here], attention(query[here], key[here], value[here], 0.125, causal(rows, rows))[0], dtype)


def test_flash_attention_without_a_mask_sees_all_keys_of_its_sequence():
    query, key, value = random(7, HEADS, SIZE), random(7, KV_HEADS, SIZE), random(7, KV_HEADS, SIZE)
    out = torch.empty_like(query).npu()
    torch_npu._npu_flash_attention_unpad(query.npu(), key.npu(), value.npu(), torch.tensor([3, 4], dtype=torch.int32), 0.125, HEADS, KV_HEADS, out)
    close(out[3:], attention(query[3:], key[3:], value[3:], 0.125)[0])


def test_a_compressed_mask_hides_what_comes_later():
    query, key, value = random(9, HEADS, SIZE), random(9, KV_HEADS, SIZE), random(9, KV_HEADS, SIZE)
    out = torch.empty_like(query).npu()
    mask = torch.ones(128, 128, dtype=torch.float16).triu(1).mul(-10000)
    torch_npu._npu_flash_attention_v3(query.npu(), key.npu(), value.npu(), mask.npu(), torch.tensor([9], dtype=torch.int32), 0.125, HEADS, KV_HEADS, out=out)
    close(out, attention(query, key, value, 0.125, causal(9, 9))[0])


def test_queries_behind_a_prefix_in_pages():
    pages, rows = Pages([20, 9]), [4, 9]
    query = random(sum(rows), HEADS, SIZE)
    out = torch.empty_like(query).npu()
    mask = torch.ones(128, 128, dtype=torch.float16).triu(1).mul(-10000)
    torch_npu._npu_flash_attention_qlens(query.npu(), pages.key_cache.npu(), pages.value_cache.npu(), pages.table.npu(), mask.npu(),
                                         torch.tensor(rows, dtype=torch.int32), torch.tensor(pages.lengths, dtype=torch.int32), KV_HEADS, HEADS, 0.125, out)
    other = torch_npu.atb.npu_self_attention_prefix_encoder(query.npu(), pages.key_cache.npu(), pages.value_cache.npu(), pages.table.npu(), rows, pages.lengths,
                                                            HEADS, 0.125, KV_HEADS)
    for i, start in enumerate((0, 4)):
        here = slice(start, start + rows[i])
        expected = attention(query[here], pages.keys[i], pages.values[i], 0.125, causal(rows[i], pages.lengths[i]))[0]
        close(out[here], expected)
        close(other[here], expected)


def test_reshape_and_cache_puts_tokens_into_their_slots():
    keys, values = random(5, KV_HEADS, SIZE), random(5, KV_HEADS, SIZE)
    slots = torch.tensor([3, 40, 17, 0, 31], dtype=torch.int32)
    caches = [torch.zeros(4, BLOCK, KV_HEADS, SIZE, dtype=torch.float16).npu() for _ in range(2)]
    torch_npu._npu_reshape_and_cache(keys.npu(), values.npu(), *caches, slots.npu())
    for cache, tokens in zip(caches, (keys, values), strict=True):
        expected = torch.zeros(4 * BLOCK, KV_HEADS, SIZE, dtype=torch.float16)
        expected[slots.long()] = tokens
        assert torch.equal(cache.cpu().view_as(expected), expected)
    alone = torch.zeros(4, BLOCK, KV_HEADS, SIZE, dtype=torch.float16).npu()
    torch_npu._npu_reshape_and_cache_siso(keys.npu(), alone, slots.npu())
    assert torch.equal(alone.cpu(), caches[0].cpu())


def test_paged_cache_load_takes_tokens_out_again():
    pages = Pages([5, 18])
    key, value = torch_npu.atb.npu_paged_cache_load(pages.key_cache.npu(), pages.value_cache.npu(), pages.table.npu(),
                                                    torch.tensor(pages.lengths, dtype=torch.int32).npu())
    assert torch.equal(key.cpu(), torch.cat(pages.keys))
    assert torch.equal(value.cpu(), torch.cat(pages.values))


@pytest.mark.parametrize("neox", [True, False])
def test_rotary_embedding_turns_queries_and_keys_in_place(neox):
    # The wheel keeps the first table of cosines that it sees: both cases use the same.
    angles = torch.arange(32).float()[:, None] / 10000 ** (torch.arange(SIZE // 2).float() / (SIZE // 2))
    cache = torch.cat([angles.cos(), angles.sin()], -1).to(torch.float16)
    query, key = random(6, HEADS * SIZE), random(6, KV_HEADS * SIZE)
    positions = torch.tensor([0, 3, 31, 7, 8, 9])

    def turned(x):
        heads = x.double().view(6, -1, SIZE)
        cos, sin = (part[positions].double()[:, None] for part in cache.chunk(2, -1))
        a, b = (heads[..., : SIZE // 2], heads[..., SIZE // 2:]) if neox else (heads[..., ::2], heads[..., 1::2])
        parts = (a * cos - b * sin, b * cos + a * sin)
        return (torch.cat(parts, -1) if neox else torch.stack(parts, -1).flatten(-2)).view_as(x)

    on_device = query.npu(), key.npu()
    torch_npu._npu_rotary_embedding(positions.npu(), *on_device, SIZE, cache.npu(), neox)
    close(on_device[0], turned(query))
    close(on_device[1], turned(key))


def test_quantising_norm_rounds_what_the_scale_divides():
    x, gamma, beta = random(5, 128), random(128), random(128)
    scale, offset = torch.tensor([0.05], dtype=torch.float16), torch.tensor([3], dtype=torch.int8)
    out = torch.empty(5, 128, dtype=torch.int8).npu()
    torch_npu._npu_quant_rms_norm(x.npu(), gamma.npu(), beta.npu(), scale.npu(), offset.npu(), out, 1e-5)
    norm = x.double() * (x.double().pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * gamma.double() + beta.double()
    expected = (norm / scale.double() + 3).round().clamp(-128, 127)
    assert (out.cpu().double() - expected).abs().max() <= 1
    assert (out.cpu().double() != expected).double().mean() < 0.02


def test_quantise_per_tensor():
    x = random(4, 64)
    out = torch.empty(4, 64, dtype=torch.int8).npu()
    torch_npu._npu_quantize_per_tensor(x.npu(), torch.tensor([0.03], dtype=torch.float16).npu(), torch.tensor([-2], dtype=torch.int8).npu(), out)
    expected = ((x.float() / torch.tensor(0.03, dtype=torch.float16).float()).round() - 2).clamp(-128, 127)
    assert torch.equal(out.cpu().float(), expected)


def test_matmul_adds_to_a_float_accumulator():
    x, weight, total = random(12, 5), random(12, 7), torch.randn(5, 7)
    on_device = total.npu()
    torch_npu._npu_matmul_add_fp32(x.npu(), weight.npu(), on_device)
    close(on_device, total.double() + x.double().t() @ weight.double())


def test_group_topk_leaves_the_best_groups():
    x = torch.rand(6, 32).to(torch.float16)
    on_device = x.npu()
    torch_npu._npu_group_topk(on_device, k=2, group_num=4, n=1)
    best = x.view(6, 4, 8).amax(-1).topk(2).indices
    kept = torch.zeros(6, 4, dtype=torch.bool).scatter_(1, best, True).repeat_interleave(8, 1)
    assert torch.equal(on_device.cpu(), x * kept)


def test_fused_add_topk_div_chooses_experts_and_shares_their_weights():
    x, add = random(5, 32), torch.rand(32).to(torch.float16)
    y, indices = torch_npu.atb.npu_fused_add_topk_div(x.npu(), add.npu(), group_num=4, group_topk=2, n=2, k=6, is_norm=True, scale=2.5)
    weights = x.float().sigmoid()
    worth = (weights + add.float()).view(5, 4, 8)
    best = worth.topk(2).values.sum(-1).topk(2).indices
    kept = torch.zeros(5, 4, dtype=torch.bool).scatter_(1, best, True).unsqueeze(-1)
    expected = worth.masked_fill(~kept, 0).flatten(1).topk(6).indices
    assert torch.equal(indices.cpu().long(), expected)
    chosen = weights.gather(1, expected)
    torch.testing.assert_close(y.cpu(), chosen / chosen.sum(-1, keepdim=True) * 2.5, rtol=1e-5, atol=1e-6)


def test_latent_attention_joins_what_turns_and_what_does_not():
    lengths, rank, rope = [6, 25], 64, 16
    latent, turning = Pages(lengths, size=rank), Pages(lengths, size=rope)
    turning.key_cache.zero_()
    for i, key in enumerate(turning.keys):
        for place, token in enumerate(key):
            turning.key_cache[latent.table[i, place // BLOCK], place % BLOCK] = token
    q_nope, q_rope = random(2, HEADS, rank), random(2, HEADS, rope)
    arguments = (q_nope.npu(), q_rope.npu(), latent.key_cache.npu(), turning.key_cache.npu(), latent.table.npu(), lengths, HEADS, 0.1, KV_HEADS)
    out = torch_npu.atb.npu_multi_head_latent_attention(*arguments)
    again, lse = torch_npu.atb.npu_multi_head_latent_attention(*arguments, return_lse=True, calc_type="calc_type_ring")
    for i in range(2):
        query = torch.cat([q_nope[i:i + 1], q_rope[i:i + 1]], -1)
        expected, sums = attention(query, torch.cat([latent.keys[i], turning.keys[i]], -1), latent.keys[i], 0.1)
        close(out[i], expected[0])
        close(again[i], expected[0])
        close(lse[i, :, 0], sums[:, 0])


def test_ring_attention_goes_on_from_the_part_before():
    tokens, first, second = 6, 5, 8
    parts = [random(tokens, HEADS, SIZE), random(tokens, HEADS, 16)]
    keys = [random(first + second, KV_HEADS, SIZE), random(first + second, KV_HEADS, 16)]
    value, mask = random(first + second, KV_HEADS, SIZE), torch.ones(512, 512, dtype=torch.float16).triu(1).npu()

    def ring(start, count, **more):
        here = slice(start, start + count)
        lengths = torch.tensor([[tokens], [count]], dtype=torch.int32)
        return torch_npu.atb.npu_ring_mla(*(x.npu() for x in parts), *(x[here].contiguous().npu() for x in (*keys, value)), mask, lengths, HEADS, KV_HEADS,
                                          qk_scale=0.1, mask_type="no_mask", **more)

    out, lse = ring(0, first, calc_type="calc_type_first_ring")
    out, lse = ring(first, second, calc_type="calc_type_default", pre_out=out, prev_lse=lse)
    expected, sums = attention(torch.cat(parts, -1), torch.cat(keys, -1), value, 0.1)
    close(out, expected)
    torch.testing.assert_close(lse.cpu().double(), sums, rtol=1e-3, atol=1e-3)


def test_a_captured_graph_attends_again():
    pages = Pages([5, 12])
    query, out = random(2, HEADS, SIZE).npu(), torch.zeros(2, HEADS, SIZE, dtype=torch.float16).npu()
    key_cache, value_cache, table = pages.key_cache.npu(), pages.value_cache.npu(), pages.table.npu()
    lengths = torch.tensor(pages.lengths, dtype=torch.int32)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch_npu._npu_paged_attention(query, key_cache, value_cache, KV_HEADS, HEADS, 0.125, table, lengths, out)
    other = random(2, HEADS, SIZE)
    query.copy_(other)
    graph.replay()
    close(out[1], attention(other[1:], pages.keys[1], pages.values[1], 0.125)[0][0])


def test_what_is_not_computed_is_refused_by_name():
    pages = Pages([5])
    query, out = random(1, HEADS, SIZE), torch.zeros(1, HEADS, SIZE, dtype=torch.float16).npu()
    torch_npu._npu_paged_attention(query.npu(), pages.key_cache.npu(), pages.value_cache.npu(), KV_HEADS, HEADS, 0.125, pages.table.npu(),
                                   torch.tensor([5, 6], dtype=torch.int32), out)
    with pytest.raises(RuntimeError, match="there are 2 lengths of contexts for 1 tokens of the query"):
        torch.npu.synchronize()


@pytest.mark.parametrize("mode", ["int8_nzcache", "nzcache"])
def test_a_cache_in_private_blocks_is_refused_by_name_and_what_follows_runs(mode):
    latent, lengths = Pages([6], size=64), [6]
    q_nope, q_rope = random(1, HEADS, 64), random(1, HEADS, 64)
    for _ in range(2):  # the wheel keeps what it was given
        torch_npu.atb.npu_multi_head_latent_attention(q_nope.npu(), q_rope.npu(), latent.key_cache.npu(), latent.key_cache.npu(), latent.table.npu(), lengths,
                                                      HEADS, 0.1, KV_HEADS, cache_mode=mode)
        with pytest.raises(RuntimeError, match="cacheMode .* is not supported"):
            torch.npu.synchronize()
    assert (torch.ones(2).npu() + 1).cpu().tolist() == [2, 2]

# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding on the device against the formulas on the CPU."""

import pytest
import torch
import torch_npu

TYPES = [torch.float32, torch.float16, torch.bfloat16]
CLOSE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def rand(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


def close(got, want, dtype=torch.float32):
    torch.testing.assert_close(got.detach().cpu().float(), want.detach().float(), rtol=CLOSE[dtype], atol=CLOSE[dtype])


def rotary(x, cos, sin, mode):
    x, cos, sin = x.float(), cos.float(), sin.float()
    even, odd = x[..., ::2], x[..., 1::2]
    if mode == "interleave":
        return x * cos + torch.stack((-odd, even), -1).flatten(-2) * sin
    if mode == "interleave-half":
        return torch.cat((even, odd), -1) * cos + torch.cat((-odd, even), -1) * sin
    pieces = x.chunk(4 if mode == "quarter" else 2, -1)
    turned = [y for a, b in zip(pieces[::2], pieces[1::2]) for y in (-b, a)]
    return x * cos + torch.cat(turned, -1) * sin


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary_mul(dtype, mode):
    inputs = [rand(2, 3, 4, 8, dtype=dtype), rand(1, 1, 4, 8, dtype=dtype, seed=1), rand(1, 1, 4, 8, dtype=dtype, seed=2)]
    dy = rand(2, 3, 4, 8, dtype=dtype, seed=3)
    want_inputs = [x.float().clone().requires_grad_() for x in inputs]
    want = rotary(*want_inputs, mode)
    want.backward(dy.float())
    got_inputs = [x.npu().requires_grad_() for x in inputs]
    got = torch_npu.npu_rotary_mul(*got_inputs, mode)
    got.backward(dy.npu())
    close(got, want, dtype)
    for x, y in zip(got_inputs, want_inputs):
        close(x.grad, y.grad, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout, shape, turn", [("BSND", (2, 4, 3, 8), (2, 4, 1, 8)), ("BNSD", (2, 3, 4, 8), (2, 1, 4, 8)),
                                                 ("TND", (4, 3, 8), (4, 1, 8)), ("BSND", (2, 4, 3, 8), (2, 4, 1, 4))])
def test_apply_rotary_pos_emb(dtype, layout, shape, turn):
    q, k = rand(*shape, dtype=dtype), rand(*shape, dtype=dtype, seed=1)
    cos, sin = rand(*turn, dtype=dtype, seed=2), rand(*turn, dtype=dtype, seed=3)
    for mode in ("half", "interleave", "quarter"):
        got = torch_npu.npu_apply_rotary_pos_emb(q.clone().npu(), k.clone().npu(), cos.npu(), sin.npu(), layout, mode)
        for x, y in zip(got, (q, k)):
            front = rotary(y[..., : turn[-1]], cos, sin, mode)
            close(x, torch.cat([front, y[..., turn[-1]:].float()], -1), dtype)


@pytest.mark.parametrize("dtype", TYPES[1:])
def test_interleave_rope(dtype):
    x, cos, sin = rand(2, 3, 4, 64, dtype=dtype), rand(2, 1, 4, 64, dtype=dtype, seed=1), rand(2, 1, 4, 64, dtype=dtype, seed=2)
    close(torch_npu.npu_interleave_rope(x.npu(), cos.npu(), sin.npu()), rotary(x, cos, sin, "interleave-half"), dtype)


@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("sections", [None, [2, 1, 1]])
def test_rope_from_a_cache_of_angles(mode, sections):
    tokens, size = 5, 16
    q, k, cache = rand(tokens, 3 * size), rand(tokens, size, seed=1), rand(20, 8, seed=2)
    positions = torch.randint(20, (3, tokens) if sections else (tokens,), generator=torch.Generator().manual_seed(0))
    got = torch_npu.npu_mrope(positions.npu(), q.npu(), k.npu(), cache.npu(), size, mrope_section=sections or [0, 0, 0], rotary_mode=mode)
    cos, sin = cache[positions].chunk(2, -1)
    if sections:
        cos, sin = (torch.cat([m[i] for i, m in enumerate(x.split(sections, -1))], -1) for x in (cos, sin))
    spread = (lambda x: torch.cat((x, x), -1)) if mode == "half" else (lambda x: x.repeat_interleave(2, -1))
    for x, y in zip(got, (q, k)):
        heads = y.view(tokens, -1, size)
        turned = rotary(heads[..., :8], spread(cos).unsqueeze(1), spread(sin).unsqueeze(1), mode)
        close(x, torch.cat([turned, heads[..., 8:]], -1).view(y.shape))


@pytest.mark.parametrize("dtype", TYPES[1:])
@pytest.mark.parametrize("cache_mode", ["Norm", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD"])
def test_kv_rmsnorm_rope_cache(dtype, cache_mode):
    batch, length, front, end, size = 2, 3, 512, 64, 16
    kv, gamma = rand(batch, 1, length, front + end, dtype=dtype), rand(front, dtype=dtype, seed=1)
    cos, sin = rand(batch, 1, length, end, dtype=dtype, seed=2), rand(batch, 1, length, end, dtype=dtype, seed=3)
    normed = kv[..., :front].float()
    normed = normed * (normed.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * gamma.float()
    turned = rotary(kv[..., front:], cos, sin, "interleave-half")
    if cache_mode == "Norm":
        index, shape = torch.tensor([[4, 0, -1], [1, 2, 7]]), (batch, 1, 8)
    elif cache_mode == "PA_BLK_BNSD":
        index, shape = torch.tensor([size, 2 * size]), (4, size, 1)
    else:
        index, shape = torch.tensor([17, 3, -1, 40, 5, 63]), (4, size, 1)
    caches = [torch.zeros(*shape, width, dtype=dtype) for width in (end, front)]
    got = torch_npu.npu_kv_rmsnorm_rope_cache(kv.npu(), gamma.npu(), cos.npu(), sin.npu(), index.npu(), *(x.npu() for x in caches),
                                              cache_mode=cache_mode, is_output_kv=True)
    close(got[2], turned, dtype)
    close(got[3], normed, dtype)
    for x, value in zip(got[:2], (turned, normed)):
        want = torch.zeros(x.shape)
        for b in range(batch):
            for s in range(length):
                token = value[b, 0, s]
                if cache_mode == "Norm":
                    if index[b, s] >= 0:
                        want[b, 0, index[b, s]] = token
                    continue
                slot = int(index[b]) + s if cache_mode == "PA_BLK_BNSD" else int(index[b * length + s])
                if slot < 0:
                    continue
                if cache_mode == "PA_NZ":
                    want.view(4, -1, size, 16)[slot // size, :, slot % size] = token.view(-1, 16)
                else:
                    want[slot // size, slot % size, 0] = token
        close(x, want, dtype)

# SPDX-License-Identifier: Apache-2.0
"""Quantisation and products of quantised matrices, against formulas written in plain torch."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

HALVES = [torch.float16, torch.bfloat16]
FLOATS = [torch.float32, *HALVES]


def values(dtype, *shape, seed=5):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def bytes_(*shape, seed=5):
    return torch.randint(-128, 128, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.int8)


def positive(*shape, seed=5):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) * 0.1 + 0.01


def npu(*tensors):
    moved = [None if t is None else t.npu() for t in tensors]
    return moved[0] if len(moved) == 1 else moved


def close(got, want, **tolerance):
    torch.testing.assert_close(got.cpu(), want, **tolerance)


def near(got, want):
    """For quantised results whose last step may fall on either side of a half."""
    got = got.cpu()
    assert got.dtype == want.dtype and got.shape == want.shape
    difference = (got.int() - want.int()).abs()
    assert difference.max() <= 1 and (difference != 0).float().mean() < 0.02


def to_int8(x):
    return x.round().clamp(-128, 127).to(torch.int8)


def pack(x):
    """int4 values, eight to an int32, the first in the lowest bits."""
    nibbles = (x.long() & 15).view(*x.shape[:-1], -1, 8) << (torch.arange(8) * 4)
    words = nibbles.sum(-1)
    return torch.where(words >= 2**31, words - 2**32, words).int()


def fixed_pipe(scale):
    """What a scale becomes on its way through the device's words."""
    return (scale.view(torch.int32) & -8192).view(torch.float32)


# --- quantisation

@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("divide", [False, True])
def test_quantize(dtype, divide):
    x, scale, zero = values(dtype, 5, 16) * 3, positive(16, seed=6) if divide else positive(16, seed=6) * 300, values(torch.float32, 16, seed=7).round()
    if not divide:
        scale, zero = scale.to(dtype), zero.to(dtype)
    else:
        zero = zero.int()
    got = torch_npu.npu_quantize(x.npu(), scale.npu(), zero.npu(), torch.qint8, axis=1 if divide else -1, div_mode=divide)
    want = x.float() / scale.float() if divide else x.float() * scale.float()
    near(got, to_int8(want + zero.float()))


def test_quantize_to_int4():
    x, scale = values(torch.float32, 5, 16), torch.full((1,), 3.0)
    got = torch_npu.npu_quantize(x.npu(), scale.npu(), None, torch.quint4x2, axis=-1, div_mode=False)
    close(got, pack((x * 3).round().clamp(-8, 7)))
    back = torch_npu.npu_anti_quant(got, scale.npu(), offset=None, dst_dtype=torch.float16)
    close(back, ((x * 3).round().clamp(-8, 7) * 3).half())


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint32])
def test_quantize_to_other_types(dtype):
    x, scale, zero = values(torch.float32, 6, 8) * 40, torch.tensor([0.25]), torch.tensor([3], dtype=torch.int32)
    got = torch_npu.npu_quantize(x.npu(), scale.npu(), zero.npu(), dtype, axis=1, div_mode=True)
    want = (x / 0.25 + 3).round()
    close(got, want.clamp(0, 255).to(torch.uint8) if dtype == torch.quint8 else want.int())


@pytest.mark.parametrize("dtype", HALVES)
def test_anti_quant(dtype):
    x, scale, offset = bytes_(4, 8), values(torch.float32, 8), values(torch.float32, 8, seed=6)
    got = torch_npu.npu_anti_quant(x.npu(), scale.npu(), offset=offset.npu(), dst_dtype=dtype)
    close(got, ((x.float() + offset) * scale).to(dtype))


def test_group_quant():
    x, scale, offset = values(torch.float32, 9, 8) * 5, values(torch.float32, 3, 8, seed=6) * 10, torch.tensor([2.0])
    ends = torch.tensor([4, 4, 9], dtype=torch.int32)
    got = torch_npu.npu_group_quant(x.npu(), scale.npu(), ends.npu(), offset=offset.npu(), dst_dtype=torch.qint8)
    group = torch.tensor([0] * 4 + [2] * 5)
    near(got, to_int8(x * scale[group] + offset))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("grouped", [False, True])
def test_dynamic_quant(dtype, grouped):
    x = values(dtype, 9, 16)
    smooth = values(dtype, 3, 16, seed=6) if grouped else values(dtype, 16, seed=6)
    ends = torch.tensor([4, 4, 9], dtype=torch.int32) if grouped else None
    group = torch.tensor([0] * 4 + [2] * 5)
    y, scale = torch_npu.npu_dynamic_quant(x.npu(), smooth_scales=smooth.npu(), group_index=npu(ends))
    product = x.float() * (smooth[group] if grouped else smooth).float()
    want = product.abs().amax(-1) / 127
    close(scale, want)
    near(y, to_int8(product / want[:, None]))


def test_dynamic_quant_of_zeros():
    y, scale = torch_npu.npu_dynamic_quant(torch.zeros(3, 8, dtype=torch.float16).npu())
    close(y, torch.zeros(3, 8, dtype=torch.int8))
    close(scale, torch.zeros(3))


@pytest.mark.parametrize("mode", ["pertoken", "pertensor", "perchannel"])
def test_dynamic_quant_asymmetric(mode):
    x = values(torch.float16, 9, 16)
    y, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x.npu(), quant_mode=mode)
    dims = {"pertoken": (1,), "pertensor": (0, 1), "perchannel": (0,)}[mode]
    wide = x.float()
    high, low = wide.amax(dims, keepdim=True), wide.amin(dims, keepdim=True)
    want = (high - low) / 255
    close(scale, want.reshape(scale.shape))
    close(offset, (127 - high / want).reshape(offset.shape))
    near(y, to_int8(wide / want + 127 - high / want))


def test_dynamic_quant_to_int4():
    x = values(torch.float16, 4, 16)
    y, scale = torch_npu.npu_dynamic_quant(x.npu(), dst_type=torch.quint4x2)
    want = x.float().abs().amax(-1) / 7
    close(scale, want)
    close(y, pack((x.float() / want[:, None]).round().clamp(-8, 7)))


@pytest.mark.parametrize("offset", [None, torch.tensor([-3.0, 5.4, 300.0])])
def test_trans_quant_param(offset):
    scale = torch.tensor([0.1, 3.7, 1e-3])
    got = torch_npu.npu_trans_quant_param(scale.npu(), npu(offset)).cpu()
    assert (got & 0xFFFFFFFF).tolist() == (fixed_pipe(scale).view(torch.int32).long() & 0xFFFFFFFF).tolist()
    assert (got >> 46).tolist() == [1, 1, 1]
    bits = (got >> 37) & 0x1FF
    assert bits.tolist() == ([0, 0, 0] if offset is None else [-3 & 0x1FF, 5, 255])


def test_fake_quantize():
    x = values(torch.float32, 4, 6) * 3
    scale, zero = positive(6), torch.zeros(6, dtype=torch.int32)
    got = torch.fake_quantize_per_channel_affine(x.npu(), scale.npu(), zero.npu(), 1, -128, 127)
    close(got, torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -128, 127))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_gelu_quant(approximate, mode):
    x = values(torch.float32, 5, 16)
    scale = positive(16, seed=6) * 300
    offset = values(torch.float32, 16, seed=7) if mode == "static" else None
    y, out_scale = torch_npu.npu_gelu_quant(x.npu(), input_scale=scale.npu(), input_offset=npu(offset), approximate=approximate, quant_mode=mode)
    want = F.gelu(x, approximate=approximate) * scale
    if mode == "static":
        near(y, to_int8(want + offset))
    else:
        step = want.abs().amax(-1) / 127
        close(out_scale, step)
        near(y, to_int8(want / step[:, None]))


@pytest.mark.parametrize("left, swiglu_mode", [(False, 0), (True, 0), (True, 1)])
@pytest.mark.parametrize("mode", [0, 1])
def test_dequant_swiglu_quant(left, mode, swiglu_mode):
    x = torch.randint(-1000, 1000, (10, 32), generator=torch.Generator().manual_seed(3), dtype=torch.int32)
    lengths, group = torch.tensor([4, 6]), torch.tensor([0] * 4 + [1] * 6)
    weight, token = positive(2, 32) * 0.1, positive(10, 1, seed=6)
    scale = positive(2, 16, seed=7) if mode else positive(2, 16, seed=7) * 0.1
    offset = None if mode else values(torch.float32, 2, 16, seed=8)
    y, out_scale = torch_npu.npu_dequant_swiglu_quant(
        x.npu(), weight_scale=weight.npu(), activation_scale=token.npu(), bias=None, quant_scale=scale.npu(),
        quant_offset=npu(offset), group_index=lengths.npu(), activate_left=left, quant_mode=mode, swiglu_mode=swiglu_mode,
        clamp_limit=7.0, glu_alpha=1.702, glu_bias=1.0)
    real = x.float() * weight[group] * token
    if swiglu_mode:
        glu, linear = real[:, ::2].clamp(max=7.0), real[:, 1::2].clamp(-7.0, 7.0)
        gated = glu * torch.sigmoid(1.702 * glu) * (linear + 1)
    else:
        one, two = real.chunk(2, -1)
        gated = F.silu(one) * two if left else one * F.silu(two)
    if mode:
        gated = gated * scale[group]
        step = gated.abs().amax(-1) / 127
        close(out_scale, step)
        near(y, to_int8(gated / step[:, None]))
    else:
        near(y, to_int8(gated / scale[group] + offset[group]))


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_swiglu_quant(lengths, mode):
    x = values(torch.float32, 10, 32)
    smooth, offsets = values(torch.float32, 2, 16, seed=6) * 10, values(torch.float32, 2, 16, seed=7)
    index = torch.tensor([4, 6] if lengths else [4, 10], dtype=torch.int32)
    y, scale = torch_npu.npu_swiglu_quant(
        x.npu(), smooth_scales=smooth.npu(), offsets=offsets.npu(), group_index=index.npu(), activate_left=True, quant_mode=mode,
        group_list_type=int(lengths), dst_type=torch.int8)
    group = torch.tensor([0] * 4 + [1] * 6)
    one, two = x.chunk(2, -1)
    want = F.silu(one) * two * smooth[group]
    if mode:
        factor = 127 / want.abs().amax(-1)
        close(scale, factor)
        near(y, to_int8(want * factor[:, None]))
    else:
        near(y, to_int8(want + offsets[group]))


@pytest.mark.parametrize("bias", [None, torch.arange(8, dtype=torch.int32), torch.arange(8).float()])
def test_dequant_bias(bias):
    x = torch.randint(-1000, 1000, (6, 8), generator=torch.Generator().manual_seed(3), dtype=torch.int32)
    weight, token = positive(8), positive(6, seed=6)
    got = torch_npu.npu_dequant_bias(x.npu(), weight.npu(), token.npu(), npu(bias), output_dtype=torch.float16)
    early = bias is not None and bias.dtype == torch.int32
    want = (x + bias if early else x).float() * weight * token[:, None]
    close(got, (want if bias is None or early else want + bias).half())


@pytest.mark.parametrize("rows", [1, 4])
def test_dynamic_block_quant(rows):
    x = values(torch.float16, 6, 150)
    y, scale = torch_npu.npu_dynamic_block_quant(x.npu(), dst_type=1, row_block_size=rows, col_block_size=128)
    want = torch.empty(6, 150)
    for top in range(0, 6, rows):
        for left in (0, 128):
            block = x[top : top + rows, left : left + 128].float()
            step = block.abs().max() / 127
            close(scale[top // rows, left // 128], step)
            want[top : top + rows, left : left + 128] = block / step
    near(y, to_int8(want))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_dynamic_mx_quant(dtype):
    x = values(torch.bfloat16, 4, 64)
    y, scale = torch_npu.npu_dynamic_mx_quant(x.npu(), dst_type=dtype)
    blocks = x.float().view(4, 2, 32)
    exponent = torch.floor(torch.log2(blocks.abs().amax(-1))) - (8 if dtype == torch.float8_e4m3fn else 15)
    assert (scale.cpu().view(torch.uint8).flatten().int() - 127).tolist() == exponent.flatten().int().tolist()
    largest = torch.finfo(dtype).max
    want = (blocks / 2 ** exponent[..., None]).clamp(-largest, largest).view(4, 64).to(dtype)
    close(y.cpu().float(), want.float())


def test_kronecker_quant():
    x, p1, p2 = values(torch.float16, 3, 8, 16), values(torch.float16, 8, 8, seed=6), values(torch.float16, 16, 16, seed=7)
    out, scale = torch_npu.npu_kronecker_quant(x.npu(), p1.npu(), p2.npu(), clip_ratio=0.5)
    product = p1.float() @ (x.float() @ p2.float())
    step = product.abs().amax((1, 2)) / (7 / 0.5)
    close(scale, step)
    close(out, pack((product / step[:, None, None]).round().clamp(-8, 7)))


# --- products

@pytest.mark.parametrize("depth", [40, 2100])  # beyond 1024 a float cannot hold the sum
@pytest.mark.parametrize("transposed", [False, True])
def test_quant_matmul_sums_exactly(depth, transposed):
    a, b, bias = bytes_(6, depth), bytes_(depth, 8, seed=6), torch.arange(8, dtype=torch.int32)
    weight = b.t().contiguous().npu().t() if transposed else b.npu()
    got = torch_npu.npu_quant_matmul(a.npu(), weight, torch.ones(1).npu(), bias=bias.npu(), output_dtype=torch.int32)
    close(got, a.int() @ b.int() + bias)


@pytest.mark.parametrize("dtype", HALVES)
def test_quant_matmul_per_token(dtype):
    a, b, scale, token = bytes_(6, 64), bytes_(64, 8, seed=6), positive(8) * 0.01, positive(6, seed=7)
    bias = values(dtype, 8, seed=8)
    got = torch_npu.npu_quant_matmul(a.npu(), b.npu(), scale.npu(), pertoken_scale=token.npu(), bias=bias.npu(), output_dtype=dtype)
    close(got, ((a.int() @ b.int()).float() * scale * token[:, None] + bias.float()).to(dtype))


def test_quant_matmul_to_half_and_int8():
    a, b, scale = bytes_(6, 64), bytes_(64, 8, seed=6), positive(8) * 0.01
    want = (a.int() @ b.int()).float() * fixed_pipe(scale)
    close(torch_npu.npu_quant_matmul(a.npu(), b.npu(), scale.npu(), output_dtype=torch.float16), want.half())
    offset = torch.arange(8).float()
    near(torch_npu.npu_quant_matmul(a.npu(), b.npu(), scale.npu(), offset=offset.npu()), to_int8(want + offset))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("groups", [0, 2])
def test_weight_quant_batchmatmul(dtype, groups):
    x, weight = values(dtype, 6, 64), bytes_(64, 8)
    shape = (groups, 8) if groups else (8,)
    scale, offset, bias = positive(*shape).to(dtype), values(dtype, *shape, seed=6), values(torch.float32, 8, seed=7)
    bias = bias.to(dtype) if dtype == torch.float16 else bias
    got = torch_npu.npu_weight_quant_batchmatmul(x.npu(), weight.npu(), scale.npu(), antiquant_offset=offset.npu(), bias=bias.npu(), antiquant_group_size=32 if groups else 0)
    spread = (lambda t: t.float().repeat_interleave(32, 0)) if groups else (lambda t: t.float())
    want = x.float() @ ((weight.float() + spread(offset)) * spread(scale)) + bias.float()
    close(got, want.to(dtype), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lengths", [False, True])
def test_grouped_matmul_rows(dtype, lengths):
    x, weight = values(dtype, 10, 16), values(dtype, 3, 16, 8, seed=6)
    ends = [4, 4, 10]
    index = torch.tensor([4, 0, 6] if lengths else ends)
    got = torch_npu.npu_grouped_matmul([x.npu()], [weight.npu()], group_list=index.npu(), split_item=3, group_type=0, group_list_type=int(lengths))
    group = torch.tensor([0] * 4 + [2] * 6)
    want = torch.einsum("mk,mkn->mn", x.float(), weight[group].float())
    close(got[0], want.to(dtype), rtol=2e-2, atol=2e-2)


def test_grouped_matmul_lists():
    x = [values(torch.float16, m, 16, seed=m) for m in (3, 5)]
    weight = [values(torch.float16, 16, n, seed=n) for n in (8, 4)]
    bias = [values(torch.float16, n, seed=n + 1) for n in (8, 4)]
    got = torch_npu.npu_grouped_matmul(
        [t.npu() for t in x], [t.npu() for t in weight], bias=[t.npu() for t in bias], group_list=None, split_item=0, group_type=-1)
    for y, a, b, c in zip(got, x, weight, bias):
        close(y, (a.float() @ b.float() + c.float()).half())


def test_grouped_matmul_depth():
    x, weight = values(torch.float16, 10, 6), values(torch.float16, 10, 8, seed=6)
    index = torch.tensor([4, 4, 10])
    got = torch_npu.npu_grouped_matmul([x.npu().t()], [weight.npu()], group_list=index.npu(), split_item=3, group_type=2)
    want = torch.stack([x[:4].t().float() @ weight[:4].float(), torch.zeros(6, 8), x[4:].t().float() @ weight[4:].float()])
    close(got[0], want.half(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", HALVES)
def test_grouped_matmul_int8(dtype):
    x, weight, token = bytes_(10, 32), bytes_(3, 32, 8, seed=6), positive(10)
    scale = positive(3, 8, seed=7).to(torch.bfloat16 if dtype == torch.bfloat16 else torch.float32) * 0.01
    got = torch_npu.npu_grouped_matmul(
        [x.npu()], [weight.npu()], scale=[scale.npu()], per_token_scale=[token.npu()], group_list=torch.tensor([4, 4, 10]).npu(),
        split_item=3, group_type=0, output_dtype=dtype)
    group = torch.tensor([0] * 4 + [2] * 6)
    sums = torch.einsum("mk,mkn->mn", x.int(), weight[group].int()).float()
    close(got[0], (sums * scale[group].float() * token[:, None]).to(dtype))


def test_grouped_matmul_dequantises_weights():
    x, weight = values(torch.float16, 10, 32), bytes_(2, 32, 8)
    scale, offset = positive(2, 8).half(), values(torch.float16, 2, 8, seed=6)
    got = torch_npu.npu_grouped_matmul(
        [x.npu()], [weight.npu()], antiquant_scale=[scale.npu()], antiquant_offset=[offset.npu()],
        group_list=torch.tensor([4, 10]).npu(), split_item=3, group_type=0)
    group = torch.tensor([0] * 4 + [1] * 6)
    real = (weight.float() + offset.float()[:, None]) * scale.float()[:, None]
    close(got[0], torch.einsum("mk,mkn->mn", x.float(), real[group]).half(), rtol=1e-2, atol=1e-2)


def test_grouped_matmul_add():
    x, weight, y = values(torch.float16, 10, 6), values(torch.float16, 10, 8, seed=6), values(torch.float32, 2 * 6, 8, seed=7)
    out = y.npu()
    torch_npu.npu_grouped_matmul_add_(out, x.npu(), weight.npu(), torch.tensor([4, 10]).npu(), transpose_x=True, transpose_weight=False, group_type=2)
    products = torch.cat([x[:4].t().float() @ weight[:4].float(), x[4:].t().float() @ weight[4:].float()])
    close(out, y + products)


@pytest.mark.parametrize("activation", ["relu", "silu", "fastgelu"])
def test_ffn_of_experts(activation):
    x, w1, w2 = values(torch.float16, 10, 16), values(torch.float16, 2, 16, 8, seed=6), values(torch.float16, 2, 8, 16, seed=7)
    b1, b2 = values(torch.float16, 2, 8, seed=8), values(torch.float16, 2, 16, seed=9)
    got = torch_npu.npu_ffn(x.npu(), w1.npu(), w2.npu(), activation, expert_tokens=[4, 6], bias1=b1.npu(), bias2=b2.npu(), inner_precise=1)
    act = {"relu": F.relu, "silu": F.silu, "fastgelu": lambda t: t * torch.sigmoid(1.702 * t)}[activation]
    want = [act(part.float() @ w1[i].float() + b1[i].float()) @ w2[i].float() + b2[i].float() for i, part in enumerate(x.split([4, 6]))]
    close(got, torch.cat(want).half(), rtol=5e-3, atol=5e-3)


def test_grouped_matmul_refuses_a_list_that_goes_too_far():
    x, weight = values(torch.float16, 10, 16), values(torch.float16, 2, 16, 8)
    with pytest.raises(RuntimeError):
        torch_npu.npu_grouped_matmul([x.npu()], [weight.npu()], group_list=torch.tensor([4, 11]).npu(), split_item=3, group_type=0)
        torch.npu.synchronize()


@pytest.mark.parametrize("static", [False, True])
def test_quant_matmul_dequant(static):
    x, weight, scale = values(torch.float16, 6, 64), bytes_(64, 8), positive(8)
    x_scale = torch.tensor([0.03]) if static else None
    got = torch_npu.npu_quant_matmul_dequant(x.npu(), weight.t().contiguous().npu(), scale.npu(), x_scale=npu(x_scale), quant_mode="pertensor" if static else "pertoken")
    step = x_scale[:, None] if static else x.float().abs().amax(-1, keepdim=True) / 127
    close(got, (to_int8(x.float() / step).float() @ weight.float() * scale * step).half(), rtol=1e-2, atol=1e-1)


def test_quant_grouped_matmul_dequant():
    x, weight, scale = values(torch.float16, 10, 64), bytes_(2, 64, 8), positive(2, 8)
    got = torch_npu.npu_quant_grouped_matmul_dequant(x.npu(), weight.transpose(1, 2).contiguous().npu(), scale.npu(), torch.tensor([4, 10]).npu())
    step = x.float().abs().amax(-1, keepdim=True) / 127
    group = torch.tensor([0] * 4 + [1] * 6)
    sums = torch.einsum("mk,mkn->mn", to_int8(x.float() / step).float(), weight[group].float())
    close(got, (sums * scale[group] * step).half(), rtol=1e-2, atol=1e-1)


@pytest.mark.parametrize("approximate", ["gelu_erf", "gelu_tanh"])
def test_quant_matmul_gelu(approximate):
    a, b, token, scale = bytes_(6, 64), bytes_(64, 8, seed=6), positive(6) * 0.01, positive(8, seed=7)
    got = torch_npu.npu_quant_matmul_gelu(a.npu(), b.npu(), token.npu(), scale.npu(), approximate=approximate)
    product = (a.int() @ b.int()).float() * scale * token[:, None]
    want = F.gelu(product, approximate="tanh" if approximate == "gelu_tanh" else "none")
    close(got, want.to(got.dtype), rtol=1e-2, atol=1e-3)


def test_grouped_matmul_swiglu_quant():
    x, weight, scale, token = bytes_(10, 32), bytes_(2, 32, 16, seed=6), positive(2, 16), positive(10, seed=7) * 0.01
    y, out_scale, _ = torch_npu.npu_grouped_matmul_swiglu_quant(x.npu(), weight.npu(), torch.tensor([4, 10]).npu(), scale.npu(), token.npu())
    group = torch.tensor([0] * 4 + [1] * 6)
    product = torch.einsum("mk,mkn->mn", x.int(), weight[group].int()).float() * scale[group] * token[:, None]
    one, two = product.chunk(2, -1)
    gated = F.silu(one) * two
    step = gated.abs().amax(-1) / 127
    close(out_scale, step)
    near(y, to_int8(gated / step[:, None]))


def test_grouped_matmul_finalize_routing():
    x, weight, scale, token = bytes_(8, 32), bytes_(2, 32, 16, seed=6), positive(2, 16) * 0.01, positive(8, seed=7)
    shared, logit = values(torch.bfloat16, 2, 16, seed=8), positive(8, seed=9)
    row = torch.tensor([0, 1, 2, 3, 3, 2, 1, 0])
    got = torch_npu.npu_grouped_matmul_finalize_routing(
        x.npu(), weight.npu(), torch.tensor([3, 5]).npu(), scale=scale.npu(), pertoken_scale=token.npu(), shared_input=shared.npu(),
        logit=logit.npu(), row_index=row.npu(), shared_input_weight=0.5, shared_input_offset=1, output_bs=4, group_list_type=1)
    group = torch.tensor([0] * 3 + [1] * 5)
    product = torch.einsum("mk,mkn->mn", x.int(), weight[group].int()).float() * scale[group] * token[:, None] * logit[:, None]
    want = torch.zeros(4, 16).index_add_(0, row, product)
    want[1:3] += 0.5 * shared.float()
    close(got, want.to(got.dtype))

# SPDX-License-Identifier: Apache-2.0
"""torch_npu's own normalisations, plain, fused and quantised, against formulas written in plain torch."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def values(dtype, *shape, seed=7):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(got, want, **tolerance):
    torch.testing.assert_close(got.cpu(), want, **tolerance)


def rms(x, gamma, eps=1e-6, offset=0.0):
    """In float: the normalised values and 1 / rms."""
    wide = x.float()
    rstd = (wide.square().mean(-1, keepdim=True) + eps).rsqrt()
    return wide * rstd * (gamma.float() + offset), rstd


def quantized(value, scale, zero=0.0, divide=True):
    value = value / scale.float() if divide else value * scale.float()
    return (value + zero).round().clamp(-128, 127).to(torch.int8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norm_and_its_gradient_follow_the_formula(dtype):
    x, gamma, dy = values(dtype, 3, 5, 32), values(dtype, 32, seed=1), values(dtype, 3, 5, 32, seed=2)
    y, rstd = torch_npu.npu_rms_norm(x.npu(), gamma.npu(), 1e-6)
    want, want_rstd = rms(x, gamma)
    close(y, want.to(dtype))
    close(rstd, want_rstd)
    leaves = [x.float().requires_grad_(), gamma.float().requires_grad_()]
    dx, dgamma = torch.autograd.grad(rms(*leaves)[0], leaves, dy.float())
    got_dx, got_dgamma = torch_npu.npu_rms_norm_backward(dy.npu(), x.npu(), gamma.npu(), rstd)
    close(got_dx, dx.to(dtype))
    close(got_dgamma, dgamma, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemma_rms_norm_multiplies_by_one_more_than_gamma(dtype):
    x, gamma = values(dtype, 4, 32), values(dtype, 32, seed=1)
    y, rstd = torch_npu.npu_gemma_rms_norm(x.npu(), gamma.npu(), 1e-6)
    want, want_rstd = rms(x, gamma, offset=1)
    close(y, want.to(dtype))
    close(rstd, want_rstd)


@pytest.mark.parametrize("dtype", DTYPES)
def test_add_rms_norm_returns_the_sum_and_normalises_it(dtype):
    a, b, gamma = values(dtype, 4, 32), values(dtype, 4, 32, seed=2), values(dtype, 32, seed=1)
    y, rstd, x = torch_npu.npu_add_rms_norm(a.npu(), b.npu(), gamma.npu(), 1e-6)
    want, want_rstd = rms(a + b, gamma)
    close(x, a + b)
    close(y, want.to(dtype))
    close(rstd, want_rstd)


def test_add_rms_norm_in_place_writes_both_operands():
    a, b, gamma = values(torch.float16, 4, 32), values(torch.float16, 4, 32, seed=2), values(torch.float16, 32, seed=1)
    x1, x2 = a.npu(), b.npu()
    rstd = torch_npu.npu_add_rms_norm_v2(x1, x2, gamma.npu(), 1e-6)
    want, want_rstd = rms(a + b, gamma)
    close(x1, want.half())
    close(x2, a + b)
    close(rstd, want_rstd)


@pytest.mark.parametrize("dtype", DTYPES)
def test_add_layer_norm_and_its_gradient(dtype):
    a, b = values(dtype, 4, 6, 32), values(dtype, 4, 6, 32, seed=2)
    gamma, beta, dy = values(dtype, 32, seed=1), values(dtype, 32, seed=3), values(dtype, 4, 6, 32, seed=4)
    y, mean, rstd, x = torch_npu.npu_add_layer_norm(a.npu(), b.npu(), gamma.npu(), beta.npu(), 1e-5, True)
    total = a.float() + b.float()
    close(y, F.layer_norm(total, (32,), gamma.float(), beta.float(), 1e-5).to(dtype))
    close(mean, total.mean(-1, keepdim=True))
    close(x, total.to(dtype))
    leaves = [total.requires_grad_(), gamma.float().requires_grad_(), beta.float().requires_grad_()]
    want = torch.autograd.grad(F.layer_norm(leaves[0], (32,), *leaves[1:], 1e-5), leaves, dy.float())
    dx, dx2, dgamma, dbeta = torch_npu.npu_add_layer_norm_backward(dy.npu(), a.npu(), b.npu(), rstd, mean, gamma.npu(), None)
    close(dx, want[0].to(dtype))
    close(dx2, want[0].to(dtype))  # the two were added, so they have one gradient
    close(dgamma, want[1], rtol=1e-4, atol=1e-4)
    close(dbeta, want[2], rtol=1e-4, atol=1e-4)


def test_deep_norm_and_its_gradient():
    x, gx, gamma, beta, dy = (values(torch.float32, *shape, seed=i)
                              for i, shape in enumerate([(4, 32), (4, 32), (32,), (32,), (4, 32)]))
    mean, rstd, y = torch_npu.npu_deep_norm(x.npu(), gx.npu(), beta.npu(), gamma.npu(), 0.3, 1e-6)
    leaves = [t.clone().requires_grad_() for t in (x, gx, beta, gamma)]
    want = F.layer_norm(0.3 * leaves[0] + leaves[1], (32,), leaves[3], leaves[2], 1e-6)
    close(y, want.detach())
    close(mean, (0.3 * x + gx).mean(-1, keepdim=True))
    got = torch_npu.npu_deep_norm_backward(dy.npu(), x.npu(), gx.npu(), gamma.npu(), mean, rstd, 0.3)
    for a, b in zip(got, torch.autograd.grad(want, leaves, dy)):
        close(a, b, rtol=1e-4, atol=1e-5)


def test_group_norm_silu_and_swish_and_the_gradient():
    x, gamma, beta, dy = (values(torch.float32, *shape, seed=i) for i, shape in enumerate([(2, 8, 5, 5), (8,), (8,), (2, 8, 5, 5)]))
    silu, mean, rstd = torch_npu.npu_group_norm_silu(x.npu(), gamma.npu(), beta.npu(), 4, 1e-5)
    leaves = [t.clone().requires_grad_() for t in (x, gamma, beta)]
    close(silu, F.silu(F.group_norm(x, 4, gamma, beta)))
    close(mean, x.reshape(2, 4, -1).mean(-1))

    def swish(value, w, b):
        normal = F.group_norm(value, 4, w, b)
        return normal * torch.sigmoid(1.5 * normal)
    y, mean, rstd = torch_npu.npu_group_norm_swish(x.npu(), 4, gamma.npu(), beta.npu(), eps=1e-5, swish_scale=1.5)
    want = swish(*leaves)
    close(y, want.detach())
    got = torch_npu.npu_group_norm_swish_grad(dy.npu(), x.npu(), 4, gamma.npu(), beta.npu(), mean, rstd, [True] * 3, swish_scale=1.5)
    for a, b in zip(got, torch.autograd.grad(want, leaves, dy)):
        close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("divide", [True, False])
def test_rms_norm_quant_rounds_and_saturates(divide):
    x, gamma, beta = values(torch.float16, 4, 32), values(torch.float16, 32, seed=1), values(torch.float16, 32, seed=3)
    scale, offset = torch.tensor([0.02 if divide else 50.0]).half(), torch.tensor([3], dtype=torch.int8)
    want = quantized(rms(x, gamma)[0] + beta.float(), scale, 3, divide)
    assert (want == 127).any()
    got, _ = torch_npu.npu_rms_norm_quant_v2(x.npu(), gamma.npu(), scale.npu(), offset=offset.npu(), beta=beta.npu(), epsilon=1e-6,
                                             div_mode=divide)
    close(got, want)
    if divide:
        close(torch_npu.npu_rms_norm_quant(x.npu(), gamma.npu(), beta.npu(), scale.npu(), offset.npu(), 1e-6), want)


def test_add_rms_norm_quant():
    a, b, gamma = values(torch.float16, 4, 32), values(torch.float16, 4, 32, seed=2), values(torch.float16, 32, seed=1)
    scale = (values(torch.float32, 32, seed=5).abs() / 20 + 0.01)
    zero = torch.arange(32, dtype=torch.int32)
    y1, y2, x = torch_npu.npu_add_rms_norm_quant(a.npu(), b.npu(), gamma.npu(), scale.npu(), zero.npu(), epsilon=1e-6)
    close(x, a + b)
    close(y1, quantized(rms(a + b, gamma)[0], scale, zero))
    close(y2, quantized(rms(a + b, gamma)[0], torch.ones(32), torch.zeros(32)))  # no scales2: 1


def test_add_rms_norm_dynamic_quant_scales_each_row_to_its_largest():
    a, b, gamma = values(torch.float16, 4, 32), values(torch.float16, 4, 32, seed=2), values(torch.float16, 32, seed=1)
    smooth = values(torch.float16, 32, seed=6).abs() + 0.5
    y1, _, x, scale1, _ = torch_npu.npu_add_rms_norm_dynamic_quant(a.npu(), b.npu(), gamma.npu(), smooth_scale1=smooth.npu(), epsilon=1e-6)
    value = rms(a + b, gamma)[0] * smooth.float()
    scale = value.abs().amax(-1) / 127
    close(x, a + b)
    close(scale1, scale)
    close(y1, (value / scale.unsqueeze(-1)).round().to(torch.int8), rtol=0, atol=1)  # a tie may fall either way


def test_parts_of_a_synchronised_batch_norm():
    x = values(torch.float32, 6, 4, 5, 5)
    total, squares = torch_npu.batch_norm_reduce(x.npu(), 1e-5)
    close(total, x.sum((0, 2, 3)), rtol=1e-5, atol=1e-4)
    close(squares, x.square().sum((0, 2, 3)), rtol=1e-5, atol=1e-4)
    halves = [x[:2], x[2:]]
    sums = torch.stack([h.sum((0, 2, 3)) for h in halves])
    square_sums = torch.stack([h.square().sum((0, 2, 3)) for h in halves])
    counts = torch.tensor([h.numel() // 4 for h in halves], dtype=torch.int32)
    running_mean, running_var = torch.zeros(4).npu(), torch.ones(4).npu()
    mean, invstd = torch_npu.batch_norm_gather_stats_update(x.npu(), sums.npu(), square_sums.npu(), running_mean, running_var,
                                                            0.1, 1e-5, counts.npu())
    want = torch.nn.BatchNorm2d(4)
    want(x)
    close(mean, x.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)
    close(invstd, (x.var((0, 2, 3), correction=0) + 1e-5).rsqrt(), rtol=1e-4, atol=1e-5)
    close(running_mean, want.running_mean, rtol=1e-4, atol=1e-5)
    close(running_var, want.running_var, rtol=1e-4, atol=1e-5)

# SPDX-License-Identifier: Apache-2.0
"""Quantisation by blocks, called as a C program calls it, against the pages' formulas in plain torch."""

import math

import pytest
import torch
import torch.nn.functional as F
from aclnn_calls import room

SEED = torch.Generator().manual_seed(5)
E4, E5, E8 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
LARGEST, EMAX = {E4: 448.0, E5: 57344.0}, {E4: 8, E5: 15}


def values(*shape, dtype=torch.bfloat16):
    return (torch.randn(*shape, generator=SEED) * torch.rand(*shape, generator=SEED).mul(8).sub(4).exp2()).to(dtype)


def exponent(largest, kind, algorithm):
    """The biased exponent of a block's scale."""
    if algorithm == 0:
        return 0 if largest == 0 else max(math.floor(math.log2(largest)) - EMAX[kind] + 127, 0)
    fraction, power = math.frexp(torch.tensor(largest / LARGEST[kind], dtype=torch.float32).item())
    return 0 if fraction == 0 else power - 1 + (fraction != 0.5) + 127


def mx(x, axis, kind, algorithm, least=0.0):
    """The values as floats of the type, and the scales in pairs, as bytes."""
    axis %= x.dim()
    lines = x.float().movedim(axis, -1)
    size, y = lines.shape[-1], torch.empty_like(lines)
    pairs = ((size + 31) // 32 + 1) // 2
    scales = torch.zeros(*lines.shape[:-1], pairs * 2, dtype=torch.uint8)
    for place in range((size + 31) // 32):
        block = lines[..., place * 32:place * 32 + 32]
        for index in torch.cartesian_prod(*[torch.arange(n) for n in lines.shape[:-1]]).reshape(-1, lines.dim() - 1).tolist():
            index = tuple(index)
            power = exponent(max(block[index].abs().max().item(), least), kind, algorithm)
            scales[(*index, place)] = power
            y[(*index, slice(place * 32, place * 32 + 32))] = (block[index] * 2.0 ** (127 - power)).clamp(-LARGEST[kind], LARGEST[kind])
    return y.movedim(-1, axis).to(kind), scales.unflatten(-1, (pairs, 2)).movedim(-2, axis).contiguous()


def same(y, scale, want):
    assert y.view(torch.uint8).equal(want[0].contiguous().view(torch.uint8))
    assert scale.view(torch.uint8).equal(want[1])


def rooms(x, axis, kind):
    axis %= x.dim()
    shape = [*x.shape, 2]
    shape[axis] = ((x.shape[axis] + 31) // 32 + 1) // 2
    return room(*x.shape, dtype=kind), room(*shape, dtype=E8)


@pytest.mark.parametrize("kind, number", [(E4, 36), (E5, 35)])
@pytest.mark.parametrize("algorithm", [0, 1])
@pytest.mark.parametrize("shape, axis", [((3, 96), -1), ((70, 4), 0), ((2, 40, 3), 1)])
def test_along_any_axis(aclnn, kind, number, algorithm, shape, axis):
    x = values(*shape)
    for name, more in (("aclnnDynamicMxQuant", []), ("aclnnDynamicMxQuantV2", [0.0]), ("aclnnDynamicMxQuantV3", [0.0, 0.0])):
        y, scale = rooms(x, axis, kind)
        aclnn.run(name, x, axis, "rint", number, 32, algorithm, *more, y, scale)
        same(y, scale, mx(x, axis, kind, algorithm))
    back = room(*shape)
    aclnn.run("aclnnAntiMxQuant", y, scale, axis, 0, back)
    torch.testing.assert_close(back, x.float(), rtol=0.13 if kind is E4 else 0.26, atol=x.abs().max().item() / 2**10)


def test_a_lower_bound_of_the_largest_value(aclnn):
    x = values(2, 64) * 1e-3
    y, scale = rooms(x, -1, E4)
    aclnn.run("aclnnDynamicMxQuantV3", x, -1, None, 36, 32, 1, 0.0, 0.5, y, scale)
    same(y, scale, mx(x, -1, E4, 1, 0.5))


@pytest.mark.parametrize("name, more", [("aclnnDynamicMxQuantWithDualAxis", []), ("aclnnDynamicMxQuantWithDualAxisV2", [0.0])])
def test_along_both_axes(aclnn, name, more):
    x = values(2, 40, 36, dtype=torch.float16)
    y1, scale1 = rooms(x, -1, E5)
    y2, scale2 = rooms(x, -2, E5)
    aclnn.run(name, x, "rint", 35, 0, *more, y1, scale1, y2, scale2)
    same(y1, scale1, mx(x, -1, E5, 0))
    same(y2, scale2, mx(x, -2, E5, 0))


def test_square_blocks(aclnn):
    x = values(40, 70)
    y, scale1 = rooms(x, -1, E4)
    scale2 = rooms(x, -2, E4)[1]
    aclnn.run("aclnnDynamicBlockMxQuant", x, "rint", 36, 0, 0.0, y, scale1, scale2)
    padded = F.pad(x.float(), (0, 26, 0, 24)).view(2, 32, 3, 32)
    powers = torch.tensor([[exponent(padded[i, :, j].abs().max().item(), E4, 0) for j in range(3)] for i in range(2)])
    spread = powers.repeat_interleave(32, 0)[:40].repeat_interleave(32, 1)[:, :70]
    assert y.view(torch.uint8).equal((x.float() * (127 - spread).float().exp2()).clamp(-448, 448).to(E4).view(torch.uint8))
    rows = F.pad(powers.repeat_interleave(32, 0)[:40], (0, 1)).view(40, 2, 2)
    columns = powers.repeat_interleave(32, 1)[:, :70].t().unsqueeze(0)
    assert scale1.view(torch.uint8).int().equal(rows.int()) and scale2.view(torch.uint8).int().equal(columns.int())


@pytest.mark.parametrize("name, more", [("aclnnGroupedDynamicMxQuant", []), ("aclnnGroupedDynamicMxQuantV2", [1, 0.0])])
def test_groups_begin_anew(aclnn, name, more):
    x, ends = values(80, 5), torch.tensor([33, 80], dtype=torch.int32)
    y, scale = room(80, 5, dtype=E4), room(80 // 64 + 2, 5, 2, dtype=E8)
    aclnn.run(name, x, ends, "rint", 36, 32, *more, y, scale)
    algorithm = 1 if more else 0
    parts = [mx(x[:33], 0, E4, algorithm), mx(x[33:], 0, E4, algorithm)]
    scales = torch.cat([part[1] for part in parts] + [torch.zeros(1, 5, 2, dtype=torch.uint8)])
    same(y, scale, (torch.cat([part[0].view(torch.uint8) for part in parts]).view(E4), scales))


@pytest.mark.parametrize("name, more", [("aclnnGroupedDynamicBlockQuant", []), ("aclnnGroupedDynamicBlockQuantV2", [0.0])])
def test_blocks_of_groups(aclnn, name, more):
    x, ends = values(200, 130), torch.tensor([150, 200], dtype=torch.int32)
    y, scale = room(200, 130, dtype=E5), room(200 // 128 + 2, 2)
    aclnn.run(name, x, ends, 0.0, "rint", 35, 128, 128, 0, *more, y, scale)
    want = torch.empty(200, 130)
    steps = torch.zeros(3, 2)
    for row, (begin, end) in enumerate(((0, 128), (128, 150), (150, 200))):
        for column in range(2):
            part = x[begin:end, column * 128:column * 128 + 128].float()
            steps[row, column] = part.abs().max() / 57344
            want[begin:end, column * 128:column * 128 + 128] = part / steps[row, column]
    torch.testing.assert_close(scale, steps)
    torch.testing.assert_close(y.float(), want.to(E5).float(), rtol=0.26, atol=0)


def test_quant_max(aclnn):
    x = values(6, 8)
    y, most = room(6, 8, dtype=E4), room(1, dtype=torch.bfloat16)
    aclnn.run("aclnnQuantMax", x, torch.tensor([3.0]), "rint", 36, y, most)
    assert y.float().equal((x.float() * 3).clamp(-448, 448).to(E4).float()) and most.equal(x.abs().max().view(1))
    most = room(2, dtype=torch.bfloat16)
    aclnn.run("aclnnGroupedQuantMax", x, torch.tensor([3.0, 0.5]), torch.tensor([2, 6]), "rint", 36, y, most)
    want = torch.cat([x[:2].float() * 3, x[2:].float() * 0.5]).clamp(-448, 448).to(E4)
    assert y.float().equal(want.float()) and most.equal(torch.stack([x[:2].abs().max(), x[2:].abs().max()]))


def swiglu(x, left):
    a, b = x.float().chunk(2, -1)
    gate, up = (a, b) if left else (b, a)
    return F.silu(gate) * up


@pytest.mark.parametrize("left", [True, False])
def test_swiglu_then_blocks(aclnn, left):
    x = values(3, 128)
    want = swiglu(x, left)
    y, scale = rooms(want, -1, E4)
    aclnn.run("aclnnSwigluMxQuant", x, None, -1, left, 0, 0.0, 1.0, 0.0, 0, -1, 36, "rint", 1, 0.0, y, scale)
    same(y, scale, mx(want, -1, E4, 1))
    y1, scale1 = rooms(want, -1, E4)
    y2, scale2 = rooms(want, -2, E4)
    aclnn.run("aclnnSwigluMxQuantWithDualAxis", x, None, left, "rint", 0, 36, 0.0, y1, scale1, y2, scale2)
    same(y1, scale1, mx(want, -1, E4, 0))
    same(y2, scale2, mx(want, -2, E4, 0))


def test_swiglu_with_bounds(aclnn):
    x = values(3, 128)
    gate, up = x.float()[:, ::2].clamp(max=0.8), x.float()[:, 1::2].clamp(-0.8, 0.8)
    want = gate * torch.sigmoid(1.5 * gate) * (up + 0.25)
    y, scale = rooms(want, -1, E5)
    aclnn.run("aclnnSwigluMxQuant", x, None, 1, True, 1, 0.8, 1.5, 0.25, 0, -1, 35, None, 0, 0.0, y, scale)
    same(y, scale, mx(want, -1, E5, 0))


def test_swiglu_gradient_then_blocks(aclnn):
    x, grad = values(70, 64), values(70, 32)
    wide = x.float().requires_grad_()
    want = torch.autograd.grad(swiglu(wide, True), wide, grad.float())[0]
    y1, scale1 = rooms(want, -1, E4)
    y2, scale2 = room(70, 64, dtype=E4), room(70 // 64 + 2, 64, 2, dtype=E8)
    aclnn.run("aclnnSwigluBackwardMxQuantWithDualAxis", x, grad, torch.tensor([40, 70]), True, "rint", 1, 36, 0.0, y1, scale1, y2, scale2)
    got = torch.ldexp(y1.float(), scale1.view(torch.uint8).int().flatten(1).repeat_interleave(32, 1)[:, :64] - 127)
    torch.testing.assert_close(got, want, rtol=0.07, atol=want.abs().max().item() / 2**10)
    powers = torch.cat([scale2.view(torch.uint8)[0].t(), scale2.view(torch.uint8)[1].t()])  # two blocks of each group
    spread = torch.cat([powers[0].expand(32, 64), powers[1].expand(8, 64), powers[2].expand(30, 64)]).int()
    torch.testing.assert_close(torch.ldexp(y2.float(), spread - 127), want, rtol=0.07, atol=want.abs().max().item() / 2**10)


@pytest.mark.parametrize("rounded", [False, True])
def test_swiglu_of_groups(aclnn, rounded):
    x, weight = values(4, 512), torch.rand(4, 1, generator=SEED)
    value = swiglu(x, True)[:3] * weight[:3]
    step = value.view(3, 2, 128).abs().amax(-1).clamp(min=1e-4) / 448
    if rounded:
        step = step.log2().ceil().exp2()
    y, scale = room(4, 256, dtype=E4), room(4, 2)
    aclnn.run("aclnnSwigluGroupQuant", x, weight, torch.tensor([1, 2]), None, 36, 0, 128, rounded, -1.0, 0.0, False, y, scale, None)
    torch.testing.assert_close(scale[:3], step)
    torch.testing.assert_close(y[:3].float(), (value.view(3, 2, 128) / step[..., None]).view(3, 256), rtol=0.07, atol=0.01)
    assert y[3].view(torch.uint8).eq(77).all() and scale[3].eq(77).all()
    y, scale = room(4, 256, dtype=E4), room(4, 4, 2, dtype=E8)
    aclnn.run("aclnnSwigluGroupQuant", x, weight, None, None, 36, 1, 0, True, -1.0, 0.0, False, y, scale, None)
    same(y, scale, mx(swiglu(x, True) * weight, -1, E4, 1, 1e-4))


def test_rotated(aclnn):
    x, rotation = values(5, 64), torch.linalg.qr(torch.randn(32, 32, generator=SEED))[0].bfloat16()
    turned = (x.float().view(5, 2, 32) @ rotation.float()).view(5, 64)
    y, scale = room(5, 64, dtype=torch.int8), room(5)
    aclnn.run("aclnnRotateQuant", x, rotation, None, -1, None, 0, 0.0, False, y, scale)
    torch.testing.assert_close(scale, turned.abs().amax(-1) / 127)
    assert (y.float() - turned / scale[:, None]).abs().max() <= 0.501
    bound = turned.view(5, 2, 32).abs().amax(-1, keepdim=True) * 0.5
    clipped = turned.view(5, 2, 32).clamp(-bound, bound).view(5, 64)
    y, scale = rooms(x, -1, E4)
    aclnn.run("aclnnRotateQuant", x, rotation, torch.tensor([0.5]).bfloat16(), -1, "rint", 1, 0.0, False, y, scale)
    got = torch.ldexp(y.float(), scale.view(torch.uint8).int().flatten(1).repeat_interleave(32, 1)[:, :64] - 127)
    torch.testing.assert_close(got, clipped, rtol=0.07, atol=clipped.abs().max().item() / 2**10)


def test_flat_quant_v2_is_flat_quant(aclnn):
    x, p1, p2 = (torch.randn(*shape, generator=SEED).half() for shape in ((3, 4, 8), (4, 4), (8, 8)))
    results = []
    for name, more in (("aclnnFlatQuant", []), ("aclnnFlatQuantV2", [0.0])):
        results.append((room(3, 4, 1, dtype=torch.int32), room(3)))
        aclnn.run(name, x, p1, p2, 0.9, *more, *results[-1])
    assert results[0][0].equal(results[1][0]) and results[0][1].equal(results[1][1])
    torch.testing.assert_close(results[0][1], (p1.float() @ x.float() @ p2.float()).abs().amax((1, 2)) * 0.9 / 7, rtol=1e-4, atol=1e-4)


def test_rms_norm_dynamic_quant(aclnn):
    x, gamma, smooth, beta = values(5, 16), values(16), values(16), values(16)
    want = x.float() * (x.float().square().mean(-1, keepdim=True) + 1e-6).rsqrt() * gamma.float() + beta.float()
    want = want * smooth.float()
    y, scale = room(5, 16, dtype=torch.int8), room(5)
    aclnn.run("aclnnRmsNormDynamicQuant", x, gamma, smooth, beta, 1e-6, 2, y, scale)
    torch.testing.assert_close(scale, want.abs().amax(-1) / 127)
    assert (y.float() - want / scale[:, None]).abs().max() <= 0.51


@pytest.mark.parametrize("change, says", [({2: "floor"}, "rint"), ({4: 64}, "blocksize"), ({5: 2}, "scaleAlg"), ({6: 6.0}, "largest value")])
def test_what_cannot_work_is_refused(aclnn, change, says):
    x = values(2, 64)
    arguments = [x, -1, "rint", 36, 32, 0, 0.0, 0.0, *rooms(x, -1, E4)]
    for place, given in change.items():
        arguments[place] = given
    code, said = aclnn.status("aclnnDynamicMxQuantV3", arguments)
    assert code != 0 and says in said, (code, said)

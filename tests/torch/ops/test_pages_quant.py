# SPDX-License-Identifier: Apache-2.0
"""Quantisation and GEMMs against the formulas of their own pages, in float64: ties, bounds, where a bias belongs, which values a scale is for."""

import math

import pytest
import torch
import torch.nn.functional as F
from aclnn_calls import room
from page_checks import drawing, near, refused, D

SEED, values, _ = drawing(31)
INF, NAN = math.inf, math.nan
BF16, HALF, I8, I32, I64 = torch.bfloat16, torch.float16, torch.int8, torch.int32, torch.int64
E4 = torch.float8_e4m3fn


def test_fake_quantisation_divides_by_its_scale(aclnn):
    scale, zero = torch.tensor([0.3]), torch.tensor([3], dtype=I32)
    x = torch.arange(-300, 301) * 0.5 * scale
    out, mask = room(601), room(601, dtype=torch.bool)
    steps = torch.round((x / scale).double()) + 3
    aclnn.run("aclnnFakeQuantPerTensorAffineCachemask", x, scale, zero, 1.0, -128, 127, out, mask)
    near(out, (steps.clamp(-128, 127) - 3) * D(scale))
    assert torch.equal(mask, (steps >= -128) & (steps <= 127))
    assert not torch.equal(steps, torch.round(x * (1 / scale)).double() + 3), "the case tells a product from a quotient"
    aclnn.run("aclnnFakeQuantPerTensorAffineCachemask", x, scale, zero, 0.5, -128, 127, out, mask)
    assert torch.equal(out, x)
    assert mask.all()
    x, scale, zero = x[:600].view(2, 300).t().contiguous(), torch.tensor([0.3, 0.1]), torch.tensor([3, 200], dtype=I32)
    out, mask = room(300, 2), room(300, 2, dtype=torch.bool)
    aclnn.run("aclnnFakeQuantPerChannelAffineCachemask", x, scale, zero, -1, -20, 100, out, mask)
    steps = torch.round((x / scale).double()) + zero
    near(out, (steps.clamp(-20, 100) - zero) * D(scale))
    assert torch.equal(mask, (steps >= -20) & (steps <= 100))
    refused(aclnn, "aclnnFakeQuantPerChannelAffineCachemask", [x, scale, zero, 0, -20, 100, out, mask], "axis 0 has size 300")
    refused(aclnn, "aclnnFakeQuantPerChannelAffineCachemask", [x, scale, zero, 1, 5, 4, out, mask], "above quantMax")


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("mode, dims, scales", [("pertoken", -1, (2, 4)), ("perchannel", -2, (2, 6)), ("pertensor", (0, 1, 2), (1,))])
def test_dynamic_quantisation_in_every_mode(aclnn, mode, dims, scales, symmetric):
    x, smooth = values(2, 4, 6).half(), (values(4 if mode == "perchannel" else 6).abs() + 0.5).half()
    wide = D(x) * (D(smooth).view(4, 1) if mode == "perchannel" else D(smooth))
    y, scale, offset = room(2, 4, 6, dtype=I8), room(*scales), None if symmetric else room(*scales)
    aclnn.run("aclnnDynamicQuantV3", x, smooth, None, 2, symmetric, mode, y, scale, offset)
    high, low = wide.amax(dims, keepdim=True), wide.amin(dims, keepdim=True)
    step = wide.abs().amax(dims, keepdim=True) / 127 if symmetric else (high - low) / 255
    shift = 0 if symmetric else 127 - high / step
    near(scale, step.reshape(scales))
    if not symmetric:
        near(offset, shift.reshape(scales))
    assert ((y.double() - (wide / step + shift)).abs() <= 0.5 + 1e-3).all()


def test_groups_go_with_smoothing_for_each_token(aclnn):
    x, groups = values(4, 6).half(), torch.tensor([1, 4], dtype=I32)
    y, scale = room(4, 6, dtype=I8), room(4)
    refused(aclnn, "aclnnDynamicQuantV2", [x, None, groups, 2, y, scale, None], "groupIndexOptional goes with")
    refused(aclnn, "aclnnDynamicQuantV3", [x, None, groups, 2, True, "pertoken", y, scale, None], "groupIndexOptional goes with")
    refused(aclnn, "aclnnDynamicQuantV4", [x, None, groups, 2, True, "pertoken", 0.0, y, scale, None], "groupIndexOptional goes with")
    refused(aclnn, "aclnnDynamicQuantV3", [x, x[:2].contiguous(), groups, 2, True, "pertensor", y, room(1), None], "groupIndexOptional goes with")


def test_rounding_that_a_type_does_not_have_is_refused(aclnn):
    x, scale = values(4, 8), torch.tensor([2.0])
    refused(aclnn, "aclnnAscendQuantV3", [x, scale, None, False, "floor", 36, -1, room(4, 8, dtype=E4)], "8-bit floats take round only")
    refused(aclnn, "aclnnDynamicBlockQuant", [x.half(), 0.0, "round", 2, 1, 128, room(4, 8, dtype=I8), room(4, 1)], "roundMode 'round'")
    refused(aclnn, "aclnnDynamicBlockQuantV2", [x.half(), 0.0, "round", 2, 1, 128, 0.0, room(4, 8, dtype=I8), room(4, 1)], "roundMode 'round'")
    refused(aclnn, "aclnnGeluQuant", [x, scale, None, "none", "static", "round", 2, room(4, 8, dtype=I8), None], "roundMode 'round'")


@pytest.mark.parametrize("sqrt_mode", [False, True])
@pytest.mark.parametrize("width, shape", [(1, (1,)), (8, (8,)), (4, (4,)), (4, (4, 1)), (8, (1, 8))])
@pytest.mark.parametrize("shifted", [False, True])
def test_the_inverse_of_a_quantisation(aclnn, width, shape, sqrt_mode, shifted):
    x, scale = torch.randint(-128, 128, (4, 8), generator=SEED).to(I8), values(width).view(shape)
    offset, y = values(width).view(shape) if shifted else None, room(4, 8, dtype=HALF)
    aclnn.run("aclnnAscendAntiQuant", x, scale, offset, 1, sqrt_mode, y)
    spread = lambda t: D(t).view(4, 1) if width == 4 else D(t)
    want = (D(x) + (spread(offset) if shifted else 0)) * spread(scale)
    near(y, want * spread(scale) if sqrt_mode else want, 1e-3)


def test_the_inverse_of_an_eight_bit_float(aclnn):
    x, y = values(4, 8).to(E4), room(4, 8, dtype=BF16)
    aclnn.run("aclnnAscendAntiQuant", x, torch.tensor([0.5]), None, 27, False, y)
    near(y, x.float() * 0.5)


@pytest.mark.parametrize("dtype, low, high", [(I8, -128, 127), (torch.uint8, 0, 255), (I32, -2**31, 2**31 - 1)])
def test_quantisation_by_division(aclnn, dtype, low, high):
    x = torch.tensor([[0.25, 0.75, -0.25, 1e30, -1e30, 63.5, 1.25, -INF]]).repeat(3, 1)
    scales, zeros = torch.tensor([0.5, 0.1, 2.0]), torch.tensor([1, 0, 2], dtype=I32)
    out = room(3, 8, dtype=dtype)
    aclnn.run("aclnnQuantize", x, scales, zeros, dtype, 0, out)
    want = torch.round((x / scales.view(3, 1) + zeros.view(3, 1)).double()).clamp(low, high)
    assert torch.equal(D(out), want)


def test_words_of_the_fixed_pipe(aclnn):
    scale, offset = torch.tensor([1.1, -0.3, 3e-5]), torch.tensor([3.5, -400.0, 255.7])
    bits = scale.view(I32).long() & 0xFFFFFFFF
    whole = [4, -256, 255]
    rounded = bits + 0xFFF + ((bits >> 13) & 1)
    for name, more, kept in [("aclnnTransQuantParamV2", (), bits), ("aclnnTransQuantParamV3", (0,), bits), ("aclnnTransQuantParamV3", (1,), rounded)]:
        for given in (None, offset):
            out = room(3, dtype=I64)
            aclnn.run(name, scale, given, *more, out)
            want = (kept & 0xFFFFE000) | (1 << 46)
            if given is not None:
                want = want | torch.tensor([(w & 0x1FF) << 37 for w in whole])
            assert torch.equal(out, want)


# GEMMs of quantised matrices

C = values(3, 5).half()
A8, B8 = torch.randint(-128, 128, (5, 12), generator=SEED).to(I8), torch.randint(-128, 128, (12, 7), generator=SEED).to(I8)


def words(scale):
    return (scale.view(I32).long() & 0xFFFFFFFF) | (1 << 46)


def five(aclnn, x1, x2, x1_scale, x2_scale, offset, bias, out, group=0):
    arguments = [x1, x2, x1_scale, x2_scale, None, None, offset, None, bias, False, False, group, out]
    return aclnn.status("aclnnQuantMatmulV5", arguments)


@pytest.mark.parametrize("token", [False, True])
@pytest.mark.parametrize("scale", ["one", "each"])
@pytest.mark.parametrize("bias", [None, I32, torch.float32])
def test_the_bias_of_a_quantised_gemm_is_where_its_type_says(aclnn, token, scale, bias):
    x2_scale = (values(1) if scale == "one" else values(7)).abs() / 50
    x1_scale = values(5).abs() + 0.5 if token else None
    shift = None if bias is None else (values(7) * 200).to(bias)
    out = room(5, 7, dtype=BF16)
    assert five(aclnn, A8, B8, x1_scale, x2_scale, None, shift, out)[0] == 0
    sums = D(A8) @ D(B8)
    factor = D(x2_scale) * (D(x1_scale).view(5, 1) if token else 1)
    want = (sums + D(shift)) * factor if bias == I32 else sums * factor + (0 if bias is None else D(shift))
    near(out, want, 1e-2)


def test_the_bias_of_eight_bit_floats_beside_words_is_scaled(aclnn):
    x1, x2, scale, bias, out = values(5, 12).to(E4), values(12, 7).to(E4), torch.full((7,), 0.25), values(7), room(5, 7)
    code, said = five(aclnn, x1, x2, None, words(scale), None, bias, out)
    assert code == 0, said
    near(out, (D(x1.float()) @ D(x2.float()) + D(bias)) * 0.25, 1e-4)
    code, said = five(aclnn, x1, x2, torch.tensor([2.0]), scale, None, bias, out)
    assert code == 0, said
    near(out, (D(x1.float()) @ D(x2.float())) * 0.5 + D(bias), 1e-4)


@pytest.mark.parametrize("x1_scale, x2_scale, offset, says", [
    (values(5), values(5, 7), None, "x2Scale has shape"),
    (values(5, 2), values(7), None, "x1Scale has shape"),
    (None, values(7), values(5), "x2Offset has shape"),
    (values(5), values(7), values(7).half(), "x2Offset"),
])
def test_factors_that_are_not_for_rows_and_columns_are_refused(aclnn, x1_scale, x2_scale, offset, says):
    code, said = five(aclnn, A8, B8, x1_scale, x2_scale, offset, None, room(5, 7, dtype=BF16))
    assert code != 0
    assert says in said


@pytest.mark.parametrize("mode", ["dynamic", "pertoken", "word"])
@pytest.mark.parametrize("smooth", [False, True])
def test_a_gemm_that_quantises_on_the_way(aclnn, mode, smooth):
    x, weight = values(5, 12).half(), torch.randint(-128, 128, (7, 12), generator=SEED).to(I8)
    w_scale = values(7).abs() / 100
    wide = D(x)
    more = (values(12).abs() + 0.5).half() if smooth else None
    if smooth:
        wide = wide * D(more)
    x_scale = {"dynamic": wide.abs().amax(-1) / 127, "pertoken": D(values(5).abs() / 50 + 0.01), "word": D(torch.tensor([0.02]).half())}[mode]
    given = {"dynamic": None, "pertoken": x_scale.float(), "word": x_scale.half()}[mode]
    scale = (w_scale * x_scale.float()).view(I32).long() if mode == "word" else w_scale
    x_scale = x_scale.float().double() if mode == "pertoken" else x_scale
    out = room(5, 7, dtype=HALF)
    aclnn.run("aclnnQuantMatmulDequant", x, weight, scale, None, given, None, more, "pertensor" if mode == "word" else "pertoken", True, out)
    stored = torch.round((wide / x_scale.view(-1, 1)).float()).clamp(-128, 127)
    near(out, D(stored) @ D(weight).T * D(w_scale) * x_scale.view(-1, 1), 2e-2)


@pytest.mark.parametrize("name, more", [("aclnnWeightQuantBatchMatmulV2", ()), ("aclnnWeightQuantBatchMatmulV3", (0,)), ("aclnnWeightQuantBatchMatmulNz", ())])
@pytest.mark.parametrize("depth, groups, size", [(96, 3, 32), (80, 3, 32), (96, 2, 64), (80, 1, 0)])
def test_groups_of_rows_have_the_size_that_is_told(aclnn, name, more, depth, groups, size):
    x, weight = values(5, depth).half(), torch.randint(-8, 8, (depth, 7), generator=SEED).to(I8)
    scale, offset, bias = values(groups, 7).half(), values(groups, 7).half(), values(7).half()
    y = room(5, 7, dtype=HALF)
    aclnn.run(name, x, weight, scale, offset, None, None, bias, size, *more, y)
    spread = lambda t: D(t).repeat_interleave(size or depth, 0)[:depth]
    want = D(x) @ ((D(weight) + spread(offset)) * spread(scale)) + D(bias)
    torch.testing.assert_close(D(y), want, rtol=2e-3, atol=2e-2)


def test_groups_that_do_not_make_the_weight_are_refused(aclnn):
    x, weight, scale = values(5, 80).half(), torch.randint(-8, 8, (80, 7), generator=SEED).to(I8), values(3, 7).half()
    for size in (0, 48):
        refused(aclnn, "aclnnWeightQuantBatchMatmulV2", [x, weight, scale, None, None, None, None, size, room(5, 7, dtype=HALF)], "groups of")


def test_a_weight_s_scale_may_be_a_word(aclnn):
    x, weight, scale, y = values(5, 64).half(), torch.randint(-128, 128, (64, 7), generator=SEED).to(I8), torch.full((1, 7), 0.125), room(5, 7, dtype=HALF)
    offset = torch.randint(-128, 128, (1, 7), generator=SEED).to(I32)
    aclnn.run("aclnnWeightQuantBatchMatmulV2", x, weight, words(scale), offset, None, None, None, 0, y)
    torch.testing.assert_close(D(y), D(x) @ ((D(weight) + D(offset)) * 0.125), rtol=2e-3, atol=2e-1)


@pytest.mark.parametrize("beta, alpha", [(1, 1), (0.5, -2), (0, 1), (1, 0)])
@pytest.mark.parametrize("batches", [(3, 3), (1, 3), (3, 1)])
def test_batches_of_one_serve_all(aclnn, beta, alpha, batches):
    a, b = values(batches[0], 2, 4), values(batches[1], 4, 5)
    row = torch.full((5,), NAN) if beta == 0 else values(5)
    product = D(a) @ D(b)
    bias = 0 if beta == 0 else beta * D(row)
    out = room(2, 5)
    aclnn.run("aclnnAddbmm", row, a, b, float(beta), float(alpha), out, 0)
    near(out, (bias + alpha * product.sum(0)).expand(2, 5))
    out = room(3, 2, 5)
    aclnn.run("aclnnBaddbmm", row, a, b, float(beta), float(alpha), out, 0)
    near(out, (bias + alpha * product).expand(3, 2, 5))


@pytest.mark.parametrize("split", [1, 3])
def test_a_batch_is_split_behind_its_gemm(aclnn, split):
    a, b = values(6, 2, 4), values(6, 4, 5)
    product = (D(a) @ D(b)).transpose(0, 1)
    want = product if split == 1 else product.reshape(2, split, 10).transpose(0, 1)
    out = room(*want.shape)
    aclnn.run("aclnnTransposeBatchMatMul", a, b, None, None, [0, 1, 2], [0, 1, 2], [1, 0, 2], 0, split, out)
    near(out, want)
    refused(aclnn, "aclnnTransposeBatchMatMul", [a, b, None, None, [0, 1, 2], [0, 1, 2], [1, 0, 2], 0, 4, room(4, 2, 7)], "batchSplitFactor is 4")


def test_a_quantised_batch_is_not_rounded_before(aclnn):
    a, b = torch.full((2, 3, 64), 40.0).half(), torch.full((2, 64, 5), 40.0).half()  # the sums are beyond the half type
    out = room(3, 1, 10, dtype=I8)
    aclnn.run("aclnnTransposeBatchMatMul", a, b, None, words(torch.full((10,), 2.0**-10)), [0, 1, 2], [0, 1, 2], [1, 0, 2], 0, 1, out)
    assert (out == 100).all()


@pytest.mark.parametrize("op, function", [
    ("", lambda p: p), ("relu", torch.relu), ("add", lambda p: p + D(C)), ("mul", lambda p: p * D(C)), ("gelu_erf", F.gelu),
    ("gelu_tanh", lambda p: F.gelu(p, approximate="tanh")),
])
def test_what_follows_a_gemm(aclnn, op, function):
    a, b, bias = values(3, 4).half(), values(4, 5).half(), values(5).half()
    out, gelu = room(3, 5, dtype=HALF), op.startswith("gelu")
    aclnn.run("aclnnFusedMatmul", a, b, None if gelu else bias, C if op in ("add", "mul") else None, op, 0, out)
    near(out, function(D(a) @ D(b) + (0 if gelu else D(bias))), 1e-3)
    if gelu:
        refused(aclnn, "aclnnFusedMatmul", [a, b, bias, None, op, 0, out], "takes no bias")

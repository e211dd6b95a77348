# SPDX-License-Identifier: Apache-2.0
"""Operators against the formulas of their own pages, written out in float64, at the values where PyTorch's function of that name may decide otherwise:
bounds, ties, zeros, infinities and NaN. docs/formulas.tsv names the pages that have been read."""

import math

import pytest
import torch
from aclnn_calls import room
from page_cases import ids, run_case

SEED = torch.Generator().manual_seed(29)
INF, NAN = math.inf, math.nan
EDGES = torch.tensor([-INF, -1e30, -4.0, -3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 4.0, 6.0, 20.0, 1e30, INF, NAN])
GRAD = torch.linspace(-2, 2, EDGES.numel())
WHERE = torch.where


def values(*shape):
    return torch.randn(*shape, generator=SEED)


def sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def silu(x):
    return WHERE(x == -INF, 0.0, x * sigmoid(x))


def erf_gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def tanh_gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def rms(x, eps):
    return torch.sqrt((x * x).mean(-1, keepdim=True) + eps)


def normal(x, eps, dims=(-1,)):
    mean, var = x.mean(dims, keepdim=True), x.var(dims, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps), mean, 1 / torch.sqrt(var + eps)


def fast_gelu_gradient(dy, x):
    e = torch.exp(-1.702 * x)
    return dy * ((1 / (e + 1) - 1) * -1.702 * x + 1) / (e + 1)


def elu_gradient(dy, alpha, scale, input_scale, is_result, x):
    below = input_scale * (x + alpha * scale) if is_result else input_scale * alpha * scale * torch.exp(x * input_scale)
    return dy * WHERE(x > 0, torch.full_like(x, scale), below)


def logit_gradient(x, dy, eps):
    inside = dy / (x * (1 - x))
    return WHERE((x < 0) | (x > 1), NAN, inside) if eps < 0 else WHERE((x < eps) | (x > 1 - eps), 0.0, inside)


def smooth_l1(x, y, beta):
    d = (x - y).abs()
    return WHERE(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)


def smooth_l1_gradient(dy, x, y, beta):
    d = x - y
    return dy * WHERE(d.abs() < beta, d / beta, d.sign())


def kl(x, t, log_target):
    if log_target:
        return torch.exp(t) * (t - x)
    return WHERE(t <= 0, NAN, t * (torch.log(t) - x))


def glu_gradient(dy, x):
    a, b = x.chunk(2, -1)
    left = dy * sigmoid(b)
    return torch.cat((left, left * (a - a * sigmoid(b))), -1)


def swiglu_gradient(dy, x):
    a, b = x.chunk(2, -1)
    s = sigmoid(a)
    return torch.cat((dy * (s + s * (1 - s) * a) * b, dy * s * a), -1)


def clipped_swiglu(x, alpha, limit, bias, interleaved):
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    a, b = a.clamp(max=limit), b.clamp(-limit, limit)
    return a * sigmoid(alpha * a) * (b + bias)


def prelu_gradient(dy, x, w):
    w = w.view(1, -1, 1)
    return WHERE(x > 0, dy, dy * w), WHERE(x > 0, 0.0, dy * x).sum((0, 2))


def deep_norm(x, gx, beta, gamma, alpha, eps):
    y, mean, rstd = normal(alpha * x + gx, eps)
    return mean, rstd, y * gamma + beta


def add_layer_norm(x, gamma, beta, eps):
    y, mean, rstd = normal(x, eps)
    return y * gamma + beta, mean, rstd, x


def group_norm_swish(x, gamma, beta, groups, eps, scale):
    y, mean, rstd = normal(x.view(x.shape[0], groups, -1), eps)
    y = y.view(x.shape) * gamma.view(1, -1, 1) + beta.view(1, -1, 1)
    return y / (1 + torch.exp(-scale * y)), mean.squeeze(-1), rstd.squeeze(-1)


def adam(var, m, v, b1p, b2p, lr, b1, b2, eps, g, nesterov):
    rate = lr * math.sqrt(1 - b2p) / (1 - b1p)
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    return var - rate * ((b1 * m + (1 - b1) * g) if nesterov else m) / (torch.sqrt(v) + eps), m, v


def adam_w(var, m, v, b1p, b2p, lr, decay, b1, b2, eps, g, maximize):
    g = -g if maximize else g
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    m_hat, v_hat = m / (1 - b1p * b1), v / (1 - b2p * b2)
    return var - lr * m_hat / (torch.sqrt(v_hat) + eps) - lr * decay * var, m, v


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def interleave_rope(x, cos, sin):
    q = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    return q * cos + rotate_half(q) * sin


def one(*numbers):
    return torch.tensor(numbers)


E, G = EDGES, GRAD
# Where a page's cases compare, they say nothing of NaN.
E1, G1 = EDGES[:-1], GRAD[:-1]
D = lambda t: t.double()
UNIT = torch.tensor([-0.5, 0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.5])
X, Y, PAIR, DY, W8 = values(4, 8), values(4, 8), values(3, 16), values(3, 8), values(8)
NCL, W4, GROUPED = values(2, 4, 5), values(4), values(2, 6, 5)
STEP = torch.tensor([0.0, 0.5, 1.0, -0.5, -1.0, 1.0, 2.0, -0.0])
POS = torch.rand(4, 8, generator=SEED)
SPARSE = torch.tensor([[0.0, 0.25, 0.75], [1.0, 0.5, -0.25]])
LOGS = values(2, 3)
B1P, B2P = 0.9**3, 0.999**3
COS, SIN = values(1, 1, 1, 8).cos(), values(1, 1, 1, 8).sin()
HEADS = values(2, 3, 2, 8)

# name, arguments (`...`: an output, of the result's shape), results in the outputs' order
CASES = [
    ("aclnnEluBackward", (G1, 1.5, 2.0, 0.5, False, E1, ...), lambda: [elu_gradient(D(G1), 1.5, 2.0, 0.5, False, D(E1))]),
    ("aclnnEluBackward", (G1, 1.5, 2.0, 0.5, True, E1, ...), lambda: [elu_gradient(D(G1), 1.5, 2.0, 0.5, True, D(E1))]),
    ("aclnnHardshrinkBackward", (G1, E1, 0.5, ...), lambda: [WHERE((E1 > 0.5) | (E1 < -0.5), D(G1), 0.0)]),
    ("aclnnSoftshrinkBackward", (G1, E1, 0.5, ...), lambda: [WHERE((E1 > 0.5) | (E1 < -0.5), D(G1), 0.0)]),
    ("aclnnHardswishBackward", (G, E, ...), lambda: [D(G) * WHERE(E < -3, 0.0, WHERE(E <= 3, D(E) / 3 + 0.5, WHERE(E > 3, 1.0, NAN)))]),
    ("aclnnHardswishBackwardV2", (G, E, ...), lambda: [D(G) * WHERE(E <= -3, 0.0, WHERE(E < 3, D(E) / 3 + 0.5, WHERE(E >= 3, 1.0, NAN)))]),
    ("aclnnHardtanhBackward", (G, E, -1.0, 3.0, ...), lambda: [WHERE((E > 3) | (E < -1), 0.0, D(G))]),
    ("aclnnLeakyReluBackward", (G, E, 0.25, False, ...), lambda: [WHERE(E > 0, D(G), D(G) * 0.25)]),
    ("aclnnLogSigmoidBackward", (G, E, None, ...), lambda: [D(G) / (1 + torch.exp(D(E)))]),
    ("aclnnLogitGrad", (UNIT, G[:9], -1.0, ...), lambda: [logit_gradient(D(UNIT), D(G[:9]), -1)]),
    ("aclnnLogitGrad", (UNIT, G[:9], 0.25, ...), lambda: [logit_gradient(D(UNIT), D(G[:9]), 0.25)]),
    ("aclnnSoftplusBackward", (G, E, 2.0, 5.0, ...), lambda: [D(G) * WHERE(2 * D(E) > 5, 1.0, 1 / (1 + torch.exp(-2 * D(E))))]),
    ("aclnnThresholdBackward", (G1, E1, 1.5, ...), lambda: [WHERE(E1 > 1.5, D(G1), 0.0)]),
    ("aclnnFastGelu", (X, ...), lambda: [D(X) / (1 + torch.exp(-1.702 * D(X)))]),
    ("aclnnFastGeluBackward", (Y, X, ...), lambda: [fast_gelu_gradient(D(Y), D(X))]),
    ("aclnnSiluBackward", (Y, X, ...), lambda: [D(Y) * sigmoid(D(X)) * (1 + D(X) - D(X) * sigmoid(D(X)))]),
    ("aclnnGluBackward", (DY, PAIR, -1, ...), lambda: [glu_gradient(D(DY), D(PAIR))]),
    ("aclnnSwiGluGrad", (DY, PAIR, -1, ...), lambda: [swiglu_gradient(D(DY), D(PAIR))]),
    ("aclnnClippedSwiglu", (PAIR, None, -1, 1.7, 0.8, 1.0, True, ...), lambda: [clipped_swiglu(D(PAIR), 1.7, 0.8, 1.0, True)]),
    ("aclnnClippedSwiglu", (PAIR, None, -1, 1.7, 0.8, 0.5, False, ...), lambda: [clipped_swiglu(D(PAIR), 1.7, 0.8, 0.5, False)]),
    ("aclnnPreluBackward", (NCL, NCL.flip(0), W4, ..., ...), lambda: [*prelu_gradient(D(NCL), D(NCL.flip(0)), D(W4))]),
    ("aclnnGeGluV3", (PAIR, -1, 1, True, ..., ...), lambda: [tanh_gelu(D(PAIR)[:, :8]) * D(PAIR)[:, 8:], tanh_gelu(D(PAIR)[:, :8])]),
    ("aclnnGeGluV3", (PAIR, -1, 0, False, ..., ...), lambda: [erf_gelu(D(PAIR)[:, 8:]) * D(PAIR)[:, :8], erf_gelu(D(PAIR)[:, 8:])]),
    ("aclnnSmoothL1Loss", (X, Y, 0, 0.5, ...), lambda: [smooth_l1(D(X), D(Y), 0.5)]),
    ("aclnnSmoothL1Loss", (STEP, torch.zeros(8), 0, 0.5, ...), lambda: [smooth_l1(D(STEP), torch.zeros(8).double(), 0.5)]),
    ("aclnnSmoothL1LossBackward", (X, STEP, torch.zeros(8), 0, 1.0, ...),
     lambda: [smooth_l1_gradient(D(X), D(STEP), torch.zeros(8).double(), 1.0).expand(4, 8)]),
    ("aclnnSoftMarginLoss", (X, Y.sign(), 0, ...), lambda: [torch.log(1 + torch.exp(-D(Y).sign() * D(X)))]),
    ("aclnnKlDiv", (LOGS, SPARSE, 0, False, ...), lambda: [kl(D(LOGS), D(SPARSE), False)]),
    ("aclnnKlDiv", (LOGS, SPARSE, 0, True, ...), lambda: [kl(D(LOGS), D(SPARSE), True)]),
    ("aclnnKlDiv", (X, POS, 3, False, ...), lambda: [kl(D(X), D(POS), False).sum() / 4]),
    ("aclnnKlDiv", (X, POS, 1, False, ...), lambda: [kl(D(X), D(POS), False).mean()]),
    ("aclnnKlDivTargetBackward", (Y, X, POS, 0, False, ...), lambda: [D(Y) * (torch.log(D(POS)) - D(X) + 1)]),
    ("aclnnKlDivTargetBackward", (Y, X, POS, 0, True, ...), lambda: [D(Y) * torch.exp(D(POS)) * (D(POS) - D(X) + 1)]),
    ("aclnnL1Loss", (X, Y, 1, ...), lambda: [(D(X) - D(Y)).abs().mean()]),
    ("aclnnMseLoss", (X, Y, 2, ...), lambda: [((D(X) - D(Y))**2).sum()]),
    ("aclnnGemmaRmsNorm", (X, W8, 1e-6, ..., ...), lambda: [D(X) / rms(D(X), 1e-6) * (1 + D(W8)), 1 / rms(D(X), 1e-6)]),
    ("aclnnDeepNorm", (X, Y, W8, W8.flip(0), 0.3, 1e-5, ..., ..., ...),
     lambda: deep_norm(D(X), D(Y), D(W8), D(W8.flip(0)), 0.3, 1e-5)),
    ("aclnnAddLayerNorm", (X, Y, W8, W8.flip(0), W8 * 2, 1e-5, True, ..., ..., ..., ...),
     lambda: add_layer_norm(D(X) + D(Y) + D(W8) * 2, D(W8), D(W8.flip(0)), 1e-5)),
    ("aclnnGroupNormSwish", (GROUPED, values(6) * 0 + 1.5, W8[:6], 3, "NCHW", 1e-5, True, 0.7, ..., ..., ...),
     lambda: [*group_norm_swish(D(GROUPED), torch.full((6,), 1.5).double(), D(W8[:6]), 3, 1e-5, 0.7)]),
    ("aclnnInterleaveRope", (HEADS, COS.expand(2, 1, 2, 8).contiguous(), SIN.expand(2, 1, 2, 8).contiguous(), ...),
     lambda: [interleave_rope(D(HEADS), D(COS), D(SIN))]),
]


def near(got, want, message):
    least = 3e-6
    torch.testing.assert_close(got.double(), want.double(), rtol=2e-5, atol=least, equal_nan=True, msg=lambda text: f"{message}: {text}")


@pytest.mark.parametrize("name, arguments, reference", CASES, ids=ids(CASES))
def test_the_page_s_formula_holds_at_the_edges(aclnn, name, arguments, reference):
    run_case(aclnn, name, arguments, reference)


@pytest.mark.parametrize("nesterov", [False, True])
def test_adam_is_the_page_s(aclnn, nesterov):
    var, m, v, g = X.clone(), Y.clone(), Y.abs().clone(), values(4, 8)
    want = adam(D(var), D(m), D(v), B1P, B2P, 0.01, 0.9, 0.999, 1e-8, D(g), nesterov)
    aclnn.run("aclnnApplyAdam", var, m, v, one(B1P), one(B2P), one(0.01), one(0.9), one(0.999), one(1e-8), g, False, nesterov)
    for got, wanted in zip((var, m, v), want, strict=True):
        near(got, wanted, "Adam")


@pytest.mark.parametrize("maximize", [False, True])
def test_adam_w_is_the_page_s(aclnn, maximize):
    var, m, v, g = X.clone(), Y.clone(), Y.abs().clone(), values(4, 8)
    want = adam_w(D(var), D(m), D(v), B1P, B2P, 0.01, 0.1, 0.9, 0.999, 1e-8, D(g), maximize)
    aclnn.run("aclnnApplyAdamW", var, m, v, one(B1P), one(B2P), one(0.01), one(0.1), one(0.9), one(0.999), one(1e-8), g, None, False, maximize)
    for got, wanted in zip((var, m, v), want, strict=True):
        near(got, wanted, "AdamW")


@pytest.mark.parametrize("sqrt_mode", [False, True])
@pytest.mark.parametrize("mode, rounded", [("round", torch.round), ("floor", torch.floor), ("ceil", torch.ceil), ("trunc", torch.trunc)])
def test_quantisation_rounds_at_ties_and_saturates(aclnn, sqrt_mode, mode, rounded):
    x = torch.tensor([[0.25, 0.75, -0.25, -0.75, 1.25, 100.0, -100.0, 63.75]])
    want = rounded(D(x) * (4 if sqrt_mode else 2) + 1).clamp(-128, 127)
    y = room(1, 8, dtype=torch.int8)
    aclnn.run("aclnnAscendQuant", x, one(2.0), one(1.0), sqrt_mode, mode, 2, y)
    assert torch.equal(y.double(), want)


def test_dynamic_quantisation_is_of_each_row(aclnn):
    x = values(5, 16)
    y, scale = room(5, 16, dtype=torch.int8), room(5)
    aclnn.run("aclnnDynamicQuant", x, None, y, scale)
    step = D(x).abs().amax(-1) / 127
    near(scale, step, "scale")
    assert (y.double() - torch.round(D(x) / step[:, None])).abs().max() <= 0


def layer_norm(x, gamma, beta, eps):
    return normal(x, eps)[0] * gamma + beta


def quantised(y, scale, zero, divide):
    return torch.round((y / scale if divide else y * scale) + zero).clamp(-128, 127)


@pytest.mark.parametrize("divide", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_add_layer_norm_with_given_scales(aclnn, divide, second):
    x1, x2, gamma, beta, bias, s1, s2, z1, z2 = X, Y, W8, W8.flip(0), W8 / 3, W8.abs() + 0.5, W8.abs() + 4, W8.round() + 0.25, W8.round() - 3
    y1, y2, x = room(4, 8, dtype=torch.int8), room(4, 8, dtype=torch.int8), room(4, 8)
    s1, s2 = (s1 / 30, s2 / 30) if divide else (s1 * 10, s2 * 10)
    more = (s2, z1, z2) if second else (None, z1, None)
    aclnn.run("aclnnAddLayerNormQuant", x1, x2, gamma, beta, bias, s1, *more, "static", 1e-5, True, divide, y1, y2, x, None, None)
    wide = D(x1) + D(x2) + D(bias)
    value = layer_norm(wide, D(gamma), D(beta), 1e-5)
    near(x, wide, "x")
    assert torch.equal(y1.double(), quantised(value, D(s1), D(z1), divide))
    if second:
        assert torch.equal(y2.double(), quantised(value, D(s2), D(z2), divide))
    else:
        assert (y2 == 77).all(), "y2Out was written without scales2Optional"


@pytest.mark.parametrize("smooth", [0, 1, 2])
def test_add_layer_norm_with_a_scale_of_each_row(aclnn, smooth):
    s1, s2 = W8.abs() + 0.5, W8.abs() + 2
    y1, y2, scale1, scale2 = room(4, 8, dtype=torch.int8), room(4, 8, dtype=torch.int8), room(4), room(4)
    given = (s1 if smooth > 0 else None, s2 if smooth > 1 else None)
    aclnn.run("aclnnAddLayerNormQuant", X, Y, W8, W8.flip(0), None, *given, None, None, "dynamic", 1e-5, False, False, y1, y2, None, scale1, scale2)
    value = layer_norm(D(X) + D(Y), D(W8), D(W8.flip(0)), 1e-5)
    for y, scale, factor in list(zip((y1, y2), (scale1, scale2), given))[:max(smooth, 1)]:
        wanted = value if factor is None else value * D(factor)
        step = wanted.abs().amax(-1) / 127
        near(scale, step, "scale")
        assert torch.equal(y.double(), torch.round(wanted / step[:, None]))


@pytest.mark.parametrize("arguments, says", [
    ((None, W8, None, None, "dynamic"), "scales1Optional is needed"),
    ((None, None, None, None, "static"), "scales1Optional is needed"),
    ((W8, None, W8, None, "dynamic"), "zero points go with"),
    ((W8, None, None, None, "other"), "quantMode is 'other'"),
])
def test_add_layer_norm_refuses_what_its_page_rules_out(aclnn, arguments, says):
    y1, y2 = room(4, 8, dtype=torch.int8), room(4, 8, dtype=torch.int8)
    code, said = aclnn.status("aclnnAddLayerNormQuant", [X, Y, W8, W8, None, *arguments, 1e-5, False, False, y1, y2, None, room(4), room(4)])
    assert code != 0
    assert says in said


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("smooth", [None, W8.abs() + 0.5])
def test_adaptive_layer_norm_with_a_scale_of_each_row(aclnn, flat, smooth):
    x, scale, shift = values(3, 5, 8).half(), values(3, 1, 8).half(), values(3, 1, 8).half()
    y, step = room(3, 5, 8, dtype=torch.int8), room(3, 5)
    smooth = None if smooth is None else smooth.half()
    given = (scale.squeeze(1), shift.squeeze(1)) if flat else (scale, shift)
    aclnn.run("aclnnAdaLayerNormQuant", x, *given, W8.half(), W8.half(), smooth, 1e-5, "dynamic", y, step, None)
    wanted = layer_norm(D(x), D(W8.half()), D(W8.half()), 1e-5) * (1 + D(scale)) + D(shift)
    wanted = wanted if smooth is None else wanted * D(smooth)
    near(step, wanted.abs().amax(-1) / 127, "scale")
    exact = wanted / (wanted.abs().amax(-1, keepdim=True) / 127)
    assert ((y.double() - exact).abs() <= 0.5 + 1e-3).all()


@pytest.mark.parametrize("dtype, low, high", [(torch.int8, -128, 127), (torch.uint8, 0, 255), (torch.int32, -2**31, 2**31 - 1)])
def test_a_quantised_batch_norm(aclnn, dtype, low, high):
    x = torch.randint(max(low, -200), min(high, 200), (2, 3, 4, 5), generator=SEED).to(dtype)
    mean, var, weight, bias = values(3), values(3).abs() + 0.1, values(3), values(3)
    for more in ((weight, bias), (None, None)):
        out = room(2, 3, 4, 5, dtype=dtype)
        aclnn.run("aclnnQuantizedBatchNorm", x, mean, var, 0.5, 3, 0.25, 2, *more, 1e-3, out)
        wide = lambda t: D(t).view(1, 3, 1, 1)
        y = ((D(x) - 3) * 0.5 - wide(mean)) / torch.sqrt(wide(var) + 0.0010000000474974513)
        y = y * wide(weight) + wide(bias) if more[0] is not None else y
        assert torch.equal(out.double(), torch.round(y / 0.25 + 2).clamp(low, high))


@pytest.mark.parametrize("part", [None, [2, 6], [3, 3]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_part_turns_in_place_and_back(aclnn, part, dtype):
    x = values(2, 3, 2, 8).to(dtype)
    begin, end = part or (0, 8)
    angle = torch.rand(2, 1, 1, (end - begin) // 2, generator=SEED).repeat_interleave(2, -1)
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
    slots = (torch.zeros(2, 1, 1, 8, dtype=dtype), torch.zeros(2, 1, 1, 8, dtype=dtype)) if begin == end else (cos, sin)
    got = x.clone()
    aclnn.run("aclnnInplacePartialRotaryMul", got, *slots, 1, part)
    wide = D(x)[..., begin:end]
    rotated = torch.stack((-wide[..., 1::2], wide[..., ::2]), -1).flatten(-2)
    want = D(x).clone()
    want[..., begin:end] = wide * D(cos) + rotated * D(sin)
    torch.testing.assert_close(got.double(), want, rtol=1e-3 if dtype == torch.float16 else 1e-6, atol=1e-3 if dtype == torch.float16 else 1e-6)
    aclnn.run("aclnnInplacePartialRotaryMulGrad", got, *slots, 1, part)
    torch.testing.assert_close(got.double(), D(x), rtol=1e-2, atol=5e-3 if dtype == torch.float16 else 1e-6)


@pytest.mark.parametrize("mode", [0, 2, 3])
def test_the_gradient_of_a_part_s_rotation_is_the_page_s(aclnn, mode):
    dy, cos, sin = values(2, 3, 2, 8), values(2, 1, 1, 8), values(2, 1, 1, 8)
    got = dy.clone()
    aclnn.run("aclnnInplacePartialRotaryMulGrad", got, cos, sin, mode, [0, 8])
    y, c, s = (D(t).chunk(4 if mode == 2 else 2, -1) for t in (dy, cos, sin))
    pairs = [(c[i] * y[i] + s[i + 1] * y[i + 1], c[i + 1] * y[i + 1] - s[i] * y[i]) for i in range(0, len(y), 2)]
    want = torch.stack(pairs[0], -1).flatten(-2) if mode == 3 else torch.cat([half for pair in pairs for half in pair], -1)
    near(got, want, "gradient")


EXPERTS = torch.randint(-128, 128, (3, 8, 12), generator=SEED).to(torch.int8)
EXPERT_SCALES, TOKENS = torch.rand(3, 12, generator=SEED) / 50, torch.randint(-128, 128, (6, 8), generator=SEED).to(torch.int8)
TOKEN_SCALES = torch.rand(6, generator=SEED) / 50


@pytest.mark.parametrize("name", ["aclnnGroupedMatmulSwigluQuantV2", "aclnnGroupedMatmulSwigluQuantWeightNzV2"])
@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("counts", [False, True])
def test_experts_with_swiglu_and_a_scale_of_each_row(aclnn, name, stacked, counts):
    groups = torch.tensor([2, 0, 3] if counts else [2, 2, 5])
    weights = ([EXPERTS], [EXPERT_SCALES]) if stacked else (list(EXPERTS), list(EXPERT_SCALES))
    y, scale = room(6, 6, dtype=torch.int8), room(6)
    aclnn.run(name, TOKENS, *weights, None, None, TOKEN_SCALES, None, groups, 0, 0, 0, int(counts), None, y, scale)
    expert = [0, 0, 2, 2, 2]
    for row, which in enumerate(expert):
        product = D(TOKENS[row]) @ D(EXPERTS[which]) * D(TOKEN_SCALES[row]) * D(EXPERT_SCALES[which])
        value = silu(product[:6]) * product[6:]
        step = value.abs().max() / 127
        near(scale[row], step, "scale")
        assert ((y[row].double() - value / step).abs() <= 0.5 + 1e-4).all()
    assert (y[5] == 77).all(), "a row behind the last group was written"
    assert scale[5] == 77


@pytest.mark.parametrize("changed, says", [({3: [EXPERT_SCALES]}, "weights of 4 bits"), ({8: 1}, "dequantMode"), ({9: 27}, "dequantDtype is 27"),
                                           ({7: torch.tensor([2, 5])}, "groupList has 2 entries for 3")])
def test_experts_refuse_by_name_what_they_do_not_compute(aclnn, changed, says):
    arguments = [TOKENS, [EXPERTS], [EXPERT_SCALES], None, None, TOKEN_SCALES, None, torch.tensor([2, 2, 5]), 0, 0, 0, 0, None, room(6, 6, dtype=torch.int8),
                 room(6)]
    for place, value in changed.items():
        arguments[place] = value
    code, said = aclnn.status("aclnnGroupedMatmulSwigluQuantV2", arguments)
    assert code != 0
    assert says in said


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("first, nesterov, maximize", [(True, False, False), (False, True, False), (False, False, True)])
def test_sgd_is_the_page_s_in_every_type(aclnn, dtype, first, nesterov, maximize):
    theta, grad, moment = (values(40).to(dtype) for _ in range(3))
    g = D(grad) / 2 * (-1 if maximize else 1) + 0.1 * D(theta)
    v = g if first else 0.9 * D(moment) + (1 - 0.2) * g
    want = (D(theta) - 0.05 * (g + 0.9 * v if nesterov else v), D(grad) / 2, v)
    got = [theta.clone()], [grad.clone()], [moment.clone()]
    aclnn.run("aclnnFusedSgd", *got, torch.tensor([2.0]), 0.1, 0.9, 0.05, 0.2, nesterov, maximize, first)
    least = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
    for (have,), wanted in zip(got, want, strict=True):
        torch.testing.assert_close(have.double(), wanted, rtol=least, atol=least)

# SPDX-License-Identifier: Apache-2.0
"""Norms, losses, pooling, convolution and recurrent cells against the formulas of their own pages, in float64, and at what the pages say of absent
arguments, strides and infinities. Quantisation: test_pages_quant.py; resampling: test_pages_resample.py."""

import math

import pytest
import torch
import torch.nn.functional as F
from aclnn_calls import room, to_npu
from page_checks import drawing, near, refused, D

SEED, values, _ = drawing(31)
INF, NAN = math.inf, math.nan
BF16, HALF, I8, I32, I64 = torch.bfloat16, torch.float16, torch.int8, torch.int32, torch.int64
E4, E8 = torch.float8_e4m3fn, torch.float8_e8m0fnu


def strided(x):
    """The same values, and other strides."""
    turned = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    assert not to_npu(turned).is_contiguous()
    return turned


def spaced(x):
    """The same values on the device, with another between each two."""
    view = torch.stack((x, torch.full_like(x, 1)), -1).npu()[..., 0]
    assert not view.is_contiguous()
    return view


def rms(x, gamma, eps):
    rstd = 1 / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)
    return x * rstd * gamma, rstd


def normal(x, eps, dims):
    mean, var = x.mean(dims, keepdim=True), x.var(dims, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps), mean, 1 / torch.sqrt(var + eps)


def by_autograd(function, grads, *inputs):
    """The gradients of a formula in float64."""
    leaves = [t.double().requires_grad_() for t in inputs]
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    return torch.autograd.grad(results, leaves, [g.double().expand_as(r) for g, r in zip(grads, results)], allow_unused=True)


# Norms

X3, Y3, ROW = values(2, 3, 8), values(2, 3, 8), values(8)


@pytest.mark.parametrize("dtype", [HALF, BF16])
def test_a_row_of_gamma_is_for_the_last_dimension(aclnn, dtype):
    x1, x2, gamma, y = X3.to(dtype), Y3.to(dtype), ROW.to(dtype).view(1, 8), room(2, 3, 8, dtype=dtype)
    aclnn.run("aclnnAddRmsNorm", x1, x2, gamma, 1e-6, y, None, None)
    near(y, rms(D(x1) + D(x2), D(gamma), 1e-6)[0], 2e-2)


def test_a_row_of_gamma_before_a_quantisation(aclnn):
    y = room(2, 3, 8, dtype=I8)
    aclnn.run("aclnnRmsNormQuant", X3.half(), ROW.half().view(1, 8), ROW.half().view(1, 8), torch.tensor([0.05]).half(), torch.tensor([3], dtype=I8), 1e-6, y)
    want = (rms(D(X3.half()), D(ROW.half()), 1e-6)[0] + D(ROW.half())) / D(torch.tensor([0.05]).half()) + 3
    assert ((y.double() - want.clamp(-128, 127)).abs() <= 0.5 + 1e-3).all()


def test_a_gamma_that_does_not_fit_is_refused(aclnn):
    refused(aclnn, "aclnnRmsNorm", [X3, values(4), 1e-6, room(2, 3, 8), room(2, 3, 1)], "which is not the end of")
    refused(aclnn, "aclnnAddRmsNorm", [X3, Y3, ROW, 1e-6, room(2, 3, 8), room(2, 3, 1), None], "xOut is NULL beside rstdOut")


@pytest.mark.parametrize("dtype", [HALF, BF16])
def test_the_wide_result_of_a_norm_is_not_rounded(aclnn, dtype):
    x1, x2, gamma = X3.to(dtype), Y3.to(dtype), ROW.to(dtype)
    y1, y2, rstd, x = room(2, 3, 8), room(2, 3, 8, dtype=dtype), room(2, 3, 1), room(2, 3, 8, dtype=dtype)
    aclnn.run("aclnnAddRmsNormCast", x1, x2, gamma, 1e-6, y1, y2, rstd, x)
    want, inverse = rms(D(x1) + D(x2), D(gamma), 1e-6)
    near(y1, want)
    near(rstd, inverse)
    assert torch.equal(y2, y1.to(dtype))
    assert torch.equal(x, (x1.float() + x2.float()).to(dtype))


def test_a_quantised_norm_of_a_nan_is_0(aclnn):
    x, y = X3.half().clone(), room(2, 3, 8, dtype=I8)
    x[0, 0, 0] = NAN
    aclnn.run("aclnnRmsNormQuant", x, ROW.half(), torch.zeros(8).half(), torch.tensor([0.05]).half(), torch.tensor([3], dtype=I8), 1e-6, y)
    assert (y[0, 0] == 0).all()
    assert (y[0, 1] != 0).any()


@pytest.mark.parametrize("smooth1, smooth2, mask, says", [
    (None, ROW, None, "needs smoothScale1Optional"),
    (ROW, None, [False, True], "that outputMask leaves out"),
    (None, ROW, [True, False], "that outputMask leaves out"),
    (None, None, [False, False], "neither output"),
])
def test_dynamic_quantisation_behind_a_norm_refuses_what_its_page_rules_out(aclnn, smooth1, smooth2, mask, says):
    half = lambda t: None if t is None else t.half()
    outputs = [room(2, 3, 8, dtype=I8), room(2, 3, 8, dtype=I8), room(2, 3, 8, dtype=HALF), room(2, 3), room(2, 3)]
    refused(aclnn, "aclnnAddRmsNormDynamicQuantV2", [X3.half(), Y3.half(), ROW.half(), half(smooth1), half(smooth2), None, 1e-6, mask, *outputs], says)


@pytest.mark.parametrize("algorithm", [0, 1])
@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_a_block_with_an_infinity_has_no_scale(aclnn, bad, algorithm):
    x = values(3, 64).half()
    x[1, 40] = bad
    y, scale, rstd = room(3, 64, dtype=E4), room(3, 1, 2, dtype=E8), room(3, 1)
    aclnn.run("aclnnRmsNormDynamicMxQuant", x, torch.ones(64).half(), None, 1e-6, algorithm, "rint", 36, True, y, scale, rstd)
    bits = scale.view(torch.uint8).view(3, 2)
    assert bits[1, 1] == 255
    assert (y[1].float() == 0).all()
    assert (bits[[0, 2]] < 200).all()
    assert (y[0].float() != 0).any()
    near(rstd[1], torch.tensor([NAN if math.isnan(bad) else 0.0]))
    sums, y, scale = room(3, 64, dtype=HALF), room(3, 64, dtype=E4), room(3, 1, 2, dtype=E8)
    aclnn.run("aclnnAddRmsNormDynamicMxQuant", x, torch.zeros_like(x), torch.ones(64).half(), None, 1e-6, algorithm, "rint", 36, False, y, sums, scale, None)
    assert scale.view(torch.uint8).view(3, 2)[1, 1] == 255
    assert (y[1].float() == 0).all()
    y, scale = room(3, 64, dtype=E4), room(3, 1, 2, dtype=E8)
    aclnn.run("aclnnDynamicMxQuant", x, -1, "rint", 36, 32, algorithm, y, scale)
    bits = scale.view(torch.uint8).view(3, 2)
    assert bits[1, 1] == 255
    assert bits[1, 0] < 200
    assert (y[1, 32:].float() == 0).all()
    assert (y[1, :32].float() != 0).any()
    refused(aclnn, "aclnnRmsNormDynamicMxQuant", [x, torch.ones(64).half(), None, 1e-6, algorithm, "rint", 36, True, y, scale, None], "outputRstd is true")


def test_gradients_of_norms_are_the_formulas(aclnn):
    dy, gamma, beta = values(2, 3, 8), ROW, values(8)
    _, mean, rstd = normal(D(X3), 1e-5, -1)
    layer = by_autograd(lambda x, g, b: normal(x, 1e-5, -1)[0] * g + b, [dy], X3, gamma, beta)
    dx, dgamma, dbeta = room(2, 3, 8), room(8), room(8)
    aclnn.run("aclnnLayerNormBackward", dy, X3, [8], mean.float(), rstd.float(), gamma, beta, [True] * 3, dx, dgamma, dbeta)
    for got, want in zip((dx, dgamma, dbeta), layer):
        near(got, want)
    dx, dgamma, dbeta = room(2, 3, 8), room(8), room(8)
    aclnn.run("aclnnLayerNormBackward", dy, X3, [8], spaced(mean.float()), spaced(rstd.float()), None, None, [True] * 3, dx, dgamma, dbeta)
    near(dx, by_autograd(lambda x: normal(x, 1e-5, -1)[0], [dy], X3)[0])
    near(dgamma, layer[1])
    near(dbeta, layer[2])

    total = D(X3) + D(Y3)
    _, mean, rstd = normal(total, 1e-5, -1)
    dx, dgamma, dbeta = room(2, 3, 8), room(8), room(8)
    aclnn.run("aclnnAddLayerNormGrad", dy, X3, Y3, spaced(rstd.float()), spaced(mean.float()), gamma, Y3, dx, dgamma, dbeta)
    want = by_autograd(lambda x, g, b: normal(x, 1e-5, -1)[0] * g + b, [dy], total, gamma, beta)
    near(dx, want[0] + D(Y3))
    near(dgamma, want[1])
    near(dbeta, want[2])

    deep = 0.3 * D(X3) + D(Y3)
    _, mean, rstd = normal(deep, 1e-5, -1)
    dx, dgx, dbeta, dgamma = room(2, 3, 8), room(2, 3, 8), room(8), room(8)
    aclnn.run("aclnnDeepNormGrad", dy, X3, Y3, gamma, mean.float(), rstd.float(), 0.3, dx, dgx, dbeta, dgamma)
    want = by_autograd(lambda x, gx, b, g: normal(0.3 * x + gx, 1e-5, -1)[0] * g + b, [dy], X3, Y3, beta, gamma)
    for got, wanted in zip((dx, dgx, dbeta, dgamma), want):
        near(got, wanted)

    _, rstd = rms(D(X3), D(gamma), 1e-6)
    dx, dgamma = room(2, 3, 8), room(8)
    aclnn.run("aclnnRmsNormGrad", dy, X3, rstd.float(), gamma, dx, dgamma)
    for got, wanted in zip((dx, dgamma), by_autograd(lambda x, g: rms(x, g, 1e-6)[0], [dy], X3, gamma)):
        near(got, wanted)
    dx, dgamma = room(2, 3, 8, dtype=I8), room(8)
    aclnn.run("aclnnRmsNormGradQuant", dy, X3, rstd.float(), gamma, torch.tensor([0.05]), torch.tensor([2], dtype=I32), "static", True, dx, dgamma)
    want = by_autograd(lambda x, g: rms(x, g, 1e-6)[0], [dy], X3, gamma)
    assert ((dx.double() - (want[0] / 0.05 + 2).clamp(-128, 127)).abs() <= 0.5 + 1e-3).all()


@pytest.mark.parametrize("dtype", [HALF, BF16])
@pytest.mark.parametrize("with_weight", [True, False])
def test_the_statistics_of_a_layer_norm_stay_float(aclnn, dtype, with_weight):
    x, w = X3.to(dtype), ROW.to(dtype) if with_weight else None
    out, mean, rstd = room(2, 3, 8, dtype=dtype), room(2, 3, 1), room(2, 3, 1)
    for name in ("aclnnLayerNorm", "aclnnFastLayerNorm"):
        aclnn.run(name, x, [8], w, w, 1e-5, out, mean, rstd)
        y, average, inverse = normal(D(x), 1e-5, -1)
        near(mean, average)
        near(rstd, inverse)
        near(out, y * D(w) + D(w) if with_weight else y, 2e-2)


GROUPED, W6 = values(2, 6, 4, 5), values(6)


def group_norm(x, gamma, beta, eps=1e-5):
    y = normal(x.reshape(2, 3, -1), eps, -1)[0].reshape(x.shape)
    return y * gamma.view(1, 6, 1, 1) + beta.view(1, 6, 1, 1)


@pytest.mark.parametrize("turn", [lambda t: t, strided], ids=["contiguous", "strided"])
def test_group_norms_take_strides(aclnn, turn):
    beta, dy = values(6), values(2, 6, 4, 5)
    x, grad = turn(GROUPED), turn(dy)
    _, mean, rstd = normal(D(GROUPED).reshape(2, 3, -1), 1e-5, -1)
    mean, rstd = mean.squeeze(-1), rstd.squeeze(-1)
    out, m, r = room(2, 6, 4, 5), room(2, 3), room(2, 3)
    aclnn.run("aclnnGroupNorm", x, spaced(W6), spaced(beta), 2, 6, 20, 3, 1e-5, out, m, r)
    want = group_norm(D(GROUPED), D(W6), D(beta))
    for got, wanted in ((out, want), (m, mean), (r, rstd)):
        near(got, wanted)
    out = room(2, 6, 4, 5)
    aclnn.run("aclnnGroupNormSilu", x, W6, beta, 3, 1e-5, out, m, r)
    near(out, want * torch.sigmoid(want))
    grads = by_autograd(group_norm, [dy], GROUPED, W6, beta)
    for gamma in (W6, spaced(W6), None):
        dx, dgamma, dbeta = room(2, 6, 4, 5), room(6), room(6)
        aclnn.run("aclnnGroupNormBackward", grad, x, spaced(mean.float()), spaced(rstd.float()), gamma, 2, 6, 20, 3, [True] * 3, dx, dgamma, dbeta)
        near(dx, grads[0] if gamma is not None else by_autograd(lambda x: group_norm(x, torch.ones(6).double(), torch.zeros(6).double()), [dy], GROUPED)[0])
        near(dgamma, grads[1])
        near(dbeta, grads[2])
    dx, dgamma, dbeta = room(2, 6, 4, 5), room(6), room(6)
    aclnn.run("aclnnGroupNormSwishGrad", grad, mean.float(), rstd.float(), x, W6, beta, 3, "NCHW", 0.7, True, True, dx, dgamma, dbeta)
    swish = lambda x, g, b: group_norm(x, g, b) * torch.sigmoid(0.7 * group_norm(x, g, b))
    for got, wanted in zip((dx, dgamma, dbeta), by_autograd(swish, [dy], GROUPED, W6, beta)):
        near(got, wanted)


def test_batch_norms_ask_for_what_they_read(aclnn):
    x, mean, var = values(4, 3, 5), values(3), values(3).abs() + 0.5
    out, m, v = room(4, 3, 5), room(3), room(3)
    per = lambda t: D(t).view(1, 3, 1)
    aclnn.run("aclnnBatchNorm", x, None, mean, mean.clone(), var.clone(), False, 0.1, 1e-5, out, torch.empty(0), torch.empty(0))
    near(out, (D(x) - per(mean)) / torch.sqrt(per(var) + 1e-5) + per(mean))
    running = mean.clone(), var.clone()
    aclnn.run("aclnnBatchNorm", x, var, mean, *running, True, 0.25, 1e-5, out, m, v)
    y, average, inverse = normal(D(x), 1e-5, (0, 2))
    near(out, y * per(var) + per(mean))
    near(m, average.flatten())
    near(v, inverse.flatten())
    near(running[0], 0.75 * D(mean) + 0.25 * average.flatten())
    near(running[1], 0.75 * D(var) + 0.25 * D(x).var((0, 2)))
    refused(aclnn, "aclnnBatchNorm", [x, None, None, None, None, False, 0.1, 1e-5, out, m, v], "outside training runningMean and runningVar are needed")
    refused(aclnn, "aclnnBatchNorm", [x, values(2), None, None, None, True, 0.1, 1e-5, out, m, v], "weight has shape [2]")
    dy, dx, dw, db = values(4, 3, 5), room(4, 3, 5), room(3), room(3)
    aclnn.run("aclnnBatchNormBackward", dy, x, None, None, None, average.flatten().float(), inverse.flatten().float(), True, 1e-5, [True] * 3, dx, dw, db)
    near(dx, by_autograd(lambda x: normal(x, 1e-5, (0, 2))[0], [dy], x)[0])
    near(dw, (D(dy) * y).sum((0, 2)))
    near(db, D(dy).sum((0, 2)))
    aclnn.run("aclnnBatchNormBackward", dy, x, var, mean, var, None, None, False, 1e-5, [True] * 3, dx, dw, db)
    near(dx, D(dy) / torch.sqrt(per(var) + 1e-5) * per(var))
    near(dw, (D(dy) * (D(x) - per(mean)) / torch.sqrt(per(var) + 1e-5)).sum((0, 2)))
    refused(aclnn, "aclnnBatchNormBackward", [dy, x, None, None, None, None, None, False, 1e-5, [True] * 3, dx, dw, db], "are needed")
    refused(aclnn, "aclnnBatchNormBackward", [dy, x, None, None, None, values(2), values(3), True, 1e-5, [True] * 3, dx, dw, db], "saveMean has shape [2]")


def test_batch_norms_of_several_ranks_are_the_formulas(aclnn):
    x, dy, weight = values(4, 3, 5), values(4, 3, 5), values(3)
    per = lambda t: D(t).view(1, 3, 1)
    mean, inverse = room(3), room(3)
    aclnn.run("aclnnBatchNormStats", x, 1e-5, mean, inverse)
    near(mean, D(x).mean((0, 2)))
    near(inverse, 1 / torch.sqrt(D(x).var((0, 2), correction=0) + 1e-5))
    out = room(4, 3, 5)
    aclnn.run("aclnnBatchNormElemt", x, weight, weight, mean, inverse, 1e-5, out)
    near(out, (D(x) - per(mean)) * per(inverse) * per(weight) + per(weight))
    sums = room(3), room(3), room(3), room(3)
    aclnn.run("aclnnBatchNormReduceBackward", dy, x, mean, inverse, weight, True, True, True, *sums)
    sum_dy, product = D(dy).sum((0, 2)), (D(dy) * (D(x) - per(mean))).sum((0, 2))
    for got, want in zip(sums, (sum_dy, product, product * D(inverse), sum_dy)):
        near(got, want)
    counts, dx = torch.tensor([12, 8], dtype=I32), room(4, 3, 5)
    aclnn.run("aclnnBatchNormElemtBackward", dy, x, mean, inverse, weight, sums[0], sums[1], counts, dx)
    near(dx, ((D(dy) - per(sum_dy) / 20) - (D(x) - per(mean)) * (per(inverse)**2 * per(product) / 20)) * per(inverse) * per(weight))
    ranks, n = values(2, 3, 20), 20
    means, inverses = D(ranks).mean(-1), 1 / torch.sqrt(D(ranks).var(-1, correction=0) + 1e-5)
    running, all_mean, all_inverse = (torch.zeros(3), torch.ones(3)), room(3), room(3)
    aclnn.run("aclnnBatchNormGatherStatsWithCounts", values(20, 3), means.float(), inverses.float(), *running, 0.25, 1e-5, torch.tensor([20.0, 20.0]), all_mean,
              all_inverse)
    together = D(ranks).transpose(0, 1).flatten(1)
    near(all_mean, together.mean(-1))
    near(all_inverse, 1 / torch.sqrt(together.var(-1, correction=0) + 1e-5))
    near(running[0], 0.25 * together.mean(-1))
    near(running[1], 0.75 + 0.25 * together.var(-1))
    total, squares = room(3), room(3)
    aclnn.run("aclnnBatchNormReduce", values(4, 3, 5, 1) * 0 + x.unsqueeze(-1), total, squares)
    near(total, D(x).sum((0, 2)))
    near(squares, (D(x)**2).sum((0, 2)))
    running = torch.zeros(3), torch.ones(3)
    aclnn.run("aclnnSyncBatchNormGatherStats", D(ranks).sum(-1).float(), (D(ranks)**2).sum(-1).float(), torch.tensor([n, n], dtype=I32), *running, 0.25, 1e-5,
              all_mean, all_inverse)
    near(all_mean, together.mean(-1))
    near(all_inverse, 1 / torch.sqrt(together.var(-1, correction=0) + 1e-5))
    near(running[1], 0.75 + 0.25 * together.var(-1))


# Losses

P, T, WT = torch.sigmoid(values(4, 5)), torch.sigmoid(values(4, 5)), values(4, 5).abs()
LOGITS, TARGETS = values(4, 5), torch.tensor([0, 3, 2, 1])
CLASS_WEIGHT = values(5).abs()
bce = lambda x: -D(WT) * (D(T) * torch.log(x) + (1 - D(T)) * torch.log(1 - x))
PICTURE, PIXELS = values(2, 5, 3, 2), torch.randint(0, 5, (2, 3, 2), generator=SEED)
picked = lambda x, t: -D(CLASS_WEIGHT)[t] * x.gather(1, t.unsqueeze(1)).squeeze(1)
SIGNS = values(4, 5).sign()

# name, arguments before the output, the unreduced loss; `...` is the reduction's place
REDUCED = [
    ("aclnnMseLoss", (LOGITS, T, ...), lambda: (D(LOGITS) - D(T))**2),
    ("aclnnL1Loss", (LOGITS, T, ...), lambda: (D(LOGITS) - D(T)).abs()),
    ("aclnnSmoothL1Loss", (LOGITS, T, ..., 1.0), lambda: F.smooth_l1_loss(D(LOGITS), D(T), reduction="none")),
    ("aclnnBinaryCrossEntropy", (P, T, WT, ...), lambda: bce(D(P))),
    ("aclnnBinaryCrossEntropyWithLogits", (LOGITS, T, WT, None, ...), lambda: bce(torch.sigmoid(D(LOGITS)))),
    ("aclnnBinaryCrossEntropyWithLogits", (LOGITS, T, None, CLASS_WEIGHT, ...), lambda: -(
        D(CLASS_WEIGHT) * D(T) * torch.log(torch.sigmoid(D(LOGITS))) + (1 - D(T)) * torch.log(1 - torch.sigmoid(D(LOGITS))))),
    ("aclnnSoftMarginLoss", (LOGITS, SIGNS, ...), lambda: torch.log(1 + torch.exp(-D(SIGNS) * D(LOGITS)))),
    ("aclnnKlDiv", (LOGITS, T, ..., False), lambda: D(T) * (torch.log(D(T)) - D(LOGITS))),
]


@pytest.mark.parametrize("reduction, reduce", [(1, torch.mean), (2, torch.sum)])
@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("name, arguments, loss", REDUCED, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(REDUCED)])
def test_a_reduced_loss_is_written_to_one_element(aclnn, name, arguments, loss, shape, reduction, reduce):
    out = room(shape)
    aclnn.run(name, *(reduction if argument is ... else argument for argument in arguments), out)
    near(out, reduce(loss()).view(shape))
    refused(aclnn, name, [7 if argument is ... else argument for argument in arguments] + [out], "reduction is 7")


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("name, x, target", [("aclnnNLLLoss", LOGITS, TARGETS), ("aclnnNLLLoss2d", PICTURE, PIXELS)])
@pytest.mark.parametrize("dtype", [torch.float32, BF16])
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_the_loss_of_classes(aclnn, name, x, target, dtype, shape, reduction):
    tight = 2e-5 if dtype == torch.float32 else 1e-2
    x, weight = x.to(dtype), CLASS_WEIGHT.to(dtype)
    kept = target != 2
    each = torch.where(kept, -D(weight)[target] * D(x).gather(1, target.unsqueeze(1)).squeeze(1), 0.0)
    total = (D(weight)[target] * kept).sum()
    want = (each, each.sum() / total, each.sum())[reduction]
    out, told = room(target.shape if reduction == 0 else shape, dtype=dtype), room(shape, dtype=dtype)
    aclnn.run(name, x, target, weight, reduction, 2, out, told)
    near(out, want.view(out.shape), tight)
    if reduction != 0:
        near(told, total.view(shape), tight)
    grad = values(*target.shape).to(dtype) if reduction == 0 else torch.ones(1, dtype=dtype)
    back = room(*x.shape, dtype=dtype)
    sums = total.view(1).to(dtype)
    aclnn.run(name + "Backward", grad, strided(x), target, weight, reduction, 2, sums, back)
    slope = torch.zeros_like(D(x)).scatter_(1, target.unsqueeze(1), (-D(weight)[target] * kept * D(grad)).unsqueeze(1))
    near(back, slope / D(sums) if reduction == 1 else slope, tight)
    refused(aclnn, name + "Backward", [grad, x, target, weight, 3, 2, sums, back], "reduction is 3")


@pytest.mark.parametrize("reduction, divisor", [(0, 1), (1, 20), (2, 1)])
def test_gradients_of_losses(aclnn, reduction, divisor):
    dy = values(4, 5) if reduction == 0 else torch.tensor(1.5)
    for name, arguments, loss, x in [
        ("aclnnMseLossBackward", (LOGITS, T, reduction), lambda x: (x - D(T))**2, LOGITS),
        ("aclnnL1LossBackward", (LOGITS, T, reduction), lambda x: (x - D(T)).abs(), LOGITS),
        ("aclnnBinaryCrossEntropyBackward", (P, T, WT, reduction), bce, P),
        ("aclnnBinaryCrossEntropyWithLogitsBackward", (LOGITS, T, WT, None, reduction), lambda x: bce(torch.sigmoid(x)), LOGITS),
        ("aclnnSoftMarginLossBackward", (LOGITS, SIGNS, reduction), lambda x: torch.log(1 + torch.exp(-D(SIGNS) * x)), LOGITS),
    ]:
        out = room(4, 5)
        aclnn.run(name, dy, *arguments, out)
        near(out, by_autograd(loss, [dy], x)[0] / divisor)
        refused(aclnn, name, [dy, *arguments[:-1], 5, out], "reduction is 5")


def test_the_gradient_of_a_soft_margin_takes_a_larger_gradient_and_large_values(aclnn):
    x, y, dy, out = torch.tensor([-1000.0, 1000.0, 0.5]), torch.tensor([1.0, 1.0, -1.0]), values(2, 3), room(2, 3)
    aclnn.run("aclnnSoftMarginLossBackward", dy, x, y, 0, out)
    near(out, D(dy) * -D(y) * torch.sigmoid(-D(y) * D(x)))


def test_the_gradients_of_a_divergence_know_the_batch(aclnn):
    out = room(4, 5)
    aclnn.run("aclnnKlDivBackward", torch.tensor(1.5), LOGITS, T, 3, False, out)
    near(out, -D(T) * 1.5 / 4)
    aclnn.run("aclnnKlDivTargetBackward", torch.tensor(1.5), LOGITS, T, 3, False, out)
    near(out, (torch.log(D(T)) - D(LOGITS) + 1) * 1.5 / 4)
    refused(aclnn, "aclnnKlDivBackward", [torch.tensor(1.5), LOGITS, T, 4, False, out], "reduction is 4")


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weight", [None, CLASS_WEIGHT])
def test_cross_entropy_leaves_ignored_rows_out(aclnn, reduction, smoothing, weight):
    x = LOGITS.clone()
    if smoothing == 0:
        x[1, 0] = -INF
    target = torch.tensor([0, 4, 2, 1])
    target[1] = -100
    loss, logp, z, lse = room(4 if reduction == "none" else 1), room(4, 5), room(4 if reduction == "none" else 1), room(4)
    aclnn.run("aclnnCrossEntropyLoss", x, target, weight, reduction, -100, smoothing, 0.0, False, loss, logp, z, lse)
    w = torch.ones(5).double() if weight is None else D(weight)
    log_p = D(x) - torch.logsumexp(D(x), -1, keepdim=True)
    rows = [0, 2, 3]
    each = torch.zeros(4).double()
    for row in rows:
        each[row] = -(1 - smoothing) * w[target[row]] * log_p[row, target[row]] - smoothing * (w * log_p[row]).sum() / 5
    total = sum(w[target[row]] for row in rows)
    near(loss, each if reduction == "none" else each.sum().view(1) / (total if reduction == "mean" else 1))
    near(logp, log_p)
    dy, dx = values(4) if reduction == "none" else torch.tensor(1.5), room(4, 5)
    aclnn.run("aclnnCrossEntropyLossGrad", dy, logp, target, weight, None, None, reduction, -100, smoothing, 0.0, dx)
    grad = D(dy).expand(4) / (total if reduction == "mean" else 1)
    for row in range(4):
        want = torch.zeros(5).double()
        if row in rows:
            main = grad[row] * (1 - smoothing) * w[target[row]]
            part = grad[row] * smoothing / 5 * w
            want = log_p[row].exp() * (main + part.sum()) - part
            want[target[row]] -= main
        near(dx[row], want)
    refused(aclnn, "aclnnCrossEntropyLoss", [x, target, weight, reduction, -100, 1.5, 0.0, False, loss, logp, z, lse], "labelSmoothing is 1.5")


def test_multilabel_margin(aclnn):
    x, target = values(2, 4), torch.tensor([[3, 0, -1, 1], [2, -1, 0, 1]])
    yes = [{3, 0}, {2}]
    each = torch.tensor([sum(max(0.0, 1 - (x[n, j].item() - x[n, i].item())) for j in yes[n] for i in range(4) if i not in yes[n]) / 4 for n in range(2)])
    flags = room(2, 4)
    for shape in ((), (1,)):
        out = room(shape)
        aclnn.run("aclnnMultilabelMarginLoss", x, target, 1, out, flags)
        near(out, each.mean().view(shape))
    assert torch.equal(flags, torch.tensor([[1.0, 0, 0, 1], [0, 0, 1, 0]]))


CTC = values(6, 2, 4).log_softmax(-1)


def test_ctc_takes_one_sequence_without_a_batch(aclnn):
    labels = torch.tensor([1, 3])
    loss, alpha = room(()), room(1, 6, 8)
    aclnn.run("aclnnCtcLoss", CTC[:, 0].contiguous(), spaced(labels), [6], [2], 0, False, loss, alpha)
    near(loss, F.ctc_loss(D(CTC[:, :1]), labels.view(1, 2), [6], [2], reduction="none").squeeze(0))


@pytest.mark.parametrize("zero", [False, True])
def test_an_infinite_ctc_loss_is_zeroed_with_its_gradient(aclnn, zero):
    labels = torch.tensor([[1, 3, 2], [1, 1, 1]])  # the second needs five steps and has four
    lengths = [6, 4], [3, 3]
    loss, alpha, dx, dy = room(2), room(2, 6, 8), room(6, 2, 4), torch.tensor([1.5, 0.5])
    aclnn.run("aclnnCtcLoss", CTC, labels, *lengths, 0, zero, loss, alpha)
    want = F.ctc_loss(D(CTC), labels, *lengths, reduction="none")
    near(loss, torch.stack([want[0], torch.tensor(0.0 if zero else INF).double()]))
    if not zero:
        return
    aclnn.run("aclnnCtcLossBackward", dy, CTC, labels, *lengths, loss, alpha, 0, zero, dx)
    leaf = D(CTC).requires_grad_()
    torch.autograd.backward(F.ctc_loss(leaf, labels, *lengths, reduction="none", zero_infinity=True), D(dy))
    # The operator's gradient is that of what comes before log_softmax.
    assert (dx[:, 1] == 0).all()
    near(dx, leaf.grad)


# Pooling, convolution, sampling, dropout

@pytest.mark.parametrize("dtype", [HALF, BF16])
@pytest.mark.parametrize("dims, forward, backward", [
    (2, "aclnnMaxPool2dWithIndices", "aclnnMaxPool2dWithIndicesBackward"),
    (3, "aclnnMaxPool3dWithArgmax", "aclnnMaxPool3dWithArgmaxBackward"),
    (2, "aclnnMaxPool2dWithMask", "aclnnMaxPool2dWithMaskBackward"),
])
def test_pooling_s_gradient_is_summed_in_float(aclnn, dims, forward, backward, dtype):
    middle, windows = (0, 0, *[4] * dims), (1, 1, *[5] * dims)
    x = torch.zeros(1, 1, *[9] * dims)
    x[middle] = 1
    x, dy = x.to(dtype), (values(*windows).abs() + 1).to(dtype)
    out, dx = room(windows, dtype=dtype), room(x.shape, dtype=dtype)
    indices = room(1, 1, 25, 96, dtype=I8) if forward.endswith("Mask") else room(windows, dtype=I32)
    window = [[5] * dims, [1] * dims, [0] * dims, [1] * dims, False]
    aclnn.run(forward, x, *window, out, indices)
    assert (out == 1).all()
    aclnn.run(backward, dy, x, indices, *window, dx)
    assert torch.equal(dx[middle], D(dy).sum().to(dtype))


@pytest.mark.parametrize("dtype", [HALF, BF16])
@pytest.mark.parametrize("dims", [2, 3])
def test_adaptive_pooling_s_gradient_is_summed_in_float(aclnn, dims, dtype):
    x, size = torch.zeros(1, 1, *[3] * dims, dtype=dtype), [2] * dims  # windows of two that share the middle
    x[(0, 0, *[1] * dims)] = 1
    dy = (values(1, 1, *size).abs() + 1).to(dtype)
    out, indices, dx = room(1, 1, *size, dtype=dtype), room(1, 1, *size, dtype=I64 if dims == 2 else I32), room(x.shape, dtype=dtype)
    aclnn.run(f"aclnnAdaptiveMaxPool{dims}d", x, size, out, indices)
    assert (out == 1).all()
    aclnn.run(f"aclnnAdaptiveMaxPool{dims}dBackward", dy, x, spaced(indices), dx)
    assert torch.equal(dx[(0, 0, *[1] * dims)], D(dy).sum().to(dtype))


@pytest.mark.parametrize("pads", [(1, 0, 2, 1), (2, 2, 1, 1), (0, 3, 0, 0)])
@pytest.mark.parametrize("dtype", [torch.float32, BF16])
def test_a_convolution_s_padding_of_each_side(aclnn, pads, dtype):
    x, w, b = values(2, 4, 7, 6, dtype=dtype), values(6, 2, 3, 3, dtype=dtype), values(6, dtype=dtype)
    top, bottom, left, right = pads
    forward = lambda x, w, b: F.conv2d(F.pad(x, (left, right, top, bottom)), w, b, stride=(2, 1), groups=2)
    want = forward(D(x), D(w), D(b))
    out, dy = room(*want.shape, dtype=dtype), values(*want.shape, dtype=dtype)
    tight = 2e-5 if dtype == torch.float32 else 2e-2
    aclnn.run("aclnnConvolution", x, w, b, [2, 1], list(pads), [1, 1], False, [0, 0], 2, out, 0)
    near(out, want, tight)
    dx, dw, db = room(*x.shape, dtype=dtype), room(*w.shape, dtype=dtype), room(6, dtype=dtype)
    aclnn.run("aclnnConvolutionBackward", dy, x, w, [6], [2, 1], list(pads), [1, 1], False, [0, 0], 2, [True] * 3, 0, dx, dw, db)
    for got, wanted in zip((dx, dw, db), by_autograd(forward, [dy], x, w, b)):
        near(got, wanted, tight)


def test_the_sides_of_a_line_and_what_is_ignored(aclnn):
    x, w = values(2, 4, 7), values(6, 4, 3)
    want = F.conv1d(F.pad(D(x), (1, 2)), D(w))
    out = room(*want.shape)
    aclnn.run("aclnnConvolution", x, w, None, [1], [1, 2], [1], False, [], 1, out, 0)
    near(out, want)


def test_a_convolution_of_times_takes_strides(aclnn):
    x, w, b, dy = values(5, 2, 3), values(3, 3, 4), values(4), values(5, 2, 4)
    forward = lambda x, w, b: b + sum(F.pad(x, (0, 0, 0, 0, 1, 1))[k:k + 5] @ w[k] for k in range(3))
    for turn in (lambda t: t, strided):
        out, dx, dw, db = room(5, 2, 4), room(5, 2, 3), room(3, 3, 4), room(4)
        aclnn.run("aclnnConvTbc", turn(x), turn(w), b, 1, out, 0)
        near(out, forward(D(x), D(w), D(b)))
        aclnn.run("aclnnConvTbcBackward", turn(dy), turn(x), turn(w), b, 1, 0, dx, dw, db)
        for got, want in zip((dx, dw, db), by_autograd(forward, [dy], x, w, b)):
            near(got, want)


def test_a_dropped_element_is_0_and_a_gradient_a_product(aclnn):
    x = torch.tensor([NAN, INF, 2.0, -3.0] * 32)
    mask = torch.full((16,), 0b10101010, dtype=torch.uint8)
    out = room(128)
    aclnn.run("aclnnDropoutDoMask", x, mask, 0.5, out)
    keep = torch.arange(128) % 2 == 1
    near(out, torch.where(keep, D(x) * 2, 0.0))
    aclnn.run("aclnnDropoutDoMask", x, mask, 0.0, out)
    near(out, x)
    aclnn.run("aclnnDropoutDoMask", x, mask, 1.0, out)
    assert (out == 0).all()
    aclnn.run("aclnnDropoutV3Grad", x, mask, 2.0, out)
    near(out, D(x) * keep * 2)
    for drop in (0.0, 1.0):
        told = room(16, dtype=torch.uint8)
        aclnn.run("aclnnDropoutV3", x, None, drop, 7, 8, out, told)
        assert (told == 77).all(), "where nothing is left to chance the mask stays as it was"
        near(out, x if drop == 0 else torch.zeros(128))
    aclnn.run("aclnnDropoutV3", x, None, 0.5, 7, 8, out, told)
    bits = (told.view(16, 1) >> torch.arange(8)) & 1
    near(out, torch.where(bits.view(-1) == 1, D(x) * 2, 0.0))
    assert 0 < bits.sum() < 128
    refused(aclnn, "aclnnDropoutDoMask", [x, mask, 1.5, out], "the probability to drop is 1.5")


def test_sampling_refuses_modes_that_it_does_not_know(aclnn):
    x, grid = values(1, 2, 4, 4), values(1, 3, 3, 2)
    refused(aclnn, "aclnnGridSampler2D", [x, grid, 3, 0, False, room(1, 2, 3, 3)], "interpolationMode is 3")
    refused(aclnn, "aclnnGridSampler2D", [x, grid, 0, 3, False, room(1, 2, 3, 3)], "paddingMode 3")
    arguments = [values(1, 2, 2, 3), x, grid, 0, 0, False, [True, True], room(1, 2, 4, 4), room(1, 3, 3, 2)]
    refused(aclnn, "aclnnGridSampler2DBackward", arguments, "gradOutput has shape")
    x, grid = values(1, 2, 4, 4, 4), values(1, 3, 3, 3, 3)
    refused(aclnn, "aclnnGridSampler3D", [x, grid, 3, 0, False, room(1, 2, 3, 3, 3)], "interpolationMode is 3")
    arguments = [values(1, 2, 2, 3, 3), x, grid, 0, 0, False, [True, True], room(1, 2, 4, 4, 4), room(1, 3, 3, 3, 3)]
    refused(aclnn, "aclnnGridSampler3DBackward", arguments, "gradOutput has shape")


@pytest.mark.parametrize("align", [False, True])
def test_a_grid_of_halves_is_rounded_once(aclnn, align):
    theta, out = values(2, 2, 3).half(), room(2, 5, 7, 2, dtype=HALF)
    aclnn.run("aclnnAffineGrid", theta, [2, 3, 5, 7], align, out)
    want = F.affine_grid(D(theta), [2, 3, 5, 7], align_corners=align)
    assert ((D(out) - want).abs() <= want.abs() * 2**-11 + 2e-7).all()


FAR, P4 = torch.full((1, 2, 4, 4), 10**9), values(1, 2, 8, 8)
FAR3, P5 = torch.full((1, 2, 2, 4, 4), 10**9), values(1, 2, 4, 8, 8)
WINDOW2, WINDOW3 = ([2] * 2, [2] * 2, [0] * 2, [1] * 2, False), ([2] * 3, [2] * 3, [0] * 3, [1] * 3, False)


@pytest.mark.parametrize("name, arguments, says", [
    ("aclnnMaxPool2dWithIndicesBackward", (FAR.float(), P4, FAR.int(), *WINDOW2, P4), "indices has places"),
    ("aclnnMaxPool2dWithMaskBackward", (FAR.float(), P4, torch.full((1, 2, 4, 64), 77, dtype=I8), *WINDOW2, P4), "indices has places"),
    ("aclnnMaxPool3dWithArgmaxBackward", (FAR3.float(), P5, FAR3.int(), *WINDOW3, P5), "indices has places"),
    ("aclnnAdaptiveMaxPool2dBackward", (FAR.float(), P4, FAR, P4), "indices has places"),
    ("aclnnAdaptiveMaxPool3dBackward", (FAR3.float(), P5, FAR3.int(), P5), "indices has places"),
    ("aclnnAdaptiveAvgPool2dBackward", (values(1, 1, 4, 4), P4, P4), "gradOutput has shape"),
    ("aclnnAdaptiveAvgPool3dBackward", (values(1, 1, 2, 4, 4), P5, P5), "gradOutput has shape"),
    ("aclnnNLLLossBackward", (values(4), LOGITS, TARGETS + 9, CLASS_WEIGHT, 0, -100, torch.ones(1), LOGITS), "target has places"),
    ("aclnnNLLLoss2dBackward", (values(2, 3, 2), PICTURE, PIXELS - 9, CLASS_WEIGHT, 0, -100, torch.ones(1), PICTURE), "target has places"),
    ("aclnnCtcLoss", (CTC, torch.tensor([[1, 3], [4, 1]]), [6, 6], [2, 2], 0, False, values(2), values(2, 6, 8)), "targets has places"),
    ("aclnnLayerNormBackward", (values(2, 8), values(4, 8), [8], values(4, 1), values(4, 1), ROW, ROW, [True] * 3, values(4, 8), ROW, ROW),
     "gradOut has shape"),
    ("aclnnBatchNormBackward", (values(1, 3), values(4, 3), None, None, None, values(3), values(3), True, 1e-5, [True] * 3, values(4, 3), values(3), values(3)),
     "gradOut has shape"),
    ("aclnnCdistBackward", (values(2, 2), values(5, 3), values(4, 3), values(2, 2), 3.0, values(5, 3)), "cdist has shape"),
])
def test_nothing_is_read_or_written_elsewhere(aclnn, name, arguments, says):
    """A place or a shape that does not belong to the other operands: refused at once, or when the operation runs."""
    refused(aclnn, name, list(arguments), says)


def test_a_scale_below_zero_is_refused(aclnn):
    x, out = values(1, 2, 4, 4), room(1, 2, 8, 8)
    for name in ("aclnnUpsampleBilinear2d", "aclnnUpsampleBilinear2dAA"):
        refused(aclnn, name, [x, [8, 8], False, -1.0, 2.0, out], "a scale is -1")
    refused(aclnn, "aclnnUpsampleNearestExact2d", [x, [8, 8], 2.0, -1.0, out], "a scale is -1")
    refused(aclnn, "aclnnUpsampleNearestExact2dBackward", [out, [8, 8], [1, 2, 4, 4], 2.0, -1.0, x], "a scale is -1")
    refused(aclnn, "aclnnUpsampleNearestExact1dBackward", [values(1, 2, 8), [8], [1, 2, 4], -1.0, room(1, 2, 4)], "a scale is -1")
    refused(aclnn, "aclnnUpsampleBilinear2dAABackward", [out, [8, 8], [1, 2, 4, 4], False, 2.0, -1.0, x], "a scale is -1")
    refused(aclnn, "aclnnUpsampleBicubic2dAAGrad", [out, [8, 8], [1, 2, 4, 4], False, 2.0, -1.0, x], "a scale is -1")


# Recurrent cells

def test_an_lstm_without_a_state_starts_from_zeros(aclnn):
    x, params = values(5, 2, 3), [values(16, 3), values(16, 4), values(16), values(16)]
    y, hy, cy = room(5, 2, 4), room(1, 2, 4), room(1, 2, 4)
    aclnn.run("aclnnLSTM", x, params, None, None, True, 1, 0.0, False, False, False, y, hy, cy, None, None, None, None, None, None, None)
    h = c = torch.zeros(2, 4).double()
    for step in D(x):
        i, f, g, o = (step @ D(params[0]).T + D(params[2]) + h @ D(params[1]).T + D(params[3])).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    near(hy[0], h)
    near(cy[0], c)
    near(y[-1], h)


def test_one_step_of_an_lstm_and_back(aclnn):
    gates, more, cx, b1, b2 = values(3, 16), values(3, 16), values(3, 4), values(16), values(16)
    hy, cy, storage = room(3, 4), room(3, 4), room(3, 16)
    aclnn.run("aclnnThnnFusedLstmCell", gates, more, cx, b1, b2, hy, cy, storage)

    def cell(sums, c):
        i, f, g, o = sums.chunk(4, -1)
        after = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(after), after
    sums = D(gates) + D(more) + D(b1) + D(b2)
    h, c = cell(sums, D(cx))
    near(hy, h)
    near(cy, c)
    dh, dc, d_gates, d_cx, d_bias = values(3, 4), values(3, 4), room(3, 16), room(3, 4), room(16)
    aclnn.run("aclnnThnnFusedLstmCellBackward", dh, dc, cx, cy, storage, True, d_gates, d_cx, d_bias)
    want = by_autograd(cell, [dh, dc], sums, cx)
    near(d_gates, want[0])
    near(d_cx, want[1])
    near(d_bias, want[0].sum(0))


# Others

@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_the_second_adam_w(aclnn, amsgrad, maximize):
    var, m, g, v = values(40), values(40), values(40), values(40).abs()
    most = values(40).abs()
    got = [var.clone(), m.clone(), v.clone(), most.clone()]
    aclnn.run("aclnnApplyAdamWV2", *got, g, torch.tensor([4.0]), 0.01, 0.9, 0.99, 0.1, 1e-8, amsgrad, maximize)
    slope = -D(g) if maximize else D(g)
    m, v, t = 0.9 * D(m) + 0.1 * slope, 0.99 * D(v) + 0.01 * slope**2, 5  # the client counts from 0
    most = torch.maximum(D(most), v) if amsgrad else D(most)
    root = torch.sqrt((most if amsgrad else v) / (1 - 0.99**t))
    want = D(var) - 0.01 / (root + 1e-8) * m / (1 - 0.9**t) - 0.01 * 0.1 * D(var)
    for have, wanted in zip(got, (want, m, v, most)):
        near(have, wanted)


def test_rows_are_scaled_to_a_norm(aclnn):
    table, rows = values(6, 5) * 3, torch.tensor([[0, 3], [3, 5]])
    for order in (1.0, 2.0, 3.0):
        got = table.clone()
        aclnn.run("aclnnEmbeddingRenorm", got, rows, 4.0, order)
        size = (D(table).abs()**order).sum(-1, keepdim=True)**(1 / order)
        want = torch.where((size > 4) & torch.isin(torch.arange(6), rows).view(6, 1), D(table) * 4 / (size + 1e-7), D(table))
        near(got, want)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_bags_of_rows(aclnn, mode):
    table, rows, starts = values(9, 3), torch.tensor([1, 4, 2, 7, 7, 0]), torch.tensor([0, 2, 5])
    out, bags, sizes, most = room(3, 3), room(6, dtype=I64), room(3, dtype=I64), room(3, 3, dtype=I64) if mode > 1 else room(3, dtype=I64)
    aclnn.run("aclnnEmbeddingBag", table, spaced(rows), spaced(starts), False, mode, False, None, False, -1, out, bags, sizes, most)
    parts = [D(table)[rows[:2]], D(table)[rows[2:5]], D(table)[rows[5:]]]
    near(out, torch.stack([p.sum(0) if mode == 0 else p.mean(0) if mode == 1 else p.amax(0) for p in parts]))


def test_causal_convolutions_refuse_modes_that_their_page_rules_out(aclnn):
    x, weight, states = values(1, 4, 64).half(), values(3, 64).half(), values(1, 2, 64).half()
    for residual, mode in ((0, 1), (0, 2), (2, 0)):
        arguments = [x, weight, states, *[None] * 9, 0, -1, 0, -1, residual, 128, mode, room(1, 4, 64, dtype=HALF)]
        refused(aclnn, "aclnnFusedCausalConv1d", arguments, "convMode is")
        refused(aclnn, "aclnnInplaceFusedCausalConv1d", arguments[:-1], "convMode is")

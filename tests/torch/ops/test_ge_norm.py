# SPDX-License-Identifier: Apache-2.0
"""GE normalisation, losses, random numbers and dropout, against plain torch: the shape that the library tells, then the values."""

import pytest
import torch
import torch.nn.functional as F

I32, I64 = torch.int32, torch.int64


def values(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def ints(*numbers, dtype=I64):
    return torch.tensor(list(numbers), dtype=dtype)


def vjp(function, grad, *inputs):
    return torch.autograd.functional.vjp(function, inputs, grad)[1]


def wide(*shape):
    return (1, shape[0], *[1] * (len(shape) - 1))


X, DY = values(4, 6, 5, 3), values(4, 6, 5, 3, seed=2)
W, B = values(6, seed=3), values(6, seed=4)
MEAN, VAR = values(6, seed=5), values(6, seed=6).abs() + 0.5
C = (1, 6, 1, 1)
AXES = (0, 2, 3)
BATCH_MEAN, BATCH_VAR = X.mean(AXES), X.var(AXES, correction=0)
RSTD = (BATCH_VAR + 1e-5).rsqrt()
XHAT = (X - BATCH_MEAN.view(C)) / (BATCH_VAR + 1e-4).sqrt().view(C)
COUNT = X.numel() // 6
SAMPLE_VAR = X.var(AXES)
DX, DW, DB = vjp(lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, 1e-5), DY, X, W, B)
LW, LB = values(5, 3, seed=7), values(5, 3, seed=8)
LMEAN, LRSTD = X.mean((2, 3), keepdim=True), (X.var((2, 3), correction=0, keepdim=True) + 1e-5).rsqrt()
LDX, LDW, LDB = vjp(lambda x, w, b: F.layer_norm(x, (5, 3), w, b, 1e-5), DY, X, LW, LB)
GROUPS = X.reshape(4, 2, -1)
GMEAN, GVAR = GROUPS.mean(2), GROUPS.var(2, correction=0)
GRSTD = (GVAR + 1e-5).rsqrt()
GDX, GDW, GDB = vjp(lambda x, w, b: F.group_norm(x, 2, w, b, 1e-5), DY, X, W, B)
ROWS, GAMMA, DROWS = values(3, 5, 8), values(8, seed=2), values(3, 5, 8, seed=3)
RMS = (ROWS.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


def rms_norm(x, gamma=GAMMA, eps=1e-6):
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * gamma


RDX, RDG = vjp(rms_norm, DROWS, ROWS, GAMMA)
SUM = ROWS + DROWS
SUM_RSTD = (SUM.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
SUM_NORM = rms_norm(SUM)
SCALE1 = SUM_NORM.abs().amax(-1) / 127
NORM_CASES = [
    ("BNInfer", [X, W, B, MEAN, VAR], {"epsilon": 1e-5}, F.batch_norm(X, MEAN, VAR, W, B, False, 0.1, 1e-5)),
    ("BNInferGrad", [DY, W, VAR], {"epsilon": 1e-5}, DY * (W * (VAR + 1e-5).rsqrt()).view(C)),
    ("BNTrainingReduce", [X], {}, (X.sum(AXES), X.square().sum(AXES))),
    ("BNTrainingUpdateGrad", [DY, X, BATCH_MEAN, BATCH_VAR], {}, ((DY * XHAT).sum(AXES), DY.sum(AXES))),
    ("BNTrainingReduceGrad", [DY, X, (DY * XHAT).sum(AXES), DY.sum(AXES), W, BATCH_MEAN, BATCH_VAR], {},
     vjp(lambda x: F.batch_norm(x, None, None, W, B, True, 0.1, 1e-4), DY, X)[0]),
    ("BatchNormGradV3", [DY, X, W, MEAN, VAR, BATCH_MEAN, RSTD], {}, (DX, DW, DB)),
    ("BatchNorm", [X, W, B, MEAN, VAR], {"is_training": False, "data_format": "NCHW"},
     (F.batch_norm(X, MEAN, VAR, W, B, False, 0.1, 1e-4), MEAN, VAR, MEAN, VAR, torch.zeros(1))),
    ("BatchNorm", [X.movedim(1, -1).contiguous(), W, B], {},
     (F.batch_norm(X, None, None, W, B, True, 0.1, 1e-4).movedim(1, -1), BATCH_MEAN, SAMPLE_VAR, BATCH_MEAN, BATCH_VAR, torch.zeros(1))),
    ("LayerNormV4", [X, ints(5, 3, dtype=I32), LW, LB], {}, (F.layer_norm(X, (5, 3), LW, LB), LMEAN, LRSTD)),
    ("LayerNormV4", [X, ints(5, 3, dtype=I32)], {"epsilon": 1e-3}, (F.layer_norm(X, (5, 3), eps=1e-3), LMEAN, (LRSTD ** -2 - 1e-5 + 1e-3).rsqrt())),
    ("LayerNorm", [X, LW, LB], {"begin_norm_axis": 2, "begin_params_axis": -2, "epsilon": 1e-5},
     (F.layer_norm(X, (5, 3), LW, LB), LMEAN, X.var((2, 3), correction=0, keepdim=True))),
    ("LayerNormV3", [X, LW, LB], {"begin_norm_axis": 2, "begin_params_axis": 2}, (F.layer_norm(X, (5, 3), LW, LB), LMEAN, LRSTD)),
    ("LayerNormGradV3", [DY, X, LRSTD, LMEAN, LW], {}, (LDX, LDW, LDB)),
    ("GroupNorm", [X, W, B], {"num_groups": 2, "eps": 1e-5}, (F.group_norm(X, 2, W, B), GMEAN, GVAR)),
    ("GroupNormV2", [X, W, B], {"num_groups": 2}, (F.group_norm(X, 2, W, B), GMEAN, GRSTD)),
    ("GroupNormGrad", [DY, GMEAN, GRSTD, X, W], {"num_groups": 2, "data_format": "NCHW"}, (GDX, GDW, GDB)),
    ("GroupNormSilu", [X, W, B], {"num_groups": 2}, (F.silu(F.group_norm(X, 2, W, B)), GMEAN, GRSTD)),
    ("InstanceNorm", [X, W, B], {"data_format": "NCHW", "epsilon": 1e-5},
     (F.instance_norm(X, None, None, W, B), X.mean((2, 3), keepdim=True), X.var((2, 3), correction=0, keepdim=True))),
    ("RmsNorm", [ROWS, GAMMA], {}, (rms_norm(ROWS), RMS)),
    ("RmsNormGrad", [DROWS, ROWS, RMS, GAMMA], {}, (RDX, RDG)),
    ("AddRmsNorm", [ROWS, DROWS, GAMMA], {}, (SUM_NORM, SUM_RSTD, SUM)),
    ("AddRmsNormCast", [ROWS.half(), DROWS.half(), GAMMA.half()], {}, None),
    ("AddLayerNorm", [ROWS, DROWS, GAMMA, GAMMA], {"additional_output": True},
     (F.layer_norm(SUM, (8,), GAMMA, GAMMA), SUM.mean(-1, keepdim=True), (SUM.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt(), SUM)),
    ("AddRmsNormDynamicQuant", [ROWS, DROWS, GAMMA], {},
     ((SUM_NORM / SCALE1.unsqueeze(-1)).round().clamp(-128, 127).to(torch.int8), None, SUM, SCALE1, None)),
]
P, T = torch.sigmoid(values(4, 5, seed=2)), torch.sigmoid(values(4, 5, seed=3))
LOGITS, CLASSES = values(4, 5), torch.tensor([0, 3, 2, 1])
LOGP = F.log_softmax(LOGITS, 1)
CLASS_WEIGHT = values(5, seed=4).abs()
ONE = torch.tensor(1.5)
TABLE = values(10, 3, seed=5)
BAG_ROWS, BAG_STARTS = ints(1, 2, 4, 5, 4, 3), ints(0, 3)
LOSS_CASES = [
    ("MseLoss", [P, T], {}, F.mse_loss(P, T)),
    ("MseLoss", [P, T], {"reduction": "none"}, F.mse_loss(P, T, reduction="none")),
    ("MseLossGrad", [P, T, ONE], {"reduction": "sum"}, 2 * (P - T) * 1.5),
    ("L1LossGrad", [ONE, P, T], {"reduction": "mean"}, torch.sign(P - T) * 1.5 / 20),
    ("LpLoss", [P, T], {"p": 1, "reduction": "sum"}, F.l1_loss(P, T, reduction="sum")),
    ("SmoothL1LossV2", [P, T], {"sigma": 0.25}, F.smooth_l1_loss(P, T, beta=0.25)),
    ("NLLLoss", [LOGP, CLASSES], {}, (F.nll_loss(LOGP, CLASSES), torch.tensor(4.0))),
    ("NLLLoss", [LOGP, CLASSES, CLASS_WEIGHT], {"reduction": "none"}, (F.nll_loss(LOGP, CLASSES, CLASS_WEIGHT, reduction="none"), None)),
    ("NLLLossGrad", [LOGP, ONE, CLASSES, torch.ones(5), torch.tensor(4.0)], {}, vjp(lambda x: F.nll_loss(x, CLASSES), ONE, LOGP)[0]),
    ("BinaryCrossEntropy", [P, T], {}, F.binary_cross_entropy(P, T)),
    ("BinaryCrossEntropyGrad", [P, T, ONE], {}, vjp(lambda x: F.binary_cross_entropy(x, T), ONE, P)[0]),
    ("SigmoidCrossEntropyWithLogitsV2", [LOGITS, T], {"reduction": "sum"}, F.binary_cross_entropy_with_logits(LOGITS, T, reduction="sum")),
    ("KLDiv", [LOGP, T], {"reduction": "batchmean"}, F.kl_div(LOGP, T, reduction="batchmean")),
    ("KLDivV2", [LOGP, LOGP * 2], {"reduction": "sum", "log_target": True}, F.kl_div(LOGP, LOGP * 2, reduction="sum", log_target=True)),
    ("SoftMarginLoss", [LOGITS, torch.sign(T - 0.5)], {}, F.soft_margin_loss(LOGITS, torch.sign(T - 0.5))),
    ("SoftmaxCrossEntropyWithLogits", [LOGITS, F.one_hot(CLASSES, 5).float()], {},
     (F.cross_entropy(LOGITS, CLASSES, reduction="none"), torch.softmax(LOGITS, 1) - F.one_hot(CLASSES, 5))),
    ("SparseSoftmaxCrossEntropyWithLogits", [LOGITS, CLASSES], {},
     (F.cross_entropy(LOGITS, CLASSES, reduction="none"), torch.softmax(LOGITS, 1) - F.one_hot(CLASSES, 5))),
    ("EmbeddingBag", [TABLE, BAG_ROWS, BAG_STARTS], {"mode": "sum"}, (F.embedding_bag(BAG_ROWS, TABLE, BAG_STARTS, mode="sum"), None, None, None)),
]


def compare(ge, kind, inputs, attributes, want):
    want = list(want) if isinstance(want, (list, tuple)) else [want]
    for have, wanted in zip(ge.run(kind, inputs, attributes, outputs=len(want)), want):
        if wanted is not None:
            assert (have.shape, have.dtype) == (wanted.shape, wanted.dtype)
            torch.testing.assert_close(have, wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("case", [case for case in NORM_CASES + LOSS_CASES if case[3] is not None], ids=lambda case: case[0])
def test_equals_plain_torch(ge, case):
    compare(ge, *case)


def test_a_batch_norm_moves_its_statistics_in_place(ge):
    mean, var = MEAN.clone(), VAR.clone()
    want = F.batch_norm(X, mean, var, W, B, True, 0.1, 1e-5)
    # What is called save_rstd is the variance on an Ascend910B, and BNTrainingUpdateGrad takes it as such.
    ge.check("BatchNormV3", [X, W, B, MEAN, VAR], {}, (want, mean, var, BATCH_MEAN, BATCH_VAR), refs={1: 3, 2: 4})


def test_a_training_update_gives_the_running_statistics(ge):
    sums = X.sum(AXES), X.square().sum(AXES)
    y = F.batch_norm(X, None, None, W, B, True, 0.1, 1e-5)
    compare(ge, "BNTrainingUpdate", [X, *sums, W, B, MEAN, VAR], {"factor": 0.1, "epsilon": 1e-5},
            (y, MEAN * 0.9 + BATCH_MEAN * 0.1, VAR * 0.9 + SAMPLE_VAR * 0.1, BATCH_MEAN, BATCH_VAR))


KEY, COUNTER, ALGORITHM = torch.tensor([7], dtype=torch.int64), ints(0, 3), ints(1, dtype=I32)


@pytest.mark.parametrize("kind, mean, std", [("StatelessRandomUniformV2", 0.5, 12 ** -0.5), ("StatelessRandomNormalV2", 0.0, 1.0)])
def test_random_numbers_are_a_function_of_key_and_counter(ge, kind, mean, std):
    shape = ints(100, 200, dtype=I32)
    first, = ge.run(kind, [shape, KEY, COUNTER, ALGORITHM], {"dtype": 0})
    again, = ge.run(kind, [shape, KEY, COUNTER, ALGORITHM], {"dtype": 0})
    other, = ge.run(kind, [shape, KEY, ints(0, 4), ALGORITHM], {"dtype": 0})
    half, = ge.run(kind, [shape, KEY, COUNTER, ALGORITHM], {"dtype": 1})
    assert first.shape == (100, 200) and half.dtype == torch.float16
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert abs(first.mean() - mean) < 0.05 and abs(first.std() - std) < 0.05


def test_dropout_keeps_the_share_that_is_asked_for_and_enlarges_it(ge):
    x = torch.ones(100, 100)
    mask, = ge.run("StatelessDropOutGenMask", [ints(100, 100), torch.tensor(0.75), ints(5), ints(0), ints(0, 2)])
    assert mask.shape == ((10000 + 127) // 128 * 16,)
    y, = ge.run("DropOutDoMask", [x, mask, torch.tensor(0.75)])
    assert abs((y != 0).float().mean() - 0.75) < 0.03
    assert torch.equal(y[y != 0], torch.full_like(y[y != 0], 1 / 0.75))


def test_a_mask_of_bools_has_one_for_each_element(ge):
    keep = values(3, 4) > 0
    ge.check("DropOutDoMask", [torch.ones(3, 4), keep, torch.tensor(0.5)], {}, keep * 2.0)


def test_bernoulli_permutations_and_samples(ge):
    draws, = ge.run("StatelessBernoulli", [ints(100, 100), torch.tensor(0.25), ints(5), ints(2)], {"dtype": 0})
    assert set(draws.unique().tolist()) == {0.0, 1.0} and abs(draws.mean() - 0.25) < 0.03
    order, = ge.run("StatelessRandperm", [ints(50), ints(5), ints(2)], {"layout": 1})
    assert order.sort().values.tolist() == list(range(50)) and order.tolist() != list(range(50))
    picks, = ge.run("MultinomialWithReplacement", [torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0]]), ints(5), ints(2)], {"numsamples": 1})
    assert picks.tolist() == [[1], [2]]

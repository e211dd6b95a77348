# SPDX-License-Identifier: Apache-2.0
"""aclnn functions that no function of torch_npu reaches: each against a formula in plain torch, called as a C program calls them."""

import math

import pytest
import torch
import torch.nn.functional as F
from aclnn_calls import room

SEED = torch.Generator().manual_seed(11)
LEAST = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def values(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=SEED).to(dtype)


def whole(low, high, *shape, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=SEED).to(dtype)


X, Y, Z, V = values(4, 6), values(4, 6), values(6), values(2, 3, 4)
SQUARE = values(4, 4)
BITS, MORE = whole(0, 64, 4, 6, dtype=torch.int32), whole(0, 64, 4, 6, dtype=torch.int32)
MASK = torch.tensor([1.0, -2.0, 0.0, float("inf"), -float("inf"), float("nan")])
BATCH = values(2, 5, 6)
COST = torch.rand(5, 3, generator=SEED)
PLANE = values(2, 3, 7, 6)
IDS = torch.tensor([2, 0, 2])
LABELS = torch.softmax(values(4, 6), -1)
A1, A2 = values(3, 4, 5), values(3, 5, 2)


def selu(x):
    return F.selu(x)


def segsum(x):
    n = x.shape[-1]
    wide = x.unsqueeze(-1).expand(*x.shape, n).masked_fill(torch.ones(n, n).triu().bool(), 0).cumsum(-2)
    return wide.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf).exp()


def gradient(function, x, grad):
    x = x.double().clone().requires_grad_()
    return torch.autograd.grad(function(x), x, grad.double())[0].float()


def circular(x, padding):
    return F.pad(x, padding, mode="circular")


def sinkhorn(cost, tol):
    cost, d1 = cost.double().exp(), torch.ones(cost.shape[1], dtype=torch.float64)
    error = 1e9
    while error > tol:
        d0 = 1 / (cost.shape[0] * ((d1 * cost).sum(1) + 1e-8))
        new = 1 / (cost.shape[1] * ((d0.unsqueeze(1) * cost).sum(0) + 1e-8))
        error, d1 = (d1 - new).abs().mean().item(), new
    return (d1 * cost * d0.unsqueeze(1)).float()


def swish_gradient(x, beta, grad):
    return gradient(lambda t: t * torch.sigmoid(beta * t), x, grad)


def situ(x, beta, linear, left):
    a, b = x.chunk(2, -1)
    gate, up = (a, b) if left else (b, a)
    return beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * (linear * torch.tanh(up / linear) if linear > 0 else up)


def clipped(x, limit, mode):
    a, b = x.chunk(2, -1)
    b = b.clamp(-limit, limit)
    if mode == 1:
        return F.silu(a).clamp(max=limit) * b
    a = a.clamp(max=limit)
    return a * torch.sigmoid(1.5 * a) * (b + 0.5)


def scattered(x, indices, updates, reduce):
    return x.index_reduce(0, indices, updates, reduce)


# name, arguments (an output is a tuple: its place in the list of results, then dtype if not float32), results
OUT = object()
ROWS = [
    ("aclnnArgsort", [X, 1, True, OUT], X.argsort(1, True)),
    ("aclnnGatherV2", [X, 1, torch.tensor([5, 0, -1]), OUT], X[:, [5, 0, 5]]),
    ("aclnnGatherNd", [V, torch.tensor([[0, 2], [1, -1]]), True, OUT], V[[0, 1], [2, 2]]),
    ("aclnnScatterNd", [X, torch.tensor([[1], [3]]), Y[:2], OUT], X.index_copy(0, torch.tensor([1, 3]), Y[:2])),
    ("aclnnPermute", [V, [2, 0, 1], OUT], V.permute(2, 0, 1).contiguous()),
    ("aclnnSlice", [X, 1, -5, 99, 2, OUT], X[:, 1::2].contiguous()),
    ("aclnnSliceV2", [V, [1, -3], [9, 4], [1, 2], [1, 2], OUT], V[:, 1:, 1:4:2].contiguous()),
    ("aclnnExpand", [Z, [4, 6], OUT], Z.expand(4, 6).contiguous()),
    ("aclnnFlatten", [V, 1, OUT], V.flatten(1)),
    ("aclnnSum", [[X, Y, Z], OUT], X + Y + Z),
    ("aclnnAddN", [[X, Y, X], OUT], X + Y + X),
    ("aclnnMaxN", [[X, Y, Z], OUT], torch.maximum(torch.maximum(X, Y), Z)),
    ("aclnnMinN", [[X, Y], OUT], torch.minimum(X, Y)),
    ("aclnnCumsumV2", [X, 1, True, True, OUT], X.flip(1).cumsum(1).flip(1) - X),
    ("aclnnGer", [Z, X[0], OUT], torch.outer(Z, X[0])),
    ("aclnnGemm", [X, Y, Z[:4].expand(4, 4), 0.5, 2.0, 0, 1, OUT, 0], 0.5 * X @ Y.t() + 2 * Z[:4]),
    ("aclnnEinsum", [[A1, A2], "bij,bjk->bik", OUT], torch.einsum("bij,bjk->bik", A1, A2)),
    ("aclnnHeaviside", [torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([0.25]), OUT], torch.tensor([0.0, 0.25, 1.0])),
    ("aclnnIsInf", [MASK, OUT], MASK.isinf()),
    ("aclnnReal", [torch.complex(X, Y), OUT], X),
    ("aclnnLgamma", [X.abs() + 0.1, OUT], torch.lgamma(X.abs() + 0.1)),
    ("aclnnDigamma", [X.abs() + 0.1, OUT], torch.digamma(X.abs() + 0.1)),
    ("aclnnSquare", [X, OUT], X * X),
    ("aclnnBitwiseAndTensorOut", [BITS, MORE, OUT], BITS & MORE),
    ("aclnnSelu", [X, OUT], F.selu(X)),
    ("aclnnSeluBackward", [Y, F.selu(X), OUT], gradient(F.selu, X, Y)),
    ("aclnnShrink", [X, 0.5, 0.25, OUT], torch.where(X > 0.5, X - 0.25, torch.where(X < -0.5, X + 0.25, torch.zeros(())))),
    ("aclnnSwish", [X, 1.7, OUT], X * torch.sigmoid(1.7 * X)),
    ("aclnnSwish", [X, None, OUT], F.silu(X)),
    ("aclnnSwishBackward", [Y, X, 1.7, OUT], swish_gradient(X, 1.7, Y)),
    ("aclnnSquaredRelu", [X, OUT], F.relu(X) ** 2),
    ("aclnnGeGlu", [X, -1, 1, OUT, OUT], [X[:, :3] * F.gelu(X[:, 3:], approximate="tanh"), F.gelu(X[:, 3:], approximate="tanh")]),
    ("aclnnGeGluBackward", [Y[:, :3].contiguous(), X, F.gelu(X[:, 3:]), -1, 0, OUT], gradient(lambda t: t[:, :3] * F.gelu(t[:, 3:]), X, Y[:, :3])),
    ("aclnnSituGlu", [X, -1, 1.5, 2.0, True, OUT], situ(X, 1.5, 2.0, True)),
    ("aclnnSituGlu", [X, -1, 1.5, 0.0, False, OUT], situ(X, 1.5, 0.0, False)),
    ("aclnnSituGluGrad", [Y[:, :3].contiguous(), X, -1, 1.5, 2.0, False, OUT], gradient(lambda t: situ(t, 1.5, 2.0, False), X, Y[:, :3])),
    ("aclnnClippedSwigluV2", [X, None, 1, 1.5, 0.7, 0.5, False, 0, OUT], clipped(X, 0.7, 0)),
    ("aclnnClippedSwigluV2", [X, None, 1, 1.5, 0.7, 0.5, False, 1, OUT], clipped(X, 0.7, 1)),
    ("aclnnMaxV2", [V, [0, 2], True, False, OUT], V.amax((0, 2), True)),
    ("aclnnMaxV2", [V, [], True, True, OUT], V),
    ("aclnnMeanV2", [V, [1], False, False, OUT], V.mean(1)),
    ("aclnnReduceLogSum", [V.abs(), [2], False, False, OUT], V.abs().sum(2).log()),
    ("aclnnVar", [V, [1], True, False, OUT], V.var(1)),
    ("aclnnVar", [V, [1], False, True, OUT], V.var(1, unbiased=False, keepdim=True)),
    ("aclnnDiag", [Z, 1, OUT], torch.diag(Z, 1)),
    ("aclnnDiag", [SQUARE, -1, OUT], torch.diag(SQUARE, -1)),
    ("aclnnDiagFlat", [SQUARE, 0, OUT], torch.diagflat(SQUARE)),
    ("aclnnExpandIntoJaggedPermute", [torch.tensor([1, 0]).int(), torch.tensor([0, 3, 5]).int(), torch.tensor([0, 2, 5]).int(), 5, OUT],
     torch.tensor([3, 4, 0, 1, 2]).int()),
    ("aclnnSignBitsPack", [torch.tensor([1.0, -1, 0, -2, 3, 4, -5, 6, -1]), 1, OUT], torch.tensor([[0b10110101, 0]], dtype=torch.uint8)),
    ("aclnnSignBitsUnpack", [torch.tensor([0b10110101], dtype=torch.uint8), 2, torch.float32, OUT], torch.tensor([[1.0, -1, 1, -1], [1, 1, -1, 1]])),
    ("aclnnPrecisionCompare", [X, X.clone(), OUT], torch.zeros((), dtype=torch.int32)),
    ("aclnnPrecisionCompare", [X, Y, OUT], torch.ones((), dtype=torch.int32)),
    ("aclnnScale", [V, V[0, :, 0].contiguous(), V[1, :, 0].contiguous(), 1, 1, True, OUT], V * V[0, :, :1] + V[1, :, :1]),
    ("aclnnScale", [V, V[0].contiguous(), None, -2, 0, False, OUT], V * V[0]),
    ("aclnnModulate", [BATCH, X[:2].contiguous(), Y[:2].contiguous(), OUT], BATCH * (1 + X[:2, None]) + Y[:2, None]),
    ("aclnnModulateBackward", [BATCH, BATCH.flip(0), X[:2].contiguous(), Y[:2].contiguous(), OUT, OUT, OUT],
     [BATCH * X[:2, None], (BATCH * BATCH.flip(0)).sum(1), BATCH.sum(1)]),
    ("aclnnXlog1py", [torch.cat([torch.zeros(1), X[0]]), torch.cat([torch.tensor([-3.0]), Y[0].abs()]), OUT],
     torch.cat([torch.tensor([float("nan")]) * 0 if False else torch.special.xlog1py(torch.zeros(1), torch.tensor([-3.0])), X[0] * torch.log1p(Y[0].abs())])),
    ("aclnnGroupedBiasAddGrad", [X, torch.tensor([1, 4]), OUT], torch.stack([X[:1].sum(0), X[1:].sum(0)])),
    ("aclnnGroupedBiasAddGradV2", [X, torch.tensor([1, 3]), 1, OUT], torch.stack([X[:1].sum(0), X[1:].sum(0)])),
    ("aclnnGroupedBiasAddGrad", [V, None, OUT], V.sum(1)),
    ("aclnnExpSegsum", [X, OUT], segsum(X)),
    ("aclnnExpSegsumBackward", [segsum(Y), segsum(X), OUT], gradient(segsum, X, segsum(Y))),
    ("aclnnSinkhorn", [COST, 1e-5, OUT], sinkhorn(COST, 1e-5)),
    ("aclnnMaxPool", [PLANE, [3, 2], [2, 2], 0, [1, 0, 1, 0], [1, 1], 0, OUT], F.max_pool2d(PLANE, (3, 2), 2, (1, 0))),
    ("aclnnMaxPool", [PLANE, [2], [2], 0, [], [], 1, OUT], F.max_pool2d(PLANE, 2, 2, ceil_mode=True)),
    ("aclnnMaxPool", [PLANE, [2, 2], [], 0, [1, 0, 0, 1], [], 0, OUT], F.max_pool2d(F.pad(PLANE, (0, 1, 1, 0), value=-math.inf), 2, 1)),
    ("aclnnGlobalAveragePool", [PLANE, OUT], PLANE.mean((2, 3), True)),
    ("aclnnGlobalMaxPool", [PLANE, OUT], PLANE.amax((2, 3), True)),
    ("aclnnCircularPad2d", [PLANE, [2, 1, 0, 3], OUT], circular(PLANE, (2, 1, 0, 3))),
    ("aclnnCircularPad3d", [PLANE[None], [2, 1, 0, 3, 1, 1], OUT], circular(PLANE[None], (2, 1, 0, 3, 1, 1))),
    ("aclnnCircularPad2dBackward", [circular(PLANE, (2, 1, 0, 3)), PLANE, [2, 1, 0, 3], OUT],
     gradient(lambda t: circular(t, (2, 1, 0, 3)), PLANE, circular(PLANE, (2, 1, 0, 3)))),
    ("aclnnCircularPad3dBackward", [circular(PLANE[None], (2, 1, 0, 3, 1, 1)), PLANE[None], [2, 1, 0, 3, 1, 1], OUT],
     gradient(lambda t: circular(t, (2, 1, 0, 3, 1, 1)), PLANE[None], circular(PLANE[None], (2, 1, 0, 3, 1, 1)))),
    ("aclnnPdistForward", [X, 1.5, OUT], torch.pdist(X, 1.5)),
    ("aclnnBinaryCrossEntropyWithLogitsTargetBackward", [torch.tensor(0.7), X, LABELS, Y.abs(), Z.abs(), 1, OUT],
     gradient(lambda t: F.binary_cross_entropy_with_logits(X.double(), t, Y.abs().double(), pos_weight=Z.abs().double()), LABELS, torch.tensor(0.7))),
    ("aclnnMseLossOut", [X, Y, 1, OUT], F.mse_loss(X, Y)),
    ("aclnnSoftmaxCrossEntropyWithLogits", [X, 2 * LABELS, OUT, OUT], [-(2 * LABELS * F.log_softmax(X, -1)).sum(-1), F.softmax(X, -1) - 2 * LABELS]),
    ("aclnnInstanceNorm", [PLANE, Z[:3].contiguous(), X[0, :3].contiguous(), "NCHW", 1e-5, OUT, OUT, OUT],
     [F.instance_norm(PLANE, weight=Z[:3], bias=X[0, :3]), PLANE.mean((2, 3), True), PLANE.var((2, 3), unbiased=False, keepdim=True)]),
    ("aclnnLayerNormWithImplMode", [X, [6], Z, X[0].contiguous(), 1e-5, OUT, None, None, 1], F.layer_norm(X, (6,), Z, X[0])),
    ("aclnnGroupNormSiluV2", [PLANE, Z[:3].contiguous(), X[0, :3].contiguous(), 3, 1e-5, False, OUT, OUT, OUT],
     [F.group_norm(PLANE, 3, Z[:3], X[0, :3]), PLANE.mean((2, 3)), (PLANE.var((2, 3), unbiased=False) + 1e-5).rsqrt()]),
    ("aclnnMatmulEmuSplitWeight", [X.bfloat16(), Y.t().bfloat16().contiguous(), Y.t().bfloat16().contiguous(), OUT, 1 / 256, 0],
     (X.bfloat16().float() @ Y.t().bfloat16().float()) * (1 + 1 / 256)),
    ("aclnnLogdet", [SQUARE @ SQUARE.t() + torch.eye(4), OUT], torch.logdet(SQUARE @ SQUARE.t() + torch.eye(4))),
    ("aclnnMaxUnpool3dBackward", [PLANE, *F.max_pool3d(PLANE, 2, 1, return_indices=True), [3, 7, 6], [1, 1, 1], [0, 0, 0], OUT], F.max_pool3d(PLANE, 2, 1)),
    ("aclnnMaxUnpool2dBackward", [PLANE, *F.max_pool2d(PLANE, 2, return_indices=True), [7, 6], OUT], F.max_pool2d(PLANE, 2)),
]
# In place: the argument that changes, and what it becomes.
IN_PLACE = [
    ("aclnnInplaceBitwiseOrScalar", [BITS, 5], 0, BITS | 5),
    ("aclnnInplaceBitwiseOrTensor", [BITS, MORE], 0, BITS | MORE),
    ("aclnnInplaceBitwiseAndTensorOut", [BITS, MORE], 0, BITS & MORE),
    ("aclnnInplaceRound", [X * 3], 0, (X * 3).round()),
    ("aclnnInplaceTrunc", [X * 3], 0, (X * 3).trunc()),
    ("aclnnInplaceNeg", [X], 0, -X),
    ("aclnnInplaceXLogYTensor", [X, Y.abs()], 0, torch.xlogy(X, Y.abs())),
    ("aclnnInplaceCumprod", [X, 1], 0, X.cumprod(1)),
    ("aclnnInplaceSelu", [X], 0, F.selu(X)),
    ("aclnnInplaceAddbmm", [X[:, :2].contiguous(), A1, A2, 0.5, 2.0, 0], 0, torch.addbmm(X[:, :2], A1, A2, beta=0.5, alpha=2)),
    ("aclnnInplaceBaddbmm", [values(3, 4, 2).mul(0), A1, A2, 0.5, 2.0, 0], 0, 2 * A1 @ A2),
    ("aclnnScatterMul", [X, IDS, Y[:3], False], 0, scattered(X, IDS, Y[:3], "prod")),
    ("aclnnScatterMax", [X, IDS, Y[:3], False], 0, scattered(X, IDS, Y[:3], "amax")),
    ("aclnnScatterMin", [X, IDS, Y[:3], False], 0, scattered(X, IDS, Y[:3], "amin")),
    ("aclnnScatterDiv", [X, IDS, Y[:3], False], 0, X / torch.stack([Y[1], torch.ones(6), Y[0] * Y[2], torch.ones(6)])),
    ("aclnnTfScatterAdd", [X, IDS, Y[:3]], 0, X.index_add(0, IDS, Y[:3])),
    ("aclnnTfScatterAdd", [X, torch.tensor([[0, 1], [3, 2], [0, 1]]), Z[:3]], 0,
     X.index_put((torch.tensor([0, 3, 0]), torch.tensor([1, 2, 1])), Z[:3], accumulate=True)),
    ("aclnnStridedSliceAssignV2", [X, Y[:2, :3], [0, 1], [4, -2], [2, 1], None], 0,
     torch.cat([X[:, :1], torch.stack([Y[0, :3], X[1, 1:4], Y[1, :3], X[3, 1:4]]), X[:, 4:]], 1)),
]


def outputs(arguments, results, aclnn, name):
    """The arguments with rooms for the results, and those rooms."""
    results, rooms, filled = list(results) if isinstance(results, list) else [results], [], []
    for argument in arguments:
        if argument is OUT:
            want = results[len(rooms)]
            rooms.append(room(want.shape, dtype=want.dtype))
            argument = rooms[-1]
        filled.append(argument)
    return filled, list(zip(rooms, results))


@pytest.mark.parametrize("name, arguments, results", ROWS, ids=[f"{row[0]}-{number}" for number, row in enumerate(ROWS)])
def test_the_formula(aclnn, name, arguments, results):
    filled, pairs = outputs(arguments, results, aclnn, name)
    aclnn.run(name, *filled)
    for got, want in pairs:
        torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name, arguments, place, want", IN_PLACE, ids=[f"{row[0]}-{number}" for number, row in enumerate(IN_PLACE)])
def test_in_place(aclnn, name, arguments, place, want):
    changed = [argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    aclnn.run(name, *changed)
    torch.testing.assert_close(changed[place], want, rtol=1e-5, atol=1e-5)


# Half types are computed in float32 and rounded once.
HALVES = [row for row in ROWS if row[0] in (
    "aclnnSum", "aclnnGemm", "aclnnSwish", "aclnnSwishBackward", "aclnnSituGlu", "aclnnSituGluGrad", "aclnnShrink", "aclnnSquaredRelu", "aclnnScale",
    "aclnnModulate", "aclnnExpSegsum", "aclnnGlobalAveragePool", "aclnnSeluBackward", "aclnnLgamma", "aclnnReduceLogSum", "aclnnMeanV2")]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name, arguments, results", HALVES, ids=[f"{row[0]}-{number}" for number, row in enumerate(HALVES)])
def test_half_types_round_once(aclnn, name, arguments, results, dtype):
    def half(given):
        if isinstance(given, list) and given and isinstance(given[0], torch.Tensor):
            return [half(member) for member in given]
        return given.to(dtype) if isinstance(given, torch.Tensor) and given.dtype == torch.float32 else given

    halves = [argument if argument is OUT else half(argument) for argument in arguments]
    exact, pairs = outputs([argument if argument is OUT else [m.float() for m in argument] if isinstance(argument, list) and argument
                            and isinstance(argument[0], torch.Tensor) else argument.float() if isinstance(argument, torch.Tensor)
                            and argument.dtype == dtype else argument for argument in halves], results, aclnn, name)
    aclnn.run(name, *exact)
    filled, rounded = outputs(halves, half(results), aclnn, name)
    aclnn.run(name, *filled)
    for (got, _), (want, _) in zip(rounded, pairs):
        torch.testing.assert_close(got.float(), want.to(dtype).float(), rtol=LEAST[dtype], atol=LEAST[dtype] / 10)


def test_qr(aclnn):
    for some, shape in ((True, (6, 4)), (False, (6, 6))):
        q, r = room(shape), room(shape[1], 4)
        aclnn.run("aclnnQr", X.t().contiguous(), some, q, r)
        torch.testing.assert_close(q @ r, X.t())
        torch.testing.assert_close(q.t() @ q, torch.eye(shape[1]))


def test_split_tensor(aclnn):
    parts = [room(4, 4), room(4, 2)]
    aclnn.run("aclnnSplitTensor", X, 4, 1, parts)
    torch.testing.assert_close(torch.cat(parts, 1), X, rtol=0, atol=0)


def test_lists_in_place(aclnn):
    for name, rest, want in (("aclnnForeachAddListInplace", [[Y, Z], torch.tensor([2.0])], [X + 2 * Y, X[0] + 2 * Z]),
                             ("aclnnForeachSubListInplace", [[Y, Z], torch.tensor([2.0])], [X - 2 * Y, X[0] - 2 * Z]),
                             ("aclnnForeachMulListInplace", [[Y, Z]], [X * Y, X[0] * Z]), ("aclnnForeachDivListInplace", [[Y, Z]], [X / Y, X[0] / Z]),
                             ("aclnnForeachMulScalarInplace", [torch.tensor([3.0])], [X * 3, X[0] * 3]),
                             ("aclnnForeachSubScalarInplace", [torch.tensor([3.0])], [X - 3, X[0] - 3])):
        given = [X.clone(), X[0].clone()]
        aclnn.run(name, given, *rest)
        for got, expected in zip(given, want):
            torch.testing.assert_close(got, expected)
    for name, function, given in (("aclnnForeachLogInplace", torch.log, [X.abs()]), ("aclnnForeachACosInplace", torch.acos, [X.tanh()])):
        want = [function(member) for member in given]
        aclnn.run(name, given)
        torch.testing.assert_close(given[0], want[0])


def test_lists_with_a_number_for_each(aclnn):
    scalars, given = torch.tensor([2.0, -1.0]), [[X, Z], [Y, X[0]], [Y.abs() + 1, X[1].abs() + 1]]
    for name, function in (("aclnnForeachAddcdivList", lambda a, b, c, s: a + s * b / c), ("aclnnForeachAddcmulList", lambda a, b, c, s: a + s * b * c)):
        out = [room(4, 6), room(6)]
        aclnn.run(name, *given, scalars, out)
        for which, got in enumerate(out):
            torch.testing.assert_close(got, function(*(members[which] for members in given), scalars[which]))


def test_bernoulli(aclnn):
    for name, prob in (("aclnnBernoulli", 0.3), ("aclnnBernoulliTensor", torch.tensor(0.3))):
        out, again, other = room(4096), room(4096), room(4096)
        aclnn.run(name, torch.zeros(4096), prob, 7, 0, out)
        aclnn.run(name, torch.zeros(4096), prob, 7, 0, again)
        aclnn.run(name, torch.zeros(4096), prob, 8, 0, other)
        assert set(out.tolist()) == {0.0, 1.0} and abs(out.mean().item() - 0.3) < 0.05
        assert out.equal(again) and not out.equal(other)


def test_dropout_and_its_gradient(aclnn):
    x, out, mask = values(512), room(512), room(64, dtype=torch.uint8)
    aclnn.run("aclnnDropout", x, 0.25, True, 3, 0, out, mask)
    kept = (mask.int()[:, None] >> torch.arange(8)).bitwise_and(1).flatten().bool()
    torch.testing.assert_close(out, torch.where(kept, x / 0.75, torch.zeros(())))
    grad = room(512)
    aclnn.run("aclnnDropoutBackward", x, mask, 1 / 0.75, grad)
    torch.testing.assert_close(grad, out)
    aclnn.run("aclnnDropout", x, 0.25, False, 3, 0, out, mask)
    torch.testing.assert_close(out, x)


def test_chamfer_distance_gradient(aclnn):
    one, two = values(2, 5, 2).double().requires_grad_(), values(2, 4, 2).double().requires_grad_()
    distances = ((one[:, :, None] - two[:, None]) ** 2).sum(-1)
    (near1, place1), (near2, place2) = distances.min(2), distances.min(1)
    g1, g2 = values(2, 5), values(2, 4)
    want = torch.autograd.grad((near1 * g1).sum() + (near2 * g2).sum(), (one, two))
    got = [room(2, 5, 2), room(2, 4, 2)]
    aclnn.run("aclnnChamferDistanceBackward", one.detach().float(), two.detach().float(), place1.int(), place2.int(), g1, g2, *got)
    for have, wanted in zip(got, want):
        torch.testing.assert_close(have, wanted.float())


@pytest.mark.parametrize("limit", [0.0, 0.6])
@pytest.mark.parametrize("weighted", [False, True])
def test_swiglu_group(aclnn, limit, weighted):
    weight = torch.rand(4, 1, generator=SEED) if weighted else None

    def forward(x, w):
        a, b = x.chunk(2, -1)
        y = F.silu(a.clamp(max=limit) if limit else a) * (b.clamp(-limit, limit) if limit else b)
        return y * w if weighted else y

    groups, want, out = torch.tensor([1, 2]), forward(X, weight), room(4, 3)
    aclnn.run("aclnnSwigluGroup", X, weight, groups, limit, out)
    torch.testing.assert_close(out[:3], want[:3])
    assert out[3].eq(77).all()
    grad = Y[:, :3].contiguous()
    for name in ("aclnnSwigluGroupGrad", "aclnnSwigluGroupQuantGrad"):
        gx, gw = room(4, 6), room(4, 1) if weighted else None
        aclnn.run(name, grad, X, weight, want if weighted else None, groups, limit, gx, gw)
        expected = gradient(lambda x: forward(x, weight), X, grad)
        torch.testing.assert_close(gx, torch.cat([expected[:3], torch.zeros(1, 6)]))
        if weighted:
            torch.testing.assert_close(gw, (grad * want).sum(-1, keepdim=True))


def adamw(p, g, m, v, step, lr, b1, b2, wd, eps):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    return p - lr * wd * p - lr * (m / (1 - b1**step)) / ((v / (1 - b2**step)).sqrt() + eps), m, v


def test_fused_adamw(aclnn):
    given = [X.clone(), Y.clone(), values(4, 6), values(4, 6).abs()]
    want = adamw(given[0], given[1], given[2], given[3], 3, 1e-2, 0.9, 0.99, 0.1, 1e-8)
    lists = [[tensor] for tensor in given]
    aclnn.run("aclnnFusedAdamw", *lists, None, [torch.tensor([3.0])], None, None, 1e-2, 0.9, 0.99, 0.1, 1e-8, False, False)
    for got, expected in zip((given[0], given[2], given[3]), want):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(given[1], Y)


@pytest.mark.parametrize("mode", [0, 1])
def test_ema_adam(aclnn, mode):
    var, m, v, s = X.clone(), values(4, 6), values(4, 6).abs(), values(4, 6)
    before = [tensor.clone() for tensor in (var, m, v, s)]
    aclnn.run("aclnnApplyFusedEmaAdam", Y, var, m, v, s, torch.tensor([4]), 1e-2, 0.95, 0.9, 0.99, 1e-8, mode, True, 0.1)
    p, wm, wv, ws = before
    g = Y + 0.1 * p if mode == 0 else Y
    wm, wv = 0.9 * wm + 0.1 * g, 0.99 * wv + 0.01 * g * g
    update = (wm / (1 - 0.9**4)) / ((wv / (1 - 0.99**4)).sqrt() + 1e-8) + (0.1 * p if mode == 1 else 0)
    p = p - 1e-2 * update
    for got, want in zip((var, m, v, s), (p, wm, wv, 0.95 * ws + 0.05 * p)):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)


def test_adamw_of_quantised_moments(aclnn):
    count, block = 300, 256
    map_m, map_v = torch.linspace(-1, 1, 256), torch.linspace(0, 1, 256)
    var, grad = values(count), values(count)
    m, v = whole(0, 256, count, dtype=torch.uint8), whole(0, 256, count, dtype=torch.uint8)
    most_m, most_v = torch.tensor([0.5, 0.25]), torch.tensor([0.1, 0.2])
    of = torch.arange(count) // block
    want = adamw(var, grad * 0.9, map_m[m.long()] * most_m[of], map_v[v.long()] * most_v[of], 2, 1e-2, 0.9, 0.99, 0.1, 1e-8)
    aclnn.run("aclnnApplyAdamWQuant", var, grad, m, v, map_m, map_v, most_m, most_v, torch.tensor([2]), 1e-2, 0.9, 0.99, 0.1, 1e-8, 0.9, None, block)
    torch.testing.assert_close(var, want[0], rtol=1e-5, atol=1e-6)
    for places, table, most, exact in ((m, map_m, most_m, want[1]), (v, map_v, most_v, want[2])):
        torch.testing.assert_close(most, torch.stack([exact[:256].abs().max(), exact[256:].abs().max()]))
        assert ((table[places.long()] * most[of] - exact).abs() <= most[of] * 0.004).all()


@pytest.mark.parametrize("name, arguments, says", [
    ("aclnnMaxPool", [PLANE, [2], [2], 1, [], [], 0, PLANE], "NOTSET"),
    ("aclnnSlice", [X, 1, 0, 4, 0, room(4, 4)], "step is 0"),
    ("aclnnFlatten", [V, 1, room(3, 8)], "out"),
    ("aclnnHeaviside", [BITS, BITS, BITS], "INT32"),
])
def test_what_cannot_work_is_refused(aclnn, name, arguments, says):
    code, said = aclnn.status(name, [argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments])
    assert code != 0 and says in said, (code, said)

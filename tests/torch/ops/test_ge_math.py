# SPDX-License-Identifier: Apache-2.0
"""GE reductions, products and element-wise operators, against plain torch."""

import pytest
import torch
import torch.nn.functional as F
from ge_tensors import ints, values

I32, I64 = torch.int32, torch.int64


def one(number, dtype=torch.float32):
    return torch.tensor(number, dtype=dtype)


X, Y, G = values(2, 3, 4), values(2, 3, 4, seed=2), values(2, 3, 4, seed=3)
ROW = values(3, 1, seed=4)
POSITIVE = X.abs() + 0.5
SMALL = X / 10
A, B, BIAS = values(2, 5, 3), values(2, 3, 4, seed=6), values(4, seed=7)
NOT_A_NUMBER = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
MANY = ints(7, -7, 5), ints(2, 2, -3)


def through(function, x, gradient):
    x = x.clone().requires_grad_()
    function(x).backward(gradient)
    return x.grad



def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


UNARY = {
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin, "Asinh": torch.asinh, "Atan": torch.atan, "Atanh": torch.atanh,
    "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh, "Digamma": torch.digamma, "Erf": torch.erf, "Erfc": torch.erfc, "Exp": torch.exp,
    "Expm1": torch.expm1, "Floor": torch.floor, "Inv": torch.reciprocal, "Lgamma": torch.lgamma, "Log": torch.log, "Log1p": torch.log1p,
    "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Rint": torch.round, "Round": torch.round, "Rsqrt": torch.rsqrt, "Sigmoid": torch.sigmoid,
    "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh, "Sqrt": torch.sqrt, "Square": torch.square, "Tan": torch.tan, "Tanh": torch.tanh,
    "Trunc": torch.trunc, "IsFinite": torch.isfinite, "IsInf": torch.isinf, "IsNan": torch.isnan, "Signbit": torch.signbit,
    "BesselI0e": torch.special.i0e, "BesselI1e": torch.special.i1e,
    "Relu": F.relu, "Gelu": tanh_gelu, "GeluV2": F.gelu, "FastGelu": lambda x: x * torch.sigmoid(1.702 * x), "Mish": F.mish,
    "LogSigmoid": F.logsigmoid, "Softplus": F.softplus, "Softsign": F.softsign, "HardSwish": F.hardswish, "HardSigmoid": F.hardsigmoid,
    "Relu6": F.relu6, "Selu": F.selu, "Elu": F.elu, "Swish": F.silu, "HardShrink": F.hardshrink, "SoftShrink": F.softshrink,
}
BINARY = {
    "Add": torch.add, "AddV2": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "RealDiv": torch.div, "Maximum": torch.maximum,
    "Minimum": torch.minimum, "Atan2": torch.atan2, "FloorDiv": torch.floor_divide, "FloorMod": torch.remainder, "Mod": torch.fmod,
    "TruncateMod": torch.fmod, "SquaredDifference": lambda x, y: (x - y) ** 2, "Equal": torch.eq, "NotEqual": torch.ne, "Less": torch.lt,
    "LessEqual": torch.le, "Greater": torch.gt, "GreaterEqual": torch.ge, "Xdivy": lambda x, y: x / y, "DivNoNan": torch.div, "MulNoNan": torch.mul,
    "LogAddExp": torch.logaddexp, "ApproximateEqual": lambda x, y: (x - y).abs() < 1e-5,
}
REDUCTIONS = {"ReduceSum": torch.sum, "ReduceMean": torch.mean, "ReduceMax": torch.amax, "ReduceMin": torch.amin, "ReduceLogSumExp": torch.logsumexp,
              "ReduceNansum": torch.nansum}
CASES = [
    *((kind, [POSITIVE + 1 if kind == "Acosh" else SMALL if kind in ("Atanh", "Asin", "Acos") else POSITIVE], {},
       function(POSITIVE + 1 if kind == "Acosh" else SMALL if kind in ("Atanh", "Asin", "Acos") else POSITIVE)) for kind, function in UNARY.items()),
    *((kind, [X.half()], {}, function(X.half())) for kind, function in UNARY.items() if kind in ("Relu", "Abs", "Neg", "Sigmoid", "Exp", "IsNan")),
    *((kind, [X, ROW], {}, function(X, ROW)) for kind, function in BINARY.items()),
    ("Div", list(MANY), {}, torch.div(*MANY, rounding_mode="trunc")),
    ("FloorDiv", list(MANY), {}, torch.div(*MANY, rounding_mode="floor")),
    ("DivNoNan", [X, torch.zeros(4)], {}, torch.zeros_like(X)),
    ("DivNoNan", [ints(7, 5), ints(2, 0)], {}, ints(3, 0)),
    ("MulNoNan", [NOT_A_NUMBER, torch.zeros(4)], {}, torch.zeros(4)),
    ("IsInf", [NOT_A_NUMBER], {}, torch.isinf(NOT_A_NUMBER)),
    ("LogicalAnd", [X > 0, Y > 0], {}, (X > 0) & (Y > 0)),
    ("LogicalOr", [X > 0, ROW > 0], {}, (X > 0) | (ROW > 0)),
    ("LogicalNot", [X > 0], {}, X <= 0),
    ("BitwiseAnd", [ints(6, 5), ints(3)], {}, ints(2, 1)),
    ("BitwiseOr", [ints(6, 5), ints(3)], {}, ints(7, 7)),
    ("BitwiseXor", [ints(6, 5), ints(3)], {}, ints(5, 6)),
    ("BitwiseNot", [ints(6, 5)], {}, ~ints(6, 5)),
    ("Invert", [ints(6, 5)], {}, ~ints(6, 5)),
    ("Pow", [POSITIVE, ROW], {}, POSITIVE ** ROW),
    ("Power", [POSITIVE], {"power": 2.0, "scale": 3.0, "shift": 1.0}, (POSITIVE * 3 + 1) ** 2),
    ("Exp", [X], {"base": 2.0, "scale": 0.5, "shift": 1.0}, 2 ** (X * 0.5 + 1)),
    ("Log", [POSITIVE], {"base": 2.0}, POSITIVE.log2()),
    ("Log", [ints(1, 2, 10)], {"base": 10.0}, ints(1, 2, 10).log10()),
    ("RealDiv", list(MANY), {}, ints(3, -3, -1)),
    ("Div", [MANY[0].to(I32), MANY[1].to(I32)], {}, ints(3, -3, -1, dtype=I32)),
    ("AxpyV2", [X, Y, torch.tensor([0.5])], {}, X + 0.5 * Y),
    ("AxpyV2", [ints(1, 2, dtype=I32), torch.tensor([0.5, 0.5]), ints(2, dtype=I32)], {}, torch.tensor([2.0, 3.0])),
    ("Sxpy", [X, Y, None], {}, X - Y),
    ("Sxpy", [X, Y, torch.tensor([2.0])], {}, X - 2 * Y),
    ("FusedMulAdd", [X, Y, ROW], {}, X * Y + ROW),
    ("AccumulateNV2", [X, Y, G], {"N": 3}, X + Y + G),
    ("Eltwise", [X, Y], {"N": 2, "mode": 0}, X * Y),
    ("Eltwise", [X, Y], {"N": 2, "coeff": [2.0, 3.0]}, 2 * X + 3 * Y),
    ("Eltwise", [X, Y], {"N": 2, "mode": 2}, torch.maximum(X, Y)),
    ("Lerp", [X, Y, one(0.25)], {}, X.lerp(Y, 0.25)),
    ("ClipByValueV2", [X, one(-1.0), one(0.5)], {}, X.clamp(-1, 0.5)),
    ("NanToNum", [NOT_A_NUMBER], {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}, NOT_A_NUMBER.nan_to_num(1, 2, 3)),
    ("ThresholdV2", [X, one(0.25), one(9.0)], {}, F.threshold(X, 0.25, 9.0)),
    ("ThresholdV2", [X, one(0.25), None], {}, F.threshold(X, 0.25, 0.0)),
    ("Threshold", [X], {"threshold": 0.5}, (X > 0.5).float()),
    ("Celu", [X], {"alpha1": 2.0, "alpha2": 2.0}, F.celu(X, 2.0)),
    ("Swish", [X], {"scale": 2.0}, X * torch.sigmoid(2 * X)),
    ("GLU", [X], {}, F.glu(X)),
    ("GLU", [X], {"dim": 0}, F.glu(X, 0)),
    ("SwiGlu", [X], {}, F.silu(X[..., :2]) * X[..., 2:]),
    ("Real", [torch.complex(X, Y)], {}, X),
    ("Imag", [torch.complex(X, Y)], {}, Y),
    ("Conj", [torch.complex(X, Y)], {}, torch.complex(X, -Y)),
    ("Complex", [X, Y], {}, torch.complex(X, Y)),
    # Gradients.
    ("AbsGrad", [X, G], {}, G * X.sign()),
    ("AcosGrad", [SMALL, G], {}, through(torch.acos, SMALL, G)),
    ("AsinGrad", [SMALL, G], {}, through(torch.asin, SMALL, G)),
    ("AtanGrad", [X, G], {}, through(torch.atan, X, G)),
    ("AcoshGrad", [torch.acosh(POSITIVE + 1), G], {}, through(torch.acosh, POSITIVE + 1, G)),
    ("AsinhGrad", [torch.asinh(X), G], {}, through(torch.asinh, X, G)),
    ("ReciprocalGrad", [X.reciprocal(), G], {}, through(torch.reciprocal, X, G)),
    ("InvGrad", [X.reciprocal(), G], {}, through(torch.reciprocal, X, G)),
    ("RsqrtGrad", [POSITIVE.rsqrt(), G], {}, through(torch.rsqrt, POSITIVE, G)),
    ("SqrtGrad", [POSITIVE.sqrt(), G], {}, through(torch.sqrt, POSITIVE, G)),
    ("SeluGrad", [G, F.selu(X)], {}, through(F.selu, X, G)),
    ("SoftsignGrad", [G, X], {}, through(F.softsign, X, G)),
    ("SwishGrad", [G, X, F.silu(X)], {}, through(F.silu, X, G)),
    ("GeluGrad", [G, X, X], {}, through(tanh_gelu, X, G)),
    ("GLUGrad", [G[..., :2].contiguous(), X], {}, through(F.glu, X, G[..., :2])),
    ("BiasAddGrad", [X], {}, X.sum((0, 1))),
    ("BiasAddGrad", [X], {"data_format": "NCHW"}, X.sum((0, 2))),
    # Reductions.
    *((kind, [X, ints(1)], {}, function(X, 1)) for kind, function in REDUCTIONS.items()),
    *((kind, [X, ints(0, -1, dtype=I32)], {"keep_dims": True}, function(X, (0, 2), keepdim=True)) for kind, function in REDUCTIONS.items()),
    ("ReduceSum", [X, ints()], {}, X),
    ("ReduceSum", [X, ints()], {"noop_with_empty_axes": False}, X.sum()),
    ("ReduceSum", [ints(1, 2, 3), ints(0)], {}, one(6, I64)),
    ("ReduceSumD", [X], {"axes": [2], "keep_dims": True}, X.sum(2, keepdim=True)),
    ("ReduceMeanD", [X], {"axes": [0, 1]}, X.mean((0, 1))),
    ("ReduceMeanWithCast", [ints(1, 2), ints(0)], {"dtype": torch.float32}, one(1.5)),
    ("ReduceMaxD", [X], {"axes": [0]}, X.amax(0)),
    ("ReduceMinD", [X], {"axes": [0]}, X.amin(0)),
    ("ReduceProd", [X, ints(0, 2)], {}, X.prod(2).prod(0)),
    ("ReduceProdD", [X], {"axes": [1], "keep_dims": True}, X.prod(1, keepdim=True)),
    ("ReduceAll", [X > -1, ints(0, 1)], {}, (X > -1).all(0).all(0)),
    ("ReduceAllD", [X > -1], {"axes": [2]}, (X > -1).all(2)),
    ("ReduceAny", [X > 2, ints(2)], {"keep_dims": True}, (X > 2).any(2, keepdim=True)),
    ("ReduceAnyD", [X > 2], {"axes": [2]}, (X > 2).any(2)),
    ("ReduceLogSum", [POSITIVE, ints(1)], {}, POSITIVE.sum(1).log()),
    ("SquareSumV1", [X], {"axis": [1]}, (X * X).sum(1)),
    ("SquareSumV2", [X], {"axis": [1], "keep_dims": True}, [(X * X).sum(1, keepdim=True), X * X]),
    ("LpNorm", [X], {"axes": [1]}, X.norm(2, 1)),
    ("LpNormV2", [X], {"p": 1.0, "axes": [0, 2], "keepdim": True}, X.abs().sum((0, 2), keepdim=True)),
    ("LpNormV2", [X], {}, X.norm()),
    ("LpNormV2", [X], {"p": 2147483647.0, "axes": [1]}, X.abs().amax(1)),
    ("LpNormV2", [X], {"p": -2147483648.0, "axes": [1]}, X.abs().amin(1)),
    ("ReduceStd", [X], {"dim": [1]}, list(torch.std_mean(X, 1))),
    ("ReduceStdV2", [X], {"dim": [1, 2], "correction": 0, "keepdim": True}, list(torch.std_mean(X, (1, 2), correction=0, keepdim=True))),
    ("ReduceVar", [X], {"dim": [0]}, list(torch.var_mean(X, 0))),
    ("ReduceStdWithMean", [X, X.mean(1, keepdim=True).expand_as(X).contiguous()], {"dim": [1]}, X.std(1)),
    ("ReduceStdWithMean", [X, X.mean(1, keepdim=True).expand_as(X).contiguous()], {"dim": [1], "invert": True, "epsilon": 0.5, "unbiased": False},
     (X.var(1, unbiased=False) + 0.5).rsqrt()),
    ("SoftmaxV2", [X], {}, X.softmax(-1)),
    ("SoftmaxV2", [X.half()], {"axes": [1], "half_to_float": True}, X.half().float().softmax(1)),
    ("SoftmaxV2", [X], {"axes": [1, 2]}, X.flatten(1).softmax(1).view_as(X)),
    ("LogSoftmaxV2", [X], {"axes": [0]}, X.log_softmax(0)),
    ("SoftmaxGrad", [X.softmax(1), G], {"axes": [1]}, through(lambda x: x.softmax(1), X, G)),
    ("LogSoftmaxGrad", [G, X.log_softmax(-1)], {}, through(lambda x: x.log_softmax(-1), X, G)),
    # Products.
    ("MatMul", [A[0], B[0]], {}, A[0] @ B[0]),
    ("MatMul", [A[0].t().contiguous(), B[0].t().contiguous(), BIAS], {"transpose_x1": True, "transpose_x2": True}, A[0] @ B[0] + BIAS),
    ("MatMulV2", [A[0], B[0], BIAS, None], {}, A[0] @ B[0] + BIAS),
    ("MatMulV3", [A[0], B[0], None, None], {"opImplMode": 64}, A[0] @ B[0]),
    ("BatchMatMul", [A, B], {}, A @ B),
    ("BatchMatMulV2", [A, B.mT.contiguous(), BIAS], {"adj_x2": True}, A @ B + BIAS),
    ("BatchMatMulV3", [A[None], B], {"enable_hf32": True}, A[None] @ B),
    ("GEMM", [A[0], B[0].t().contiguous(), values(5, 4, seed=8), one(2.0), one(0.5)], {"transpose_b": True}, 2 * A[0] @ B[0] + 0.5 * values(5, 4, seed=8)),
    ("FullyConnection", [values(2, 3, 2, 2), values(5, 12, seed=9), values(5)], {"num_output": 5}, F.linear(values(2, 12), values(5, 12, seed=9), values(5))),
    ("FusedMatMul", [A[0], B[0], None, values(5, 4, seed=8)], {"fused_op_type": "add"}, A[0] @ B[0] + values(5, 4, seed=8)),
    ("FusedMatMul", [A[0], B[0], None, None], {"fused_op_type": "relu"}, (A[0] @ B[0]).relu()),
]


@pytest.mark.parametrize("kind, inputs, attributes, want", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_equals_plain_torch(ge, kind, inputs, attributes, want):
    ge.check(kind, inputs, attributes, want)


@pytest.mark.parametrize("kind, inputs, attributes, says", [
    ("Add", [X, values(5)], {}, "cannot be broadcast"),
    ("MatMul", [A[0], A[0]], {}, "do not multiply"),
    ("BatchMatMul", [A, values(3, 3, 4)], {}, "leading dimensions"),
    ("ReduceSum", [X, ints(3)], {}, "out of range"),
])
def test_shapes_that_do_not_fit_are_named(ge, kind, inputs, attributes, says):
    with pytest.raises(AssertionError, match=says):
        ge.run(kind, inputs, attributes)

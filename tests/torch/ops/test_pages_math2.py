# SPDX-License-Identifier: Apache-2.0
"""Operators from Im2col to VarMean against the formulas of their own pages, written out in float64: indexing, scattering, random numbers, reductions,
sorting, linear algebra. docs/formulas.tsv names the pages that have been read."""

import itertools
import math

import pytest
import torch
from aclnn_calls import room

SEED = torch.Generator().manual_seed(31)
INF, NAN = math.inf, math.nan
WHERE, TENSOR = torch.where, torch.tensor
REFUSED = 161002


def values(*shape):
    return torch.randn(*shape, generator=SEED)


def whole(low, high, *shape, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=SEED).to(dtype)


D = lambda tensor: tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


class Ref:
    """An argument that is changed in place; its wanted contents stand among the results."""

    def __init__(self, tensor):
        self.tensor = tensor


def same(got, want, message, dtype=None):
    """Exact for whole numbers and truth values; float64 stands for the type that was computed in."""
    if not (want.is_floating_point() or want.is_complex()):
        assert got.dtype == want.dtype and torch.equal(got, want), f"{message}: {got} instead of {want}"
        return
    torch.testing.assert_close(D(got), D(want), rtol=2e-5, atol=3e-6, equal_nan=True, msg=lambda text: f"{message}: {text}")


def within_a_rounding(got, want, message):
    """A card computes in float32 and rounds once."""
    digits, least = (11, 2.0**-24) if got.dtype == torch.float16 else (8, 2.0**-133)
    assert torch.equal(got.isnan(), want.isnan()), message
    exponent = torch.frexp(want.nan_to_num(0, 0, 0).abs()).exponent
    step = torch.ldexp(torch.ones(exponent.shape).double(), exponent - digits).clamp(min=least)
    off = ((got.double() - want).nan_to_num(0, INF, INF).abs() / step).masked_fill(got.double() == want, 0)
    assert off.max() <= 0.55, f"{message}: {off.max().item()} roundings: {got} instead of {want}"


def run_case(aclnn, name, arguments, reference, check=same, dtype=torch.float32):
    """`...` is an output, of the result's shape and, but for float64, type."""
    wanted = iter(reference())
    outputs, filled = [], []
    for argument in arguments:
        if argument is ...:
            want = next(wanted)
            kind = {torch.float64: dtype, torch.complex128: torch.complex64}.get(want.dtype, want.dtype)
            outputs.append((room(want.shape, dtype=kind), want))
            argument = outputs[-1][0]
        elif isinstance(argument, Ref):
            outputs.append((argument.tensor.clone(), next(wanted)))
            argument = outputs[-1][0]
        filled.append(argument)
    assert next(wanted, None) is None, "the case has more results than outputs"
    aclnn.run(name, *filled)
    for number, (got, want) in enumerate(outputs):
        check(got, want, f"{name}, output {number}")


def ids(cases):
    return [f"{case[0]}-{number}" for number, case in enumerate(cases)]


X, Y, SQUARE, CUBE, ROW = values(3, 4), values(3, 4), values(4, 4), values(2, 3, 4), values(8)
INTS = whole(-9, 10, 3, 4, dtype=torch.int32)
MATRIX = SQUARE @ SQUARE.T + 2 * torch.eye(4)
PLACES = TENSOR([[0, 2, 1, 0], [1, 1, 2, 0]])
EDGES = TENSOR([-INF, -1e30, -4.0, -3.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 4.0, 1e30, INF, NAN])


def scattered(self, dim, index, src, how, include=True):
    """`how` gives the result of what was there (None: nothing) and a list of what comes."""
    out, hits = D(self).clone(), {}
    for at in itertools.product(*map(range, index.shape)):
        to = list(at)
        to[dim] = index[at].item()
        hits.setdefault(tuple(to), []).append(D(src)[at].item())
    for to, came in hits.items():
        out[to] = how(([out[to].item()] if include else []) + came)
    return out


HOW = [lambda given: given[-1], sum, math.prod, max, min, lambda given: sum(given) / len(given)]


def filled(self, dim, places, value):
    out = self.clone()
    for place in places:
        if -self.shape[dim] <= place < self.shape[dim]:
            out.select(dim, place).fill_(value)
    return out


def renormed(x, p, dim, limit):
    norm = torch.linalg.vector_norm(x, p, [d for d in range(x.dim()) if d != dim % x.dim()], keepdim=True)
    return WHERE(norm > limit, x / norm.clamp(min=1e-7) * limit, x)


def close(a, b, rtol, atol, equal_nan):
    near = (a - b).abs() <= atol + rtol * b.abs()
    return WHERE(a.isfinite() & b.isfinite(), near, (a == b) | (equal_nan & a.isnan() & b.isnan()))


def floor_mod(a, b):
    return WHERE(b == 0, a, a - torch.floor(D(a) / D(b).masked_fill(b == 0, 1)).to(a.dtype) * b)


def variance(x, dims, correction, keep=False):
    count = math.prod(x.shape[d] for d in dims)
    spread = ((x - x.mean(dims, keepdim=True))**2).sum(dims, keepdim=keep)
    return spread / TENSOR(float(max(0, count - correction))).double()


def mish_gradient(dy, x):
    t = torch.tanh(torch.relu(x) + torch.log1p(torch.exp(-x.abs())))
    return dy * (t + x * (1 - t * t) / (1 + torch.exp(-x)))


def pdist(x, p):
    pairs = torch.stack([(x[i] - x[j]).abs() for i in range(len(x)) for j in range(i + 1, len(x))])
    return (pairs != 0).double().sum(1) if p == 0 else pairs.amax(1) if p == INF else (pairs**p).sum(1)**(1 / p)


def overlap(a, b, mode, eps, aligned):
    a = a if aligned else a[:, None]
    side = lambda k: (torch.minimum(a[..., k + 2], b[..., k + 2]) - torch.maximum(a[..., k], b[..., k])).clamp(min=0)
    area = lambda r: (r[..., 2] - r[..., 0] + eps) * (r[..., 3] - r[..., 1] + eps)
    both = side(0) * side(1)
    result = both / (area(b) if mode == "iof" else area(a) + area(b) - both)
    return result[:, None] if aligned else result


def columns(x, kernel, dilation, padding, stride):
    """[N, C * kernel, places] and, for the gradient, where in the padded picture each number lies."""
    n, c, h, w = x.shape
    high, wide = h + 2 * padding[0], w + 2 * padding[1]
    count = [(size - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i, size in enumerate((high, wide))]
    padded = torch.zeros(n, c, high, wide, dtype=x.dtype)
    padded[:, :, padding[0]:padding[0] + h, padding[1]:padding[1] + w] = x
    place = TENSOR([[(py * stride[0] + ky * dilation[0]) * wide + px * stride[1] + kx * dilation[1] for py in range(count[0]) for px in range(count[1])]
                    for ky in range(kernel[0]) for kx in range(kernel[1])])
    return padded.flatten(2)[:, :, place].flatten(1, 2), place, (high, wide)


def picture(grad, size, kernel, dilation, padding, stride):
    _, place, (high, wide) = columns(torch.zeros(1, 1, *size), kernel, dilation, padding, stride)
    n, c = grad.shape[0], grad.shape[1] // math.prod(kernel)
    padded = torch.zeros(n, c, high * wide, dtype=grad.dtype).index_add(2, place.flatten(), grad.view(n, c, -1))
    return padded.view(n, c, high, wide)[:, :, padding[0]:padding[0] + size[0], padding[1]:padding[1] + size[1]]


def masked_softmax(x, mask, scale):
    return torch.softmax((x * scale).masked_fill(mask, -10000), -1)


def reflected(x, dim, before, after):
    size = x.shape[dim]
    return x.index_select(dim, TENSOR([abs(i) if i < size else 2 * (size - 1) - i for i in range(-before, size + after)]))


def replicated(x, dim, before, after):
    return x.index_select(dim, TENSOR([min(max(i, 0), x.shape[dim] - 1) for i in range(-before, x.shape[dim] + after)]))


def padded(x, pads, one):
    for i in range(len(pads) // 2):
        x = one(x, x.dim() - 1 - i, pads[2 * i], pads[2 * i + 1])
    return x


def pad_gradient(grad, x, pads, one):
    places = padded(torch.arange(x.numel()).view(x.shape), pads, one)
    return torch.zeros(x.numel(), dtype=grad.dtype).index_add(0, places.flatten(), grad.flatten()).view(x.shape)


def triangular(b, a, transpose):
    return [torch.linalg.solve(a.T if transpose else a, b), a]


A, B = D(X), D(Y)
ZEROS = TENSOR([0, 3, -2, 0], dtype=torch.int32)
SPREAD = TENSOR([[3e-8, -4e-8, 0.0], [0.3, 0.4, 1.2], [3.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
BOXES, TRUTHS = TENSOR([[0.0, 0, 2, 2], [1, 1, 4, 3], [5, 5, 6, 7]]), TENSOR([[1.0, 1, 3, 3], [1, 1, 4, 3], [0, 0, 1, 1]])
PICTURE = values(2, 3, 5, 6)
WINDOW = ([2, 3], [2, 1], [1, 2], [2, 1])
COLUMNS = columns(PICTURE, *WINDOW)[0]
LOWER = torch.linalg.cholesky(MATRIX)
SORTED = TENSOR([1.0, 2.0, 2.0, 5.0])
ASKED = TENSOR([0.0, 1.0, 2.0, 3.0, 5.0, 6.0, INF, -INF])
SORTER = TENSOR([2, 0, 3, 1])
PADS1, PADS2, PADS3 = [2, 1], [2, 1, 0, 1], [1, 2, 0, 1, 1, 0]
VOLUME = values(2, 3, 4, 5)
SCORES, HIDDEN = values(2, 3, 4, 4), torch.rand(2, 1, 4, 4, generator=SEED) > 0.6
UNPOOLED = TENSOR([[[[5, 2], [11, 8]]]])
WIDE_BIAS = values(24)
QKV = values(2, 5, 24)
LOGS = torch.log_softmax(values(3, 5), -1)
SHARES = TENSOR([[0.0, 0.25, 0.75, -0.5, 1.0]] * 3)
STEPS = values(7, 3)
ROLLED = torch.arange(12).view(3, 4)

# name, arguments, results in the order of the outputs
CASES = [
    *[("aclnnIndexFill", (INTS, dim, TENSOR([0, -1, 9, -9, 2], dtype=kind), 5, ...), lambda dim=dim: [filled(INTS, dim, [0, -1, 9, -9, 2], 5)])
      for dim in (0, -1) for kind in (torch.int32, torch.int64)],
    ("aclnnInplaceIndexFill", (Ref(X), 1, TENSOR([3, 4, -4, -5]), -2.5), lambda: [filled(A, 1, [3, -4], -2.5)]),
    ("aclnnInplaceIndexFill", (Ref(TENSOR(3.0)), -1, TENSOR([0, 1]), 7.0), lambda: [TENSOR(7.0).double()]),
    ("aclnnIndexFillTensor", (X, -2, [0, -1], 1.5, ...), lambda: [filled(A, -2, [0, -1], 1.5)]),
    *[("aclnnScatterReduce", (X, 0, PLACES, Y, how, include, ...), lambda how=how, include=include: [scattered(X, 0, PLACES, Y, HOW[how], include)])
      for how in range(6) for include in (True, False)],
    ("aclnnInplaceScatterReduce", (Ref(INTS), -1, PLACES, INTS.flip(0), 0, True),
     lambda: [scattered(INTS, 1, PLACES, INTS.flip(0), HOW[0]).to(torch.int32)]),
    *[("aclnnScatter", (X, 0, PLACES, Y, how, ...), lambda how=how: [scattered(X, 0, PLACES, Y, HOW[how])]) for how in range(3)],
    *[("aclnnInplaceScatter", (Ref(X), 1, PLACES.int(), Y, how), lambda how=how: [scattered(X, 1, PLACES, Y, HOW[how])]) for how in range(3)],
    *[("aclnnScatterValue", (X, 0, PLACES, 2.5, how, ...), lambda how=how: [scattered(X, 0, PLACES, torch.full((2, 4), 2.5), HOW[how])])
      for how in range(3)],
    ("aclnnScatterAdd", (X, -1, PLACES, Y, ...), lambda: [scattered(X, 1, PLACES, Y, sum)]),
    *[("aclnnInplacePut", (Ref(X), TENSOR([[5, 0], [5, 11]]), Y[:2, :2].clone(), add),
       lambda add=add: [scattered(X.flatten(), 0, TENSOR([5, 0, 5, 11]), Y[:2, :2].flatten(), sum if add else HOW[0]).view(3, 4)]) for add in (True, False)],
    ("aclnnIndexAdd", (X, 1, TENSOR([2, 0, 2, 3]), Y, -1.5, ...),
     lambda: [scattered(X, 1, TENSOR([[2, 0, 2, 3]]).expand(3, 4), -1.5 * Y, sum)]),
    ("aclnnIndexCopy", (X, 0, TENSOR([2, 0]), Y[:2].clone(), ...), lambda: [torch.stack((B[1], A[1], B[0]))]),
    ("aclnnIndexPutImpl", (Ref(X), [TENSOR([0, 2, 0]), TENSOR([1, 3, 1])], ROW[:3].clone(), True, False),
     lambda: [scattered(X.flatten(), 0, TENSOR([1, 11, 1]), ROW[:3], sum).view(3, 4)]),
    ("aclnnIndexPutImpl", (Ref(X), [X > 0], TENSOR([9.0]), False, True), lambda: [WHERE(X > 0, 9.0, A)]),
    ("aclnnIndexSelect", (X, -1, TENSOR([3, 0, 3]), ...), lambda: [torch.stack((A[:, 3], A[:, 0], A[:, 3]), 1)]),
    ("aclnnTake", (X, TENSOR([[11, 0], [5, 5]], dtype=torch.int32), ...), lambda: [A.flatten()[TENSOR([[11, 0], [5, 5]])]]),
    ("aclnnInplaceMaskedScatter", (Ref(X), X > 0, Y), lambda: [torch.cat([WHERE(X > 0, 0.0, A).flatten()]).view(3, 4)
                                                                + torch.zeros(12).double().index_copy(0, (X > 0).flatten().nonzero().squeeze(1),
                                                                                                      B.flatten()[:int((X > 0).sum())]).view(3, 4)]),
    ("aclnnInplaceFillDiagonal", (Ref(torch.zeros(7, 3)), 1.0, True), lambda: [TENSOR([[float(r % 4 == c) for c in range(3)] for r in range(7)]).double()]),
    ("aclnnInplaceFillDiagonal", (Ref(torch.zeros(7, 3)), 1.0, False), lambda: [TENSOR([[float(r == c) for c in range(3)] for r in range(7)]).double()]),
    ("aclnnInplaceNanToNum", (Ref(EDGES), 1.5, 2.5, -2.5),
     lambda: [WHERE(EDGES.isnan(), 1.5, WHERE(EDGES == INF, 2.5, WHERE(EDGES == -INF, -2.5, D(EDGES))))]),
    # Remainders
    ("aclnnRemainderTensorTensor", (INTS, ZEROS, ...), lambda: [floor_mod(INTS, ZEROS.expand(3, 4))]),
    ("aclnnInplaceRemainderTensorTensor", (Ref(INTS.long()), ZEROS.long()), lambda: [floor_mod(INTS.long(), ZEROS.long().expand(3, 4))]),
    ("aclnnRemainderTensorScalar", (INTS, 0, ...), lambda: [INTS]),
    ("aclnnInplaceRemainderTensorScalar", (Ref(INTS), 0), lambda: [INTS]),
    ("aclnnInplaceRemainderTensorScalar", (Ref(INTS), -4), lambda: [floor_mod(INTS, TENSOR(-4, dtype=torch.int32))]),
    ("aclnnRemainderScalarTensor", (7, ZEROS, ...), lambda: [TENSOR([7, 1, -1, 7], dtype=torch.int32)]),
    ("aclnnRemainderTensorScalar", (X, 0.75, ...), lambda: [A - torch.floor(A / 0.75) * 0.75]),
    ("aclnnRemainderTensorScalar", (X, 0.0, ...), lambda: [torch.full((3, 4), NAN).double()]),
    # Norms and distances
    *[("aclnnRenorm", (SPREAD, float(p), dim, limit, ...), lambda p=p, dim=dim, limit=limit: [renormed(D(SPREAD), p, dim, limit)])
      for p, dim, limit in [(2, 0, 1.0), (1, -1, 0.5), (INF, 0, 2.0), (0, 0, 1.0), (0.5, 1, 3.0), (2, 0, 0.0), (2, 0, 2e-7), (2, 0, 1e-8)]],
    ("aclnnInplaceRenorm", (Ref(CUBE), 3.0, 1, 0.5), lambda: [renormed(D(CUBE), 3, 1, 0.5)]),
    *[("aclnnPdist", (STEPS, float(p), ...), lambda p=p: [pdist(D(STEPS), p)]) for p in (0, 0.5, 1, 2, 3.5, INF)],
    *[("aclnnIou", (BOXES, TRUTHS, mode, 0.25, aligned, ...), lambda mode=mode, aligned=aligned: [overlap(D(BOXES), D(TRUTHS), mode, 0.25, aligned)])
      for mode in ("iou", "iof") for aligned in (True, False)],
    *[("aclnnIsClose", (EDGES[:, None].clone(), EDGES.clone(), 0.25, 0.5, nan, ...),
       lambda nan=nan: [close(D(EDGES)[:, None], D(EDGES), 0.25, 0.5, nan)]) for nan in (True, False)],
    ("aclnnIsClose", (INTS, INTS.flip(0), 0.5, 1.0, False, ...), lambda: [close(D(INTS), D(INTS.flip(0)), 0.5, 1.0, False)]),
    ("aclnnIsInScalarTensor", (2.0, SORTED, False, False, ...), lambda: [SORTED == 2]),
    ("aclnnIsInScalarTensor", (2.0, SORTED, False, True, ...), lambda: [SORTED != 2]),
    ("aclnnIsInScalarTensor", (2.0, SORTED, False, False, ...), lambda: [TENSOR(True)]),
    ("aclnnIsInScalarTensor", (3.0, SORTED, False, True, ...), lambda: [TENSOR(True)]),
    ("aclnnIsInTensorScalar", (SORTED, 2.0, False, True, ...), lambda: [SORTED != 2]),
    *[(name, (EDGES, ...), lambda sign=sign: [sign * INF == EDGES]) for name, sign in (("aclnnIsPosInf", 1), ("aclnnIsNegInf", -1))],
    ("aclnnIsNegInf", (INTS, ...), lambda: [torch.zeros(3, 4, dtype=torch.bool)]),
    ("aclnnSign", (EDGES[:-1].clone(), ...), lambda: [D(EDGES[:-1] > 0) - D(EDGES[:-1] < 0)]),
    # Ranges
    ("aclnnLinspace", (1.5, -2.0, 8, ...), lambda: [(1.5 + torch.arange(8).double() * (-3.5 / 7))]),
    ("aclnnLinspace", (0, 11, 12, ...), lambda: [torch.arange(12).view(3, 4).double()]),
    ("aclnnLinspace", (0.9, 4.9, 4, ...), lambda: [TENSOR([0, 2, 3, 4], dtype=torch.int32)]),
    ("aclnnLinspace", (-5, 5, 4, ...), lambda: [TENSOR([-5, -1, 1, 5], dtype=torch.int32)]),
    ("aclnnLinspace", (3, 9, 1, ...), lambda: [TENSOR([3.0]).double()]),
    ("aclnnLogSpace", (-1.0, 2.0, 7, 2.0, ...), lambda: [2**torch.linspace(-1, 2, 7).double()]),
    ("aclnnLogSpace", (0.5, 2.5, 5, 3.0, ...), lambda: [(3**torch.linspace(0.5, 2.5, 5).double()).to(torch.int32)]),
    ("aclnnLogSpace", (0.0, 3.0, 4, 10.0, ...), lambda: [TENSOR([1, 10, 100, 255], dtype=torch.uint8)]),
    ("aclnnLogSpace", (0.0, 3.0, 4, 10.0, ...), lambda: [TENSOR([1, 10, 100, 127], dtype=torch.int8)]),
    ("aclnnRange", (1.0, 3.0, 0.5, ...), lambda: [TENSOR([1, 1.5, 2, 2.5, 3]).double()]),
    ("aclnnRange", (5, -2, -3, ...), lambda: [TENSOR([5, 2, -1])]),
    ("aclnnRange", (0.5, 3.0, 0.5, ...), lambda: [TENSOR([0, 1, 1, 2, 2, 3], dtype=torch.int32)]),
    ("aclnnRange", (0.0, 5.0, 1.5, ...), lambda: [TENSOR([0, 1, 3, 4])]),
    # Repeating and counting
    ("aclnnRepeat", (X, [2, 1, 3], ...), lambda: [torch.cat([torch.cat([A] * 3, 1)[None]] * 2)]),
    ("aclnnRepeat", (X, [0, 2], ...), lambda: [torch.zeros(0, 8).double()]),
    ("aclnnRepeatInterleave", (X, TENSOR([2]), 24, ...), lambda: [A.flatten()[torch.arange(24) // 2]]),
    ("aclnnRepeatInterleaveWithDim", (X, TENSOR([1, 0, 3], dtype=torch.int64), 0, 4, ...), lambda: [A[TENSOR([0, 2, 2, 2])]]),
    ("aclnnRepeatInterleaveTensor", (TENSOR([1, 0, 3]), 4, ...), lambda: [TENSOR([0, 2, 2, 2])]),
    ("aclnnRepeatInterleaveInt", (X, 3, 36, ...), lambda: [A.flatten()[torch.arange(36) // 3]]),
    ("aclnnRepeatInterleaveIntWithDim", (X, 2, -1, 8, ...), lambda: [A[:, torch.arange(8) // 2]]),
    ("aclnnRepeatInterleaveGrad", (CUBE, TENSOR([1, 0, 2]), 1, ...), lambda: [torch.stack((D(CUBE)[:, 0], D(CUBE)[:, 0] * 0, D(CUBE)[:, 1:].sum(1)), 1)]),
    ("aclnnRepeatInterleaveGrad", (CUBE, TENSOR([2]), -1, ...), lambda: [D(CUBE).view(2, 3, 2, 2).sum(-1)]),
    ("aclnnRepeatInterleaveGrad", (CUBE, TENSOR(3, dtype=torch.int32), 1, ...), lambda: [D(CUBE).sum(1, keepdim=True)]),
    ("aclnnRepeatInterleaveGrad", (ROW, TENSOR([2]), 0, ...), lambda: [D(ROW).view(2, 2, 2).sum(-1)]),
    *[("aclnnOneHot", (TENSOR([[1, 5], [0, -1]]), 3, TENSOR([2.0, 8.0]), TENSOR([-1.0, 9.0, 7.0]), axis, ...),
       lambda axis=axis: [torch.stack([WHERE(TENSOR([[1, 5], [0, -1]]) == k, 2.0, -1.0).double() for k in range(3)], axis)]) for axis in (-1, 0, 1, 2)],
    ("aclnnRoll", (ROLLED, [1, -1], [0, -1], ...), lambda: [ROLLED[TENSOR([2, 0, 1])][:, TENSOR([1, 2, 3, 0])]]),
    ("aclnnRoll", (ROLLED, [5], [], ...), lambda: [(ROLLED - 5) % 12]),
    ("aclnnTril", (CUBE, -1, ...), lambda: [WHERE(torch.arange(3)[:, None] - 1 >= torch.arange(4), D(CUBE), 0.0)]),
    ("aclnnTriu", (CUBE, 2, ...), lambda: [WHERE(torch.arange(3)[:, None] + 2 <= torch.arange(4), D(CUBE), 0.0)]),
    ("aclnnInplaceTriu", (Ref(CUBE.transpose(1, 2)), 0), lambda: [WHERE(torch.arange(4)[:, None] <= torch.arange(3), D(CUBE.transpose(1, 2)), 0.0)]),
    # Rounding
    ("aclnnRound", (TENSOR([0.5, 1.5, 2.5, -0.5, -2.5, 1e9]), ...), lambda: [TENSOR([0.0, 2, 2, 0, -2, 1e9]).double()]),
    ("aclnnRoundDecimals", (TENSOR([1.2345, -1.256, 17.5]), 2, ...), lambda: [TENSOR([1.23, -1.26, 17.5], dtype=torch.float64)]),
    ("aclnnRoundDecimals", (TENSOR([1234.5, -1260.0]), -2, ...), lambda: [TENSOR([1200.0, -1300]).double()]),
    ("aclnnInplaceRoundDecimals", (Ref(TENSOR([1234, -1260, 49], dtype=torch.int32)), -2), lambda: [TENSOR([1200, -1300, 0], dtype=torch.int32)]),
    ("aclnnRoundDecimals", (INTS, 3, ...), lambda: [INTS]),
    # Activations and their gradients
    ("aclnnInplaceHardsigmoid", (Ref(TENSOR([-4, -3, 0, 2, 3, 5], dtype=torch.int32)),), lambda: [TENSOR([0, 0, 0, 0, 1, 1], dtype=torch.int32)]),
    ("aclnnInplaceHardsigmoid", (Ref(EDGES[:-1].clone()),), lambda: [(D(EDGES[:-1]) / 6 + 0.5).clamp(0, 1)]),
    ("aclnnInplaceHardtanh", (Ref(EDGES[:-1].clone()), -0.5, 3.0), lambda: [D(EDGES[:-1]).clamp(-0.5, 3)]),
    ("aclnnMishBackward", (X, Y, ...), lambda: [mish_gradient(A, B)]),
    ("aclnnSigmoidBackward", (X, Y, ...), lambda: [A * B * (1 - B)]),
    ("aclnnTanhBackward", (X, Y, ...), lambda: [A * (1 - B * B)]),
    ("aclnnSoftmaxBackward", (X, Y, 0, ...), lambda: [A * B - (A * B).sum(0) * B]),
    ("aclnnLogSoftmaxBackward", (X, Y, -1, ...), lambda: [A - torch.exp(B) * A.sum(-1, keepdim=True)]),
    ("aclnnScaledMaskedSoftmaxBackward", (SCORES, SCORES.flip(0), HIDDEN, 0.3, False, ...),
     lambda: [((D(SCORES) * D(SCORES.flip(0)) - (D(SCORES) * D(SCORES.flip(0))).sum(-1, keepdim=True) * D(SCORES.flip(0))) * 0.3).masked_fill(HIDDEN, 0)]),
    ("aclnnScaledMaskedSoftmax", (SCORES, HIDDEN, 0.3, False, ...), lambda: [masked_softmax(D(SCORES), HIDDEN, 0.3)]),
    ("aclnnMaskedScale", (X, whole(0, 2, 3, 4, dtype=torch.uint8) * 0 + 1, 1.25, ...), lambda: [A * 1.25]),
    *[("aclnnKlDivBackward", (TENSOR([0.5]), LOGS, SHARES, how, False, ...), lambda over=over: [-0.5 * D(SHARES).clamp(min=0) / over])
      for how, over in ((0, 1), (1, 15), (2, 1), (3, 3))],
    ("aclnnKlDivBackward", (LOGS, LOGS, SHARES, 0, True, ...), lambda: [-D(LOGS) * torch.exp(D(SHARES))]),
    # Reductions
    *[("aclnnStd", (CUBE, dims, correction, False, ...), lambda dims=dims, correction=correction: [variance(D(CUBE), dims or (0, 1, 2), correction).sqrt()])
      for dims, correction in [([1], 1), ([0, -1], 0), (None, 3), ([0], 2), ([0], 5)]],
    ("aclnnVarCorrection", (CUBE, [], 1, True, ...), lambda: [variance(D(CUBE), (0, 1, 2), 1, True)]),
    ("aclnnVarMean", (CUBE, [2], 0, True, ..., ...), lambda: [variance(D(CUBE), (2,), 0, True), D(CUBE).mean(2, keepdim=True)]),
    ("aclnnStdMeanCorrection", (CUBE, None, 1, False, ..., ...), lambda: [variance(D(CUBE), (0, 1, 2), 1).sqrt(), D(CUBE).mean()]),
    ("aclnnLogSumExp", (EDGES[:-2].clone(), [0], True, ...), lambda: [TENSOR([1e30]).double()]),
    ("aclnnLogSumExp", (CUBE, [0, 2], False, ...), lambda: [torch.exp(D(CUBE)).sum((0, 2)).log()]),
    ("aclnnLogSumExp", (INTS, [1], False, ...), lambda: [torch.exp(D(INTS)).sum(1).log()]),
    ("aclnnReduceNansum", (TENSOR([[1.0, NAN], [NAN, NAN]]), [1], False, torch.float32, ...), lambda: [TENSOR([1.0, 0.0]).double()]),
    ("aclnnReduceSum", (INTS, [0], False, torch.float32, ...), lambda: [D(INTS).sum(0)]),
    ("aclnnMean", (INTS, [], False, torch.float32, ...), lambda: [D(INTS).mean()]),
    ("aclnnMean", (CUBE, [0, 1], True, torch.float32, ...), lambda: [D(CUBE).mean((0, 1), keepdim=True)]),
    ("aclnnProd", (X, torch.float32, ...), lambda: [A.prod().view(1)]),
    ("aclnnProdDim", (INTS, 0, True, torch.int64, ...), lambda: [INTS.long()[0:1] * INTS.long()[1:2] * INTS.long()[2:3]]),
    ("aclnnTrace", (X, ...), lambda: [A[0, 0] + A[1, 1] + A[2, 2]]),
    ("aclnnTrace", (INTS, ...), lambda: [INTS[0, 0].long() + INTS[1, 1] + INTS[2, 2]]),
    ("aclnnMax", (TENSOR([1.0, NAN, 3.0]), ...), lambda: [TENSOR([NAN]).double()]),
    ("aclnnMaxDim", (TENSOR([[1, 7, 7], [5, 5, 2]]), 1, True, ..., ...), lambda: [TENSOR([[7], [5]]), TENSOR([[1], [0]], dtype=torch.int32)]),
    ("aclnnMinDim", (TENSOR([[1, 7, 1], [5, 2, 2]]), -1, False, ..., ...), lambda: [TENSOR([1, 2]), TENSOR([0, 1], dtype=torch.int32)]),
    # Order
    ("aclnnMedian", (TENSOR([[4.0, 1], [3, 2]]), ...), lambda: [TENSOR(2.0).double()]),
    ("aclnnMedianDim", (TENSOR([[4, 1, 3, 2], [9, 7, 8, 6]]), 1, True, ..., ...), lambda: [TENSOR([[2], [7]]), TENSOR([[3], [1]])]),
    ("aclnnNanMedian", (TENSOR([1.0, NAN, 3, 2]), ...), lambda: [TENSOR([2.0]).double()]),
    ("aclnnNanMedianDim", (TENSOR([[1.0, NAN, 3, 2], [-1, NAN, 3, 2]]), 0, False, ..., ...),
     lambda: [TENSOR([-1, NAN, 3, 2]).double(), TENSOR([1, 0, 0, 0])]),
    ("aclnnKthvalue", (TENSOR([[4.0, 1, 3], [9, 8, 7]]), 2, -1, False, ..., ...), lambda: [TENSOR([3.0, 8]).double(), TENSOR([2, 1])]),
    ("aclnnSort", (TENSOR([[2, 1, 2, 1]]), True, 1, True, ..., ...), lambda: [TENSOR([[2, 2, 1, 1]]), TENSOR([[0, 2, 1, 3]])]),
    ("aclnnTopk", (TENSOR([[3.0, 1, 2], [4, 6, 5]]), 2, 1, False, True, ..., ...),
     lambda: [TENSOR([[1.0, 2], [4, 5]]).double(), TENSOR([[1, 2], [0, 2]])]),
    *[("aclnnSearchSorted", (SORTED, ASKED, int32, right, None, ...),
       lambda int32=int32, right=right: [(SORTED[:, None] <= ASKED if right else SORTED[:, None] < ASKED).sum(0).to(torch.int32 if int32 else torch.int64)])
      for int32 in (True, False) for right in (True, False)],
    ("aclnnSearchSorted", (SORTED[TENSOR([1, 3, 0, 2])].clone(), ASKED, False, False, SORTER, ...), lambda: [(SORTED[:, None] < ASKED).sum(0)]),
    ("aclnnSearchSorteds", (SORTED, 2.0, False, True, None, ...), lambda: [TENSOR([3])]),
    # Linear algebra
    ("aclnnInverse", (MATRIX, ...), lambda: [torch.linalg.inv(D(MATRIX))]),
    ("aclnnLinalgCholesky", (MATRIX, False, ...), lambda: [torch.linalg.cholesky(D(MATRIX))]),
    ("aclnnLinalgCholesky", (MATRIX, True, ...), lambda: [torch.linalg.cholesky(D(MATRIX)).T]),
    *[("aclnnTriangularSolve", (SQUARE[:, :2].clone(), MATRIX, upper, transpose, False, ..., ...),
       lambda upper=upper, transpose=transpose: triangular(D(SQUARE[:, :2]), D(MATRIX).triu() if upper else D(MATRIX).tril(), transpose))
      for upper in (True, False) for transpose in (True, False)],
    ("aclnnSlogdet", (torch.stack((MATRIX, MATRIX * 0, MATRIX.flip(0))), ..., ...),
     lambda: [torch.stack([torch.linalg.det(D(m)).sign() for m in (MATRIX, MATRIX * 0, MATRIX.flip(0))]),
              torch.stack([torch.linalg.det(D(m)).abs().log() for m in (MATRIX, MATRIX * 0, MATRIX.flip(0))])]),
    ("aclnnMv", (X, ROW[:4].clone(), ..., 0), lambda: [(A * D(ROW[:4])).sum(1)]),
    # Windows, pads, slices
    ("aclnnIm2col", (PICTURE, *WINDOW, ...), lambda: [columns(D(PICTURE), *WINDOW)[0]]),
    ("aclnnIm2col", (PICTURE[0].clone(), *WINDOW, ...), lambda: [columns(D(PICTURE[:1]), *WINDOW)[0][0]]),
    ("aclnnIm2colBackward", (COLUMNS, [5, 6], *WINDOW, ...), lambda: [picture(D(COLUMNS), [5, 6], *WINDOW)]),
    ("aclnnUnfoldGrad", (values(2, 3, 3), [2, 8], 1, 3, 2, ...), None),
    ("aclnnMaxUnpool2d", (values(1, 1, 2, 2), UNPOOLED, [3, 4], ...), None),
    *[(f"aclnn{kind}Pad{len(pads) // 2}d", (x, pads, ...), lambda x=x, pads=pads, one=one: [padded(D(x), pads, one)])
      for kind, one in (("Reflection", reflected), ("Replication", replicated)) for x, pads in ((CUBE, PADS1), (VOLUME, PADS2), (VOLUME, PADS3))],
    *[(f"aclnn{kind}Pad{len(pads) // 2}dBackward", (padded(x, pads, one) + 1, x, pads, ...),
       lambda x=x, pads=pads, one=one: [pad_gradient(D(padded(x, pads, one) + 1), x, pads, one)])
      for kind, one in (("Reflection", reflected), ("Replication", replicated)) for x, pads in ((CUBE, PADS1), (VOLUME, PADS2), (VOLUME, PADS3))],
    ("aclnnStridedSlice", (ROLLED, [-9, 1], [9, 4], [2, 2], 0, 0, 0, 0, 0, ...), lambda: [ROLLED[0:3:2, 1:4:2]]),
    ("aclnnStridedSlice", (ROLLED, [1, 3], [0, 1], [1, 1], 1, 2, 0, 0, 0, ...), lambda: [ROLLED[0:0, 3:]]),
    ("aclnnStridedSlice", (ROLLED, [0, 0, -1], [0, 0, 0], [1, 1, 1], 0, 0, 2, 1, 4, ...), lambda: [ROLLED[None, :, -1]]),
    ("aclnnStridedSlice", (ROLLED, [2, 3], [0, 0], [-1, -2], 0, 2, 0, 0, 0, ...), lambda: [ROLLED[TENSOR([2, 1])][:, TENSOR([3, 1])]]),
    # Attention
    ("aclnnTransformBiasRescaleQkv", (QKV, WIDE_BIAS, 2, ..., ..., ...),
     lambda: [part / (2 if number == 0 else 1) for number, part in enumerate((D(QKV) + D(WIDE_BIAS)).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4))]),
    ("aclnnMaskedSoftmaxWithRelPosBias", (SCORES, None, SCORES[0].clone(), 0.5, 0, ...),
     lambda: [torch.softmax(D(SCORES) * 0.5 + D(SCORES[0]), -1)]),
]


def unfold_gradient(grad, sizes, dim, size, step):
    out = torch.zeros(sizes).double()
    for k in range(grad.shape[dim]):
        out.narrow(dim, k * step, size).add_(D(grad).select(dim, k))
    return out


def unpooled(x, places, size):
    out = torch.zeros(*x.shape[:-2], math.prod(size)).double()
    return out.scatter(-1, places.flatten(-2), D(x).flatten(-2)).view(*x.shape[:-2], *size)


FORMULAS = {"aclnnUnfoldGrad": unfold_gradient, "aclnnMaxUnpool2d": unpooled}


@pytest.mark.parametrize("name, arguments, reference", CASES, ids=ids(CASES))
def test_the_page_s_formula_holds(aclnn, name, arguments, reference):
    reference = reference or (lambda: [FORMULAS[name](*[one for one in arguments if one is not ...])])
    run_case(aclnn, name, arguments, reference)


MANY = whole(0, 3, 4, 64)
FINE = torch.rand(4, 64, generator=SEED)
# name, a function of the half type that gives arguments and results
HALVES = [
    ("aclnnScatter", lambda h: ((h(X[:, :1]), 0, MANY.view(-1, 1), h(FINE.view(-1, 1)), 1, ...), lambda: [scattered(h(X[:, :1]), 0, MANY.view(-1, 1),
                                                                                                       h(FINE.view(-1, 1)), sum)])),
    ("aclnnScatterValue", lambda h: ((h(X[:, :1]), 0, MANY.view(-1, 1)[:9].clone(), 1.1, 2, ...),
                                     lambda: [scattered(h(X[:, :1]), 0, MANY.view(-1, 1)[:9], torch.full((9, 1), 1.1).double(), math.prod)])),
    ("aclnnInplacePut", lambda h: ((Ref(h(ROW)), MANY.view(-1), h(FINE.view(-1)), True), lambda: [scattered(h(ROW), 0, MANY.view(-1), h(FINE.view(-1)), sum)])),
    ("aclnnIndexPutImpl", lambda h: ((Ref(h(ROW)), [MANY.view(-1)], h(FINE.view(-1)), True, False),
                                     lambda: [scattered(h(ROW), 0, MANY.view(-1), h(FINE.view(-1)), sum)])),
    ("aclnnLinspace", lambda h: ((0.0, 1.0, 1000, ...), lambda: [torch.arange(1000).double() / 999])),
    ("aclnnLogSpace", lambda h: ((-3.0, 3.0, 100, 2.0, ...), lambda: [2**torch.linspace(-3, 3, 100, dtype=torch.float64)])),
    ("aclnnLogSumExp", lambda h: ((h(FINE * 9), [0], False, ...), lambda: [torch.logsumexp(D(h(FINE * 9)), 0)])),
    ("aclnnRoundDecimals", lambda h: ((h(FINE * 30), 2, ...), lambda: [torch.round(D(h(FINE * 30)).float() * 100).double() / 100])),
    ("aclnnSigmoidBackward", lambda h: ((h(FINE), h(FINE.flip(0)), ...), lambda: [D(h(FINE)) * D(h(FINE.flip(0))) * (1 - D(h(FINE.flip(0))))])),
    ("aclnnTanhBackward", lambda h: ((h(FINE), h(FINE.flip(0)), ...), lambda: [D(h(FINE)) * (1 - D(h(FINE.flip(0)))**2)])),
    ("aclnnMishBackward", lambda h: ((h(FINE), h(FINE.flip(0) * 4 - 2), ...), lambda: [mish_gradient(D(h(FINE)), D(h(FINE.flip(0) * 4 - 2)))])),
    ("aclnnInplaceHardsigmoid", lambda h: ((Ref(h(FINE * 8 - 4)),), lambda: [(D(h(FINE * 8 - 4)) / 6 + 0.5).clamp(0, 1)])),
    ("aclnnRenorm", lambda h: ((h(FINE), 2.0, 0, 1.0, ...), lambda: [renormed(D(h(FINE)), 2, 0, 1.0)])),
    ("aclnnStd", lambda h: ((h(FINE), [1], 1, False, ...), lambda: [variance(D(h(FINE)), (1,), 1).sqrt()])),
    ("aclnnVarMean", lambda h: ((h(FINE), [1], 1, False, ..., ...), lambda: [variance(D(h(FINE)), (1,), 1), D(h(FINE)).mean(1)])),
    ("aclnnMean", lambda h: ((h(FINE), [1], False, h(FINE).dtype, ...), lambda: [D(h(FINE)).mean(1)])),
    ("aclnnReduceSum", lambda h: ((h(FINE), [1], False, h(FINE).dtype, ...), lambda: [D(h(FINE)).sum(1)])),
    ("aclnnReduceNansum", lambda h: ((h(FINE), [1], False, h(FINE).dtype, ...), lambda: [D(h(FINE)).sum(1)])),
    ("aclnnProdDim", lambda h: ((h(FINE[:, :8] + 0.5), 1, False, h(FINE).dtype, ...), lambda: [D(h(FINE[:, :8] + 0.5)).prod(1)])),
    ("aclnnTrace", lambda h: ((h(FINE), ...), lambda: [D(h(FINE)).diagonal().sum()])),
    ("aclnnMv", lambda h: ((h(FINE), h(FINE[0] - 0.5), ..., 0), lambda: [(D(h(FINE)) * D(h(FINE[0] - 0.5))).sum(1)])),
    ("aclnnSoftmax", lambda h: ((h(FINE * 8), -1, ...), lambda: [torch.softmax(D(h(FINE * 8)), -1)])),
    ("aclnnSoftmaxBackward", lambda h: ((h(FINE), h(FINE / 16), 1, ...),
                                        lambda: [D(h(FINE)) * D(h(FINE / 16)) - (D(h(FINE)) * D(h(FINE / 16))).sum(1, keepdim=True) * D(h(FINE / 16))])),
    ("aclnnRepeatInterleaveGrad", lambda h: ((h(FINE), TENSOR([32]), 1, ...), lambda: [D(h(FINE)).view(4, 2, 32).sum(-1)])),
    ("aclnnMaskedScale", lambda h: ((h(FINE), torch.ones(4, 64, dtype=torch.uint8), 1.3, ...), lambda: [D(h(FINE)) * D(TENSOR(1.3))])),
    ("aclnnInverse", lambda h: ((h(torch.eye(3) * 3 + FINE[:3, :3]), ...), lambda: [torch.linalg.inv(D(h(torch.eye(3) * 3 + FINE[:3, :3])))])),
    ("aclnnLinalgCholesky", lambda h: ((h(torch.eye(3) * 3 + 0.5), False, ...), lambda: [torch.linalg.cholesky(D(h(torch.eye(3) * 3 + 0.5)))])),
    ("aclnnPdist", lambda h: ((h(FINE), 2.0, ...), lambda: [pdist(D(h(FINE)), 2)])),
    ("aclnnReflectionPad1dBackward", lambda h: ((h(FINE), h(FINE[:, :60]), [2, 2], ...), lambda: [pad_gradient(D(h(FINE)), h(FINE[:, :60]), [2, 2], reflected)])),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name, case", HALVES, ids=ids(HALVES))
def test_half_types_are_rounded_once(aclnn, name, case, dtype):
    arguments, reference = case(lambda tensor: tensor.to(dtype).contiguous())
    run_case(aclnn, name, arguments, reference, within_a_rounding, dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_closeness_of_half_types_is_decided_in_float(aclnn, dtype):
    a = (torch.rand(20000, generator=SEED) * 3 + 0.5).to(dtype)
    b = (a * (1 + 0.012 * (torch.rand(20000, generator=SEED) * 2 - 1))).to(dtype)
    run_case(aclnn, "aclnnIsClose", (a, b, 1e-2, 3e-4, False, ...), lambda: [close(D(a), D(b), 1e-2, 3e-4, False)])


def test_qr_of_halves(aclnn):
    x = values(5, 3).half()
    q, r = room(5, 3, dtype=torch.float16), room(3, 3, dtype=torch.float16)
    aclnn.run("aclnnLinalgQr", x, 0, q, r)
    torch.testing.assert_close(q.double() @ r.double(), D(x), rtol=5e-3, atol=5e-3)
    assert torch.equal(r, r.triu())


# name, arguments, a part of the message
REFUSALS = [
    ("aclnnPdist", (STEPS, -1.0, room(21)), "p is -1"),
    ("aclnnPdist", (STEPS, NAN, room(21)), "p is nan"),
    ("aclnnRenorm", (X, -1.0, 0, 1.0, room(3, 4)), "negative"),
    ("aclnnRenorm", (X, 2.0, 0, -1.0, room(3, 4)), "negative"),
    ("aclnnRepeat", (X, [-1, 1], room(3, 4)), "negative"),
    ("aclnnOneHot", (torch.zeros(0, dtype=torch.int64), 0, TENSOR([1.0]), TENSOR([0.0]), -1, room(0, 0)), "numClasses is 0"),
    ("aclnnHardtanh", (X, 1.0, 0.5, room(3, 4)), "clipValueMin is 1"),
    ("aclnnIou", (BOXES, TRUTHS, "iou", -0.5, False, room(3, 3)), "eps is -0.5"),
    ("aclnnIou", (BOXES[:1].clone(), TRUTHS, "iou", 0.0, True, room(3, 1)), "aligned"),
    ("aclnnStridedSlice", (CUBE, [0, 0], [1, 1], [1, 1], 0, 0, 3, 0, 0, room(2, 3, 4)), "ellipsisMask is 3"),
    ("aclnnStridedSlice", (X, [0, 0], [1, 1], [-1, 1], 0, 0, 0, 0, 1, room(1)), "shrinkAxisMask"),
    ("aclnnScatterNdUpdate", (room(4, 5, 6), TENSOR([[0, 1], [2, 3]]), values(1, 6)), "updates has shape"),
    ("aclnnInplaceScatterUpdate", (room(2, 5), TENSOR([-1, 0]), values(2, 1), 1), "negative"),
    ("aclnnUnfoldGrad", (values(2, 2, 3), [2, 8], 1, 3, 2, room(2, 8)), "gradOut has shape"),
    ("aclnnMaxUnpool2d", (values(1, 2, 2), TENSOR([[[0, 1], [2, 0]]]), [1, 3], room(1, 1, 3)), "outputSize is"),
    ("aclnnRepeatInterleaveGrad", (ROW, TENSOR([3]), 0, room(2)), "parts of 3"),
    ("aclnnInplaceBernoulli", (room(8), 0.5, 7, 3), "multiple of 4"),
    ("aclnnInplaceBernoulli", (room(8), 1.5, 7, 0), "prob is 1.5"),
    ("aclnnScatterReduce", (X, 0, PLACES, Y, 6, True, room(3, 4)), "reduce is 6"),
    ("aclnnInplaceRandom", (room(8), 5, 5, 7, 0), "from"),
    ("aclnnInplaceRandom", (room(8, dtype=torch.int8), 0, 1000, 7, 0), "out of bounds"),
    ("aclnnInplaceFillDiagonal", (room(3, 3, dtype=torch.int8), 300, False), "fillValue is 300"),
    ("aclnnInplaceFillDiagonal", (room(3, 3, dtype=torch.float16), 1e6, False), "cannot hold it"),
    ("aclnnInplaceUniform", (room(8), 2.0, 1.0, 7, 0), "from"),
    ("aclnnSimThreadExponential", (room(8), 8, 0.0, 7, 0), "lambda"),
    ("aclnnLinspace", (0.0, 1.0, -1, room(1)), "steps"),
    ("aclnnKlDivBackward", (TENSOR([1.0]), LOGS, SHARES, 4, False, room(3, 5)), "reduction is 4"),
    ("aclnnRoll", (X, [1, 2], [0], room(3, 4)), "shifts"),
    ("aclnnRepeatInterleaveTensor", (TENSOR([1, -1]), 0, room(0, dtype=torch.int64)), "negative"),
    ("aclnnLinalgQr", (X, 3, room(3, 3), room(3, 4)), "mode is 3"),
]


@pytest.mark.parametrize("name, arguments, says", REFUSALS, ids=ids(REFUSALS))
def test_what_the_page_rules_out_is_refused(aclnn, name, arguments, says):
    code, said = aclnn.status(name, arguments)
    assert code != 0
    assert says in said


def test_the_power_of_truth_values_is_refused(aclnn):
    mask = TENSOR([True, False])
    for name, more in (("aclnnPowTensorTensor", (room(2, dtype=torch.bool),)), ("aclnnInplacePowTensorTensor", ())):
        code, said = aclnn.status(name, (mask, mask, *more))
        assert code == REFUSED
        assert "BOOL" in said


@pytest.mark.parametrize("dtype, low, high", [(torch.float16, 1.0, 2.0), (torch.bfloat16, -1.0, 1.0), (torch.float32, 1.0, 1.00001)])
def test_uniform_numbers_do_not_reach_the_upper_bound(aclnn, dtype, low, high):
    out = room(1 << 16, dtype=dtype)
    aclnn.run("aclnnInplaceUniform", out, low, high, 7, 0)
    assert out.min() >= low
    assert (out < torch.tensor(high, dtype=dtype)).all()


def test_uniform_whole_numbers(aclnn):
    out = room(1 << 14, dtype=torch.int32)
    aclnn.run("aclnnInplaceUniform", out, -3.0, 2.0, 7, 0)
    counts = torch.bincount(out + 3, minlength=5)
    assert len(counts) == 5
    assert ((counts / out.numel() - 0.2).abs() < 0.02).all()


@pytest.mark.parametrize("shape, counted", [((4, 2), 8), ((4, 4, 2), 16)])
def test_chances_of_another_shape_go_by_their_order(aclnn, shape, counted):
    chances = whole(0, 2, *shape).float()
    out = room(4, 4)
    aclnn.run("aclnnInplaceBernoulliTensor", out, chances, 7, 0)
    assert torch.equal(out.flatten()[:counted], chances.flatten()[:counted])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("extra", [0, 5])
def test_randomised_leaky_relu(aclnn, dtype, training, extra):
    x, noise, out = values(200).to(dtype), room(200 + extra, dtype=dtype), room(200, dtype=dtype)
    x[0] = 0
    aclnn.run("aclnnRReluWithNoise", x, noise, 0.25, 0.75, training, 7, 0, out)
    if not training:
        (same if dtype == torch.float32 else within_a_rounding)(out, WHERE(x > 0, D(x), D(x) * 0.5), "out")
        return
    drawn = noise[:200]
    assert (drawn[x > 0] == 1).all()
    assert ((drawn[x <= 0] >= 0.25) & (drawn[x <= 0] <= 0.75)).all()
    assert drawn[x <= 0].unique().numel() > 20
    torch.testing.assert_close(D(out), D(x) * D(drawn), rtol=1e-2 if dtype != torch.float32 else 1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_random_numbers_without_bounds_reach_what_the_type_counts(aclnn, dtype):
    most = {torch.float16: 2**11, torch.bfloat16: 2**8, torch.float32: 2**24}[dtype]
    out = room(1 << 14, dtype=dtype)
    aclnn.run("aclnnInplaceRandomWithoutFromTo", out, 7, 0)
    wide = D(out)
    assert torch.equal(wide, wide.round())
    assert wide.min() >= 0 and wide.max() <= most and wide.max() > most * 0.99


def test_counts_come_with_the_inverse(aclnn):
    x = TENSOR([3, 1, 3, 2, 1])
    kinds, inverse, counts = room(5, dtype=torch.int64), room(5, dtype=torch.int64), room(5, dtype=torch.int64)
    aclnn.run("aclnnUnique2", x, True, False, True, kinds, inverse, counts)
    assert kinds[:3].tolist() == [1, 2, 3]
    assert counts[:3].tolist() == [2, 1, 2]
    assert inverse.tolist() == [2, 0, 2, 1, 0]


def test_singular_values(aclnn):
    x = values(2, 5, 3)
    for full in (True, False):
        sigma, u, v = room(2, 3), room(2, 5, 5 if full else 3), room(2, 3, 3)
        aclnn.run("aclnnSvd", x, full, True, sigma, u, v)
        torch.testing.assert_close(u[..., :3] @ torch.diag_embed(sigma) @ v.transpose(-2, -1), x, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(u.transpose(-2, -1) @ u, torch.eye(u.shape[-1]).expand(2, -1, -1), rtol=1e-4, atol=1e-5)


def test_the_gated_delta_rule(aclnn):
    lengths, heads, groups, wide, deep = [3, 1, 2], 2, 2, 4, 3
    tokens = sum(lengths)
    query, key = (torch.nn.functional.normalize(values(tokens, heads, deep), dim=-1).bfloat16() for _ in range(2))
    value, beta = values(tokens, heads * groups, wide).bfloat16(), torch.rand(tokens, heads * groups, generator=SEED).bfloat16()
    states, place = values(9, heads * groups, wide, deep).bfloat16(), TENSOR([4, 0, 7, 2, 8, 5], dtype=torch.int32)
    g, gk = -torch.rand(tokens, heads * groups, generator=SEED), -torch.rand(tokens, heads * groups, deep, generator=SEED)
    accepted = TENSOR([2, 1, 1], dtype=torch.int32)
    out, got = room(tokens, heads * groups, wide, dtype=torch.bfloat16), states.clone()
    aclnn.run("aclnnRecurrentGatedDeltaRule", query, key, value, beta, got, TENSOR(lengths, dtype=torch.int32), place, g, gk, accepted, 0.5, out)
    wanted, want, first = D(states).clone(), torch.zeros(out.shape).double(), 0
    for length, taken in zip(lengths, accepted.tolist()):
        each = D(states)[place[first + taken - 1]].clone()
        for t in range(first, first + length):
            for head in range(heads * groups):
                k, q, v = D(key)[t, head // groups], D(query)[t, head // groups], D(value)[t, head]
                fade = torch.exp(D(g)[t, head]) * torch.diag(torch.exp(D(gk)[t, head]))
                each[head] = each[head] @ fade @ (torch.eye(deep).double() - D(beta)[t, head] * torch.outer(k, k)) + D(beta)[t, head] * torch.outer(v, k)
                want[t, head] = each[head] @ q * 0.5
            wanted[place[t]] = each
        first += length
    within_a_rounding(out, want, "out")
    within_a_rounding(got, wanted, "states")


EVERY = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.float16, torch.float32, torch.float64, torch.bfloat16,
         torch.complex64, torch.complex128]


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("how", [0, 1, 2])
def test_every_type_of_the_page_scatters(aclnn, how, dtype):
    self, src = whole(0, 5, 3, 4).to(dtype), whole(0, 5, 2, 4).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    want = scattered(self.to(wide), 0, PLACES, src.to(wide), HOW[how]).to(dtype)
    out = room(3, 4, dtype=dtype)
    aclnn.run("aclnnScatter", self, 0, PLACES, src, how, out)
    assert torch.equal(out, want)
    want = scattered(self.to(wide), 0, PLACES, torch.full((2, 4), 3).to(dtype).to(wide), HOW[how]).to(dtype)
    aclnn.run("aclnnInplaceScatterValue", self, 0, PLACES, True if dtype == torch.bool else 3, how)
    assert torch.equal(self, want)


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("name", ["aclnnScatterAdd", "aclnnIndexAdd", "aclnnInplacePut"])
def test_every_type_of_the_page_adds(aclnn, name, dtype):
    if name == "aclnnIndexAdd" and dtype.is_complex:
        pytest.skip("not among the types of aclnnIndexAdd's page")
    self, src = whole(0, 5, 3, 4).to(dtype), whole(0, 5, 2, 4).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    rows = TENSOR([[2, 2, 2, 2]] * 2)
    index = PLACES if name == "aclnnScatterAdd" else rows
    want = scattered(self.to(wide), 0, index, src.to(wide), sum).to(dtype)
    out = room(3, 4, dtype=dtype)
    if name == "aclnnScatterAdd":
        aclnn.run(name, self, 0, index, src, out)
    elif name == "aclnnIndexAdd":
        aclnn.run(name, self, 0, TENSOR([2, 2]), src, True if dtype == torch.bool else 1, out)
    else:
        out = self.clone()
        aclnn.run(name, out, torch.arange(8, 12).repeat(2), src, True)
    assert torch.equal(out, want)


def test_a_cache_s_layout_is_not_chosen_by_a_reserved_argument(aclnn):
    tokens, slots = values(3, 2, 8), TENSOR([5, 0, 2])
    for mode in ("Norm", "PA_NZ"):
        cache = torch.zeros(2, 4, 2, 8)
        aclnn.run("aclnnScatterPaCache", tokens, cache, slots, None, None, None, mode)
        assert torch.equal(cache.view(8, 2, 8)[slots], tokens)
        assert cache.abs().sum() == tokens.abs().sum()


@pytest.mark.parametrize("averaged", [True, False])
def test_a_cache_keeps_part_of_each_head_s_keys(aclnn, averaged):
    key, slots = values(2, 6, 2, 8).half(), TENSOR([[0, 9], [4, 14]])
    lengths, offsets, tokens = TENSOR([2, 1, 3, 2]), TENSOR([1, 0, 2, 0]), [4, 6]
    cache = torch.zeros(5, 4, 1, 8).half()
    want = D(cache).view(20, 8)
    for batch, head in itertools.product(range(2), range(2)):
        keys, length, offset = D(key)[batch, :tokens[batch], head], lengths[2 * batch + head], offsets[2 * batch + head]
        kept = torch.cat((keys[:offset], keys[offset:offset + length].mean(0, True), keys[offset + length:])) if averaged else keys[-length:]
        want[slots[batch, head]:slots[batch, head] + len(kept)] = kept
    aclnn.run("aclnnScatterPaCache", key, cache, slots, lengths, offsets if averaged else None, TENSOR(tokens), "Norm")
    within_a_rounding(cache.view(20, 8), want, "cache")


MIXED = TENSOR([[3, 1, 1], [3, 3, 2]])
INDEX = torch.int64
# name, arguments, results, which fill the outputs' memory from the front: their lengths are known only after the run
GROWN = [
    ("aclnnMaskedSelect", (X, X[0] > 0, room(12)), lambda: [A[(X[0] > 0).expand(3, 4)]]),
    ("aclnnNonzero", (TENSOR([[0.0, NAN], [-0.0, 2.0]]), room(4, 2, dtype=INDEX)), lambda: [TENSOR([[0, 1], [1, 1]])]),
    ("aclnnNonzeroV2", (MIXED - 3, room(2, 6, dtype=INDEX)), lambda: [TENSOR([[0, 0, 1], [1, 2, 2]])]),
    ("aclnnUnique", (MIXED, True, True, room(6, dtype=INDEX), room(2, 3, dtype=INDEX)), lambda: [TENSOR([1, 2, 3]), TENSOR([[2, 0, 0], [2, 2, 1]])]),
    ("aclnnUnique2", (MIXED, True, True, True, room(6, dtype=INDEX), room(2, 3, dtype=INDEX), room(6, dtype=INDEX)),
     lambda: [TENSOR([1, 2, 3]), TENSOR([[2, 0, 0], [2, 2, 1]]), TENSOR([2, 1, 3])]),
    ("aclnnUniqueConsecutive", (MIXED, True, True, 1000, room(6, dtype=INDEX), room(2, 3, dtype=torch.int32), room(6, dtype=torch.int32)),
     lambda: [TENSOR([3, 1, 3, 2]), TENSOR([[0, 1, 1], [2, 2, 3]], dtype=torch.int32), TENSOR([1, 2, 2, 1], dtype=torch.int32)]),
    ("aclnnUniqueConsecutive", (MIXED[TENSOR([1, 1, 0])], True, True, -2, room(9, dtype=INDEX), room(3, dtype=INDEX), room(3, dtype=INDEX)),
     lambda: [MIXED.flip(0), TENSOR([0, 0, 1]), TENSOR([2, 1])]),
    ("aclnnUniqueDim", (MIXED[TENSOR([1, 0, 1])], True, True, 0, room(9, dtype=INDEX), room(3, dtype=INDEX), room(3, dtype=INDEX)),
     lambda: [MIXED, TENSOR([1, 0, 1]), TENSOR([1, 2])]),
]


@pytest.mark.parametrize("name, arguments, reference", GROWN, ids=ids(GROWN))
def test_results_whose_length_shows_when_they_are_there(aclnn, name, arguments, reference):
    results = reference()
    outputs = [one.clone() for one in arguments[-len(results):]]
    aclnn.run(name, *arguments[:-len(results)], *outputs)
    for number, (got, want) in enumerate(zip(outputs, results)):
        same(got.flatten()[:want.numel()].view(want.shape), want, f"output {number}")


def test_parts_and_the_whole(aclnn):
    parts = [room(3, 1), room(3, 0), room(3, 3)]
    aclnn.run("aclnnSplitWithSize", X, [1, 0, 3], -1, parts)
    assert torch.equal(torch.cat(parts, 1), X)
    out = room(3, 2, 4)
    aclnn.run("aclnnStack", [X, Y], -2, out)
    assert torch.equal(out, torch.cat((X[:, None], Y[:, None]), 1))


def test_unpooling_a_volume(aclnn):
    x, places = values(2, 1, 2, 2, 2), torch.randperm(24, generator=SEED)[:8].view(1, 1, 2, 2, 2).expand(2, -1, -1, -1, -1).contiguous()
    out = room(2, 1, 2, 3, 4)
    aclnn.run("aclnnMaxUnpool3d", x, places, [2, 3, 4], [1, 1, 1], [0, 0, 0], out)
    want = torch.zeros(2, 1, 24).scatter(-1, places.flatten(2), x.flatten(2))
    assert torch.equal(out.flatten(2), want)

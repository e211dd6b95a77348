# SPDX-License-Identifier: Apache-2.0
"""Indexing, scattering, reductions, order, linear algebra, windows and their like against the formulas of their own pages, written out in float64."""

import math

import pytest
import torch
from page_cases import D, Ref, ids, run_case
from page_checks import drawing
from page_tensor import (
    A, ASKED, B, BOXES, COLUMNS, CUBE, EDGES, HIDDEN, HOW, INTS, LOGS, MATRIX, PADS1, PADS2, PADS3, PICTURE, PLACES, QKV, ROLLED, ROW, SCORES, SHARES,
    SORTED, SORTER, SPREAD, SQUARE, STEPS, TRUTHS, UNPOOLED, VOLUME, WIDE_BIAS, WINDOW, X, Y, ZEROS, close, columns, filled, floor_mod, masked_softmax,
    mish_gradient, overlap, pad_gradient, padded, pdist, picture, reflected, renormed, replicated, scattered, triangular, variance,
)

SEED, values, whole = drawing(37)
INF, NAN = math.inf, math.nan
WHERE, TENSOR = torch.where, torch.tensor

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

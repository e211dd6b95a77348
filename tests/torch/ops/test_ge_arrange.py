# SPDX-License-Identifier: Apache-2.0
"""The less common GE operators that arrange, search and solve, against plain torch."""

import pytest
import torch
import torch.nn.functional as F
from ge_tensors import ints, values

I32, I64 = torch.int32, torch.int64


def one(number, dtype=torch.float32):
    return torch.tensor(number, dtype=dtype)


X, Y, G = values(2, 3, 4), values(3, 1, seed=2), values(2, 3, 4, seed=3)
PICTURE = values(2, 8, 3, 5)  # NCHW
SPACE = values(2, 3, 4, 6)
BATCH = values(1, 4, 6, 2)
SQUARE = values(2, 3, 3) @ values(2, 3, 3).mT + torch.eye(3)
SIX = values(6)


def to_batch(x, rows, columns):
    """As the definition has it: each place within the block becomes a picture of its own."""
    return torch.cat([x[:, i::rows, j::columns] for i in range(rows) for j in range(columns)])


def maximum_grads(function):
    x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
    function(x, y).backward(G)
    return [x.grad, y.grad]


CASES = [
    ("DepthToSpace", [PICTURE], {"block_size": 2, "mode": "CRD", "data_format": "NCHW"}, F.pixel_shuffle(PICTURE, 2)),
    ("DepthToSpace", [PICTURE.permute(0, 2, 3, 1).contiguous()], {"block_size": 2},
     F.pixel_shuffle(PICTURE.view(2, 4, 2, 3, 5).transpose(1, 2).reshape(2, 8, 3, 5), 2).permute(0, 2, 3, 1)),
    ("SpaceToDepth", [SPACE], {"block_size": 2, "data_format": "NCHW"},
     F.pixel_unshuffle(SPACE, 2).view(2, 3, 4, 2, 3).transpose(1, 2).reshape(2, 12, 2, 3)),
    ("SpaceToBatchND", [BATCH, ints(2, 3), torch.tensor([[0, 0], [0, 0]])], {}, to_batch(BATCH, 2, 3)),
    ("SpaceToBatchND", [BATCH, ints(2, 2), torch.tensor([[1, 1], [2, 0]])], {}, to_batch(F.pad(BATCH, (0, 0, 2, 0, 1, 1)), 2, 2)),
    ("BatchToSpaceND", [to_batch(BATCH, 2, 3), ints(2, 3), torch.tensor([[0, 0], [0, 0]])], {}, BATCH),
    ("BatchToSpaceND", [to_batch(BATCH, 2, 3), ints(2, 3), torch.tensor([[1, 0], [0, 2]])], {}, BATCH[:, 1:, :4]),
    ("ReverseSequence", [X, ints(2, 3)], {"seq_dim": 1}, torch.stack([torch.cat([X[0, :2].flip(0), X[0, 2:]]), X[1].flip(0)])),
    ("RepeatInterleave", [X, ints(2)], {"axis": 1}, X.repeat_interleave(2, 1)),
    ("RepeatInterleave", [X, ints(1, 0, 2)], {"axis": 1}, X.repeat_interleave(ints(1, 0, 2), 1)),
    ("RepeatInterleave", [X, ints(3)], {}, X.repeat_interleave(3)),
    ("MatrixDiag", [X], {}, X.diag_embed()),
    ("MatrixDiagPart", [X], {}, X.diagonal(0, -2, -1)),
    ("Diag", [SIX.view(2, 3)], {}, SIX.diag().view(2, 3, 2, 3)),
    ("DiagPart", [values(6, 6).view(2, 3, 2, 3)], {}, values(6, 6).diagonal().reshape(2, 3)),
    ("Ger", [SIX, values(4)], {}, torch.outer(SIX, values(4))),
    ("Trace", [X[0]], {}, X[0].trace()),
    ("Renorm", [X], {"p": 2.0, "dim": 0, "maxnorm": 1.0}, X.renorm(2, 0, 1.0)),
    ("MatrixInverse", [SQUARE], {}, SQUARE.inverse()),
    ("MatrixSolve", [SQUARE, values(2, 3, 2)], {"adjoint": True}, torch.linalg.solve(SQUARE.mT, values(2, 3, 2))),
    ("Cholesky", [SQUARE], {}, torch.linalg.cholesky(SQUARE)),
    ("SliceV3", [X, ints(0, 1, 0), ints(2, 2, 3)], {}, X[:, 1:, :3]),
    ("TransShape", [X], {"outShape": [6, 4]}, X.view(6, 4)),
    ("MaskedSelectV2", [X, X > 0], {}, X[X > 0]),
    ("IndexFill", [X, ints(0, 2, dtype=I32), one(5.0)], {"dim": 1}, X.index_fill(1, ints(0, 2), 5.0)),
    ("Unique", [ints(5, 2, 5, 9, 2)], {}, [ints(5, 2, 9), ints(0, 1, 0, 2, 1, dtype=I32)]),
    ("UniqueWithCounts", [ints(5, 2, 5, 9, 2)], {"out_idx": I64}, [ints(5, 2, 9), ints(0, 1, 0, 2, 1), ints(2, 2, 1)]),
    ("SortV2", [X], {"axis": 1, "descending": True}, X.sort(dim=1, descending=True).values),
    ("Bucketize", [ints(0, 5, 10, 11, dtype=I32).float()], {"boundaries": [0.0, 10.0, 100.0]}, ints(1, 1, 2, 2, dtype=I32)),
    ("Cummax", [X], {"dim": 1}, [X.cummax(1).values, X.cummax(1).indices.to(I32)]),
    ("Cummin", [X], {"axis": 2}, [X.cummin(2).values, X.cummin(2).indices.to(I32)]),
    ("InTopK", [torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]]), ints(2, 2, dtype=I32), one(2, I32)], {}, torch.tensor([True, False])),
    ("HardMax", [X], {"axis": 1}, torch.zeros_like(X).scatter(1, X.argmax(1, keepdim=True), 1.0)),
    ("InvertPermutation", [ints(2, 0, 1)], {}, ints(1, 2, 0)),
    ("TransData", [PICTURE], {"src_format": "NCHW", "dst_format": "NHWC"}, PICTURE.permute(0, 2, 3, 1)),
    ("TransData", [X], {"src_format": "ND", "dst_format": "FRACTAL_NZ"}, X),
    ("Histogram", [X], {"bins": 5}, X.histc(5)),
    ("LowerBound", [ints(1, 3, 5).view(1, 3), ints(3, 4).view(1, 2)], {}, ints(1, 2, dtype=I32).view(1, 2)),
    ("UpperBound", [ints(1, 3, 5).view(1, 3), ints(3, 4).view(1, 2)], {"out_type": I64}, ints(2, 2).view(1, 2)),
    ("Fills", [X], {"value": 3.0}, torch.full_like(X, 3.0)),
    ("L2Loss", [X], {}, (X * X).sum() / 2),
    ("L2Normalize", [X], {"axis": [1]}, X / (X * X).sum(1, keepdim=True).sqrt()),
    ("MVNV2", [PICTURE], {}, (PICTURE - PICTURE.mean((0, 2, 3), keepdim=True)) / PICTURE.std((0, 2, 3), correction=0, keepdim=True)),
    ("MaximumGrad", [G, X, Y], {}, maximum_grads(torch.maximum)),
    ("MinimumGrad", [G, X, Y], {}, maximum_grads(torch.minimum)),
    ("StridedSliceGrad", [ints(2, 3, 4), ints(0, 1), ints(2, 3), ints(1, 1), G[:, 1:].contiguous()], {}, F.pad(G[:, 1:], (0, 0, 1, 0))),
    ("StridedSliceGradD", [G[0]], {"shape": [2, 3, 4], "begin": [1], "end": [2], "strides": [1], "shrink_axis_mask": 1},
     torch.stack([torch.zeros(3, 4), G[0]])),
]


@pytest.mark.parametrize("kind, inputs, attributes, want", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_equals_plain_torch(ge, kind, inputs, attributes, want):
    ge.check(kind, inputs, attributes, want)


def test_slices_are_assigned_in_place(ge):
    want = X.clone()
    want[:, 0] = G[:, 0].flip(-1)
    ge.check("StridedSliceAssign", [X.clone(), ints(0, 0, 3), ints(2, 1, -5), ints(1, 1, -1), G[:, :1].contiguous()], {}, want, refs={0: 0})
    want = X.clone()
    want[1] = G[0]
    ge.check("StridedSliceAssignD", [X.clone(), G[0]], {"begin": [1], "end": [2], "strides": [1], "shrink_axis_mask": 1}, want, refs={0: 0})


def test_index_add_in_place(ge):
    ge.check("InplaceIndexAdd", [X.clone(), ints(1, 1, dtype=I32), G[:, :2].contiguous(), one(2.0)], {"axis": 1},
             X.index_add(1, ints(1, 1), G[:, :2], alpha=2), refs={0: 0})

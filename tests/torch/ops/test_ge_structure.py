# SPDX-License-Identifier: Apache-2.0
"""GE operators that arrange elements anew: the shape that is told before a run, and the run, against plain torch."""

import pytest
import torch
import torch.nn.functional as F
from ge_tensors import ints, values

I32, I64 = torch.int32, torch.int64


def one(number, dtype=I32):
    return torch.tensor(number, dtype=dtype)


X = values(2, 3, 4)
Y = values(2, 3, 4, seed=2)
ROW = values(1, 3, 1)
PADS = torch.tensor([[1, 2], [0, 1], [2, 0]], dtype=I64)
PADDED = F.pad(X, (2, 0, 0, 1, 1, 2))
IMAGE = values(2, 3, 4, 5)
IMAGE_PADS = torch.tensor([[0, 0], [0, 0], [1, 2], [2, 1]], dtype=I32)

CASES = [
    ("Reshape", [X, ints(4, -1)], {}, X.reshape(4, 6)),
    ("Reshape", [X, ints(24, dtype=I32)], {}, X.reshape(24)),
    ("Reshape", [X, ints(12)], {"axis": 1, "num_axes": 2}, X.reshape(2, 12)),
    ("Reshape", [one(5.0, torch.float32), ints(1, 1)], {}, torch.full((1, 1), 5.0)),
    ("Squeeze", [ROW], {}, ROW.squeeze()),
    ("Squeeze", [ROW], {"axis": [-1]}, ROW.squeeze(-1)),
    ("SqueezeV2", [ROW], {"axis": [0]}, ROW.squeeze(0)),
    ("SqueezeV3", [ROW, ints(0, 2)], {}, ROW.squeeze()),
    ("SqueezeV3", [ROW, None], {}, ROW.squeeze()),
    ("Unsqueeze", [X], {"axes": [0, -1]}, X[None, ..., None]),
    ("UnsqueezeV2", [X], {"axis": [1]}, X.unsqueeze(1)),
    ("UnsqueezeV3", [X, ints(1)], {}, X.unsqueeze(1)),
    ("ExpandDims", [X, ints(-1)], {}, X.unsqueeze(-1)),
    ("ExpandDims", [X, one(2)], {}, X.unsqueeze(2)),
    ("Flatten", [X], {}, X.flatten(1)),
    ("Flatten", [X], {"axis": 2}, X.reshape(6, 4)),
    ("FlattenV2", [X], {}, X.flatten(1)),
    ("FlattenV2", [X], {"axis": 0, "end_axis": 1}, X.flatten(0, 1)),
    ("TensorMove", [X], {}, X),
    ("Identity", [X], {}, X),
    ("StopGradient", [X], {}, X),
    ("Snapshot", [X], {}, X),
    ("PreventGradient", [X], {"message": "no"}, X),
    ("IdentityN", [X, ints(1, 2)], {}, [X, ints(1, 2)]),
    ("Bitcast", [X], {"type": I32}, X.view(I32)),
    ("Bitcast", [X], {"type": torch.int16}, X.view(torch.int16).reshape(2, 3, 4, 2)),
    ("Bitcast", [X], {"type": torch.int16, "keep_dim": True}, X.view(torch.int16)),
    ("Bitcast", [X.view(torch.int16).reshape(2, 3, 4, 2)], {"type": torch.float32}, X),
    ("Bitcast", [X], {"type": torch.float64, "keep_dim": True}, X.view(torch.float64)),
    ("Shape", [X], {}, ints(2, 3, 4, dtype=I32)),
    ("Shape", [X], {"dtype": 9}, ints(2, 3, 4)),
    ("Shape", [one(1)], {}, ints(dtype=I32)),
    ("ShapeN", [X, ROW], {"dtype": 9}, [ints(2, 3, 4), ints(1, 3, 1)]),
    ("Size", [X], {}, one(24)),
    ("Size", [X], {"dtype": 9}, one(24, I64)),
    ("Rank", [X], {}, one(3)),
    ("ConcatD", [X, Y], {"concat_dim": 1, "N": 2}, torch.cat([X, Y], 1)),
    ("ConcatV2", [X, Y, one(-1)], {"N": 2}, torch.cat([X, Y], -1)),
    ("ConcatV2", [X, X[:1], ints(0)], {"N": 2}, torch.cat([X, X[:1]], 0)),
    ("ConcatV2", [one(3), ints(4, 5, dtype=I32), one(6), one(0)], {"N": 3}, ints(3, 4, 5, 6, dtype=I32)),
    ("ConcatV2D", [X, Y, X], {"concat_dim": 0, "N": 3}, torch.cat([X, Y, X], 0)),
    ("Concat", [one(1), X, Y], {"N": 2}, torch.cat([X, Y], 1)),
    ("Pack", [X, Y], {"axis": -1, "N": 2}, torch.stack([X, Y], -1)),
    ("Pack", [one(1), one(2)], {"N": 2}, ints(1, 2, dtype=I32)),
    ("Unpack", [X], {"num": 3, "axis": 1}, list(X.unbind(1))),
    ("Unpack", [X], {"num": 2}, list(X.unbind(0))),
    ("Split", [one(1), X], {"num_split": 3}, list(X.split(1, 1))),
    ("SplitD", [X], {"split_dim": -1, "num_split": 2}, list(X.split(2, 2))),
    ("SplitV", [X, ints(1, 3), one(2)], {"num_split": 2}, list(X.split([1, 3], 2))),
    ("SplitV", [X, ints(1, -1), ints(-1)], {"num_split": 2}, list(X.split([1, 3], 2))),
    ("SplitVD", [X], {"size_splits": [2, 1], "split_dim": 1, "num_split": 2}, list(X.split([2, 1], 1))),
    ("Slice", [X, ints(0, 1, 1), ints(2, 2, -1)], {}, X[:, 1:3, 1:]),
    ("SliceD", [X], {"offsets": [1, 0, 0], "size": [1, 3, 2]}, X[1:, :, :2]),
    ("SliceDV2", [X, ints(1, 0, 0)], {"size": [1, 3, 2]}, X[1:, :, :2]),
    ("StridedSlice", [X, ints(0, 0, 3), ints(2, 3, 0), ints(1, 2, -1)], {}, X[:, ::2].flip(-1)[..., :3]),
    ("StridedSlice", [X, ints(1, 0), ints(2, 2), ints(1, 1)], {"shrink_axis_mask": 1}, X[1, 0:2]),
    ("StridedSlice", [X, ints(0, 1), ints(0, 3), ints(1, 1)], {"ellipsis_mask": 1}, X[..., 1:3]),
    ("StridedSlice", [X, ints(0, 0, 1), ints(0, 0, 3), ints(1, 1, 1)], {"new_axis_mask": 1, "begin_mask": 2, "end_mask": 2}, X[None, :, 1:3]),
    ("StridedSliceD", [X], {"begin": [0, 1, 0], "end": [2, 3, 4], "strides": [1, 1, 2]}, X[:, 1:3, ::2]),
    ("StridedSliceV2", [X, ints(1), ints(9223372036854775807), ints(2), ints(2)], {}, X[..., 1::2]),
    ("StridedSliceV2", [X, ints(0, -2), ints(1, 3), None, None], {}, X[:1, -2:3]),
    ("StridedSliceV3", [X, ints(-1), ints(-100), ints(1), ints(-1)], {}, X.flip(1)),
    ("Transpose", [X, ints(2, 0, 1)], {}, X.permute(2, 0, 1)),
    ("TransposeD", [X], {"perm": [1, 0, 2]}, X.permute(1, 0, 2)),
    ("Permute", [X], {"order": [0, 2, 1]}, X.permute(0, 2, 1)),
    ("ConfusionTransposeD", [X], {"perm": [1, 0], "shape": [6, 4], "transpose_first": False}, X.reshape(6, 4).t()),
    ("BroadcastTo", [ROW, ints(2, 3, 4)], {}, ROW.expand(2, 3, 4)),
    ("BroadcastToD", [ROW], {"shape": [2, 3, 4]}, ROW.expand(2, 3, 4)),
    ("Expand", [ROW, ints(5, 1, 3, 2, dtype=I32)], {}, ROW.expand(5, 1, 3, 2)),
    ("Expand", [ROW, ints(-1, 2, 1, 4)], {}, ROW.expand(1, 2, 3, 4)),
    ("ExpandD", [ROW], {"shape": [2, -1, 4]}, ROW.expand(2, 3, 4)),
    ("Tile", [X, ints(2, 1, 3)], {}, X.repeat(2, 1, 3)),
    ("TileD", [X], {"multiples": [1, 2, 1]}, X.repeat(1, 2, 1)),
    ("TileWithAxis", [X], {"axis": 1, "tiles": 3}, X.repeat(1, 3, 1)),
    ("ReverseV2", [X, ints(0, 2)], {}, X.flip(0, 2)),
    ("ReverseV2D", [X], {"axis": [1]}, X.flip(1)),
    ("Roll", [X], {"shifts": [1, 2], "dims": [0, 2]}, X.roll((1, 2), (0, 2))),
    ("Roll", [X], {"shifts": [5]}, X.roll(5)),
    ("RollV2", [X, ints(1), ints(1)], {}, X.roll(1, 1)),
    ("Tril", [X], {"diagonal": -1}, X.tril(-1)),
    ("Triu", [X], {"diagonal": 1}, X.triu(1)),
    ("Trilu", [X, ints(1)], {"upper": 1}, X.triu(1)),
    ("Trilu", [X, None], {}, X.tril()),
    ("AsStrided", [X, ints(2, 2), ints(4, 1), ints(3)], {}, X.as_strided((2, 2), (4, 1), 3)),
    ("Pad", [X, PADS], {}, PADDED),
    ("PadD", [X], {"paddings": PADS.tolist()}, PADDED),
    ("PadV2", [X, PADS, one(7.0, torch.float32)], {}, F.pad(X, (2, 0, 0, 1, 1, 2), value=7.0)),
    ("PadV3", [X, PADS, None], {}, PADDED),
    ("PadV3", [X, PADS.t().contiguous(), one(3.0, torch.float32)], {"paddings_contiguous": False}, F.pad(X, (2, 0, 0, 1, 1, 2), value=3.0)),
    ("PadV3", [X, ints(0, 0, -1, 0, 1, -2), None], {}, F.pad(X, (1, -2, -1, 0))),
    ("PadV3", [IMAGE, IMAGE_PADS, None], {"mode": "reflect"}, F.pad(IMAGE, (2, 1, 1, 2), mode="reflect")),
    ("PadV3", [IMAGE, IMAGE_PADS, None], {"mode": "edge"}, F.pad(IMAGE, (2, 1, 1, 2), mode="replicate")),
    ("PadV3", [IMAGE, IMAGE_PADS, None], {"mode": "circular"}, F.pad(IMAGE, (2, 1, 1, 2), mode="circular")),
    ("MirrorPad", [IMAGE, IMAGE_PADS], {"mode": "REFLECT"}, F.pad(IMAGE, (2, 1, 1, 2), mode="reflect")),
    ("MirrorPad", [ints(1, 2, 3), torch.tensor([[2, 1]])], {"mode": "SYMMETRIC"}, ints(2, 1, 1, 2, 3, 3)),
    ("Fill", [ints(2, 3), one(1.5, torch.float32)], {}, torch.full((2, 3), 1.5)),
    ("Fill", [ints(4, dtype=I32), one(9007199254740993, I64)], {}, torch.full((4,), 9007199254740993)),
    ("FillD", [one(2)], {"dims": [2, 2]}, torch.full((2, 2), 2, dtype=I32)),
    ("FillV2", [ints(3)], {"value": 0.5}, torch.full((3,), 0.5)),
    ("Range", [one(0), one(7), one(2)], {}, torch.arange(0, 7, 2, dtype=I32)),
    ("Range", [one(3, I64), one(-4, I64), one(-3, I64)], {}, torch.arange(3, -4, -3)),
    ("Range", [one(0.0, torch.float32), one(1.0, torch.float32), one(0.25, torch.float32)], {"is_closed": True}, torch.arange(0, 1.1, 0.25)),
    ("Range", [one(0), one(2.5, torch.float32), one(1)], {}, torch.arange(0, 2.5, 1)),
    ("LinSpace", [one(0.0, torch.float32), one(1.0, torch.float32), one(5)], {}, torch.linspace(0, 1, 5)),
    ("Eye", [], {"num_rows": 3}, torch.eye(3)),
    ("Eye", [], {"num_rows": 2, "num_columns": 3, "batch_shape": [2], "dtype": 3}, torch.eye(2, 3, dtype=I32).expand(2, 2, 3)),
    ("ZerosLike", [X], {}, torch.zeros_like(X)),
    ("OnesLike", [ints(3, 4)], {}, ints(1, 1)),
    ("Empty", [ints(2, 3)], {"dtype": 0, "init": True}, torch.zeros(2, 3)),
    ("Cast", [X], {"dst_type": 3}, X.to(I32)),
    ("Cast", [X], {"dst_type": 27}, X.to(torch.bfloat16)),
    ("Cast", [ints(0, 2)], {"dst_type": 12}, torch.tensor([False, True])),
]


@pytest.mark.parametrize("kind, inputs, attributes, want", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_equals_plain_torch(ge, kind, inputs, attributes, want):
    ge.check(kind, inputs, attributes, want)


def test_view_copy_writes_through_strides(ge):
    dst, src = torch.zeros(3, 4), torch.arange(6.0)
    want = dst.clone()
    want.as_strided((2, 3), (4, 1), 1).copy_(src.as_strided((2, 3), (3, 1), 0))
    ge.check("ViewCopy", [dst, ints(2, 3), ints(4, 1), ints(1), src, ints(2, 3), ints(3, 1), ints(0)], {}, want, refs={0: 0})


@pytest.mark.parametrize("mode, torch_mode", [("reflect", "reflect"), ("edge", "replicate")])
def test_gradient_of_padding(ge, mode, torch_mode):
    image = IMAGE.clone().requires_grad_()
    padded = F.pad(image, (2, 1, 1, 2), mode=torch_mode)
    gradient = torch.randn_like(padded)
    padded.backward(gradient)
    ge.check("PadV3Grad", [gradient, IMAGE_PADS], {"mode": mode}, image.grad)


@pytest.mark.parametrize("kind, inputs, attributes, says", [
    ("ConcatV2", [X, ROW, one(0)], {"N": 2}, "may differ only in dimension 0"),
    ("Reshape", [X, ints(5, -1)], {}, "does not fit"),
    ("Squeeze", [X], {"axis": [1]}, "is not 1"),
    ("Transpose", [X, ints(0, 1)], {}, "entries"),
    ("BroadcastTo", [X, ints(2, 3, 5)], {}, "cannot be broadcast"),
    ("Slice", [X, ints(0, 0, 0), ints(2, 3, 9)], {}, "dimension 2"),
    ("SplitD", [X], {"split_dim": 0, "num_split": 3}, "equal parts"),
])
def test_shapes_that_do_not_fit_are_named(ge, kind, inputs, attributes, says):
    with pytest.raises(AssertionError, match=says):
        ge.run(kind, inputs, attributes, outputs=3 if kind == "SplitD" else 1)

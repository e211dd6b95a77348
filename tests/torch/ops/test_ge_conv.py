# SPDX-License-Identifier: Apache-2.0
"""GE convolution, pooling and resampling, against plain torch: the shape that the library tells, then the values."""

import pytest
import torch
import torch.nn.functional as F

NHWC, HWCN = 1, 16


def values(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def ints(*numbers):
    return torch.tensor(list(numbers), dtype=torch.int32)


def last(x):
    """NCHW (or NCDHW) to NHWC (NDHWC)."""
    return x.movedim(1, -1).contiguous()


X, W, B = values(2, 4, 7, 6), values(8, 2, 3, 2, seed=2), values(8, seed=3)
X3, W3 = values(1, 2, 5, 6, 4), values(3, 2, 2, 3, 2, seed=2)
CONV = {"strides": [1, 1, 2, 1], "pads": [1, 1, 2, 2], "dilations": [1, 1, 1, 2], "groups": 2, "data_format": "NCHW"}
CONV_LAST = {"strides": [1, 2, 1, 1], "pads": [1, 1, 2, 2], "dilations": [1, 1, 2, 1], "groups": 2}
CONV3 = {"strides": [1, 1, 1, 2, 1], "pads": [0, 0, 1, 1, 0, 0], "dilations": [1, 1, 1, 1, 1], "data_format": "NCDHW"}


def conv(x, w, b=None):
    return F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2)


def conv3(x, w):
    return F.conv3d(x, w, stride=(1, 2, 1), padding=(0, 1, 0))


def gradients(function, *inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    out = function(*inputs)
    grad = values(*out.shape, seed=9)
    return grad, torch.autograd.grad(out, inputs, grad)


GRAD, (DX, DW) = gradients(conv, X, W)
GRAD3, (DX3, DW3) = gradients(conv3, X3, W3)
UNEVEN = {"strides": [1, 1, 1, 1], "pads": [0, 1, 2, 0], "data_format": "NCHW"}
TRANSPOSED = {"strides": [1, 1, 2, 2], "pads": [1, 1, 0, 0], "dilations": [1, 1, 1, 1], "groups": 1, "data_format": "NCHW", "output_padding": [0, 0, 1, 0]}
WT = values(4, 5, 3, 3, seed=4)
YT = F.conv_transpose2d(X, WT, None, stride=2, padding=(1, 0), output_padding=(1, 0))
DEPTH = values(8, 1, 3, 3, seed=5)
POOL = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "pads": [1, 1, 1, 1]}


def avg_grad(x, **how):
    return gradients(lambda t: F.avg_pool2d(t, (3, 2), (2, 2), (1, 1), **how), x)


AVG_GRAD, (AVG_DX,) = avg_grad(X, count_include_pad=False)
INDEXED = F.max_pool2d(X, 3, 2, 1, return_indices=True)
INDEXED_GRAD, (INDEXED_DX,) = gradients(lambda t: F.max_pool2d(t, 3, 2, 1), X)
INDEXED3 = F.max_pool3d(X3, 2, 2, return_indices=True)
ADAPTIVE_GRAD, (ADAPTIVE_DX,) = gradients(lambda t: F.adaptive_avg_pool2d(t, (3, 2)), X)
GRID = values(2, 3, 5, 2, seed=6).clamp(-1.2, 1.2)
GRID3 = values(1, 2, 3, 2, 3, seed=6).clamp(-1.2, 1.2)
SAMPLE_GRAD, SAMPLE_DS = gradients(lambda x, g: F.grid_sample(x, g, align_corners=False), X, GRID)
NEAREST_GRAD, (NEAREST_DX,) = gradients(lambda t: F.interpolate(t, (9, 5)), X)
LINEAR_GRAD, (LINEAR_DX,) = gradients(lambda t: F.interpolate(t, (9, 5), mode="bilinear"), X)


def same_pool(x, pool):
    """SAME for windows of 3 x 2 at strides of 2: 7 needs one before and one after, 6 nothing."""
    return pool(F.pad(x, (0, 0, 1, 1), value=-torch.inf))


CASES = [
    ("Conv2D", [X, W], CONV, conv(X, W)),
    ("Conv2D", [X, W, B], CONV, conv(X, W, B)),
    ("Conv2D", [last(X), last(W), B], CONV_LAST, last(conv(X, W, B))),
    ("Conv2D", [X.half(), W.half()], CONV, conv(X.half().float(), W.half().float()).half()),
    ("Conv2D", [X, values(3, 4, 2, 2, seed=7)], UNEVEN, F.conv2d(F.pad(X, (2, 0, 0, 1)), values(3, 4, 2, 2, seed=7))),
    ("Conv3D", [X3, W3], CONV3, conv3(X3, W3)),
    ("Conv2DBackpropInput", [ints(*X.shape), W, GRAD], CONV, DX),
    ("Conv2DBackpropInputD", [W, GRAD], {**CONV, "input_size": list(X.shape)}, DX),
    ("Conv2DBackpropFilter", [X, ints(*W.shape), GRAD], CONV, DW),
    ("Conv2DBackpropFilterD", [X, GRAD], {**CONV, "filter_size": list(W.shape)}, DW),
    ("Conv3DBackpropInput", [ints(*X3.shape), W3, GRAD3], CONV3, DX3),
    ("Conv3DBackpropFilter", [X3, ints(*W3.shape), GRAD3], CONV3, DW3),
    ("Conv2DTranspose", [ints(*YT.shape), X, WT], TRANSPOSED, YT),
    ("Conv2DTranspose", [ints(*YT.shape), X, WT, B[:5]], TRANSPOSED, YT + B[:5].view(1, 5, 1, 1)),
    ("Conv2DTransposeD", [X, WT], {**TRANSPOSED, "input_size": list(YT.shape)}, YT),
    ("Conv3DTranspose", [ints(1, 2, 6, 7, 5), values(1, 3, 5, 5, 4, seed=8), W3],
     {"strides": [1] * 5, "pads": [0] * 6, "data_format": "NCDHW"}, F.conv_transpose3d(values(1, 3, 5, 5, 4, seed=8), W3)),
    ("DepthwiseConv2D", [X, DEPTH], {"strides": [1] * 4, "pads": [1] * 4, "data_format": "NCHW"}, F.conv2d(X, DEPTH, padding=1, groups=4)),
    ("AvgPoolV2", [X], POOL, F.avg_pool2d(X, (3, 2), (2, 2), (1, 1), count_include_pad=False)),
    ("AvgPoolV2", [X], {**POOL, "exclusive": False, "ceil_mode": True}, F.avg_pool2d(X, (3, 2), (2, 2), (1, 1), ceil_mode=True)),
    ("AvgPoolV2", [X], {**POOL, "divisor_override": 5}, F.avg_pool2d(X, (3, 2), (2, 2), (1, 1), divisor_override=5)),
    ("AvgPoolV2", [X], {**POOL, "global_pooling": True}, X.mean((2, 3), keepdim=True)),
    ("AvgPoolV2", [X], {**POOL, "pads": [2, 0, 0, 0], "exclusive": False}, F.avg_pool2d(F.pad(X, (0, 0, 2, 0)), (3, 2), (2, 2))),
    ("AvgPool", [last(X)], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}, last(F.avg_pool2d(X, 2))),
    ("AvgPoolV2Grad", [ints(*X.shape), AVG_GRAD], POOL, AVG_DX),
    ("MaxPool", [last(X)], {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}, last(same_pool(X, lambda t: F.max_pool2d(t, (3, 2), 2)))),
    ("MaxPoolV3", [X], {**POOL, "ceil_mode": True}, F.max_pool2d(X, (3, 2), 2, 1, ceil_mode=True)),
    ("MaxPoolGrad", [X, F.max_pool2d(X, 2), values(2, 4, 3, 3, seed=3)],
     {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding": "VALID", "data_format": "NCHW"},
     torch.autograd.functional.vjp(lambda t: F.max_pool2d(t, 2), X, values(2, 4, 3, 3, seed=3))[1]),
    ("MaxPoolWithArgmaxV3", [X], {"ksize": [3, 3], "strides": [2, 2], "pads": [1, 1]}, (INDEXED[0], INDEXED[1].int())),
    ("MaxPoolGradWithArgmaxV3", [X, INDEXED_GRAD, INDEXED[1].int()], {"ksize": [3, 3], "strides": [2, 2], "pads": [1, 1]}, INDEXED_DX),
    ("MaxPool3DWithArgmaxV2", [X3], {"ksize": [2] * 3, "strides": [2] * 3, "pads": [0] * 3}, (INDEXED3[0], INDEXED3[1].int())),
    ("AvgPool3D", [X3], {"ksize": [1, 1, 2, 2, 2], "strides": [1, 1, 2, 2, 2], "pads": [0, 0, 1, 1, 0, 0], "data_format": "NCDHW"},
     F.avg_pool3d(X3, 2, 2, (0, 1, 0))),
    ("AdaptiveAvgPool2d", [X], {"output_size": [3, 2]}, F.adaptive_avg_pool2d(X, (3, 2))),
    ("AdaptiveAvgPool2dGrad", [ADAPTIVE_GRAD], {"orig_input_shape": list(X.shape)}, ADAPTIVE_DX),
    ("ResizeNearestNeighborV2", [X, ints(9, 5)], {}, F.interpolate(X, (9, 5))),
    ("ResizeNearestNeighborV2", [X, ints(9, 5)], {"half_pixel_centers": True}, F.interpolate(X, (9, 5), mode="nearest-exact")),
    ("ResizeNearestNeighborV2Grad", [NEAREST_GRAD, ints(7, 6)], {}, NEAREST_DX),
    ("ResizeBilinearV2", [X, ints(9, 5)], {"half_pixel_centers": True}, F.interpolate(X, (9, 5), mode="bilinear")),
    ("ResizeBilinearV2", [X, ints(9, 5)], {"align_corners": True}, F.interpolate(X, (9, 5), mode="bilinear", align_corners=True)),
    ("ResizeBilinearV2Grad", [LINEAR_GRAD, X], {"half_pixel_centers": True}, LINEAR_DX),
    ("GridSampler2D", [X, GRID], {"padding_mode": "border"}, F.grid_sample(X, GRID, padding_mode="border", align_corners=False)),
    ("GridSampler2D", [X, GRID], {"interpolation_mode": "nearest", "align_corners": True}, F.grid_sample(X, GRID, mode="nearest", align_corners=True)),
    ("GridSampler2DGrad", [SAMPLE_GRAD, X, GRID], {}, SAMPLE_DS),
    ("GridSampler3D", [X3, GRID3], {}, F.grid_sample(X3, GRID3, align_corners=False)),
]


@pytest.mark.parametrize("kind, inputs, attributes, want", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_equals_plain_torch(ge, kind, inputs, attributes, want):
    ge.check(kind, inputs, attributes, want)


def test_a_filter_may_have_a_format_of_its_own(ge):
    """TensorFlow's graphs have NHWC data and HWIO filters."""
    w = values(8, 4, 3, 2, seed=2)
    ge.check("Conv2D", [last(X), w.permute(2, 3, 1, 0).contiguous()], {"strides": [1] * 4, "pads": [0] * 4}, last(F.conv2d(X, w)),
             formats={0: NHWC, 1: HWCN})


def test_the_mask_of_a_max_pool_leads_its_gradient(ge):
    how = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "pads": [1, 1, 1, 1]}
    y, mask = ge.run("MaxPoolWithArgmaxV1", [X], how, outputs=2)
    torch.testing.assert_close(y, INDEXED[0])
    ge.check("MaxPoolGradWithArgmaxV1", [X, INDEXED_GRAD, mask], how, INDEXED_DX)


def test_a_window_that_does_not_fit_is_refused_by_name(ge):
    with pytest.raises(AssertionError, match=r"MaxPoolV3: .*window of 9 does not fit in 7"):
        ge.run("MaxPoolV3", [X], {"ksize": [1, 1, 9, 9], "strides": [1] * 4})

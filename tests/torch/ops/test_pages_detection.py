# SPDX-License-Identifier: Apache-2.0
"""Boxes, regions and sampled features, by the formulas of their operators' pages."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import drawing, near, refused, D

SEED, values, whole = drawing(53)


def bilinear(plane, y, x):
    """Of [C, H, W]; ONNX's and torchvision's: nothing beyond one pixel outside, the edge inside of that."""
    height, width = plane.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return torch.zeros(plane.shape[0], 4).double()
    y, x = max(y, 0.0), max(x, 0.0)
    y0, x0 = min(int(y), height - 1), min(int(x), width - 1)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    dy, dx = (0 if y0 == height - 1 else y - y0), (0 if x0 == width - 1 else x - x0)
    return torch.stack((plane[:, y0, x0] * (1 - dy) * (1 - dx), plane[:, y0, x1] * (1 - dy) * dx, plane[:, y1, x0] * dy * (1 - dx), plane[:, y1, x1] * dy * dx), 1)


def roi_align(x, rois, batches, height, width, samples, scale, half, most=False):
    out = torch.zeros(len(rois), x.shape[1], height, width).double()
    for r, (roi, batch) in enumerate(zip(D(rois).tolist(), batches)):
        shift = 0.5 if half else 0.0
        x0, y0, x1, y1 = (one * scale - shift for one in roi)
        w, h = (x1 - x0, y1 - y0) if half else (max(x1 - x0, 1), max(y1 - y0, 1))
        bw, bh = w / width, h / height
        nx, ny = (samples or math.ceil(bw)), (samples or math.ceil(bh))
        for i in range(height):
            for j in range(width):
                points = torch.cat([bilinear(D(x[batch]), y0 + (i + (a + 0.5) / ny) * bh, x0 + (j + (b + 0.5) / nx) * bw) for a in range(ny) for b in range(nx)], 1)
                out[r, :, i, j] = points.amax(1) if most else points.sum(1) / (nx * ny)
    return out


ROIS = torch.tensor([[0.5, 1.0, 9.0, 8.0], [2.0, 0.0, 15.5, 12.0], [3.0, 4.0, 3.5, 4.25]])


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("samples", [0, 2])
def test_roi_align_as_onnx_has_it(aclnn, mode, samples):
    x, batches, out = values(2, 3, 7, 9), torch.tensor([1, 0, 1], dtype=torch.int32), room(3, 3, 2, 3)
    aclnn.run("aclnnRoiAlign", x, ROIS, batches, mode, 2, 3, samples, 0.5, out)
    near(out, roi_align(x, ROIS, batches, 2, 3, samples, 0.5, False, mode == "max"), 1e-4)
    refused(aclnn, "aclnnRoiAlign", [x, ROIS, batches, "min", 2, 3, samples, 0.5, out], "avg or max")


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("samples", [0, 2])
def test_roi_align_as_torchvision_has_it(aclnn, aligned, samples):
    x, out = values(2, 3, 7, 9), room(3, 3, 2, 3)
    boxes = torch.cat((torch.tensor([[1.0], [0.0], [1.0]]), ROIS), 1)
    aclnn.run("aclnnRoiAlignV2", x, boxes, 2, 3, 0.5, samples, aligned, out)
    near(out, roi_align(x, ROIS, [1, 0, 1], 2, 3, samples, 0.5, aligned), 1e-4)
    dy, dx = values(3, 3, 2, 3), room(2, 3, 7, 9)
    aclnn.run("aclnnRoiAlignV2Backward", dy, boxes, [2, 3, 7, 9], 2, 3, 0.5, samples, aligned, dx)
    # The transpose of the forward: <forward(z), dy> = <z, dx> for any z.
    z = values(2, 3, 7, 9)
    near((roi_align(z, ROIS, [1, 0, 1], 2, 3, samples, 0.5, aligned) * D(dy)).sum(), (D(z) * D(dx)).sum(), 1e-4)


def test_roi_pooling_with_the_places_of_the_largest(aclnn):
    x, out, place = values(2, 3, 7, 9), room(4, 3, 2, 3), room(4, 3, 2, 3, dtype=torch.int32)
    rois = torch.tensor([[1.0, 1.0, 2.0, 9.0, 8.0], [0.0, 0.0, 0.0, 15.0, 12.0], [0.0, 30.0, 30.0, 34.0, 35.0], [1.0, 5.0, 5.0, 3.0, 3.0]])
    aclnn.run("aclnnRoiPoolingWithArgMax", x, rois, 2, 3, 0.5, 0.25, out, place)
    want, wanted = torch.zeros_like(out).double(), torch.full_like(place, -1)
    for r, (batch, x1, y1, x2, y2) in enumerate(rois.tolist()):
        left, top, wide, high = x1 * 0.25, y1 * 0.5, (x2 + 1 - x1) * 0.25, (y2 + 1 - y1) * 0.5
        if wide <= 0 or high <= 0:
            continue
        clip = lambda at, size: min(max(at, 0), size)
        for i in range(2):
            for j in range(3):
                h1, h2 = clip(math.floor(i * high / 2 + top), 7), clip(math.ceil((i + 1) * high / 2 + top), 7)
                w1, w2 = clip(math.floor(j * wide / 3 + left), 9), clip(math.ceil((j + 1) * wide / 3 + left), 9)
                if h2 <= h1 or w2 <= w1:
                    continue
                part = x[int(batch), :, h1:h2, w1:w2]
                want[r, :, i, j] = part.flatten(1).amax(1)
                first = part.flatten(1).argmax(1)
                wanted[r, :, i, j] = ((first // (w2 - w1) + h1) * 9 + first % (w2 - w1) + w1).int()
    near(out, want)
    assert torch.equal(place, wanted) and (wanted == -1).any() and (wanted > 0).any()


@pytest.mark.parametrize("center", [0, 1])
def test_boxes_that_cover_a_better_one_are_left_out(aclnn, center):
    corners = torch.rand(2, 12, 2, generator=SEED)
    boxes = torch.cat((corners, corners + torch.rand(2, 12, 2, generator=SEED) * 0.5 + 0.1), -1)  # y1 x1 y2 x2
    scores = torch.rand(2, 3, 12, generator=SEED)
    given = torch.stack(((boxes[..., 1] + boxes[..., 3]) / 2, (boxes[..., 0] + boxes[..., 2]) / 2, boxes[..., 3] - boxes[..., 1], boxes[..., 2] - boxes[..., 0]), -1) \
        if center else boxes
    def iou(a, b):
        high, wide = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        inner = max(high, 0) * max(wide, 0)
        return inner / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inner)
    want = []
    for batch in range(2):
        for kind in range(3):
            kept = []
            for place in scores[batch, kind].argsort(descending=True).tolist():
                box = boxes[batch, place].tolist()
                if scores[batch, kind, place] > 0.2 and len(kept) < 4 and all(iou(box, boxes[batch, one].tolist()) <= 0.3 for one in kept):
                    kept.append(place)
            want += [[batch, kind, place] for place in kept]
    out = room(30, 3, dtype=torch.int32)
    aclnn.run("aclnnNonMaxSuppression", given, scores, [4], [0.3], [0.2], center, out)
    assert out.tolist() == want + [[-1, -1, -1]] * (30 - len(want))
    refused(aclnn, "aclnnNonMaxSuppression", [given, scores, [4], [1.5], [0.2], center, out], "iouThreshold is 1.5")


def deformable(value, sizes, starts, location, weight):
    """The page's formula, so that torch's own differentiation makes the gradients."""
    batches, queries, heads = location.shape[:3]
    rows = torch.zeros(batches, queries, heads, value.shape[-1]).double()
    b = torch.arange(batches).view(-1, 1, 1, 1)
    n = torch.arange(heads).view(1, 1, -1, 1)
    for level, ((height, width), start) in enumerate(zip(sizes, starts)):
        x, y = location[:, :, :, level, :, 0] * width - 0.5, location[:, :, :, level, :, 1] * height - 0.5
        x0, y0 = x.detach().floor(), y.detach().floor()
        for down in (0, 1):
            for over in (0, 1):
                share = (1 - (y - y0 - down).abs()) * (1 - (x - x0 - over).abs())
                inside = (y0 + down >= 0) & (y0 + down < height) & (x0 + over >= 0) & (x0 + over < width)
                place = start + (y0 + down).clamp(0, height - 1).long() * width + (x0 + over).clamp(0, width - 1).long()
                rows = rows + ((share * inside * weight[:, :, :, level]).unsqueeze(-1) * value[b, place, n]).sum(3)
    return rows.flatten(2)


@pytest.mark.parametrize("dtype, tight", [(torch.float32, 1e-4), (torch.float16, 5e-3)])
def test_deformable_attention_over_several_pictures(aclnn, dtype, tight):
    sizes, starts = [(4, 6), (2, 3)], [0, 24]
    value, weight = values(2, 30, 3, 8, dtype=dtype), torch.rand(2, 5, 3, 2, 4, generator=SEED).to(dtype)
    location = (torch.rand(2, 5, 3, 2, 4, 2, generator=SEED) * 1.3 - 0.15).to(dtype)
    leaves = [D(one).clone().requires_grad_() for one in (value, location, weight)]
    want = deformable(leaves[0], sizes, starts, leaves[1], leaves[2])
    out, dy = room(2, 5, 24, dtype=dtype), values(2, 5, 24, dtype=dtype)
    where = (torch.tensor(sizes, dtype=torch.int32), torch.tensor(starts, dtype=torch.int32))
    aclnn.run("aclnnMultiScaleDeformableAttnFunction", value, *where, location, weight, out)
    near(out, want.detach(), tight)
    want.backward(D(dy))
    grads = [room(*one.shape, dtype=dtype) for one in (value, location, weight)]
    aclnn.run("aclnnMultiScaleDeformableAttentionGrad", value, *where, location, weight, dy, *grads)
    for got, leaf in zip(grads, leaves):
        near(got, leaf.grad, tight * 4)
    refused(aclnn, "aclnnMultiScaleDeformableAttnFunction", [value, where[0], torch.tensor([0, 25], dtype=torch.int32), location, weight, out], "there are 30")


@pytest.mark.parametrize("dims", [3, 4])
def test_gradients_of_three_neighbours_are_added(aclnn, dims):
    grad, weight, index = values(2, 3, 5), torch.rand(2, 5, 3, generator=SEED), whole(0, 4, 2, 5, 3, dtype=torch.int32)
    want = torch.zeros(2, 3, 4).double()
    for b in range(2):
        for n in range(5):
            for i in range(3):
                want[b, :, index[b, n, i]] += D(grad[b, :, n]) * D(weight[b, n, i])
    tail = (1,) * (dims - 3)
    out = room(2, 3, 4, *tail)
    aclnn.run("aclnnThreeInterpolateBackward", grad.view(2, 3, 5, *tail), index, weight, 4, out)
    near(out.view(2, 3, 4), want)
    refused(aclnn, "aclnnThreeInterpolateBackward", [grad.view(2, 3, 5, *tail), index + 1, weight, 4, out], "idx has places")

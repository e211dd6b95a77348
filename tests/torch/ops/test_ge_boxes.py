# SPDX-License-Identifier: Apache-2.0
"""Boxes of detectors at the GE door, against the values that torch_npu's own pages show and loops in plain Python."""

import pytest
import torch
import torch_npu

ANCHORS, BOXES = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]]), torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]])


def test_boxes_as_offsets():
    got = torch_npu.npu_bounding_box_encode(ANCHORS.npu(), BOXES.npu(), 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2).cpu()
    torch.testing.assert_close(got, torch.tensor([[13.3333, 13.3333, 0, 0], [13.3333, 6.6667, 0, -5.4931]]), rtol=1e-4, atol=1e-4)


def test_offsets_as_boxes():
    got = torch_npu.npu_bounding_box_decode(ANCHORS.npu(), BOXES.npu(), 0, 0, 0, 0, 1, 1, 1, 1, (10, 10), 0.1).cpu()
    torch.testing.assert_close(got, torch.tensor([[2.5, 6.5, 9, 9], [9.0, 9, 9, 9]]), rtol=1e-4, atol=1e-4)


def test_there_and_back(ge):
    generator = torch.Generator().manual_seed(3)
    low = torch.rand(20, 2, generator=generator) * 50
    boxes = torch.cat([low, low + 1 + torch.rand(20, 2, generator=generator) * 30], 1)
    attributes = {"means": [0.1, -0.1, 0.2, 0.0], "stds": [0.5, 0.5, 0.25, 0.25]}
    deltas = ge.run("BoundingBoxEncode", [boxes.flip(0), boxes], attributes)[0]
    back = ge.run("BoundingBoxDecode", [boxes.flip(0), deltas], {**attributes, "max_shape": [200, 300], "wh_ratio_clip": 0.001})[0]
    torch.testing.assert_close(back, boxes, rtol=1e-4, atol=1e-3)


def test_cells_that_answer(ge):
    boxes = torch.tensor([[0.0, 0, 4, 4], [10, 2, 12, 6], [100, 100, 120, 120]])
    want = torch.zeros(3, 4, 2, dtype=torch.uint8)
    for x, y in ((2.0, 2.0), (11.0, 4.0)):
        if int(y // 4) < 3 and int(x // 3) < 4:
            want[int(y // 4), int(x // 3)] = 1
    ge.check("AnchorResponseFlags", [boxes], {"featmap_size": [3, 4], "strides": [3, 4], "num_base_anchors": 2}, want.flatten())


@pytest.mark.parametrize("everything", [True, False])
def test_positive_anchors(ge, everything):
    generator = torch.Generator().manual_seed(4)
    overlaps = (torch.rand(3, 8, generator=generator) * 10).round() / 10
    flags = (torch.rand(8, generator=generator) < 0.6).to(torch.uint8)
    best, which = overlaps.max(0)
    of_box, anchor = overlaps.max(1)
    start = torch.full((8,), -1.0)
    want = start.clone()
    for a in range(8):
        if best[a] > 0.7 and flags[a]:
            want[a] = which[a] + 1
    for box in range(3):
        if of_box[box] > 0.3:
            for a in range(8) if everything else [int(anchor[box])]:
                if flags[a] and overlaps[box, a] == of_box[box]:
                    want[a] = box + 1
    ge.check("GridAssignPositive", [start, overlaps, flags, best, which.int(), of_box, anchor.int(), torch.tensor([3], dtype=torch.int32)],
             {"pos_iou_thr": 0.7, "min_pos_iou": 0.3, "gt_max_assign_all": everything}, want)


def test_a_mask_of_bytes(ge):
    x, mask = torch.arange(6.0).view(2, 3), torch.tensor([[1, 0, 1], [0, 1, 1]], dtype=torch.uint8)
    ge.check("DropOutDoMaskV3", [x, mask, torch.tensor([0.5])], {}, x * mask / 0.5)


def boxes_by_class(boxes, scores, window, valid, least, shared, most_each, most, relative):
    """What BatchMultiClassNonMaxSuppression's page says, one picture and class after the other."""
    batch, count, classes = scores.shape
    found = [torch.zeros(batch, most, 4), torch.zeros(batch, most), torch.zeros(batch, most), torch.zeros(batch, dtype=torch.int32)]
    for b in range(batch):
        kept = []
        for kind in range(classes):
            own = boxes[b, :, kind if boxes.size(2) > 1 else 0].clone()
            if window is not None:
                low, high = window[b, :2].repeat(2), window[b, 2:].repeat(2)
                own = own.clamp(low, high)
                own = (own - low) / (high - low) if relative else own
            chosen = []
            for i in sorted(range(count if valid is None else int(valid[b])), key=lambda i: -float(scores[b, i, kind])):
                if float(scores[b, i, kind]) <= least or len(chosen) == most_each:
                    break
                if all(overlap(own[i], own[j]) <= shared for j in chosen):
                    chosen.append(i)
            kept += [(float(scores[b, i, kind]), kind, own[i]) for i in chosen]
        kept.sort(key=lambda one: -one[0])
        found[3][b] = min(len(kept), most)
        for place, (score, kind, box) in enumerate(kept[:most]):
            found[0][b, place], found[1][b, place], found[2][b, place] = box, score, kind
    return found


def overlap(a, b):
    def area(box):
        return max(float(box[2] - box[0]), 0) * max(float(box[3] - box[1]), 0)

    both = area(torch.cat([torch.maximum(a[:2], b[:2]), torch.minimum(a[2:], b[2:])]))
    return both / max(area(a) + area(b) - both, 1e-12)


@pytest.mark.parametrize("relative", [None, False, True])
@pytest.mark.parametrize("kinds", [1, 3])
def test_the_best_boxes_of_each_class(ge, kinds, relative):
    generator = torch.Generator().manual_seed(6)
    low = torch.rand(2, 12, kinds, 2, generator=generator) * 6
    boxes = torch.cat([low, low + 1 + torch.rand(2, 12, kinds, 2, generator=generator) * 4], 3)
    scores = torch.rand(2, 12, 3, generator=generator)
    window = None if relative is None else torch.tensor([[1.0, 2, 8, 9], [0, 0, 5, 6]])
    valid = torch.tensor([12, 7], dtype=torch.int32) if relative else None
    attributes = {"score_threshold": 0.2, "iou_threshold": 0.3, "max_size_per_class": 4, "max_total_size": 9, "change_coordinate_frame": bool(relative)}
    got = ge.run("BatchMultiClassNonMaxSuppression", [boxes, scores, window, valid], attributes, outputs=4)
    want = boxes_by_class(boxes, scores, window, valid, 0.2, 0.3, 4, 9, bool(relative))
    assert 0 < int(want[3].min()) <= 9
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)
    turned = ge.run("BatchMultiClassNonMaxSuppression", [boxes.permute(0, 2, 3, 1).contiguous(), scores, window, valid],
                    {**attributes, "transpose_box": True}, outputs=4)
    for one, other in zip(turned, want, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize("modulated", [True, False])
def test_points_of_a_deformable_convolution(ge, form, modulated):
    """Offset channels are all x, all y, all factors; each by group and by point of the kernel."""
    generator = torch.Generator().manual_seed(7)
    height, width, groups, kernel, stride, pad = 7, 8, 2, (3, 2), (2, 1), (1, 1, 0, 1)
    rows, columns = (height + 2 - 3) // stride[0] + 1, (width + 1 - 2) // stride[1] + 1
    x = torch.rand(1, 4, height, width, generator=generator)
    parts = torch.rand(1, 3 if modulated else 2, groups, 6, rows, columns, generator=generator) * 3 - 1
    want = torch.zeros(1, 4, rows * 3, columns * 2)

    def value(channel, row, column):
        inside = 0 <= row < height and 0 <= column < width
        return float(x[0, channel, row, column]) if inside else 0.0

    for channel in range(4):
        for row in range(rows):
            for column in range(columns):
                for point in range(6):
                    move = parts[0, :, channel // 2, point, row, column]
                    at_y = row * stride[0] - pad[0] + point // 2 + float(move[1])
                    at_x = column * stride[1] - pad[2] + point % 2 + float(move[0])
                    y0, x0 = int(at_y // 1), int(at_x // 1)
                    fy, fx = at_y - y0, at_x - x0
                    made = sum(value(channel, y0 + a, x0 + b) * (fy if a else 1 - fy) * (fx if b else 1 - fx) for a in (0, 1) for b in (0, 1))
                    want[0, channel, row * 3 + point // 2, column * 2 + point % 2] = made * (float(move[2]) if modulated else 1)
    offsets = parts.reshape(1, -1, rows, columns)
    last = form == "NHWC"
    turn = (lambda tensor: tensor.permute(0, 2, 3, 1).contiguous()) if last else (lambda tensor: tensor)
    got = ge.run("DeformableOffsets", [turn(x), turn(offsets)],
                 {"strides": [1, *stride, 1] if last else [1, 1, *stride], "pads": list(pad), "ksize": list(kernel), "data_format": form,
                  "deformable_groups": groups, "modulated": modulated})[0]
    torch.testing.assert_close(got, turn(want), rtol=1e-4, atol=1e-5)

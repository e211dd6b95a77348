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

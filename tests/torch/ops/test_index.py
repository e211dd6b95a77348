# SPDX-License-Identifier: Apache-2.0
"""torch_npu's own scatters, slices and masked softmaxes, and index lists that name nothing."""

import pytest
import torch
import torch.nn.functional as F

import torch_npu


def close(got, want):
    torch.testing.assert_close(got.cpu(), want)


def put_blocks(target, starts, blocks):
    target = target.clone()
    for row, start in enumerate(starts.tolist()):
        target[row, :, start:start + blocks.shape[2]] = blocks[row]
    return target


def test_scatter_update():
    target, starts, blocks = torch.randn(2, 3, 6, 4), torch.tensor([1, 3]), torch.randn(2, 3, 2, 4)
    want = put_blocks(target, starts, blocks)
    close(torch_npu.scatter_update(target.npu(), starts.npu(), blocks.npu(), -2), want)
    close(torch_npu.scatter_update_(target.npu(), starts.npu(), blocks.npu(), 2), want)


def test_scatter_list_skips_what_the_mask_says():
    targets, starts, blocks = torch.randn(2, 3, 6, 4), torch.tensor([1, 3]), torch.randn(2, 3, 2, 4)
    want = torch.stack([put_blocks(targets, starts, blocks)[0], targets[1]])
    got = torch_npu.npu_scatter_list(list(targets.npu().unbind()), starts.npu(), blocks.npu(),
                                     torch.tensor([1, 0], dtype=torch.uint8).npu(), "update", -2)
    close(torch.stack(got), want)


def test_quant_scatter():
    target = torch.randint(-5, 5, (2, 3, 6, 32), dtype=torch.int8)
    starts, blocks = torch.tensor([1, 3], dtype=torch.int32), torch.randn(2, 3, 2, 32).bfloat16()
    scales, zeros = torch.rand(32).bfloat16() + 0.1, torch.randn(32).bfloat16()
    quantised = torch.clamp(torch.round(blocks.float() / scales.float() + zeros.float()), -128, 127).to(torch.int8)
    got = torch_npu.npu_quant_scatter(target.npu(), starts.npu(), blocks.npu(), scales.npu(), zeros.npu(), axis=-2,
                                      quant_axis=-1, reduce="update")
    close(got, put_blocks(target, starts, quantised))


def test_scatter_nd_update():
    target, places, updates = torch.randn(5, 6, 3), torch.tensor([[0, 1], [4, 5]]), torch.randn(2, 3)
    want = target.index_put((places[:, 0], places[:, 1]), updates)
    close(torch_npu.npu_scatter_nd_update(target.npu(), places.npu(), updates.npu()), want)


def test_slices_and_transposes():
    x = torch.randn(4, 6, 9)
    close(torch_npu.npu_indexing(x.npu(), [1, 0, 2], [3, 4, 8], [1, 2, 3]), x[1:3, 0:4:2, 2:8:3])
    close(torch_npu.npu_confusion_transpose(x.npu(), (1, 0, 2), (6, 36), True), x.permute(1, 0, 2).reshape(6, 36))
    close(torch_npu.npu_confusion_transpose(x.npu(), (1, 0, 2), (2, 12, 9), False), x.view(2, 12, 9).permute(1, 0, 2))


def test_tables():
    table, rows = torch.randn(6, 3), torch.tensor([[1, 2], [0, 5]])
    close(torch_npu.npu_gather_sparse_index(table.npu(), rows.npu()), table[rows])
    classes = torch.tensor([1, 2, 0, 4], dtype=torch.int32)
    close(torch_npu.npu_one_hot(classes.npu(), depth=5), F.one_hot(classes.long(), 5).float())


def test_format_cast_keeps_the_values():
    x = torch.randn(32, 64)
    cast = torch_npu.npu_format_cast(x.npu(), 29)
    close(cast, x)
    close(cast @ cast.t(), x @ x.t())


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
@pytest.mark.parametrize("index", [
    (torch.tensor([], dtype=torch.long),),
    (torch.zeros(4, dtype=torch.bool), torch.tensor([1])),
    (torch.zeros(4, dtype=torch.bool), slice(None), torch.tensor(1)),
    (slice(None), torch.tensor([0, 2])),
    (torch.tensor([0, 2]), slice(None), torch.tensor([1, 0])),
])
def test_index_put(dtype, index):
    want = (torch.randn(4, 5, 3) * 10).to(dtype)
    got = want.npu()
    got[tuple(part.npu() if isinstance(part, torch.Tensor) else part for part in index)] = 1
    want[index] = 1
    close(got, want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_masked_softmax(dtype):
    x = torch.randn(8, 3, 4, 4).to(dtype)
    mask = torch.rand(8, 1, 4, 4) > 0.7
    want = F.softmax((x.float() * 0.5).masked_fill(mask, -10000), -1).to(dtype)
    close(torch_npu.npu_scaled_masked_softmax(x.npu(), mask.npu(), 0.5, False), want)
    windows, bias = torch.randn(4, 4, 4).to(dtype), torch.randn(3, 4, 4).to(dtype)
    sums = x.float().view(2, 4, 3, 4, 4) * 0.5 + windows.float()[None, :, None] + bias.float()[None, None]
    close(torch_npu.npu_masked_softmax_with_rel_pos_bias(x.npu(), windows.npu(), bias.npu(), scale_value=0.5),
          F.softmax(sums, -1).view(x.shape).to(dtype))


def test_a_type_that_cannot_be_is_refused_at_once():
    whole_numbers = torch.arange(4).npu()
    with pytest.raises(RuntimeError, match=r"aclnnStd.*INT64"):
        torch.std(whole_numbers)
    close(whole_numbers, torch.arange(4))  # and the device goes on

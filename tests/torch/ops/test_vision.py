# SPDX-License-Identifier: Apache-2.0
"""Boxes, regions, products and losses that only torch_npu names, and what must hold for outputs lent to ATen."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu


def values(*shape, seed=3, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(got, want, **tolerance):
    torch.testing.assert_close(got.cpu(), want, **tolerance)


def test_roi_align_gives_the_averages_of_the_bins():
    image = torch.arange(1.0, 37).reshape(1, 1, 6, 6)
    rois = torch.tensor([[0, -2.0, -2.0, 22.0, 22.0]])
    got = torch_npu.npu_roi_align(image.npu(), rois.npu(), 0.25, 3, 3, 2, 0)
    close(got, torch.tensor([[[[4.5, 6.5, 8.5], [16.5, 18.5, 20.5], [28.5, 30.5, 32.5]]]]))


def test_roi_align_backward_is_the_transpose_of_the_forward():
    image, rois = values(2, 3, 9, 9), torch.tensor([[0, 1.0, 2.0, 20.0, 24.0], [1, 4.0, 0.0, 30.0, 17.0]])
    grad = values(2, 3, 4, 5, seed=9)
    y = torch_npu.npu_roi_align(image.npu(), rois.npu(), 0.25, 4, 5, 2, 0).cpu()
    dx = torch_npu.npu_roi_alignbk(grad.npu(), rois.npu(), [2, 3, 9, 9], 5, 4, 0.25, 2, 0).cpu()
    close((y * grad).sum(), (image * dx).sum(), rtol=1e-4, atol=1e-4)


def test_iou_has_a_row_for_each_truth():
    boxes = torch.tensor([[0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]], dtype=torch.float32)
    truths = torch.tensor([[0, 0, 10, 20], [10, 10, 20, 20]], dtype=torch.float32)
    got = torch_npu.npu_iou(boxes.npu(), truths.npu(), 0)
    close(got, torch.tensor([[0.49875, 0.0, 0.0], [0.0, 0.99602, 0.0]]), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_transposed_batch_product(dtype):
    a, b = values(4, 3, 8, dtype=dtype), values(4, 8, 5, seed=4, dtype=dtype)
    close(torch_npu.npu_transpose_batchmatmul(a.npu(), b.npu()), torch.bmm(a, b).transpose(0, 1))
    split = torch_npu.npu_transpose_batchmatmul(a.npu(), b.npu(), batch_split_factor=2)
    close(split, torch.bmm(a, b).transpose(0, 1).reshape(3, 2, 10).transpose(0, 1).contiguous())


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_and_its_gradient(reduction, smoothing):
    logits, target = values(6, 9), torch.tensor([0, 3, -100, 8, 2, 2])
    weight = values(9, seed=8).abs() if smoothing == 0 else None
    leaf = logits.clone().requires_grad_()
    want = F.cross_entropy(leaf, target, weight, reduction=reduction, label_smoothing=smoothing)
    grad = torch.ones_like(want) * 0.7
    device_weight = None if weight is None else weight.npu()
    loss, log_prob, _, _ = torch_npu.npu_cross_entropy_loss(logits.npu(), target.npu(), weight=device_weight, reduction=reduction,
                                                            label_smoothing=smoothing)
    close(loss.reshape(want.shape), want.detach())
    close(log_prob, F.log_softmax(logits, -1))
    got = torch_npu.npu_cross_entropy_loss_backward(grad.npu(), log_prob, target.npu(), weight=device_weight, reduction=reduction,
                                                    label_smoothing=smoothing)
    close(got, torch.autograd.grad(want, leaf, grad)[0])


def test_quantised_convolution_sums_exactly():
    x = torch.randint(-128, 128, (2, 16, 9, 9), generator=torch.Generator().manual_seed(0), dtype=torch.int8)
    w = torch.randint(-128, 128, (8, 16, 3, 3), generator=torch.Generator().manual_seed(1), dtype=torch.int8)
    scale, bias = torch.linspace(1e-4, 1e-3, 8), torch.arange(8, dtype=torch.int32) * 1000
    got = torch_npu.npu_quant_conv2d(x.npu(), w.npu(), scale.npu(), [1, 1], [1, 1], [1, 1], bias=bias.npu(),
                                     output_dtype=torch.float16)
    sums = F.conv2d(x.double(), w.double(), padding=1) + bias.reshape(1, -1, 1, 1)
    close(got, (sums.float() * scale.reshape(1, -1, 1, 1)).half())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("groups", [1, 64])
def test_gradients_of_equal_size_are_not_mixed_up(dtype, groups):
    """Input, weight and output have the same number of bytes, so each may be made in the memory of another."""
    x, w, b = values(64, 64, 8, 8, dtype=dtype), values(64, 64 // groups, 8, 8, seed=1, dtype=dtype), values(64, seed=2, dtype=dtype)
    on_cpu = [t.clone().requires_grad_() for t in (x, w, b)]
    on_npu = [t.npu().requires_grad_() for t in (x, w, b)]
    for leaves in (on_cpu, on_npu):
        F.conv2d(*leaves, padding=4, stride=9, groups=groups).square().sum().backward()
    for a, b in zip(on_npu, on_cpu):
        close(a.grad, b.grad, rtol=1e-3, atol=1e-2)


def test_indices_and_values_of_equal_size_are_not_mixed_up():
    x = values(4, 16, 32, 32, dtype=torch.float64)
    got, indices = F.adaptive_max_pool2d(x.npu(), (16, 16), return_indices=True)
    want, want_indices = F.adaptive_max_pool2d(x, (16, 16), return_indices=True)
    close(got, want)
    close(indices.long(), want_indices)


@pytest.mark.parametrize("kernel, stride, padding", [(3, 2, 1), (1, 1, 0), (1, 2, 0), ((2, 3), 1, 0)])
def test_the_mask_of_max_pooling_finds_the_maxima_again(kernel, stride, padding):
    x = values(2, 3, 17, 19)
    leaf, device = x.clone().requires_grad_(), x.npu().requires_grad_()
    for value in (leaf, device):
        F.max_pool2d(value, kernel, stride, padding).square().sum().backward()
    close(device.grad, leaf.grad)


def test_complex_products_are_refused_and_named():
    x = torch.randn(3, 3, dtype=torch.complex64).npu()
    with pytest.raises(RuntimeError, match="aclnnMm"):
        torch.mm(x, x).cpu()

# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: results and all gradients as on the CPU. The wheel takes three roads (aclnnLSTM, aclnnGRU, DynamicRNN)."""

import copy

import pytest
import torch
from torch import nn

import torch_npu  # noqa: F401

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def results_and_gradients(module, x, device):
    module = copy.deepcopy(module).to(device)
    x = x.to(device).requires_grad_()
    y, state = module(x)
    states = state if isinstance(state, tuple) else (state,)
    loss = y.square().sum() + sum((n * s.sin()).sum() for n, s in enumerate(states, 1))
    loss.backward()
    return [t.detach().cpu() for t in (y, *states, x.grad, *(p.grad for p in module.parameters()))]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_layers(kind, layers, bidirectional, batch_first, bias):
    torch.manual_seed(1)
    module = kind(3, 4, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional)
    x = torch.randn(5, 2, 3)
    for got, want in zip(results_and_gradients(module, x, "npu"), results_and_gradients(module, x, "cpu")):
        torch.testing.assert_close(got, want, **CLOSE)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_layers_that_do_not_train(kind):
    torch.manual_seed(3)
    module, x = kind(3, 4, 2).eval(), torch.randn(5, 2, 3)
    with torch.no_grad():
        torch.testing.assert_close(copy.deepcopy(module).to("npu")(x.to("npu"))[0].cpu(), module(x)[0], **CLOSE)


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_cells(kind):
    torch.manual_seed(2)
    cell, x, h, c = kind(3, 4), torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 4)

    def run(device):
        module = copy.deepcopy(cell).to(device)
        leaves = [t.clone().to(device).requires_grad_() for t in (x, h, c)]
        if kind is nn.LSTMCell:
            out = torch.cat(module(leaves[0], (leaves[1], leaves[2])))
        else:
            out = module(leaves[0], leaves[1])
            leaves.pop()
        out.square().sum().backward()
        return [t.detach().cpu() for t in (out, *(leaf.grad for leaf in leaves), *(p.grad for p in module.parameters()))]

    for got, want in zip(run("npu"), run("cpu")):
        torch.testing.assert_close(got, want, **CLOSE)


def gradient_inputs(**optional):
    """Of DynamicRNNGrad: two steps, a batch of one, three features, hidden size four; then seq_length, mask, wci, wcf, wco."""
    steps, features, hidden = (2, 1, 4), 3, 4
    states = [torch.rand(1, 1, hidden) for _ in range(2)]
    traces = [torch.rand(steps) for _ in range(2)]
    return [torch.rand(2, 1, features), torch.rand(features + hidden, 4 * hidden), torch.rand(4 * hidden), torch.rand(steps), *states, *traces,
            torch.rand(steps), torch.rand(1, hidden), torch.rand(1, hidden), *(torch.rand(steps) for _ in range(5)),
            None, *(optional.get(name) for name in ("mask", "wci", "wcf", "wco"))]


@pytest.mark.parametrize("name", ["mask", "wci", "wcf", "wco"])
def test_peepholes_and_masks_are_refused_unless_they_change_nothing(ge, name):
    zeros = torch.zeros(4, dtype=torch.uint8 if name == "mask" else torch.float32)
    ge.run("DynamicRNNGrad", gradient_inputs(**{name: zeros}), outputs=5)
    with pytest.raises(RuntimeError, match=f"{name} has elements that are not zero"):
        ge.run("DynamicRNNGrad", gradient_inputs(**{name: zeros + 1}), outputs=5)

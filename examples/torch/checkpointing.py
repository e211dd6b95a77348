# SPDX-License-Identifier: Apache-2.0
"""Gradient checkpointing: layers run again in the backward pass, so that their intermediate values need not be kept.

Dropout must drop the same values both times: the gradients are equal to those without checkpoints, to the last bit.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from common import arguments

LAYERS = 8


def make_layer():
    return nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Dropout(0.1), nn.Linear(1024, 256))


def run(layers, data, seed, checkpoints):
    """(loss, gradients, peak of device memory)"""
    npu = data.device.type == "npu"
    torch.manual_seed(seed)
    if npu:
        torch.npu.reset_peak_memory_stats()
    x = data
    for layer in layers:
        x = x + (checkpoint(layer, x, use_reentrant=False) if checkpoints else layer(x))
    loss = x.square().mean()
    loss.backward()
    gradients = [parameter.grad for parameter in layers.parameters()]
    layers.zero_grad(set_to_none=True)
    return loss.item(), gradients, torch.npu.max_memory_allocated() if npu else 0


def main():
    options = arguments(__doc__)
    layers = nn.ModuleList(make_layer() for _ in range(LAYERS)).to(options.device)
    data = torch.randn(1024, 256).to(options.device)
    loss, gradients, peak = run(layers, data, options.seed, checkpoints=False)
    again, same, lower = run(layers, data, options.seed, checkpoints=True)
    print(f"loss {loss:.6g} and with checkpoints {again:.6g} on {options.device}")
    print("equal gradients:", all(torch.equal(a, b) for a, b in zip(gradients, same)))
    if peak:
        print(f"peak of device memory {peak / 2**20:.0f} MiB, with checkpoints {lower / 2**20:.0f} MiB")
        print("less memory:", lower < peak)


if __name__ == "__main__":
    main()

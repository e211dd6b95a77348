# SPDX-License-Identifier: Apache-2.0
"""What the examples share: the device, how far two results are apart, and training that is compared with eager training."""

import copy

import torch
import torch_npu  # noqa: F401  registers the device; newer torch does so by itself
import torchair
from torch import nn

DEVICE = torch.device("npu:0")


def start(seed=0):
    torch.npu.set_device(DEVICE)
    torch.manual_seed(seed)


def backend(mode="max-autotune"):
    """max-autotune (torchair's default): the model becomes a GE graph. reduce-overhead: its calls are captured and replayed."""
    config = torchair.CompilerConfig()
    config.mode = mode
    return torchair.get_npu_backend(compiler_config=config)


def apart(one, other):
    """The largest difference, in parts of the largest value."""
    one, other = one.detach().cpu().float(), other.detach().cpu().float()
    assert one.shape == other.shape, f"shapes {tuple(one.shape)} and {tuple(other.shape)}"
    return ((one - other).abs().max() / other.abs().max().clamp(min=1e-6)).item()


def report(name, compiled, eager, cpu):
    print(f"{name}: shape {tuple(compiled.shape)}, difference to eager {apart(compiled, eager):.1e}, to the CPU {apart(compiled, cpu):.1e}", flush=True)


def train(model, compiled, device, optimizer, batch):
    """Five steps; the losses. optimizer(parameters) makes it, batch() gives inputs and labels."""
    torch.manual_seed(1)
    steps = optimizer(model.parameters())
    losses = []
    for _ in range(5):
        x, label = batch()
        loss = nn.functional.cross_entropy(compiled(x.to(device)), label.to(device))
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    return losses


def compare_training(reference, optimizer, batch):
    """The same model trained compiled, eager and on the CPU: a line of losses each."""
    eager, graphed = copy.deepcopy(reference).to(DEVICE), copy.deepcopy(reference).to(DEVICE)
    compiled = torch.compile(graphed, backend=backend(), dynamic=False)
    for name, model, called, device in (("compiled", graphed, compiled, DEVICE), ("eager", eager, eager, DEVICE),
                                        ("cpu", reference, reference, torch.device("cpu"))):
        losses = train(model, called, device, optimizer, batch)
        print(f"train {name}:", " ".join(f"{loss:.6f}" for loss in losses), flush=True)

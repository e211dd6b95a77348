# SPDX-License-Identifier: Apache-2.0
"""What the examples share: the device, and how far two results are apart."""

import torch
import torch_npu  # noqa: F401  registers the device; newer torch does so by itself
import torchair

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

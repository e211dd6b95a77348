# SPDX-License-Identifier: Apache-2.0
"""What the examples share: the --device option, and weights and data that are the same on every device."""

import argparse

import torch


def arguments(text, npu_only="", **options):
    """Reads --device, --seed and an example's own options, each given as name=(default, help).

    npu_only: why there is nothing to see on a CPU.
    """
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--device", default="npu", help="npu (default), npu:1, ... or cpu")
    parser.add_argument("--seed", type=int, default=0)
    for name, (default, meaning) in options.items():
        flag = "--" + name.replace("_", "-")
        if default is False:
            parser.add_argument(flag, action="store_true", help=meaning)
        else:
            parser.add_argument(flag, type=type(default), default=default, help=f"{meaning} (default {default})")
    found = parser.parse_args()
    found.device = torch.device(found.device)
    if npu_only and found.device.type != "npu":
        parser.error(f"--device {found.device}: {npu_only}")
    if found.device.type == "npu":
        import torch_npu  # noqa: F401  registers the device; newer torch does so by itself

        torch.npu.set_device(found.device)
    torch.manual_seed(found.seed)  # seeds the CPU and every NPU
    return found


def count_parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


def synchronize(device):
    if device.type == "npu":
        torch.npu.synchronize(device)


def fit(model, data, target, steps):
    """Plain training on one batch; a line for each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(steps):
        loss = torch.nn.functional.mse_loss(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(number, loss)


def report(step, loss):
    """One line per step, with all the digits that a float32 has: a comparison between devices needs them."""
    print(f"step {step} loss {loss.item():.9g}", flush=True)

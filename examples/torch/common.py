# SPDX-License-Identifier: Apache-2.0
"""What the examples share: the --device option, and weights and data that are the same on every device."""

import argparse
import os

import torch
from torch import distributed


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


def join_ranks(options):
    """(device, rank, number of ranks) of this process, as torchrun has started it; alone without torchrun. Backend hccl on NPUs, gloo on a CPU."""
    for name, alone in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "0")):
        os.environ.setdefault(name, alone)
    device = options.device
    if device.type == "npu":
        device = torch.device("npu", int(os.environ.get("LOCAL_RANK", "0")))
        torch.npu.set_device(device)
    distributed.init_process_group("hccl" if device.type == "npu" else "gloo")
    return device, distributed.get_rank(), distributed.get_world_size()


def report_mean(step, loss, rank, world):
    """The mean of all ranks' losses, said by rank 0."""
    mean = loss.detach().clone()
    distributed.all_reduce(mean)
    if rank == 0:
        report(step, mean / world)


def batches(steps, rows, width):
    """The same data on every rank."""
    generator = torch.Generator().manual_seed(1)
    truth = torch.randn(width, 1, generator=generator)
    for _ in range(steps):
        data = torch.randn(rows, width, generator=generator)
        yield data, (data @ truth).tanh()

# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel: each rank trains on its part of every batch, and the losses are those of one process.

    ./millpond run --devices 2 -- torchrun --standalone --nproc-per-node 2 examples/torch/ddp.py

Started without torchrun it is one rank that trains on all of the data. Backend hccl on NPUs, gloo on a CPU.
"""

import os

import torch
from torch import distributed, nn

from common import arguments, report


def batches(steps, size):
    """The same data on every rank: each takes its rows."""
    generator = torch.Generator().manual_seed(1)
    truth = torch.randn(16, 1, generator=generator)
    for _ in range(steps):
        data = torch.randn(size, 16, generator=generator)
        yield data, (data @ truth).tanh()


def main():
    options = arguments(__doc__, steps=(10, "training steps"), batch=(64, "rows of a batch, for all ranks together"))
    for name, alone in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "0")):
        os.environ.setdefault(name, alone)
    device = options.device
    if device.type == "npu":
        device = torch.device("npu", int(os.environ.get("LOCAL_RANK", "0")))
        torch.npu.set_device(device)
    distributed.init_process_group("hccl" if device.type == "npu" else "gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()

    model = nn.Sequential(nn.Linear(16, 64), nn.GELU("tanh"), nn.Linear(64, 64), nn.GELU("tanh"), nn.Linear(64, 1)).to(device)
    model = nn.parallel.DistributedDataParallel(model)  # gives every rank the weights of rank 0, and averages gradients
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for number, (data, target) in enumerate(batches(options.steps, options.batch)):
        data, target = data[rank::world].to(device), target[rank::world].to(device)
        loss = nn.functional.mse_loss(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        distributed.all_reduce(mean)
        if rank == 0:
            report(number, mean / world)
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    others = [torch.empty_like(weights) for _ in range(world)]
    distributed.all_gather(others, weights)
    if rank == 0:
        print(f"{world} ranks, equal weights: {all(torch.equal(other.cpu(), weights.cpu()) for other in others)}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel: each rank trains on its part of every batch, and the losses are those of one process.

    ./millpond run --devices 2 -- torchrun --standalone --nproc-per-node 2 examples/torch/ddp.py

Started without torchrun it is one rank that trains on all of the data. Backend hccl on NPUs, gloo on a CPU.
"""

import torch
from torch import distributed, nn

from common import arguments, batches, join_ranks, report_mean


def main():
    options = arguments(__doc__, steps=(10, "training steps"), batch=(64, "rows of a batch, for all ranks together"))
    device, rank, world = join_ranks(options)

    model = nn.Sequential(nn.Linear(16, 64), nn.GELU("tanh"), nn.Linear(64, 64), nn.GELU("tanh"), nn.Linear(64, 1)).to(device)
    model = nn.parallel.DistributedDataParallel(model)  # gives every rank the weights of rank 0, and averages gradients
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for number, (data, target) in enumerate(batches(options.steps, options.batch, 16)):
        data, target = data[rank::world].to(device), target[rank::world].to(device)
        loss = nn.functional.mse_loss(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report_mean(number, loss, rank, world)
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    others = [torch.empty_like(weights) for _ in range(world)]
    distributed.all_gather(others, weights)
    if rank == 0:
        print(f"{world} ranks, equal weights: {all(torch.equal(other.cpu(), weights.cpu()) for other in others)}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()

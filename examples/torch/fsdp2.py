# SPDX-License-Identifier: Apache-2.0
"""FSDP2 (fully_shard): every rank keeps a part of each weight, and the losses are those of one process.

    ./millpond run --devices 2 -- torchrun --standalone --nproc-per-node 2 examples/torch/fsdp2.py

Each layer's weights are gathered before it is used and given up afterwards; gradients are reduced to the rank that keeps the part. Started without
torchrun it is one rank that keeps everything. Backend hccl on NPUs, gloo on a CPU.
"""

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from common import arguments, batches, count_parameters, join_ranks, report_mean

WIDTH = 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x)), approximate="tanh"))


def main():
    options = arguments(__doc__, steps=(8, "training steps"), batch=(32, "rows of a batch, for all ranks together"))
    device, rank, world = join_ranks(options)

    model = nn.Sequential(*(Block() for _ in range(3)), nn.Linear(WIDTH, 1)).to(device)
    mesh = init_device_mesh(device.type, (world,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    kept = sum(parameter.to_local().numel() for parameter in model.parameters())
    print(f"rank {rank} keeps {kept:,} of {count_parameters(model):,} parameters", flush=True)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for number, (data, target) in enumerate(batches(options.steps, options.batch, WIDTH)):
        data, target = data[rank::world].to(device), target[rank::world].to(device)
        loss = nn.functional.mse_loss(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        report_mean(number, loss, rank, world)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()

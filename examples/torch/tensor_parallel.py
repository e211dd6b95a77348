# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism: the weights of each layer are divided among the ranks, all of which see the whole batch; the losses are those of one process.

    ./millpond run --devices 2 -- torchrun --standalone --nproc-per-node 2 examples/torch/tensor_parallel.py

The first product of a block is divided by columns, the second by rows, so a block needs one all-reduce. Attention is divided by heads. Started without
torchrun it is one rank. Backend hccl on NPUs, gloo on a CPU.
"""

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from common import arguments, batches, join_ranks, report

WIDTH, HEADS, WORDS = 32, 4, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        heads = [layer(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for layer in (self.query, self.key, self.value)]
        return self.out(nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


PLAN = {"attention.query": ColwiseParallel(), "attention.key": ColwiseParallel(), "attention.value": ColwiseParallel(),
        "attention.out": RowwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel()}


def main():
    options = arguments(__doc__, steps=(8, "training steps"), batch=(16, "rows of a batch"))
    device, rank, world = join_ranks(options)
    if HEADS % world:
        raise SystemExit(f"{HEADS} heads cannot be divided among {world} ranks")

    model = nn.Sequential(Block(), Block(), nn.Flatten(), nn.Linear(WORDS * WIDTH, 1)).to(device)
    mesh = init_device_mesh(device.type, (world,))
    for block in model[:2]:
        parallelize_module(block, mesh, PLAN)
    part = model[0].up.weight.to_local()
    print(f"rank {rank} has {part.shape[0]} of {4 * WIDTH} rows of a weight", flush=True)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    for number, (data, target) in enumerate(batches(options.steps, options.batch, WORDS * WIDTH)):
        data, target = data.unflatten(1, (WORDS, WIDTH)).to(device), target.to(device)
        loss = nn.functional.mse_loss(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            report(number, loss)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()

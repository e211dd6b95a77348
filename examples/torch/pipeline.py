# SPDX-License-Identifier: Apache-2.0
"""A pipeline: each rank has some of the layers, and parts of a batch follow each other through the ranks; the losses are those of one process.

    ./millpond run --devices 2 -- torchrun --standalone --nproc-per-node 2 examples/torch/pipeline.py

Activations go to the next rank and gradients to the one before by send and receive (torch.distributed.pipelining, one forward and one backward in turn).
Started without torchrun it is one rank with all layers. Backend hccl on NPUs, gloo on a CPU.
"""

import torch
from torch import distributed, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from common import arguments, batches, count_parameters, join_ranks, report

WIDTH, LAYERS = 32, 4


def main():
    options = arguments(__doc__, steps=(8, "training steps"), batch=(32, "rows of a batch"), parts=(8, "parts that a batch is cut into"))
    device, rank, world = join_ranks(options)
    if LAYERS % world:
        raise SystemExit(f"{LAYERS} layers cannot be divided among {world} ranks")

    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU("tanh")) for _ in range(LAYERS - 1)] + [nn.Linear(WIDTH, 1)]
    each = LAYERS // world
    model = nn.Sequential(*layers[rank * each:(rank + 1) * each]).to(device)  # every rank makes all layers, so that their first weights are those of one process
    print(f"rank {rank} has {count_parameters(model):,} of {sum(map(count_parameters, layers)):,} parameters", flush=True)

    stage = PipelineStage(model, rank, world, device)
    schedule = Schedule1F1B(stage, options.parts, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for number, (data, target) in enumerate(batches(options.steps, options.batch, WIDTH)):
        losses = []
        optimizer.zero_grad()
        inputs = (data.to(device),) if rank == 0 else ()
        if rank == world - 1:
            schedule.step(*inputs, target=target.to(device), losses=losses)
        else:
            schedule.step(*inputs)
        optimizer.step()
        if rank == world - 1:
            report(number, torch.stack(losses).mean())
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A process group of one rank: the collectives, and DistributedDataParallel. Backend hccl on an NPU, gloo on a CPU."""

import os
import socket

import torch
from torch import distributed, nn

from common import arguments, fit


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return str(probe.getsockname()[1])


def collectives(device):
    """Name and result of each; with one rank all of them give back what they got."""
    def fresh():
        return torch.arange(4.0, device=device)

    for name, operation in (("sum", distributed.ReduceOp.SUM), ("max", distributed.ReduceOp.MAX)):
        tensor = fresh()
        distributed.all_reduce(tensor, op=operation)
        yield f"all_reduce {name}", tensor
    tensor = fresh()
    distributed.broadcast(tensor, src=0)
    yield "broadcast", tensor
    gathered = [torch.zeros(4, device=device)]
    distributed.all_gather(gathered, fresh())
    yield "all_gather", gathered[0]
    tensor = torch.zeros(4, device=device)
    distributed.all_gather_into_tensor(tensor, fresh())
    yield "all_gather_into_tensor", tensor
    tensor = torch.zeros(4, device=device)
    distributed.reduce_scatter_tensor(tensor, fresh())
    yield "reduce_scatter_tensor", tensor
    if device.type == "npu":  # gloo has no all_to_all_single
        tensor = torch.zeros(4, device=device)
        distributed.all_to_all_single(tensor, fresh())
        yield "all_to_all_single", tensor
    tensor = fresh()
    work = distributed.all_reduce(tensor, async_op=True)
    work.wait()
    yield "all_reduce async", tensor


def main():
    options = arguments(__doc__, steps=(5, "training steps"))
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", free_port())
    backend = "hccl" if options.device.type == "npu" else "gloo"
    distributed.init_process_group(backend, rank=0, world_size=1)
    for name, tensor in collectives(options.device):
        print(f"{name}: {tensor.tolist()}")
    distributed.barrier()
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(options.device))
    fit(model, torch.randn(32, 8).to(options.device), torch.randn(32, 1).to(options.device), options.steps)
    distributed.destroy_process_group()
    print("process group closed")


if __name__ == "__main__":
    main()

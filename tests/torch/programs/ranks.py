# SPDX-License-Identifier: Apache-2.0
"""What the programs of several ranks share: what was wrong, and how a rank says so at its end."""

import os

import torch
import torch_npu  # noqa: F401
from torch import distributed

WRONG = []


def run(parts):
    """Each part is called with this rank's number and how many there are. Says "all good" when none has found anything wrong."""
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("hccl")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    for part in parts:
        part(rank, world)
    distributed.barrier()
    distributed.destroy_process_group()
    os.write(1, f"rank {rank}: {'; '.join(WRONG) or 'all good'}\n".encode())  # whole, whatever the other ranks print

# SPDX-License-Identifier: Apache-2.0
"""torch's functional collectives in GE graphs, on several ranks; test_ranks.py starts it. Says "all good" on each rank that has nothing to say."""

import os
import sys
from pathlib import Path

import torch
from torch import distributed
from torch.distributed import _functional_collectives as functional

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "torchair"))
from common import backend

ROWS, COLUMNS = 4, 6
WRONG = []


def of(rank):
    return torch.arange(ROWS * COLUMNS, dtype=torch.float32).reshape(ROWS, COLUMNS) + 100 * rank


def judge(name, found, expected):
    torch.npu.synchronize()
    if not torch.equal(found.cpu(), expected):
        WRONG.append(f"{name}: {tuple(found.shape)} {found.cpu().flatten()[:4].tolist()}, not {tuple(expected.shape)} {expected.flatten()[:4].tolist()}")


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.npu.set_device(rank)
    distributed.init_process_group("hccl")
    group = distributed.group.WORLD
    total = sum(of(each) for each in range(world))
    cases = {
        "all_reduce": (lambda x: functional.all_reduce(x + 1, "sum", group) * 2, (total + world) * 2),
        "max": (lambda x: functional.all_reduce(x, "max", group) + 0, of(world - 1)),
        "all_gather": (lambda x: functional.all_gather_tensor(x, 0, group) + 1, torch.cat([of(each) for each in range(world)]) + 1),
        "reduce_scatter": (lambda x: functional.reduce_scatter_tensor(x.repeat(world, 1), "sum", 0, group) + 1, total + 1),
        "two in a row": (lambda x: functional.all_reduce(functional.all_reduce(x, "sum", group) + rank, "sum", group),
                         total * world + sum(range(world))),
    }
    for name, (function, expected) in cases.items():
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend=backend(), dynamic=dynamic, fullgraph=True)
            for _ in range(2):
                judge(f"{name}{', dynamic' if dynamic else ''}", compiled(of(rank).npu()), expected)
    os.write(1, ("\n".join([f"rank {rank}: {each}" for each in WRONG] or [f"rank {rank}: all good"]) + "\n").encode())
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()

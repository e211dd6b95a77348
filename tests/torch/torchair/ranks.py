# SPDX-License-Identifier: Apache-2.0
"""torch's functional collectives in GE graphs, on several ranks; test_ranks.py starts it. Says "all good" on each rank that has nothing to say."""

import os
import sys
from pathlib import Path

import torch
import torch_npu
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


def products(rank, world, name):
    """Products of small whole numbers, so that every sum is exact in half precision."""
    xs = [(of(each) % 3).half() for each in range(world)]
    w = (torch.arange(COLUMNS * 2) % 4).reshape(COLUMNS, 2).half()
    made = [(x.float() @ w.float()).half() for x in xs]
    weight = w.npu()
    return {
        "mm_all_reduce": (lambda x: torch_npu.npu_mm_all_reduce_base(x.half() % 3, weight, name), sum(made)),
        "all_gather_mm": (lambda x: torch_npu.npu_all_gather_base_mm(x.half() % 3, weight, name, world)[0], torch.cat(made)),
        "mm_reduce_scatter": (lambda x: torch_npu.npu_mm_reduce_scatter_base(x.half() % 3, weight, name, world),
                              sum(made)[rank * ROWS // world:(rank + 1) * ROWS // world]),
    }


def experts(rank, world, name):
    ids = torch.tensor([[(rank + row) % world, (rank + row + 1) % world] for row in range(ROWS)]).int().npu()
    weights = torch.tensor([[1.0, 2.0]] * ROWS).npu()

    def there_and_back(x):
        expand, _, idx, _, ep, tp, scales = torch_npu.npu_moe_distribute_dispatch_v2(x.half(), ids, name, world, rank, world, expert_scales=weights, global_bs=0)
        return torch_npu.npu_moe_distribute_combine_v2(expand + 1, ids, idx, ep, weights, name, world, rank, world, tp_send_counts=tp, expand_scales=scales,
                                                       global_bs=0)

    # Each rank has one expert, which adds up a token's elements; every rank sends a row to each of two.
    counts = [ROWS // world] * world
    weight = torch.ones(1, COLUMNS, 1).half().npu()
    mine = torch.cat([of(each)[rank * ROWS // world:(rank + 1) * ROWS // world] for each in range(world)])
    return {"dispatch and combine": (there_and_back, ((of(rank) + 1) * 3).half()),
            "alltoallv_gmm": (lambda x: torch_npu.npu_alltoallv_gmm(x.half(), weight, name, world, counts, counts)[0], mine.sum(1, keepdim=True).half()),
            "gmm_alltoallv": (lambda x: torch_npu.npu_gmm_alltoallv(x.half(), weight, name, world, counts, counts)[0],
                              mine.sum(1, keepdim=True).half())}


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
    name = group._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
    cases |= products(rank, world, name) | experts(rank, world, name)
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

# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed on backend hccl; test_ranks.py starts it on several ranks. Says "all good" on each that has nothing to say."""

import os

import torch
import torch_npu  # noqa: F401
from torch import distributed

COUNT = 1000
WRONG = []


def judge(name, found, expected):
    torch.npu.synchronize()
    if not torch.equal(found.cpu(), expected):
        WRONG.append(f"{name}: {found.cpu().flatten()[:4].tolist()}, not {expected.flatten()[:4].tolist()}")


def of(rank, dtype=torch.float32):
    return (torch.arange(COUNT) % 7 + rank + 1).to(dtype)


def reductions(rank, world):
    total = sum(of(other) for other in range(world))
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64):
        tensor = of(rank, dtype).npu()
        distributed.all_reduce(tensor)
        judge(f"all_reduce {dtype}", tensor, total.to(dtype))
    for name, operation, expected in (("max", distributed.ReduceOp.MAX, of(world - 1)), ("min", distributed.ReduceOp.MIN, of(0)),
                                      ("avg", distributed.ReduceOp.AVG, total / world)):
        tensor = of(rank).npu()
        distributed.all_reduce(tensor, op=operation)
        judge(f"all_reduce {name}", tensor, expected)
    tensor = of(rank).npu()
    distributed.reduce(tensor, dst=world - 1)
    if rank == world - 1:
        judge("reduce", tensor, total)
    out = torch.zeros(COUNT, device="npu")
    distributed.reduce_scatter_tensor(out, torch.cat([of(rank) * (other + 1) for other in range(world)]).npu())
    judge("reduce_scatter_tensor", out, total * (rank + 1))
    out = torch.zeros(COUNT, device="npu")
    distributed.reduce_scatter(out, [(of(rank) * (other + 1)).npu() for other in range(world)])
    judge("reduce_scatter", out, total * (rank + 1))


def moves(rank, world):
    tensor = of(rank).npu()
    distributed.broadcast(tensor, src=world - 1)
    judge("broadcast", tensor, of(world - 1))
    everybody = torch.cat([of(other) for other in range(world)])
    out = torch.zeros(COUNT * world, device="npu")
    distributed.all_gather_into_tensor(out, of(rank).npu())
    judge("all_gather_into_tensor", out, everybody)
    parts = [torch.zeros(COUNT, device="npu") for _ in range(world)]
    distributed.all_gather(parts, of(rank).npu())
    judge("all_gather", torch.cat(parts), everybody)
    out = torch.zeros(COUNT, device="npu")
    distributed.scatter(out, [of(other + 10).npu() for other in range(world)] if rank == 0 else None, src=0)
    judge("scatter", out, of(rank + 10))
    out = torch.zeros(COUNT * world, device="npu")
    distributed.all_to_all_single(out, torch.cat([of(rank) * (other + 1) for other in range(world)]).npu())
    judge("all_to_all_single", out, torch.cat([of(other) * (rank + 1) for other in range(world)]))
    # Rank i sends i + j + 1 elements to rank j.
    sizes = [rank + other + 1 for other in range(world)]
    out = torch.zeros(sum(sizes), device="npu")
    distributed.all_to_all_single(out, torch.full((sum(sizes),), float(rank), device="npu"), sizes, sizes)
    judge("all_to_all_single with sizes", out, torch.cat([torch.full((size,), float(other)) for other, size in enumerate(sizes)]))
    parts = [torch.zeros(COUNT, device="npu") for _ in range(world)]
    distributed.all_to_all(parts, [(of(rank) * (other + 1)).npu() for other in range(world)])
    judge("all_to_all", torch.cat(parts), torch.cat([of(other) * (rank + 1) for other in range(world)]))
    listed = [None] * world
    distributed.all_gather_object(listed, {"rank": rank})
    if listed != [{"rank": other} for other in range(world)]:
        WRONG.append(f"all_gather_object: {listed}")


def messages(rank, world):
    following, previous = (rank + 1) % world, (rank - 1) % world
    out = torch.zeros(COUNT, device="npu")
    if rank == 0:
        distributed.send(of(rank).npu(), following)
        distributed.recv(out, previous)
    else:
        distributed.recv(out, previous)
        distributed.send(of(rank).npu(), following)
    judge("send and recv", out, of(previous))
    out, mine = torch.zeros(COUNT, device="npu"), of(rank).npu()
    works = distributed.batch_isend_irecv([distributed.P2POp(distributed.isend, mine, previous), distributed.P2POp(distributed.irecv, out, following)])
    for work in works:
        work.wait()
    judge("batch_isend_irecv", out, of(following))


def groups(rank, world):
    halves = [distributed.new_group([other for other in range(world) if other % 2 == odd]) for odd in range(2)]
    tensor = of(rank).npu()
    distributed.all_reduce(tensor, group=halves[rank % 2])
    judge("new_group", tensor, sum(of(other) for other in range(rank % 2, world, 2)))
    tensor = of(rank).npu()
    work = distributed.all_reduce(tensor, async_op=True)
    work.wait()
    judge("async", tensor, sum(of(other) for other in range(world)))


def main():
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("hccl")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    for part in (reductions, moves, messages, groups):
        part(rank, world)
    distributed.barrier()
    distributed.destroy_process_group()
    os.write(1, f"rank {rank}: {'; '.join(WRONG) or 'all good'}\n".encode())  # whole, whatever the other ranks print


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed on backend hccl; test_ranks.py starts it on several ranks. Says "all good" on each that has nothing to say."""

import os

import torch
from ranks import run, WRONG
from torch import distributed

COUNT = 1000


def judge(name, found, expected):
    torch.npu.synchronize()
    if not torch.equal(found.cpu(), expected):
        WRONG.append(f"{name}: {found.cpu().flatten()[:4].tolist()}, not {expected.flatten()[:4].tolist()}")


def of(rank, dtype=torch.float32):
    return (torch.arange(COUNT) % 7 + rank + 1).to(dtype)


def reductions(rank, world):
    total = sum(of(other) for other in range(world))
    product = torch.stack([of(other) for other in range(world)]).prod(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64):
        tensor = of(rank, dtype).npu()
        distributed.all_reduce(tensor)
        judge(f"all_reduce {dtype}", tensor, total.to(dtype))
    for name, operation, expected in (("max", distributed.ReduceOp.MAX, of(world - 1)), ("min", distributed.ReduceOp.MIN, of(0)),
                                      ("avg", distributed.ReduceOp.AVG, total / world), ("product", distributed.ReduceOp.PRODUCT, product)):
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
    expect("all_gather_object", listed, [{"rank": other} for other in range(world)])
    listed = [None] * world if rank == 0 else None
    distributed.gather_object(rank, listed, dst=0)
    expect("gather_object", listed, list(range(world)) if rank == 0 else None)
    parts = [torch.zeros(COUNT, device="npu") for _ in range(world)] if rank == 0 else None
    distributed.gather(of(rank).npu(), parts, dst=0)
    if rank == 0:
        judge("gather", torch.cat(parts), everybody)


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


def of_size(rank):
    return torch.full((rank + 2,), float(rank))


def uneven(rank, world):
    parts = [torch.zeros(other + 2, device="npu") for other in range(world)]
    distributed.all_gather(parts, of_size(rank).npu())
    judge("all_gather of several sizes", torch.cat(parts), torch.cat([of_size(other) for other in range(world)]))
    out = torch.zeros(rank + 2, device="npu")
    distributed.reduce_scatter(out, [of_size(other).npu() for other in range(world)])
    judge("reduce_scatter of several sizes", out, of_size(rank) * world)
    parts = [torch.zeros(rank + 2, device="npu") for _ in range(world)]
    distributed.all_to_all(parts, [torch.full((other + 2,), float(rank), device="npu") for other in range(world)])
    judge("all_to_all of several sizes", torch.cat(parts), torch.cat([torch.full((rank + 2,), float(other)) for other in range(world)]))


def coalesced(rank, world):
    total = sum(of(other) for other in range(world))
    tensors = [of(rank).npu(), of(rank + 1).npu()]
    with distributed._coalescing_manager(device=torch.device("npu"), async_ops=True) as works:
        for tensor in tensors:
            distributed.all_reduce(tensor)
    works.wait()
    judge("all_reduce, coalesced", tensors[0], total)
    judge("another all_reduce, coalesced", tensors[1], total + world)
    outs = [torch.zeros(COUNT * world, device="npu") for _ in range(2)]
    with distributed._coalescing_manager(device=torch.device("npu")):
        for number, out in enumerate(outs):
            distributed.all_gather_into_tensor(out, (of(rank) + number).npu())
    judge("all_gather_into_tensor, coalesced", outs[1], torch.cat([of(other) + 1 for other in range(world)]))
    outs = [torch.zeros(COUNT, device="npu") for _ in range(2)]
    with distributed._coalescing_manager(device=torch.device("npu")):
        for number, out in enumerate(outs):
            distributed.reduce_scatter_tensor(out, torch.cat([of(rank) + number] * world).npu())
    judge("reduce_scatter_tensor, coalesced", outs[1], total + world)


def objects(rank, world):
    listed = [{"rank": rank}, rank] if rank == 0 else [None, None]
    distributed.broadcast_object_list(listed, src=0)
    expect("broadcast_object_list", listed, [{"rank": 0}, 0])
    own = [None]
    distributed.scatter_object_list(own, [f"for {other}" for other in range(world)] if rank == 0 else None, src=0)
    expect("scatter_object_list", own, [f"for {rank}"])
    if rank == 0:
        distributed.send_object_list(["a", {"b": 2}], dst=1)
    elif rank == 1:
        listed = [None, None]
        distributed.recv_object_list(listed, src=0)
        expect("recv_object_list", listed, ["a", {"b": 2}])


def expect(name, found, expected):
    if found != expected:
        WRONG.append(f"{name}: {found}, not {expected}")


def more_groups(rank, world):
    own, _ = distributed.new_subgroups(2)
    tensor = of(rank).npu()
    distributed.all_reduce(tensor, group=own)
    judge("new_subgroups", tensor, of(rank // 2 * 2) + of(rank // 2 * 2 + 1))
    backwards = distributed.new_group(list(reversed(range(world))), backend="hccl", group_desc="backwards")
    tensor = of(rank).npu()
    distributed.broadcast(tensor, src=1, group=backwards)
    judge("broadcast in a group", tensor, of(1))
    distributed.destroy_process_group(backwards)
    mixed = distributed.new_group(backend="cpu:gloo,npu:hccl")
    for device in ("cpu", "npu"):
        tensor = of(rank).to(device)
        distributed.all_reduce(tensor, group=mixed)
        judge(f"all_reduce on {device} of a group of both", tensor, sum(of(other) for other in range(world)))
    works = [distributed.isend(of(rank).npu(), 1)] if rank == 0 else []
    out = torch.zeros(COUNT, device="npu")
    works += [distributed.irecv(out, 0)] if rank == 1 else []
    for work in works:
        work.wait()
    if rank == 1:
        judge("isend and irecv", out, of(0))


def recorder(rank, world):
    """torch_npu's flight recorder has what this program did."""
    import json
    import pickle
    import time
    from torch_npu._C._distributed_c10d import _dump_hccl_trace
    # The recorder asks the events of works that nobody holds any more, until the watchdog has looked at them: once a second.
    torch.npu.synchronize()
    time.sleep(3)
    recorded = pickle.loads(_dump_hccl_trace())
    if not any(entry["input_sizes"] == [[COUNT]] and entry["input_dtypes"] == ["BFloat16"] for entry in recorded["entries"]):
        WRONG.append("the flight recorder does not know the all_reduce of bfloat16")
    if not any(entry["state"] == "completed" for entry in recorded["entries"]):  # as the watchdog has found
        WRONG.append(f"nothing is completed in the flight recorder: {sorted({entry['state'] for entry in recorded['entries']})}")
    groups = {tuple(json.loads(group["ranks"])) for group in recorded["pg_config"].values()}
    if tuple(range(world)) not in groups:
        WRONG.append(f"the flight recorder knows the groups {sorted(groups)}")


def main():
    os.environ.setdefault("TORCH_HCCL_TRACE_BUFFER_SIZE", "2000")
    run((reductions, moves, messages, groups, uneven, coalesced, objects, more_groups, recorder))


if __name__ == "__main__":
    main()

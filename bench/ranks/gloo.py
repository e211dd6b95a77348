#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same operations by torch's Gloo, on host memory: one JSON line per figure, as the C++ programs print them."""

import argparse
import json
import os
import statistics
import sys
import time

import start

SIZES = {"4B": (4, 200), "64KiB": (64 << 10, 100), "4MiB": (4 << 20, 20), "64MiB": (64 << 20, 7)}
WARM_UPS = 4


def operation(dist, torch, kind, count, ranks, rank):
    """(what to call, what to look at, what it must hold)"""
    part = count // ranks
    if kind == "allreduce":
        values = torch.full((max(1, count // 4),), float(rank + 1))
        total = torch.empty_like(values)

        def reduce():
            total.copy_(values)  # Gloo sums in place; HCCL and the others leave what is sent as it was
            dist.all_reduce(total)
        return reduce, total, lambda: torch.full_like(values, ranks * (ranks + 1) / 2)
    if kind == "allgather":
        send, receive = torch.full((part,), rank + 1, dtype=torch.uint8), torch.empty(part * ranks, dtype=torch.uint8)
        return (lambda: dist.all_gather_into_tensor(receive, send), receive,
                lambda: torch.arange(1, ranks + 1, dtype=torch.uint8).repeat_interleave(part))
    if kind == "alltoall":
        send = torch.arange(ranks, dtype=torch.uint8).repeat_interleave(part) + 16 * rank
        receive = torch.empty_like(send)
        return (lambda: dist.all_to_all_single(receive, send), receive,
                lambda: (torch.arange(ranks, dtype=torch.uint8) * 16 + rank).repeat_interleave(part))
    values = torch.full((count,), 1 if rank == 0 else 0, dtype=torch.uint8)
    return lambda: dist.broadcast(values, 0), values, lambda: torch.ones(count, dtype=torch.uint8)


def be_rank(arguments):
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # Gloo alone, without torch_npu
    import torch  # pylint: disable=import-outside-toplevel
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    start.end_with_parent()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{arguments.meet}", rank=arguments.rank, world_size=arguments.ranks)
    for kind in ("allreduce", "allgather", "alltoall", "broadcast"):
        for name, (count, repetitions) in SIZES.items():
            metric = f"{kind}_{arguments.ranks}r_{name}"
            if arguments.only and arguments.only != metric:
                continue
            call, found, expected = operation(dist, torch, kind, count, arguments.ranks, arguments.rank)
            times = []
            for _ in range(WARM_UPS + (3 if arguments.smoke else repetitions)):
                begin = time.perf_counter_ns()
                call()
                times.append((time.perf_counter_ns() - begin) / 1000)
            if not torch.equal(found, expected()):
                sys.exit(f"{metric} gives wrong values on rank {arguments.rank}")
            slowest = torch.tensor([statistics.median(times[WARM_UPS:])], dtype=torch.float64)
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            if arguments.rank == 0:
                print(json.dumps({"subject": "gloo", "metric": metric, "unit": "us", "value": slowest.item()}), flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only")
    arguments = start.read_arguments(parser, be_rank)
    flags = [*(["--smoke"] if arguments.smoke else []), *(["--only", arguments.only] if arguments.only else [])]
    for ranks in (2, 4):
        start.start_ranks(__file__, ranks, flags)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of one training step of ResNet-18 by DistributedDataParallel on 2 ranks: torch_npu with hccl, or torch alone on the CPU with Gloo.

Each rank has one thread, as torchrun gives it, and its own images; a line of JSON for bench/run.py.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import start

RANKS = 2
BATCH, SIZE = 8, 64
STEPS, WARM_UPS = 12, 4
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"


def be_rank(arguments):
    on_npu = arguments.device == "npu"
    if not on_npu:
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # torch alone
    import torch  # pylint: disable=import-outside-toplevel
    from torch import distributed, nn  # pylint: disable=import-outside-toplevel
    start.end_with_parent()
    torch.set_num_threads(1)
    sys.path.insert(0, str(EXAMPLES))
    from train_resnet18 import resnet18  # pylint: disable=import-outside-toplevel
    device = torch.device("npu", arguments.rank) if on_npu else torch.device("cpu")
    if on_npu:
        import torch_npu  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        torch.npu.set_device(device)
    distributed.init_process_group("hccl" if on_npu else "gloo", init_method=f"file://{arguments.meet}", rank=arguments.rank,
                                   world_size=arguments.ranks)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(resnet18().to(device).train())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    torch.manual_seed(arguments.rank)
    images, labels = torch.randn(BATCH, 3, SIZE, SIZE).to(device), torch.randint(10, (BATCH,)).to(device)
    times, losses = [], []
    for _ in range(WARM_UPS + (2 if arguments.smoke else STEPS)):
        begin = time.perf_counter()
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # waits for the device, as a program that prints its loss does
        times.append(1000 * (time.perf_counter() - begin))
    slowest = torch.tensor([statistics.median(times[WARM_UPS:])], device=device)
    distributed.all_reduce(slowest, distributed.ReduceOp.MAX)
    if not losses[-1] < losses[0]:
        sys.exit(f"rank {arguments.rank} has learnt nothing: {losses}")
    if arguments.rank == 0:
        print(json.dumps({"subject": "ours" if on_npu else "torch_ddp", "metric": f"ddp_resnet18_{RANKS}r", "unit": "ms",
                          "value": slowest.item()}), flush=True)
    distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["npu", "cpu"], required=True)
    arguments = start.read_arguments(parser, be_rank)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MILLPOND_DEVICES", str(RANKS))
    start.start_ranks(__file__, RANKS, ["--device", arguments.device, *(["--smoke"] if arguments.smoke else [])])


if __name__ == "__main__":
    main()

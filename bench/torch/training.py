# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of one training step of the examples' GPT-2-like model and ResNet-18; lines of JSON for bench/run.py."""

import argparse
import importlib
import json
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
from skip import import_or_skip

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"
MODELS = {"gpt2_step": "train_gpt2", "resnet18_step": "train_resnet18"}


def measure(step, count):
    """The median step; .item() waits for the device, as a program that prints its loss does."""
    times = []
    for _ in range(count + count // 4 + 1):
        start = time.perf_counter()
        step().item()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[count // 4 + 1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["npu", "cpu"], required=True)
    parser.add_argument("--smoke", action="store_true", help="one step of each")
    arguments = parser.parse_args()
    torch = import_or_skip("torch")
    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    sys.path.insert(0, str(EXAMPLES))
    for metric, module in MODELS.items():
        torch.manual_seed(0)
        _, step = importlib.import_module(module).training(torch.device(arguments.device))
        value = measure(step, 1 if arguments.smoke else 20)
        print(json.dumps({"subject": "ours" if arguments.device == "npu" else "torch_cpu", "metric": metric, "unit": "ms",
                          "value": value}), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles graphs of every family in sizes that grow; prints seconds as JSON lines, and the exponents of time and memory.

An exponent is the slope of the line through the logarithms: 1 is linear, 2 the square. The sizes below the smallest that is
fitted would only show the cost of a graph with no nodes.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import rows

FAMILIES = rows.COMPILED
SIZES = (3_000, 10_000, 30_000)
LARGEST = 100_000
SMOKE_SIZES = (40, 80)
LARGEST_OF = ("small_chain", "dag", "tower", "fan", "concat", "nest")  # one of each class: each takes seconds


def slope(points):
    """Least squares through (log x, log y)."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def compiled(program, families, sizes):
    """Of one process: {family: {nodes: figures}}."""
    done = subprocess.run([program, "--families", ",".join(families), "--nodes", ",".join(map(str, sizes))], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{', '.join(families)} with {sizes} nodes: {done.stderr.strip() or f'exit {done.returncode}'}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    figures = iter({one["metric"]: one["value"] for one in lines[at:at + 3]} for at in range(0, len(lines), 3))
    return {family: {nodes: next(figures) for nodes in sizes} for family in families}


def measured(program, smoke):
    if smoke:
        return compiled(program, FAMILIES, SMOKE_SIZES)
    found = {}
    for family in FAMILIES:
        sizes = (*SIZES, LARGEST) if family in LARGEST_OF else SIZES
        # The peak of memory is a process's.
        found[family] = {nodes: compiled(program, [family], [nodes])[family][nodes] for nodes in sizes}
    return found


def say(metric, unit, value):
    print(json.dumps({"subject": "ours", "metric": metric, "unit": unit, "value": value}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="mp_bench_compile")
    parser.add_argument("--smoke", action="store_true")
    arguments = parser.parse_args()
    ten, hundred = SMOKE_SIZES if arguments.smoke else (SIZES[1], LARGEST)
    worst = {ten: 0.0, hundred: 0.0}
    exponents = []
    for family, found in measured(arguments.program, arguments.smoke).items():
        # Building by operators is the client's call into our library, and counts.
        times = {nodes: (figures["build"] + figures["compile"]) / 1000 for nodes, figures in found.items()}
        for nodes in worst.keys() & times.keys():
            worst[nodes] = max(worst[nodes], times[nodes])
        exponents.append((slope(times.items()), slope((nodes, max(1, figures["memory"])) for nodes, figures in found.items())))
        say(f"{family}_10k", "s", times[ten])
        say(f"{family}_exponent", "x", exponents[-1][0])
        say(f"{family}_memory_exponent", "x", exponents[-1][1])
    say("worst_10k", "s", worst[ten])
    say("worst_100k", "s", worst[hundred])
    say("worst_exponent", "x", max(time for time, _ in exponents))
    say("worst_memory_exponent", "x", max(memory for _, memory in exponents))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans every problem with one planner and prints peak/bound and milliseconds as JSON lines.

Ours and the greedy orders are the program millpond-plan, which times the planning alone; OmniMalloc is called in this
process, and its time too is that of the planning call alone.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import problems

SKIP = 77
ORDERS = ("size", "area", "pressure", "lifetime", "birth")
MAX_FOR_GREEDY = 20_000  # buffers: greedy orders are quadratic
OMNIMALLOC = {"omnimalloc_super": "SupermallocAllocator", "omnimalloc_omni": "OmniAllocator"}


def say(subject, problem, ratio, milliseconds):
    print(json.dumps({"subject": subject, "metric": f"{problem}_ratio", "unit": "x", "value": ratio}))
    print(json.dumps({"subject": subject, "metric": f"{problem}_ms", "unit": "ms", "value": milliseconds}))


def millpond_plan(program, file, *options):
    done = subprocess.run([program, "--json", *map(str, options), str(file)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"millpond-plan: {done.stderr.strip()}")
    return json.loads(done.stdout)


def write(path, rows):
    lines = [f"{number},{lower},{upper},{size}" for number, (lower, upper, size) in enumerate(rows)]
    path.write_text("\n".join(["id,lower,upper,size", *lines]) + "\n", encoding="utf-8")


def run_ours(arguments, file, name, capacity, _):
    options = ("--capacity", capacity) if capacity else ()
    found = millpond_plan(arguments.program, file, *options)
    say("ours", name, found["ratio"], 1000 * found["seconds"])


def run_greedy(arguments, file, name, _, rows):
    if len(rows) > MAX_FOR_GREEDY:
        return
    best, total = float("inf"), 0.0
    for order in ORDERS:
        found = [millpond_plan(arguments.program, file, "--method", f"{order}-{fit}") for fit in ("best", "first")]
        say(f"greedy_{order}", name, min(one["ratio"] for one in found), sum(1000 * one["seconds"] for one in found))
        best = min([best, *[one["ratio"] for one in found]])
        total += sum(1000 * one["seconds"] for one in found)
    say("greedy_best_of_ten", name, best, total)


def run_omnimalloc(_, __, name, ___, rows):
    try:
        import omnimalloc
        from omnimalloc import allocators
    except ImportError as error:
        print(f"omnimalloc is not installed ({error}); requirements-bench.txt pins it", file=sys.stderr)
        sys.exit(SKIP)
    wanted = [omnimalloc.Allocation(id=number, size=size, start=lower, end=upper)
              for number, (lower, upper, size) in enumerate(rows)]
    bound = problems.max_live(rows)
    for subject, kind in OMNIMALLOC.items():
        allocator = getattr(allocators, kind)()
        start = time.perf_counter()
        placed = allocator.allocate(tuple(wanted))
        span = time.perf_counter() - start
        say(subject, name, max(one.height for one in placed) / bound, 1000 * span)


RUN = {"ours": run_ours, "greedy": run_greedy, "omnimalloc": run_omnimalloc}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subject", required=True, choices=sorted(RUN))
    parser.add_argument("--program", required=True, help="millpond-plan")
    parser.add_argument("--problems", type=pathlib.Path, metavar="DIR", help="the CSV files of this folder, too")
    parser.add_argument("--smoke", action="store_true")
    arguments = parser.parse_args()
    todo = problems.own(arguments.smoke)
    if arguments.problems:
        todo += [problems.read(path) for path in sorted(arguments.problems.glob("*.csv"))]
    with tempfile.TemporaryDirectory() as folder:
        for name, capacity, rows in todo:
            file = pathlib.Path(folder) / f"{name}.csv"
            write(file, rows)
            RUN[arguments.subject](arguments, file, name, capacity, rows)


if __name__ == "__main__":
    main()

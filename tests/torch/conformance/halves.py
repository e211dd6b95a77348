#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far operators on half types are from the float64 result, in roundings: a card computes in float32 and rounds once.

    ./millpond run -- python tests/torch/conformance/halves.py [--ops REGEX] [--json FILE] ...

A rounding is the distance of neighbouring numbers of the type at the reference. Float32's own error, in sums that cancel, does not count.
Exits with 1 if a pair that launches one kernel (two with its gradient) is further away and half_exceptions.tsv has no reason for it.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import run as suite

HALVES = ("float16", "bfloat16")
# What moves, fills or casts is no step of the computation.
NO_STEPS = re.compile(r"aclnn(Inplace(Copy|Zero|One|Fill\w*)|Cast)$")
PROGRESS_EVERY = 100


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", metavar="REGEX", default="", help="only entries whose name matches")
    parser.add_argument("--dtypes", metavar="NAMES", default=",".join(HALVES), help="float16, bfloat16 or both")
    parser.add_argument("--directions", metavar="NAMES", default="forward,backward", help="forward, backward or both")
    parser.add_argument("--samples", type=int, default=6, help="samples of each pair (default 6)")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    parser.add_argument("--seconds", type=float, default=suite.SECONDS_PER_PAIR, help="longer than this is a hang")
    parser.add_argument("--above", type=float, default=1.0, help="look into the pairs with more roundings than this (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write the results here")
    return parser.parse_args(argv)


def chosen(entries, options):
    import pairs
    import torch
    for name, entry in entries.items():
        if not re.search(options.ops, name):
            continue
        for dtype in options.dtypes.split(","):
            kind = getattr(torch, dtype)
            if kind in entry.supported_dtypes("cpu") and pairs.FORWARD in options.directions:
                yield pairs.Pair(name, dtype, pairs.FORWARD)
            backward = entry.supports_autograd and kind in entry.supported_backward_dtypes("cpu")
            if backward and pairs.BACKWARD in options.directions:
                yield pairs.Pair(name, dtype, pairs.BACKWARD)


def read_exceptions(path=HERE / "half_exceptions.tsv"):
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [(re.compile(op), re.compile(direction)) for op, direction, _ in rows]


def explained(one, exceptions):
    """Several operators of the wheel round after each, and some pairs have a reason of their own."""
    steps = [name for name in one["calls"] if not NO_STEPS.match(name)]
    if len(steps) > (1 if one["direction"] == "forward" else 2):
        return True
    return any(op.fullmatch(one["op"]) and direction.fullmatch(one["direction"]) for op, direction in exceptions)


def main(argv):
    options = parse(argv)
    options.queue = "1"
    suite.in_our_environment(options)
    import calls
    import pairs
    import roundings
    import workers
    entries = pairs.entries()
    import torch_npu  # noqa: F401  before the fork, so that no worker pays for it
    jobs = [suite.job_of(pair) for pair in chosen(entries, options)]
    if not jobs:
        raise SystemExit("no pair matches; see --ops, --dtypes and --directions")
    found, started = [], time.monotonic()

    def serve(job, tell):
        pair = suite.pair_of(job)
        return roundings.measure(entries[pair.op], pair, options.samples, lambda index: tell({"sample": index}))

    def finished(job, result):
        found.append({**job, **result})
        if len(found) % PROGRESS_EVERY == 0:
            print(f"{len(found)} of {len(jobs)} pairs, {time.monotonic() - started:.0f} s", flush=True)

    workers.run_all(jobs, serve, options.jobs, options.seconds, finished)
    bad = sorted((one for one in found if one["state"] == "measured" and one["roundings"] > options.above),
                 key=lambda one: -one["roundings"])
    exceptions, left = read_exceptions(), 0
    for one in bad:
        one["calls"] = calls.of({name: one[name] for name in ("op", "dtype", "direction")}, serve, options.seconds)
        if not explained(one, exceptions):
            left += 1
            print(f"{one['roundings']:10.1f}  {one['op']} {one['dtype']} {one['direction']}: {one['reason']}; {' '.join(one['calls'])}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(found))
    states = {}
    for one in found:
        states[one["state"]] = states.get(one["state"], 0) + 1
    print(f"{len(found)} pairs in {time.monotonic() - started:.0f} s: {states}; {len(bad)} above {options.above:g} roundings, {left} of them without a reason")
    return 1 if left or not states.get("measured") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

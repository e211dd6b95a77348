#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks operators over other shapes: each call of calls.tsv, with one tensor of another shape, must run or be refused; no call ends the process.

    ./millpond run -- python tests/torch/types/shapes.py [--ops REGEX] [--part K/N]
"""

import argparse
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import calls
import walk


def other_shapes(dims):
    """A scalar, one element, a dimension more or less, larger, smaller and empty ones."""
    found = [(), (1,), (3,), (*dims, 2), (2, *dims)]
    if dims:
        found += [dims[:-1], dims[1:], tuple(dim + 1 for dim in dims), (0, *dims[1:]), (*dims[:-1], 1), (1, *dims[1:]), (*dims[:-1], dims[-1] * 3 + 1)]
    return [one for one in dict.fromkeys(found) if one != dims]


def contents(tensor):
    return walk.encode(numpy.arange(tensor.elements) % 3 + 1, tensor.type)


def walk_all(names):
    """In this process; each call is printed before it is made, so that a crash has a name. Ends without cleaning up: wrong calls are the point."""
    rows = {row.name: row for row in walk.read_tables(calls.ROOT / "src" / "ops" / "table")[0]}
    known, door, count = calls.read(HERE / "calls.tsv"), calls.Door(), 0
    for name in names:
        for place in calls.tensors_of(known[name]):
            tensor = calls.at(known[name], place)
            for dims in other_shapes(tensor.dims):
                print(f"CALL {name} {rows[name].args[place[0]].name} {list(dims)}", flush=True)
                door.call(rows[name], calls.with_tensor(known[name], place, replace(tensor, dims=dims)), contents)
                count += 1
    print(f"COUNT {count}", flush=True)
    os._exit(0)


def in_children(names):
    """All of them, starting again behind one that ends the process: (what ended it, how many calls)."""
    ended, count = [], 0
    while names:
        done = subprocess.run([sys.executable, __file__, "--child"], input="\n".join(names), capture_output=True, text=True, check=False)
        made = re.findall(r"^CALL (\w+) (.*)$", done.stdout, re.M)
        count += len(made)
        if done.returncode == 0:
            break
        if not made:
            return [f"the walk cannot begin: exit {done.returncode}: {done.stderr[-2000:]}"], count
        name, what = made[-1]
        ended.append(f"{name}: {what} ends the process with {done.returncode}: {' '.join(done.stderr[-300:].split())}")
        names = names[names.index(name) + 1:]
    return ended, count


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", metavar="REGEX", default="", help="only operators whose name matches")
    parser.add_argument("--part", metavar="K/N", default="0/1", help="each N-th operator, from the K-th on")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if options.child:
        walk_all(sys.stdin.read().split())
    ended, count = in_children(walk.chosen(options.ops, options.part, HERE / "calls.tsv"))
    print("\n".join(ended))
    print(f"{len(ended)} ended the process; {count} calls")
    return 1 if ended else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

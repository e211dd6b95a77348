#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks operators over all types: each call of calls.tsv, with other types, must be right or refused in phase 1.

    ./millpond run -- python tests/torch/types/walk.py [--ops REGEX] [--part K/N] [--types any|documented]

For each type the tensors that have the type of the first one change together, and then each tensor alone. A call that phase 1 takes must run, and where all of them
changed together, its results must be those of the call as it is written, as far as the type can hold them. What differs by definition is in different.tsv
(operator, what: a regular expression, reason).
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import calls
from gen_ops import read_tables  # calls.py has put tools/ on the path
from op_types import TYPE_ORDER

REFUSED = (161001, 161002)
NUMPY = {"float32": "f4", "float16": "f2", "float64": "f8", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2",
         "uint32": "u4", "uint64": "u8", "bool": "?", "complex64": "c8", "complex128": "c16"}
BITS = {"complex32": 32, "int4": 4, "uint1": 1, "string": 8, "float4_e2m1": 4, "float4_e1m2": 4}
PRECISION = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-3}
OUTPUTS = (">", "&", "!")


def encode(values, type_name):
    if type_name == "bfloat16":
        bits = values.astype("f4").view("u4")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u2").tobytes()
    if type_name == "bool":
        return (values != 0).tobytes()
    if type_name in NUMPY:
        return values.astype(NUMPY[type_name]).tobytes()
    if type_name == "int4":
        halves = numpy.append(values.astype("u1"), numpy.zeros(values.size % 2, "u1"))
        return (halves[::2] | halves[1::2] << 4).tobytes()
    return bytes((values.size * BITS.get(type_name, 8) + 7) // 8)


def decode(data, type_name):
    if type_name == "bfloat16":
        return (numpy.frombuffer(data, "u2").astype("u4") << 16).view("f4").astype("f8")
    if type_name in NUMPY:
        return numpy.frombuffer(data, NUMPY[type_name]).astype("c16" if type_name.startswith("complex") else "f8")
    return None


class Walker:
    def __init__(self, rows, different):
        self.door, self.rows, self.different = calls.Door(), rows, different
        self.complaints, self.counts = [], {"right": 0, "ran": 0, "refused": 0, "call": 0}

    def run(self, row, arguments, main):
        """One call; the tensors of `main` hold small numbers, the others zeros, which are good indices."""
        order = list(calls.tensors_of(arguments))
        numbers = iter(order)

        def contents(tensor):
            place = next(numbers)
            values = numpy.arange(tensor.elements) % 3 + 1 if place in main else numpy.zeros(tensor.elements)
            return encode(values, tensor.type)

        phase, status, message = self.door.call(row, arguments, contents)
        results = []
        if phase == 0:
            results = [decode(self.door.read(number), calls.at(arguments, place).type) for number, place in enumerate(order)
                       if row.args[place[0]].flow in OUTPUTS]
        return phase, status, message, results

    def complain(self, row, what, phase, status, message):
        if any(re.fullmatch(pattern, what) for pattern in self.different.get(row.name, ())):
            return
        text = " ".join(message.split())[:300]
        self.complaints.append(f"{row.name}\t{what}\tphase {phase}\t{status}\t{text}")

    def compare(self, row, type_name, expected, results):
        if type_name not in NUMPY and type_name != "bfloat16":
            return  # decode() or encode() does not have it
        for wanted, found in zip(expected, results, strict=True):
            if wanted is not None and type_name.startswith("uint") and numpy.any(wanted.real < 0):
                continue  # beyond the type
            if wanted is None or found is None or wanted.shape != found.shape:
                continue
            exact = type_name not in PRECISION
            if exact and (type_name.startswith("complex") or not numpy.all(wanted == numpy.round(wanted.real)) or numpy.any(abs(wanted) > 100)):
                continue
            if type_name == "bool":
                continue  # numbers other than 0 and 1 are lost
            near = numpy.isclose(found, wanted, rtol=PRECISION.get(type_name, 0), atol=PRECISION.get(type_name, 0), equal_nan=True)
            if not near.all():
                worst = int(numpy.argmin(near))
                self.complain(row, type_name, 0, 0, f"{found.flat[worst]} instead of {wanted.flat[worst]} at {worst}")
                return
        self.counts["right"] += 1

    def walk(self, name, arguments):
        row = self.rows[name]
        order = list(calls.tensors_of(arguments))
        if not order:
            return
        first = calls.at(arguments, order[0]).type
        main = {place for place in order if calls.at(arguments, place).type == first}
        phase, status, message, expected = self.run(row, arguments, main)
        if phase != 0:
            self.complain(row, "as it is", phase, status, message)
            return
        self.counts["call"] += 1
        for type_name in TYPE_ORDER:
            for places in [main, *({place} for place in order)]:
                changed = calls.with_type(arguments, places, type_name)
                if changed == arguments:
                    continue
                phase, status, message, results = self.run(row, changed, main)
                if phase == 1 and status in REFUSED:
                    self.counts["refused"] += 1
                elif phase != 0:
                    which = "" if places == main else f" in {row.args[next(iter(places))[0]].name}"
                    self.complain(row, f"{type_name}{which}", phase, status, message)
                else:
                    self.counts["ran"] += 1
                    if places == main:
                        self.compare(row, type_name, expected, results)


def read_different(path):
    """{operator: regular expressions of what may differ}"""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and line[0] != "#":
            name, pattern, reason = line.split("\t")
            assert reason, f"{path.name}: {name} has no reason"
            found.setdefault(name, []).append(pattern)
    return found


def walk_all(names, path):
    """In this process; each operator's name is printed before it is walked, so that a crash has a name."""
    rows = {row.name: row for row in read_tables(calls.ROOT / "src" / "ops" / "table")[0]}
    walker = Walker(rows, read_different(HERE / "different.tsv"))
    known = calls.read(path)
    for name in names:
        print(f"WALK {name}", flush=True)
        walker.walk(name, known[name])
        for complaint in walker.complaints:
            print(f"BAD {complaint}", flush=True)
        walker.complaints.clear()
    print("COUNTS", " ".join(f"{key}={value}" for key, value in walker.counts.items()), flush=True)


def in_children(names, path):
    """All of them, starting again behind one that ends the process: (complaints, counts)."""
    complaints, counts = [], {}
    while names:
        done = subprocess.run([sys.executable, __file__, "--child", "--calls", path], input="\n".join(names), capture_output=True, text=True, check=False)
        walked = re.findall(r"^WALK (\w+)$", done.stdout, re.M)
        complaints += re.findall(r"^BAD (.*)$", done.stdout, re.M)
        for key, value in re.findall(r"(\w+)=(\d+)", "".join(re.findall(r"^COUNTS (.*)$", done.stdout, re.M))):
            counts[key] = counts.get(key, 0) + int(value)
        if done.returncode == 0:
            break
        if not walked:
            return [f"-\tthe walk cannot begin\texit {done.returncode}\t{done.stderr[-2000:]}"], counts
        complaints.append(f"{walked[-1]}\tended the process\texit {done.returncode}\t{' '.join(done.stderr[-300:].split())}")
        names = names[names.index(walked[-1]) + 1:]
    return complaints, counts


def chosen(pattern, part, path):
    names = [name for name in calls.read(path) if re.search(pattern, name)]
    which, _, of = part.partition("/")
    return names[int(which)::int(of)]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", metavar="REGEX", default="", help="only operators whose name matches")
    parser.add_argument("--part", metavar="K/N", default="0/1", help="each N-th operator, from the K-th on")
    parser.add_argument("--calls", metavar="FILE", default="calls.tsv", help="the calls, in this folder")
    parser.add_argument("--types", choices=("any", "documented"), default="any", help="MILLPOND_TYPES: whether the lists of CANN's pages refuse, too")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if options.child:
        walk_all(sys.stdin.read().split(), HERE / options.calls)
        return 0
    os.environ["MILLPOND_TYPES"] = options.types
    complaints, counts = in_children(chosen(options.ops, options.part, HERE / options.calls), options.calls)
    print("\n".join(complaints))
    print(f"{len(complaints)} complaints;", ", ".join(f"{value} {key}" for key, value in counts.items()))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

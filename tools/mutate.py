#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts deliberate bugs into a copy of the tree, one at a time, and demands that the suite named for each one fails.

    tools/mutate.py [--only TEXT] [--list]

A bug is tests/mutation/NAME.patch: a line `Bug:` that says what is wrong, `Target:` (what to build), `Filter:` (its gtest filter), and
the change. The copy is build/mutation/tree; the product's own files and builds are never touched. The suites must pass there without a
bug first, or "it failed" would mean nothing. One line for each bug; exit 1 when one is not caught or could not be tried.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests" / "mutation"
TREE = ROOT / "build" / "mutation" / "tree"
BUILD = TREE / "build" / "asan"
KEPT = ROOT / "build" / "mutation" / "kept"  # files as they were before a bug
SECONDS = 120  # for one suite; a bug may well make it hang
SHOWN_LINES = 30
# Opened by name when an operator runs, so no suite's target builds it; without it the suites skip what they are asked for.
KERNELS = "millpond_kernels"


@dataclass(frozen=True)
class Bug:
    name: str
    path: Path
    says: str
    target: str
    tests: str

    @staticmethod
    def read(path):
        told = dict(line.split(": ", 1) for line in path.read_text().split("\n--- ", 1)[0].splitlines() if ": " in line)
        return Bug(path.stem, path, told["Bug"], told["Target"], told["Filter"])

    def files(self):
        return [line[6:] for line in self.path.read_text().splitlines() if line.startswith("+++ b/")]


def bugs(only=""):
    return [bug for bug in map(Bug.read, sorted(PATCHES.glob("*.patch"))) if only in bug.name]


class Failed(Exception):
    """The tool could not do its work; no verdict on any test."""


def run(command, limit=None, **options):
    try:
        return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit,
                              check=False, **options)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, -1, f"{late.stdout or ''}\nno end after {limit} s")


def apply(bug, tree, *options):
    """git takes the copy for what it is, a folder: the repository around it would make it skip every file."""
    return run(["git", "apply", *options, bug.path], cwd=tree, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)})


def copy_tree():
    """The tracked files as they are now. What has not changed keeps its time, so that only the rest is built again."""
    listing = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    names = [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]
    if listing.returncode != 0 or not names:
        raise Failed(f"git ls-files does not list the tree: {listing.stdout[:300]}")
    for name in names:
        source, copy = ROOT / name, TREE / name
        if copy.exists() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    KEPT.mkdir(exist_ok=True)
    wanted = set(names)
    for path in [path for path in TREE.rglob("*") if path.is_file() and not path.is_relative_to(TREE / "build")]:
        if str(path.relative_to(TREE)) not in wanted:
            path.unlink()


def tail(text):
    return "\n".join(text.splitlines()[-SHOWN_LINES:])


def configure():
    """As for ASan: without torch, without optimisation across files, and in ccache since `./millpond test` built it."""
    done = run(["cmake", "--preset", "asan", "-DMILLPOND_TORCH_PYTHON=off"], cwd=TREE)
    if done.returncode != 0:
        raise Failed(f"the copy cannot be configured:\n{tail(done.stdout)}")


def build(targets):
    return run(["cmake", "--build", BUILD, "--target", *targets], env={"CCACHE_NOHASHDIR": "1", **os.environ, "CCACHE_BASEDIR": str(TREE)})


def suite(bug):
    return run([BUILD / "bin" / bug.target, f"--gtest_filter={bug.tests}", "--gtest_brief=1"], limit=SECONDS)


def check_suites(chosen):
    """Each suite passes without a bug, and has a test."""
    done = build([KERNELS, *sorted({bug.target for bug in chosen})])
    if done.returncode != 0:
        raise Failed(f"the copy cannot be built:\n{tail(done.stdout)}")
    for bug in {(bug.target, bug.tests): bug for bug in chosen}.values():
        found = suite(bug)
        if found.returncode != 0 or " 0 tests" in found.stdout or "[  PASSED  ] 0" in found.stdout or "[  SKIPPED ]" in found.stdout:
            raise Failed(f"{bug.target} {bug.tests} does not pass without a bug:\n{tail(found.stdout)}")


def is_caught(bug):
    before = {}  # the tree itself may be worked on meanwhile
    for name in bug.files():
        before[name] = KEPT / Path(name).name
        shutil.copy(TREE / name, before[name])
    applied = apply(bug, TREE)
    if applied.returncode != 0:
        raise Failed(f"{bug.path.name} does not apply:\n{applied.stdout}")
    try:
        built = build([bug.target])
        if built.returncode != 0:
            raise Failed(f"{bug.path.name} does not compile, so it proves nothing:\n{tail(built.stdout)}")
        return suite(bug).returncode != 0
    finally:
        for name, copy in before.items():
            shutil.copy(copy, TREE / name)


def try_out(bug):
    """Says how it went. A bug that cannot be tried is no reason to leave the rest untried."""
    start = time.monotonic()
    try:
        caught = is_caught(bug)
    except Failed as failure:
        print(f"UNTRIED {bug.name}: {failure}", flush=True)
        return False
    print(f"{'caught' if caught else 'SURVIVED'} {bug.name}: {bug.says} ({time.monotonic() - start:.0f} s)", flush=True)
    return caught


def main():
    parser = argparse.ArgumentParser(description="Deliberate bugs in a copy of the tree: the suite named for each must fail.")
    parser.add_argument("--only", default="", metavar="TEXT", help="only bugs whose name has this")
    parser.add_argument("--list", action="store_true", help="name them and end")
    arguments = parser.parse_args()
    chosen = bugs(arguments.only)
    if arguments.list or not chosen:
        print("\n".join(f"{bug.name}: {bug.says} ({bug.target} {bug.tests})" for bug in chosen) or f"no bug has '{arguments.only}' in its name")
        return 0 if chosen else 1
    try:
        copy_tree()
        configure()
        check_suites(chosen)
    except Failed as failure:
        print(f"failed: {failure}", flush=True)
        return 1
    caught = sum([try_out(bug) for bug in chosen])
    print(f"{caught} of {len(chosen)} bugs were caught")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks for a long time: random programs in each form, every failure many times, many ranks; nothing may be left behind.

    tools/ranks_long.py [--programs 2000] [--times 20] [--only TEXT]

Runs the suites of tests/hccl out of ./millpond test's build. After each it looks for processes, Unix sockets, files of /dev/shm and network
namespaces that were not there before. One line for each part; exit 1 when one failed or left something behind.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "cli"))
from layout import build_dir

SETTLE_SECONDS = 5  # a process that was killed may still be on its way out
BATCH = 100  # programs of one run, which has a limit of 100 s
FORMS = ("AsThreads", "AsProcesses", "AsHosts", "AsHostsInOrder")


@dataclass(frozen=True)
class Part:
    name: str
    program: str
    arguments: tuple = ()
    variables: tuple = ()


def parts(programs, times):
    found = [Part(f"{min(BATCH, programs - first)} random programs {form} from seed {first + 1}", "hccl_ranks_random_test",
                  (f"--gtest_filter=*.{form}",), (("MILLPOND_RANDOM_PROGRAMS", str(min(BATCH, programs - first))),
                                                  ("MILLPOND_RANDOM_SEED", str(first + 1))))
             for form in FORMS for first in range(0, programs, BATCH)]
    repeat = (f"--gtest_repeat={times}", "--gtest_brief=1")
    found += [Part(f"{program.removeprefix('hccl_').removesuffix('_test')} x {times}", program, repeat)
              for program in ("hccl_ranks_failure_test", "hccl_ranks_meeting_test", "hccl_ranks_hosts_test", "hccl_ranks_windows_test")]
    found.append(Part("64 ranks", "hccl_ranks_many_test", (), (("MILLPOND_MANY_RANKS", "64"),)))
    return found


def processes(folder):
    """pid: program of every process that runs one of the suites."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            program = os.readlink(entry / "exe")
        except OSError:
            continue
        if Path(program).parent == folder:
            found[int(entry.name)] = program
    return found


def traces(folder):
    """What ranks could leave behind, as a set of words."""
    # Sockets of ranks are named after the process that has them, or after what the ranks have in common.
    owners = {word.split("-")[1] for word in _socket_names() if word.split("-")[1].isdigit()}
    living = {pid for pid in owners if Path(f"/proc/{pid}").is_dir()}
    sockets = {f"socket {name}" for name in _socket_names() if name.split("-")[1] not in living}
    shared = {f"/dev/shm/{entry.name}" for entry in Path("/dev/shm").iterdir() if "millpond" in entry.name}
    spaces = Path("/run/netns")
    named = {f"network namespace {entry.name}" for entry in spaces.iterdir() if entry.name.startswith("mp_test_")} if spaces.is_dir() else set()
    return sockets | shared | named | {f"process {pid} ({program})" for pid, program in processes(folder).items()}


def _socket_names():
    lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    names = [line.split()[-1].lstrip("@") for line in lines if "@millpond-" in line]
    return [name for name in names if len(name.split("-")) > 1]


def left_behind(folder, before):
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := traces(folder) - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def run(part, folder):
    """(what went wrong or nothing, seconds)"""
    before = traces(folder)
    started = time.monotonic()
    done = subprocess.run([folder / part.program, *part.arguments], env=os.environ | dict(part.variables), capture_output=True, text=True,
                          errors="replace", check=False)
    span = time.monotonic() - started
    left = left_behind(folder, before)
    if done.returncode != 0:
        return f"ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}", span
    return f"left behind: {', '.join(sorted(left))}" if left else "", span


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    folder = (build_dir("release") / "bin").resolve()
    chosen = [part for part in parts(arguments.programs, arguments.times) if arguments.only in part.name]
    failed = 0
    for number, part in enumerate(chosen, 1):
        wrong, span = run(part, folder)
        failed += bool(wrong)
        print(f"[{number}/{len(chosen)}] {'FAILED' if wrong else 'passed'} {part.name} in {span:.0f} s{': ' if wrong else ''}{wrong}", flush=True)
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())

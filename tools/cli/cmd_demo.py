# SPDX-License-Identifier: Apache-2.0
"""`demo`: the project's main job, shown. A later issue appends a row to DEMOS and nothing else."""

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass

import ensure
import environment
import pytorch
import ui
from layout import ROOT, build_dir


@dataclass(frozen=True)
class Demo:
    name: str
    says: str  # what the reader is about to see
    command: tuple  # the first part is a target's file in build/release/bin, or a program on the PATH
    targets: tuple = ()  # CMake targets to build first
    torch: bool = False  # needs PyTorch, itself or for its kernels: left out, with a word, where torch is switched off


DEMOS = (
    Demo("two_streams_pool", "A C++ program with its own memory pool, on two streams of the virtual NPU.",
         ("two_streams_pool",), ("two_streams_pool",)),
    Demo("ge_allocator", "A graph on the program's own allocator: each block as it is given and freed.",
         ("ge_allocator",), ("ge_allocator",), torch=True),
    Demo("torch_allocator", "PyTorch with the vendor's torch_npu, as it is, on memory from an allocator of one's own.",
         ("python", "{root}/examples/torch_allocator/run.py", "{build}/examples/libmy_allocator.so"), ("my_allocator",), torch=True),
)


def demo(argv):
    parser = argparse.ArgumentParser(prog="./millpond demo", description="Builds and runs the examples on the virtual NPU.")
    parser.add_argument("name", nargs="?", choices=[row.name for row in DEMOS], help="one demo only (default: all)")
    environment.add_options(parser)
    arguments = parser.parse_args(argv)
    environment.check_inherited()
    wanted = [row for row in DEMOS if arguments.name in (None, row.name)]
    ensure.ready()
    targets = tuple(target for row in wanted for target in row.targets)
    ensure.build("release", targets=targets)
    variables = environment.for_program(arguments)
    failed = []
    for row in wanted:
        print(f"== {row.name}: {row.says}", flush=True)
        if row.torch and not pytorch.enabled():
            print(f"== {row.name}: not run, because {pytorch.SWITCH}=off", flush=True)
            continue
        started = time.monotonic()
        status = subprocess.run(_command(row), env=variables).returncode
        verdict = "done" if status == 0 else f"FAILED, exit status {status}"
        print(f"== {row.name}: {verdict} in {ui.seconds(time.monotonic() - started)}", flush=True)
        if status != 0:
            failed.append(row.name)
    if failed:
        raise ui.Stop(f"{len(failed)} of {len(wanted)} demos failed: {', '.join(failed)}")
    print("Next: ./millpond run -- YOUR_PROGRAM   or   eval \"$(./millpond env)\"")
    sys.stdout.flush()
    return 0


def _command(row):
    build = build_dir("release")
    first, *rest = [part.format(root=ROOT, build=build) for part in row.command]
    built = build / "bin" / first
    return [str(built) if built.exists() else first, *rest]

# SPDX-License-Identifier: Apache-2.0
"""`demo`: the project's main job, shown. A later issue appends a row to DEMOS and nothing else."""

import contextlib
import itertools
import subprocess
import sys
import time
from dataclasses import dataclass

import ensure
import environment
import pytorch
import ui
from arguments import Parser, one_of
from layout import ASCEND, COMMAND, IN_TREE, ROOT, build_dir


@dataclass(frozen=True)
class Demo:
    name: str
    says: str  # what the reader is about to see
    command: tuple  # the first part is a target's file in build/release/bin (installed: share/millpond/examples), or a program on the PATH
    targets: tuple = ()  # CMake targets to build first
    torch: bool = False  # needs PyTorch, itself or for its kernels: left out, with a word, where torch is switched off


DEMOS = (
    Demo("two_streams_pool", "A C++ program with its own memory pool, on two streams of the virtual NPU.",
         ("two_streams_pool",), ("two_streams_pool",)),
    Demo("ge_allocator", "A graph on the program's own allocator: each block as it is allocated and freed.",
         ("ge_allocator",), ("ge_allocator",), torch=True),
    Demo("torch_allocator", "PyTorch with the vendor's torch_npu, unmodified, on memory from a custom allocator.",
         ("python", "{examples}/torch_allocator/run.py", "{built}/libmy_allocator.so"), ("my_allocator",), torch=True),
)


def demo_parser():
    names = [row.name for row in DEMOS]
    parser = Parser("demo", description="Runs the examples on the virtual NPU, and builds them first where there is something to build.")
    parser.add_argument("name", nargs="?", type=one_of(names, "demo"), help=f"one demo only: {', '.join(names)} (default: all)")
    environment.add_options(parser)
    return parser


def demo(argv):
    arguments = demo_parser().parse_args(argv)
    environment.check_inherited()
    wanted = [row for row in DEMOS if arguments.name in (None, row.name)]
    count = len(wanted)
    failed = []
    if IN_TREE and not ensure.is_built():
        try:
            failed, wanted = _run_first(wanted, arguments)
        except ensure.NoTorch as stop:
            return _without_torch(stop, wanted)
    if wanted:
        ensure.ready()
        if IN_TREE:
            ensure.build("release", targets=tuple(target for row in wanted for target in row.targets))
        failed += _run(wanted, environment.for_program(arguments))
    if failed:
        raise ui.Stop(f"{len(failed)} of {count} demos failed: {', '.join(failed)}")
    print(f"Next: {COMMAND} run -- YOUR_PROGRAM   or   eval \"$({COMMAND} env)\"")
    sys.stdout.flush()
    return 0


def _without_torch(stop, wanted):
    """The core's demos have run; a download that cannot be had is no failure of theirs."""
    if not any(not row.torch for row in wanted):
        raise stop
    ui.say(str(stop))
    names = ", ".join(row.name for row in wanted if row.torch)
    print(f"Left out, because there is no torch: {names}. The lines above say how to get it.")
    print(f"C and C++ programs without operators run: {pytorch.SWITCH}=off {COMMAND} run -- YOUR_PROGRAM", flush=True)
    return 0


def _run_first(wanted, arguments):
    """On a tree that is not built: the demos that need the core alone, as soon as it is there. Torch, which is a download,
    comes meanwhile. Returns (those that failed, those that are left)."""
    first = list(itertools.takewhile(lambda row: not row.torch, wanted))
    left = wanted[len(first):]
    if not first:
        return [], left
    if left:
        ui.say(f"first the core and its demo; then torch's kernels and {len(left)} more: {', '.join(row.name for row in left)}")
    with ensure.torch_meanwhile() if left else contextlib.nullcontext():
        ensure.build_core(tuple(target for row in first for target in row.targets))
        variables = environment.for_program(arguments)
        # An older build/ascend must not come before what was just built.
        variables["LD_LIBRARY_PATH"] = f"{build_dir('release')}/lib64:{variables['LD_LIBRARY_PATH']}"
        failed = _run(first, variables)
        if failed:
            raise ui.Stop(f"{len(failed)} of {len(first) + len(left)} demos failed: {', '.join(failed)}")
        return failed, left


def _run(rows, variables):
    """Returns the names of those that failed."""
    failed = []
    for row in rows:
        print(f"== {row.name}: {row.says}", flush=True)
        if row.torch and _torch_is_missing():
            print(f"== {row.name}: not run, because {_torch_is_missing()}", flush=True)
            continue
        started = time.monotonic()
        status = subprocess.run(_command(row), env=variables, check=False).returncode
        verdict = "done" if status == 0 else f"FAILED, exit status {status}"
        print(f"== {row.name}: {verdict} in {ui.seconds(time.monotonic() - started)}", flush=True)
        if status != 0:
            failed.append(row.name)
    return failed


def _torch_is_missing():
    """Why a demo that needs torch is left out, or nothing. In the tree ensure.ready() has seen to it."""
    if not pytorch.enabled():
        return f"{pytorch.SWITCH}=off"
    if IN_TREE:
        return ""
    found = pytorch.probe(pytorch.chosen())
    return f"{found.python}: {' and '.join(found.complaints())}.\n   To see it: {pytorch.how_to_install()}" if found.complaints() else ""


def _command(row):
    examples = ROOT / "examples" if IN_TREE else ASCEND / "share" / "millpond" / "examples"
    programs = build_dir("release") / "bin" if IN_TREE else examples
    libraries = build_dir("release") / "examples" if IN_TREE else examples
    first, *rest = [part.format(examples=examples, built=libraries) for part in row.command]
    built = programs / first
    return [str(built) if built.exists() else first, *rest]

# SPDX-License-Identifier: Apache-2.0
"""`bench`: installs the peers, builds the benchmarks next to the release build, and runs bench/run.py."""

import argparse
import subprocess
from pathlib import Path

import ensure
import environment
import pytorch
from arguments import Parser, one_of
from layout import ROOT, VENV, build_dir


NAMES = ("launch", "memory", "plan", "pool", "torch", "graph", "ranks", "acl", "check", "compile", "start")
PEERS = "requirements-bench.txt"

# The one program that is also measured without trace hooks, in a build of its own.
NO_TRACE = "release-notrace"
NO_TRACE_TARGET = "mp_bench_launch_trace"


def bench_parser():
    parser = Parser("bench", description="Runs the benchmarks against their peers.")
    parser.add_argument("name", nargs="?", type=one_of(NAMES, "benchmark"), help=f"one benchmark only: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the rows as JSON")
    parser.add_argument("--keep", action="store_true", help="keep the rows in bench/results, and write docs/performance.md anew")
    parser.add_argument("--trace", metavar="FILE", type=Path, help="pool: replay this trace (lines op,id,size,stream)")
    parser.add_argument("--problems", metavar="DIR", type=Path, help="plan: also the problems of this folder (MiniMalloc's CSV)")
    parser.add_argument("--repetitions", metavar="N", help="of each program, in turn")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed or has no figure")
    parser.add_argument("--smoke", action="store_true", help="tiny counts: does everything still run?")
    return parser


def bench(argv):
    arguments = bench_parser().parse_args(argv)
    ensure.packages()
    ensure.packages("debian-packages-bench.txt")
    ensure.ready()
    if arguments.name in (None, "plan", "graph"):
        ensure.venv_list(PEERS)
    sources = (*ensure.SOURCES, *ensure.TEST_SOURCES, "bench")
    ensure.build("release", targets=(), defines=("-DMILLPOND_BENCH=ON",), sources=sources)
    command = [str(VENV / "bin" / "python"), str(ROOT / "bench" / "run.py")]
    if arguments.name:
        command.append(arguments.name)
    if arguments.json:
        command += ["--json", str(arguments.json.absolute())]
    if arguments.trace:
        command += ["--trace", str(arguments.trace.absolute())]
    if arguments.problems:
        command += ["--problems", str(arguments.problems.absolute())]
    if arguments.repetitions:
        command += ["--repetitions", arguments.repetitions]
    command += ["--check"] if arguments.check else []
    command += ["--keep"] if arguments.keep else []
    command += ["--smoke"] if arguments.smoke else []
    command += ["--bin-dir", str(build_dir("release") / "bin"), "--torch-python", str(pytorch.to_build_against() or "off")]
    if arguments.name in (None, "launch"):
        ensure.build("release", targets=(NO_TRACE_TARGET,), defines=("-DMILLPOND_BENCH=ON", "-DMILLPOND_TRACE=OFF"),
                     sources=sources, name=NO_TRACE)
        command += ["--no-trace-bin-dir", str(build_dir(NO_TRACE) / "bin")]
    return subprocess.run(command, env=environment.for_program(argparse.Namespace()), check=False).returncode

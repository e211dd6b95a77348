# SPDX-License-Identifier: Apache-2.0
"""`bench`: installs the peers, builds the benchmarks beside the release build, and hands over to bench/run.py."""

import argparse
import subprocess
from pathlib import Path

import ensure
import environment
from layout import ROOT, VENV, build_dir


def bench(argv):
    parser = argparse.ArgumentParser(prog="./millpond bench", description="Runs the benchmarks beside their peers.")
    parser.add_argument("name", nargs="?", help="one benchmark only, e.g. launch or memory (default: all)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the rows as JSON")
    arguments = parser.parse_args(argv)
    ensure.packages("debian-packages-bench.txt")
    ensure.ready()
    ensure.build("release", targets=(), defines=("-DMILLPOND_BENCH=ON",), sources=(*ensure.SOURCES, *ensure.TEST_SOURCES, "bench"))
    command = [str(VENV / "bin" / "python"), str(ROOT / "bench" / "run.py")]
    if arguments.name:
        command.append(arguments.name)
    if arguments.json:
        command += ["--json", str(arguments.json.absolute())]
    command += ["--bin-dir", str(build_dir("release") / "bin")]
    return subprocess.run(command, env=environment.for_program(argparse.Namespace())).returncode

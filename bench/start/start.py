#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program pays before its first result, and what the runtime keeps while it does nothing."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMES = 7
SKIP = 77


def say(subject, metric, unit, value):
    print(json.dumps({"subject": subject, "metric": metric, "unit": unit, "value": value}), flush=True)


def seconds(command, times=TIMES, **options):
    """The median of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, **options)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def from_program(program, what, *flags, environment=None):
    done = subprocess.run([program, "--what", what, *flags], check=True, capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})
    return json.loads(done.stdout.splitlines()[-1])["value"]


def medians(program, times):
    for what, metric, unit in (("init", "init_resident", "MB"), ("memset", "init_to_memset", "ms"), ("streams", "idle_stream", "KiB")):
        say("ours", metric, unit, statistics.median(from_program(program, what) for _ in range(times)))


LOAD = """
import ctypes, sys, time
start = time.perf_counter()
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
print(time.perf_counter() - start)
"""


def first_kernel(program, times, library):
    """In turn, since both read the same pages."""
    ours, loads = [], []
    for _ in range(times):
        ours.append(from_program(program, "kernel"))
        loads.append(1000 * float(subprocess.run([sys.executable, "-c", LOAD, library], check=True, capture_output=True,
                                                 text=True).stdout))
    say("ours", "init_to_kernel", "ms", statistics.median(ours))
    say("libtorch", "init_to_kernel", "ms", statistics.median(loads))
    say("ours", "init_to_kernel_beyond", "ms", statistics.median(a - b for a, b in zip(ours, loads)))


def torch_library():
    import importlib.util
    found = importlib.util.find_spec("torch")
    library = pathlib.Path(found.origin).parent / "lib" / "libtorch_cpu.so" if found else None
    return str(library) if library is not None and library.exists() else None


IMPORT = "import time; start = time.perf_counter(); import acl; print(time.perf_counter() - start)"


def import_acl(times):
    """PYTHONPATH and the libraries' are run.py's."""
    taken = [float(subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True).stdout)
             for _ in range(times)]
    say("ours", "import_acl", "ms", 1000 * statistics.median(taken))


def command_line(times):
    command = [str(ROOT / "millpond"), "run", "--", "true"]
    subprocess.run(command, check=True, capture_output=True)  # builds what is stale
    say("ours", "run_true", "ms", 1000 * seconds(command, times))


def all_operators(times):
    """The operators' prototypes as a program of users includes them, with the headers of the tree that is installed."""
    tree = ROOT / "build" / "ascend"
    compiler = shutil.which("c++") or "g++"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "all.cc"
        source.write_text('#include "all_ops.h"\nint main() { return 0; }\n', encoding="utf-8")
        command = [compiler, "-std=c++17", "-c", str(source), "-o", os.devnull, "-I", str(tree / "opp/built-in/op_proto/inc"),
                   "-I", str(tree / "include")]
        say("ours", "include_all_ops", "s", seconds(command, times))


def trace(program, tasks):
    with tempfile.TemporaryDirectory() as folder:
        variables = {"MILLPOND_TRACE": str(pathlib.Path(folder) / "trace.json")}
        say("ours", "trace_growth", "MB", from_program(program, "trace", "--tasks", str(tasks), environment=variables))


def skip(reason):
    print(reason, file=sys.stderr)
    return SKIP


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("process", "kernel", "tree"), required=True)
    parser.add_argument("--program", required=True, help="mp_bench_start")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="of the traced run; 10^7 of them write 3 GB")
    parser.add_argument("--smoke", action="store_true")
    arguments = parser.parse_args()
    times = 1 if arguments.smoke else TIMES
    if arguments.part == "tree":
        if arguments.smoke:
            return skip("what needs the installed tree is not run in a smoke run, which must not make one")
        command_line(times)
        all_operators(min(times, 3))
    elif arguments.part == "kernel":
        library = torch_library()
        if library is None:
            return skip("no torch in this Python, and so no kernels")
        first_kernel(arguments.program, times, library)
    else:
        medians(arguments.program, times)
        import_acl(times)
        trace(arguments.program, 1000 if arguments.smoke else arguments.tasks)
    return 0


if __name__ == "__main__":
    sys.exit(main())

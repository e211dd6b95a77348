#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks: ours and the peers in turn, medians, a table for people and JSON rows for programs."""

import argparse
import datetime
import json
import lzma
import os
import pathlib
import platform
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "tools" / "cli")]
import files
import page
import rows

SKIP_EXIT_CODE = 77
PROGRAM_TIMEOUT_S = 600
MIN_REPETITIONS = 5
QUIET_LOAD = 0.5
BENCH = pathlib.Path(__file__).resolve().parent
DEFAULT_TRACE = BENCH / "traces" / "resnet50_train.csv"
TRACE_ROUNDS_PER_REPETITION = 3  # nanoseconds apart: more samples than elsewhere


class Failure(Exception):
    """A program that could not be run or read; the message says which and why."""


class Skipped(Exception):
    """A program that says it cannot run on this machine; the message is its reason."""


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(rows.PROGRAMS), help="one benchmark; all when absent")
    parser.add_argument("--bin-dir", required=True, type=pathlib.Path, help="where the mp_bench_* programs are")
    parser.add_argument("--no-trace-bin-dir", type=pathlib.Path, help="the same of a build with MILLPOND_TRACE=OFF")
    parser.add_argument("--torch-python", default=sys.executable, metavar="FILE",
                        help="the Python that has torch and torch_npu, or off when Millpond was built without them")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows as a JSON array")
    parser.add_argument("--keep", action="store_true", help="keep the rows in bench/results, and write docs/performance.md anew")
    parser.add_argument("--repetitions", type=int, default=7, help="of each program, in turn (default 7, least 5)")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed or has no figure")
    parser.add_argument("--smoke", action="store_true", help="tiny counts, one repetition: does everything still run?")
    parser.add_argument("--trace", type=pathlib.Path, metavar="FILE",
                        help=f"pool only: the trace to replay, lines op,id,size,stream (default {DEFAULT_TRACE.name})")
    parser.add_argument("--problems", type=pathlib.Path, metavar="DIR",
                        help="plan only: also the problems of this folder, CSV files in MiniMalloc's format")
    arguments = parser.parse_args(argv)
    if arguments.problems and not arguments.problems.is_dir():
        parser.error(f"--problems {arguments.problems}: no such folder")
    if arguments.trace and arguments.name not in (None, "pool"):
        parser.error(f"--trace belongs to the benchmark pool, not to {arguments.name}")
    if arguments.trace and not arguments.trace.is_file():
        parser.error(f"--trace {arguments.trace}: no such file")
    if arguments.smoke and (arguments.check or arguments.keep):
        parser.error("--check or --keep with --smoke: a smoke run's figures mean nothing")
    if arguments.smoke:
        arguments.repetitions = 1
    elif arguments.repetitions < MIN_REPETITIONS:
        parser.error(f"--repetitions {arguments.repetitions}: a median needs at least {MIN_REPETITIONS}")
    return arguments


def run_program(path, flags, preload=None, python=None, libraries=None):
    """The program's standard output; raises Failure or Skipped. A script is run by `python` with `libraries`."""
    if not path.exists():
        raise Failure(f"{path.name} is not in {path.parent}: configure with -DMILLPOND_BENCH=ON and build")
    environment = dict(os.environ)
    if python:  # torch_npu loads CANN's libraries by name
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(libraries), os.environ.get("LD_LIBRARY_PATH")]))
        packages = libraries.parent / "python" / "site-packages"
        environment["PYTHONPATH"] = ":".join(filter(None, [str(packages), os.environ.get("PYTHONPATH")]))
    environment.setdefault("POCL_CACHE_DIR", str(path.parent / "pocl_cache"))
    if preload:
        environment["LD_PRELOAD"] = preload
    try:
        done = subprocess.run([*([python] if python else []), path, *flags], capture_output=True, text=True, env=environment,
                              timeout=PROGRAM_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{path.name} did not end within {PROGRAM_TIMEOUT_S} s") from None
    # The loader complains before the program can say what to do about it.
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("ERROR: ld.so")]
    reason = said[0].strip() if said else "no message on stderr"
    if done.returncode == SKIP_EXIT_CODE:
        raise Skipped(f"{path.name}: {reason}")
    if done.returncode != 0:
        raise Failure(f"{path.name} ended with {done.returncode}: {reason}")
    return done.stdout


def read_lines(output):
    """(subject, metric, unit, value) of our own programs' lines."""
    for line in output.splitlines():
        if not line.startswith("{"):  # the wheel says on standard output that ASCEND_HOME_PATH is not set
            continue
        sample = json.loads(line)
        yield sample["subject"], sample["metric"], sample["unit"], sample["value"]


def read_google_benchmark(output):
    """The same of Google Benchmark's JSON: names are subject/metric/KiB/real_time."""
    for entry in json.loads(output)["benchmarks"]:
        if entry.get("run_type") != "iteration":
            continue
        subject, metric, kib = entry["name"].split("/")[:3]
        size = f"{kib}KiB" if int(kib) < 1024 else f"{int(kib) // 1024}MiB"
        yield subject, f"{metric}_{size}", entry["time_unit"], entry["real_time"]


def model_file(name, bin_dir):
    """An ONNX file of bench/graph/models.py, made once and kept beside the programs."""
    sys.path.insert(0, str(BENCH / "graph"))
    try:
        import models  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Skipped(f"{name}: {error}; requirements.txt has what makes the models") from None
    return models.ready(name, bin_dir.absolute().parent / "bench_models")


def collect_once(program, bin_dir, smoke, samples, subject=None, flags=(), python=None):
    """Adds one repetition of one program to `samples`, under `subject` where given."""
    if program.model:
        flags = [*flags, "--model", str(model_file(program.model, bin_dir))]
    if program.script:
        flags = [*program.flags, *flags, *(["--smoke"] if smoke else [])]
        found = read_lines(run_program(BENCH / program.name, flags, python=python,
                                       libraries=bin_dir.absolute().parent / "lib64"))
    elif program.google_benchmark:
        flags = ["--benchmark_format=json", "--benchmark_enable_random_interleaving=true"]
        flags += ["--benchmark_min_time=0.001"] if smoke else ["--benchmark_min_time=0.05"]
        found = read_google_benchmark(run_program(bin_dir / program.name, flags))
    else:
        if program.needs and not (bin_dir / program.name).exists():
            raise Skipped(f"{program.name} was not built, for want of {program.needs}")
        flags = [*program.flags, *flags, *(["--smoke"] if smoke else [])]
        found = read_lines(run_program(bin_dir / program.name, flags, program.preload))
    for found_subject, metric, unit, value in found:
        samples.add(subject or found_subject, metric, unit, value)


class Run:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rows = []
        self.failures = []
        self.skips = []
        self.notes = []

    def progress(self, text):
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def attempt(self, action):
        """Runs action(); False when its program is missing, broken or skipped, which is remembered once."""
        try:
            action()
            return True
        except Skipped as skipped:
            self.skips.append(str(skipped))
        except (Failure, ValueError, KeyError) as failure:
            self.failures.append(str(failure))
        return False

    def pool_flags(self):
        """What all programs of `pool` are told, chosen once: the trace, and sizes that this device can hold."""
        trace = self.arguments.trace or DEFAULT_TRACE
        output = run_program(self.arguments.bin_dir / "mp_bench_pool_torch", ["--only", "memory"])
        device = next(value for _, metric, _, value in read_lines(output) if metric == "memory")
        largest, live = rows.mixed_sizes(device)
        self.notes.append(f"pool: replays {trace.name}; the device has {device / 2**30:.0f} GiB, so mixed is "
                          f"{rows.MIXED_LIVE:,} live blocks of 512 B to {largest >> 20} MiB, and mixed_wide is "
                          f"{live:,} of 512 B to {rows.MIXED_LARGEST >> 20} MiB")
        return ["--trace", str(trace.absolute()), "--mixed-largest", str(largest), "--wide-live", str(live),
                *self.family_flags()]

    def family_flags(self):
        """The recorded runs, unpacked beside the programs' folder once."""
        folder = self.arguments.bin_dir.absolute().parent / "bench_traces"
        folder.mkdir(exist_ok=True)
        paths = []
        for name in (*rows.FAMILY, *rows.UNSEEN_FAMILY):
            packed = (BENCH / "traces" / f"{name}.csv.xz").read_bytes()
            path = folder / f"{name}.csv"
            files.write_whole(path, lzma.decompress(packed).decode("ascii"))
            paths.append(str(path))
        return ["--family", ":".join(paths)]

    def plan_flags(self):
        flags = ["--program", str(self.arguments.bin_dir.absolute() / "millpond-plan")]
        return [*flags, "--problems", str(self.arguments.problems.absolute())] if self.arguments.problems else flags

    def graph_flags(self):
        programs = self.arguments.bin_dir.absolute()
        return ["--program", str(programs / "mp_bench_graph_ours"), "--folder", str(programs.parent / "bench_models")]

    def check_flags(self):
        programs = self.arguments.bin_dir.absolute()
        self.notes.append("check: ours is the checked run; unchecked_queue has torch_npu's task queue, which checking turns off. Of the builds with "
                          "ASan and TSan only the program itself is instrumented. What checking costs when it is off: launch, trace_off_*")
        return ["--bin-dir", str(programs), "--folder", str(programs.parent / "bench_models")]

    def comparisons(self, name):
        """The table's, and for `plan` those of the problems that were given."""
        if name != "plan" or not self.arguments.problems:
            return rows.COMPARISONS[name]
        given = [path.stem for path in sorted(self.arguments.problems.glob("*.csv"))]
        return [*rows.COMPARISONS[name], *[row for stem in given for row in rows.given_problem(stem)]]

    def python(self, name, program):
        """Runs the scripts; those that need torch are not run without it. The other peers are in .venv alone."""
        if name == "plan" or (name == "graph" and "eager" not in program.flags) or (name == "check" and "torch" not in program.flags):
            return sys.executable
        return sys.executable if self.arguments.torch_python == "off" else self.arguments.torch_python

    def run_bench(self, name):
        samples = rows.Samples()
        programs = list(rows.PROGRAMS[name])
        flags = []
        if name == "check" and self.arguments.torch_python == "off":
            self.skips.append("check of torch, graphs and models: this build has no torch (MILLPOND_TORCH is off), and so no kernels")
            programs = programs[:1]
        if name == "torch":
            if self.arguments.torch_python == "off":
                self.skips.append("torch: this build has no torch (MILLPOND_TORCH is off)")
                return
            threads = os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
            self.notes.append(f"torch: ours and the peers run with {threads} threads each")
        if name == "ranks" and self.arguments.torch_python == "off":
            programs = [program for program in programs if not program.script]
            self.skips.append("ranks: no Gloo beside us, for this build has no torch (MILLPOND_TORCH is off)")
        if name == "plan":
            flags = self.plan_flags()
        if name == "graph":
            flags = self.graph_flags()
            self.notes.append("graph: Nt is N threads; with one sample at a time and float32 everywhere")
        if name == "check":
            flags = self.check_flags()
        if name in ("compile", "start"):
            flags = ["--program", str(self.arguments.bin_dir.absolute() / f"mp_bench_{name}")]
        if name == "compile":
            self.notes.append("compile: seconds of building a graph by operators and compiling it; an exponent of 1 is linear")
        if name == "pool" and not self.attempt(lambda: flags.extend(self.pool_flags())):
            return
        for repetition in range(self.arguments.repetitions):
            for program in list(programs):
                if program.once and repetition > 0:
                    continue
                self.progress(f"{name}: repetition {repetition + 1} of {self.arguments.repetitions}, {program.title}")
                if not self.attempt(lambda p=program: collect_once(p, self.arguments.bin_dir, self.arguments.smoke,
                                                                   samples, flags=flags, python=self.python(name, p))):
                    programs.remove(program)
        if name == "pool":
            rows.add_family(samples)
        self.progress("")
        missing = []
        for comparison in self.comparisons(name):
            row = rows.make_row(name, comparison, samples)
            self.rows.append(row)
            if row["ours"] is None or (row["ratio"] is None and row["peer"] != rows.NO_PEER):
                missing.append(f"{row['metric']} against {row['peer']}")
        # A program that failed or was skipped has said so; a row missing though all ran is a fault of its own.
        if missing and programs == rows.PROGRAMS[name]:
            self.failures.append(f"{name}: no figures for {', '.join(missing)}")

    def run_trace_off(self):
        other = self.arguments.no_trace_bin_dir
        if other is None:
            self.skips.append("trace_off: needs a second build; give --no-trace-bin-dir DIR of one configured with "
                              "-DMILLPOND_TRACE=OFF")
            return
        samples = rows.Samples()
        rounds = 1 if self.arguments.smoke else TRACE_ROUNDS_PER_REPETITION * self.arguments.repetitions
        for number in range(rounds):
            self.progress(f"trace_off: round {number + 1} of {rounds}")
            for bin_dir, subject in ((self.arguments.bin_dir, "ours"), (other, "no_trace")):
                if not self.attempt(lambda d=bin_dir, s=subject: collect_once(
                        rows.TRACE_PROGRAM, d, self.arguments.smoke, samples, subject=s)):
                    return
        self.progress("")
        self.rows += [rows.make_trace_row(metric, samples) for metric in rows.TRACE_METRICS]


def show(value, digits=4):
    if value is None:
        return "-"
    if value >= 10 ** digits:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def print_table(all_rows):
    heads = ["bench", "metric", "unit", "ours", "peer", "peer value", "ratio", "goal", "verdict"]
    keys = ["bench", "metric", "unit", "ours", "peer", "peer_value", "ratio", "goal", "verdict"]
    lines = [[show(row[key]) if isinstance(row[key], float) else (row[key] or "-") for key in keys] for row in all_rows]
    widths = [max(len(line[i]) for line in [heads, *lines]) for i in range(len(heads))]
    numeric = {3, 5, 6}
    for line in [heads, ["-" * width for width in widths], *lines]:
        cells = [cell.rjust(width) if i in numeric else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def huge_pages(kind):
    try:
        text = pathlib.Path(f"/sys/kernel/mm/transparent_hugepage/{kind}").read_text(encoding="ascii")
        return text.split("[")[1].split("]")[0]
    except (OSError, IndexError):
        return "unknown"


def cpu_name():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def main(argv):
    arguments = parse_arguments(argv)
    run = Run(arguments)
    load = os.getloadavg()[0]
    for name in [arguments.name] if arguments.name else rows.PROGRAMS:
        run.run_bench(name)
        if name == "launch":
            run.run_trace_off()
    print(f"{cpu_name()}, {os.cpu_count()} CPUs, Linux {platform.release()}, huge pages: anonymous "
          f"{huge_pages('enabled')}, shared {huge_pages('shmem_enabled')}; medians of {arguments.repetitions}")
    if load > QUIET_LOAD:
        print(f"load average was {load:.1f} at the start: others were computing, so read the figures with care")
    print("ratio: how many times better ours is (above 1: ours is better); verdict: is the goal reached")
    for note in run.notes:
        print(note)
    if arguments.smoke:
        print("SMOKE RUN: tiny counts, these figures mean nothing")
    print_table(run.rows)
    for reason in run.skips:
        print(f"skipped: {reason}")
    for reason in run.failures:
        print(f"failed: {reason}", file=sys.stderr)
    if arguments.json:
        files.write_whole(arguments.json, json.dumps(run.rows, indent=1) + "\n")
    if arguments.keep:
        keep(run.rows, arguments.repetitions, load)
    missed = rows.missed(run.rows) if arguments.check else []
    for row in missed:
        print(f"goal missed: {row['bench']} {row['metric']} against {row['peer']}: {row['goal']}, but {reached(row)}", file=sys.stderr)
    return 1 if run.failures or missed else 0


def keep(all_rows, repetitions, load):
    """bench/results/NAME.json of each benchmark that ran, with the machine, the day and the commit; then the page made of them."""
    commit = subprocess.run(["git", "-C", BENCH, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False).stdout.strip()
    about = {"machine": f"{cpu_name()}, {os.cpu_count()} CPUs, {isa()}", "date": datetime.date.today().isoformat(), "commit": commit or "unknown",
             "repetitions": repetitions, "load": round(load, 2)}
    page.RESULTS.mkdir(exist_ok=True)
    for name in sorted({row["bench"] for row in all_rows}):
        kept = {**about, "rows": [row for row in all_rows if row["bench"] == name]}
        files.write_whole(page.RESULTS / f"{name}.json", json.dumps(kept, indent=1) + "\n")
    page.main([])


def isa():
    """The widest vectors that this CPU has, and the cap on them where one is set."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "unknown vectors"
    widest = "AVX-512" if " avx512f" in text else "AVX2" if " avx2" in text else "no AVX2"
    cap = os.environ.get("ATEN_CPU_CAPABILITY")
    return f"{widest} capped to {cap}" if cap else widest


def reached(row):
    if row["verdict"] is None:
        return "there is no figure"
    return f"ours is {show(row['ours'])} {row['unit']}, theirs {show(row['peer_value'])}, the ratio {show(row['ratio'])}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

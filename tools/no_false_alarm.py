#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every example, and programs of the tests that are right, under the checker with many seeds and demands that none earns an error.

    tools/no_false_alarm.py [--seeds 0-63] [--only TEXT] [--list]

Programs that need several minutes by themselves run with fewer steps; what they launch is the same. Those of torch_npu are forked from one process for
each seed that has it loaded (forked_programs.py), ranks too, which torchrun would start otherwise. Needs ./millpond test's build.
One line for each example; exit 1 when one earned an error, did not end well, or could not be run.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "cli"))
import environment
import pytorch
from layout import VENV, build_dir

EXAMPLES = ROOT / "examples"
PROGRAMS = ROOT / "tests" / "torch" / "programs"
INTERPRETER = VENV / "bin" / "python"
SECONDS = 900  # for one run
COMPILED = ("two_streams_pool", "pool_check", "pool_acl", "pool_ge", "ge_allocator", "ge_unregister", "ge_run_async", "acl_allocator", "acl_model")
# Each shows something wrong on purpose, and says so.
ON_PURPOSE = {"ge_run_async": ("MP305", "MP308"), "ge_unregister": ("MP306", "MP212"), "torch_allocator/run.py": ("MP401",)}
PYTHON = ("acl_python/allocator_on_stream.py", "acl_python/dynamic_model.py", "ge_python/own_allocator.py")
# Wrong as they stand, right when they are told so.
MENDED = ("check/pyacl_copy.py",)
TORCH_MENDED = ("check/torch_race.py",)
# Of the tests: all collectives, and operators that take a group's name, on two ranks.
RANK_PROGRAMS = ("collectives.py", "group_operators.py")
# Of the tests too: what ends in an order that examples do not have.
TORCH_PROGRAMS = ("compiled_until_exit.py",)
NOT_PROGRAMS = {"common"}
FEW_STEPS = ("--steps", "2")
ARGUMENTS = {"train_bert": FEW_STEPS, "train_gpt2": FEW_STEPS, "train_resnet18": FEW_STEPS, "train_vit": FEW_STEPS, "mixed_precision": FEW_STEPS,
             "generate_llama": ("--words", "4")}
NEEDS = {"triton_kernel": "triton"}  # a package that is no requirement
VARIABLES = {"two_devices": {"MILLPOND_DEVICES": "2"}, "out_of_memory": {"MILLPOND_MEMORY": "256M"}}
RANKS = {"ddp": 2}
TORCH = {"TASK_QUEUE_ENABLE": "0"}  # as ./millpond check sets it


@dataclass(frozen=True)
class Example:
    name: str
    command: tuple
    variables: tuple = ()
    ranks: int = 0  # of a program of torch_npu; 0: any other one

    @property
    def is_forked(self):
        return self.ranks > 0


def examples():
    found = [Example(name, (build_dir("release") / "bin" / name,)) for name in COMPILED]
    found += [Example(name, (INTERPRETER, EXAMPLES / name)) for name in PYTHON]
    found += [Example(name, (INTERPRETER, EXAMPLES / name, "mended")) for name in MENDED]
    return found + (torch_examples() if pytorch.enabled() else [])


def torch_examples():
    found = []
    for folder in ("torch", "torchair", "pool_torch"):
        for path in sorted((EXAMPLES / folder).glob("*.py")):
            if path.stem in NOT_PROGRAMS or is_missing(path.stem):
                continue
            ranks = RANKS.get(path.stem, 1)
            variables = {**TORCH, **VARIABLES.get(path.stem, {}), **({"MILLPOND_DEVICES": str(ranks)} if ranks > 1 else {})}
            arguments = ARGUMENTS.get(path.stem, ()) if folder == "torch" else ()
            found.append(Example(f"{folder}/{path.name}", (path, *arguments), tuple(variables.items()), ranks))
    found += [Example(name, (EXAMPLES / name, "mended"), tuple(TORCH.items()), 1) for name in TORCH_MENDED]
    found += [Example(f"programs/{name}", (PROGRAMS / name,), (*TORCH.items(), ("MILLPOND_DEVICES", "2")), 2) for name in RANK_PROGRAMS]
    found += [Example(f"programs/{name}", (PROGRAMS / name,), tuple(TORCH.items()), 1) for name in TORCH_PROGRAMS]
    library = build_dir("release") / "examples" / "libmy_allocator.so"
    found.append(Example("torch_allocator/run.py", (EXAMPLES / "torch_allocator" / "run.py", library), tuple(TORCH.items()), 1))
    return found


def is_missing(name):
    package = NEEDS.get(name)
    if package is None or importlib.util.find_spec(package) is not None:
        return False
    print(f"left out: {name}, which needs {package}", flush=True)
    return True


def checked(base, variables, seed, lines):
    return {**base, **dict(variables), "MILLPOND_SEED": str(seed), "MILLPOND_CHECK": "1", "MILLPOND_CHECK_STATUS": "keep",
            "MILLPOND_CHECK_JSON": str(lines), "OMP_NUM_THREADS": "1"}


def alarm(example, seed, base):
    """What is wrong with one run, or None."""
    with tempfile.TemporaryDirectory(prefix="millpond-alarm-") as folder:
        lines = Path(folder) / "lines"
        try:
            done = subprocess.run(list(map(str, example.command)), cwd=folder, env=checked(base, example.variables, seed, lines), capture_output=True,
                                  text=True, errors="replace", timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"could not be run: {error}"
        told = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return verdict_of(example.name, done.returncode, told, lines.read_text(encoding="utf-8", errors="replace") if lines.exists() else "")


def verdict_of(name, status, told, findings):
    errors = [f"{row['rule']} {row['message']}" for row in errors_in(findings) if row["rule"] not in ON_PURPOSE.get(name, ())]
    if errors:
        return "; ".join(errors)
    if status != 0:
        return f"ended with {status}: {told[-1500:]}"
    return None if findings else "no process was checked"


def forked_alarms(chosen, seed, base):
    """{name: what is wrong} of programs of torch_npu with one seed: a server for each set of variables, which are read when it starts."""
    wrong = {}
    for variables in dict.fromkeys(example.variables for example in chosen):
        jobs = [{"name": example.name, "command": list(map(str, example.command)), "ranks": example.ranks, "seconds": SECONDS}
                for example in chosen if example.variables == variables]
        with tempfile.TemporaryDirectory(prefix="millpond-alarm-") as folder:
            done = subprocess.run([INTERPRETER, ROOT / "tools" / "forked_programs.py"], input=json.dumps(jobs), cwd=folder, check=False,
                                  env=checked(base, variables, seed, Path(folder) / "lines"), capture_output=True, text=True, errors="replace")
        answers = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
        for job in jobs:
            row = answers.get(job["name"])
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            wrong[job["name"]] = verdict_of(job["name"], row["status"], row["told"], row["findings"]) if row else f"could not be run: {last}"
    return wrong


def errors_in(text):
    """The errors among what checked processes wrote."""
    found = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue  # the last line of a process that was killed
        if row.get("event") == "finding" and row.get("severity") == "error":
            found.append(row)
    return found


def parse_seeds(text):
    first, _, last = text.partition("-")
    try:
        seeds = range(int(first), int(last or first) + 1)
    except ValueError:
        seeds = ()
    if not seeds:
        raise argparse.ArgumentTypeError(f"'{text}' names no seeds; write 7 or 0-63")
    return seeds


def choose(parser, everything):
    """The arguments, and those of everything that they ask for; ends the program where they ask for names alone, or for none that is there."""
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose name has it")
    parser.add_argument("--list", action="store_true", help="only name them")
    arguments = parser.parse_args()
    chosen = [one for one in everything if arguments.only in one.name]
    if arguments.list or not chosen:
        print("\n".join(one.name for one in everything))
        sys.exit(0 if arguments.list else f"no name has '{arguments.only}' in it; these are there")
    return arguments, chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=parse_seeds, default=range(64), help="0-63 unless given")
    arguments, chosen = choose(parser, examples())
    base = environment.for_program(argparse.Namespace())
    forked = [example for example in chosen if example.is_forked]
    judges = Judges(len(chosen), arguments.seeds)
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as workers:
        for example in chosen:
            if not example.is_forked:
                judges.tell(example.name, list(workers.map(lambda seed, e=example: alarm(e, seed, base), arguments.seeds)))
        if forked:
            by_seed = judges.watched(workers.map(lambda seed: forked_alarms(forked, seed, base), arguments.seeds), len(forked))
            for example in forked:
                judges.tell(example.name, [wrong[example.name] for wrong in by_seed])
    return 1 if judges.bad else 0


class Judges:
    """Tells of one example after the other."""

    def __init__(self, total, seeds):
        self._total, self._seeds = total, seeds
        self._told = self.bad = 0
        self._started = time.monotonic()

    def watched(self, by_seed, programs):
        """The same as a list, with a line for each seed: all programs of a seed come before the next one."""
        found = []
        for seed, wrong in zip(self._seeds, by_seed):
            found.append(wrong)
            since = time.monotonic() - self._started
            print(f"seed {seed}: {programs} programs of torch_npu, {sum(map(bool, wrong.values()))} with alarms, {since:.0f} s after the start", flush=True)
            for name, what in wrong.items():
                if what:  # at once: a run of many seeds may not come to its end
                    print(f"ALARM {name} with seed {seed}: {what}", flush=True)
        return found

    def tell(self, name, alarms):
        found = [(seed, what) for seed, what in zip(self._seeds, alarms) if what]
        for seed, what in found[:3]:
            print(f"ALARM {name} with seed {seed}: {what}", flush=True)
        self.bad += bool(found)
        self._told += 1
        verdict = f"ALARMS with {len(found)} of" if found else "silent with"
        since = time.monotonic() - self._started
        print(f"[{self._told}/{self._total}] {verdict} {len(self._seeds)} seeds: {name}, {since:.0f} s after the start", flush=True)


if __name__ == "__main__":
    sys.exit(main())

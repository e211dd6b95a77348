#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every example, and programs of the tests that are right, under the checker with many seeds and demands that none earns an error.

    tools/no_false_alarm.py [--seeds 0-63] [--only TEXT] [--list]

Programs that need several minutes by themselves run with fewer steps; what they launch is the same. Needs ./millpond test's build.
One line for each example; exit 1 when one earned an error, did not end well, or could not be run.
"""

import argparse
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
EXCEPT = {"ge_run_async": "MP305,MP308", "ge_unregister": "MP306,MP212"}
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
             "generate_llama": ("--tokens", "4")}
VARIABLES = {"two_devices": {"MILLPOND_DEVICES": "2"}, "out_of_memory": {"MILLPOND_MEMORY": "256M"}}
RANKS = {"ddp": 2}
TORCH = {"TASK_QUEUE_ENABLE": "0"}  # as ./millpond check sets it


@dataclass(frozen=True)
class Example:
    name: str
    command: tuple
    variables: tuple = ()
    several: bool = False  # has threads and processes of its own: not beside others


def examples(only=""):
    found = [Example(name, (build_dir("release") / "bin" / name,), (("MILLPOND_CHECK_EXCEPT", EXCEPT.get(name, "")),)) for name in COMPILED]
    found += [Example(name, (INTERPRETER, EXAMPLES / name)) for name in PYTHON]
    found += [Example(name, (INTERPRETER, EXAMPLES / name, "mended")) for name in MENDED]
    found += torch_examples() if pytorch.enabled() else []
    return [example for example in found if only in example.name]


def launcher_of(ranks):
    return ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}")


def torch_examples():
    found = []
    for folder in ("torch", "torchair", "pool_torch"):
        for path in sorted((EXAMPLES / folder).glob("*.py")):
            if path.stem in NOT_PROGRAMS:
                continue
            launcher = launcher_of(RANKS[path.stem]) if path.stem in RANKS else ()
            variables = {**TORCH, **VARIABLES.get(path.stem, {}), **({"MILLPOND_DEVICES": str(RANKS[path.stem])} if path.stem in RANKS else {})}
            arguments = ARGUMENTS.get(path.stem, ()) if folder == "torch" else ()
            found.append(Example(f"{folder}/{path.name}", (INTERPRETER, *launcher, path, *arguments), tuple(variables.items()), path.stem in RANKS))
    found += [Example(name, (INTERPRETER, EXAMPLES / name, "mended"), tuple(TORCH.items())) for name in TORCH_MENDED]
    found += [Example(f"programs/{name}", (INTERPRETER, *launcher_of(2), PROGRAMS / name), (*TORCH.items(), ("MILLPOND_DEVICES", "2")), True)
              for name in RANK_PROGRAMS]
    found += [Example(f"programs/{name}", (INTERPRETER, PROGRAMS / name), tuple(TORCH.items())) for name in TORCH_PROGRAMS]
    library = build_dir("release") / "examples" / "libmy_allocator.so"
    found.append(Example("torch_allocator/run.py", (INTERPRETER, EXAMPLES / "torch_allocator" / "run.py", library), tuple(TORCH.items())))
    return found


def alarm(example, seed, base):
    """What is wrong with one run, or None."""
    with tempfile.TemporaryDirectory(prefix="millpond-alarm-") as folder:
        lines = Path(folder) / "lines"
        variables = {**base, **dict(example.variables), "MILLPOND_SEED": str(seed), "MILLPOND_CHECK": "1", "MILLPOND_CHECK_STATUS": "keep",
                     "MILLPOND_CHECK_JSON": str(lines), "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(list(map(str, example.command)), cwd=folder, env=variables, capture_output=True, text=True, errors="replace",
                                  timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"could not be run: {error}"
        errors = errors_in(lines.read_text(encoding="utf-8", errors="replace") if lines.exists() else "")
        if errors:
            return "; ".join(errors)
        if done.returncode != 0:
            return f"ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1][:300]}"
        return None if lines.exists() else "no process was checked"


def errors_in(text):
    found = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue  # the last line of a process that was killed
        if row.get("event") == "finding" and row.get("severity") == "error":
            found.append(f"{row['rule']} {row['message']}")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=parse_seeds, default=range(64), help="0-63 unless given")
    parser.add_argument("--only", default="", metavar="TEXT", help="examples whose name has it")
    parser.add_argument("--list", action="store_true", help="only name them")
    arguments = parser.parse_args()
    chosen = examples(arguments.only)
    if arguments.list or not chosen:
        print("\n".join(example.name for example in examples()))
        return 0 if arguments.list else f"no example has '{arguments.only}' in its name; these are there"
    base = environment.for_program(argparse.Namespace())
    bad = 0
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as workers:
        for number, example in enumerate(chosen, 1):
            started = time.monotonic()
            judge = map if example.several else workers.map
            found = [(seed, what) for seed, what in zip(arguments.seeds, judge(lambda seed, e=example: alarm(e, seed, base), arguments.seeds)) if what]
            for seed, what in found[:3]:
                print(f"ALARM {example.name} with seed {seed}: {what}", flush=True)
            bad += bool(found)
            verdict = f"ALARMS with {len(found)} of" if found else "silent with"
            print(f"[{number}/{len(chosen)}] {verdict} {len(arguments.seeds)} seeds: {example.name} in {time.monotonic() - started:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run costs when it is checked, against the same run without; JSON lines for bench/run.py.

    --part program    mp_bench_check: launches, a replayed node, many ranges, memory; builds with ASan and TSan beside it
    --part torch      training steps of examples/torch; torch_npu's own sanitizer beside it
    --part graphs     ResNet-50 and BERT-base through the graph engine
    --part models     ResNet-50 through aclmdl

Checked and unchecked runs take turns, so that a busy minute hits both.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
SKIP = 77
PLAIN, CHECKED = {"MILLPOND_CHECK": ""}, {"MILLPOND_CHECK": "1", "MILLPOND_CHECK_STATUS": "keep"}
ALLOWED_KIB = 64 * 1024  # beside 2 % of the device memory in use
# Millpond's own libraries are not instrumented: what TSan says of them means nothing, only its time does.
SANITIZED = {"asan": ("mp_bench_check_address", {"ASAN_OPTIONS": "detect_leaks=0"}),
             "tsan": ("mp_bench_check_thread", {"TSAN_OPTIONS": "report_bugs=0"})}


def say(subject, metric, unit, value):
    print(json.dumps({"subject": subject, "metric": metric, "unit": unit, "value": value}), flush=True)


def lines_of(command, variables):
    """(subject, metric, unit, value) that the program prints."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env={**os.environ, **variables})
    if done.returncode != 0:
        print((done.stderr.strip().splitlines() or ["no message on stderr"])[-1], file=sys.stderr)
        raise SystemExit(done.returncode if done.returncode == SKIP else f"{command[0]} ended with {done.returncode}")
    rows = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    return [(row["subject"], row["metric"], row["unit"], row["value"]) for row in rows]


def program(arguments):
    smoke = ["--smoke"] if arguments.smoke else []
    runs = {"unchecked": ("mp_bench_check", PLAIN), "ours": ("mp_bench_check", CHECKED), **SANITIZED}
    found = {}
    for subject, (name, variables) in runs.items():
        lines = lines_of([arguments.bin_dir / name, *smoke], {**PLAIN, **variables})
        found[subject] = {metric: value for _, metric, _, value in lines}
        for _, metric, unit, value in lines:
            if metric not in ("resident", "device"):
                say(subject, metric, unit, value)
    ours = found["ours"]
    price = {metric: ours[metric] / found["unchecked"][metric] for metric in ("ranges_1e4", "ranges_1e6")}
    say("ours", "ranges_growth", "x", price["ranges_1e6"] / price["ranges_1e4"])
    more = ours["resident"] - found["unchecked"]["resident"]
    say("ours", "memory_over_allowed", "x", max(0.0, more) / (ALLOWED_KIB + 0.02 * ours["device"]))


def in_turn(rounds, runs):
    """The median of each (subject, metric); runs: by subject a function that gives {metric: value}."""
    values = {}
    for _ in range(rounds):
        for subject, run in runs.items():
            for metric, value in run().items():
                values.setdefault((subject, metric), []).append(value)
    for (subject, metric), each in values.items():
        say(subject, metric, "ms", statistics.median(each))


def torch(arguments):
    command = [sys.executable, BENCH / "torch" / "training.py", "--device", "npu", *(["--smoke"] if arguments.smoke else [])]
    runs = {"unchecked": {**PLAIN, "TASK_QUEUE_ENABLE": "0"}, "ours": {**CHECKED, "TASK_QUEUE_ENABLE": "0"},
            "unchecked_queue": PLAIN, "npu_sanitizer": {**PLAIN, "TORCH_NPU_SANITIZER": "1"}}
    in_turn(1 if arguments.smoke else 3, {
        subject: lambda variables=variables: {metric: value for _, metric, _, value in lines_of(command, variables)}
        for subject, variables in runs.items()})


def graphs(arguments):
    sys.path.insert(0, str(BENCH / "graph"))
    import compare as peers  # pylint: disable=import-outside-toplevel

    runtime = peers.Ours(arguments.bin_dir / "mp_bench_graph_ours")
    runs = 1 if arguments.smoke else 9
    for name in ("resnet50", "bert"):
        case = peers.Case(name, arguments.folder, arguments.smoke)
        in_turn(1 if arguments.smoke else 3, {
            subject: lambda name=name, case=case, variables=variables: {f"{name}_graph": runtime.run(case, 2, runs, **variables)["repeat"]}
            for subject, variables in (("unchecked", PLAIN), ("ours", CHECKED))})


def models(arguments):
    sys.path[:0] = [str(BENCH / "common"), str(BENCH / "graph")]
    from skip import import_or_skip  # pylint: disable=import-outside-toplevel

    import_or_skip("onnx")
    import models as files  # pylint: disable=import-outside-toplevel

    command = [arguments.bin_dir / "mp_bench_acl_models", "--model", files.ready("resnet50_dynamic", arguments.folder),
               *(["--smoke"] if arguments.smoke else [])]
    in_turn(1 if arguments.smoke else 2, {
        subject: lambda variables=variables: {f"{metric}_model": value for who, metric, _, value in lines_of(command, variables) if who == "ours"}
        for subject, variables in (("unchecked", PLAIN), ("ours", CHECKED))})


PARTS = {"program": program, "torch": torch, "graphs": graphs, "models": models}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True, help="where the mp_bench_* programs are")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the models are, or are made")
    parser.add_argument("--smoke", action="store_true", help="tiny counts, one round")
    arguments = parser.parse_args()
    PARTS[arguments.part](arguments)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's operator database on the virtual NPU and compares it with CPU.

    ./millpond run -- python tests/torch/conformance/run.py [--ops REGEX] [--json FILE] ...

Each pair (entry of op_db, type, direction) ends in one state; report.py says what they mean.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

SECONDS_PER_PAIR = 60.0
PROGRESS_EVERY = 250
# One thread per worker: two workers on two cores; and the samples are small.
# No autoload: op_db asks for devices while it is imported, and the parent must not touch one; so torch_npu comes after it.
VARIABLES = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MILLPOND_WORKERS": "2", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
ACLNN_ONLY_SOC = "Ascend950"  # with this profile torch_npu names the missing aclnn function itself


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", metavar="REGEX", default="", help="only entries whose name matches")
    parser.add_argument("--dtypes", metavar="NAMES", default="", help="only these types, with commas between them")
    parser.add_argument("--directions", metavar="NAMES", default="forward,backward", help="forward, backward or both")
    parser.add_argument("--device", choices=("npu", "cpu"), default="npu", help="cpu compares CPU with itself")
    parser.add_argument("--samples", type=int, default=8, help="samples of each pair (default 8)")
    parser.add_argument("--kind", choices=("sample", "reference", "noncontiguous"), default="sample",
                        help="which inputs of an entry (default sample, the gate's)")
    parser.add_argument("--only-sample", type=int, metavar="N", help="judge sample N alone")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    parser.add_argument("--queue", choices=("0", "1", "2"), default="1", help="TASK_QUEUE_ENABLE of the first look (default 1)")
    parser.add_argument("--seconds", type=float, default=SECONDS_PER_PAIR, help="longer than this is a hang")
    parser.add_argument("--json", metavar="FILE", help="write the results here")
    parser.add_argument("--again", metavar="FILE", help="only the pairs of this earlier --json that did not pass")
    parser.add_argument("--missing", action="store_true", help="name the aclnn functions whose absence refuses the most pairs")
    parser.add_argument("--calls", action="store_true", help="record the kernels that each wrong pair launched")
    parser.add_argument("--verbose", action="store_true", help="print each pair that is not pass or cpu")
    return parser.parse_args(argv)


def in_our_environment(options):
    """Thread counts and torch's autoload are read when torch is imported, so they must be set before python starts."""
    wanted = {**VARIABLES, "TASK_QUEUE_ENABLE": options.queue}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def pair_of(job):
    import pairs
    return pairs.Pair(job["op"], job["dtype"], job["direction"])


def job_of(pair):
    return {"op": pair.op, "dtype": pair.dtype, "direction": pair.direction}


class Suite:
    def __init__(self, options):
        import pairs
        import report
        self.options, self.report = options, report
        self.entries = pairs.entries()
        if options.device == "npu":
            import torch_npu  # noqa: F401  before the fork, so that no worker pays for it
        self.differs = report.read_differs(HERE / "wheel_differs.tsv")
        self.results = {}
        self.started = time.monotonic()

    def jobs(self):
        import pairs
        options = self.options
        dtypes = [name for name in options.dtypes.split(",") if name] or pairs.JUDGED
        unknown = [name for name in dtypes if name not in pairs.DTYPES]
        if unknown:
            raise SystemExit(f"unknown type {unknown[0]}; known: {', '.join(pairs.DTYPES)}")
        chosen = [pair for name, entry in self.entries.items() if re.search(options.ops, name)
                  for pair in pairs.pairs_of(name, entry, dtypes) if pair.direction in options.directions.split(",")]
        if options.again:
            earlier = {record.pair: record for record in self.report.read_json(options.again)}
            chosen = [pair for pair in chosen if pair in earlier and earlier[pair].state not in ("pass", "cpu")]
        return [job_of(pair) for pair in chosen]

    def serve(self, job, tell):
        import judge
        pair = pair_of(job)
        only = job.get("samples", None if self.options.only_sample is None else [self.options.only_sample])
        one = judge.Comparison(self.entries[pair.op], pair, self.options.device, self.options.kind)
        return one.verdict(self.options.samples, lambda index: tell({"sample": index}), only)

    def record(self, job, result):
        known = self.report.Record.__dataclass_fields__
        return self.report.Record(pair_of(job), **{name: value for name, value in result.items() if name in known})

    def finished(self, job, result):
        record = self.results[pair_of(job)] = self.record(job, result)
        if self.options.verbose and record.state not in ("pass", "cpu", "none"):
            print(f"{record.pair}: {record.state}, sample {record.sample}: {record.reason[:300]}", flush=True)
        if len(self.results) % PROGRESS_EVERY == 0:
            self.progress()

    def progress(self):
        counted = self.report.count(self.results.values())
        states = ", ".join(f"{number} {state}" for state, number in counted.items() if number)
        print(f"{len(self.results)} of {self.total} pairs, {time.monotonic() - self.started:.0f} s: {states}", flush=True)

    def run(self):
        jobs = self.jobs()
        self.total = len(jobs)
        if not jobs:
            raise SystemExit("no pair matches; see --ops, --dtypes and --directions")
        self.look(jobs, self.finished)
        self.look_again()
        order = {pair_of(job): number for number, job in enumerate(jobs)}
        records = sorted(self.results.values(), key=lambda record: order[record.pair])
        for record in records:
            self.differs.apply(record)
        if self.options.missing:
            self.name_missing(records)
        if self.options.calls:
            self.record_calls(records)
        return records

    def look(self, jobs, finished, variables=None):
        import workers
        workers.run_all(jobs, self.serve, self.options.jobs, self.options.seconds, finished, variables)

    def look_again(self):
        """Pairs that are wrong or ended torch_npu's launch queue, without that queue: all samples, and errors at the call."""
        again = [record for record in self.results.values() if record.state == "wrong" or record.queue_died]

        def finished(job, result):
            record = self.results[pair_of(job)]
            # A result that only the queue spoils stays what it was.
            if result["state"] not in ("pass", "cpu", "none"):
                self.results[pair_of(job)] = self.record(job, result)
            else:
                record.reason += " (only with the launch queue)"
        self.look([job_of(record.pair) for record in again], finished, {"TASK_QUEUE_ENABLE": "0"})

    def name_missing(self, records):
        """Asks the refused pairs again under a profile where torch_npu names the aclnn function that it lacks."""
        refused = {record.pair: record for record in records if record.state == "refused"}

        def finished(job, result):
            if result["state"] == "refused":
                refused[pair_of(job)].aclnn_only_reason = result["reason"]
        self.look([{**job_of(pair), "samples": [record.sample]} for pair, record in refused.items()], finished,
                  {"TASK_QUEUE_ENABLE": "0", "MILLPOND_SOC": ACLNN_ONLY_SOC})

    def record_calls(self, records):
        import calls
        for record in records:
            if record.state in ("wrong", "differs"):
                record.calls = calls.of({**job_of(record.pair), "samples": record.wrong_samples}, self.serve, self.options.seconds)


def main():
    options = parse(sys.argv[1:])
    in_our_environment(options)
    suite = Suite(options)
    records = suite.run()
    report = suite.report
    if options.json:
        report.write_json(options.json, records)
    for record in records:
        if record.state in report.FAILING:
            print(report.line(record))
    for stale in suite.differs.stale(records):
        print(f"wheel_differs.tsv: {stale}")
    if options.missing:
        print(report.missing(records))
    print(report.table(records))
    print(f"{len(records)} pairs in {time.monotonic() - suite.started:.0f} s")
    return 1 if any(record.state in report.FAILING for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())

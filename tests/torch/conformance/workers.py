# SPDX-License-Identifier: Apache-2.0
"""Forked workers: a crash or a hang loses one pair, not the rest.

The parent has imported torch, torch_npu and op_db and never uses the device: torch_npu hangs in a process forked after its
first use. So a worker costs a fork, not the seconds of an import.
"""

import contextlib
import json
import os
import selectors
import signal
import sys
import tempfile
import time
import traceback

PAIRS_PER_WORKER = 200  # then a fresh one, so that state cannot pile up
STDERR_LINES = 12
STARTING = 30.0  # seconds that the first use of the device may take


_parents_ends = set()  # descriptors of all workers' pipes; a child must close those of the others, or they never see their end


class Worker:
    """One child, fed with one job at a time. serve(job, tell) runs in the child and returns the result."""

    def __init__(self, serve, variables=None):
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  as long as the worker
        jobs_read, self.jobs = os.pipe()
        self.results, results_write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            for descriptor in (*_parents_ends, self.jobs, self.results):
                os.close(descriptor)
            _child(serve, jobs_read, results_write, self.errors.fileno(), variables or {})
        os.close(jobs_read)
        os.close(results_write)
        _parents_ends.update((self.jobs, self.results))
        self.job, self.progress, self.done, self.pending = None, None, 0, b""
        self.deadline = 0.0

    def give(self, job, seconds):
        self.job, self.progress = job, None
        self.deadline = time.monotonic() + seconds + (STARTING if self.done == 0 else 0)
        with contextlib.suppress(BrokenPipeError):  # it died; reading its results will say so
            os.write(self.jobs, (json.dumps(job) + "\n").encode())

    def read(self):
        """New messages; None when the child has gone."""
        chunk = os.read(self.results, 1 << 16)
        if not chunk:
            return None
        *lines, self.pending = (self.pending + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self, kill=False):
        """(exit status as text, last lines of stderr)."""
        _parents_ends.difference_update((self.jobs, self.results))
        os.close(self.jobs)
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.results)
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        self.errors.close()
        code = os.waitstatus_to_exitcode(status)
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return how, " | ".join(line.strip() for line in lines[-STDERR_LINES:])


def _child(serve, jobs, results, errors, variables):
    os.dup2(errors, 2)
    os.environ.update(variables)
    status = 0
    try:
        def tell(message):
            os.write(results, (json.dumps(message) + "\n").encode())
        with os.fdopen(jobs) as lines:
            for line in lines:
                tell({"result": serve(json.loads(line), tell)})
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)


def run_all(jobs, serve, count, seconds, finished, variables=None):
    """Runs every job; finished(job, result) gets what serve returned, or state crash / hang with the evidence.

    A result with "broken" says that its worker must not be used again."""
    waiting = list(reversed(jobs))
    selector = selectors.DefaultSelector()
    active = set()

    def start():
        worker = Worker(serve, variables)
        active.add(worker)
        selector.register(worker.results, selectors.EVENT_READ, worker)
        worker.give(waiting.pop(), seconds)

    def stop(worker, kill=False):
        selector.unregister(worker.results)
        active.discard(worker)
        return worker.end(kill)

    def lost(worker, state):
        job, progress = worker.job, worker.progress
        how, said = stop(worker, kill=state == "hang")
        what = how if state == "crash" else f"no answer within {seconds:.0f} s"
        finished(job, {"state": state, "sample": progress, "reason": f"{what}: {said}" if said else what, "counts": {}})

    while waiting or active:
        while waiting and len(active) < count:
            start()
        for key, _ in selector.select(timeout=1.0):
            worker = key.data
            messages = worker.read()
            if messages is None:
                lost(worker, "crash")
                continue
            for message in messages:
                if "sample" in message:
                    worker.progress = message["sample"]
                    continue
                finished(worker.job, message["result"])
                worker.done += 1
                worker.job = None
                if waiting and worker.done < PAIRS_PER_WORKER and not message["result"].get("broken"):
                    worker.give(waiting.pop(), seconds)
                else:
                    stop(worker)
        now = time.monotonic()
        for worker in [one for one in active if now > one.deadline]:
            lost(worker, "hang")

# SPDX-License-Identifier: Apache-2.0
"""Runs Python programs one after the other, each in a child that is forked from a process which has torch and torch_npu loaded.

    forked_programs.py            reads a list of programs from standard input, as JSON: name, command (a file and its arguments), ranks, seconds

A start of torch costs seconds and most programs need less; a child costs a third of one. No device is open when a child is forked, so that it is a process
of its own for the runtime and the checker. Settings are this process's: whoever wants another seed starts another one.
Writes a line of JSON for each program: name, status (0, or what the first process that failed ended with), told (the last lines of its output), and
findings, what the checker wrote to MILLPOND_CHECK_JSON meanwhile.
"""

import gc
import importlib
import json
import os
import random
import runpy
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path

LAST_LINES = 12  # an error of torch_npu has its cause above its last line
PORTS = range(20000, 32000)
LOOKS = 0.02  # seconds between two questions whether a child has ended


def preload():
    for name in ("torch", "torch._dynamo", "torch._inductor", "torch.distributed", "torch_npu", "torchair"):
        importlib.import_module(name)
    # What is here now is nobody's garbage: without this each child walks through all of it when it ends.
    gc.collect()
    gc.freeze()


def free_port():
    """A port that nobody has, below those that the system gives to clients: one of theirs could be taken before rank 0 listens on it."""
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as asked:
            try:
                asked.bind(("", port))
            except OSError:
                continue
            return str(port)
    raise SystemExit(f"no port of {PORTS.start} to {PORTS.stop - 1} is free")


def become(command, folder, variables):
    """In the child: the program, with its own folder and output. Ends as python does."""
    os.setpgid(0, 0)
    os.environ.update(variables)
    os.chdir(folder)
    output = os.open(Path(folder) / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(output, number)
    sys.argv = list(command)
    sys.path[0] = os.path.dirname(os.path.abspath(command[0]))
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)


def variables_of(rank, ranks, port):
    """What torchrun tells a rank."""
    if ranks == 1:
        return {}
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port}


def statuses_of(children, seconds):
    """How each child ended; those that last too long are killed with all that they have started."""
    end = time.monotonic() + seconds
    ended = {}
    while len(ended) < len(children):
        for child in children:
            if child in ended:
                continue
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                ended[child] = os.waitstatus_to_exitcode(status)
        time.sleep(LOOKS)
    return [ended[child] for child in children]


def run(job, lines):
    folder = tempfile.mkdtemp(prefix="millpond-forked-")
    before = lines.stat().st_size if lines.exists() else 0
    port = free_port()
    sys.stdout.flush()
    children = []
    for rank in range(job["ranks"]):
        child = os.fork()
        if child == 0:
            become(job["command"], folder, variables_of(rank, job["ranks"], port))
        children.append(child)
    statuses = statuses_of(children, job["seconds"])
    output = (Path(folder) / "output").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    shutil.rmtree(folder, ignore_errors=True)
    findings = ""
    if lines.exists():
        with open(lines, "rb") as file:
            file.seek(before)
            findings = file.read().decode("utf-8", "replace")
    return {"name": job["name"], "status": next((status for status in statuses if status != 0), 0), "told": " | ".join(output[-LAST_LINES:]),
            "findings": findings}


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    jobs = json.load(sys.stdin)
    preload()
    for job in jobs:
        print(json.dumps(run(job, Path(os.environ["MILLPOND_CHECK_JSON"]))), file=answers, flush=True)


if __name__ == "__main__":
    main()

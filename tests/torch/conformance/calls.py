# SPDX-License-Identifier: Apache-2.0
"""Which kernels did a sample launch? Runs it once more, alone, with a trace, and reads their names."""

import atexit
import json
import os
import tempfile
from pathlib import Path

import workers

MAX_CALLS = 40
COPIES = ("Memcpy", "Memset", "memcpy", "memset")


def of(job, serve, seconds):
    """Names of the kernels in launch order, a repeated one once per run of it; empty when the sample left no trace."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"

        def serve_and_close(job, tell):
            result = serve(job, tell)
            atexit._run_exitfuncs()  # torch_npu ends its runtime there, which completes the trace file
            return result
        workers.run_all([job], serve_and_close, 1, seconds, lambda *_: None, {"MILLPOND_TRACE": os.fspath(trace)})
        return names(trace)


def names(trace):
    try:
        events = json.loads(trace.read_text())
    except (OSError, ValueError):
        return []
    events = events["traceEvents"] if isinstance(events, dict) else events
    # Slices of a device's lanes are tasks; host lanes hold API calls.
    tasks = [event for event in events if event.get("ph") == "X" and event.get("cat") != "api"]
    found = []
    for event in sorted(tasks, key=lambda one: one["ts"]):
        name = event["name"]
        if not name.startswith(COPIES) and (not found or found[-1] != name):
            found.append(name)
    return found[:MAX_CALLS]

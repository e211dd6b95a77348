# SPDX-License-Identifier: Apache-2.0
"""Which kernels did a sample launch? Runs it once more, alone, with a trace, and reads their names."""

import atexit
import json
import os
import tempfile
from pathlib import Path

import workers

MAX_CALLS = 40


def of(job, serve, seconds):
    """Names of the kernels in launch order, neighbours that are equal once; empty when the sample launched none."""
    # Not one of tempfile's self-removing kinds: the child's exit functions would remove it under us.
    descriptor, name = tempfile.mkstemp(suffix=".json")
    os.close(descriptor)
    trace = Path(name)

    def serve_and_close(job, tell):
        result = serve(job, tell)
        atexit._run_exitfuncs()  # torch_npu ends its runtime there, which completes the trace file
        return result
    try:
        workers.run_all([job], serve_and_close, 1, seconds, lambda *_: None, {"MILLPOND_TRACE": name})
        return names(trace)
    finally:
        trace.unlink()


def names(trace):
    try:
        events = json.loads(trace.read_text())["traceEvents"]
    except ValueError:
        return []
    found = []
    for event in sorted((one for one in events if one.get("cat") == "task"), key=lambda one: one["ts"]):
        if event["name"].startswith("acl") and (not found or found[-1] != event["name"]):
            found.append(event["name"])
    return found[:MAX_CALLS]

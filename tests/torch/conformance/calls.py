# SPDX-License-Identifier: Apache-2.0
"""Which kernels did some samples launch? Runs them once more, alone, with a trace, and reads their names."""

import atexit
import json
import os
import tempfile
from pathlib import Path

import workers


def of(job, serve, seconds):
    """Names of the kernels in the order of their first launch."""
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
    tasks = sorted((event for event in events if event.get("cat") == "task"), key=lambda event: event["ts"])
    return list(dict.fromkeys(task["name"] for task in tasks if task["name"].startswith("acl")))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msprof, as far as its clients need it here: turns what a profiling session recorded into a timeline and tables.

    msprof --export=on --output=DIR    writes DIR/mindstudio_profiler_output
    msprof --analyze=on --output=DIR   nothing to do: a virtual NPU has no communication links to analyse

DIR is a folder PROF_... that a program made through aclprof (torch_npu.profiler does); Millpond's own trace is
`millpond run --trace FILE`.
"""

import csv
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict

CANN, HARDWARE = "CANN", "Ascend Hardware"
# Tasks of the runtime, which msprof shows in the timeline and not among the operators.
RUNTIME_TASKS = frozenset(
    "Callback CmoPrefetch EventRecord EventReset EventWait GraphExecute GraphTaskUpdate HostFunc ManagedPrefetch MemcpyAsync "
    "MemcpyAsyncWithOffset MemcpyBatchAsync MemsetAsync MemsetD32Async NotifyRecord NotifyReset NotifyWait PoolFill ReduceAsync "
    "StepEnd StepStart ValueWait ValueWrite".split())
SUMMARY = ("Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
           "Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
           "Output Data Types,Output Formats,Context ID").split(",")
NO_MODEL = 4294967295
# torch_npu.profiler looks for the tables each 0.1 s while we run, and gives up at our end if it has not seen them yet. A card's
# msprof takes long enough over writing them; ours has to wait.
SEEN_S = 0.5


def read(folder):
    """(pid, dropped, tasks, calls) of a session."""
    path = os.path.join(folder, "host", "data", "millpond.tsv")
    if not os.path.isfile(path):  # a pipe would hold us for ever
        raise ValueError(f"{path} is not a file; --output names a folder PROF_... that a profiling session made")
    with open(path, encoding="utf-8") as lines:
        mark, version, pid, dropped = next(lines).rstrip("\n").split("\t")
        if (mark, version) != ("millpond", "1"):
            raise ValueError(f"{folder} holds data of an unknown kind: {mark} {version}")
        tasks, calls = [], []
        for line in lines:
            kind, *fields = line.rstrip("\n").split("\t")
            if kind == "task":
                device, stream, number, name, thread, queued, start, end = fields
                tasks.append((int(device), int(stream), int(number), name, int(thread), int(queued), int(start), int(end)))
            elif kind == "call":
                thread, name, start, end = fields
                calls.append((int(thread), name, int(start), int(end)))
    return int(pid), int(dropped), sorted(tasks, key=lambda task: task[6]), calls


def microseconds(nanoseconds):
    """Exact, as text: a float has too few digits for a time of day in nanoseconds."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


def timeline(pid, tasks, calls):
    """Events of Chrome's trace format: calls per thread, tasks per stream, and arrows from launch to run."""
    cann, hardware = pid * 32 + 1, pid * 32 + 10
    events = [{"name": "process_name", "ph": "M", "pid": number, "tid": 0, "args": {"name": name}}
              for number, name in ((cann, CANN), (hardware, HARDWARE))]
    for stream in sorted({task[1] for task in tasks}):
        events.append({"name": "thread_name", "ph": "M", "pid": hardware, "tid": stream, "args": {"name": f"Stream {stream}"}})
    for thread in sorted({task[4] for task in tasks} | {call[0] for call in calls}):
        events.append({"name": "thread_name", "ph": "M", "pid": cann, "tid": thread, "args": {"name": f"Thread {thread}"}})
    for thread, name, start, end in calls:
        events.append({"name": f"AscendCL@{name}", "ph": "X", "pid": cann, "tid": thread, "ts": microseconds(start),
                       "dur": (end - start) / 1000, "args": {"Thread Id": thread}})
    for device, stream, number, name, thread, queued, start, end in tasks:
        events.append({"name": name, "ph": "X", "pid": hardware, "tid": stream, "ts": microseconds(start), "dur": (end - start) / 1000,
                       "args": {"Model Id": NO_MODEL, "Task Type": task_type(name), "Stream Id": stream, "Task Id": number,
                                "Batch Id": 0, "Subtask Id": 0, "Device Id": device}})
        arrow = {"name": "HostToDevice", "cat": "HostToDevice", "id": str(number)}
        events.append({**arrow, "ph": "s", "pid": cann, "tid": thread, "ts": microseconds(queued)})
        events.append({**arrow, "ph": "f", "bp": "e", "pid": hardware, "tid": stream, "ts": microseconds(start)})
    return events


def task_type(name):
    if name.startswith("Hccl"):
        return "HCCL"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper() if name in RUNTIME_TASKS else "AI_CORE"


def summary(tasks):
    """Rows of op_summary: the operators in the order in which they ran."""
    last_end = {}
    for device, stream, number, name, _, _, start, end in tasks:
        waited = max(0, start - last_end.get(device, start))
        last_end[device] = max(end, last_end.get(device, end))
        if name in RUNTIME_TASKS:
            continue
        yield [device, NO_MODEL, number, stream, name, re.sub(r"^aclnn", "", name), "dynamic", task_type(name),
               microseconds(start) + "\t", (end - start) / 1000, waited / 1000, 1, 0, "NO", *["N/A"] * 7]


def statistics(calls):
    """Rows of api_statistic."""
    spans = defaultdict(list)
    for _, name, start, end in calls:
        spans[name].append((end - start) / 1000)
    for name, times in sorted(spans.items(), key=lambda item: -sum(item[1])):
        mean = sum(times) / len(times)
        variance = sum((span - mean) ** 2 for span in times) / len(times)
        yield [0, "acl", name, round(sum(times), 3), len(times), round(mean, 3), min(times), max(times), round(variance, 3)]


def write_table(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def export(folder):
    pid, dropped, tasks, calls = read(folder)
    done = os.path.join(folder, "mindstudio_profiler_output")
    # Clients wait for the first table in the folder: it appears with all of them. Nobody knows its name before that.
    out = tempfile.mkdtemp(prefix=".mindstudio_", dir=folder)
    try:
        write_tables(out, pid, tasks, calls)
        os.chmod(out, 0o750)
        shutil.rmtree(done, ignore_errors=True)
        os.rename(out, done)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    if dropped:
        print(f"msprof: {dropped} records were dropped: the session was too long", file=sys.stderr)


def write_tables(out, pid, tasks, calls):
    stamp = time.strftime("%Y%m%d%H%M%S")
    with open(os.path.join(out, f"msprof_{stamp}.json"), "w", encoding="utf-8") as file:
        json.dump(timeline(pid, tasks, calls), file)
    write_table(os.path.join(out, f"api_statistic_{stamp}.csv"),
                "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance".split(","), statistics(calls))
    write_table(os.path.join(out, f"op_summary_{stamp}.csv"), SUMMARY, summary(tasks))


def main(arguments):
    options = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        options[name] = value
    if not arguments or "--help" in options:
        print(__doc__)
        return 0
    known = {"--export", "--analyze", "--output", "--type"}
    unknown = sorted(set(options) - known)
    if unknown or not options.get("--output"):
        print(f"msprof: {' '.join(unknown) or 'no --output'}: this stand-in knows --export=on or --analyze=on with --output=DIR",
              file=sys.stderr)
        return 1
    if options.get("--type", "text") != "text":
        print("msprof: only --type=text is written", file=sys.stderr)
        return 1
    try:
        if options.get("--export") == "on":
            export(options["--output"])
            time.sleep(SEEN_S)
    except (OSError, ValueError) as error:
        print(f"msprof: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""`./millpond trace merge`: lanes of every rank on one clock, arrows between the ranks of an operation, and what is no trace."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CLI = Path(__file__).resolve().parents[2] / "tools" / "cli"
HOST = 1000000


def merge(*arguments):
    return subprocess.run([sys.executable, str(CLI / "__main__.py"), "trace", "merge", *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


def slice_of(begin, name, **args):
    return {"ph": "X", "pid": 0, "tid": 3, "ts": begin, "dur": 50.0, "cat": "task", "name": name,
            "args": {"communicator": "world", "ranks": 3, **args}}


def trace(path, rank, origin, events, boot="one", day=0.0):
    head = [{"ph": "M", "pid": HOST, "name": "process_name", "args": {"name": "host"}},
            {"ph": "M", "pid": HOST, "name": "millpond_origin",
             "args": {"process": 100 + rank, "host": "node", "boot": boot, "origin_us": origin, "day_us": day}},
            {"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "device 0"}}]
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": [*head, *events]}))
    return path


def arrows(events):
    """[(name, (pid, time) of the beginning, (pid, time) of the end)]"""
    begins = {event["id"]: event for event in events if event["ph"] == "s" and event["cat"] == "ranks"}
    ends = {event["id"]: event for event in events if event["ph"] == "f" and event["cat"] == "ranks"}
    assert begins.keys() == ends.keys()
    return [(begins[i]["name"], (begins[i]["pid"], begins[i]["ts"]), (ends[i]["pid"], ends[i]["ts"])) for i in sorted(begins)]


@pytest.fixture(name="three")
def three_fixture(tmp_path):
    files = []
    for rank, begin in enumerate((10.0, 30.0, 20.0)):
        events = [slice_of(begin, "HcclAllReduce", rank=rank, operation="HcclAllReduce", sequence=0, bytes=64),
                  slice_of(begin + 100, "HcclBroadcast", rank=rank, operation="HcclBroadcast", sequence=1, bytes=64, root=2),
                  slice_of(begin + 200, "HcclReduce", rank=rank, operation="HcclReduce", sequence=2, bytes=64, root=0)]
        files.append(trace(tmp_path / f"{rank}.json", rank, 1000.0 - 5 * rank, events))
    return files


def test_collectives_have_arrows_from_the_last_rank_or_the_root_on_one_clock(three, tmp_path):
    out = tmp_path / "merged.json"
    outcome = merge(*three, "-o", out)
    assert outcome.returncode == 0, outcome.stderr
    assert "3 files, 3 collectives, 6 arrows" in outcome.stdout
    events = json.loads(out.read_text())["traceEvents"]
    # The file of rank 2 begins first: rank 0's times move by 10, rank 1's by 5.
    reduces = {event["args"]["rank"]: event for event in events if event["name"] == "HcclAllReduce"}
    assert [reduces[rank]["ts"] for rank in range(3)] == [20.0, 35.0, 20.0]
    assert len({event["pid"] for event in reduces.values()}) == 3
    pid = {rank: event["pid"] for rank, event in reduces.items()}
    found = [(name.split()[0], begin[0], end[0]) for name, begin, end in arrows(events)]
    assert sorted(found) == sorted([("HcclAllReduce", pid[1], pid[0]), ("HcclAllReduce", pid[1], pid[2]),
                                    ("HcclBroadcast", pid[2], pid[0]), ("HcclBroadcast", pid[2], pid[1]),
                                    ("HcclReduce", pid[1], pid[0]), ("HcclReduce", pid[2], pid[0])])
    named = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert "rank 1 (process 101 on node): device 0" in named


def test_messages_have_arrows_from_sender_to_receiver(tmp_path):
    sends = trace(tmp_path / "a.json", 0, 0.0, [slice_of(5.0, "HcclSend", rank=0, messages=[{"to": 1, "number": 4, "bytes": 8}])])
    received = [{"from": 0, "number": number, "bytes": 8} for number in (4, 5)]
    takes = trace(tmp_path / "b.json", 1, 0.0, [slice_of(1.0, "HcclRecv", rank=1, messages=received)])
    out = tmp_path / "merged.json"
    assert merge(sends, takes, "-o", out).returncode == 0
    assert [name for name, _, _ in arrows(json.loads(out.read_text())["traceEvents"])] == ["message 4 from rank 0 to rank 1 of world"]


def test_hosts_are_laid_by_the_time_of_day(tmp_path):
    files = [trace(tmp_path / f"{rank}.json", rank, 1e9 * rank, [slice_of(10.0, "HcclBarrier", rank=rank, operation="HcclBarrier", sequence=0, bytes=0)],
                   boot=f"boot {rank}", day=100.0 + 7 * rank) for rank in range(2)]
    out = tmp_path / "merged.json"
    assert merge(*files, "-o", out).returncode == 0
    times = sorted(event["ts"] for event in json.loads(out.read_text())["traceEvents"] if event["name"] == "HcclBarrier" and event["ph"] == "X")
    assert times == [10.0, 17.0]


def test_what_a_killed_process_left_is_read(three, tmp_path):
    text = three[0].read_text()
    three[0].write_text(text[:text.index("]}")])
    outcome = merge(*three, "-o", tmp_path / "merged.json")
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("text", ["", "[]", "no JSON", '{"traceEvents": 3}', '{"traceEvents": []}'])
def test_what_is_no_trace_is_named(tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    outcome = merge(tmp_path / "bad.json", "-o", tmp_path / "merged.json")
    assert outcome.returncode == 2 and "bad.json" in outcome.stderr and not (tmp_path / "merged.json").exists()

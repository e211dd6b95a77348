# SPDX-License-Identifier: Apache-2.0
"""The checker and torch_npu: right programs earn nothing, a wrong one is told by the user's own lines."""

import json
import sys

import pytest

CHECKED = {"MILLPOND_CHECK": "1", "TASK_QUEUE_ENABLE": "0"}
# The long run checks every example; these have two streams, replays, events and frees in them.
RIGHT = ["two_streams", "graph_replay", "memory_pool", "expandable_segments"]
SEEDS = [("two_streams", "1"), ("graph_replay", "2")]

WRONG = """
import torch
import torch_npu

def consume(x, stream):
    with torch.npu.stream(stream):
        WAIT
        return x * 2

stream = torch.npu.Stream()
x = torch.zeros(64, 64, device="npu")
torch.npu.synchronize()
main = torch.npu.current_stream()
x.add_(1)
y = consume(x, stream)
torch.npu.synchronize()
print("sum", y.sum().item())
"""


@pytest.mark.parametrize("name, seed", [*((name, None) for name in RIGHT), *SEEDS])
def test_a_right_program_earns_nothing(on_npu, tmp_path, name, seed):
    lines = tmp_path / "lines.jsonl"
    on_npu(name, env={**CHECKED, "MILLPOND_CHECK_JSON": str(lines), **({"MILLPOND_SEED": seed} if seed else {})})
    found = [line for line in map(json.loads, lines.read_text().splitlines()) if line["event"] == "finding"]
    assert found == []


@pytest.mark.parametrize("wait, status, rules", [("stream.wait_stream(main)", 0, []), ("pass", 66, ["MP611"])])
def test_a_race_between_two_streams(start, tmp_path, wait, status, rules):
    program, lines = tmp_path / "race.py", tmp_path / "lines.jsonl"
    program.write_text(WRONG.replace("WAIT", wait))
    ended = start(program, env={**CHECKED, "MILLPOND_CHECK_JSON": str(lines)})
    assert ended.status == status, ended.errors
    ended.says("sum 8192.0")
    found = [line for line in map(json.loads, lines.read_text().splitlines()) if line["event"] == "finding"]
    assert [finding["rule"] for finding in found] == rules
    if not rules or sys.version_info[:2] != (3, 11):  # whose frames the checker can read
        return
    places = [[(frame["function"], frame["line"]) for frame in stack["frames"] if frame["language"] == "python"]
              for stack in found[0]["stacks"]]
    assert places[0] == [("consume", 8), ("<module>", 15)]
    assert places[1] == [("<module>", 14)]

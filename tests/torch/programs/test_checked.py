# SPDX-License-Identifier: Apache-2.0
"""The checker and torch_npu: right programs earn nothing, a wrong one is told by the user's own lines."""

import json
import subprocess
from pathlib import Path

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
    if not rules:
        return
    places = [[(frame["function"], frame["line"]) for frame in stack["frames"] if frame["language"] == "python"]
              for stack in found[0]["stacks"]]
    assert places[0] == [("consume", 8), ("<module>", 15)]
    assert places[1] == [("<module>", 14)]


# Gradients are computed on a thread of torch's own, which runs no Python: its line is where the program waits for them.
BACKWARD = """
import torch
import torch_npu

layer = torch.nn.Linear(64, 64, bias=False).npu()
side = torch.npu.Stream()
x = torch.randn(8, 64, device="npu")
layer(x).sum().backward()
torch.npu.synchronize()
loss = layer(x).square().mean()
loss.backward()
WAIT
with torch.npu.stream(side):
    layer.weight.grad.mul_(0.5)
torch.npu.synchronize()
"""


@pytest.mark.parametrize("wait, status, rules", [("side.wait_stream(torch.npu.current_stream())", 0, []), ("pass", 66, ["MP611"])])
def test_a_race_with_a_backward_pass_has_the_line_that_asked_for_it(start, tmp_path, wait, status, rules):
    program, lines = tmp_path / "backward.py", tmp_path / "lines.jsonl"
    program.write_text(BACKWARD.replace("WAIT", wait))
    ended = start(program, env={**CHECKED, "MILLPOND_CHECK_JSON": str(lines)})
    assert ended.status == status, ended.errors
    found = [line for line in map(json.loads, lines.read_text().splitlines()) if line["event"] == "finding"]
    assert [finding["rule"] for finding in found] == rules
    if rules:
        places = {stack["role"]: [frame["line"] for frame in stack["frames"] if frame["file"] == str(program)] for stack in found[0]["stacks"]}
        assert (places["later"], places["earlier"]) == ([14], [11])


def test_torchairs_allocator_is_not_the_programs_to_unregister(start, tmp_path):
    lines = tmp_path / "lines.jsonl"
    ended = start(Path(__file__).resolve().parent / "compiled_until_exit.py", env={**CHECKED, "MILLPOND_CHECK_JSON": str(lines)})
    assert ended.status == 0, ended.errors
    ended.says("same True")
    assert [line for line in map(json.loads, lines.read_text().splitlines()) if line["event"] == "finding"] == []


# The static input of a captured graph is filled anew on a side stream; the last round forgets to wait.
REPLAY = """
import torch
import torch_npu

x = torch.zeros(256, device="npu")
graph = torch.npu.NPUGraph()
torch.npu.synchronize()
with torch.npu.graph(graph):
    y = x + 1
side = torch.npu.Stream()
main = torch.npu.current_stream()
for step in range(3):
    side.wait_stream(main)
    with torch.npu.stream(side):
        x.fill_(step)
    if step < ROUNDS:
        main.wait_stream(side)
    graph.replay()
torch.npu.synchronize()
print("sum", y.sum().item())
"""


@pytest.mark.parametrize("rounds, status, rules", [(3, 0, []), (2, 66, ["MP611"])])
def test_a_replay_races_with_what_fills_its_input(start, tmp_path, rounds, status, rules):
    """By the environment alone: torch_npu's launch queue is off then too, so that the finding has the user's lines."""
    program, lines = tmp_path / "replay.py", tmp_path / "lines.jsonl"
    program.write_text(REPLAY.replace("ROUNDS", str(rounds)))
    ended = start(program, env={"MILLPOND_CHECK": "1", "MILLPOND_CHECK_JSON": str(lines)})
    assert ended.status == status, ended.errors
    found = [line for line in map(json.loads, lines.read_text().splitlines()) if line["event"] == "finding"]
    assert [finding["rule"] for finding in found] == rules
    if rules:
        places = [stack["frames"][-1]["line"] for stack in found[0]["stacks"][:2]]
        assert places == [18, 15]


HERE = Path(__file__).resolve().parent
# Rules of torch_npu's door: a program, what it exits with when it is wrong, and a line of it that the finding names.
DOOR = [
    ("MP201", 0, "tensors = [torch.empty"),  # these six leave by _exit
    ("MP202", 0, "tensors = [torch.empty"),
    ("MP203", 0, "tensors = [torch.empty"),
    ("MP205", 0, "tensors = [torch.empty"),
    ("MP206", 0, "tensors = [torch.empty"),
    ("MP210", 0, "tensors = [torch.empty"),
    ("MP204", 0, "y = torch.empty"),  # it leaves by _exit: the wheel cannot free the same address twice
    ("MP303", 66, "z = torch.zeros"),
    ("MP401", 66, "torch_npu.npu.change_current_allocator"),
    ("MP402", 66, "torch.empty(size"),
    ("MP403", 66, "del x"),
    ("MP404", 0, "x.record_stream(side)"),
    ("MP405-pluggable", 66, "y = x * 2"),
    ("MP406", 66, "torch.npu.caching_allocator_delete"),
    ("MP407", 0, 'device="npu:1"'),
]


@pytest.fixture(scope="module")
def allocator(ascend, tmp_path_factory):
    """Breaks the rule that WRONG names."""
    library = tmp_path_factory.mktemp("rules") / "librules_allocator.so"
    command = ["g++", "-std=c++17", "-O1", "-g", "-shared", "-fPIC", str(HERE / "rules_allocator.cc"), "-o", str(library),
               f"-I{ascend}/include", f"-L{ascend}/lib64", "-lascendcl"]
    subprocess.run(command, check=True)
    return library


# Of its own allocator, with seed 0, where a copy runs when somebody waits for it.
OWN = [
    ("MP503", 0, "y = x + 1"),
    ("MP504", 66, "y.fill_(2)"),
    ("MP507", 66, "x.copy_(host, non_blocking=True)"),
    ("MP510", 66, "x.cpu()"),
    ("MP511", 66, "host[0, 0].item()"),
    ("MP610", 66, "x.add_(1)"),
    ("MP611", 66, "graph.replay()"),
]


def findings_of(start, lines, rule, *arguments, wrong):
    variables = {**CHECKED, "MILLPOND_CHECK_ALSO": rule[:5], "MILLPOND_SEED": "0", "MILLPOND_DEVICES": "2", "MILLPOND_CHECK_JSON": str(lines), "WRONG": rule if wrong else ""}
    ended = start(HERE / "rules.py", rule, *arguments, env=variables)
    found = [line for line in map(json.loads, lines.read_text().splitlines()) if line["event"] == "finding"]
    return ended, found


def lines_of(finding):
    source = (HERE / "rules.py").read_text().splitlines()
    return [source[frame["line"] - 1] for stack in finding["stacks"] for frame in stack["frames"] if frame["file"].endswith("rules.py")]


@pytest.mark.parametrize("rule, status, line", DOOR)
def test_a_program_with_a_pluggable_allocator_earns_its_rule_and_its_twin_nothing(start, tmp_path, allocator, rule, status, line):
    right, found = findings_of(start, tmp_path / "right", rule, allocator, wrong=False)
    assert right.status == 0 and found == [], right.errors
    wrong, found = findings_of(start, tmp_path / "wrong", rule, allocator, wrong=True)
    assert wrong.status == status, wrong.errors
    assert [finding["rule"] for finding in found] == [rule[:5]]
    assert any(line in text for text in lines_of(found[0])), found[0]["stacks"]


@pytest.mark.parametrize("rule, status, line", OWN)
def test_a_program_earns_its_rule_and_its_twin_nothing(start, tmp_path, rule, status, line):
    right, found = findings_of(start, tmp_path / "right", rule, wrong=False)
    assert right.status == 0 and found == [], right.errors
    wrong, found = findings_of(start, tmp_path / "wrong", rule, wrong=True)
    assert wrong.status == status, wrong.errors
    assert [finding["rule"] for finding in found] == [rule]
    assert any(line in text for text in lines_of(found[0])), found[0]["stacks"]


def test_a_host_that_touches_a_tensor_dies_of_it_and_is_told(start, tmp_path):
    right, found = findings_of(start, tmp_path / "right", "MP512", wrong=False)
    assert right.status == 0 and found == [], right.errors
    wrong, found = findings_of(start, tmp_path / "wrong", "MP512", wrong=True)
    assert wrong.status < 0, wrong.errors
    assert [finding["rule"] for finding in found] == ["MP512"]


def test_a_tensor_that_another_stream_used_dies_too_early(start, tmp_path):
    """torch_npu's own allocator: it tells its blocks, so that the finding names the line at which the tensor died."""
    right, found = findings_of(start, tmp_path / "right", "MP405", wrong=False)
    assert right.status == 0 and found == [], right.errors
    wrong, found = findings_of(start, tmp_path / "wrong", "MP405", wrong=True)
    assert wrong.status == 66, wrong.errors
    assert [finding["rule"] for finding in found] == ["MP405"]
    assert [stack["role"] for stack in found[0]["stacks"]] == ["freed", "earlier", "later", "allocated"]
    assert "y = consume(torch.npu.Stream())" in lines_of(found[0])[0]
    assert found[0]["objects"][0]["kind"] == "piece"


def test_the_first_line_that_used_torch_npu_is_named(start, tmp_path, allocator):
    _, found = findings_of(start, tmp_path / "lines", "MP401", allocator, wrong=True)
    first = [stack for stack in found[0]["stacks"] if stack["label"] == "torch_npu was first used here"]
    assert next(frame["function"] for frame in first[0]["frames"] if frame["file"].endswith("rules.py")) == "swap_after_init"


def test_the_environment_is_as_it_was_when_torch_npu_tells_its_blocks(start, tmp_path):
    program = tmp_path / "environment.py"
    program.write_text("import os, subprocess, sys\nimport torch, torch_npu\nx = torch.zeros(4, device='npu')\n"
                       "print(subprocess.run([sys.executable, '-c', 'import os; print(os.environ.get(\"LD_PRELOAD\"))'],"
                       " capture_output=True, text=True).stdout)\n")
    ended = start(program, env={**CHECKED, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert ended.status == 0, ended.errors
    ended.says("None")

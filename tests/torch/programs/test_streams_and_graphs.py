# SPDX-License-Identifier: Apache-2.0
"""Streams, events, captured graphs, and the ways in which torch_npu hands work over."""

import json

import pytest

MODES = {
    "queue 0": {"TASK_QUEUE_ENABLE": "0"},
    "queue 1": {"TASK_QUEUE_ENABLE": "1"},
    "queue 2": {"TASK_QUEUE_ENABLE": "2"},
    "blocking": {"ASCEND_LAUNCH_BLOCKING": "1"},
}


def test_two_streams(on_npu, on_cpu):
    npu = on_npu("two_streams")
    npu.says("two streams give what one gives: True", "took some time")
    assert figure(npu, "sum") == pytest.approx(figure(on_cpu("two_streams"), "sum"), rel=1e-5)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_streams_in_another_order(on_npu, seed):
    on_npu("two_streams", env={"MILLPOND_SEED": str(seed)}).says("two streams give what one gives: True")


def test_a_captured_step_is_replayed_with_new_data(on_npu, on_cpu):
    npu = on_npu("graph_replay")
    npu.says("replaying a captured step")
    assert npu.losses == pytest.approx(on_cpu("graph_replay").losses, rel=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_every_launch_mode_gives_the_same_losses(on_npu, on_cpu, mode):
    npu = on_npu("train_gpt2", "--steps", "4", env=MODES[mode])
    assert npu.losses == pytest.approx(on_cpu("train_gpt2", "--steps", "4").losses, rel=1e-4)


def test_the_trace_has_every_kernel_with_its_stream(on_npu, tmp_path):
    trace = tmp_path / "trace.json"
    on_npu("two_streams", env={"MILLPOND_TRACE": str(trace)})
    events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    streams = {}
    for event in events:
        if event.get("cat") == "task":
            streams.setdefault(event["name"], []).append(event["tid"])
    matmuls, relus = ([tid for name, tids in streams.items() if part in name for tid in tids] for part in ("Matmul", "Relu"))
    # 20 in order on the default stream, 20 on a stream of their own.
    assert (len(matmuls), len(relus)) == (40, 40), {name: len(tids) for name, tids in streams.items()}
    assert {matmuls.count(tid) for tid in set(matmuls)} == {20} == {relus.count(tid) for tid in set(relus)}
    assert len(set(matmuls + relus)) == 3, "default, maker and user"


def test_the_profiler_runs_to_its_end(on_npu):
    program = on_npu("profiling")
    program.says("5 steps under the profiler, 1 profile ready")
    assert "[ERROR]" not in program.errors + program.output


def figure(program, name):
    return float(program.output.split(f"{name} ")[-1].split()[0])

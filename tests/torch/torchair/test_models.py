# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/torchair, all in one process: what GE graphs give is what eager and the CPU give."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CALLS = ["mlp", "resnet18", "bert", "gpt2_cache", "gpt2_cache --dynamic", "control_flow", "reduce_overhead", "train_mlp", "train_cnn"]
CLOSE = 1e-5
DIFFERENCE = re.compile(r"difference to eager (\S+), to the CPU (\S+)")


@pytest.fixture(scope="module")
def run(start, tmp_path_factory):
    """By call, what it printed; under "trace", how often each event was in the run."""
    trace = tmp_path_factory.mktemp("trace") / "run.json"
    output = start(HERE / "together.py", *CALLS, env={"MILLPOND_TRACE": str(trace)})
    printed = {}
    for part in output.split("== ")[1:]:
        call, _, text = part.partition("\n")
        printed[call] = text
    events = json.loads(trace.read_text())
    printed["trace"] = Counter(event.get("name") for event in (events["traceEvents"] if isinstance(events, dict) else events))
    return printed


@pytest.mark.parametrize("call, comparisons", [("mlp", 7), ("resnet18", 3), ("bert", 8), ("gpt2_cache", 2), ("gpt2_cache --dynamic", 4),
                                               ("control_flow", 5), ("reduce_overhead", 5)])
def test_results_equal_eagers_and_the_cpus(run, call, comparisons):
    assert "failed:" not in run[call], run[call]
    found = DIFFERENCE.findall(run[call])
    assert len(found) == comparisons, run[call]
    assert [one for one in found if max(map(float, one)) > CLOSE] == [], run[call]


def test_a_new_shape_compiles_once_more_and_a_dynamic_graph_takes_all(run):
    assert "compilations: 3" in run["mlp"]


@pytest.mark.parametrize("call", ["gpt2_cache", "gpt2_cache --dynamic"])
def test_a_cache_changed_in_place_writes_the_same_words(run, call):
    lines = [line for line in run[call].splitlines() if ": words " in line]
    assert lines
    for line in lines:
        assert "the same as eager's: True, as the CPU's: True" in line


@pytest.mark.parametrize("call", ["train_mlp", "train_cnn"])
def test_training_by_graphs_has_the_losses_of_the_cpu(run, call):
    assert "failed:" not in run[call], run[call]
    losses = {name: [float(word) for word in words.split()] for name, words in re.findall(r"^train (\w+): (.*)$", run[call], re.MULTILINE)}
    assert len(losses["cpu"]) == 5
    assert losses["compiled"] == pytest.approx(losses["cpu"], rel=1e-4)
    assert losses["eager"] == pytest.approx(losses["cpu"], rel=1e-4)


def test_what_torchair_cannot_convert_is_refused_by_name(run):
    assert "torch.cond: refused:" in run["control_flow"]


def test_the_graphs_ran_in_a_session_with_the_wheels_allocator(run):
    trace = run["trace"]
    assert trace["RegisterExternalAllocator"] >= 1
    assert trace["CompileGraph"] >= 20
    assert trace["ExecuteGraphWithStreamAsync"] >= 50
    # Static graphs, whose memory the wheel brings, and dynamic ones, which ask its allocator.
    assert trace["SetGraphConstMemoryBase"] >= 5
    assert trace["UpdateGraphFeatureMemoryBase"] >= 5


def test_every_example_is_run_and_listed(root):
    folder = root / "examples" / "torchair"
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "common")
    assert [name for name in names if name not in {call.split()[0] for call in CALLS}] == []
    overview = (folder / "README.md").read_text()
    assert [name for name in names if f"`{name}.py`" not in overview] == []

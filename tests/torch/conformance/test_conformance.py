# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operator database is the judge of the virtual NPU: nothing wrong, and enough of it passes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RESULTS = ROOT / "build" / "conformance" / "run.json"
LIMIT_S = 1200

# What harness_check.py must say about each made-up entry.
ON_CPU = {
    "right": "pass", "wrong_value": "wrong", "nan": "wrong", "wrong_shape": "wrong", "wrong_type": "wrong", "two_outputs": "wrong",
    "no_tensor": "wrong", "refused": "refused", "changes_input": "wrong", "crash": "crash", "hang": "hang", "cpu": "cpu",
    "no_reference": "none", "random": "pass", "random_never_the_same": "wrong", "random_same_for_all_seeds": "wrong",
    "random_other_distribution": "wrong",
}
ON_NPU = {"right": "pass", "did_nothing": "wrong", "did_nothing_again": "wrong", "wrong_value": "wrong"}


def python(*arguments, env):
    return subprocess.run([sys.executable, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)


@pytest.mark.parametrize("device, expected", [("cpu", ON_CPU), ("npu", ON_NPU)])
def test_suite_sees_every_kind_of_misbehaviour(ascend_env, device, expected):
    done = python(HERE / "harness_check.py", device, env=ascend_env)
    assert done.returncode == 0, done.stderr[-3000:]
    states = json.loads(done.stdout.splitlines()[-1])
    wanted = {f"{name} forward": state for name, state in expected.items()}
    assert states == {**wanted, "right backward": "pass", "wrong_value backward": "wrong"}


@pytest.fixture(scope="module")
def run(ascend_env):
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.unlink(missing_ok=True)
    done = python(HERE / "run.py", "--missing", "--calls", "--json", RESULTS, env=ascend_env)
    assert RESULTS.exists(), f"run.py ended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


@pytest.fixture(scope="module")
def rows(run):
    return json.loads(RESULTS.read_text())


def named(rows, states):
    return [f"{row['state']}: {' '.join(row['pair'].values())}, sample {row['sample']}: {row['reason'][:300]}"
            for row in rows if row["state"] in states]


def test_every_entry_is_judged(rows):
    """CPU has no jiterator; it must refuse nothing else, or pairs would vanish from the count."""
    assert len(rows) > 3000
    assert [name for name in named(rows, ("none",)) if not name.startswith("none: jiterator_")] == []


@pytest.mark.parametrize("state", ["wrong", "crash", "hang"])
def test_no_pair_is(rows, state):
    assert named(rows, (state,)) == []


def test_every_refusal_has_a_reason(rows):
    sys.path.insert(0, str(HERE))
    try:
        import reasons
    finally:
        sys.path.pop(0)
    assert [name for row in rows if not reasons.is_clear(row["reason"]) for name in named([row], ("refused",))] == []


def test_enough_pairs_pass(run):
    """run.py's closing table names the share that passes and the share that is needed (report.MIN_PERCENT)."""
    judged = {}
    for line in run.stdout.splitlines():
        words = line.split()
        if len(words) > 9 and words[-1].count(".") == 1 and words[-2].count(".") == 1:
            judged[" ".join(words[:-9])] = (float(words[-2]), float(words[-1]))
    assert len(judged) == 3, f"no table in what run.py printed:\n{run.stdout[-2000:]}"
    assert {name: found for name, found in judged.items() if found[0] < found[1]} == {}
    slack = {name: found for name, found in judged.items() if found[0] >= found[1] + 0.2}
    assert slack == {}, "more pass than the ratchet asks for: write the new shares into report.MIN_PERCENT"


def test_list_of_what_the_wheel_asks_differently_is_current(run):
    assert [line for line in run.stdout.splitlines() if line.startswith("wheel_differs.tsv:")] == []


def test_ops_page_is_what_the_run_gave(rows):
    done = python(ROOT / "tools" / "gen_ops_doc.py", "--check", RESULTS, env=None)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_half_types_are_rounded_once(ascend_env):
    """A card computes in float32 inside; ./millpond test --long has the gradients and bfloat16 too."""
    done = python(HERE / "halves.py", "--dtypes", "float16", "--directions", "forward", "--samples", "3", env=ascend_env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

# SPDX-License-Identifier: Apache-2.0
"""examples/acl_python do what they say: each block the Python allocator gave is printed, and the numbers are right."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "acl_python"
NOT_YET = ("offline models are not in this release", "atc is not on PATH", "(libfmk_onnx_parser.so) is not installed")


def run(name, environment, folder):
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], env=environment, cwd=folder, capture_output=True, text=True,
                          timeout=120, check=False)
    for reason in NOT_YET:
        if reason in done.stderr:
            pytest.skip(f"this build lacks what the example needs: {reason}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Exception ignored" not in done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "as expected"
    return lines


def test_single_operators_take_their_outputs_from_the_allocator(ascend_env, tmp_path):
    lines = run("allocator_on_stream.py", ascend_env, tmp_path)
    assert [line for line in lines if "alloc of" in line] == [f"  alloc of 64 bytes: block {number} at offset {offset}"
                                                              for number, offset in ((1, 0), (2, 64), (3, 0))]
    assert "  free of block 1" in lines


@pytest.mark.parametrize("seed", [0, 1])
def test_single_operators_earn_no_error_of_the_checker(ascend_env, tmp_path, seed):
    found = tmp_path / "lines.jsonl"
    run("allocator_on_stream.py", {**ascend_env, "MILLPOND_CHECK": "1", "MILLPOND_CHECK_JSON": str(found), "MILLPOND_SEED": str(seed)}, tmp_path)
    lines = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    assert lines and not [line for line in lines if line["event"] == "finding" and line["severity"] == "error"]


def test_a_model_with_an_open_dimension_runs_with_several_shapes(ascend_env, tmp_path):
    lines = run("dynamic_model.py", ascend_env, tmp_path)
    assert lines[0] == "input x takes [[1, 64], [16, 16]]"
    assert [line for line in lines if line.endswith("rows:")] == ["4 rows:", "64 rows:", "4 rows:", "1 rows:"]
    assert sum("alloc of" in line for line in lines) == sum("free of" in line for line in lines) > 0


def test_the_onnx_file_is_what_the_onnx_package_reads(tmp_path):
    onnx = pytest.importorskip("onnx", reason="the onnx package is not installed in this environment")
    sys.path.insert(0, str(EXAMPLES))
    try:
        import onnx_model
    finally:
        sys.path.pop(0)
    onnx_model.write(tmp_path / "small.onnx", 16)
    onnx.checker.check_model(onnx.load(tmp_path / "small.onnx"), full_check=True)

# SPDX-License-Identifier: Apache-2.0
"""examples/acl_python does what it says: each block the Python allocator gave is printed, and the numbers are right."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "acl_python" / "allocator_on_stream.py"


def test_the_example_prints_each_block_and_ends_as_expected(ascend_env, tmp_path):
    done = subprocess.run([sys.executable, str(EXAMPLE)], env=ascend_env, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          check=False)
    if "single operators through aclop are not in this release" in done.stderr:
        pytest.skip("single operators do not run in this build")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if "alloc of" in line] == [f"  alloc of 64 bytes: block {number} at offset {offset}"
                                                              for number, offset in ((1, 0), (2, 64), (3, 0))]
    assert "  free of block 1" in lines and lines[-1] == "as expected"
    assert "Exception ignored" not in done.stderr

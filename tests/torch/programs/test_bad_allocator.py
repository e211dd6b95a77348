# SPDX-License-Identifier: Apache-2.0
"""A user's my_malloc that returns a bad pointer: it is named when it first reaches us, and only that operation fails."""

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NAMED = {"null": "null", "misaligned": "align", "host": "host"}


@pytest.fixture(scope="module")
def library(ascend, tmp_path_factory):
    path = tmp_path_factory.mktemp("allocator") / "libbad_allocator.so"
    subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{ascend}/include", HERE / "bad_allocator.cc",
                    "-o", path, f"-L{ascend}/lib64", "-lascendcl"], check=True, timeout=120)
    return path


def test_the_allocator_works_when_it_is_not_told_to_fail(start, library):
    for operation in ("create", "copy", "launch"):
        program = start(HERE / "bad_allocator.py", library, "none", operation)
        assert program.status == 0, program.errors
        program.says("before: 10", "no error: [", "after: 20")


@pytest.mark.parametrize("queue", ["0", "1", "2"])
@pytest.mark.parametrize("operation", ["create", "copy", "launch"])
@pytest.mark.parametrize("fault", NAMED)
def test_a_bad_pointer_is_named_and_fails_that_operation_only(start, library, fault, operation, queue):
    program = start(HERE / "bad_allocator.py", library, fault, operation, env={"TASK_QUEUE_ENABLE": queue})
    assert program.status == 0, f"{program.status}\n{program.output}\n{program.errors}"
    program.says("before: 10", "error: ", "after: 20")
    assert "no error" not in program.output
    said = program.output.split("error: ", 1)[1] + program.errors
    assert re.search(NAMED[fault], said, re.IGNORECASE), said

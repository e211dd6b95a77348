# SPDX-License-Identifier: Apache-2.0
"""A user's my_malloc that returns a bad pointer: it is named when it first reaches us, and only that operation fails."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OPERATIONS = ("create", "launch", "copy")
# A null block does not reach us where torch_npu itself looks first.
NAMED = {"null": r"NULL|data_ptr", "misaligned": "aligned", "host": "ordinary host memory"}


@pytest.fixture(scope="module")
def library(compiled):
    return compiled(HERE / "bad_allocator.cc")


# Not with TASK_QUEUE_ENABLE=2: there torch_npu asks for everything on its queue's thread, and stops the queue at the first error.
@pytest.mark.parametrize("queue", ["0", "1"])
def test_a_bad_pointer_is_named_and_fails_that_operation_only(start, library, queue):
    program = start(HERE / "bad_allocator.py", library, env={"TASK_QUEUE_ENABLE": queue})
    assert program.status == 0, f"{program.status}\n{program.output}\n{program.errors}"
    said = dict(line.split(": ", 1) for line in program.output.splitlines())
    assert [said[f"none {operation}"] for operation in OPERATIONS] == ["fine, sum 0", "fine, sum 20", "fine, sum 55"]
    for fault, name in NAMED.items():
        for operation in OPERATIONS:
            outcome = said[f"{fault} {operation}"]
            assert outcome.startswith("error: ") and re.search(name, outcome), f"{fault} {operation}: {outcome}"
            assert said[f"after {fault} {operation}"] == "20"

# SPDX-License-Identifier: Apache-2.0
"""A user's my_malloc and my_free that wait, allocate, copy, and change streams and contexts: the program computes the same. Issue 13."""

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ACTS = ("stream", "device", "memory", "other stream", "context", "copy")


@pytest.fixture(scope="module")
def library(compiled):
    return compiled(HERE / "reentrant_allocator.cc")


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_whatever_an_allocator_does_the_program_computes_the_same(start, library, queue):
    program = start(HERE / "reentrant_allocator.py", library, env={"TASK_QUEUE_ENABLE": queue})
    assert program.status == 0, f"{program.status}\n{program.output}\n{program.errors}"
    said = program.output.splitlines()
    assert said[0] == "nothing: (50, 50, 4096) never done, 0 refused"
    assert said[1:] == [f"{act}: (50, 50, 4096) done, 0 refused" for act in ACTS], program.output

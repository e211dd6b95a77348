# SPDX-License-Identifier: Apache-2.0
"""Of the GE operator types that the wheel's torchair can emit, enough are carried out, and they are written as our definitions have them."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# What the wheel writes and our definitions do not have, with the reason that it may be so.
TOLERATED = {
    ("NetOutput", "inputs", "input"): "operands count by place",
    ("TopKV2", "attributes", "sort_policy"): "a hint",
}


@pytest.fixture(scope="module")
def types(torch_env):
    sys.path.insert(0, str(HERE))
    try:
        import operator_types
    finally:
        sys.path.pop(0)
    return operator_types


def test_most_types_are_carried_out(types):
    emitted = types.emitted()
    missing = sorted(set(emitted) - types.bound())
    assert len(emitted) >= 400, "the wheel's sources are not read as they should be"
    assert len(emitted) - len(missing) >= 360, f"missing: {missing}"


def test_nodes_are_written_as_the_definitions_have_them(types):
    assert set(types.unknown_names()) == set(TOLERATED)

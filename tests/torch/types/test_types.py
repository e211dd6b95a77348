# SPDX-License-Identifier: Apache-2.0
"""Types and shapes of aclnn operators: what phase 1 takes runs and is right, the rest is refused there. `./millpond test --long` walks all operators."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LIMIT_S = 600
PARTS = 5  # a walk over all takes half a minute


def python(*arguments, env):
    return subprocess.run([sys.executable, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)


@pytest.mark.parametrize("types", ["any", "documented"])
def test_each_type_is_right_or_refused_in_phase_1(torch_env, types):
    done = python(HERE / "walk.py", "--part", f"3/{PARTS}", "--types", types, env=torch_env)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
    counts = {key: int(value) for value, key in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}
    assert counts["call"] > 50
    assert counts["refused"] > 1000
    assert counts["right"] > 200


def test_no_shape_ends_the_process(torch_env):
    done = python(HERE / "shapes.py", "--part", f"2/{PARTS}", env=torch_env)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
    assert int(re.findall(r"(\d+) calls", done.stdout)[0]) > 3000


REFUSED = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import calls, walk
rows = {row.name: row for row in walk.read_tables(calls.ROOT / "src" / "ops" / "table")[0]}
door = calls.Door()
tensor = calls.Tensor(sys.argv[3], (2, 3))
print(door.call(rows[sys.argv[2]], [tensor] * len(rows[sys.argv[2]].args), lambda tensor: bytes(64)))
"""


@pytest.mark.parametrize("soc, operator, type_name, message", [
    ("Ascend910B1", "aclnnGcd", "int8", "self is of type INT8 (2), which this operator does not take on Atlas A2 products; it takes INT32, INT16, INT64"),
    ("Ascend910_9392", "aclnnGcd", "int8", "on Atlas A3 products; it takes INT32, INT16, INT64"),
    ("Ascend950PR_9589", "aclnnGcd", "float32", "on Ascend 950 products; it takes INT8, INT32, UINT8, INT16, INT64"),
    ("Ascend310P3", "aclnnGcd", "bool", "on Atlas inference products; it takes INT8, INT32, UINT8, INT16, INT64"),
])
def test_the_list_is_the_series_own(torch_env, soc, operator, type_name, message):
    done = python("-c", REFUSED, HERE, operator, type_name, env={**torch_env, "MILLPOND_SOC": soc, "MILLPOND_TYPES": "documented"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("(1, 161002,"), done.stdout
    assert message in done.stdout


MIXED = """
import sys
sys.path.insert(0, sys.argv[1])
import calls, walk
rows = {row.name: row for row in walk.read_tables(calls.ROOT / "src" / "ops" / "table")[0]}
door = calls.Door()
for line in sys.argv[2:]:
    name, *arguments = line.split()
    arguments = [calls.parse_one(argument) for argument in arguments]
    print(door.call(rows[name], arguments, lambda tensor: b"\\x01" * (16 * tensor.elements)))
"""


def test_a_mixture_that_nothing_computes_is_refused_with_what_would_do(torch_env):
    lines = ["aclnnAdd float32[2,3] complex64[2,3] int64:1 float32[2,3]", "aclnnAdd float32[2,3] complex64[2,3] int64:1 complex64[2,3]",
             "aclnnInplaceAdd int32[2] float32[2] int64:1", "aclnnBitwiseNot float32[3] float32[3]"]
    done = python("-c", MIXED, HERE, *lines, env=torch_env)
    assert done.returncode == 0, done.stderr[-2000:]
    mixed, right, in_place, alone = done.stdout.splitlines()
    assert mixed.startswith("(1, 161002,"), mixed
    assert "nothing here computes self FLOAT, other COMPLEX64, out FLOAT" in mixed
    assert "beside the others out may be COMPLEX64, COMPLEX128" in mixed
    assert right == "(0, 0, '')"
    assert in_place.startswith("(1, 161002,"), in_place
    assert "selfRef may be" in in_place
    assert alone.startswith("(1, 161002,"), alone
    assert "all that are FLOAT now may be INT8, INT16, INT32, INT64, UINT8, BOOL" in alone


def test_the_trial_of_a_mixture_touches_no_memory_of_the_client(torch_env):
    """The first call of a mixture is tried in phase 1: the second phase, which is not called, would write."""
    script = MIXED.replace("print(door.call(", "print(tried(").replace("for line in", TRIED + "\nfor line in")
    done = python("-c", script, HERE, "aclnnInplaceAdd float32[2] float32[2] int64:1", env=torch_env)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "0 True\n", done.stdout


TRIED = """
import ctypes
def tried(row, arguments, contents):
    door.used, door.addresses = 0, []
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    words = [door._word(argument, value, contents) for argument, value in zip(row.args, arguments, strict=True)]
    before = [door.read(number) for number in range(len(door.addresses))]
    status = getattr(door.ops, row.name + "GetWorkspaceSize")(*words, ctypes.byref(size), ctypes.byref(executor))
    return f"{status} {before == [door.read(number) for number in range(len(door.addresses))]}"
"""

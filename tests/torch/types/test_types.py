# SPDX-License-Identifier: Apache-2.0
"""Types of aclnn operators: what phase 1 takes runs and is right, the rest is refused there. `./millpond test --long` walks all operators."""

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


def test_each_type_is_right_or_refused_in_phase_1(torch_env):
    done = python(HERE / "walk.py", "--part", f"3/{PARTS}", env=torch_env)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
    counts = {key: int(value) for value, key in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}
    assert counts["call"] > 50
    assert counts["refused"] > 1000
    assert counts["right"] > 200


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

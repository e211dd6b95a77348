# SPDX-License-Identifier: Apache-2.0
"""Every function of abi/refused.txt is called: it must refuse, and the recent message must name it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("surface", Path(__file__).with_name("surface.py"))
surface = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(surface)

# In a process of its own: a function that uses its null arguments takes that process down, not the test run.
CALLER = """
import ctypes, json, sys
libraries, rows = sys.argv[1], json.load(sys.stdin)
message = ctypes.CDLL(f"{libraries}/libascendcl.so").aclGetRecentErrMsg
message.restype = ctypes.c_char_p
for name, library, answer in rows:
    function = ctypes.CDLL(f"{libraries}/{library}")[name]
    function.restype = {"void": None, "NULL": ctypes.c_void_p, "0": ctypes.c_uint64}.get(answer, ctypes.c_int)
    message()
    result = function(*[ctypes.c_uint64(0)] * 8)
    text = message()
    print(json.dumps([name, result, text.decode() if text else None]), flush=True)
"""


@pytest.fixture(scope="module")
def answers(ascend, ascend_env):
    outcome = subprocess.run([sys.executable, "-c", CALLER, str(ascend / "lib64")], input=json.dumps(surface.refused()),
                             env=ascend_env, capture_output=True, text=True, check=False, timeout=120)
    found = {name: (result, text) for name, result, text in map(json.loads, outcome.stdout.splitlines())}
    return found, outcome


@pytest.mark.parametrize("name, library, answer", surface.refused(), ids=lambda value: value)
def test_refuses_and_says_so(name, library, answer, answers):
    found, outcome = answers
    assert name in found, f"not reached; the caller ended with {outcome.returncode}: {outcome.stderr[-300:]}"
    result, message = found[name]
    expected = {"void": None, "NULL": None, "0": 0}
    assert result == (expected[answer] if answer in expected else int(answer)), f"{library} answered {result}"
    assert message is not None and name in message, message


def test_refused_functions_are_declared_and_listed_once(root):
    names = [name for name, _, _ in surface.refused()]
    assert len(names) == len(set(names))
    # Those take C++ objects of CANN's own; no header of ours declares them.
    undeclared = {"HcomExecInitialize", "HcomExecFinalize", "HcomExecEnqueueOperation", "HcomExecEnqueueAllToAllV"}
    assert set(names) - set(surface.declared(root / "include")) == undeclared
    recorded = surface.recorded()
    assert [name for name, library, _ in surface.refused() if name not in recorded[library]] == []


def test_every_entry_point_of_models_and_operators_is_tried_with_wrong_arguments(root):
    """Refused ones by the tests above, the others by the tables of tests/acl. Captured models have suites of their own."""
    recorded = surface.recorded()
    names = [name for library in ("libascendcl.so", "libacl_op_compiler.so", "libacl_cblas.so") for name in recorded[library]
             if name.startswith(("aclmdl", "aclop", "aclblas")) and not name.startswith("aclmdlRI")]
    refused = {name for name, _, _ in surface.refused()}
    tables = "".join((root / "tests" / "acl" / f"{suite}_test.cc").read_text() for suite in
                     ("model/model_robust", "model/model_fault", "op/op_robust"))
    assert len(names) > 150
    assert [name for name in names if name not in refused and f"{name}(" not in tables] == []

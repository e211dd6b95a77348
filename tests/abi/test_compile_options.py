# SPDX-License-Identifier: Apache-2.0
"""libacl_op_compiler: options are kept and told again, with the documented defaults and refusals."""

import json
import subprocess
import sys

import pytest

# In a process of its own: the options are the process's.
CALLER = """
import ctypes, json, sys
libraries = sys.argv[1]
compiler = ctypes.CDLL(f"{libraries}/libacl_op_compiler.so")
compiler.aclGetCompileoptSize.restype = ctypes.c_size_t
message = ctypes.CDLL(f"{libraries}/libascendcl.so").aclGetRecentErrMsg
message.restype = ctypes.c_char_p
PRECISION, TUNE, DEBUG_DIR, JIT, DEBUG_OPTION = 0, 2, 6, 10, 16

def get(option, room=256):
    buffer = ctypes.create_string_buffer(256)
    code = compiler.aclGetCompileopt(option, buffer, ctypes.c_size_t(room))
    return code, buffer.value.decode()

def failure(code):
    return code, (message() or b"").decode()

found = {
    "jit size": compiler.aclGetCompileoptSize(JIT),
    "jit default": get(JIT),
    "precision default": get(PRECISION),
    "unset size": compiler.aclGetCompileoptSize(DEBUG_OPTION),
    "unset": get(DEBUG_OPTION),
    "set": compiler.aclSetCompileopt(DEBUG_OPTION, b"oom"),
    "set size": compiler.aclGetCompileoptSize(DEBUG_OPTION),
    "set value": get(DEBUG_OPTION),
    "too small": get(DEBUG_OPTION, 3)[0],
    "jit set": (compiler.aclSetCompileopt(JIT, b"enable"), get(JIT)[1]),
    "jit nonsense": failure(compiler.aclSetCompileopt(JIT, b"perhaps")),
    "jit after nonsense": get(JIT)[1],
    "null value": failure(compiler.aclSetCompileopt(JIT, None)),
    "null buffer": compiler.aclGetCompileopt(JIT, None, ctypes.c_size_t(256)),
    "tune": failure(compiler.aclSetCompileopt(TUNE, b"RL")),
    "unknown": [compiler.aclSetCompileopt(233, b"1"), compiler.aclGetCompileoptSize(233), get(233)[0],
                compiler.aclGetCompileoptSize(-1)],
    "flag": [compiler.aclopSetCompileFlag(0), compiler.aclopSetCompileFlag(1), compiler.aclopSetCompileFlag(2)],
    "text": [compiler.aclSetCompileopt(DEBUG_DIR, b"/some/where"), get(DEBUG_DIR)[1]],
}
print(json.dumps(found))
"""


def options(ascend, environment):
    outcome = subprocess.run([sys.executable, "-c", CALLER, str(ascend / "lib64")], env=environment, capture_output=True,
                             text=True, check=True, timeout=60)
    return json.loads(outcome.stdout)


@pytest.fixture(scope="module")
def found(ascend, ascend_env):
    return options(ascend, ascend_env)


def test_defaults_are_the_documented_ones(found):
    assert found["jit size"] == 256
    assert found["jit default"] == [0, "disable"]
    assert found["precision default"] == [0, "allow_fp32_to_fp16"]


def test_the_default_of_jit_follows_the_product(ascend, ascend_env):
    assert options(ascend, {**ascend_env, "MILLPOND_SOC": "Ascend310P3"})["jit default"] == [0, "enable"]


def test_an_option_without_value_or_default_says_so(found):
    assert found["unset size"] == 0
    assert found["unset"][0] == 200001


def test_what_was_set_is_told_again(found):
    assert (found["set"], found["set size"], found["set value"]) == (0, 4, [0, "oom"])
    assert found["jit set"] == [0, "enable"]
    assert found["text"] == [0, "/some/where"]
    assert found["too small"] == 500000


def test_wrong_values_are_refused_and_change_nothing(found):
    code, message = found["jit nonsense"]
    assert code == 100000 and "perhaps" in message
    assert found["jit after nonsense"] == "enable"
    assert found["null value"][0] == 100000 and "value" in found["null value"][1]
    assert found["null buffer"] == 100000
    assert found["tune"][0] == 200006 and "ACL_AUTO_TUNE_MODE" in found["tune"][1]
    assert found["unknown"] == [500000, 0, 200001, 0]
    assert found["flag"] == [0, 0, 100000]

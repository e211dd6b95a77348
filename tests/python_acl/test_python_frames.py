# SPDX-License-Identifier: Apache-2.0
"""The checker names lines of Python under every CPython that this machine has, whatever Python the bindings were built for."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes

acl = ctypes.CDLL("libascendcl.so")

class Pool:
    def give_back(self, address):
        for _ in range(1):
            acl.aclrtFree(ctypes.c_void_p(address))

def trim(pool):
    return [pool.give_back(address) for address in (4096,)]

assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(0) == 0
trim(Pool())
acl.aclFinalize()
"""
GIVE_BACK, TRIM, MODULE = 9, 12, 15


def interpreter(version):
    """The file of this version, from the PATH or pyenv; or None."""
    homes = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for path in [*homes, shutil.which(f"python{version}")]:
        if path and subprocess.run([path, "-c", "import ctypes"], capture_output=True, check=False).returncode == 0:
            return str(path)
    return None


def checked(python, env, folder):
    program, lines = folder / "program.py", folder / "lines"
    program.write_text(PROGRAM)
    done = subprocess.run([python, str(program)], env={**env, "MILLPOND_CHECK": "1", "MILLPOND_CHECK_JSON": str(lines)},
                          cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 66, done.stderr
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    found = [row for row in rows if row["event"] == "finding"]
    assert [row["rule"] for row in found] == ["MP501"]
    frames = [(frame["function"], frame["line"]) for frame in found[0]["stacks"][0]["frames"] if frame["language"] == "python"]
    return frames, [note for row in rows if row["event"] == "end" for note in row["notes"]]


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_the_lines_of_the_program_are_named(ascend_env, tmp_path, version):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no python{version} here")
    frames, notes = checked(python, ascend_env, tmp_path)
    # Qualified names, where code objects have them; a comprehension was a frame of its own before 3.12.
    names = [name.rpartition(".")[2] for name, _ in frames]
    expected = ["give_back", "<listcomp>", "trim", "<module>"]
    lines = [GIVE_BACK, TRIM, TRIM, MODULE]
    if version in ("3.12", "3.13"):
        del expected[1], lines[1]
    assert names == expected and [line for _, line in frames] == lines
    assert notes == []


def test_a_version_that_cannot_be_read_is_told_once(ascend_env, tmp_path):
    python = interpreter("3.9")
    if python is None:
        pytest.skip("there is no python3.9 here")
    frames, notes = checked(python, ascend_env, tmp_path)
    assert frames == []
    assert len(notes) == 1 and notes[0].startswith("lines of Python 3.9.") and "C functions alone" in notes[0]


COMPILED = """
import ctypes

acl = ctypes.CDLL("libascendcl.so")
assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(0) == 0
SOURCE = "def free(address):\\n    acl.aclrtFree(ctypes.c_void_p(address))"
for number in range(60):
    space = {"acl": acl, "ctypes": ctypes}
    exec(compile(SOURCE, f"generated_{number:02}.py", "exec"), space)
    space["free"](4096)
    del space
acl.aclFinalize()
"""


def test_code_that_was_compiled_at_the_address_of_code_that_is_gone_has_its_own_lines(ascend_env, tmp_path):
    found = findings_of(ascend_env, tmp_path / "program.py", COMPILED)
    files = [finding["stacks"][0]["frames"][0]["file"] for finding in found]
    assert files == [f"generated_{number:02}.py" for number in range(60)]


def test_names_that_are_not_ascii_are_read(ascend_env, tmp_path):
    folder = tmp_path / "\u7528\u6237 \u00e9\U0001f600"
    folder.mkdir()
    program = PROGRAM.replace("trim", "\u91ca\u653e")
    (found,) = findings_of(ascend_env, folder / "\u7a0b\u5e8f.py", program)
    frames = found["stacks"][0]["frames"]
    assert frames[0]["file"] == str(folder / "\u7a0b\u5e8f.py")
    assert "\u91ca\u653e" in [frame["function"] for frame in frames]


def findings_of(env, program, text):
    program.write_text(text, encoding="utf-8")
    lines = program.with_suffix(".lines")
    subprocess.run([sys.executable, str(program)], env={**env, "MILLPOND_CHECK": "1", "MILLPOND_CHECK_JSON": str(lines)}, cwd=program.parent,
                   capture_output=True, timeout=120, check=False)
    rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["event"] == "finding"]

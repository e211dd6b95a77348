# SPDX-License-Identifier: Apache-2.0
"""The checker names lines of Python under every CPython that this machine has, whatever Python the bindings were built for."""

import json
import shutil
import subprocess
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

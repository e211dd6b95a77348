# SPDX-License-Identifier: Apache-2.0
"""Runs a program of examples/torch in a process of its own, on the virtual NPU or on the CPU alone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "torch"
TIMEOUT_S = 240


class Program:
    """A finished run: what it printed, and its figures."""

    def __init__(self, done):
        self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr

    @property
    def losses(self):
        found = [float(value) for value in re.findall(r"^step \d+ loss (\S+)", self.output, re.MULTILINE)]
        assert found, f"no losses in:\n{self.output}"
        return found

    def says(self, *texts):
        for text in texts:
            assert text in self.output, f"no '{text}' in:\n{self.output}\n{self.errors}"


@pytest.fixture(scope="session")
def start(torch_env, tmp_path_factory):
    """start(file, *arguments, env=..., cwd=...): any Python program, whatever its exit status."""

    def run(path, *arguments, env=None, cwd=None, timeout=TIMEOUT_S):
        command = [sys.executable, str(path), *map(str, arguments)]
        done = subprocess.run(command, env={**torch_env, **(env or {})}, cwd=cwd or tmp_path_factory.mktemp("run"),
                              capture_output=True, text=True, timeout=timeout, check=False)
        return Program(done)

    return run


@pytest.fixture(scope="session")
def compiled(ascend, tmp_path_factory):
    """compiled(source): the library that a user would build of an allocator for torch_npu."""

    def build(source):
        path = tmp_path_factory.mktemp("allocator") / f"lib{source.stem}.so"
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{ascend}/include", source,
                        "-o", path, f"-L{ascend}/lib64", "-lascendcl"], check=True, timeout=120)
        return path

    return build


@pytest.fixture(scope="session")
def on_npu(start):
    """on_npu(name, *arguments, env=...): an example on the virtual NPU; it must end well."""

    def run(name, *arguments, **options):
        program = start(EXAMPLES / f"{name}.py", *arguments, **options)
        assert program.status == 0, f"{name} {arguments} ended with {program.status}\n{program.output}\n{program.errors[-6000:]}"
        return program

    return run


@pytest.fixture(scope="session")
def on_cpu(start):
    """The same on the CPU, without torch_npu: the judge. Each is run once."""
    known = {}

    def run(name, *arguments):
        if (name, arguments) not in known:
            program = start(EXAMPLES / f"{name}.py", "--device", "cpu", *arguments, env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
            assert program.status == 0, f"{name} on the CPU ended with {program.status}\n{program.output}\n{program.errors}"
            known[name, arguments] = program
        return known[name, arguments]

    return run

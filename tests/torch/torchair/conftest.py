# SPDX-License-Identifier: Apache-2.0
"""Programs with torchair, each in a process of its own."""

import subprocess
import sys

import pytest

TIMEOUT_S = 300


@pytest.fixture(scope="session")
def start(torch_env, tmp_path_factory):
    """start(file, *arguments, env=...): what the program printed; it must end well."""

    def run(path, *arguments, env=None):
        command = [sys.executable, str(path), *map(str, arguments)]
        done = subprocess.run(command, env={**torch_env, **(env or {})}, cwd=tmp_path_factory.mktemp("run"), capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr[-6000:]}"
        return done.stdout

    return run

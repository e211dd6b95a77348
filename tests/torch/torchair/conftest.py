# SPDX-License-Identifier: Apache-2.0
"""Programs with torchair, each in a process of its own."""

import importlib.util
import os
import subprocess
import sys

import pytest

TIMEOUT_S = 300
# What a tester's shell may have set and a test chooses for itself.
CHOSEN_HERE = ("TASK_QUEUE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "TORCH_DEVICE_BACKEND_AUTOLOAD", "TORCH_COMPILE_DEBUG", "TNG_LOG_LEVEL", "AUTOFUSE_FLAGS",
               "DUMP_GE_GRAPH")


@pytest.fixture(scope="session")
def torch_env(ascend_env):
    if os.environ.get("MILLPOND_TORCH", "").lower() == "off":
        pytest.skip("MILLPOND_TORCH is off: no torch is installed and no kernels are built")
    for package in ("torch", "torch_npu"):
        if importlib.util.find_spec(package) is None:
            pytest.fail(f"{sys.executable} has no {package}; ./millpond test installs it into .venv")
    return {name: value for name, value in ascend_env.items() if name not in CHOSEN_HERE}


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

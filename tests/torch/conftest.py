# SPDX-License-Identifier: Apache-2.0
"""The environment of programs that use torch, each in a process of its own."""

import importlib.util
import os
import sys

import pytest

# What a tester's shell may have set and a test chooses for itself.
CHOSEN_HERE = ("TASK_QUEUE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "TORCH_DEVICE_BACKEND_AUTOLOAD", "MASTER_ADDR", "MASTER_PORT", "TORCH_COMPILE_DEBUG",
               "TNG_LOG_LEVEL", "AUTOFUSE_FLAGS", "DUMP_GE_GRAPH")


@pytest.fixture(scope="session")
def torch_env(ascend_env):
    if os.environ.get("MILLPOND_TORCH", "").lower() == "off":
        pytest.skip("MILLPOND_TORCH is off: no torch is installed and no kernels are built")
    for package in ("torch", "torch_npu"):
        if importlib.util.find_spec(package) is None:
            pytest.fail(f"{sys.executable} has no {package}; ./millpond test installs it into .venv")
    return {name: value for name, value in ascend_env.items() if name not in CHOSEN_HERE}

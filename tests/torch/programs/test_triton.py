# SPDX-License-Identifier: Apache-2.0
"""Triton's interpreter on tensors of the virtual NPU. triton is 190 MB and no requirement: the test runs where it is installed."""

import importlib.util
import os
from pathlib import Path

import pytest

PLACE = os.environ.get("MILLPOND_TEST_TRITON", "")  # a folder that has triton, where the tests' own Python has none


def test_a_kernel_reads_and_writes_device_memory(on_npu, torch_env):
    if not (Path(PLACE, "triton").is_dir() if PLACE else importlib.util.find_spec("triton")):
        pytest.skip("triton is not installed: pip install --no-deps --target FOLDER triton, MILLPOND_TEST_TRITON=FOLDER")
    path = f"{torch_env.get('PYTHONPATH', '')}:{PLACE}" if PLACE else torch_env.get("PYTHONPATH", "")
    on_npu("triton_kernel", env={"TRITON_INTERPRET": "1", "PYTHONPATH": path}).says("a Triton kernel on npu: right")

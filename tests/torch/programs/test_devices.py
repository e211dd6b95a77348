# SPDX-License-Identifier: Apache-2.0
"""More than one device, and a process group of one rank."""

import pytest


def test_a_model_over_two_devices(on_npu, on_cpu):
    npu = on_npu("two_devices", env={"MILLPOND_DEVICES": "2"})
    npu.says("parameters on: npu:0 npu:1", "both devices hold memory: True", "current device: 0")
    assert npu.losses == pytest.approx(on_cpu("two_devices").losses, rel=1e-5)


def test_a_missing_second_device_is_named(start, root):
    program = start(root / "examples" / "torch" / "two_devices.py", env={"MILLPOND_DEVICES": "1"})
    assert program.status != 0
    assert "this needs two devices, there is 1" in program.errors


def test_one_rank(on_npu, on_cpu):
    npu, cpu = on_npu("one_rank"), on_cpu("one_rank")
    npu.says("process group closed", "all_to_all_single: [0.0, 1.0, 2.0, 3.0]")
    assert npu.losses == pytest.approx(cpu.losses, rel=1e-5)
    for line in cpu.output.splitlines():
        if "all_" in line or "broadcast" in line or "reduce" in line:
            assert line in npu.output

# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a program that has queued more work than anybody waits for. No time is measured: all that was queued would take hours, so that
the process ends at all within the limit says that it was dropped."""

import signal
import subprocess
import sys

import pytest

LIMIT = 300
START = """
import signal
import torch, torch_npu
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started pytest may have it ignored
"""
# 128 thousand million operations each; queues take 2000 of them and more before a launch waits.
UNCAUGHT = START + """
x = torch.ones(4000, 4000, device="npu")
for _ in range(1500):
    y = x @ x
print("queued", flush=True)
while True:
    y = x @ x
"""
# Caught, and what was queued is wanted.
CAUGHT = START + """
small = torch.ones(200, 200, device="npu")
total = torch.zeros(200, 200, device="npu")
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    for _ in range(20):
        total += small @ small
print("kept", total.cpu()[0, 0].item(), flush=True)
"""


@pytest.mark.parametrize("queue", ["0", "1"])
def test_an_interrupt_that_nobody_catches_drops_what_is_queued(torch_env, queue):
    child = subprocess.Popen([sys.executable, "-c", UNCAUGHT], env={**torch_env, "TASK_QUEUE_ENABLE": queue}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, cwd="/")
    try:
        assert child.stdout.readline() == "queued\n"
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=LIMIT)
    finally:
        child.kill()
    assert child.returncode == -signal.SIGINT, said
    assert "KeyboardInterrupt" in said


def test_an_interrupt_that_is_caught_drops_nothing(torch_env):
    done = subprocess.run([sys.executable, "-c", CAUGHT], env=torch_env, capture_output=True, text=True, timeout=LIMIT, check=False, cwd="/")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == f"kept {20 * 200.0}", done.stderr

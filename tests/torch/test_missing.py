# SPDX-License-Identifier: Apache-2.0
"""An operation that is missing says so by name, and what comes after it is right: on both generations of profiles."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, torch, torch_npu
torch.npu.set_device(0)
said = []
values = torch.arange(4.0).npu()
for _ in range(2):
    try:
        # A CANN operator without an aclnn form and without a kernel here.
        torch_npu.npu_rotated_box_encode(torch.rand(1, 5, 4).npu(), torch.rand(1, 5, 4).npu(), torch.ones(5).npu())
        torch.npu.synchronize()
        said.append("nothing")
    except RuntimeError as error:
        said.append(str(error))
    said.append((values + 1).cpu().tolist())
print("RESULT " + json.dumps(said))
"""


@pytest.mark.parametrize("soc, name", [("Ascend910B3", "RotatedBoxEncode"), ("Ascend950PR_9589", "npu_rotated_box_encode")])
@pytest.mark.parametrize("queue", ["0", "1"])
def test_a_missing_operator_is_named_and_the_next_one_runs(soc, name, queue, ascend_env):
    outcome = subprocess.run([sys.executable, "-c", PROGRAM], env={**ascend_env, "MILLPOND_SOC": soc, "TASK_QUEUE_ENABLE": queue},
                             capture_output=True, text=True, timeout=180, check=False)
    lines = [line for line in outcome.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, outcome.stderr[-2000:]
    first, after, second, again = json.loads(lines[0][len("RESULT "):])
    assert name in first and name in second, (first, second)
    assert after == again == [1.0, 2.0, 3.0, 4.0]

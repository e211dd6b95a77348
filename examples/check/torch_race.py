# SPDX-License-Identifier: Apache-2.0
"""A second stream reads a tensor that the first still writes. docs/find_the_wrong_operation.md walks through what the checker
says of it; with the argument `mended` the second stream waits first.

    ./millpond check -- python examples/check/torch_race.py
"""

import sys

import torch
import torch_npu  # noqa: F401


def doubled(x, side, mended):
    if mended:
        side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        x.record_stream(side)
        return x * 2


x = torch.zeros(64, 64, device="npu")
side = torch.npu.Stream()
torch.npu.synchronize()
x.add_(1)
y = doubled(x, side, "mended" in sys.argv[1:])
torch.npu.synchronize()
print("sum", y.sum().item())

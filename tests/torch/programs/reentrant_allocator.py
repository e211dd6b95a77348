# SPDX-License-Identifier: Apache-2.0
"""What my_malloc and my_free do with the runtime themselves leaves the program's own work alone. One line for each thing they do."""

import ctypes
import sys

import torch
import torch_npu

ACTS = ("nothing", "stream", "device", "memory", "other stream", "context", "copy")
library = ctypes.CDLL(sys.argv[1])
torch_npu.npu.change_current_allocator(torch_npu.npu.memory.NPUPluggableAllocator(sys.argv[1], "my_malloc", "my_free"))


def work():
    x = torch.zeros(1 << 12, device="npu")
    one = torch.ones(1 << 12, device="npu")
    for _ in range(50):
        x = torch.add(x, one)
    mask = x > 0
    y = torch.masked_select(x, mask).cpu()  # an operator that waits
    return int(y.min().item()), int(y.max().item()), y.numel()


for number, act in enumerate(ACTS):
    library.choose_act(number)
    result = work()
    torch.npu.synchronize()
    print(f"{act}: {result} {'done' if library.times_done() else 'never done'}, {library.times_refused()} refused", flush=True)
library.choose_act(0)

# SPDX-License-Identifier: Apache-2.0
"""bad_allocator.py LIBRARY FAULT OPERATION: good work, then one operation on a bad block, then good work again."""

import ctypes
import sys

import torch
import torch_npu

FAULTS = {"none": 0, "null": 1, "misaligned": 2, "host": 3}


def create():
    return torch.zeros(10, device="npu")


def copy():
    block = torch.empty(10, device="npu")
    block.copy_(torch.arange(10.0))
    return block


def launch():
    block = torch.empty(10, device="npu")
    torch.add(good, 1.0, out=block)
    return block


library, fault, operation = sys.argv[1], FAULTS[sys.argv[2]], {"create": create, "copy": copy, "launch": launch}[sys.argv[3]]
torch_npu.npu.change_current_allocator(torch_npu.npu.memory.NPUPluggableAllocator(library, "my_malloc", "my_free"))
allocator = ctypes.CDLL(library)
good = torch.ones(10, device="npu")
print("before:", int(good.sum().item()))
allocator.choose_fault(fault)
try:
    result = operation()
    allocator.choose_fault(0)
    torch.npu.synchronize()
    print("no error:", result.tolist())
except RuntimeError as error:
    allocator.choose_fault(0)
    print("error:", " | ".join(str(error).splitlines()))
torch.npu.synchronize()
print("after:", int((good + torch.ones(10, device="npu")).sum().item()))

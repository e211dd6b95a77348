# SPDX-License-Identifier: Apache-2.0
"""bad_allocator.py LIBRARY: each operation on each kind of bad block in turn, with good work before, between and after."""

import ctypes
import sys

import torch
import torch_npu

FAULTS = ("none", "null", "misaligned", "host")


def create():
    return torch.zeros(10, device="npu")


def launch():
    block = torch.empty(10, device="npu")
    torch.add(good, 1.0, out=block)
    return block


def copy():
    """Bytes have no alignment, and acl lets a copy go between any two addresses; the operator after it is refused."""
    block = torch.empty(10, device="npu")
    block.copy_(torch.arange(10.0))
    return block + good


def attempt(operation):
    try:
        result = operation()
        allocator.choose_fault(0)
        torch.npu.synchronize()
        return f"fine, sum {result.sum().item():.0f}"
    except RuntimeError as error:
        return "error: " + " | ".join(str(error).splitlines())
    finally:
        allocator.choose_fault(0)


library = sys.argv[1]
torch_npu.npu.change_current_allocator(torch_npu.npu.memory.NPUPluggableAllocator(library, "my_malloc", "my_free"))
allocator = ctypes.CDLL(library)
good = torch.ones(10, device="npu")
for number, fault in enumerate(FAULTS):
    for operation in (create, launch, copy):
        allocator.choose_fault(number)
        print(f"{fault} {operation.__name__}: {attempt(operation)}")
        print(f"after {fault} {operation.__name__}: {(good + torch.ones(10, device='npu')).sum().item():.0f}", flush=True)

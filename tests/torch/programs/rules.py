# SPDX-License-Identifier: Apache-2.0
"""rules.py RULE [LIBRARY]: a program that breaks the rule when WRONG says so too, and its right twin otherwise."""

import ctypes
import os
import sys

import torch
import torch_npu

RULE = sys.argv[1]
WRONG = os.environ.get("WRONG") == RULE
N = 512


def use_allocator(path):
    torch_npu.npu.change_current_allocator(torch_npu.npu.memory.NPUPluggableAllocator(path, "my_malloc", "my_free"))
    return ctypes.CDLL(path)


def consume(side):
    """Uses a tensor of the current stream on another one; the tensor dies when it returns."""
    x = torch.ones(N, N, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        y = x * 2
    if RULE == "MP404":
        x.record_stream(side)
    if not WRONG and RULE == "MP405":
        x.record_stream(side)
    if not WRONG and RULE in ("MP404", "MP405-pluggable"):
        torch.npu.current_stream().wait_stream(side)
    return y


def swap_after_init():
    if WRONG:
        torch.zeros(1, device="npu")
    try:
        use_allocator(sys.argv[2])
    except RuntimeError as error:
        print("refused:", str(error).splitlines()[0])
    torch.zeros(1, device="npu")
    torch.npu.synchronize()


def result_not_checked():
    use_allocator(sys.argv[2])
    size = 1 << 40
    torch.empty(size if WRONG else 64, dtype=torch.uint8, device="npu")


def free_in_flight():
    library = use_allocator(sys.argv[2])
    x = torch.ones(N, N, device="npu")
    library.keep_nothing()
    y = x * 2
    del x
    torch.npu.synchronize()
    print("sum", y.sum().item())


def record_stream_lost():
    use_allocator(sys.argv[2])
    y = consume(torch.npu.Stream())
    torch.npu.synchronize()
    print("sum", y.sum().item())


def record_stream_missing():
    if len(sys.argv) > 2:
        use_allocator(sys.argv[2])
    y = consume(torch.npu.Stream())
    z = torch.zeros(N, N, device="npu")
    torch.npu.synchronize()
    print("sum", z.sum().item(), tuple(y.shape))


def free_of_foreign_pointer():
    use_allocator(sys.argv[2])
    pointer = torch.npu.caching_allocator_alloc(4096)
    try:
        torch.npu.caching_allocator_delete(pointer + 64 if WRONG else pointer)
    except RuntimeError as error:
        print("refused:", str(error).splitlines()[0])


def memory_of_another_device():
    use_allocator(sys.argv[2])
    torch.zeros(1, device="npu:0")
    torch.empty(N, N, device="npu:1")
    torch.npu.synchronize()


def block_reused_too_early():
    use_allocator(sys.argv[2])
    side = torch.npu.Stream()
    x = torch.ones(N, N, device="npu")
    y = x * 2
    del x
    with torch.npu.stream(side):
        z = torch.zeros(N, N, device="npu")
    torch.npu.synchronize()
    print("sum", y.sum().item() + z.sum().item())


def block_given_twice():
    use_allocator(sys.argv[2])
    x = torch.empty(N, N, device="npu")
    del x
    x = torch.empty(N, N, device="npu")
    y = torch.empty(N, N, device="npu")
    print(x.data_ptr() == y.data_ptr(), flush=True)
    os._exit(0)


{"MP401": swap_after_init, "MP402": result_not_checked, "MP403": free_in_flight, "MP404": record_stream_lost, "MP405": record_stream_missing,
 "MP405-pluggable": record_stream_missing, "MP406": free_of_foreign_pointer, "MP407": memory_of_another_device, "MP303": block_reused_too_early,
 "MP204": block_given_twice}[RULE]()

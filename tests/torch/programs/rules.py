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


def bad_answer():
    """my_malloc answers what no tensor can live in. What torch_npu makes of it is its own business: the process leaves at once."""
    library = use_allocator(sys.argv[2])
    if RULE == "MP203":
        library.cut_pieces()
    try:
        tensors = [torch.empty(N, N, device="npu") for _ in range(2)]
        print("got", len(tensors), flush=True)
    except (RuntimeError, IndexError) as error:
        print("failed:", str(error).splitlines()[0], flush=True)
    os._exit(0)


def pinned_source_overwritten():
    host = torch.ones(N, N).pin_memory()
    x = torch.empty(N, N, device="npu")
    torch.npu.synchronize()
    x.copy_(host, non_blocking=True)
    if not WRONG:
        torch.npu.synchronize()
    host.fill_(7)
    torch.npu.synchronize()


def pending_copy_read():
    x = torch.ones(N, N, device="npu")
    host = torch.empty(N, N).pin_memory()
    torch.npu.synchronize()
    host.copy_(x, non_blocking=True)
    if not WRONG:
        torch.npu.synchronize()
    print("first", host[0, 0].item())
    torch.npu.synchronize()


def collective_buffer_reused():
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("hccl", store=store, rank=0, world_size=1)
    x = torch.ones(N, N, device="npu")
    work = torch.distributed.all_reduce(x, async_op=True)
    if not WRONG:
        work.wait()
    x.add_(1)
    work.wait()
    torch.npu.synchronize()
    torch.distributed.destroy_process_group()


def race_in_a_replayed_graph():
    x = torch.zeros(N, N, device="npu")
    graph = torch.npu.NPUGraph()
    torch.npu.synchronize()
    with torch.npu.graph(graph):
        y = x * 2 + 1
    side = torch.npu.Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        x.fill_(3)
    if not WRONG:
        torch.npu.current_stream().wait_stream(side)
    graph.replay()
    torch.npu.synchronize()
    print("first", y[0, 0].item())


def read_of_unwritten():
    x = torch.empty(4 * N, N, device="npu") if WRONG else torch.ones(4 * N, N, device="npu")
    y = x + 1
    torch.npu.synchronize()
    print("shape", tuple(y.shape))


def read_back_too_early():
    x = torch.zeros(N, N, device="npu")
    torch.npu.synchronize()
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        x.add_(1)
    if not WRONG:
        side.synchronize()
    print("first", x.cpu()[0, 0].item())
    torch.npu.synchronize()


def reaches_past_its_block():
    """A storage that says it is longer than its memory, as of a library that hands pointers on."""
    x = torch.ones(N, N, device="npu")
    size = x.numel() * x.element_size() * (64 if WRONG else 1)
    storage = torch._C._construct_storage_from_data_pointer(x.data_ptr(), x.device, size)
    y = torch.empty(0, device="npu").set_(storage, 0, (size // 4,))
    try:
        y.fill_(2)
        torch.npu.synchronize()
    except RuntimeError as error:
        print("failed:", str(error).splitlines()[0])


def host_touches_a_tensor():
    x = torch.ones(N, N, device="npu")
    torch.npu.synchronize()
    print("first", ctypes.c_float.from_address(x.data_ptr()).value if WRONG else x[0, 0].item())


{"MP401": swap_after_init, "MP402": result_not_checked, "MP403": free_in_flight, "MP404": record_stream_lost, "MP405": record_stream_missing,
 "MP405-pluggable": record_stream_missing, "MP406": free_of_foreign_pointer, "MP407": memory_of_another_device, "MP303": block_reused_too_early,
 "MP204": block_given_twice, "MP201": bad_answer, "MP202": bad_answer, "MP203": bad_answer, "MP205": bad_answer, "MP210": bad_answer,
 "MP206": bad_answer, "MP503": read_of_unwritten, "MP504": reaches_past_its_block, "MP507": pinned_source_overwritten, "MP510": read_back_too_early, "MP511": pending_copy_read, "MP512": host_touches_a_tensor,
 "MP610": collective_buffer_reused, "MP611": race_in_a_replayed_graph}[RULE]()

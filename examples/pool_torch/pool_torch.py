# SPDX-License-Identifier: Apache-2.0
"""The pool as PyTorch's allocator: record_stream, empty_cache, statistics and the snapshot keep working.

    pool_torch.py [PATH/libmillpond_pool.so]

Needs torch and torch_npu. Swap the allocator before the first tensor: torch_npu refuses it afterwards.
"""

import ctypes
import pickle
import sys

import torch
import torch_npu

# What torch_npu takes by address. The statistics function returns a C++ type: millpond/torch_allocator.h.
HOOKS = {
    "set_init_fn": "millpond_init",
    "set_reset_fn": "millpond_reset",
    "set_reset_peak_status_fn": "millpond_reset_peak_status",
    "set_memory_fraction_fn": "millpond_memory_fraction",
    "set_base_alloc_fn": "millpond_base_alloc",
    "set_record_stream_fn": "millpond_record_stream",
    "set_erase_stream_fn": "millpond_erase_stream",
}


def use_pool(path):
    """Makes the pool torch_npu's allocator and returns its library."""
    library = ctypes.CDLL(path)
    library.millpondPoolLastError.restype = ctypes.c_char_p
    allocator = torch_npu.npu.memory.NPUPluggableAllocator(path, "millpond_malloc", "millpond_free")
    for setter, function in HOOKS.items():
        address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
        getattr(allocator.allocator(), setter)(address)
    torch_npu.npu.memory.change_current_allocator(allocator)
    return library


def save_snapshot(library, path, device=0):
    """A file for PyTorch's memory_viz page."""
    pool = ctypes.c_void_p()
    if library.millpondPoolDefault(device, ctypes.byref(pool)) or library.millpondPoolSaveSnapshot(
            pool, path.encode(), b"memory_viz"):
        raise RuntimeError(library.millpondPoolLastError().decode())


def main():
    library = use_pool(sys.argv[1] if len(sys.argv) > 1 else "libmillpond_pool.so")
    side = torch.npu.Stream()
    batch = torch.ones(1024, 1024, device="npu")
    with torch.npu.stream(side):
        side.wait_stream(torch.npu.default_stream())
        total = batch.sum()
    batch.record_stream(side)
    del batch  # the side stream may still read it: the pool waits
    torch.npu.synchronize()
    save_snapshot(library, "pool.pickle")
    with open("pool.pickle", "rb") as file:
        segments = pickle.load(file)["segments"]
    print(f"sum {total.item():.0f}; {len(segments)} segments in pool.pickle")
    torch.npu.empty_cache()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""MemPool: allocations of one part of a program kept apart from the rest."""

import torch

from common import arguments

MIB = 2**20


def main():
    options = arguments(__doc__, npu_only="device memory is what this example is about")
    outside = torch.ones(MIB, device=options.device)
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool):
        inside = torch.full((2 * MIB,), 2.0, device=options.device)
    places = [(segment["address"], segment["address"] + segment["total_size"]) for segment in pool.snapshot()]

    def in_pool(tensor):
        return any(begin <= tensor.data_ptr() < end for begin, end in places)

    print(f"the pool has {len(places)} segments; inside: {in_pool(inside)}, outside: {in_pool(outside)}")
    print("sum", int((inside.sum() + outside.sum()).item()))
    before = torch.npu.memory_reserved()
    del inside, pool
    torch.npu.empty_cache()
    print("gone with its pool:", before - torch.npu.memory_reserved() >= 8 * MIB)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Segments that grow in place: many sizes, little waste. Start it with

    PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
"""

import os

import torch

from common import arguments

MIB = 2**20


def main():
    options = arguments(__doc__, npu_only="device memory is what this example is about")
    print("PYTORCH_NPU_ALLOC_CONF is", os.environ.get("PYTORCH_NPU_ALLOC_CONF", "not set"))
    # Each round requests a little more than the last: fixed segments can reuse none of the earlier ones.
    for megabytes in range(24, 64, 4):
        block = torch.full((megabytes * MIB // 4,), float(megabytes), device=options.device)
        total = block.sum(dtype=torch.float64).item()
        assert total == megabytes * (megabytes * MIB // 4), (megabytes, total)
        del block
    segments = torch.npu.memory_snapshot()
    print(f"peak {torch.npu.max_memory_allocated() / MIB:.0f} MiB, reserved {torch.npu.memory_reserved() / MIB:.0f} MiB "
          f"in {len(segments)} segments, {sum(bool(s.get('is_expandable')) for s in segments)} of them expandable")
    torch.npu.empty_cache()
    print(f"after empty_cache {torch.npu.memory_reserved() / MIB:.0f} MiB reserved")
    again = torch.ones(MIB, device=options.device)
    print("and it goes on:", int(again.sum().item()) == MIB)


if __name__ == "__main__":
    main()

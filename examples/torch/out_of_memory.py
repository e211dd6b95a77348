# SPDX-License-Identifier: Apache-2.0
"""A device that is too small: the error is caught, and smaller work continues.

    ./millpond run --memory 256M -- python examples/torch/out_of_memory.py
"""

import torch

from common import arguments

MIB = 2**20


def main():
    options = arguments(__doc__, npu_only="device memory is what this example is about")
    free, total = torch.npu.mem_get_info()
    print(f"{total / MIB:.0f} MiB in all, {free / MIB:.0f} MiB free")
    held = []
    try:
        while len(held) < 100_000:
            held.append(torch.ones(8 * MIB, device=options.device))  # 32 MiB
    except torch.OutOfMemoryError as error:
        print(f"torch.OutOfMemoryError after {len(held)} blocks of 32 MiB: {str(error).splitlines()[0][:120]}")
    print("what was allocated before is intact:", all(int(block.sum().item()) == 8 * MIB for block in held))
    held.clear()
    torch.npu.empty_cache()
    matrix = torch.eye(512, device=options.device)
    print("smaller work goes on:", int((matrix @ matrix).sum().item()) == 512)
    again = torch.ones(8 * MIB, device=options.device)
    print("and the same size fits again:", int(again.sum().item()) == 8 * MIB)
    print("times out of memory:", torch.npu.memory_stats()["num_ooms"])


if __name__ == "__main__":
    main()

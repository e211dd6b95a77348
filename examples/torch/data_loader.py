# SPDX-License-Identifier: Apache-2.0
"""A DataLoader that pins its batches, and copies to the device that do not wait (non_blocking)."""

import torch
from torch.utils.data import DataLoader, TensorDataset

from common import arguments, synchronize


def main():
    options = arguments(__doc__, workers=(0, "processes that load the data"))
    npu = options.device.type == "npu"
    data = TensorDataset(torch.arange(100 * 256, dtype=torch.float32).reshape(100, 256) / 1000, torch.arange(100))
    loader = DataLoader(data, batch_size=16, shuffle=True, pin_memory=npu, num_workers=options.workers,
                        generator=torch.Generator().manual_seed(options.seed))
    total = torch.zeros((), dtype=torch.float64, device=options.device)
    pinned = batches = 0
    for rows, numbers in loader:
        pinned += rows.is_pinned()
        batches += 1
        rows = rows.to(options.device, non_blocking=True)
        numbers = numbers.to(options.device, non_blocking=True)
        total += (rows * numbers[:, None]).sum(dtype=torch.float64)
    result = torch.empty((), dtype=torch.float64, pin_memory=npu)
    result.copy_(total, non_blocking=True)
    synchronize(options.device)  # only now may the host look at it
    print(f"{batches} batches on {options.device}, {pinned} of them pinned, {options.workers} workers")
    print(f"total {result.item():.4f}")


if __name__ == "__main__":
    main()

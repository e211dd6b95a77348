# SPDX-License-Identifier: Apache-2.0
"""An allocator of one's own under torch_npu: every device tensor's memory comes from my_allocator.cc.

    run.py PATH/libmy_allocator.so
"""

import os
import sys

# my_free frees memory as soon as Python drops a tensor. By default torch_npu launches from a queue of its own, so the
# last operator on that tensor may not even be launched by then. Without the queue it is; my_free waits for its end.
# An allocator that keeps blocks and reuses them on the same stream needs neither (../pool_torch).
os.environ["TASK_QUEUE_ENABLE"] = "0"

import torch
import torch_npu


def main(library):
    allocator = torch_npu.npu.memory.NPUPluggableAllocator(library, "my_malloc", "my_free")
    torch_npu.npu.change_current_allocator(allocator)  # before the first tensor: afterwards it is refused

    ten = torch.zeros(10, device="npu")
    print(f"torch.zeros(10, device='npu') -> {ten.cpu().tolist()}", flush=True)
    ten += torch.arange(10, device="npu")
    print(f"after += arange(10)           -> {ten.cpu().tolist()}", flush=True)

    try:
        torch_npu.npu.change_current_allocator(allocator)
    except RuntimeError as error:
        print(f"a swap after the first tensor is refused: {str(error).splitlines()[0]}", flush=True)
    else:
        sys.exit("a second swap was not refused")
    if ten.sum().item() != 45:
        sys.exit(f"the sum of 0..9 is 45, not {ten.sum().item()}")


if __name__ == "__main__":
    main(sys.argv[1])

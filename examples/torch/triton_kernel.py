# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel on tensors of the device, by Triton's own interpreter: TRITON_INTERPRET=1 runs it in Python, for its results and not for its speed."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before triton is imported

import torch
import triton
import triton.language as tl
from common import arguments


@triton.jit
def add_and_clamp(x, y, out, count, block: tl.constexpr):
    place = tl.program_id(0) * block + tl.arange(0, block)
    inside = place < count
    total = tl.load(x + place, mask=inside) + tl.load(y + place, mask=inside)
    tl.store(out + place, tl.maximum(total, 0.0), mask=inside)


def main():
    options = arguments(__doc__)
    x, y = torch.randn(1000), torch.randn(1000)
    on_x, on_y = x.to(options.device), y.to(options.device)
    out = torch.empty_like(on_x)
    add_and_clamp[(triton.cdiv(1000, 256),)](on_x, on_y, out, 1000, block=256)
    right = torch.equal(out.cpu(), torch.clamp(x + y, min=0))
    print(f"a Triton kernel on {options.device}:", "right" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())

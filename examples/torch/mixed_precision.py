# SPDX-License-Identifier: Apache-2.0
"""Training under autocast with a GradScaler.

The scale starts far too high on purpose: the scaler sees the overflow, skips those steps and halves the scale until one passes.
"""

import torch
from torch import nn

from common import arguments


def make_model():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(16 * 8 * 8, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10))


def main():
    options = arguments(__doc__, dtype=("float16", "float16 or bfloat16"), steps=(12, "training steps"))
    kind, dtype = options.device.type, getattr(torch, options.dtype)
    model = make_model().to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler(kind, init_scale=2.0 ** 24, growth_interval=4, enabled=dtype == torch.float16)
    images = torch.randn(8, 3, 16, 16).to(options.device)
    labels = torch.randint(10, (8,)).to(options.device)
    print(f"autocast to {options.dtype} on {options.device}")
    for step in range(options.steps):
        with torch.autocast(kind, dtype=dtype):
            logits = model(images)
            loss = nn.functional.cross_entropy(logits.float(), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        print(f"step {step} loss {loss.item():.6g} scale {scaler.get_scale():.0f} logits {str(logits.dtype)[6:]}")


if __name__ == "__main__":
    main()

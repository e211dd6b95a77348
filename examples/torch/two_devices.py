# SPDX-License-Identifier: Apache-2.0
"""A model cut in two, half on each device: activations go over, gradients come back.

    ./millpond run --devices 2 -- python examples/torch/two_devices.py
"""

import torch
from torch import nn

from common import arguments, fit


class Halves(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second
        self.low = nn.Sequential(nn.Linear(32, 64), nn.ReLU()).to(first)
        self.high = nn.Linear(64, 4).to(second)

    def forward(self, x):
        return self.high(self.low(x.to(self.first)).to(self.second))


def main():
    options = arguments(__doc__, steps=(5, "training steps"))
    devices = [options.device] * 2
    if options.device.type == "npu":
        if torch.npu.device_count() < 2:
            raise SystemExit(f"this needs two devices, there is {torch.npu.device_count()}: ./millpond run --devices 2 -- ...")
        devices = [torch.device("npu:0"), torch.device("npu:1")]
    model = Halves(*devices)
    fit(model, torch.randn(16, 32), torch.randn(16, 4).to(devices[1]), options.steps)
    print("parameters on:", *sorted({str(parameter.device) for parameter in model.parameters()}))
    if options.device.type == "npu":
        used = [torch.npu.memory_allocated(device) for device in devices]
        print("both devices hold memory:", all(used))
        print("current device:", torch.npu.current_device())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""mode="reduce-overhead": torchair captures the model's calls once and replays them, with fresh inputs, instead of a GE graph."""

import copy

import torch
from common import DEVICE, backend, report, start
from torch import nn


def main():
    start()
    reference = nn.Sequential(nn.Linear(32, 128), nn.SiLU(), nn.LayerNorm(128), nn.Linear(128, 128), nn.Softmax(-1)).eval()
    model = copy.deepcopy(reference).to(DEVICE)
    compiled = torch.compile(model, backend=backend("reduce-overhead"), dynamic=False)
    with torch.no_grad():
        for round_number in range(4):
            x = torch.randn(16, 32)
            report(f"reduce-overhead {round_number}", compiled(x.to(DEVICE)), model(x.to(DEVICE)), reference(x))
        x = torch.randn(5, 32)
        report("reduce-overhead another shape", compiled(x.to(DEVICE)), model(x.to(DEVICE)), reference(x))


if __name__ == "__main__":
    main()

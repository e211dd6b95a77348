# SPDX-License-Identifier: Apache-2.0
"""A perceptron as a GE graph: one shape, another shape (recompiled), and any number of rows with dynamic=True."""

import copy

import torch
from common import DEVICE, backend, report, start
from torch import nn


def main():
    start()
    reference = nn.Sequential(nn.Linear(64, 256), nn.GELU("tanh"), nn.Linear(256, 256), nn.ReLU(), nn.LayerNorm(256), nn.Linear(256, 10)).eval()
    model = copy.deepcopy(reference).to(DEVICE)
    compiled = torch.compile(model, backend=backend(), dynamic=False)
    flexible = torch.compile(model, backend=backend(), dynamic=True)
    with torch.no_grad():
        for rows in (8, 8, 3):
            x = torch.randn(rows, 64)
            report(f"mlp static {rows}", compiled(x.to(DEVICE)), model(x.to(DEVICE)), reference(x))
        for rows in (5, 17, 2, 5):
            x = torch.randn(rows, 64)
            report(f"mlp dynamic {rows}", flexible(x.to(DEVICE)), model(x.to(DEVICE)), reference(x))
    # One graph per shape, and one for all shapes.
    print("compilations:", torch._dynamo.utils.counters["stats"]["unique_graphs"])


if __name__ == "__main__":
    main()

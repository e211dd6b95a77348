# SPDX-License-Identifier: Apache-2.0
"""Training with a compiled model: forward and backward are a GE graph each, the optimiser stays eager."""

import copy

import torch
from common import DEVICE, backend, start
from torch import nn


def train(model, compiled, device):
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(5):
        x, label = torch.randn(32, 20), torch.randint(0, 5, (32,))
        loss = nn.functional.cross_entropy(compiled(x.to(device)), label.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    start()
    reference = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.GELU("tanh"), nn.Linear(64, 5))
    eager, graphed = copy.deepcopy(reference).to(DEVICE), copy.deepcopy(reference).to(DEVICE)
    compiled = torch.compile(graphed, backend=backend(), dynamic=False)
    for name, losses in (("compiled", train(graphed, compiled, DEVICE)), ("eager", train(eager, eager, DEVICE)),
                         ("cpu", train(reference, reference, torch.device("cpu")))):
        print(f"train {name}:", " ".join(f"{loss:.6f}" for loss in losses), flush=True)


if __name__ == "__main__":
    main()

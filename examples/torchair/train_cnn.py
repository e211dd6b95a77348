# SPDX-License-Identifier: Apache-2.0
"""Training a small image network: convolutions, group normalisation and pooling, forward and backward as a GE graph each.

Not with batch normalisation: the converter in the wheel gives the running statistics to the backward pass, so that gradients are off, also on a card.
"""

import copy

import torch
from common import DEVICE, backend, start
from torch import nn


def train(model, compiled, device):
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(5):
        x, label = torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))
        loss = nn.functional.cross_entropy(compiled(x.to(device)), label.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    start()
    reference = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.GroupNorm(4, 8), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(8, 16, 3), nn.GroupNorm(4, 16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
    eager, graphed = copy.deepcopy(reference).to(DEVICE), copy.deepcopy(reference).to(DEVICE)
    compiled = torch.compile(graphed, backend=backend(), dynamic=False)
    for name, losses in (("compiled", train(graphed, compiled, DEVICE)), ("eager", train(eager, eager, DEVICE)),
                         ("cpu", train(reference, reference, torch.device("cpu")))):
        print(f"train {name}:", " ".join(f"{loss:.6f}" for loss in losses), flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Training a small image network: convolutions, group normalisation and pooling, forward and backward as a GE graph each.

Not with batch normalisation: the converter in the wheel gives the running statistics to the backward pass, so that gradients are off, also on a card.
"""

import torch
from common import compare_training, start
from torch import nn


def main():
    start()
    reference = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.GroupNorm(4, 8), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(8, 16, 3), nn.GroupNorm(4, 16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
    compare_training(reference, lambda parameters: torch.optim.SGD(parameters, lr=0.05),
                     lambda: (torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))))


if __name__ == "__main__":
    main()

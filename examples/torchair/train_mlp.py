# SPDX-License-Identifier: Apache-2.0
"""Training with a compiled model: forward and backward are a GE graph each, the optimiser stays eager."""

import torch
from common import compare_training, start
from torch import nn


def main():
    start()
    reference = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.GELU("tanh"), nn.Linear(64, 5))
    compare_training(reference, lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
                     lambda: (torch.randn(32, 20), torch.randint(0, 5, (32,))))


if __name__ == "__main__":
    main()

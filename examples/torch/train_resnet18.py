# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 on random 64 x 64 images, trained with SGD."""

import torch
from torch import nn

from common import arguments, count_parameters, report


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + self.shortcut(x))


def resnet18(classes=10):
    layers = [nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, stride=2, padding=1)]
    before = 64
    for after, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(before, after, stride), Block(after, after, 1)]
        before = after
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return nn.Sequential(*layers)


def training(device, batch=4, size=64):
    """A function that does one step and returns its loss."""
    model = resnet18().to(device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    images = torch.randn(batch, 3, size, size).to(device)
    labels = torch.randint(10, (batch,)).to(device)

    def step():
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return model, step


def main():
    options = arguments(__doc__, steps=(5, "training steps"))
    model, step = training(options.device)
    print(f"ResNet-18, {count_parameters(model):,} parameters, batch 4 of 64 x 64, on {options.device}")
    for number in range(options.steps):
        report(number, step())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 as a GE graph. The model is in plain torch.nn; `--size` chooses the images."""

import argparse
import copy

import torch
from common import DEVICE, backend, report, start
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        widths = [64, 64, 128, 256, 512]
        blocks = []
        for i in range(4):
            blocks += [Block(widths[i], widths[i + 1], 1 if i == 0 else 2), Block(widths[i + 1], widths[i + 1], 1)]
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(512, classes)

    def forward(self, x):
        return self.head(functional.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    size = parser.parse_args(arguments).size
    start()
    reference = ResNet18().eval()
    for module in reference.modules():  # as after some training
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.2, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
    model = copy.deepcopy(reference).to(DEVICE)
    compiled = torch.compile(model, backend=backend(), dynamic=False)
    flexible = torch.compile(model, backend=backend(), dynamic=True)
    with torch.no_grad():
        x = torch.randn(2, 3, size, size)
        report("resnet18 static 2", compiled(x.to(DEVICE)), model(x.to(DEVICE)), reference(x))
        for images in (2, 3):
            x = torch.randn(images, 3, size, size)
            report(f"resnet18 dynamic {images}", flexible(x.to(DEVICE)), model(x.to(DEVICE)), reference(x))


if __name__ == "__main__":
    main()

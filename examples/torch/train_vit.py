# SPDX-License-Identifier: Apache-2.0
"""A small vision transformer on random 32 x 32 images, trained with SGD."""

import torch
from torch import nn

from common import arguments, count_parameters, report


class ViT(nn.Module):
    """Patches of an image as words, a class word in front, and PyTorch's own encoder layers."""

    def __init__(self, size=32, patch=8, width=128, layers=4, heads=4, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, kernel_size=patch, stride=patch)
        self.class_word = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        words = self.patches(images).flatten(2).transpose(1, 2)
        words = torch.cat([self.class_word.expand(len(words), -1, -1), words], dim=1)
        return self.head(self.norm(self.encoder(words + self.positions))[:, 0])


def main():
    options = arguments(__doc__, steps=(5, "training steps"))
    model = ViT().to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    images = torch.randn(8, 3, 32, 32).to(options.device)
    labels = torch.randint(10, (8,)).to(options.device)
    print(f"ViT, {count_parameters(model):,} parameters, batch 8 of 32 x 32, on {options.device}")
    for number in range(options.steps):
        loss = nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        report(number, loss)


if __name__ == "__main__":
    main()

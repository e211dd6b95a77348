# SPDX-License-Identifier: Apache-2.0
"""A BERT-like encoder that learns to fill in masked words, trained with AdamW.

4 layers, width 256, 4 heads, batch 4, sequence 128. Attention is written out, so that every operator of it is seen.
"""

import math

import torch
from torch import nn

from common import arguments, count_parameters, report

WORDS = 1000
MASK = 1
PADDING = 0
WIDTH = 256
HEADS = 4
LAYERS = 4
BATCH = 4
LENGTH = 128


class Attention(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padded):
        batch, length, _ = x.shape
        q, k, v = (part(x).view(batch, length, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(padded[:, None, None, :], float("-inf"))
        mixed = self.dropout(scores.softmax(dim=-1)) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Layer(nn.Module):
    """Normalises after each half, as the first BERT did."""

    def __init__(self, dropout):
        super().__init__()
        self.attention = Attention(dropout)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.norm2 = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padded):
        x = self.norm1(x + self.dropout(self.attention(x, padded)))
        return self.norm2(x + self.dropout(self.feed(x)))


class Bert(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=PADDING)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        padded = words == PADDING
        places = torch.arange(words.shape[1], device=words.device)
        x = self.dropout(self.norm(self.words(words) + self.positions(places)))
        for layer in self.layers:
            x = layer(x, padded)
        return self.head(x)


def make_batch():
    """(words with some masked, what stood there or -100 where nothing is asked)"""
    words = torch.randint(2, WORDS, (BATCH, LENGTH))
    words[:, -16:] = PADDING  # the sentences end here
    asked = (torch.rand(BATCH, LENGTH) < 0.15) & (words != PADDING)
    return words.masked_fill(asked, MASK), words.masked_fill(~asked, -100)


def main():
    options = arguments(__doc__, steps=(20, "training steps"), dropout=(0.0, "share of values dropped"))
    model = Bert(options.dropout).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    words, targets = (part.to(options.device) for part in make_batch())
    print(f"BERT-like, {count_parameters(model):,} parameters, dropout {options.dropout}, on {options.device}")
    for number in range(options.steps):
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(number, loss)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A GPT-2-like decoder that learns the next word, trained with AdamW and a warm-up.

4 layers, width 256, 4 heads, batch 4, sequence 128. Attention is PyTorch's scaled_dot_product_attention.
"""

import torch
from torch import nn
from torch.nn import functional

from common import arguments, count_parameters, report

WORDS = 1000
WIDTH = 256
HEADS = 4
LAYERS = 4
BATCH = 4
LENGTH = 128


class Block(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH),
                                  nn.Dropout(dropout))
        self.dropout = dropout

    def attend(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).split(WIDTH, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True,
                                                        dropout_p=self.dropout if self.training else 0.0)
        return functional.dropout(self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH)), self.dropout,
                                  self.training)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.feed(self.norm2(x))


class GPT2(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block(dropout) for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight  # tied, as in GPT-2
        nn.init.normal_(self.words.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, words):
        places = torch.arange(words.shape[1], device=words.device)
        return self.head(self.norm(self.blocks(self.words(words) + self.positions(places))))


def training(device, dropout=0.0):
    """A function that does one step and returns its loss."""
    model = GPT2(dropout).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.1)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=10)
    text = torch.randint(WORDS, (BATCH, LENGTH + 1)).to(device)

    def step():
        logits = model(text[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        return loss

    return model, step


def main():
    options = arguments(__doc__, steps=(20, "training steps"), dropout=(0.0, "share of values dropped"))
    model, step = training(options.device, options.dropout)
    print(f"GPT-2-like, {count_parameters(model):,} parameters, dropout {options.dropout}, on {options.device}")
    for number in range(options.steps):
        report(number, step())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""An encoder like BERT as a GE graph: embeddings, attention with a padding mask, sentences of any length by one graph."""

import copy
import math

import torch
from common import DEVICE, backend, report, start
from torch import nn
from torch.nn import functional

WORDS, WIDTH, HEADS, LAYERS, LONGEST = 200, 64, 4, 2, 64


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x, mask):
        query, key, value = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        seen = (functional.softmax(scores, -1) @ value).transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.out(seen))
        return self.norm2(x + self.down(functional.gelu(self.up(x), approximate="tanh")))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH), nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler = nn.Linear(WIDTH, WIDTH)

    def forward(self, words, mask):
        places = torch.arange(words.shape[1], device=words.device)
        x = self.norm(self.words(words) + self.places(places)[None] + self.kinds(torch.zeros_like(words)))
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


def sentences(number, length):
    words = torch.randint(0, WORDS, (number, length))
    mask = torch.ones(number, length, dtype=torch.int64)
    mask[0, length // 2:] = 0
    return words, mask


def main():
    start()
    reference = Bert().eval()
    model = copy.deepcopy(reference).to(DEVICE)
    compiled = torch.compile(model, backend=backend(), dynamic=False)
    flexible = torch.compile(model, backend=backend(), dynamic=True)
    with torch.no_grad():
        for name, function, shapes in (("static", compiled, [(2, 16)]), ("dynamic", flexible, [(2, 16), (3, 24), (2, 7)])):
            for number, length in shapes:
                words, mask = sentences(number, length)
                given = words.to(DEVICE), mask.to(DEVICE)
                (hidden, pooled), (eager, eager_pooled), (cpu, cpu_pooled) = function(*given), model(*given), reference(words, mask)
                report(f"bert {name} {number}x{length}", hidden, eager, cpu)
                report(f"bert {name} {number}x{length} pooled", pooled, eager_pooled, cpu_pooled)


if __name__ == "__main__":
    main()

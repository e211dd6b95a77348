# SPDX-License-Identifier: Apache-2.0
"""A decoder like GPT-2 writes words with a key/value cache that the GE graph changes in place.

The cache is the model's buffer: each step puts one key and one value at its place (torch_npu.scatter_update_) and reads all so far. The step is one
static graph, compiled once; the prompt is read by a graph of its own. `--dynamic` compiles with dynamic=True: one graph for prompts of any length.
"""

import argparse
import copy
import math

import torch
import torch_npu
from common import DEVICE, apart, backend, start
from torch import nn
from torch.nn import functional

WORDS, WIDTH, HEADS, LAYERS, LONGEST = 97, 64, 4, 2, 32


def store(cache, places, new):
    """Puts `new` [batch, heads, count, width] into the cache from the first of the places on. torchair has no converter for index_copy_."""
    if cache.device.type == "npu":
        torch_npu.scatter_update_(cache, places[:1], new, -2)
    else:
        cache.index_copy_(2, places, new)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, LONGEST, WIDTH // HEADS))

    def forward(self, x, places, mask):
        def heads(part):
            return part.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

        query, key, value = (heads(part) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        store(self.keys, places, key)
        store(self.values, places, value)
        scores = query @ self.keys.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        seen = functional.softmax(scores.masked_fill(mask, float("-inf")), -1) @ self.values
        x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words, places):
        x = self.words(words) + self.places(places)[None]
        mask = torch.arange(LONGEST, device=words.device)[None] > places[:, None]
        for layer in self.layers:
            x = layer(x, places, mask)
        return self.head(self.norm(x[:, -1]))


def write(model, step, prompt, count, device):
    """Reads the prompt, then writes `count` words. Returns the words and the last logits."""
    words, place = prompt.to(device), 0
    written = []
    for _ in range(count):
        places = torch.arange(place, place + words.shape[1], device=device)
        logits = step(words, places)
        place += words.shape[1]
        words = logits.argmax(-1, keepdim=True)
        written.append(words.item())
    return written, logits, model.layers[-1].keys.clone()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dynamic", action="store_true")
    dynamic = parser.parse_args(arguments).dynamic
    start()
    reference = Decoder().eval()
    with torch.no_grad():
        for length in ((5, 9) if dynamic else (5,)):
            prompt = torch.randint(0, WORDS, (1, length))
            results = []
            for device, compile_it in ((torch.device("cpu"), False), (DEVICE, False), (DEVICE, True)):
                model = copy.deepcopy(reference).to(device)
                step = torch.compile(model, backend=backend(), dynamic=dynamic) if compile_it else model
                results.append(write(model, step, prompt, 8, device))
            cpu, eager, compiled = results
            name = f"gpt2 {'dynamic' if dynamic else 'static'} {length}"
            print(f"{name}: words {compiled[0]}, the same as eager's: {compiled[0] == eager[0]}, as the CPU's: {compiled[0] == cpu[0]}")
            for what, index in (("logits", 1), ("cache", 2)):
                print(f"{name} {what}: difference to eager {apart(compiled[index], eager[index]):.1e}, to the CPU {apart(compiled[index], cpu[index]):.1e}",
                      flush=True)


if __name__ == "__main__":
    main()

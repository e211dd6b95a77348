# SPDX-License-Identifier: Apache-2.0
"""Small models whose attention is F.scaled_dot_product_attention, built as the usual library builds BERT, LLaMA, Qwen2 and ViT. Each is
compiled by torchair once as a static and once as a dynamic graph. Prints "model kind: difference to the CPU, graphs"."""

import copy
import sys
import traceback

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401  registers the device
import torchair
from torch import nn

DEVICE = torch.device("npu:0")
WIDTH, HEADS, WORDS = 32, 4, 50


def in_heads(x, count):
    return x.view(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class PlainBlock(nn.Module):
    """Attention over all positions and two linear layers; the norms stand after (BERT) or before (ViT)."""

    def __init__(self, first):
        super().__init__()
        self.first = first
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x, mask):
        q, k, v = (in_heads(layer(x), HEADS) for layer in (self.query, self.key, self.value))
        return self.out(joined(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))

    def forward(self, x, mask=None):
        if self.first:
            x = x + self.attend(self.norms[0](x), mask)
            return x + self.narrow(F.relu(self.wide(self.norms[1](x))))
        x = self.norms[0](x + self.attend(x, mask))
        return self.norms[1](x + self.narrow(F.relu(self.wide(x))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(64, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList(PlainBlock(first=False) for _ in range(2))

    def forward(self, ids, present):
        x = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device)))
        mask = (1.0 - present[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        mask = mask.expand(ids.shape[0], 1, ids.shape[1], ids.shape[1])
        for block in self.blocks:
            x = block(x, mask)
        return x

    @staticmethod
    def inputs(batch, length):
        present = torch.ones(batch, length, dtype=torch.long)
        present[0, length - 2:] = 0
        return torch.randint(WORDS, (batch, length)), present


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 4, stride=4)
        self.mark = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.blocks = nn.ModuleList(PlainBlock(first=True) for _ in range(2))
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.mark.expand(x.shape[0], -1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])

    @staticmethod
    def inputs(batch, length):
        return (torch.randn(batch, 3, 4 * length, 8),)


class RootNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def turned(x):
    left, right = x.chunk(2, dim=-1)
    return torch.cat([-right, left], dim=-1)


def repeated(x, times):
    """Each head `times` times; torchair has no converter of repeat_interleave, and the usual library does it so too."""
    batch, heads, length, size = x.shape
    return x[:, :, None].expand(batch, heads, times, length, size).reshape(batch, heads * times, length, size)


class CausalBlock(nn.Module):
    """Rotary positions, fewer heads for keys and values than for queries, a gated pair of linear layers."""

    def __init__(self, groups, bias):
        super().__init__()
        self.groups, size = groups, WIDTH // HEADS
        self.query = nn.Linear(WIDTH, WIDTH, bias=bias)
        self.key, self.value = (nn.Linear(WIDTH, groups * size, bias=bias) for _ in range(2))
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.before, self.between = RootNorm(), RootNorm()
        self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((WIDTH, 64), (WIDTH, 64), (64, WIDTH)))

    def forward(self, x, cos, sin, mask):
        h = self.before(x)
        q, k, v = in_heads(self.query(h), HEADS), in_heads(self.key(h), self.groups), in_heads(self.value(h), self.groups)
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        k, v = (repeated(t, HEADS // self.groups) for t in (k, v))
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        x = x + self.out(joined(seen))
        h = self.between(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Causal(nn.Module):
    def __init__(self, groups, bias, masked):
        super().__init__()
        self.masked = masked
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(CausalBlock(groups, bias) for _ in range(2))
        self.norm, self.head = RootNorm(), nn.Linear(WIDTH, WORDS, bias=False)
        size = WIDTH // HEADS
        self.register_buffer("steps", 1.0 / 10000 ** (torch.arange(0, size, 2).float() / size))

    def forward(self, ids):
        place = torch.arange(ids.shape[1], device=ids.device)
        angles = place.float()[:, None] * self.steps[None, :]
        angles = torch.cat([angles, angles], dim=-1)
        mask = None
        if self.masked:  # as a boolean one, which says who is seen
            mask = (place[None, :] <= place[:, None])[None, None].expand(ids.shape[0], 1, ids.shape[1], ids.shape[1])
        x = self.words(ids)
        for block in self.blocks:
            x = block(x, angles.cos(), angles.sin(), mask)
        return self.head(self.norm(x))

    @staticmethod
    def inputs(batch, length):
        return (torch.randint(WORDS, (batch, length)),)


MODELS = {
    "bert": Bert,
    "vit": Vit,
    "llama": lambda: Causal(groups=HEADS, bias=False, masked=False),
    "qwen2": lambda: Causal(groups=2, bias=True, masked=True),
}


def difference(name, dynamic):
    """The worst of three runs, and how many graphs they took."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(0)
    reference = MODELS[name]().eval()
    model = torch.compile(copy.deepcopy(reference).to(DEVICE), backend=torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()),
                          dynamic=dynamic, fullgraph=True)
    worst = 0.0
    for size in ((2, 8), (2, 8), (3, 11)) if dynamic else ((2, 8), (2, 8), (2, 8)):
        inputs = reference.inputs(*size)
        wanted = reference(*inputs)
        found = model(*(one.to(DEVICE) for one in inputs)).cpu()
        assert found.shape == wanted.shape, (found.shape, wanted.shape)
        worst = max(worst, ((found - wanted).abs().max() / wanted.abs().max()).item())
    return worst, torch._dynamo.utils.counters["stats"]["unique_graphs"]


def main():
    torch.npu.set_device(DEVICE)
    torch.set_grad_enabled(False)
    for name in sys.argv[1:] or MODELS:
        for kind in ("static", "dynamic"):
            try:
                print(f"{name} {kind}: %g %d" % difference(name, kind == "dynamic"), flush=True)
            except Exception:
                print(f"{name} {kind}: failed: {traceback.format_exc()[-1500:]}", flush=True)


if __name__ == "__main__":
    main()

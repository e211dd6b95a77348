# SPDX-License-Identifier: Apache-2.0
"""A LLaMA-like decoder that generates words with a key/value cache.

RMSNorm, rotary positions, SwiGLU and grouped heads, in plain torch or (--fused) by torch_npu's own operators. The same words
must come out with and without the cache, plain and fused.
"""

import torch
from torch import nn
from torch.nn import functional

from common import arguments, count_parameters, synchronize

WORDS = 512
WIDTH = 256
HEADS = 8
KV_HEADS = 2
HEAD = WIDTH // HEADS
HIDDEN = 688
LAYERS = 4
LONGEST = 128


class Plain:
    """The four building blocks in plain torch."""

    @staticmethod
    def rms_norm(x, weight, eps):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight

    @staticmethod
    def rotate(x, cos, sin):
        low, high = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-high, low), dim=-1) * sin

    @staticmethod
    def swiglu(x):
        gate, value = x.chunk(2, dim=-1)
        return functional.silu(gate) * value

    @staticmethod
    def attend(q, k, v, hidden):
        groups = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        scores = q @ k.transpose(-2, -1) * HEAD ** -0.5
        return scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ v


class Fused:
    """The same by torch_npu's fused operators."""

    @staticmethod
    def rms_norm(x, weight, eps):
        return torch.ops.npu.npu_rms_norm(x, weight, eps)[0]

    @staticmethod
    def rotate(x, cos, sin):
        return torch.ops.npu.npu_rotary_mul(x, cos, sin)

    @staticmethod
    def swiglu(x):
        return torch.ops.npu.npu_swiglu(x, -1)

    @staticmethod
    def attend(q, k, v, hidden):
        return torch.ops.npu.npu_fusion_attention(q, k, v, q.shape[1], "BNSD", atten_mask=hidden, scale=HEAD ** -0.5)[0]


class RMSNorm(nn.Module):
    def __init__(self, ops):
        super().__init__()
        self.ops = ops
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.ops.rms_norm(x, self.weight, 1e-6)


class Layer(nn.Module):
    def __init__(self, ops):
        super().__init__()
        self.ops = ops
        self.norm1, self.norm2 = RMSNorm(ops), RMSNorm(ops)
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key_value = nn.Linear(WIDTH, 2 * KV_HEADS * HEAD, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_up = nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, start, cache, cos, sin, hidden):
        batch, length, _ = x.shape
        y = self.norm1(x)
        q = self.query(y).view(batch, length, HEADS, HEAD).transpose(1, 2)
        k, v = self.key_value(y).view(batch, length, 2 * KV_HEADS, HEAD).transpose(1, 2).chunk(2, dim=1)
        keys, values = cache
        keys[:, :, start:start + length] = self.ops.rotate(k, cos, sin)
        values[:, :, start:start + length] = v
        end = start + length
        mixed = self.ops.attend(self.ops.rotate(q, cos, sin), keys[:, :, :end], values[:, :, :end], hidden)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(self.ops.swiglu(self.gate_up(self.norm2(x))))


class Llama(nn.Module):
    def __init__(self, ops):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer(ops) for _ in range(LAYERS))
        self.norm = RMSNorm(ops)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        angles = torch.outer(torch.arange(LONGEST), 10000.0 ** -(torch.arange(0, HEAD, 2) / HEAD))
        angles = torch.cat((angles, angles), dim=-1)[None, None]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("later", torch.ones(LONGEST, LONGEST, dtype=torch.bool).triu(1))

    def new_cache(self, batch):
        shape = (batch, KV_HEADS, LONGEST, HEAD)
        return [(self.cos.new_zeros(shape), self.cos.new_zeros(shape)) for _ in self.layers]

    def forward(self, words, start, cache):
        """Logits of the last place; words stand at start, start + 1, ..."""
        end = start + words.shape[1]
        cos, sin = self.cos[:, :, start:end], self.sin[:, :, start:end]
        hidden = self.later[start:end, :end]
        x = self.words(words)
        for layer, part in zip(self.layers, cache):
            x = layer(x, start, part, cos, sin, hidden)
        return self.head(self.norm(x[:, -1]))


@torch.no_grad()
def generate(model, prompt, count, use_cache):
    words, cache, start = prompt, model.new_cache(len(prompt)), 0
    for _ in range(count):
        logits = model(words[:, start:], start, cache)
        words = torch.cat([words, logits.argmax(-1, keepdim=True)], dim=1)
        start = words.shape[1] - 1 if use_cache else 0
    return words, logits


def main():
    options = arguments(__doc__, words=(32, "words to generate"), fused=(False, "use torch_npu's fused operators"))
    if options.fused and options.device.type != "npu":
        raise SystemExit("--fused: torch_npu's operators need --device npu")
    model = Llama(Fused if options.fused else Plain).to(options.device).eval()
    prompt = torch.randint(WORDS, (2, 16)).to(options.device)
    kind = "fused" if options.fused else "plain"
    print(f"LLaMA-like, {count_parameters(model):,} parameters, {kind} operators, on {options.device}")
    words, logits = generate(model, prompt, options.words, use_cache=True)
    synchronize(options.device)
    again, _ = generate(model, prompt, options.words, use_cache=False)
    for row in words.tolist():
        print("words", *row[prompt.shape[1]:])
    print(f"logits {logits.norm().item():.6g}")
    print("the same without the cache:", torch.equal(words, again))


if __name__ == "__main__":
    main()

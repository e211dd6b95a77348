# SPDX-License-Identifier: Apache-2.0
"""The three networks of models.py in plain PyTorch, as people write them, with the weights of the ONNX file."""

import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

HEADS = 12


def weights_of(path):
    return {one.name: torch.from_numpy(numpy_helper.to_array(one).copy()) for one in onnx.load(str(path)).graph.initializer}


def resnet50(w):
    def convolution(x, name, stride=1):
        x = F.conv2d(x, w[f"{name}.weight"], None, stride, w[f"{name}.weight"].shape[-1] // 2)
        return F.batch_norm(x, w[f"{name}.norm.mean"], w[f"{name}.norm.variance"], w[f"{name}.norm.weight"], w[f"{name}.norm.bias"])

    def run(x):
        x = F.max_pool2d(F.relu(convolution(x, "stem", 2)), 3, 2, 1)
        for stage in range(1, 5):
            block = 0
            while f"layer{stage}.{block}.conv1.weight" in w:
                name = f"layer{stage}.{block}"
                stride = 2 if stage > 1 and block == 0 else 1
                y = F.relu(convolution(x, f"{name}.conv1"))
                y = convolution(F.relu(convolution(y, f"{name}.conv2", stride)), f"{name}.conv3")
                x = F.relu(y + (convolution(x, f"{name}.downsample", stride) if block == 0 else x))
                block += 1
        return F.linear(x.mean((2, 3)), w["fc.weight"], w["fc.bias"])
    return run


def _linear(w, x, name):
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def _norm(w, x, name):
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])


def _heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def _attention(q, k, v, **mask):
    return F.scaled_dot_product_attention(_heads(q), _heads(k), _heads(v), **mask).transpose(1, 2).flatten(2)


def bert(w):
    layers = [f"layer.{i}" for i in range(12) if f"layer.{i}.query.weight" in w]

    def run(ids, mask):
        x = w["words.weight"][ids] + w["positions.weight"][: ids.shape[1]] + w["kind.weight"]
        x = _norm(w, x, "embeddings.norm")
        away = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
        for name in layers:
            y = _attention(*(_linear(w, x, f"{name}.{part}") for part in ("query", "key", "value")), attn_mask=away)
            x = _norm(w, _linear(w, y, f"{name}.output") + x, f"{name}.norm1")
            y = F.gelu(_linear(w, x, f"{name}.inner"))
            x = _norm(w, _linear(w, y, f"{name}.outer") + x, f"{name}.norm2")
        return x
    return run


def gpt2(w):
    layers = [f"h.{i}" for i in range(12) if f"h.{i}.qkv.weight" in w]

    def run(ids):
        x = w["words.weight"][ids] + w["positions.weight"][: ids.shape[1]]
        for name in layers:
            qkv = _linear(w, _norm(w, x, f"{name}.norm1"), f"{name}.qkv")
            x = _linear(w, _attention(*qkv.chunk(3, -1), is_causal=True), f"{name}.output") + x
            y = F.gelu(_linear(w, _norm(w, x, f"{name}.norm2"), f"{name}.inner"), approximate="tanh")
            x = x + _linear(w, y, f"{name}.outer")
        return _norm(w, x, "last.norm") @ w["head.weight"]
    return run


MAKERS = {"resnet50": resnet50, "bert": bert, "gpt2": gpt2}


def load(name, path, threads):
    """A function from arrays to an array."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    run = MAKERS[name](weights_of(path))
    return lambda feed: run(*(torch.from_numpy(value) for value in feed.values())).numpy()

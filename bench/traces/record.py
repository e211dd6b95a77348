#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the family of allocation traces with torch_npu on Millpond: ./millpond run -- python bench/traces/record.py [NAME...]

Each run is written as NAME.csv.xz into --output: what torch_npu's caching allocator was asked for, in the order of the calls. Networks are
those of examples/torch, made wider; their weights are random. A run has a process of its own, so that it begins with nothing allocated.
"""

import argparse
import gc
import lzma
import pathlib
import random
import subprocess
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"))
import generate_llama as llama
import train_bert
import train_gpt2
import train_resnet18
import train_vit


def widen(module, **constants):
    for name, value in constants.items():
        assert hasattr(module, name), name
        setattr(module, name, value)


def resnet18_train(device):
    """Three steps on whole batches, then the epoch's smaller last one, twice."""
    model, _ = train_resnet18.training(device, batch=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        for batch in (64, 64, 64, 40):
            images = torch.randn(batch, 3, 160, 160).to(device)
            loss = nn.functional.cross_entropy(model(images), torch.randint(10, (batch,)).to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()


def gpt2_train(device):
    widen(train_gpt2, WORDS=8000, WIDTH=512, HEADS=8, LAYERS=8, BATCH=8, LENGTH=256)
    _, step = train_gpt2.training(device, dropout=0.1)
    for _ in range(3):
        step().item()


def gpt2_accumulate(device):
    """Three small batches of different lengths to a step."""
    widen(train_gpt2, WORDS=12000, WIDTH=384, HEADS=6, LAYERS=6, LENGTH=512)
    model = train_gpt2.GPT2().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    for lengths in ((512, 300, 411), (190, 512, 350), (333, 470, 512)):
        optimizer.zero_grad()
        for length in lengths:
            text = torch.randint(12000, (4, length + 1)).to(device)
            loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
            loss.backward()
        optimizer.step()
        loss.item()


def bert_train(device):
    """Batches padded to their longest sentence."""
    widen(train_bert, WORDS=8000, WIDTH=512, HEADS=8, LAYERS=6, LENGTH=256)
    model = train_bert.Bert(0.1).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for length in (256, 184, 232, 128, 248, 208):
        widen(train_bert, BATCH=8, LENGTH=length)
        words, targets = (part.to(device) for part in train_bert.make_batch())
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()


def vit_train(device):
    """A validation without gradients after each two steps."""
    model = train_vit.ViT(size=112, patch=8, width=384, layers=6, heads=6).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for number in range(6):
        images = torch.randn(24, 3, 112, 112).to(device)
        if number % 3 == 2:
            with torch.no_grad():
                model(images).argmax(-1).tolist()
            continue
        loss = nn.functional.cross_entropy(model(images), torch.randint(10, (24,)).to(device), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()


class Server:
    """A LLaMA-like decoder that serves requests of any length, each with caches of keys and values that grow by concatenation."""

    def __init__(self, device, width, layers):
        widen(llama, WORDS=4096, WIDTH=width, HEADS=8, KV_HEADS=4, HEAD=width // 8, HIDDEN=width * 8 // 3, LAYERS=layers, LONGEST=2048)
        self.model = llama.Llama(llama.Plain).to(device).eval()
        self.device = device

    def extend(self, caches, words):
        """Appends words to every cache of a request; the logits of the last."""
        model, length = self.model, words.shape[1]
        start = caches[0][0].shape[2] if caches else 0
        end = start + length
        cos, sin = model.cos[:, :, start:end], model.sin[:, :, start:end]
        hidden = model.later[start:end, :end]
        x = model.words(words)
        grown = []
        for number, layer in enumerate(model.layers):
            batch = x.shape[0]
            y = layer.norm1(x)
            q = layer.query(y).view(batch, length, llama.HEADS, llama.HEAD).transpose(1, 2)
            k, v = layer.key_value(y).view(batch, length, 2 * llama.KV_HEADS, llama.HEAD).transpose(1, 2).chunk(2, dim=1)
            k = layer.ops.rotate(k, cos, sin)
            if caches:
                k, v = torch.cat((caches[number][0], k), dim=2), torch.cat((caches[number][1], v), dim=2)
                caches[number] = None  # what has grown is dropped at once
            mixed = layer.ops.attend(layer.ops.rotate(q, cos, sin), k, v, hidden)
            x = x + layer.out(mixed.transpose(1, 2).reshape(batch, length, llama.WIDTH))
            x = x + layer.down(layer.ops.swiglu(layer.gate_up(layer.norm2(x))))
            grown.append((k, v.contiguous()))
        return grown, model.head(model.norm(x[:, -1]))

    def prompt(self, batch, length):
        words = torch.randint(4096, (batch, length)).to(self.device)
        caches, logits = self.extend([], words)
        return caches, logits.argmax(-1, keepdim=True)


@torch.no_grad()
def serve(device, seed, width, layers, rounds, most):
    """Requests come and go; all that are there advance by a word in turn."""
    chance = random.Random(seed)
    server = Server(device, width, layers)
    active = []
    for _ in range(rounds):
        while len(active) < most and chance.random() < 0.6:
            caches, word = server.prompt(chance.choice((1, 1, 2, 4)), chance.randint(32, 700))
            active.append([caches, word, chance.randint(4, 30)])
        for request in active:
            caches, logits = server.extend(request[0], request[1])
            request[:] = caches, logits.argmax(-1, keepdim=True), request[2] - 1
        active = [request for request in active if request[2] > 0]


def llama_serve(device):
    serve(device, seed=1, width=2048, layers=3, rounds=16, most=8)


def llama_serve_narrow(device):
    serve(device, seed=7, width=1024, layers=3, rounds=24, most=6)


@torch.no_grad()
def llama_speculate(device):
    """Each request tries four branches of a few words on copies of its caches, and keeps one."""
    chance = random.Random(2)
    server = Server(device, 2048, 3)
    active = []
    for _ in range(6):
        while len(active) < 5:
            caches, word = server.prompt(1, chance.randint(64, 900))
            active.append([caches, word, chance.randint(2, 8)])
        for request in active:
            branches = []
            for _ in range(4):
                caches = [(k.clone(), v.clone()) for k, v in request[0]]
                word = request[1]
                for _ in range(chance.randint(1, 3)):
                    caches, logits = server.extend(caches, word)
                    word = logits.argmax(-1, keepdim=True)
                branches.append((caches, word))
            request[:] = *chance.choice(branches), request[2] - 1
            del branches, caches
        active = [request for request in active if request[2] > 0]


def two_streams(device):
    """Training on one stream while another fetches the next batch and makes two views of it."""
    model, _ = train_resnet18.training(device, batch=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    side = torch.npu.Stream(device)

    def fetch(batch):
        with torch.npu.stream(side):
            images = torch.randn(batch, 3, 160, 160).to(device, non_blocking=True)
            return images * 0.5 + 0.1, nn.functional.interpolate(images, scale_factor=0.5)

    following = fetch(64)
    for batch in (64, 48, 64, 64, 24, 64):
        torch.npu.current_stream().wait_stream(side)
        images, small = following
        for tensor in (images, small):
            tensor.record_stream(torch.npu.current_stream())
        following = fetch(batch)
        for data in (images, small):
            labels = torch.randint(10, (len(data),)).to(device)
            loss = nn.functional.cross_entropy(model(data), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss.item()


RUNS = {run.__name__: run for run in (resnet18_train, gpt2_train, gpt2_accumulate, bert_train, vit_train, llama_serve, llama_serve_narrow,
                                      llama_speculate, two_streams)}


def lines(events):
    """The trace's lines; streams are numbered in the order of their first allocation."""
    streams, live = {}, {}
    for number, (action, address, size, stream) in enumerate(events):
        if action == "alloc":
            live[address] = number, size, streams.setdefault(stream, len(streams))
            yield "a,{},{},{}".format(*live[address])
        elif address in live:
            yield "f,{},{},{}".format(*live.pop(address))


def record(run):
    import torch_npu
    torch.manual_seed(0)
    torch.npu.set_device(0)
    torch_npu.npu.memory._record_memory_history("all", context=None)
    run(torch.device("npu:0"))
    torch.npu.synchronize()
    gc.collect()
    entries = torch_npu.npu.memory._snapshot()["device_traces"][0]
    names = {"alloc": "alloc", "free_requested": "free"}
    return [(names[one["action"]], one["addr"], one["size"], one["stream"]) for one in entries if one["action"] in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RUNS)}; all when absent")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent, metavar="DIR")
    options = parser.parse_args()
    if unknown := set(options.names) - set(RUNS):
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    if len(options.names) != 1:
        for name in options.names or RUNS:
            subprocess.run([sys.executable, __file__, name, "--output", str(options.output)], check=True)
        return
    name = options.names[0]
    text = "".join(f"{line}\n" for line in ("op,id,size,stream", *lines(record(RUNS[name]))))
    (options.output / f"{name}.csv.xz").write_bytes(lzma.compress(text.encode("ascii"), preset=9))
    print(f"{name}: {text.count(chr(10)) - 1:,} operations")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""torch.save and torch.load across devices: training continues from a checkpoint made on another device."""

import io

import torch
from torch import nn

from common import arguments


def make(device):
    model = nn.Sequential(nn.Embedding(50, 32), nn.Flatten(), nn.Linear(32 * 8, 5)).to(device)
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def train(model, optimizer, words, labels, steps):
    device = next(model.parameters()).device
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(words.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    options = arguments(__doc__)
    words, labels = torch.randint(50, (16, 8)), torch.randint(5, (16,))
    model, optimizer = make(options.device)
    train(model, optimizer, words, labels, 5)
    saved = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, saved)
    print(f"saved on {options.device}: {len(saved.getvalue()):,} bytes")
    expected = train(model, optimizer, words, labels, 5)
    print(f"loss {expected:.9g}")
    for place in (None, "cpu", str(options.device)):
        saved.seek(0)
        state = torch.load(saved, map_location=place)
        found = state["model"]["0.weight"].device
        other, other_optimizer = make(place or options.device)
        other.load_state_dict(state["model"])
        other_optimizer.load_state_dict(state["optimizer"])
        loss = train(other, other_optimizer, words, labels, 5)
        print(f"map_location {place}: loaded to {found.type}, goes on to the same loss: {abs(loss - expected) < 1e-4}")


if __name__ == "__main__":
    main()

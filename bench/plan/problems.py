# SPDX-License-Identifier: Apache-2.0
"""Generated planning problems, the same on every machine: (name, capacity or None, rows of lower, upper, size)."""

import math
import random


def puzzle(seed, height, end, count):
    """A rectangle of memory and time cut into buffers without a gap: it fits at exactly `height`, which is hard to find."""
    dice = random.Random(seed)
    boxes = [(0, height, 0, end)]
    while len(boxes) < count:
        low, high, first, last = boxes.pop(dice.randrange(len(boxes)))
        if dice.random() < 0.5 and last - first > 1:
            cut = dice.randrange(first + 1, last)
            boxes += [(low, high, first, cut), (low, high, cut, last)]
        elif high - low > 1:
            cut = dice.randrange(low + 1, high)
            boxes += [(low, cut, first, last), (cut, high, first, last)]
        else:
            boxes.append((low, high, first, last))
    dice.shuffle(boxes)
    return [(first, last, (high - low) * 1024) for low, high, first, last in boxes]


def log_uniform(dice, least, most):
    return int(math.exp(dice.uniform(math.log(least), math.log(most))))


def training(layers):
    """Activations kept for the backward pass, gradients, and scratch."""
    dice = random.Random(2)
    rows = []
    for layer in range(layers):
        back = 2 * layers - layer
        kept = log_uniform(dice, 1 << 12, 1 << 22)
        rows += [(layer, back + 1, kept), (layer, layer + 1, log_uniform(dice, 1 << 10, 1 << 22)), (back, back + 2, kept),
                 (back, back + 1, log_uniform(dice, 1 << 10, 1 << 22))]
    return rows


def mixed(count):
    """Mostly short lifetimes and some long ones, sizes over four orders of magnitude."""
    dice = random.Random(1)
    rows = []
    for _ in range(count):
        start = dice.randrange(count)
        rows.append((start, start + log_uniform(dice, 1, 2000), log_uniform(dice, 256, 1 << 22)))
    return rows


def own(smoke):
    return [
        ("puzzle160", 1024 * 1024, puzzle(4, 1024, 5000, 60 if smoke else 160)),
        ("puzzle250", 1024 * 1024, puzzle(6, 1024, 5000, 60 if smoke else 250)),
        ("training", None, training(20 if smoke else 500)),
        ("mixed2k", None, mixed(100 if smoke else 2000)),
        ("mixed100k", None, mixed(200 if smoke else 100_000)),
    ]


def read(path):
    """A file in MiniMalloc's format; a number before .csv in its name is the capacity, as in A.1048576.csv."""
    lines = path.read_text(encoding="utf-8").split()
    head = lines[0].split(",")
    places = [head.index(name) for name in ("lower", "upper", "size")]
    rows = [tuple(int(line.split(",")[place]) for place in places) for line in lines[1:]]
    parts = path.stem.split(".")
    capacity = int(parts[-1]) if len(parts) > 1 and parts[-1].isdigit() else None
    return parts[0], capacity, rows


def max_live(rows):
    change = {}
    for lower, upper, size in rows:
        change[lower] = change.get(lower, 0) + size
        change[upper] = change.get(upper, 0) - size
    live = most = 0
    for time in sorted(change):
        live += change[time]
        most = max(most, live)
    return most

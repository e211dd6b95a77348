# SPDX-License-Identifier: Apache-2.0
"""What is judged: every (entry of op_db, type, direction) that the entry allows on CPU."""

import itertools
from dataclasses import dataclass

import torch
from torch.utils import _pytree as pytree

JUDGED = ("float32", "float16", "bfloat16", "int64", "bool")
# The gate judges the first five; the others are there to look around with.
DTYPES = {name: getattr(torch, name) for name in (*JUDGED, "float64", "int32", "int16", "int8", "uint8", "complex64")}
FORWARD, BACKWARD = "forward", "backward"
MAX_ELEMENTS = 1 << 20
# The op wants its integer arguments in host memory, whatever the device.
INTEGERS_ON_CPU = ("tensor_split",)


@dataclass(frozen=True)
class Pair:
    """One line of the report."""
    op: str  # the entry's name and, after a dot, its variant
    dtype: str
    direction: str

    def __str__(self):
        return f"{self.op} {self.dtype} {self.direction}"


def entries():
    """Every entry of op_db by its full name, in op_db's order."""
    from torch.testing._internal import common_methods_invocations
    # Entries of random ops set a seed of their own around each call; here the judge chooses the seed.
    common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    named = {}
    for entry in common_methods_invocations.op_db:
        name = f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name
        if name in named:
            raise SystemExit(f"op_db has two entries named {name}; pairs.py needs another way to tell them apart")
        named[name] = entry
    return named


def pairs_of(name, entry, dtypes=JUDGED):
    for dtype in dtypes:
        if DTYPES[dtype] in entry.supported_dtypes("cpu"):
            yield Pair(name, dtype, FORWARD)
    if "float32" in dtypes and entry.supports_autograd and torch.float32 in entry.supported_backward_dtypes("cpu"):
        yield Pair(name, "float32", BACKWARD)


def elements(sample):
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return sum(leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor))


def noncontiguous(samples):
    for sample in samples:
        try:
            yield sample.noncontiguous()
        except RuntimeError:
            continue  # a sparse tensor has no strides


SAMPLES = {  # kinds of samples that an entry can make
    "sample": lambda entry, *how: entry.sample_inputs("cpu", *how),
    "reference": lambda entry, *how: entry.reference_inputs("cpu", *how),
    "noncontiguous": lambda entry, *how: noncontiguous(entry.sample_inputs("cpu", *how)),
}


def samples(entry, pair, limit, kind="sample"):
    """The first samples of at most MAX_ELEMENTS elements, made on CPU; op_db seeds each by itself."""
    made = SAMPLES[kind](entry, DTYPES[pair.dtype], pair.direction == BACKWARD)
    return itertools.islice((sample for sample in made if elements(sample) <= MAX_ELEMENTS), limit)


def placed(tensor, device):
    """A leaf on the device with the values and the very strides of the CPU tensor, sharing memory with nothing."""
    source = tensor.detach()
    if source.layout is torch.strided and not source.is_quantized and source.numel():
        source = source.resolve_neg().resolve_conj()
        whole = torch.empty(0, dtype=source.dtype).set_(source.untyped_storage())
        copy = whole.clone() if device == "cpu" else whole.to(device)
        moved = copy.as_strided(source.size(), source.stride(), source.storage_offset())
    else:
        moved = source.clone() if device == "cpu" else source.to(device)
    return moved.requires_grad_(tensor.requires_grad)


def arguments(entry, sample, device):
    """(input, args, kwargs) of the sample on the device: tensors, generators and named devices are moved."""
    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            stays = entry.name in INTEGERS_ON_CPU and leaf is not sample.input
            return placed(leaf, "cpu" if stays else device)
        if isinstance(leaf, torch.device):
            return torch.device(device)
        if isinstance(leaf, torch.Generator):
            return torch.Generator(device).manual_seed(leaf.initial_seed())
        return leaf
    moved = pytree.tree_map(move, (sample.input, sample.args, dict(sample.kwargs)))
    if isinstance(moved[2].get("device"), str):
        moved[2]["device"] = device
    return moved


def as_float64(sample):
    """The sample's arguments in double precision, for a reference that both sides can be measured against."""
    def widen(leaf):
        if isinstance(leaf, torch.Tensor):
            wide = leaf.detach().to(torch.float64) if leaf.is_floating_point() else leaf.detach().clone()
            return wide.requires_grad_(leaf.requires_grad)
        if isinstance(leaf, torch.dtype) and leaf.is_floating_point:
            return torch.float64
        return leaf
    return pytree.tree_map(widen, (sample.input, sample.args, dict(sample.kwargs)))

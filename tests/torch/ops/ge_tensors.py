# SPDX-License-Identifier: Apache-2.0
"""Operands for the tests of GE operators."""

import torch


def values(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 2


def ints(*numbers, dtype=torch.int64):
    return torch.tensor(list(numbers), dtype=dtype)

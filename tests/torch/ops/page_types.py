# SPDX-License-Identifier: Apache-2.0
"""What the tests of pages that go type by type share: the types, and how near a result of each must be."""

import torch
from aclnn_calls import room

HALVES = [torch.float16, torch.bfloat16]
FLOATS = [torch.float32, *HALVES]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
ROUNDING = {torch.float64: 1e-12, torch.float32: 3e-6, torch.float16: 2**-11 * 1.01, torch.bfloat16: 2**-8 * 1.01}


def near(got, want, least=1e-6):
    torch.testing.assert_close(got.double(), want.double(), rtol=ROUNDING[got.dtype], atol=max(least, ROUNDING[got.dtype] / 10), equal_nan=True)


def result(aclnn, name, *arguments, shape, dtype=torch.float32):
    """Of a row whose last argument is its only output."""
    out = room(shape, dtype=dtype)
    aclnn.run(name, *arguments, out)
    return out


def refused(aclnn, name, *arguments):
    code, said = aclnn.status(name, list(arguments))
    assert code != 0, f"{name} took {arguments}"
    return said

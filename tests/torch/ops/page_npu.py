# SPDX-License-Identifier: Apache-2.0
"""Operators by the names of their arguments, INT4 tensors among them: the fixture `npu` of the tests of pages."""

import ctypes
import math

import aclnn_calls
import torch
from aclnn_calls import I64, POINTER

INT8, INT4 = 2, 29


class Int4:
    """A tensor of the type INT4: two values to a byte, the first in the low half."""

    def __init__(self, values):
        self.shape = values.shape
        halves = values.reshape(-1, 2).to(torch.int32) & 15
        self.bytes = (halves[:, 0] | halves[:, 1] << 4).to(torch.uint8)

    def values(self):
        halves = torch.stack((self.bytes & 15, self.bytes >> 4), -1).to(torch.int8)
        return torch.where(halves > 7, halves - 16, halves).reshape(self.shape)


class Call(aclnn_calls.Call):
    def tensor(self, given, written):
        if not isinstance(given, Int4):
            return super().tensor(given, written)
        there = given.bytes.npu()
        self.keep.append(there)
        if written:
            self.moved.append((given.bytes, there))
        sizes, strides = list(given.shape), list(torch.empty(given.shape).stride())
        return self.library.create("aclCreateTensor", (I64 * len(sizes))(*sizes), ctypes.c_uint64(len(sizes)), INT4, (I64 * len(sizes))(*strides), I64(0), 2,
                                   (I64 * 1)(math.prod(sizes)), ctypes.c_uint64(1), POINTER(there.data_ptr()))


class Npu:
    """Calls an operator by the names of its arguments; those that are not named are NULL, 0 or false."""

    def __init__(self, aclnn):
        self.aclnn = aclnn

    def words(self, name, given):
        left = dict(given)
        found = [left.pop(one.name, None if one.kind not in ("kInt", "kBool", "kDouble") else 0) for one in self.aclnn.rows[name].args]
        assert not left, f"{name} has no {list(left)}"
        return found

    def __call__(self, name, **given):
        self.aclnn.run(name, *self.words(name, given))

    def refuses(self, name, says, **given):
        code, said = self.aclnn.status(name, self.words(name, given))
        assert code != 0, f"{name} was taken"
        assert says in said, said


def near(got, want, least=1e-5):
    torch.testing.assert_close(got.double(), want.double(), rtol=least, atol=least)


def silu(x):
    return x * torch.sigmoid(x)

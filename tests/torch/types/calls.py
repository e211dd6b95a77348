# SPDX-License-Identifier: Apache-2.0
"""Calls of aclnn operators as text (calls.tsv): the operator's name, then its arguments in the row's order, with tabs between.

    float32[2,3]       a tensor; float32[2,3]@0 of format 0 (ND otherwise)        -     NULL
    (float32[2] -)     a list of tensors, the second one NULL                      {1 2} an array of integers, bools or floats
    float32:1.5        a scalar; (float32:1 float32:2) a list of them              7  0.5  'text'  plain values
"""

import ctypes
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from op_types import NUMBERS

TENSOR = re.compile(r"^(\w+)\[([\d,]*)\](?:@(-?\d+))?$")


@dataclass(frozen=True)
class Tensor:
    type: str
    dims: tuple
    format: int = 2

    @property
    def elements(self):
        count = 1
        for dim in self.dims:
            count *= dim
        return count


@dataclass(frozen=True)
class Scalar:
    type: str
    text: str


def parse_one(text):
    if text == "-":
        return None
    if match := TENSOR.match(text):
        return Tensor(match[1], tuple(int(dim) for dim in match[2].split(",") if dim), int(match[3] or 2))
    if text[0] in "({":
        return [parse_one(part) for part in text[1:-1].split()]
    if text[0] == "'":
        return text[1:-1]
    if ":" in text:
        return Scalar(*text.split(":"))
    return float(text) if re.search(r"[.einf]", text) else int(text)


def read(path):
    """{operator: arguments}"""
    lines = (line.split("\t") for line in Path(path).read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {line[0]: [parse_one(text) for text in line[1:]] for line in lines}


def tensors_of(arguments):
    """Places (argument, member or None) of the tensors."""
    for place, value in enumerate(arguments):
        if isinstance(value, Tensor):
            yield place, None
        elif isinstance(value, list):
            yield from ((place, member) for member, one in enumerate(value) if isinstance(one, Tensor))


def at(arguments, place):
    return arguments[place[0]] if place[1] is None else arguments[place[0]][place[1]]


def with_tensor(arguments, place, tensor):
    """The arguments with another tensor at one place."""
    changed = [list(value) if isinstance(value, list) else value for value in arguments]
    if place[1] is None:
        changed[place[0]] = tensor
    else:
        changed[place[0]][place[1]] = tensor
    return changed


def with_type(arguments, places, type_name):
    """The arguments with the tensors at `places` of another type."""
    for place in places:
        arguments = with_tensor(arguments, place, replace(at(arguments, place), type=type_name))
    return arguments


class Failed(Exception):
    pass


class Door:
    """libopapi by ctypes: makes the objects of a call, runs both phases, and gives everything back."""

    MEMORY = 64 << 20
    ALIGNED = 512

    def __init__(self):
        self.acl = ctypes.CDLL("libascendcl.so", mode=ctypes.RTLD_GLOBAL)
        self.base = ctypes.CDLL("libnnopbase.so", mode=ctypes.RTLD_GLOBAL)
        self.ops = ctypes.CDLL("libopapi.so")
        for name in ("aclCreateTensor", "aclCreateTensorList", "aclCreateScalar", "aclCreateScalarList", "aclCreateIntArray", "aclCreateFloatArray",
                     "aclCreateBoolArray"):
            getattr(self.base, name).restype = ctypes.c_void_p
        self.acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self._must(self.acl.aclInit(None))
        self._must(self.acl.aclrtSetDevice(0))
        self.stream, self.memory = ctypes.c_void_p(), ctypes.c_void_p()
        self._must(self.acl.aclrtCreateStream(ctypes.byref(self.stream)))
        self._must(self.acl.aclrtMalloc(ctypes.byref(self.memory), ctypes.c_size_t(self.MEMORY), 0))
        self.made, self.kept = [], []

    def _must(self, status):
        if status != 0:
            raise Failed(f"{status}: {self.message()}")

    def message(self):
        return (self.acl.aclGetRecentErrMsg() or b"").decode(errors="replace")

    def _room(self, size):
        address, self.used = self.memory.value + self.used, self.used + -(-max(size, 1) // self.ALIGNED) * self.ALIGNED
        if self.used > self.MEMORY:
            raise Failed("the tensors of the call need more memory than there is")
        return address

    def _tensor(self, tensor, contents):
        data = contents(tensor)
        address = self._room(len(data))
        if data:
            self._must(self.acl.aclrtMemcpy(ctypes.c_void_p(address), ctypes.c_size_t(len(data)), data, ctypes.c_size_t(len(data)), 1))
        dims = (ctypes.c_int64 * len(tensor.dims))(*tensor.dims)
        strides, step = [], 1
        for dim in reversed(tensor.dims):
            strides.insert(0, step)
            step *= dim
        handle = self.base.aclCreateTensor(dims, ctypes.c_uint64(len(tensor.dims)), NUMBERS[tensor.type], (ctypes.c_int64 * len(strides))(*strides),
                                           ctypes.c_int64(0), tensor.format, dims, ctypes.c_uint64(len(tensor.dims)), ctypes.c_void_p(address))
        self.addresses.append((tensor, address, len(data)))
        return handle

    def _scalar(self, scalar):
        kinds = {"float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool, "int64": ctypes.c_int64, "int32": ctypes.c_int32}
        kind = scalar.type if scalar.type in kinds else "float32"
        value = kinds[kind](float(scalar.text) if kind.startswith("float") else int(scalar.text))
        return self.base.aclCreateScalar(ctypes.byref(value), NUMBERS[kind])

    def _list(self, values, one, create):
        handles = [None if value is None else one(value) for value in values]
        return getattr(self.base, create)((ctypes.c_void_p * len(handles))(*handles), ctypes.c_uint64(len(handles)))

    def _keep(self, handle, destroy):
        self.made.append((handle, destroy))
        return ctypes.c_void_p(handle)

    def _object(self, argument, value, contents):
        kind = argument.kind
        if kind == "kTensor":
            return self._keep(self._tensor(value, contents), "aclDestroyTensor")
        if kind == "kTensorList":
            return self._keep(self._list(value, lambda one: self._tensor(one, contents), "aclCreateTensorList"), "aclDestroyTensorList")
        if kind == "kScalar":
            return self._keep(self._scalar(value), "aclDestroyScalar")
        if kind == "kScalarList":
            return self._keep(self._list(value, self._scalar, "aclCreateScalarList"), "aclDestroyScalarList")
        name, element = {"kInts": ("Int", ctypes.c_int64), "kFloats": ("Float", ctypes.c_float), "kBools": ("Bool", ctypes.c_bool)}[kind]
        handle = getattr(self.base, f"aclCreate{name}Array")((element * len(value))(*value), ctypes.c_uint64(len(value)))
        return self._keep(handle, f"aclDestroy{name}Array")

    def _word(self, argument, value, contents):
        plain = {"i64": ctypes.c_int64, "u64": ctypes.c_uint64, "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i8": ctypes.c_int8, "bool": ctypes.c_bool,
                 "f64": ctypes.c_double, "f32": ctypes.c_float, "dt": ctypes.c_int}
        if argument.type in plain:
            kind = plain[argument.type]
            return kind(float(value) if argument.type in ("f64", "f32") else int(value))
        if argument.type == "str":
            return ctypes.c_char_p((value or "").encode())
        return ctypes.c_void_p(None) if value is None else self._object(argument, value, contents)

    def call(self, row, arguments, contents):
        """(phase, status, message): of phase 1 when it refuses, of phase 2 or of the synchronisation when one of them fails, else of none."""
        self.used, self.addresses = 0, []
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        try:
            words = [self._word(argument, value, contents) for argument, value in zip(row.args, arguments, strict=True)]
            status = getattr(self.ops, f"{row.name}GetWorkspaceSize")(*words, ctypes.byref(size), ctypes.byref(executor))
            if status != 0:
                return 1, status, self.message()
            status = getattr(self.ops, row.name)(None, size, executor, self.stream)
            if status != 0:
                return 2, status, self.message()
            status = self.acl.aclrtSynchronizeStream(self.stream)
            return (3, status, self.message()) if status != 0 else (0, 0, "")
        finally:
            for handle, destroy in reversed(self.made):
                getattr(self.base, destroy)(ctypes.c_void_p(handle))
            self.made.clear()

    def read(self, number):
        """The bytes of the call's tensor `number`, in the order of its arguments."""
        _, address, size = self.addresses[number]
        data = ctypes.create_string_buffer(max(size, 1))
        self._must(self.acl.aclrtMemcpy(data, ctypes.c_size_t(size), ctypes.c_void_p(address), ctypes.c_size_t(size), 2))
        return data.raw[:size]

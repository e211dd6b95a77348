# SPDX-License-Identifier: Apache-2.0
"""Calls aclnn functions by name, as a C program does, with torch's tensors: the operator table says what each argument is."""

import ctypes
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import gen_ops

POINTER, I64 = ctypes.c_void_p, ctypes.c_int64
TYPES = {torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.uint8: 4, torch.int16: 6, torch.uint16: 7, torch.uint32: 8,
         torch.int64: 9, torch.uint64: 10, torch.float64: 11, torch.bool: 12, torch.complex64: 16, torch.complex128: 17, torch.bfloat16: 27,
         torch.float8_e5m2: 35, torch.float8_e4m3fn: 36, torch.float8_e8m0fnu: 37}
NUMBERS = {"i64": I64, "u64": ctypes.c_uint64, "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i8": ctypes.c_int8, "bool": ctypes.c_bool,
           "f64": ctypes.c_double, "f32": ctypes.c_float, "dt": ctypes.c_int}
BYTE_TYPES = (torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e8m0fnu)  # the wheel copies their bytes only


def to_npu(tensor):
    return tensor.view(torch.uint8).npu() if tensor.dtype in BYTE_TYPES else tensor.npu()


class Call:
    """One call: what it is given is moved to the device, and back."""

    def __init__(self, library):
        self.library, self.keep, self.moved = library, [], []

    def tensor(self, given, written):
        if given is None:
            return None
        there = given if given.device.type == "npu" else to_npu(given)  # a view of the device's memory keeps its strides
        self.keep.append(there)
        if written:
            self.moved.append((given, there))
        sizes, strides = list(given.shape), list(there.stride())
        storage = (I64 * 1)(there.untyped_storage().nbytes() // there.element_size())
        return self.library.create("aclCreateTensor", (I64 * len(sizes))(*sizes), ctypes.c_uint64(len(sizes)), TYPES[given.dtype], (I64 * len(sizes))(*strides),
                                   I64(there.storage_offset()), 2, storage, ctypes.c_uint64(1), POINTER(there.untyped_storage().data_ptr()))

    def scalar(self, given):
        if given is None:
            return None
        kind, number = (ctypes.c_bool, 12) if isinstance(given, bool) else (I64, 9) if isinstance(given, int) else (ctypes.c_double, 11)
        return self.library.create("aclCreateScalar", ctypes.byref(kind(given)), number)

    def argument(self, argument, given):
        kind = argument.kind
        if kind == "kTensor":
            return POINTER(self.tensor(given, argument.flow))
        if kind == "kTensorList":
            if given is None:
                return POINTER(None)
            members = [self.tensor(member, argument.flow) for member in given]
            return POINTER(self.library.create("aclCreateTensorList", (POINTER * max(len(given), 1))(*members), ctypes.c_uint64(len(given))))
        if kind == "kScalar":
            return POINTER(self.scalar(given))
        if kind == "kScalarList":
            if given is None:
                return POINTER(None)
            members = [self.scalar(member) for member in given]
            return POINTER(self.library.create("aclCreateScalarList", (POINTER * max(len(given), 1))(*members), ctypes.c_uint64(len(given))))
        if kind in ("kInts", "kBools", "kFloats"):
            if given is None:
                return POINTER(None)
            member, name = {"kInts": (I64, "aclCreateIntArray"), "kBools": (ctypes.c_bool, "aclCreateBoolArray"),
                            "kFloats": (ctypes.c_float, "aclCreateFloatArray")}[kind]
            return POINTER(self.library.create(name, (member * max(len(given), 1))(*given), ctypes.c_uint64(len(given))))
        if kind == "kString":
            return ctypes.c_char_p(None if given is None else given.encode())
        return NUMBERS[argument.type](TYPES[given] if isinstance(given, torch.dtype) else given)


class Aclnn:
    def __init__(self):
        torch.npu.synchronize()  # the wheel has opened the device
        self.acl, self.meta, self.opapi = ctypes.CDLL("libascendcl.so"), ctypes.CDLL("libnnopbase.so"), ctypes.CDLL("libopapi.so")
        self.acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.rows = {row.name: row for row in gen_ops.read_table(ROOT / "src" / "ops" / "table")}

    def create(self, name, *arguments):
        function = getattr(self.meta, name)
        function.restype = POINTER
        made = function(*arguments)
        assert made, name
        return made

    def status(self, name, arguments):
        """Runs it and copies what the row writes back into the given tensors: the code of the phase that refused, 0, and the message."""
        row, call = self.rows[name], Call(self)
        assert len(arguments) == len(row.args), f"{name} takes {[argument.name for argument in row.args]}"
        words = [call.argument(argument, given) for argument, given in zip(row.args, arguments)]
        torch.npu.synchronize()
        room, executor = ctypes.c_uint64(), POINTER()
        code = getattr(self.opapi, name + "GetWorkspaceSize")(*words, ctypes.byref(room), ctypes.byref(executor))
        if code != 0:
            return code, (self.acl.aclGetRecentErrMsg() or b"").decode()
        workspace = torch.empty(max(room.value, 1), dtype=torch.uint8).npu()
        code = getattr(self.opapi, name)(POINTER(workspace.data_ptr()), room, executor, POINTER(torch.npu.current_stream().npu_stream))
        assert code == 0, self.acl.aclGetRecentErrMsg()
        code = self.acl.aclrtSynchronizeStream(POINTER(torch.npu.current_stream().npu_stream))
        if code != 0:
            return code, (self.acl.aclGetRecentErrMsg() or b"").decode()
        for given, there in call.moved:
            if given.dtype in BYTE_TYPES:
                given.view(torch.uint8).copy_(there.cpu())
            else:
                given.copy_(there.cpu())
        return 0, ""

    def run(self, name, *arguments):
        code, said = self.status(name, arguments)
        assert code == 0, f"{name}: {code} {said}"


def room(*shape, dtype=torch.float32):
    """An output, filled with what no operator writes."""
    filled = torch.empty(*shape, dtype=dtype)
    filled.view(torch.uint8 if dtype in BYTE_TYPES else dtype).fill_(77 if dtype != torch.bool else True)
    return filled

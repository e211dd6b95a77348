# SPDX-License-Identifier: Apache-2.0
"""GE operators by their type: what the library says of their outputs (aclopInferShape), and what a run gives."""

import ctypes
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))  # ge_tensors

TYPES = {torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.uint8: 4, torch.int16: 6, torch.int64: 9, torch.float64: 11,
         torch.bool: 12, torch.uint16: 7, torch.uint64: 10, torch.complex64: 16, torch.complex128: 17, torch.bfloat16: 27}
TORCH_TYPES = {number: kind for kind, number in TYPES.items()}
FORMAT_ND, UNDEFINED = 2, -1
POINTER, INT = ctypes.c_void_p, ctypes.c_int


def array(kind, values):
    return (kind * max(len(values), 1))(*values)


class Ge:
    def __init__(self):
        torch.npu.synchronize()  # the wheel has opened the device
        self.acl = ctypes.CDLL("libascendcl.so")
        self.compiler = ctypes.CDLL("libacl_op_compiler.so")
        acl = self.acl
        acl.aclCreateTensorDesc.argtypes = [INT, INT, POINTER, INT]
        acl.aclCreateDataBuffer.argtypes = [POINTER, ctypes.c_size_t]
        acl.aclopSetAttrFloat.argtypes = [POINTER, ctypes.c_char_p, ctypes.c_float]
        acl.aclopSetAttrInt.argtypes = [POINTER, ctypes.c_char_p, ctypes.c_int64]
        acl.aclGetTensorDescDimV2.argtypes = [POINTER, ctypes.c_size_t, POINTER]
        acl.aclGetTensorDescDimRange.argtypes = [POINTER, ctypes.c_size_t, ctypes.c_size_t, POINTER]
        for name in ("aclCreateTensorDesc", "aclCreateDataBuffer", "aclopCreateAttr"):
            getattr(acl, name).restype = POINTER
        acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        acl.aclGetTensorDescNumDims.restype = ctypes.c_size_t
        acl.aclGetTensorDescNumDims.argtypes = acl.aclGetTensorDescType.argtypes = [POINTER]
        for name in ("aclDestroyTensorDesc", "aclDestroyDataBuffer", "aclopDestroyAttr"):
            getattr(acl, name).argtypes = [POINTER]
        self.infer_shape = acl.aclopInferShape
        self.infer_shape.argtypes = [ctypes.c_char_p, INT, POINTER, POINTER, INT, POINTER, POINTER]
        self.execute = self.compiler.aclopCompileAndExecuteV2
        self.execute.argtypes = [ctypes.c_char_p] + [INT, POINTER, POINTER] * 2 + [POINTER, INT, INT, ctypes.c_char_p, POINTER]

    def desc(self, tensor, layout=FORMAT_ND):
        if tensor is None:
            return self.acl.aclCreateTensorDesc(UNDEFINED, 0, None, FORMAT_ND)
        return self.acl.aclCreateTensorDesc(TYPES[tensor.dtype], tensor.dim(), array(ctypes.c_int64, tensor.shape), layout)

    def buffer(self, tensor):
        if tensor is None:
            return self.acl.aclCreateDataBuffer(None, 0)
        return self.acl.aclCreateDataBuffer(tensor.data_ptr(), tensor.numel() * tensor.element_size())

    def attributes(self, values):
        acl, attr = self.acl, POINTER(self.acl.aclopCreateAttr())
        for name, value in values.items():
            name = name.encode()
            if isinstance(value, bool):
                status = acl.aclopSetAttrBool(attr, name, ctypes.c_uint8(value))
            elif isinstance(value, int):
                status = acl.aclopSetAttrInt(attr, name, value)
            elif isinstance(value, float):
                status = acl.aclopSetAttrFloat(attr, name, value)
            elif isinstance(value, str):
                status = acl.aclopSetAttrString(attr, name, value.encode())
            elif isinstance(value, torch.dtype):
                status = acl.aclopSetAttrDataType(attr, name, TYPES[value])
            elif value and isinstance(value[0], (list, tuple)):
                lists = [array(ctypes.c_int64, row) for row in value]
                pointers = array(POINTER, [ctypes.cast(row, POINTER).value for row in lists])
                status = acl.aclopSetAttrListListInt(attr, name, len(value), array(INT, [len(row) for row in value]), pointers)
            elif value and isinstance(value[0], bool):
                status = acl.aclopSetAttrListBool(attr, name, len(value), array(ctypes.c_uint8, value))
            elif value and isinstance(value[0], float):
                status = acl.aclopSetAttrListFloat(attr, name, len(value), array(ctypes.c_float, value))
            else:
                status = acl.aclopSetAttrListInt(attr, name, len(value), array(ctypes.c_int64, value))
            assert status == 0, acl.aclGetRecentErrMsg()
        return attr

    def shape(self, desc, largest=False):
        dims = []
        for which in range(self.acl.aclGetTensorDescNumDims(desc)):
            dim = ctypes.c_int64()
            assert self.acl.aclGetTensorDescDimV2(desc, which, ctypes.byref(dim)) == 0
            if dim.value == -1 and largest:
                bounds = (ctypes.c_int64 * 2)()
                assert self.acl.aclGetTensorDescDimRange(desc, which, 2, bounds) == 0
                dim.value = bounds[1]
            dims.append(dim.value)
        return dims

    def run(self, kind, inputs, attributes=None, outputs=1, refs=None, formats=None):
        """Asks for the outputs' types and shapes, makes them so and runs. refs: {output: input} that share memory. formats: {input: format}."""
        given = [tensor if tensor is None else tensor.npu() for tensor in inputs]
        torch.npu.synchronize()
        attr = self.attributes(attributes or {})
        descs = array(POINTER, [self.desc(tensor, (formats or {}).get(which, FORMAT_ND)) for which, tensor in enumerate(given)])
        buffers = array(POINTER, list(map(self.buffer, given)))
        out_descs = array(POINTER, [self.desc(None) for _ in range(outputs)])
        status = self.infer_shape(kind.encode(), len(given), descs, buffers, outputs, out_descs, attr)
        assert status == 0, self.acl.aclGetRecentErrMsg().decode()
        results = []
        for which in range(outputs):
            like = given[refs[which]] if refs and which in refs else None
            dtype, shape = TORCH_TYPES[self.acl.aclGetTensorDescType(out_descs[which])], self.shape(out_descs[which], largest=True)
            if like is not None:
                assert (dtype, shape) == (like.dtype, list(like.shape))
                results.append(like)
            else:
                results.append(torch.full(shape, 77, dtype=dtype).npu())
        torch.npu.synchronize()
        for which in range(outputs):
            self.acl.aclDestroyTensorDesc(out_descs[which])
            out_descs[which] = self.desc(results[which])
        out_buffers = array(POINTER, list(map(self.buffer, results)))
        stream = torch.npu.current_stream().npu_stream
        status = self.execute(kind.encode(), len(given), descs, buffers, outputs, out_descs, out_buffers, attr, 0, 0, None, stream)
        assert status == 0, self.acl.aclGetRecentErrMsg().decode()
        torch.npu.synchronize()
        told = [self.shape(out_descs[which]) for which in range(outputs)]
        results = [result.cpu().flatten()[:torch.Size(shape).numel()].view(shape) for result, shape in zip(results, told)]
        self.acl.aclopDestroyAttr(attr)
        for which in range(len(given)):
            self.acl.aclDestroyTensorDesc(descs[which])
            self.acl.aclDestroyDataBuffer(buffers[which])
        for which in range(outputs):
            self.acl.aclDestroyTensorDesc(out_descs[which])
            self.acl.aclDestroyDataBuffer(out_buffers[which])
        return results

    def check(self, kind, inputs, attributes, want, refs=None, formats=None):
        want = list(want) if isinstance(want, (list, tuple)) else [want]
        got = self.run(kind, inputs, attributes, outputs=len(want), refs=refs, formats=formats)
        for have, wanted in zip(got, want):
            assert have.shape == wanted.shape
            assert have.dtype == wanted.dtype
            torch.testing.assert_close(have, wanted, equal_nan=True)


@pytest.fixture(scope="session")
def ge():
    import torch_npu  # noqa: F401 - brings the device and its libraries
    return Ge()


@pytest.fixture(scope="session")
def aclnn():
    import torch_npu  # noqa: F401 - brings the device and its libraries

    from aclnn_calls import Aclnn
    return Aclnn()


@pytest.fixture
def npu(aclnn, monkeypatch):
    import aclnn_calls
    import page_npu
    monkeypatch.setattr(aclnn_calls, "Call", page_npu.Call)
    return page_npu.Npu(aclnn)

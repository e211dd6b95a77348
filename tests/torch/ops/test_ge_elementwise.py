# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators by their GE type, through aclopCompileAndExecute, against plain torch."""

import ctypes

import pytest
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401 - brings the device and its libraries
from ge_tensors import values

ACL_FLOAT, ACL_FORMAT_ND = 0, 2

X, Y, Z = values(3, 4), values(3, 4, seed=2), values(3, 4, seed=3)
BIAS = values(4, seed=4)
ONE_HALF = torch.tensor([0.5])
# type: inputs, float and integer attributes, what plain torch gives
CASES = {
    "Adds": ([X], {"value": 1.5}, lambda x: x + 1.5),
    "Muls": ([X], {"value": 1.5}, lambda x: x * 1.5),
    "Axpy": ([X, Y], {"alpha": 0.5}, lambda x, y: x + 0.5 * y),
    "Mod": ([X, Y], {}, torch.fmod),
    "TruncateDiv": ([X, Y], {}, lambda x, y: torch.div(x, y, rounding_mode="trunc")),
    "Square": ([X], {}, torch.square),
    "Inv": ([X], {}, torch.reciprocal),
    "ClipByValue": ([X, torch.tensor(-1.0), torch.tensor(0.5)], {}, torch.clamp),
    "Elu": ([X], {}, F.elu),
    "Selu": ([X], {}, F.selu),
    "LeakyRelu": ([X], {"negative_slope": 0.25}, lambda x: F.leaky_relu(x, 0.25)),
    "LeakyReluGrad": ([X, Y], {"negative_slope": 0.25}, lambda g, x: torch.where(x > 0, g, 0.25 * g)),
    "Relu6": ([X], {}, F.relu6),
    "ReluGrad": ([X, Y], {}, lambda g, x: torch.where(x > 0, g, 0)),
    "Swish": ([X], {}, F.silu),
    "HardSwish": ([X], {}, F.hardswish),
    "HardSigmoid": ([X], {}, F.hardsigmoid),
    "SoftplusV2": ([X], {"beta": 2.0}, lambda x: F.softplus(x, 2.0)),
    "SigmoidGrad": ([X, Y], {}, lambda y, g: g * y * (1 - y)),
    "TanhGrad": ([X, Y], {}, lambda y, g: g * (1 - y * y)),
    "EluGrad": ([X, Y], {}, lambda g, y: torch.where(y > 0, g, g * (y + 1))),
    "ThresholdV2D": ([X], {"threshold": 0.25, "value": 9.0}, lambda x: F.threshold(x, 0.25, 9.0)),
    "GeluV2": ([X], {}, F.gelu),
    "GeluMul": ([X], {}, lambda x: F.gelu(x[:, :2]) * x[:, 2:]),
    "SwiGlu": ([X], {"dim": 1}, lambda x: F.silu(x[:, :2]) * x[:, 2:]),
    "AddN": ([X, Y, Z], {"N": 3}, lambda x, y, z: x + y + z),
    "SquaredDifference": ([X, Y], {}, lambda x, y: (x - y) ** 2),
    "Addcmul": ([X, Y, Z, ONE_HALF], {}, lambda x, y, z, v: x + v * y * z),
    "Addcdiv": ([X, Y, Z, ONE_HALF], {}, lambda x, y, z, v: x + v * y / z),
    "BiasAdd": ([X, BIAS], {}, torch.add),
    "ForeachSqrt": ([X.abs()], {}, torch.sqrt),
    "ForeachAddList": ([X, Y, ONE_HALF], {}, lambda x, y, alpha: x + alpha * y),
    "ForeachMulScalar": ([X, ONE_HALF], {}, torch.mul),
    "ForeachAddcdivScalar": ([X, Y, Z, ONE_HALF], {}, lambda x, y, z, v: x + v * y / z),
}


@pytest.fixture(scope="module")
def acl():
    torch.npu.synchronize()  # the wheel has opened the device
    library = ctypes.CDLL("libascendcl.so")
    compiler = ctypes.CDLL("libacl_op_compiler.so")
    library.run = compiler.aclopCompileAndExecute
    library.run.argtypes = [ctypes.c_char_p] + [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] * 2 + [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    library.aclCreateTensorDesc.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    library.aclCreateDataBuffer.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.aclopSetAttrFloat.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_float]
    library.aclopSetAttrInt.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64]
    for name in ("aclCreateTensorDesc", "aclCreateDataBuffer", "aclopCreateAttr", "aclGetRecentErrMsg"):
        getattr(library, name).restype = ctypes.c_char_p if name == "aclGetRecentErrMsg" else ctypes.c_void_p
    for name in ("aclDestroyTensorDesc", "aclDestroyDataBuffer", "aclopDestroyAttr"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    return library


def operands(acl, tensors):
    descs, buffers = [], []
    for tensor in tensors:
        shape = (ctypes.c_int64 * max(tensor.dim(), 1))(*tensor.shape)
        descs.append(acl.aclCreateTensorDesc(ACL_FLOAT, tensor.dim(), shape, ACL_FORMAT_ND))
        buffers.append(acl.aclCreateDataBuffer(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
    return (ctypes.c_void_p * len(descs))(*descs), (ctypes.c_void_p * len(buffers))(*buffers)


@pytest.mark.parametrize("kind", CASES)
def test_equals_plain_torch(acl, kind):
    inputs, attributes, reference = CASES[kind]
    want = reference(*inputs)
    given, out = [x.npu() for x in inputs], torch.full(want.shape, 77.0, device="npu")
    torch.npu.synchronize()
    attr = acl.aclopCreateAttr()
    for name, value in attributes.items():
        set_one = acl.aclopSetAttrFloat if isinstance(value, float) else acl.aclopSetAttrInt
        assert set_one(attr, name.encode(), value) == 0
    (descs, buffers), (out_desc, out_buffer) = operands(acl, given), operands(acl, [out])
    stream = torch.npu.current_stream().npu_stream
    status = acl.run(kind.encode(), len(given), descs, buffers, 1, out_desc, out_buffer, attr, 0, 0, None, stream)
    assert status == 0, acl.aclGetRecentErrMsg()
    torch.npu.synchronize()
    torch.testing.assert_close(out.cpu(), want)
    acl.aclopDestroyAttr(attr)
    for desc, buffer in (*zip(descs, buffers), (out_desc[0], out_buffer[0])):
        acl.aclDestroyTensorDesc(desc)
        acl.aclDestroyDataBuffer(buffer)

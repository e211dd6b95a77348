# SPDX-License-Identifier: Apache-2.0
"""torch_npu's own activations and gated units, against formulas written in plain torch."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def values(dtype, *shape, seed=5):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 2).to(dtype)


def close(got, want):
    torch.testing.assert_close(got.cpu(), want)


def gradient(function, *inputs, grad):
    """In float, rounded once at the end."""
    leaves = [x.float().requires_grad_() for x in inputs]
    return [g.to(x.dtype) for g, x in zip(torch.autograd.grad(function(*leaves), leaves, grad.float()), inputs)]


def fast_gelu(x):
    return x * torch.sigmoid(1.702 * x)


def swiglu(x, dim):
    gate, value = x.chunk(2, dim)
    return F.silu(gate) * value


def geglu(x, dim, kind, left):
    one, two = x.chunk(2, dim)
    return F.gelu(one, approximate=kind) * two if left else one * F.gelu(two, approximate=kind)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fast_gelu(dtype):
    cpu = values(dtype, 7, 9)
    npu = cpu.npu().requires_grad_()
    out = torch_npu.npu_fast_gelu(npu)
    close(out.detach(), fast_gelu(cpu.float()).to(dtype))
    grad = values(dtype, 7, 9, seed=6)
    out.backward(grad.npu())
    close(npu.grad, gradient(fast_gelu, cpu, grad=grad)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("asked", ["none", "tanh"])
def test_gelu_is_the_tanh_form_of_aclnn_gelus_page(dtype, asked):
    """The wheel asks for aclnnGelu whatever it is asked for."""
    cpu = values(dtype, 5, 8) * 2
    npu = cpu.npu().requires_grad_()
    out = F.gelu(npu, approximate=asked)
    close(out.detach(), F.gelu(cpu, approximate="tanh"))
    grad = values(dtype, 5, 8, seed=6)
    out.backward(grad.npu())
    close(npu.grad, gradient(lambda x: F.gelu(x, approximate="tanh"), cpu, grad=grad)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["none", "tanh"])
def test_npu_gelu(dtype, kind):
    cpu = values(dtype, 5, 8)
    npu = cpu.npu().requires_grad_()
    out = torch_npu.npu_gelu(npu, approximate=kind)
    close(out.detach(), F.gelu(cpu, approximate=kind))
    grad = values(dtype, 5, 8, seed=6)
    out.backward(grad.npu())
    close(npu.grad, gradient(lambda x: F.gelu(x, approximate=kind), cpu, grad=grad)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_swiglu(dtype, dim):
    cpu = values(dtype, 4, 6, 10)
    npu = cpu.npu().requires_grad_()
    out = torch_npu.npu_swiglu(npu, dim=dim)
    close(out.detach(), swiglu(cpu.float(), dim).to(dtype))
    grad = values(dtype, *out.shape, seed=6)
    out.backward(grad.npu())
    close(npu.grad, gradient(lambda x: swiglu(x, dim), cpu, grad=grad)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["none", "tanh"])
@pytest.mark.parametrize("left", [True, False])
def test_geglu(dtype, kind, left):
    cpu = values(dtype, 3, 8)
    npu = cpu.npu().requires_grad_()
    out, active = torch_npu.npu_geglu(npu, dim=-1, approximate=int(kind == "tanh"), activate_left=left)
    close(out.detach(), geglu(cpu.float(), -1, kind, left).to(dtype))
    close(active.detach(), F.gelu(cpu.float().chunk(2, -1)[0 if left else 1], approximate=kind).to(dtype))
    grad = values(dtype, *out.shape, seed=6)
    out.backward(grad.npu())
    want = gradient(lambda x: geglu(x, -1, kind, left), cpu, grad=grad)[0]
    # The gradient takes the activation that was stored, which is rounded for half types.
    rtol, atol = (1e-5, 1e-5) if dtype == torch.float32 else (2e-2, 1e-2)
    torch.testing.assert_close(npu.grad.cpu(), want, rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["none", "tanh"])
def test_gelu_mul(dtype, kind):
    cpu = values(dtype, 3, 8)
    close(torch_npu.npu_gelu_mul(cpu.npu(), approximate=kind), geglu(cpu.float(), -1, kind, True).to(dtype))


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("groups", [None, [2, 1]])
def test_clipped_swiglu(interleaved, groups):
    cpu = values(torch.float32, 5, 8) * 4
    index = None if groups is None else torch.tensor(groups, device="npu")
    out = torch_npu.npu_clipped_swiglu(cpu.npu(), group_index=index, dim=-1, alpha=1.702, limit=7.0, bias=1.0, interleaved=interleaved)
    gate, value = (cpu[:, ::2], cpu[:, 1::2]) if interleaved else cpu.chunk(2, -1)
    gate, value = gate.clamp(max=7.0), value.clamp(-7.0, 7.0)
    rows = 5 if groups is None else sum(groups)
    close(out[:rows], (gate * torch.sigmoid(1.702 * gate) * (value + 1))[:rows])


@pytest.mark.parametrize("shape, parameters", [((4, 6, 3), 6), ((4, 6), 6), ((5,), 1), ((2, 3, 4, 5), 1)])
def test_prelu_and_its_gradients(shape, parameters):
    cpu, weight, grad = values(torch.float32, *shape), values(torch.float32, parameters, seed=8), values(torch.float32, *shape, seed=6)
    npu, npu_weight = cpu.npu().requires_grad_(), weight.npu().requires_grad_()
    out = F.prelu(npu, npu_weight)
    close(out.detach(), F.prelu(cpu, weight))
    out.backward(grad.npu())
    by_input, by_weight = gradient(F.prelu, cpu, weight, grad=grad)
    close(npu.grad, by_input)
    close(npu_weight.grad, by_weight)


@pytest.mark.parametrize("name", ["relu_", "sigmoid_", "tanh_"])
def test_in_place(name):
    cpu = values(torch.float32, 3, 5)
    npu = cpu.npu()
    getattr(npu, name)()
    close(npu, getattr(cpu.clone(), name)())


@pytest.mark.parametrize("function", [F.relu, F.elu, F.selu, F.celu, F.hardtanh, F.hardsigmoid, F.hardswish, F.leaky_relu, F.mish, F.silu,
                                      lambda x, inplace: F.threshold(x, 0.1, 20, inplace)])
def test_functions_with_an_inplace_switch(function):
    cpu = values(torch.float32, 6, 4)
    npu = cpu.npu()
    view = npu[:, ::2]
    function(view, inplace=True)
    close(view, function(cpu[:, ::2].clone(), inplace=True))
    close(npu[:, 1::2], cpu[:, 1::2])

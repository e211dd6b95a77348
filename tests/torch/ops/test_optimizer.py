# SPDX-License-Identifier: Apache-2.0
"""Optimiser steps on the device against the same steps on the CPU."""

import pytest
import torch
import torch_npu

STEPS = 4
CASES = [
    (torch.optim.SGD, {"lr": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "fused": True}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "maximize": True, "fused": True}),
    (torch.optim.Adam, {"lr": 0.01}),
    (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True}),
    (torch.optim.Adam, {"lr": 0.01, "foreach": False}),
    (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1, "fused": True}),
    (torch.optim.AdamW, {"lr": 0.01, "amsgrad": True, "fused": True}),
    (torch.optim.AdamW, {"lr": 0.01, "maximize": True, "fused": True}),
    (torch.optim.Adagrad, {"lr": 0.01}),
    (torch.optim.Adadelta, {}),
    (torch.optim.Adamax, {}),
    (torch.optim.NAdam, {}),
    (torch.optim.RAdam, {}),
    (torch.optim.RMSprop, {"momentum": 0.5, "centered": True}),
    (torch.optim.Rprop, {}),
]


def values(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(4, 6, generator=generator).t(), torch.randn(5, generator=generator), torch.randn((), generator=generator)]


def trained(kind, options, device):
    parameters = [x.clone().to(device).requires_grad_() for x in values(1)]
    optimizer = kind(parameters, **options)
    for step in range(STEPS):
        for parameter, grad in zip(parameters, values(2 + step)):
            parameter.grad = grad.clone().to(device)
        optimizer.step()
    return [x.detach().cpu() for x in parameters]


@pytest.mark.parametrize("kind, options", CASES, ids=[f"{kind.__name__}-{'-'.join(options)}" for kind, options in CASES])
def test_steps_equal_the_cpus(kind, options):
    for got, want in zip(trained(kind, options, "npu"), trained(kind, options, "cpu")):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)


def test_gradient_scaler_grows_and_backs_off():
    scaler = torch.amp.GradScaler("npu", init_scale=8.0, growth_interval=2)
    parameter = torch.ones(3, device="npu", requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scales = []
    for gradient in (1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale((parameter * gradient).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [8.0, 16.0, 8.0, 8.0]
    torch.testing.assert_close(parameter.detach().cpu(), torch.full((3,), 1 - 3 * 0.5))


def adam(var, m, v, grad, lr, beta1, beta2, eps, power1, power2):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad * grad
    return var - lr * (1 - power2) ** 0.5 / (1 - power1) * m / (v.sqrt() + eps), m, v


def test_npu_apply_adam():
    var, m, v, grad = (torch.rand(3, 5, generator=torch.Generator().manual_seed(i)) for i in range(4))
    want = adam(var, m, v, grad, 0.01, 0.9, 0.99, 1e-3, 0.9, 0.99)
    out = [x.npu() for x in (var, m, v)]
    torch_npu.npu_apply_adam(0.9, 0.99, 0.01, 0.9, 0.99, 1e-3, grad.npu(), False, False, out=tuple(out))
    for got, expected in zip(out, want):
        torch.testing.assert_close(got.cpu(), expected)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_npu_apply_adam_w_is_torchs_adamw(amsgrad, maximize):
    var, m, v, grad, largest = (torch.rand(3, 5, generator=torch.Generator().manual_seed(i)) for i in range(5))
    step = torch.tensor(3.0)
    lists = [[x.clone()] for x in (var, grad, m, v)] + [[largest.clone()] if amsgrad else []]
    torch._fused_adamw_(*lists, [step], lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-3, amsgrad=amsgrad, maximize=maximize)
    out = [x.npu() for x in (var, m, v)]
    bound = largest.npu() if amsgrad else None
    torch_npu.npu_apply_adam_w(0.9**2, 0.99**2, 0.01, 0.1, 0.9, 0.99, 1e-3, grad.npu(), bound, amsgrad, maximize, out=tuple(out))
    torch.testing.assert_close(out[0].cpu(), lists[0][0])
    torch.testing.assert_close(out[1].cpu(), lists[2][0])
    # The device keeps the larger second moment in place of the moment itself.
    torch.testing.assert_close(out[2].cpu(), lists[4][0] if amsgrad else lists[3][0])

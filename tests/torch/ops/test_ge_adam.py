# SPDX-License-Identifier: Apache-2.0
"""ApplyAdamV2 at the GE door, by the formulas of its page."""

import pytest
import torch

RATE, BETA1, BETA2, EPSILON, LARGEST, NORM, DECAY, STEP = 0.01, 0.9, 0.99, 1e-3, 2.0, 5.0, 0.1, 0.03


def after(var, m, v, grad, mode, clips, steps):
    grad = grad * min(1.0, LARGEST / NORM) if mode == "adam" and clips else grad
    m, v = BETA1 * m + (1 - BETA1) * grad, BETA2 * v + (1 - BETA2) * grad**2
    update = m / (v.sqrt() + EPSILON)
    step = STEP if mode == "mbart_adam" and steps else RATE
    return var - step * update - RATE * DECAY * var, m, v


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("clips", [True, False])
@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("mode", ["adam", "mbart_adam"])
def test_a_step(ge, mode, steps, clips, dtype):
    generator = torch.Generator().manual_seed(5)
    var, m, grad = (torch.randn(4, 6, generator=generator).to(dtype) for _ in range(3))
    v = torch.rand(4, 6, generator=generator).to(dtype)

    def number(value):
        return torch.tensor([value], dtype=dtype)

    inputs = [var, m, v, number(RATE), number(BETA1), number(BETA2), number(EPSILON), grad, number(LARGEST) if clips else None, number(NORM), number(DECAY),
              number(STEP) if steps else None]
    got = ge.run("ApplyAdamV2", inputs, {"adam_mode": mode}, outputs=3, refs={0: 0, 1: 1, 2: 2})
    want = after(*(tensor.double() for tensor in (var, m, v, grad)), mode, clips, steps)
    bound = 1e-5 if dtype == torch.float32 else 2e-3
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=bound, atol=bound)


def test_another_mode_is_refused(ge):
    one = torch.ones(1)
    with pytest.raises(Exception, match="adam_mode"):
        ge.run("ApplyAdamV2", [one, one, one, one, one, one, one, one, None, one, one, None], {"adam_mode": "adamax"}, outputs=3, refs={0: 0, 1: 1, 2: 2})

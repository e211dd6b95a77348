# SPDX-License-Identifier: Apache-2.0
"""What the tests of operators' pages share: random values, and what is asked of results and refusals."""

import torch

SEED = torch.Generator().manual_seed(31)
D = lambda t: t.double()


def values(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=SEED).to(dtype)


def near(got, want, tight=2e-5):
    torch.testing.assert_close(got.double(), want.double(), rtol=tight, atol=tight / 5, equal_nan=True)


def refused(aclnn, name, arguments, says):
    code, said = aclnn.status(name, arguments)
    assert code != 0, f"{name} was not refused"
    assert says in said, said

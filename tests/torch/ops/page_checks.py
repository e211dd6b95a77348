# SPDX-License-Identifier: Apache-2.0
"""What the tests of operators' pages share: random values, and what is asked of results and refusals."""

import torch

D = lambda t: t.double()


def drawing(seed):
    """A file's own generator, and functions that draw from it: what a file draws does not hang on which others ran."""
    generator = torch.Generator().manual_seed(seed)

    def values(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator).to(dtype)

    def whole(low, high, *shape, dtype=torch.int64):
        return torch.randint(low, high, shape, generator=generator).to(dtype)

    return generator, values, whole


def near(got, want, tight=2e-5):
    torch.testing.assert_close(got.double(), want.double(), rtol=tight, atol=tight / 5, equal_nan=True)


def refused(aclnn, name, arguments, says):
    code, said = aclnn.status(name, arguments)
    assert code != 0, f"{name} was not refused"
    assert says in said, said

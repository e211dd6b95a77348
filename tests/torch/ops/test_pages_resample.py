# SPDX-License-Identifier: Apache-2.0
"""Resampling against the formulas of the operators' pages: each is a product with one matrix for each dimension, its gradient one with the transposed
matrices."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import drawing, near, D

SEED, values, _ = drawing(31)


def step(n, size, given, align):
    """How far two results are apart in what they come from."""
    if align:
        return (n - 1) / (size - 1) if size > 1 else 0.0
    return 1 / given if given > 0 else n / size


def nearest(shift):
    def matrix(n, size, given, align):
        places = torch.floor((torch.arange(size).double() + shift) * step(n, size, given, align)).long().clamp(max=n - 1)
        return torch.nn.functional.one_hot(places, n).double()
    return matrix


def linear(n, size, given, align):
    scale, i = step(n, size, given, align), torch.arange(size)
    at = i * scale if align else torch.clamp((i + 0.5) * scale - 0.5, min=0)
    low = torch.floor(at.double()).long().clamp(max=n - 1)
    share = at.double() - low
    matrix = torch.zeros(size, n).double()
    matrix[i, low] += 1 - share
    matrix[i, (low + 1).clamp(max=n - 1)] += share
    return matrix


def cube(d, a):
    d = d.abs()
    return torch.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, torch.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0.0))


def cubic(n, size, given, align):
    scale, i = step(n, size, given, align), torch.arange(size).double()
    at = i * scale if align else (i + 0.5) * scale - 0.5
    low = torch.floor(at)
    matrix = torch.zeros(size, n).double()
    for tap in range(-1, 3):
        matrix[torch.arange(size), (low + tap).long().clamp(0, n - 1)] += cube(at - low - tap, -0.75)
    return matrix


def without_aliases(weight, reach):
    """Every source that the stretched weight reaches counts, and the weights' sum is one."""
    def matrix(n, size, given, align):
        scale = step(n, size, given, align)
        stretch, centre = max(scale, 1.0), (torch.arange(size).double() + 0.5) * scale
        places = torch.arange(n).double() + 0.5
        first = torch.floor(centre - reach * stretch + 0.5).clamp(min=0)
        last = torch.floor(centre + reach * stretch + 0.5).clamp(max=n)
        weights = weight((places - centre.unsqueeze(1)) / stretch)
        inside = (torch.arange(n) >= first.unsqueeze(1)) & (torch.arange(n) < last.unsqueeze(1))
        weights = torch.where(inside, weights, 0.0)
        return weights / weights.sum(1, keepdim=True)
    return matrix


TENT = without_aliases(lambda d: (1 - d.abs()).clamp(min=0), 1)
CUBE = without_aliases(lambda d: cube(d, -0.5), 2)

# name, that of the gradient, the matrices, dimensions, takes alignCorners, takes scales
OPERATORS = [
    ("aclnnUpsampleNearest1d", None, nearest(0), 1, False, False),
    ("aclnnUpsampleNearest1dV2", "aclnnUpsampleNearest1dBackward", nearest(0), 1, False, True),
    ("aclnnUpsampleNearest2d", None, nearest(0), 2, False, False),
    ("aclnnUpsampleNearest2dV2", "aclnnUpsampleNearest2dBackward", nearest(0), 2, False, True),
    ("aclnnUpsampleNearest3d", "aclnnUpsampleNearest3dBackward", nearest(0), 3, False, True),
    ("aclnnUpsampleNearestExact1d", "aclnnUpsampleNearestExact1dBackward", nearest(0.5), 1, False, True),
    ("aclnnUpsampleNearestExact2d", "aclnnUpsampleNearestExact2dBackward", nearest(0.5), 2, False, True),
    ("aclnnUpsampleNearestExact3d", "aclnnUpsampleNearestExact3dBackward", nearest(0.5), 3, False, True),
    ("aclnnUpsampleLinear1d", "aclnnUpsampleLinear1dBackward", linear, 1, True, True),
    ("aclnnUpsampleBilinear2d", "aclnnUpsampleBilinear2dBackwardV2", linear, 2, True, True),
    ("aclnnUpsampleBilinear2d", "aclnnUpsampleBilinear2dBackward", linear, 2, True, True),
    ("aclnnUpsampleTrilinear3d", "aclnnUpsampleTrilinear3dBackward", linear, 3, True, True),
    ("aclnnUpsampleBicubic2d", "aclnnUpsampleBicubic2dBackward", cubic, 2, True, True),
    ("aclnnUpsampleBilinear2dAA", "aclnnUpsampleBilinear2dAABackward", TENT, 2, True, True),
    ("aclnnUpsampleBicubic2dAA", "aclnnUpsampleBicubic2dAAGrad", CUBE, 2, True, True),
]


def product(x, matrices):
    for dim, matrix in enumerate(matrices, 2):
        x = torch.tensordot(x, matrix, ([dim], [1])).movedim(-1, dim)
    return x


CASES = [(*operator, given, align) for operator in OPERATORS for given in (False, True) for align in (False, True)
         if operator[4] >= align and operator[5] >= given]


@pytest.mark.parametrize("name, gradient, matrix, dims, aligns, scaled, given, align", CASES, ids=[f"{case[0]}-{n}" for n, case in enumerate(CASES)])
def test_resampling_is_a_product_with_matrices(aclnn, name, gradient, matrix, dims, aligns, scaled, given, align):
    sizes, wanted, factors = (6, 8, 5)[:dims], (9, 4, 7)[:dims], (1.625, 0.5625, 1.5)[:dims]
    scales = factors if given else (0.0,) * dims
    matrices = [matrix(*numbers, align) for numbers in zip(sizes, wanted, scales)]
    more = ([align] if aligns else []) + (list(scales) if scaled else [])
    x, out = values(2, 3, *sizes), room(2, 3, *wanted)
    aclnn.run(name, x, list(wanted), *more, out)
    near(out, product(D(x), matrices), 1e-4)
    if gradient is not None:
        dy, dx = values(2, 3, *wanted), room(2, 3, *sizes)
        aclnn.run(gradient, dy, list(wanted), [2, 3, *sizes], *more, dx)
        near(dx, product(D(dy), [m.T for m in matrices]), 1e-4)


ABSURD = [1e-5, 1e-12, 1e-38, 1e-300, 5e-324, 1e300, math.inf]


@pytest.mark.parametrize("scale", ABSURD)
@pytest.mark.parametrize("operator", [one for one in OPERATORS if one[5]], ids=lambda one: one[1])
def test_an_absurd_scale_is_refused_or_computed_as_its_page_says(aclnn, operator, scale):
    """Issue 16: sizes that follow from such a scale ended the process, or went beyond the input's memory."""
    name, gradient, matrix, dims, aligns = operator[:5]
    sizes, wanted = (6, 8, 5)[:dims], (9, 4, 7)[:dims]
    more = ([False] if aligns else []) + [scale] * dims
    single = float(torch.tensor(scale, dtype=torch.float32)) if name.endswith(("1dV2", "2dV2")) else scale  # 0: not set
    x, dy, out, dx = values(2, 3, *sizes), values(2, 3, *wanted), room(2, 3, *wanted), room(2, 3, *sizes)
    for call, arguments, given, got, used in ((name, [x, list(wanted), *more, out], x, out, single),
                                              (gradient, [dy, list(wanted), [2, 3, *sizes], *more, dx], dy, dx, scale)):
        code, said = aclnn.status(call, arguments)
        if used > 0 and (max(wanted) / used > 4e18 or "AA" in name and used < 1):
            assert code == 161002 and "scale" in said, (call, code, said)  # by the first phase, before anything runs
        else:
            assert code == 0, (call, said)
            matrices = [matrix(*numbers, False) for numbers in zip(sizes, wanted, (used,) * dims)]
            near(got, product(D(given), matrices if call == name else [m.T for m in matrices]), 1e-4)


def test_antialiasing_asks_for_no_more_than_its_scale_makes(aclnn):
    x, out = values(1, 2, 6, 8), room(1, 2, 3, 4)
    for name in ("aclnnUpsampleBilinear2dAA", "aclnnUpsampleBicubic2dAA"):
        aclnn.run(name, x, [3, 4], False, 0.5, 0.5, out)
        code, said = aclnn.status(name, [x, [3, 4], False, 0.5, 0.49, out])
        assert code == 161002 and "scalesW is 0.49 and makes 3 points of 8" in said, said
        aclnn.run(name, x, [3, 4], True, 1e-5, 1e-5, out)  # the corners count, the scales do not

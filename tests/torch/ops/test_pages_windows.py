# SPDX-License-Identifier: Apache-2.0
"""Pooling and sampling against the formulas of the operators' pages, window by window and point by point in float64."""

import itertools
import math

import pytest
import torch
from aclnn_calls import room
from page_checks import drawing, near, D

SEED, values, _ = drawing(31)
I32, I64 = torch.int32, torch.int64


def spans(n, kernel, stride, padding, ceil):
    """Begin and end of each window; the ends may lie in the padding."""
    count = (n + 2 * padding - kernel + (stride - 1 if ceil else 0)) // stride + 1
    if ceil and (count - 1) * stride >= n + padding:
        count -= 1
    return [(i * stride - padding, min(i * stride - padding + kernel, n + padding)) for i in range(count)]


def adaptive(n, count):
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def pooled(x, windows, reduce):
    """reduce(the part of x in the window [N, C, elements], the window's size with padding)."""
    sizes = x.shape[2:]
    results = []
    for window in itertools.product(*windows):
        part = x[(slice(None), slice(None), *[slice(max(begin, 0), min(end, n)) for (begin, end), n in zip(window, sizes)])]
        results.append(reduce(part.flatten(2), math.prod(end - begin for begin, end in window)))
    return torch.stack(results, -1).unflatten(-1, [len(each) for each in windows])


def gradient(function, dy, x):
    leaf = D(x).requires_grad_()
    return torch.autograd.grad(function(leaf), leaf, D(dy))[0]


GEOMETRIES = {2: ([3, 2], [2, 3], [1, 0]), 3: ([2, 3, 2], [2, 2, 1], [1, 1, 0])}
SIZES = {2: (2, 3, 8, 7), 3: (2, 3, 5, 7, 4)}


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("divisor", [0, 5])
def test_averages_of_windows(aclnn, dims, ceil, padded, divisor):
    kernel, stride, padding = GEOMETRIES[dims]
    x = values(*SIZES[dims])
    windows = [spans(*numbers, ceil) for numbers in zip(x.shape[2:], kernel, stride, padding)]
    function = lambda x: pooled(x, windows, lambda part, size: part.sum(-1) / (divisor or (size if padded else part.shape[-1])))
    want = function(D(x))
    out, dx, dy = room(want.shape), room(x.shape), values(*want.shape)
    more, cube = (kernel, stride, padding, ceil, padded, divisor), [0] if dims == 2 else []
    aclnn.run(f"aclnnAvgPool{dims}d", x, *more, *cube, out)
    near(out, want)
    aclnn.run(f"aclnnAvgPool{dims}dBackward", dy, x, *more, *cube, dx)
    near(dx, gradient(function, dy, x))


@pytest.mark.parametrize("dims, name", [(2, "aclnnMaxPool2dWithIndices"), (3, "aclnnMaxPool3dWithArgmax"), (2, "aclnnMaxPool2dWithMask")])
@pytest.mark.parametrize("ceil", [False, True])
def test_maxima_of_windows(aclnn, dims, name, ceil):
    kernel, stride, padding = GEOMETRIES[dims]
    x = values(*SIZES[dims])
    windows = [spans(*numbers, ceil) for numbers in zip(x.shape[2:], kernel, stride, padding)]
    function = lambda x: pooled(x, windows, lambda part, size: part.amax(-1))
    want = function(D(x))
    mask = name.endswith("Mask")
    told = room(2, 3, 6, 64, dtype=torch.int8) if mask else room(want.shape, dtype=I32)
    out, dx, dy = room(want.shape), room(x.shape), values(*want.shape)
    more = (kernel, stride, padding, [1] * dims, ceil)
    aclnn.run(name, x, *more, out, told)
    near(out, want)
    if not mask:
        assert torch.equal(x.flatten(2).gather(2, told.long().flatten(2)).view(want.shape), out), "the places are flat ones in the plane or volume"
    aclnn.run(name + "Backward", dy, x, told, *more, dx)
    near(dx, gradient(function, dy, x))


@pytest.mark.parametrize("dims, counts", [(2, [3, 5]), (2, [8, 1]), (3, [2, 3, 4]), (3, [5, 1, 3])])
def test_windows_that_fit_themselves(aclnn, dims, counts):
    x = values(*SIZES[dims])
    windows = [adaptive(n, count) for n, count in zip(x.shape[2:], counts)]
    dy, out, dx = values(2, 3, *counts), room(2, 3, *counts), room(x.shape)
    average = lambda x: pooled(x, windows, lambda part, size: part.mean(-1))
    aclnn.run(f"aclnnAdaptiveAvgPool{dims}d", x, counts, out)
    near(out, average(D(x)))
    aclnn.run(f"aclnnAdaptiveAvgPool{dims}dBackward", dy, x, dx)
    near(dx, gradient(average, dy, x))
    most, told = lambda x: pooled(x, windows, lambda part, size: part.amax(-1)), room(2, 3, *counts, dtype=I64 if dims == 2 else I32)
    aclnn.run(f"aclnnAdaptiveMaxPool{dims}d", x, counts, out, told)
    near(out, most(D(x)))
    assert torch.equal(x.flatten(2).gather(2, told.long().flatten(2)).view(out.shape), out)
    aclnn.run(f"aclnnAdaptiveMaxPool{dims}dBackward", dy, x, told, dx)
    near(dx, gradient(most, dy, x))


def reflected(at, n, align):
    low, high = (0, n - 1) if align else (-0.5, n - 0.5)
    if high == low:
        return torch.zeros_like(at)
    beyond = (at - low).abs()
    turns, rest = torch.div(beyond, high - low, rounding_mode="floor"), torch.remainder(beyond, high - low)
    return torch.where(turns % 2 == 0, rest + low, high - rest).clamp(0, n - 1)


def sampled(x, grid, nearest, padding, align):
    """Bilinear or nearest, in two dimensions or three; the grid's last dimension counts x first."""
    sizes = x.shape[2:]
    places = []
    for dim, n in enumerate(reversed(sizes)):
        at = (grid[..., dim] + 1) / 2 * (n - 1) if align else ((grid[..., dim] + 1) * n - 1) / 2
        places.insert(0, at.clamp(0, n - 1) if padding == 1 else reflected(at, n, align) if padding == 2 else at)
    result = 0
    for corner in itertools.product((0, 1), repeat=1 if nearest else len(sizes)):
        weight, inside, flat = 1, True, 0
        for dim, n in enumerate(sizes):
            place = torch.round(places[dim]) if nearest else torch.floor(places[dim]) + corner[dim]
            weight = weight * (1 if nearest else 1 - (places[dim] - place).abs())
            inside = inside & (place >= 0) & (place < n)
            flat = flat * n + place.clamp(0, n - 1)
        picked = torch.stack([x[b].flatten(1)[:, flat[b].long()] for b in range(x.shape[0])])
        result = result + torch.where(inside, weight, 0.0).unsqueeze(1) * picked
        if nearest:
            break
    return result


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("nearest", [False, True])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("align", [False, True])
def test_sampling_at_points(aclnn, dims, nearest, padding, align):
    x, grid = values(2, 3, *(4, 5, 6)[:dims]), values(2, *(3, 4, 2)[:dims], dims)
    want = sampled(D(x), D(grid), nearest, padding, align)
    out, dy, dx, d_grid = room(want.shape), values(*want.shape), room(x.shape), room(grid.shape)
    aclnn.run(f"aclnnGridSampler{dims}D", x, grid, int(nearest), padding, align, out)
    near(out, want, 1e-4)
    aclnn.run(f"aclnnGridSampler{dims}DBackward", dy, x, grid, int(nearest), padding, align, [True, True], dx, d_grid)
    leaves = D(x).requires_grad_(), D(grid).requires_grad_()
    grads = torch.autograd.grad(sampled(*leaves, nearest, padding, align), leaves, D(dy), allow_unused=True)
    near(dx, grads[0], 1e-4)
    near(d_grid, torch.zeros_like(d_grid) if nearest else grads[1], 5e-4)

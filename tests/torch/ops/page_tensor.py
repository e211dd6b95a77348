# SPDX-License-Identifier: Apache-2.0
"""What the cases of test_pages_tensor.py and test_pages_tensor_types.py are made of: operands, and the pages' formulas in float64."""

import itertools
import math

import torch
from page_cases import D
from page_checks import drawing

SEED, values, whole = drawing(31)
INF, NAN = math.inf, math.nan
WHERE, TENSOR = torch.where, torch.tensor


X, Y, SQUARE, CUBE, ROW = values(3, 4), values(3, 4), values(4, 4), values(2, 3, 4), values(8)
INTS = whole(-9, 10, 3, 4, dtype=torch.int32)
MATRIX = SQUARE @ SQUARE.T + 2 * torch.eye(4)
PLACES = TENSOR([[0, 2, 1, 0], [1, 1, 2, 0]])
EDGES = TENSOR([-INF, -1e30, -4.0, -3.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 4.0, 1e30, INF, NAN])


def scattered(self, dim, index, src, how, include=True):
    """`how` gives the result of what was there (None: nothing) and a list of what comes."""
    out, hits = D(self).clone(), {}
    for at in itertools.product(*map(range, index.shape)):
        to = list(at)
        to[dim] = index[at].item()
        hits.setdefault(tuple(to), []).append(D(src)[at].item())
    for to, came in hits.items():
        out[to] = how(([out[to].item()] if include else []) + came)
    return out


HOW = [lambda given: given[-1], sum, math.prod, max, min, lambda given: sum(given) / len(given)]


def filled(self, dim, places, value):
    out = self.clone()
    for place in places:
        if -self.shape[dim] <= place < self.shape[dim]:
            out.select(dim, place).fill_(value)
    return out


def renormed(x, p, dim, limit):
    norm = torch.linalg.vector_norm(x, p, [d for d in range(x.dim()) if d != dim % x.dim()], keepdim=True)
    return WHERE(norm > limit, x / norm.clamp(min=1e-7) * limit, x)


def close(a, b, rtol, atol, equal_nan):
    near = (a - b).abs() <= atol + rtol * b.abs()
    return WHERE(a.isfinite() & b.isfinite(), near, (a == b) | (equal_nan & a.isnan() & b.isnan()))


def floor_mod(a, b):
    return WHERE(b == 0, a, a - torch.floor(D(a) / D(b).masked_fill(b == 0, 1)).to(a.dtype) * b)


def variance(x, dims, correction, keep=False):
    count = math.prod(x.shape[d] for d in dims)
    spread = ((x - x.mean(dims, keepdim=True))**2).sum(dims, keepdim=keep)
    return spread / TENSOR(float(max(0, count - correction))).double()


def mish_gradient(dy, x):
    t = torch.tanh(torch.relu(x) + torch.log1p(torch.exp(-x.abs())))
    return dy * (t + x * (1 - t * t) / (1 + torch.exp(-x)))


def pdist(x, p):
    pairs = torch.stack([(x[i] - x[j]).abs() for i in range(len(x)) for j in range(i + 1, len(x))])
    return (pairs != 0).double().sum(1) if p == 0 else pairs.amax(1) if p == INF else (pairs**p).sum(1)**(1 / p)


def overlap(a, b, mode, eps, aligned):
    a = a if aligned else a[:, None]
    side = lambda k: (torch.minimum(a[..., k + 2], b[..., k + 2]) - torch.maximum(a[..., k], b[..., k])).clamp(min=0)
    area = lambda r: (r[..., 2] - r[..., 0] + eps) * (r[..., 3] - r[..., 1] + eps)
    both = side(0) * side(1)
    result = both / (area(b) if mode == "iof" else area(a) + area(b) - both)
    return result[:, None] if aligned else result


def columns(x, kernel, dilation, padding, stride):
    """[N, C * kernel, places] and, for the gradient, where in the padded picture each number lies."""
    n, c, h, w = x.shape
    high, wide = h + 2 * padding[0], w + 2 * padding[1]
    count = [(size - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i, size in enumerate((high, wide))]
    padded = torch.zeros(n, c, high, wide, dtype=x.dtype)
    padded[:, :, padding[0]:padding[0] + h, padding[1]:padding[1] + w] = x
    place = TENSOR([[(py * stride[0] + ky * dilation[0]) * wide + px * stride[1] + kx * dilation[1] for py in range(count[0]) for px in range(count[1])]
                    for ky in range(kernel[0]) for kx in range(kernel[1])])
    return padded.flatten(2)[:, :, place].flatten(1, 2), place, (high, wide)


def picture(grad, size, kernel, dilation, padding, stride):
    _, place, (high, wide) = columns(torch.zeros(1, 1, *size), kernel, dilation, padding, stride)
    n, c = grad.shape[0], grad.shape[1] // math.prod(kernel)
    padded = torch.zeros(n, c, high * wide, dtype=grad.dtype).index_add(2, place.flatten(), grad.view(n, c, -1))
    return padded.view(n, c, high, wide)[:, :, padding[0]:padding[0] + size[0], padding[1]:padding[1] + size[1]]


def masked_softmax(x, mask, scale):
    return torch.softmax((x * scale).masked_fill(mask, -10000), -1)


def reflected(x, dim, before, after):
    size = x.shape[dim]
    return x.index_select(dim, TENSOR([abs(i) if i < size else 2 * (size - 1) - i for i in range(-before, size + after)]))


def replicated(x, dim, before, after):
    return x.index_select(dim, TENSOR([min(max(i, 0), x.shape[dim] - 1) for i in range(-before, x.shape[dim] + after)]))


def padded(x, pads, one):
    for i in range(len(pads) // 2):
        x = one(x, x.dim() - 1 - i, pads[2 * i], pads[2 * i + 1])
    return x


def pad_gradient(grad, x, pads, one):
    places = padded(torch.arange(x.numel()).view(x.shape), pads, one)
    return torch.zeros(x.numel(), dtype=grad.dtype).index_add(0, places.flatten(), grad.flatten()).view(x.shape)


def triangular(b, a, transpose):
    return [torch.linalg.solve(a.T if transpose else a, b), a]


A, B = D(X), D(Y)
ZEROS = TENSOR([0, 3, -2, 0], dtype=torch.int32)
SPREAD = TENSOR([[3e-8, -4e-8, 0.0], [0.3, 0.4, 1.2], [3.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
BOXES, TRUTHS = TENSOR([[0.0, 0, 2, 2], [1, 1, 4, 3], [5, 5, 6, 7]]), TENSOR([[1.0, 1, 3, 3], [1, 1, 4, 3], [0, 0, 1, 1]])
PICTURE = values(2, 3, 5, 6)
WINDOW = ([2, 3], [2, 1], [1, 2], [2, 1])
COLUMNS = columns(PICTURE, *WINDOW)[0]
LOWER = torch.linalg.cholesky(MATRIX)
SORTED = TENSOR([1.0, 2.0, 2.0, 5.0])
ASKED = TENSOR([0.0, 1.0, 2.0, 3.0, 5.0, 6.0, INF, -INF])
SORTER = TENSOR([2, 0, 3, 1])
PADS1, PADS2, PADS3 = [2, 1], [2, 1, 0, 1], [1, 2, 0, 1, 1, 0]
VOLUME = values(2, 3, 4, 5)
SCORES, HIDDEN = values(2, 3, 4, 4), torch.rand(2, 1, 4, 4, generator=SEED) > 0.6
UNPOOLED = TENSOR([[[[5, 2], [11, 8]]]])
WIDE_BIAS = values(24)
QKV = values(2, 5, 24)
LOGS = torch.log_softmax(values(3, 5), -1)
SHARES = TENSOR([[0.0, 0.25, 0.75, -0.5, 1.0]] * 3)
STEPS = values(7, 3)
ROLLED = torch.arange(12).view(3, 4)

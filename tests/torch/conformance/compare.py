# SPDX-License-Identifier: Apache-2.0
"""Are two results the same? Tolerances are torch.testing's own by type, widened by what the op_db entry itself allows."""

import math

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo

# An entry may ask for more room than a judge should give: 1.0 would accept anything.
WIDEST = 0.1
# How far beyond CPU's own rounding error a result may be from the float64 reference.
ROUNDING_SLACK = 2.0


def entry_tolerance(entry, dtype):
    """(rtol, atol) that op_db's decorators allow this entry on CPU or on every device."""
    rtol = atol = 0.0
    for decorator in entry.decorators:
        inner = [decorator]
        if isinstance(decorator, DecorateInfo):
            inner = decorator.decorators if decorator.device_type in (None, "cpu") else []
        for one in inner:
            if isinstance(one, toleranceOverride) and dtype in one.d:
                rtol, atol = max(rtol, one.d[dtype].rtol), max(atol, one.d[dtype].atol)
    return min(rtol, WIDEST), min(atol, WIDEST)


class Tolerance:
    def __init__(self, entry, dtype):
        self.dtype = dtype
        self.entry = entry_tolerance(entry, dtype)

    def of(self, tensor):
        known = [kind for kind in (self.dtype, tensor.dtype) if kind.is_floating_point or kind.is_complex]
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return 0.0, 0.0
        rtol, atol = default_tolerances(*known)
        return max(rtol, self.entry[0]), max(atol, self.entry[1])


def dense(tensor):
    """A plain CPU tensor of the values."""
    tensor = tensor.detach()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    return tensor.resolve_conj().resolve_neg()


def difference(expected, found, tolerance, exact=False, precise=None):
    """None when equal, else the first complaint."""
    return next(iter(differences(expected, found, tolerance, exact, precise)), None)


def differences(expected, found, tolerance, exact=False, precise=None):
    """Complaints, one sentence each; none when equal. precise gives the float64 reference, asked for only when it is needed.

    Values of another type are compared all the same: a reviewed difference of type must not hide one of value.
    """
    if isinstance(expected, torch.Tensor) != isinstance(found, torch.Tensor):
        return [f"{type(found).__name__} instead of {type(expected).__name__}"]
    if not isinstance(expected, torch.Tensor):
        return _scalar_difference(expected, found, tolerance)
    if expected.shape != found.shape:
        return [f"shape {list(found.shape)} instead of {list(expected.shape)}"]
    if expected.layout != found.layout:
        return [f"layout {found.layout} instead of {expected.layout}"]
    expected, found = dense(expected), dense(found)
    if found.dtype is torch.bool and found.numel() and found.contiguous().view(torch.uint8).max() > 1:
        return ["bool bytes other than 0 and 1: memory that nobody wrote"]
    complaints = []
    rtol, atol = (0.0, 0.0) if exact else tolerance.of(expected)
    if expected.dtype != found.dtype:
        complaints.append(f"type {found.dtype} instead of {expected.dtype}")
        rtol, atol = map(max, (rtol, atol), tolerance.of(found))
        found = found.to(expected.dtype)
    close = torch.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return complaints
    may_be_finer = not exact and precise is not None and (expected.is_floating_point() or expected.is_complex())
    if may_be_finer and _as_good_as_cpu(expected, found, precise(), rtol, atol):
        return complaints
    return [*complaints, _describe(expected, found, close, rtol, atol)]


def _scalar_difference(expected, found, tolerance):
    if isinstance(expected, float) and isinstance(found, float):
        rtol, atol = tolerance.of(torch.empty((), dtype=torch.float64))
        same = math.isclose(expected, found, rel_tol=rtol, abs_tol=atol) or (math.isnan(expected) and math.isnan(found))
    else:
        same = type(expected) is type(found) and expected == found
    return [] if same else [f"{found!r} instead of {expected!r}"]


def _as_good_as_cpu(expected, found, reference, rtol, atol):
    """True when the result is as near to the float64 reference as CPU's own: rounding, not an error."""
    if not isinstance(reference, torch.Tensor) or reference.shape != expected.shape:
        return False
    wide = torch.complex128 if expected.is_complex() else torch.float64
    reference, expected, found = dense(reference).to(wide), expected.to(wide), found.to(wide)
    # Where the reference is finite and CPU's half type overflowed on the way, the result may be finite too.
    better = found.isfinite() & reference.isfinite() & ~expected.isfinite()
    finite = expected.isfinite() & reference.isfinite()
    if not torch.equal(expected[~better].isfinite(), found[~better].isfinite()):
        return False
    rest = ~finite & ~better
    if not torch.equal(expected[rest].nan_to_num(), found[rest].nan_to_num()):
        return False
    own = (expected[finite] - reference[finite]).abs().max() if finite.any() else torch.zeros(())
    finite = finite | better
    found, reference = found[finite], reference[finite]
    allowed = atol + rtol * reference.abs() + ROUNDING_SLACK * own
    return bool(((found - reference).abs() <= allowed).all())


def _describe(expected, found, close, rtol, atol):
    bad = (~close).nonzero()
    first = tuple(bad[0].tolist())
    return (f"{len(bad)} of {expected.numel()} elements differ; at {list(first)} {found[first].item()!r} instead of "
            f"{expected[first].item()!r} (rtol {rtol:.2g}, atol {atol:.2g})")


def same_distribution(expected, found, independent):
    """Two-sample Kolmogorov-Smirnov: False only when chance would give such a difference once in 10^9.

    independent: how many of the values of each side were drawn independently.
    """
    expected, found = expected.flatten().double().sort().values, found.flatten().double().sort().values
    if not expected.numel():
        return True
    both = torch.cat([expected, found])
    below = [torch.searchsorted(one, both, right=True).double() / one.numel() for one in (expected, found)]
    distance = (below[0] - below[1]).abs().max().item()
    return distance <= math.sqrt(-math.log(0.5e-9) / 2) * math.sqrt(2 / independent)

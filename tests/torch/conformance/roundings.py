# SPDX-License-Identifier: Apache-2.0
"""The distance of a half-type result from the float64 reference, counted in the type's own roundings."""

import judge
import pairs
import torch

# Float32's error in a sum of many terms, as a share of the largest result: far below a half type's own rounding.
FLOAT32_SHARE = 2.0 ** -18


def spacing(reference, dtype):
    """The distance between the type's neighbouring numbers at each value."""
    info = torch.finfo(dtype)
    exponent = torch.frexp(reference.abs().clamp(min=info.tiny))[1] - 1
    return torch.ldexp(torch.full_like(reference, info.eps), exponent)


def roundings(found, reference):
    """(how many at the worst element, a sentence about it); infinite when one side alone is finite or a number."""
    kind = found.dtype
    found, reference = found.double(), reference.double()
    largest = torch.finfo(kind).max
    reference = torch.where(reference.abs() >= largest * (1 + torch.finfo(kind).eps / 4), reference.sign() * torch.inf, reference)
    if not torch.equal(found.isnan(), reference.isnan()) or not torch.equal(found.isinf(), reference.isinf()):
        # An overflow at the very edge is a rounding's.
        edge = (found.isinf() != reference.isinf()) & (torch.minimum(found.abs(), reference.abs()) < largest * 0.99)
        if edge.any() or not torch.equal(found.isnan(), reference.isnan()):
            return float("inf"), "infinite or not a number on one side alone"
    finite = found.isfinite() & reference.isfinite()
    if not finite.any():
        return 0.0, ""
    found, reference = found[finite], reference[finite]
    error = ((found - reference).abs() - FLOAT32_SHARE * reference.abs().max()).clamp(min=0) / spacing(reference, kind)
    worst = int(error.argmax())
    return float(error[worst]), f"{found[worst].item():.6g} instead of {reference[worst].item():.6g}"


def measure(entry, pair, limit, on_sample):
    """{state, roundings, reason}: the worst of the samples."""
    one = judge.Comparison(entry, pair, "npu")
    worst, reason, measured, refused = 0.0, "", 0, ""
    if one.uninitialised:
        return {"state": "random", "roundings": 0.0, "reason": ""}
    for index, sample in enumerate(pairs.samples(entry, pair, limit)):
        on_sample(index)
        wide = one.run_wide(sample, pairs.DTYPES[pair.dtype])
        if not wide:
            continue
        try:
            if one.run(sample, "cpu", judge.SEED).used_random:
                return {"state": "random", "roundings": 0.0, "reason": ""}
            found = one.run(sample, "npu", judge.SEED).outputs
        except Exception as error:
            judge.settle("npu")
            refused = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            continue
        for number, (got, want) in enumerate(zip(found, wide)):
            if not isinstance(got, torch.Tensor) or got.dtype not in (torch.float16, torch.bfloat16) or not got.numel():
                continue
            if not isinstance(want, torch.Tensor) or want.shape != got.shape or got.layout is not torch.strided:
                continue
            count, text = roundings(got.detach(), want.detach())
            measured += 1
            if count > worst:
                worst, reason = count, f"sample {index}, output {number}: {text}"
    if measured:
        return {"state": "measured", "roundings": worst, "reason": reason}
    return {"state": "refused" if refused else "no half result", "roundings": 0.0, "reason": refused, "broken": bool(refused)}

# SPDX-License-Identifier: Apache-2.0
"""Judges one pair in this process: each sample on CPU, then on the device, then compared."""

import math
import random
import warnings
from dataclasses import dataclass

import compare
import pairs
import reasons
import torch
from torch.utils import _pytree as pytree

SEED = 20240229
OTHER_SEEDS = range(1, 13)  # so many that a small random result has every chance to show itself
# Samples of a random op that are small are drawn again until this many values can be compared as distributions.
DISTRIBUTION_VALUES = 2000
MIN_DRAWS, MAX_DRAWS = 3, 24
# float32, float16 and bfloat16 read it as NaN, integers as a huge number, bool as neither 0 nor 1.
POISON = 0x7FBF
POISON_BYTES = 1 << 20
# What these give is memory as it was found: only shape and type can be judged.
UNINITIALISED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
                 "resize_as_")

PASS, CPU, REFUSED, WRONG = "pass", "cpu", "refused", "wrong"
WORST_FIRST = (WRONG, REFUSED, CPU, PASS)


@dataclass
class Run:
    """What one call gave, all of it on CPU."""
    outputs: list
    inputs_after: list
    used_random: bool = False


class Comparison:
    def __init__(self, entry, pair, device, kind="sample"):
        self.entry, self.pair, self.device, self.kind = entry, pair, device, kind
        self.backward = pair.direction == pairs.BACKWARD
        self.tolerance = compare.Tolerance(entry, pairs.DTYPES[pair.dtype])
        self.uninitialised = entry.has_nondeterministic_output or entry.name in UNINITIALISED

    def verdict(self, limit, on_sample, only=None):
        """{state, reason, sample, counts}; the state is the worst of the samples, none when CPU itself refuses all.

        With "broken" this process must not judge another pair: its launch queue may be dead, in which case torch_npu runs
        nothing and says nothing, or it has said for the only time that it sends an operator to CPU.
        """
        counts = dict.fromkeys(WORST_FIRST, 0)
        first = {}
        complaints, wrong_samples = [], []
        said = reasons.Stderr()
        queue_died = False
        for index, sample in enumerate(pairs.samples(self.entry, self.pair, limit, self.kind)):
            if queue_died:
                break
            if only is not None and index not in only:
                continue
            on_sample(index)
            judged = self.sample(sample)
            if judged is None:
                continue
            state, texts = judged
            counts[state] += 1
            first.setdefault(state, (index, texts[0] if texts else ""))
            if state == WRONG:
                complaints += [f"sample {index}: {text}" for text in texts]
                wrong_samples.append(index)
            queue_died = state == REFUSED and reasons.queue_died(texts[0])
        fallbacks = reasons.fallbacks(said.since())
        if fallbacks and PASS in first:
            counts[CPU], counts[PASS] = counts[PASS], 0
            first[CPU] = (first.pop(PASS)[0], "on CPU: " + ", ".join(fallbacks))
        broken = bool(fallbacks) or WRONG in first or REFUSED in first
        for state in WORST_FIRST:
            if state in first:
                index, reason = first[state]
                return {"state": state, "sample": index, "reason": reason, "counts": counts, "broken": broken,
                        "queue_died": queue_died, "complaints": complaints,
                        "wrong_samples": wrong_samples}
        return {"state": "none", "sample": None, "reason": "CPU gives no result to compare with", "counts": counts}

    def sample(self, sample):
        """(state, what is said about it), or None when CPU refuses the sample too."""
        try:
            expected = self.run(sample, "cpu", SEED)
        except Exception:
            return None
        if self.backward and not expected.outputs:
            return None
        said = reasons.Stderr()
        try:
            if self.device != "cpu":
                poison(self.device, expected.outputs)
            found = self.run(sample, self.device, SEED)
            random_op = expected.used_random and self.differs_by_seed(sample, expected)
            complaints = [*self.compare_inputs(sample, expected, found, random_op),
                          *self.compare_outputs(sample, expected, found, random_op)]
        except Exception as error:
            settle(self.device)
            return REFUSED, [reasons.text_of(error, said.since())]
        return (WRONG if complaints else PASS), complaints

    def run(self, sample, device, seed):
        seed_all(device, seed)
        inputs = pairs.arguments(self.entry, sample, device)
        leaves = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
        before = torch.random.get_rng_state()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = self.entry(inputs[0], *inputs[1], **inputs[2])
            if self.backward:
                outputs = gradients(sample.output_process_fn_grad(result), leaves)
            else:
                outputs = pytree.tree_leaves(result)
            outputs = [to_cpu(leaf) for leaf in outputs]
        if device != "cpu":
            torch.npu.synchronize()  # an error of the launch queue can miss the copies above and surface only here
        used_random = device == "cpu" and not torch.equal(before, torch.random.get_rng_state())
        return Run(outputs, [to_cpu(leaf) for leaf in leaves], used_random)

    def differs_by_seed(self, sample, expected):
        return not all(same_values(expected, self.run(sample, "cpu", seed)) for seed in OTHER_SEEDS)

    def compare_inputs(self, sample, expected, found, random_op):
        """An op must leave its inputs as CPU leaves them: untouched, or changed in the same way."""
        given = [leaf for leaf in pytree.tree_leaves((sample.input, sample.args, dict(sample.kwargs)))
                 if isinstance(leaf, torch.Tensor)]
        complaints = []
        for number, (start, cpu, device) in enumerate(zip(given, expected.inputs_after, found.inputs_after)):
            untouched = start.shape == cpu.shape and compare.difference(start, cpu, self.tolerance, exact=True) is None
            if untouched or not (random_op or self.uninitialised):
                complaints += [f"input {number} after the call: {text}"
                               for text in compare.differences(cpu, device, self.tolerance, exact=untouched)]
        return complaints

    def compare_outputs(self, sample, expected, found, random_op):
        if len(expected.outputs) != len(found.outputs):
            return [f"{len(found.outputs)} outputs instead of {len(expected.outputs)}"]
        if self.uninitialised or random_op:
            complaints = [text for text in map(_form_difference, expected.outputs, found.outputs) if text]
            return complaints if complaints or self.uninitialised else self.compare_random(sample, expected, found)
        wide = Lazy(lambda: self.run_wide(sample))
        what = "gradient" if self.backward else "output"
        return [f"{what} {number}: {text}" for number, (cpu, device) in enumerate(zip(expected.outputs, found.outputs))
                for text in compare.differences(cpu, device, self.tolerance, precise=lambda number=number: wide.get(number))]

    def compare_random(self, sample, expected, found):
        """Same seed, same values; another seed, others; and drawn from the same distribution as CPU's."""
        again = self.run(sample, self.device, SEED)
        for number, (first, second) in enumerate(zip(found.outputs, again.outputs)):
            complaint = compare.difference(first, second, self.tolerance, exact=True)
            if complaint:
                return [f"random output {number} does not repeat with the same seed: {complaint}"]
        draws = [(expected, found)]
        size = sum(one.numel() for one in expected.outputs if isinstance(one, torch.Tensor))
        wanted = MIN_DRAWS if self.backward else min(MAX_DRAWS, max(MIN_DRAWS, DISTRIBUTION_VALUES // max(size, 1)))
        for seed in range(1, wanted + 1):
            draws.append((self.run(sample, "cpu", seed), self.run(sample, self.device, seed)))
        if all(same_values(found, other) for _, other in draws[1:]) and size > 3:
            return ["random output does not depend on the seed"]
        return [] if self.backward else _distribution_differences(draws)

    def run_wide(self, sample, cotangents_as=None):
        """The outputs in float64 on CPU, or nothing when the op has no such form."""
        try:
            torch.set_default_dtype(torch.float64)  # what integers are promoted to
            seed_all("cpu", SEED)
            inputs = pairs.as_float64(sample)
            leaves = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self.entry(inputs[0], *inputs[1], **inputs[2])
                if self.backward:
                    return gradients(sample.output_process_fn_grad(result), leaves, cotangents_as)
            return pytree.tree_leaves(result)
        except Exception:
            return []
        finally:
            torch.set_default_dtype(torch.float32)


class Lazy:
    def __init__(self, make):
        self.make, self.made = make, None

    def get(self, number):
        if self.made is None:
            self.made = self.make()
        return self.made[number] if number < len(self.made) else None


def gradients(result, leaves, drawn_as=None):
    """The gradients, by a fixed random cotangent, of every input that requires one; an unused input's is zero.

    drawn_as: the type whose numbers the cotangents are, if it is narrower than the outputs'."""
    outputs = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if not outputs or not wanted:
        return []
    generator = torch.Generator().manual_seed(SEED)
    cotangents = []
    for output in outputs:
        kind = torch.complex64 if output.is_complex() else torch.float32
        drawn = torch.randn(output.shape, generator=generator, dtype=kind)
        cotangents.append(drawn.to(drawn_as or output.dtype).to(output.dtype).to(output.device))
    found = torch.autograd.grad(outputs, wanted, cotangents, allow_unused=True)
    return [torch.zeros_like(leaf, device="cpu").detach() if one is None else one for leaf, one in zip(wanted, found)]


def to_cpu(leaf):
    return leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf


def seed_all(device, seed):
    random.seed(seed)
    torch.manual_seed(seed)
    if device != "cpu":
        torch.npu.manual_seed_all(seed)


def poison(device, outputs):
    """Leaves garbage in the blocks that the device's caching allocator will hand out next.

    Otherwise a kernel that did nothing can find the right answer of an earlier call in its output.
    """
    sizes = [one.numel() * one.element_size() for one in outputs if isinstance(one, torch.Tensor)]
    blocks = []
    for size in [*(size for size in sizes if size), POISON_BYTES - 512, 4096, 512, 512]:
        host = torch.full((max(1, size // 2),), POISON, dtype=torch.int16)
        blocks.append(host.to(device))


def settle(device):
    """Lets an error that is still under way surface here, not in the next sample."""
    if device == "cpu":
        return
    for _ in range(3):
        try:
            torch.npu.synchronize()
            return
        except Exception:
            continue


def same_values(first, second):
    return all(not isinstance(a, torch.Tensor) or (a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num()))
               for a, b in zip(first.outputs, second.outputs))


def _form_difference(expected, found):
    if not isinstance(expected, torch.Tensor) or not isinstance(found, torch.Tensor):
        return None if type(expected) is type(found) else f"{type(found).__name__} instead of {type(expected).__name__}"
    if expected.shape != found.shape:
        return f"shape {list(found.shape)} instead of {list(expected.shape)}"
    return None if expected.dtype == found.dtype else f"type {found.dtype} instead of {expected.dtype}"


def _distribution_differences(draws):
    complaints = []
    for number, one in enumerate(draws[0][0].outputs):
        if not isinstance(one, torch.Tensor) or one.is_complex() or one.layout is not torch.strided:
            continue
        cpu, device = (torch.cat([draw[side].outputs[number].flatten() for draw in draws]) for side in (0, 1))
        # Some ops draw one number for a whole channel: only values of different channels are independent.
        channel = max(1, math.prod(one.shape[2:]))
        if not compare.same_distribution(cpu, device, cpu.numel() / channel):
            complaints.append(f"random output {number} is distributed otherwise: mean {device.double().mean():.4g}, deviation "
                              f"{device.double().std():.4g} instead of {cpu.double().mean():.4g}, {cpu.double().std():.4g}")
    return complaints

# SPDX-License-Identifier: Apache-2.0
"""Runs what torchair's converters themselves declare as supported, and judges it by eager's results.

    converters.py [--ops PREFIX] [--all] [--verbose]

torchair's wheel carries examples of calls with most of its converters. Each becomes a graph of one call, which torchair translates and
GE runs; an example that is large on purpose is left out. One line per case that is not as it should be:

    STATE <tab> aten.name.overload <tab> CASE <tab> reason

differs: another result than eager's. refused: this stack says it cannot, by name. failed: anything else.
The last line has the counts.
"""

import argparse
import contextlib
import io
import math
import re
import sys
import time
import types
from operator import getitem

import torch
import torch_npu  # noqa: F401  registers the device
import torchair  # fills the table of converters
import torchair._ge_concrete_graph.ge_converter.custom
from torch._subclasses.fake_tensor import FakeTensorMode
from torchair._ge_concrete_graph.fx2ge_converter import _declare_supported_converters
from torchair._ge_concrete_graph.supported_declaration import _TypedTensor
from torchair.npu_fx_compiler import get_compiler

MAX_ELEMENTS = 1 << 19
TYPE_NUMBERS = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6,
                torch.float64: 7, torch.complex64: 9, torch.bool: 11, torch.qint8: 12, torch.quint8: 13, torch.qint32: 14, torch.bfloat16: 15}
# Nothing to compare: what they give is chance, or whatever the memory held.
BY_CHANCE = re.compile(r"rand|bernoulli|dropout|multinomial|normal(?!ized)|exponential|uniform|\bempty|new_empty|philox|rng")
TOLERANCE = {torch.float16: (4e-3, 4e-3), torch.bfloat16: (2e-2, 2e-2), torch.float32: (2e-5, 1e-5), torch.float64: (1e-7, 1e-7),
             torch.complex64: (2e-5, 1e-5)}


def made(spec):
    if spec.value is not None:
        return torch.tensor(spec.value, dtype=spec.dtype)
    if spec.value_range is not None:
        low, high = spec.value_range
        return (torch.rand(*spec.dims) * (high - low) + low).to(spec.dtype)
    if spec.dtype.is_complex:
        return torch.randn(*spec.dims, dtype=spec.dtype)
    return torch.randn(*spec.dims).to(spec.dtype)


def mapped(value, change):
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(one, change) for one in value)
    if isinstance(value, dict):
        return {name: mapped(one, change) for name, one in value.items()}
    return change(value)


def tensors_of(value):
    found = []
    mapped(value, lambda one: found.append(one) if isinstance(one, torch.Tensor) else None)
    return found


def on(device, value):
    def move(one):
        if isinstance(one, torch.Tensor):
            return one.to(device) if one.device.type != device else one.clone()
        if isinstance(one, torch.device) or one in ("cpu", "npu"):
            return torch.device(device)
        return one

    return mapped(value, move)


def as_called(operator, args, kwargs):
    """As PyTorch's dispatcher would pass them: a list where one is declared, a number for a type where a number is."""
    schema = getattr(operator, "_schema", None)
    if schema is None:
        return args, kwargs
    declared = {one.name: str(one.real_type) for one in schema.arguments}

    def passed(kind, value):
        if "List[int]" in kind and isinstance(value, int):
            return [value]
        if kind in ("int", "Optional[int]") and isinstance(value, torch.dtype):
            return TYPE_NUMBERS.get(value, value)
        return value

    return ([passed(*pair) for pair in zip(declared.values(), args)],
            {name: passed(declared.get(name, ""), one) for name, one in kwargs.items()})


def compiled(operator, args, kwargs, form):
    """The graph of one call, as torch.compile would hand it to torchair: no dynamo, which would cost more than the rest."""
    graph = torch.fx.Graph()
    inputs = []

    def place(one):
        if not isinstance(one, torch.Tensor):
            return one
        inputs.append(one)
        return graph.placeholder(f"arg{len(inputs)}")

    call_args, call_kwargs = mapped(list(args), place), mapped(dict(kwargs), place)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(one) for one in inputs]
    for node, fake in zip(graph.nodes, fakes):
        node.meta["val"] = fake
    call = graph.call_function(operator, tuple(call_args), call_kwargs)
    if isinstance(form, (list, tuple)):
        graph.output(tuple(graph.call_function(getitem, (call, i)) for i, one in enumerate(form) if one is not None))
    else:
        graph.output((call,))
    return get_compiler(torchair.CompilerConfig())(torch.fx.GraphModule(torch.nn.Module(), graph), fakes)


def differs(got, want):
    for i, (one, other) in enumerate(zip(got, want)):
        if not isinstance(other, torch.Tensor):
            if one != other:
                return f"output {i} is {one}, not {other}"
            continue
        one, other = one.cpu(), other.cpu()
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"output {i} is {one.dtype} {tuple(one.shape)}, not {other.dtype} {tuple(other.shape)}"
        relative, absolute = TOLERANCE.get(other.dtype, (0, 0))
        if not torch.allclose(one, other, rtol=relative, atol=absolute, equal_nan=True):
            apart = (one.double() - other.double()).abs() if not other.dtype.is_complex else (one - other).abs()
            return f"output {i} is up to {apart.nan_to_num().max().item():.3g} away, of {other.double().abs().nan_to_num().max().item():.3g}" \
                if not other.dtype.is_complex else f"output {i} is up to {apart.max().item():.3g} away"
    return "" if len(got) == len(want) else f"{len(got)} outputs, not {len(want)}"


def told(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "node \"" in line or "EZ" in line or "E1" in line or "E4" in line]
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {(named or lines or ['no message'])[0]}")[:400]


def judge(operator, case):
    """(state, reason)"""
    described = []
    mapped([list(case.args), case.kwargs], lambda leaf: described.append(leaf) if isinstance(leaf, _TypedTensor) else None)
    if sum(math.prod(leaf.dims) for leaf in described) > MAX_ELEMENTS:
        return "large", ""
    args, kwargs = (mapped(one, lambda leaf: made(leaf) if isinstance(leaf, _TypedTensor) else leaf) for one in (list(case.args), case.kwargs))
    args, kwargs = as_called(operator, args, kwargs)
    try:
        eager = operator(*on("npu", args), **on("npu", kwargs))
        torch.npu.synchronize()
    except Exception as error:
        return "no eager", told(error)
    try:
        npu_args, npu_kwargs = on("npu", args), on("npu", kwargs)
        run = compiled(operator, npu_args, npu_kwargs, eager)
        got = run(*on("npu", tensors_of([args, kwargs])))
        torch.npu.synchronize()
    except Exception as error:
        text = str(error)
        return ("refused" if "no kernel for" in text or "NotImplemented" in type(error).__name__ else "failed"), told(error)
    want = [one for one in eager if one is not None] if isinstance(eager, (list, tuple)) else [eager]
    reason = "" if BY_CHANCE.search(str(operator)) else differs(list(got), want)
    return ("differs", reason) if reason else ("right", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", default="", help="only operators whose name begins so")
    parser.add_argument("--all", action="store_true", help="every example, not only the first three of each")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    torch.npu.set_device(0)
    counts, operators, right = {}, 0, 0
    for operator, converter in sorted(_declare_supported_converters().items(), key=lambda pair: str(pair[0])):
        if isinstance(operator, types.FunctionType) or not str(operator).startswith(options.ops):
            continue
        operators += 1
        cases = converter.supported_cases if options.all else converter.supported_cases[:3]
        good = True
        for number, case in enumerate(cases):
            torch.manual_seed(number)
            begin = time.time()
            with contextlib.redirect_stdout(io.StringIO()):
                state, reason = judge(operator, case)
            counts[state] = counts.get(state, 0) + 1
            good = good and state in ("right", "large")
            if state not in ("right", "large") or options.verbose:
                print(state, operator, number, reason or f"{time.time() - begin:.2f} s", sep="\t", flush=True)
        right += good
    print(f"operators {operators}, all right {right};", ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors against the formulas of their pages, in float64: each function, each kind of second operand, each type, at the edges."""

import math

import pytest
import torch
from aclnn_calls import room

SEED = torch.Generator().manual_seed(31)
INF, NAN = math.inf, math.nan
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
# One rounding to the type, and what float32's own functions may be off.
ROUNDING = {torch.float32: 2e-6, torch.float16: 2**-11 * 1.01, torch.bfloat16: 2**-8 * 1.01, torch.int32: 0, torch.int16: 0, torch.int8: 0, torch.uint8: 0}
EDGES = torch.tensor([-INF, -300.0, -4.0, -2.5, -1.0, -0.75, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.25, 0.5, 1.0, 1.5, 2.5, 3.0, 80.0, INF, NAN])
SHAPES = [(3, 4), (), (2, 0), (7,)]


def edges(dtype):
    """Members of several ranks, an empty one among them."""
    return [EDGES.to(dtype), torch.tensor(0.5, dtype=dtype), torch.empty(2, 0, dtype=dtype), torch.linspace(-3, 3, 12).view(3, 4).to(dtype)]


def drawn(dtype, low=0.25, high=2.0):
    values = [torch.rand(shape, generator=SEED) * (high - low) + low for shape in SHAPES]
    return [(x * 8 if not dtype.is_floating_point else x).to(dtype) for x in values]


def same_rooms(tensors):
    return [room(x.shape, dtype=x.dtype) for x in tensors]


def near(got, want, dtype):
    least = {torch.float32: 1e-37, torch.float16: 2**-25, torch.bfloat16: 1e-37}.get(dtype, 0)
    for have, wanted in zip(got, want, strict=True):
        wanted = wanted.double()
        if dtype.is_floating_point:
            wanted = torch.where(wanted.to(dtype).isfinite(), wanted, wanted.to(dtype).double())  # beyond the type's range
        torch.testing.assert_close(have.double(), wanted, rtol=ROUNDING[dtype], atol=least, equal_nan=True)


def wide(tensors):
    return [x.double() for x in tensors]


UNARY = {"Abs": torch.abs, "Acos": torch.acos, "Asin": torch.asin, "Atan": torch.atan, "Cos": torch.cos, "Cosh": torch.cosh, "Erf": torch.erf,
         "Erfc": torch.erfc, "Exp": torch.exp, "Expm1": torch.expm1, "Log": torch.log, "Log10": torch.log10, "Log1p": torch.log1p, "Log2": torch.log2,
         "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Sigmoid": lambda x: 1 / (1 + torch.exp(-x)), "Sign": torch.sgn, "Sin": torch.sin,
         "Sinh": torch.sinh, "Sqrt": torch.sqrt, "Tan": torch.tan, "Tanh": torch.tanh, "Copy": lambda x: x}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_each_member(aclnn, name, dtype):
    x = edges(dtype)
    out = same_rooms(x)
    aclnn.run(f"aclnnForeach{name}", x, out)
    near(out, [UNARY[name](one) for one in wide(x)], dtype)


@pytest.mark.parametrize("name", ["Exp", "Expm1"])
@pytest.mark.parametrize("dtype", [torch.int16, torch.int8, torch.uint8])
def test_exponentials_of_integers_are_the_nearest_integers_of_that_type(aclnn, name, dtype):
    x = [torch.tensor([0, 1, 2, 3, 4, 5, 11, 100], dtype=dtype)]
    out = same_rooms(x)
    aclnn.run(f"aclnnForeach{name}", x, out)
    limits = torch.iinfo(dtype)
    assert torch.equal(out[0].double(), UNARY[name](x[0].double()).round().clamp(limits.min, limits.max))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8])
def test_the_negative_of_an_integer_wraps(aclnn, dtype):
    limits = torch.iinfo(dtype)
    x = [torch.tensor([limits.min, -1 % 256 if dtype == torch.uint8 else -1, 0, 1, limits.max], dtype=dtype)]
    out = same_rooms(x)
    aclnn.run("aclnnForeachNeg", x, out)
    span = 2**limits.bits
    assert out[0].tolist() == [(-v - limits.min) % span + limits.min for v in x[0].tolist()]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64])
def test_the_sign_of_an_integer(aclnn, dtype):
    x = [torch.tensor([-128, -1, 0, 1, 127], dtype=dtype)]
    out = same_rooms(x)
    aclnn.run("aclnnForeachSign", x, out)
    assert out[0].tolist() == [-1, -1, 0, 1, 1]


def nearest_odd(x):
    low = x.floor()
    return torch.where((x == low) | (low.abs() % 2 == 1), low, low + 1)


def half_away(x):
    return torch.where((x - x.trunc()).abs() >= 0.5, x.trunc() + x.sign(), x.trunc())


ROUNDS = {1: torch.round, 2: torch.floor, 3: torch.ceil, 4: half_away, 5: torch.trunc, 6: nearest_odd, 0: torch.round, 9: torch.round}
# The largest number below a half, and odd numbers whose sum with a half is a tie of the type.
HARD = {torch.float32: [0.49999997, 8388609.0, 8388607.5, 16777215.0], torch.float16: [0.49975586, 1025.0, 1023.5, 2047.0],
        torch.bfloat16: [0.498046875, 129.0, 127.5, 255.0]}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ROUNDS)
@pytest.mark.parametrize("version", ["", "V2"])
def test_every_way_to_round(aclnn, version, mode, dtype):
    hard = torch.tensor(HARD[dtype]).to(dtype)
    x = [torch.cat((EDGES[1:-2].to(dtype), hard, -hard)), torch.tensor([INF, -INF, 2.5, -3.5], dtype=dtype)]
    out = same_rooms(x)
    aclnn.run(f"aclnnForeachRoundOffNumber{version}", x, mode if version else torch.tensor([mode], dtype=torch.int8), out)
    for have, one in zip(out, wide(x), strict=True):
        want = torch.where(one.isinf(), one, ROUNDS[mode](one))
        assert torch.equal(have.double(), want), f"{one[have.double() != want]} became {have[have.double() != want]}"


@pytest.mark.parametrize("mode", [*ROUNDS, 7])
def test_integers_are_round_already(aclnn, mode):
    x = [torch.tensor([-32768, -3, 0, 5, 32767], dtype=torch.int16)]
    out = same_rooms(x)
    aclnn.run("aclnnForeachRoundOffNumberV2", x, mode, out)
    assert torch.equal(out[0], torch.zeros_like(x[0]) if mode == 7 else x[0])


BINARY = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Maximum": torch.maximum, "Minimum": torch.minimum, "Pow": torch.pow}
INTEGERS = {"Add", "Sub", "Mul", "Maximum", "Minimum", "Pow"}


def in_device_memory(number, dtype):
    return torch.tensor([number], dtype=torch.float32 if dtype == torch.bfloat16 else dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32])
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("number", [2, 3, 0.1, -2.0, 0.5, 1.0, 0.0])
@pytest.mark.parametrize("kind", ["Scalar", "ScalarV2", "ScalarList"])
def test_a_scalar_for_all_or_one_for_each(aclnn, kind, name, number, dtype):
    if not dtype.is_floating_point and (name not in INTEGERS or not isinstance(number, int)):
        return
    x = drawn(dtype)
    out = same_rooms(x)
    number = number if dtype == torch.int32 else float(number)
    numbers = [number] * len(x)
    if kind == "Scalar":
        scalar = in_device_memory(number, dtype)
        numbers = [scalar.double().item()] * len(x)
    elif kind == "ScalarV2":
        scalar = number
    else:
        scalar = numbers = [number + i for i in range(len(x))]
    aclnn.run(f"aclnnForeach{name}{kind}", x, scalar, out)
    near(out, [BINARY[name](one, torch.tensor(value, dtype=torch.double)) for one, value in zip(wide(x), numbers)], dtype)


@pytest.mark.parametrize("dtype", [torch.int16, torch.int8, torch.uint8])
@pytest.mark.parametrize("kind", ["Scalar", "ScalarV2"])
def test_small_integers_take_an_int32_scalar(aclnn, kind, dtype):
    x = [torch.tensor([-3 % 100, 0, 90, 127], dtype=dtype)]
    out = same_rooms(x)
    aclnn.run(f"aclnnForeachAdd{kind}", x, torch.tensor([5], dtype=torch.int32) if kind == "Scalar" else 5, out)
    assert torch.equal(out[0], (x[0].long() + 5).to(dtype))


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32])
@pytest.mark.parametrize("name", BINARY)
def test_a_second_list(aclnn, name, dtype):
    if not dtype.is_floating_point and name not in INTEGERS:
        return
    x, y = drawn(dtype, -2, 2) if name != "Pow" else drawn(dtype), drawn(dtype)
    x, y = ([one // 3 for one in part] if name == "Pow" and dtype == torch.int32 else part for part in (x, y))
    for version, alpha in (("", [in_device_memory(3, dtype)]), ("V2", [3 if dtype == torch.int32 else 3.0])) if name in ("Add", "Sub") else (("", []),):
        out = same_rooms(x)
        aclnn.run(f"aclnnForeach{name}List{version}", x, y, *alpha, out)
        factor = 3 if alpha else 1
        near(out, [BINARY[name](one, two * factor) for one, two in zip(wide(x), wide(y))], dtype)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8])
@pytest.mark.parametrize("name, of", [("AddList", lambda x, y: x + 3 * y), ("SubListV2", lambda x, y: x - 3 * y), ("MulList", lambda x, y: x * y)])
def test_lists_of_integers_wrap(aclnn, name, of, dtype):
    x, y = (torch.randint(-99, 100, (50,), generator=SEED).to(dtype) for _ in range(2))
    out = [room(50, dtype=dtype)]
    alpha = {"AddList": [torch.tensor([3], dtype=torch.int32)], "SubListV2": [3], "MulList": []}[name]
    aclnn.run(f"aclnnForeach{name}", [x], [y], *alpha, out)
    assert torch.equal(out[0], of(x.long(), y.long()).to(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.75, 1.0, 2.0])
def test_between_two_lists(aclnn, weight, dtype):
    x, y = drawn(dtype, -2, 2), drawn(dtype)
    out, each = same_rooms(x), same_rooms(x)
    aclnn.run("aclnnForeachLerpScalar", x, y, weight, out)
    weights = [torch.full(one.shape, weight + i / 8).to(dtype) for i, one in enumerate(x)]
    aclnn.run("aclnnForeachLerpList", x, y, weights, each)
    for got, by in ((out, [weight] * len(x)), (each, wide(weights))):
        for have, one, two, w in zip(got, wide(x), wide(y), by, strict=True):
            torch.testing.assert_close(have.double(), one + w * (two - one), rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32])
@pytest.mark.parametrize("name, product", [("Addcmul", torch.mul), ("Addcdiv", torch.div)])
@pytest.mark.parametrize("kind", ["Scalar", "ScalarV2", "ScalarList"])
def test_three_lists(aclnn, kind, name, product, dtype):
    if dtype == torch.int32 and name == "Addcdiv":
        return
    x, y, z = drawn(dtype), drawn(dtype), drawn(dtype)
    out = same_rooms(x)
    number = 3 if dtype == torch.int32 else 0.75
    numbers = [number + (i if kind == "ScalarList" else 0) for i in range(len(x))]
    scalar = torch.tensor(numbers, dtype=dtype) if kind == "ScalarList" else in_device_memory(number, dtype) if kind == "Scalar" else number
    aclnn.run(f"aclnnForeach{name}{kind}", x, y, z, scalar, out)
    near(out, [one + value * product(two, three) for one, two, three, value in zip(wide(x), wide(y), wide(z), numbers)], dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32])
def test_a_number_to_the_power_of_each_member(aclnn, dtype):
    x = drawn(dtype, 0, 0.75) if dtype == torch.int32 else drawn(dtype)
    out = same_rooms(x)
    base = 3 if dtype == torch.int32 else 1.7
    aclnn.run("aclnnForeachPowScalarAndTensor", base, x, out)
    near(out, [torch.pow(torch.tensor(base, dtype=torch.double), one) for one in wide(x)], dtype)


@pytest.mark.parametrize("source, target", [(torch.float32, torch.float16), (torch.float32, torch.bfloat16), (torch.float16, torch.float32)])
def test_a_copy_may_change_the_type(aclnn, source, target):
    x = edges(source)
    out = [room(one.shape, dtype=target) for one in x]
    aclnn.run("aclnnForeachCopy", x, out)
    for have, one in zip(out, x, strict=True):
        torch.testing.assert_close(have, one.to(target), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int16, torch.int32])
def test_zeros(aclnn, dtype):
    x = drawn(dtype)
    aclnn.run("aclnnForeachZeroInplace", x)
    assert all(not one.any() for one in x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("spoil, found", [(None, 0.0), (None, 5.0), (INF, 0.0), (-INF, 0.0), (NAN, 0.0)])
def test_gradients_are_scaled_and_what_is_not_finite_is_found(aclnn, dtype, spoil, found):
    grads = [x for x in drawn(dtype, -2, 2) if x.numel()]
    if spoil is not None:
        grads[0][1, 2] = spoil
    want, flag = [one * 0.3 for one in wide(grads)], torch.tensor([found])
    aclnn.run("aclnnForeachNonFiniteCheckAndUnscale", grads, flag, torch.tensor([0.3]))
    assert flag.item() == (found if spoil is None else 1.0)
    near(grads, want, dtype)


@pytest.mark.parametrize("name, operands", [("Abs", 1), ("AddListV2", 2), ("MulList", 2), ("AddScalarV2", 1), ("LerpScalar", 2), ("AddcmulScalarV2", 3)])
def test_an_output_may_have_more_room_than_it_takes(aclnn, name, operands):
    x = [[torch.arange(1.0, 7).view(2, 3)] for _ in range(operands)]
    scalar = [] if name in ("Abs", "MulList") else [2.0]
    wanted, wide_room, flat = room(2, 3), room(2, 5), room(6)
    aclnn.run(f"aclnnForeach{name}", *x, *scalar, [wanted])
    aclnn.run(f"aclnnForeach{name}", *x, *scalar, [wide_room])
    aclnn.run(f"aclnnForeach{name}", *x, *scalar, [flat])
    assert torch.equal(flat, wanted.view(-1))
    assert torch.equal(wide_room.view(-1)[:6], wanted.view(-1))
    assert (wide_room.view(-1)[6:] == 77).all()


@pytest.mark.parametrize("name, arguments", [
    ("AddListV2", ([torch.ones(2, 3)], [torch.ones(3)], 1.0, [room(2, 3)])),
    ("MulList", ([torch.ones(3)], [torch.ones(2, 3)], [room(3)])),
    ("Abs", ([torch.ones(2, 3)], [room(5)])),
    ("Abs", ([torch.ones(3), torch.ones(3)], [room(3)])),
    ("AddcmulScalarV2", ([torch.ones(3)], [torch.ones(3)], [torch.ones(1)], 1.0, [room(3)])),
    ("LerpList", ([torch.ones(3)], [torch.ones(3)], [torch.ones(1)], [room(3)])),
    ("AddScalar", ([torch.ones(3)], torch.ones(2), [room(3)])),
    ("AddScalarList", ([torch.ones(3)], [1.0, 2.0], [room(3)])),
])
def test_lists_that_do_not_fit_are_refused(aclnn, name, arguments):
    code, said = aclnn.status(f"aclnnForeach{name}", list(arguments))
    assert code != 0, said

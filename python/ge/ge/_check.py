# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments, so that refusals read alike: the call, the argument, what it was, and what to give instead.

    check.integer("Session.run_graph", 0, UINT32_MAX, graph_id=graph_id)
    TypeError: Session.run_graph: graph_id is 'a' (str); give an int from 0 to 4294967295

The names of the keywords are the names in the messages.
"""

from typing import Any, Dict, List, Optional, Type

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
UINT32_MAX = (1 << 32) - 1
UINT64_MAX = (1 << 64) - 1

_LONGEST = 60  # characters of a value that a message shows


def shown(value: Any) -> str:
    """A value as messages show it: short, with its type."""
    words = repr(value)
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST]}..."
    return f"{words} ({type(value).__name__})"


def refusal(error: Type[Exception], where: str, what: str, value: Any, give: str) -> Exception:
    """The exception for an argument that will not do, for the caller to raise."""
    return error(f"{where}: {what} is {shown(value)}; give {give}")


def text(where: str, /, **values: Any) -> None:
    for what, value in values.items():
        if not isinstance(value, str):
            raise refusal(TypeError, where, what, value, "a str")
        if "\0" in value:  # C would read the part before it
            raise refusal(ValueError, where, what, value, "a str without a null character")


def integer(where: str, low: Optional[int] = None, high: Optional[int] = None, /, **values: Any) -> None:
    """ctypes cuts off what does not fit, so every number that goes to C has bounds."""
    give = "an int" if low is None else f"an int from {low} on" if high is None else f"an int from {low} to {high}"
    for what, value in values.items():
        if not isinstance(value, int):
            raise refusal(TypeError, where, what, value, give)
        if low is not None and value < low or high is not None and value > high:
            raise refusal(ValueError, where, what, value, give)


def instance(where: str, kind: type, /, **values: Any) -> None:
    for what, value in values.items():
        if not isinstance(value, kind):
            raise refusal(TypeError, where, what, value, f"{_article(kind)} {kind.__name__}")


def listed(where: str, kind: type, /, **values: Any) -> None:
    """Lists of `kind`. The first member that is not one is named by its place."""
    for what, value in values.items():
        if not isinstance(value, list):
            raise refusal(TypeError, where, what, value, f"a list of {kind.__name__}")
        for place, one in enumerate(value):
            instance(where, kind, **{f"{what}[{place}]": one})


def dims(where: str, /, **values: Any) -> None:
    """Shapes: lists of int. -1 and -2 stand for what is not known, so negative numbers pass."""
    for what, value in values.items():
        listed(where, int, **{what: value})
        for place, dim in enumerate(value):
            integer(where, INT64_MIN, INT64_MAX, **{f"{what}[{place}]": dim})


def dims_or_scalar(where: str, /, **values: Any) -> List[int]:
    """The same for one shape that may be None, which is a scalar."""
    ((what, value),) = values.items()
    if value is None:
        return []
    dims(where, **{what: value})
    return value


def options(where: str, /, **values: Any) -> Dict[str, str]:
    """One dictionary of options, with text on both sides; None stands for an empty one. Returns a copy."""
    ((what, value),) = values.items()
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise refusal(TypeError, where, what, value, "a dict with the name and the value of each option, both str")
    for key, word in value.items():
        text(where, **{f"a key of {what}": key})
        text(where, **{f"{what}[{key!r}]": word})
    return dict(value)


def product(shape: List[int]) -> int:
    """How many values a shape holds; of [], a scalar, 1."""
    count = 1
    for dim in shape:
        count *= dim
    return count


def _article(kind: type) -> str:
    return "an" if kind.__name__[0] in "AEIOUaeiou" else "a"

# SPDX-License-Identifier: Apache-2.0
"""For modules of CANN's package that are not here: asking for what they hold raises an error that names it."""

from typing import Any, Callable, Sequence

from ge.error import GeError


class NotHere(GeError, ImportError):
    """Also an ImportError, which is what `from ge.passes import PatternFusionPass` raises where it is missing."""


def refuse(module: str, names: Sequence[str], instead: str) -> Callable[[str], Any]:
    """The module's __getattr__."""

    def getattribute(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        text = f"{module}.{name} is not there: {instead}"
        raise NotHere(text, error_message=text, api_name=f"{module}.{name}")

    return getattribute

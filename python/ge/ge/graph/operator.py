# SPDX-License-Identifier: Apache-2.0
"""The operator that a callback of a plugin fills in. It is valid only while the callback runs."""

import ctypes
from typing import Any, NoReturn, Optional

from ge._native import failed, lib, text

from ._attr import encode, kind_of

_TOKEN = object()


class Operator:
    __slots__ = ("_handle", "_valid")

    def __init__(self, handle: Optional[int] = None, token: object = None) -> None:
        if token is not _TOKEN:
            raise RuntimeError("Operator objects should not be created directly.")
        if handle is None:
            raise ValueError("Operator handle cannot be None")
        if not handle:
            raise ValueError("Operator handle cannot be null")
        self._handle = handle
        self._valid = True

    def __copy__(self) -> NoReturn:
        raise RuntimeError("Operator does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("Operator does not support deepcopy")

    def __enter__(self) -> "Operator":
        return self

    def __exit__(self, *exception) -> None:
        self._valid = False
        self._handle = None

    @property
    def name(self) -> str:
        return self._text(False)

    @property
    def type(self) -> str:
        return self._text(True)

    def set_attr(self, name: str, value: Any) -> None:
        self._check(name, "attribute")
        attr = encode(kind_of(value), value)
        if lib.operator_set_attr(self._handle, name.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(f"Failed to set attribute '{name}' on Operator {self.name}")

    def register_input(self, name: str) -> None:
        self._define(0, name, "input", "register_input")

    def register_optional_input(self, name: str) -> None:
        self._define(1, name, "optional input", "register_optional_input")

    def register_output(self, name: str) -> None:
        self._define(2, name, "output", "register_output")

    def register_dynamic_input(self, name: str, count: int) -> None:
        self._define_dynamic(False, name, count, "input")

    def register_dynamic_output(self, name: str, count: int) -> None:
        self._define_dynamic(True, name, count, "output")

    def _define(self, what: int, name: str, kind: str, method: str) -> None:
        self._check(name, kind)
        if lib.operator_define(self._handle, what, name.encode("utf-8")) != 0:
            raise failed(f"Failed to {method} '{name}' on Operator {self.name}")

    def _define_dynamic(self, output: bool, name: str, count: int, word: str) -> None:
        self._check(name, "dynamic port")
        if type(count) is not int:
            raise TypeError("Operator dynamic port count must be an integer")
        if not 0 <= count < 1 << 32:
            raise ValueError("Operator dynamic port count must be in uint32 range")
        if lib.operator_dynamic(self._handle, output, name.encode("utf-8"), count) != 0:
            raise failed(f"Failed to register dynamic {word} '{name}' on Operator {self.name}")

    def _text(self, is_type: bool) -> str:
        self._require_valid()
        found = text(lib.operator_text(self._handle, is_type))
        if found is None:
            raise failed("Failed to get Operator name or type")
        return found

    def _check(self, name: str, kind: str) -> None:
        self._require_valid()
        if not isinstance(name, str) or not name:
            raise TypeError(f"Operator {kind} name must be a non-empty string")

    def _require_valid(self) -> None:
        if not self._valid:
            raise RuntimeError("Operator is only valid inside parse_node")


def create_operator(handle: int) -> Operator:
    return Operator(handle, _TOKEN)

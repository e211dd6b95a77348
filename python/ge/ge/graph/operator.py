# SPDX-License-Identifier: Apache-2.0
"""Operators that are not nodes yet: their attributes, inputs and outputs can still be filled in."""

import ctypes
from typing import Any

from ge import _check as check
from ge._native import failed, lib, text
from ge._object import NativeObject

from ._attr import encode, kind_of
from .tensor_desc import TensorDesc
from .types import AttrValueType

# What lib.operator_define can add.
_INPUT, _OPTIONAL_INPUT, _OUTPUT = range(3)


class Operator(NativeObject):
    """Valid inside its `with`: afterwards it belongs to a graph, or is gone."""

    _release = staticmethod(lib.operator_destroy)
    _maker = "the callback of a plugin that has to fill one in"

    @classmethod
    def _new(cls, where: str, name: str, kind: str) -> "Operator":
        address = lib.operator_create(name.encode("utf-8"), kind.encode("utf-8"))
        if not address:
            raise failed(f"{where}: '{name}' cannot be made, no operator of the type {kind} is defined")
        return cls._adopt(address)

    def __enter__(self) -> "Operator":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._end()

    @property
    def name(self) -> str:
        return self._word("name", False)

    @property
    def type(self) -> str:
        return self._word("type", True)

    def set_attr(self, name: str, value: Any) -> None:
        self._check_name("Operator.set_attr", name)
        self._put("Operator.set_attr", name, kind_of("Operator.set_attr", value), value)

    def register_input(self, name: str) -> None:
        self._define("Operator.register_input", _INPUT, name)

    def register_optional_input(self, name: str) -> None:
        self._define("Operator.register_optional_input", _OPTIONAL_INPUT, name)

    def register_output(self, name: str) -> None:
        self._define("Operator.register_output", _OUTPUT, name)

    def register_dynamic_input(self, name: str, count: int) -> None:
        self._define_many("Operator.register_dynamic_input", False, name, count)

    def register_dynamic_output(self, name: str, count: int) -> None:
        self._define_many("Operator.register_dynamic_output", True, name, count)

    # --- also for the functions that build graphs, which have checked their arguments
    def _put(self, where: str, name: str, kind: AttrValueType, value: Any) -> None:
        attr = encode(kind, value)
        if lib.operator_set_attr(self._native, name.encode("utf-8"), ctypes.byref(attr)) != 0:
            raise failed(f"{where}: attribute '{name}' of '{self.name}' cannot be {check.shown(value)}")

    def _describe(self, where: str, output: bool, name: str, desc: TensorDesc) -> None:
        if lib.operator_set_desc(self._native, output, name.encode("utf-8"), desc._native) != 0:
            raise failed(f"{where}: '{name}' of '{self.name}' cannot be {desc!r}")

    def _define_many(self, where: str, output: bool, name: str, count: int) -> None:
        self._check_name(where, name)
        if isinstance(count, bool):  # an int to Python, but hardly what was meant
            raise check.refusal(TypeError, where, "count", count, f"an int from 0 to {check.UINT32_MAX}")
        check.integer(where, 0, check.UINT32_MAX, count=count)
        if lib.operator_dynamic(self._native, output, name.encode("utf-8"), count) != 0:
            raise failed(f"{where}: '{self.name}' cannot have {count} of '{name}'")

    def _define(self, where: str, what: int, name: str) -> None:
        self._check_name(where, name)
        if lib.operator_define(self._native, what, name.encode("utf-8")) != 0:
            raise failed(f"{where}: '{self.name}' cannot have '{name}'")

    def _word(self, what: str, is_type: bool) -> str:
        self._check_valid(f"Operator.{what}")
        found = text(lib.operator_text(self._native, is_type))
        if found is None:
            raise failed(f"Operator.{what}: there is none")
        return found

    def _check_name(self, where: str, name: str) -> None:
        self._check_valid(where)
        if not isinstance(name, str) or not name:
            raise check.refusal(TypeError, where, "name", name, "a str that is not empty")

    def _check_valid(self, where: str) -> None:
        if not self._native:
            raise RuntimeError(f"{where}: this Operator is not valid any more; use it inside the callback that got it")


class _Borrowed(Operator):
    """Somebody else's: it is not ended with this object."""

    _release = staticmethod(lambda address: None)


def create_operator(handle: int) -> Operator:
    """For callbacks: the operator of the library at that address, which stays the library's."""
    check.integer("create_operator", 1, check.UINT64_MAX, handle=handle)
    return _Borrowed._adopt(handle)

# SPDX-License-Identifier: Apache-2.0
"""Python objects that stand for one object of the library."""

from typing import Any, Callable, ClassVar, NoReturn, Optional, Type, TypeVar

_Kind = TypeVar("_Kind", bound="NativeObject")


class Uncopyable:
    """A copy would have to copy a graph or a session with it, or share what belongs to one object."""

    def __copy__(self) -> NoReturn:
        raise RuntimeError(f"copy.copy: {self._why_not()}")

    def __deepcopy__(self, memo: dict) -> NoReturn:
        raise RuntimeError(f"copy.deepcopy: {self._why_not()}")

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"pickle: {self._why_not()}")

    def _why_not(self) -> str:
        return f"a {type(self).__name__} is bound to this process and cannot be duplicated; pass the object itself"


class NativeObject(Uncopyable):
    """Owns one object of the library and ends it, once, when Python drops this one."""

    _release: ClassVar[Callable[[int], None]]
    _maker: ClassVar[str] = ""  # for classes that programs do not call: what gives them their objects
    _native: Optional[int] = None  # of the class too: an __init__ that raises leaves nothing to end
    _keeps: Any = None  # what must outlive the object of the library

    def __init__(self) -> None:
        name = type(self).__name__
        raise RuntimeError(f"{name}(): programs do not make a {name}; get one from {self._maker}")

    @classmethod
    def _adopt(cls: Type[_Kind], address: int, keeps: Any = None) -> _Kind:
        """Stands for an object that the library handed out; owns it from now on."""
        made = cls.__new__(cls)
        made._native = address
        made._keeps = keeps
        return made

    def __del__(self) -> None:
        self._end()

    def _end(self) -> None:
        address, self._native = self._native, None
        if address:
            self._release(address)


class Part(NativeObject):
    """A graph as the branch or body of an operator, a tensor as an attribute: it becomes part of one graph only."""

    _taken_by: Optional[str] = None

    def _take(self, where: str, graph: str) -> None:
        if self._taken_by is not None:
            raise RuntimeError(f"{where}: this {type(self).__name__} is part of the graph '{self._taken_by}' already; "
                               f"make another one for '{graph}'")
        self._taken_by = graph

# SPDX-License-Identifier: Apache-2.0
"""What an allocator written in Python looks like. Session.register_external_allocator takes one."""

from abc import ABC, abstractmethod


class MemBlock:
    """Device memory: `size` bytes at the address `addr`."""

    def __init__(self, addr: int, size: int) -> None:
        self._addr = addr
        self._size = size

    @property
    def addr(self) -> int:
        return self._addr

    @property
    def size(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"MemBlock(addr=0x{self._addr:x}, size={self._size})"


class Allocator(ABC):
    """malloc and free may be called from any thread, one call at a time per allocator.

    The engine keeps the object, and each block, until it needs them no more, which may be after it was unregistered. An
    exception in either makes the run that asked fail, with the exception as the cause.
    """

    @abstractmethod
    def malloc(self, size: int) -> MemBlock:
        """At least `size` bytes of device memory, never 0. Raise an exception when there are none."""
        raise NotImplementedError

    @abstractmethod
    def free(self, block: MemBlock) -> None:
        """`block` is the very object that malloc returned; it comes once."""
        raise NotImplementedError

# SPDX-License-Identifier: Apache-2.0
"""Between allocators written in Python and the library, which knows them and their blocks by number."""

import atexit
import contextlib
import ctypes
import itertools
import threading
from typing import Dict, Iterator, List

from ge._native import lib
from ge.allocator import Allocator, MemBlock

_numbers = itertools.count(1)
_allocators: Dict[int, Allocator] = {}
_blocks: Dict[int, MemBlock] = {}
_here = threading.local()


@contextlib.contextmanager
def collect_errors() -> Iterator[List[BaseException]]:
    """What allocators raise on this thread in the meantime goes into the list; otherwise sys.unraisablehook gets it."""
    before, _here.errors = getattr(_here, "errors", None), []
    try:
        yield _here.errors
    finally:
        _here.errors = before


def _report(error: BaseException) -> None:
    errors = getattr(_here, "errors", None)
    if errors is None:
        raise error  # nobody above us can catch it: ctypes hands it to sys.unraisablehook
    errors.append(error)


def _malloc(allocator: int, size: int, out_block) -> int:
    try:
        own = _allocators[allocator]
        block = own.malloc(size)
        name = f"{type(own).__name__}.malloc({size})"
        if block is None:
            raise MemoryError(f"{name} returned None; return a MemBlock")
        if not isinstance(block.addr, int) or block.addr <= 0:
            raise MemoryError(f"{name} returned a block at {block.addr!r}; return the address of device memory")
        if block.size < size:
            raise MemoryError(f"{name} returned a block of {block.size} bytes; return at least {size}")
        number = next(_numbers)
        _blocks[number] = block
        out_block[0] = number
        return block.addr
    except BaseException as error:  # nothing may pass through the library
        _report(error)
        return 0


def _free(allocator: int, block: int) -> None:
    try:
        _allocators[allocator].free(_blocks.pop(block))
    except BaseException as error:
        _report(error)


def _destroy(allocator: int) -> None:
    _allocators.pop(allocator, None)


# One set for the life of the process: a function object must not go while it is being called.
_FUNCTIONS = (
    ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint64))(_malloc),
    ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)(_free),
    ctypes.CFUNCTYPE(None, ctypes.c_uint64)(_destroy),
)
lib.allocator_functions(*[ctypes.cast(function, ctypes.c_void_p) for function in _FUNCTIONS])
# The library may outlive the interpreter.
atexit.register(lib.allocator_functions, None, None, None)


def register(session: int, stream: int, allocator: Allocator) -> int:
    """The engine's status. The allocator is kept until the library lets go of it: at once when this fails."""
    number = next(_numbers)
    _allocators[number] = allocator
    return lib.session_register_allocator(session, stream, number)

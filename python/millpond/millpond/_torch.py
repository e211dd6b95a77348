# SPDX-License-Identifier: Apache-2.0
"""What the checker has to be told by Python about torch_npu. It imports this itself, in a checked process with the wheel in it.

The wheel takes a pluggable allocator's functions by address, from Python: they are exchanged for functions of the checker's that
call them. What it refuses (a swap that comes too late, a free of a foreign pointer) stays refused, and is told.
"""

import ctypes
import functools
import sys

from millpond import _checker

_recording = []  # allocators that have a function for record_stream
_kinds = []  # their classes that are watched


class _WhenTheWheelIsThere:
    """Asked for every module that is imported, and finds none: torch_npu imports many of its own behind its C part."""

    def find_spec(self, _name, _path=None, _target=None):
        if _hook():
            sys.meta_path.remove(self)


def install():
    """The checker asks once, as soon as the wheel's library is loaded: while torch_npu is being imported."""
    library = _checker.library()
    if library is None:
        return
    library.millpond_check_torch_hooked()
    if not _hook():
        sys.meta_path.insert(0, _WhenTheWheelIsThere())


def _hook():
    wheel, library = sys.modules.get("torch_npu._C"), _checker.library()
    if library is None or not all(hasattr(wheel, name) for name in ("_npu_customAllocator", "_npu_changeCurrentAllocator")):
        return False
    _wrap(wheel, "_npu_customAllocator", functools.partial(_make, library))
    _wrap(wheel, "_npu_changeCurrentAllocator", functools.partial(_change, library))
    return True


def _wrap(owner, name, around):
    """owner.name(...) becomes around(the former owner.name, ...)."""
    former = getattr(owner, name)

    @functools.wraps(former, assigned=("__name__", "__doc__"), updated=())
    def wrapper(*args, **kwargs):
        return around(former, *args, **kwargs)

    setattr(owner, name, wrapper)


def _make(library, former, allocate, free):
    """The wheel's object for a pair of functions, which it will call through the checker's."""
    functions = ctypes.c_void_p(), ctypes.c_void_p()
    wrapped = library.millpond_check_wrap_allocator(ctypes.c_void_p(allocate), ctypes.c_void_p(free),
                                                    ctypes.byref(functions[0]), ctypes.byref(functions[1]))
    allocator = former(functions[0].value, functions[1].value) if wrapped else former(allocate, free)
    kind = type(allocator)
    if kind not in _kinds and hasattr(kind, "set_record_stream_fn"):
        _kinds.append(kind)
        _wrap(kind, "set_record_stream_fn", _set_record_stream)
    return allocator


def _set_record_stream(former, allocator, function):
    former(allocator, function)
    _recording.append(allocator)


def _change(library, former, allocator):
    try:
        former(allocator)
    except RuntimeError:
        library.millpond_check_swap_refused()
        raise
    _wrap(sys.modules["torch"].Tensor, "record_stream", functools.partial(_record_stream, library, allocator))
    name = "_npu_npuCachingAllocator_raw_delete"
    if hasattr(sys.modules["torch_npu._C"], name):
        _wrap(sys.modules["torch_npu._C"], name, functools.partial(_delete, library))


def _record_stream(library, allocator, former, tensor, stream):
    former(tensor, stream)
    if any(each is allocator for each in _recording):
        return
    try:
        address, handle = tensor.untyped_storage().data_ptr(), stream.npu_stream
    except (AttributeError, RuntimeError):  # no memory of its own, or no stream of the NPU: not our business
        return
    library.millpond_check_record_lost(ctypes.c_void_p(address), ctypes.c_void_p(handle))


def _delete(library, former, address):
    try:
        former(address)
    except RuntimeError:
        library.millpond_check_free_refused(ctypes.c_void_p(address))
        raise

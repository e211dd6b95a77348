# SPDX-License-Identifier: Apache-2.0
"""Session. Methods return None or 0 when they succeed and raise GeError when the engine refuses."""

import threading
import weakref
from typing import Dict, List, NoReturn, Optional

from ge import _allocators
from ge._native import handles, lib, options as as_options, pointers, take_message
from ge.allocator import Allocator
from ge.error import raise_ge_error
from ge.graph.graph import Graph
from ge.graph.tensor import Tensor

# Streams that have the default allocator, and whose session put it there: that session takes it away again.
_default_lock = threading.RLock()
_default_owner: Dict[int, "weakref.ref[Session]"] = {}


def _check_stream(stream: int, word: str = "stream") -> None:
    if not isinstance(stream, int):
        raise TypeError(f"{word} must be an integer")


def _check_graph_id(graph_id: int) -> None:
    if not isinstance(graph_id, int):
        raise TypeError("Graph_id must be an integer")


def _check_inputs(inputs: List[Tensor]) -> None:
    if not isinstance(inputs, list):
        raise TypeError("inputs must be a list of Tensor")
    if not all(isinstance(one, Tensor) for one in inputs):
        raise TypeError("All elements in inputs must be the type of Tensor")


def _settle(api_name: str, status: int, errors: List[BaseException], **context) -> None:
    """Raises for a call that failed, or in which an allocator raised. What ends a program (KeyboardInterrupt) is raised as it is."""
    for error in errors:
        if not isinstance(error, Exception):
            raise error
    if status != 0 or errors:
        raise_ge_error(api_name, status, errors[0] if errors else None, **context)


class Session:
    """Graphs in it end with it. The allocators that streams have belong to all sessions of the process."""

    _owns_handle = False

    def __init__(self, options: Optional[dict] = None) -> None:
        self._handle: Optional[int] = None
        self._default_allocator_streams: set = set()
        if options is not None and not isinstance(options, dict):
            raise TypeError("option must be a dictionary")
        self._handle = lib.session_create(*as_options(options or {}))
        if not self._handle:
            raise_ge_error("CreateSession")
        self._owns_handle = True

    def __del__(self) -> None:
        self._unregister_default_allocators()
        if self._owns_handle:
            self._owns_handle = False
            lib.session_destroy(self._handle)
            self._handle = None

    def __copy__(self) -> NoReturn:
        raise RuntimeError("Session does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("Session does not support deepcopy")

    # --- memory
    def register_external_allocator(self, stream: int, allocator: Allocator) -> None:
        """Runs on the stream take their memory from it, from the next run on. The last one registered counts."""
        _check_stream(stream)
        if not isinstance(allocator, Allocator):
            raise TypeError("allocator must be an Allocator instance")
        with _default_lock:
            status = _allocators.register(self._handle, stream, allocator)
            if status == 0:
                self._forget_default(stream)
        if status != 0:
            raise_ge_error("RegisterExternalAllocator", status, stream=f"0x{stream:x}")

    def unregister_external_allocator(self, stream: int) -> None:
        """Blocks that are out are still given back to the allocator they came from."""
        _check_stream(stream)
        with _default_lock, _allocators.collect_errors() as errors:
            status = lib.session_unregister_allocator(self._handle, stream)
            if status == 0:
                self._forget_default(stream)
        _settle("UnregisterExternalAllocator", status, errors, stream=f"0x{stream:x}")

    # --- graphs
    def add_graph(self, graph_id: int, add_graph: Graph, options: Optional[dict] = None) -> int:
        """A number that is taken keeps its graph."""
        _check_graph_id(graph_id)
        if not isinstance(add_graph, Graph):
            raise TypeError("Add_graph must be a Graph")
        if options is not None and not isinstance(options, dict):
            raise TypeError("options must be a dictionary")
        status = lib.session_add_graph(self._handle, graph_id, add_graph._handle, *as_options(options or {}))
        if status != 0:
            raise_ge_error("AddGraph", status, graph_id=graph_id)
        return status

    def remove_graph(self, graph_id: int) -> None:
        _check_graph_id(graph_id)
        with _allocators.collect_errors() as errors:
            status = lib.session_remove_graph(self._handle, graph_id)
        _settle("RemoveGraph", status, errors, graph_id=graph_id)

    def run_graph(self, graph_id: int, inputs: List[Tensor]) -> List[Tensor]:
        """Host tensors in, host tensors out; waits for the result."""
        _check_graph_id(graph_id)
        _check_inputs(inputs)
        status, outputs = handles(lib.session_run, self._handle, graph_id, pointers([one._handle for one in inputs]), len(inputs))
        if status != 0:
            raise_ge_error("RunGraph", status, graph_id=graph_id)
        return [Tensor._create_from(one) for one in outputs]

    def run_graph_with_stream_async(self, graph_id: int, stream: int, inputs: List[Tensor]) -> List[Tensor]:
        """Device tensors in and out, in the stream's order: synchronise before you read them. Memory comes from the allocator that is registered for
        the stream, else from one on acl.rt.malloc, which this registers.
        """
        _check_graph_id(graph_id)
        _check_stream(stream, "Stream")
        _check_inputs(inputs)
        self._ensure_default_allocator(stream)
        with _allocators.collect_errors() as errors:
            status, outputs = handles(lib.session_run_on_stream, self._handle, graph_id, stream, pointers([one._handle for one in inputs]),
                                      len(inputs))
        tensors = [Tensor._create_from(one) for one in outputs]
        _settle("RunGraphWithStreamAsync", status, errors, graph_id=graph_id, stream=f"0x{stream:x}")
        return tensors

    # --- the default allocator
    def _ensure_default_allocator(self, stream: int) -> None:
        with _default_lock:
            if lib.has_allocator(stream, False):
                return
            status = lib.session_register_default(self._handle, stream)
            if status == 0:
                self._default_allocator_streams.add(stream)
                _default_owner[stream] = weakref.ref(self)
        if status != 0:
            raise_ge_error("RegisterDefaultAllocator", status, stream=f"0x{stream:x}")

    def _forget_default(self, stream: int) -> None:
        self._default_allocator_streams.discard(stream)
        _default_owner.pop(stream, None)

    def _unregister_default_allocators(self) -> None:
        with _default_lock:
            for stream in self._default_allocator_streams:
                owner = _default_owner.get(stream)
                # In __del__ a weak reference to ourselves is dead already.
                if owner is None or owner() not in (None, self):
                    continue
                del _default_owner[stream]
                if lib.has_allocator(stream, True) and lib.session_unregister_allocator(self._handle, stream) != 0:
                    take_message()  # the engine has ended before us: nobody asked, so nobody is told
            self._default_allocator_streams.clear()

# SPDX-License-Identifier: Apache-2.0
"""Sessions: graphs are added to one and run in it. What the engine refuses raises GeError."""

from typing import List, Optional

from ge import _allocators
from ge import _check as check
from ge._native import handles, lib, pointers
from ge._native import options as as_options
from ge._object import NativeObject
from ge.allocator import Allocator
from ge.error import raise_ge_error
from ge.graph.graph import Graph
from ge.graph.tensor import Tensor


class Session(NativeObject):
    """Its graphs end with it. Allocators belong to their streams, whichever session registered them."""

    _release = staticmethod(lib.session_destroy)

    def __init__(self, options: Optional[dict] = None) -> None:
        words = check.options("Session", options=options)
        self._native = lib.session_create(*as_options(words))
        if not self._native:
            raise_ge_error("CreateSession")

    # --- memory
    def register_external_allocator(self, stream: int, allocator: Allocator) -> None:
        """From the next run on, graphs on the stream take their memory from this allocator, not from the one before."""
        where = "Session.register_external_allocator"
        _check_stream(where, stream)
        check.instance(where, Allocator, allocator=allocator)
        status = _allocators.register(self._native, stream, allocator)
        if status != 0:
            raise_ge_error("RegisterExternalAllocator", status, stream=hex(stream))

    def unregister_external_allocator(self, stream: int) -> None:
        """What is still out comes back to the allocator that gave it."""
        _check_stream("Session.unregister_external_allocator", stream)
        with _allocators.collect_errors() as errors:
            status = lib.session_unregister_allocator(self._native, stream)
        _raise_for("UnregisterExternalAllocator", status, errors, stream=hex(stream))

    # --- graphs, which are known by number
    def add_graph(self, graph_id: int, add_graph: Graph, options: Optional[dict] = None) -> int:
        """Returns 0. A number that has a graph already is refused, and keeps it."""
        where = "Session.add_graph"
        _check_graph_id(where, graph_id)
        check.instance(where, Graph, add_graph=add_graph)
        words = check.options(where, options=options)
        status = lib.session_add_graph(self._native, graph_id, add_graph._native, *as_options(words))
        if status != 0:
            raise_ge_error("AddGraph", status, graph_id=graph_id)
        return status

    def remove_graph(self, graph_id: int) -> None:
        _check_graph_id("Session.remove_graph", graph_id)
        with _allocators.collect_errors() as errors:
            status = lib.session_remove_graph(self._native, graph_id)
        _raise_for("RemoveGraph", status, errors, graph_id=graph_id)

    def run_graph(self, graph_id: int, inputs: List[Tensor]) -> List[Tensor]:
        """Takes and returns tensors on the host, and waits for the results."""
        where = "Session.run_graph"
        _check_graph_id(where, graph_id)
        check.listed(where, Tensor, inputs=inputs)
        arguments = pointers([tensor._native for tensor in inputs])
        status, outputs = handles(lib.session_run, self._native, graph_id, arguments, len(inputs))
        if status != 0:
            raise_ge_error("RunGraph", status, graph_id=graph_id)
        return [Tensor._adopt(one) for one in outputs]

    def run_graph_with_stream_async(self, graph_id: int, stream: int, inputs: List[Tensor]) -> List[Tensor]:
        """Takes and returns tensors on the device, and does not wait: synchronise the stream before you read them.

        Their memory is from the allocator of the stream. A stream without one gets one over aclrtMalloc, which ends
        with the session.
        """
        where = "Session.run_graph_with_stream_async"
        _check_graph_id(where, graph_id)
        _check_stream(where, stream)
        check.listed(where, Tensor, inputs=inputs)
        status = lib.session_ensure_allocator(self._native, stream)
        if status != 0:
            raise_ge_error("RegisterDefaultAllocator", status, stream=hex(stream))
        arguments = pointers([tensor._native for tensor in inputs])
        with _allocators.collect_errors() as errors:
            status, found = handles(lib.session_run_on_stream, self._native, graph_id, stream, arguments, len(inputs))
        outputs = [Tensor._adopt(one) for one in found]
        _raise_for("RunGraphWithStreamAsync", status, errors, graph_id=graph_id, stream=hex(stream))
        return outputs


def _check_stream(where: str, stream: int) -> None:
    check.integer(where, 0, check.UINT64_MAX, stream=stream)


def _check_graph_id(where: str, graph_id: int) -> None:
    check.integer(where, 0, check.UINT32_MAX, graph_id=graph_id)


def _raise_for(api_name: str, status: int, errors: List[BaseException], **context: object) -> None:
    """For a call that failed, or in which an allocator raised. KeyboardInterrupt and its like stay what they are."""
    for error in errors:
        if not isinstance(error, Exception):
            raise error
    if status != 0 or errors:
        raise_ge_error(api_name, status, errors[0] if errors else None, **context)

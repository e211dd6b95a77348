# SPDX-License-Identifier: Apache-2.0
"""ge::GeUtils of libge_compiler. Where the installed library lacks a function, the call raises GeError and says so."""

import ctypes
from typing import List, Tuple

from ge._native import MISSING, failed, int64s, lib, text
from ge.error import raise_missing
from ge.graph.graph import Graph
from ge.graph.node import Node


class GeUtils:
    @staticmethod
    def infer_shape(graph: Graph, input_shapes: List[List[int]]) -> None:
        """Types and shapes of all nodes, from these shapes of the inputs."""
        if not isinstance(input_shapes, list) or not all(isinstance(shape, list) for shape in input_shapes):
            raise TypeError("input_shapes must be a list of shape lists")
        flat = [dim for shape in input_shapes for dim in shape]
        if not all(isinstance(dim, int) for dim in flat):
            raise TypeError("each shape dim must be an integer")
        ranks = (ctypes.c_size_t * len(input_shapes))(*[len(shape) for shape in input_shapes])
        status = lib.infer_shape(graph._handle, int64s(flat), ranks, len(input_shapes))
        if status == MISSING:
            raise_missing("InferShape", "libge_compiler.so has no ge::GeUtils::InferShape; a session infers the shapes when it compiles the graph")
        if status != 0:
            raise failed("Failed to infer shape")

    @staticmethod
    def check_node_support_on_aicore(node: Node) -> Tuple[bool, str]:
        """Whether the device's vector and matrix units can run it, and why not."""
        supported, reason = ctypes.c_bool(), ctypes.c_void_p()
        status = lib.node_support(node._handle, ctypes.byref(supported), ctypes.byref(reason))
        if status == MISSING:
            raise_missing("CheckNodeSupportOnAicore", "libge_compiler.so has no ge::GeUtils::CheckNodeSupportOnAicore; there are no AI cores here")
        if status != 0:
            raise failed("Failed to check node support on AICore")
        return supported.value, text(reason.value) or ""

# SPDX-License-Identifier: Apache-2.0
"""Questions to the compiler about a graph."""

import ctypes
from typing import List, Tuple

from ge import _check as check
from ge._compiler import settle
from ge._native import int64s, lib, text
from ge.graph.graph import Graph
from ge.graph.node import Node


class GeUtils:
    @staticmethod
    def infer_shape(graph: Graph, input_shapes: List[List[int]]) -> None:
        """Writes types and shapes into the nodes of the graph, for inputs of these shapes."""
        where = "GeUtils.infer_shape"
        check.instance(where, Graph, graph=graph)
        check.listed(where, list, input_shapes=input_shapes)
        for place, shape in enumerate(input_shapes):
            check.dims(where, **{f"input_shapes[{place}]": shape})
        dims = int64s([dim for shape in input_shapes for dim in shape])
        ranks = (ctypes.c_size_t * len(input_shapes))(*map(len, input_shapes))
        status = lib.infer_shape(graph._native, dims, ranks, len(input_shapes))
        settle("InferShape", "ge::GeUtils::InferShape", status, "a session infers shapes when it compiles a graph")

    @staticmethod
    def check_node_support_on_aicore(node: Node) -> Tuple[bool, str]:
        """Whether the cores of the device can run the node; if not, why."""
        check.instance("GeUtils.check_node_support_on_aicore", Node, node=node)
        supported, reason = ctypes.c_bool(), ctypes.c_void_p()
        status = lib.node_support(node._native, ctypes.byref(supported), ctypes.byref(reason))
        symbol = "ge::GeUtils::CheckNodeSupportOnAicore"
        settle("CheckNodeSupportOnAicore", symbol, status, "there are no AI cores here")
        return supported.value, text(reason.value) or ""

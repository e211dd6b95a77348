# SPDX-License-Identifier: Apache-2.0
"""Objects that stand for one of the library: who makes them, how they end, and that they are not duplicated."""

import copy
import gc
import pickle

import pytest
from ge import _object
from ge.es import GraphBuilder, TensorHolder
from ge.graph import Format, Graph, Node, Operator, Shape, Tensor, TensorDesc
from ge.offline_compile import ModelBuffer
from ge.session import Session


def node():
    builder = GraphBuilder()
    return builder.build_and_reset([builder.create_input(0, name="x")]).find_node_by_name("x")


MAKERS = {"Graph": Graph, "GraphBuilder": GraphBuilder, "Node": node, "Session": Session, "Tensor": Tensor,
          "TensorDesc": TensorDesc}
WAYS = [(copy.copy, RuntimeError), (copy.deepcopy, RuntimeError), (pickle.dumps, TypeError)]


@pytest.mark.parametrize("name", list(MAKERS))
@pytest.mark.parametrize("duplicate, error", WAYS)
def test_what_is_bound_to_the_process_cannot_be_duplicated(name, duplicate, error):
    with pytest.raises(error, match=f"a {name} is bound to this process"):
        duplicate(MAKERS[name]())


def test_a_shape_is_only_a_list_and_can_be_duplicated():
    shape = Shape([2, 3])
    assert copy.deepcopy(shape) == pickle.loads(pickle.dumps(shape)) == shape


@pytest.mark.parametrize("kind, source", [(Node, "Graph.find_node_by_name"), (Operator, "callback"),
                                          (ModelBuffer, "build_model"), (TensorHolder, "GraphBuilder")])
def test_what_programs_do_not_make_says_where_it_comes_from(kind, source):
    with pytest.raises(RuntimeError, match=f"programs do not make a {kind.__name__}; get one from .*{source}"):
        kind()


def test_an_object_ends_once_and_keeps_what_it_needs_until_then():
    ended = []

    class Sample(_object.NativeObject):
        _release = staticmethod(ended.append)

    needed = Sample._adopt(1)
    sample = Sample._adopt(2, keeps=needed)
    del needed
    gc.collect()
    assert ended == []
    sample._end()
    assert ended == [2]
    del sample
    assert ended == [2, 1]


def test_an_object_whose_making_failed_has_nothing_to_end():
    ended = []

    class Sample(_object.NativeObject):
        _release = staticmethod(ended.append)

    with pytest.raises(RuntimeError):
        Sample()
    gc.collect()
    assert ended == []


def test_a_node_keeps_its_graph():
    found = node()  # graph and builder are gone
    gc.collect()
    assert (found.name, found.type) == ("x", "Data")
    user, _ = found.get_out_data_nodes_and_port_indexes(0)[0]
    del found
    gc.collect()
    assert user.type == "NetOutput"


GRAPH_CALLS = {
    "name": lambda graph: graph.name, "save": lambda graph: graph.save_to_air("x"),
    "load": lambda graph: graph.load_from_air("x"),
    "dump": lambda graph: graph.dump_to_stream(), "dump_to_file": lambda graph: graph.dump_to_file(),
    "find": lambda graph: graph.find_node_by_name("x"), "get_attr": lambda graph: graph.get_attr("x"),
    "set_attr": lambda graph: graph.set_attr("x", 1),
    "add_subgraph": lambda graph: graph.add_subgraph(Graph()),
    "remove_subgraph": lambda graph: graph.remove_subgraph("x"),
}
TENSOR_CALLS = {
    "data": lambda tensor: tensor.data, "desc": lambda tensor: tensor.get_tensor_desc(),
    "shape": lambda tensor: tensor.shape, "text": str,
    "placement": lambda tensor: tensor.placement, "to_host": lambda tensor: tensor.to_host(),
    "set_format": lambda tensor: tensor.set_format(Format.FORMAT_ND),
}
DESC_CALLS = {
    "shape": lambda desc: desc.shape, "origin_shape": lambda desc: desc.origin_shape,
    "format": lambda desc: desc.format, "data_type": lambda desc: desc.data_type,
    "set_shape": lambda desc: desc.set_shape([1]),
    "set_format": lambda desc: desc.set_format(Format.FORMAT_ND),
}
CALLS = {Graph: GRAPH_CALLS, Tensor: TENSOR_CALLS, TensorDesc: DESC_CALLS}


@pytest.mark.parametrize("kind, name", [(kind, name) for kind, calls in CALLS.items() for name in calls])
def test_an_object_that_has_ended_is_refused_and_never_followed(kind, name):
    gone = kind()
    gone._end()
    with pytest.raises(RuntimeError):
        CALLS[kind][name](gone)


def test_a_graph_that_has_ended_holds_nothing():
    gone = Graph()
    gone._end()
    assert gone.get_all_nodes() == gone.get_direct_nodes() == gone.get_all_subgraphs() == []
    assert gone.get_subgraph("x") is None

# SPDX-License-Identifier: Apache-2.0
"""ge.graph.Graph and Node. Doc: Graph, Node."""

import copy
import ctypes
import gc
import re

import pytest
from ge.es import GraphBuilder
from ge.es.all import If
from ge.graph import DataType, DumpFormat, Format, Graph, Node, Operator, Tensor, TensorDesc
from ge.graph.operator import create_operator
from ge.session import Session


@pytest.fixture
def graph():
    """input -> Add <- constant."""
    builder = GraphBuilder("small")
    x = builder.create_input(0, name="x", shape=[2, 2])
    return builder.build_and_reset([x + builder.create_const_float([1.0, 2.0, 3.0, 4.0], [2, 2])])


def branches():
    builder = GraphBuilder("outer")
    condition = builder.create_input(0, name="condition", data_type=DataType.DT_BOOL)
    x = builder.create_input(1, name="x", shape=[2])
    graphs = []
    for name, factor in (("doubled", 2.0), ("tripled", 3.0)):
        inner = GraphBuilder(name)
        graphs.append(inner.build_and_reset([inner.create_input(0, shape=[2]) * factor]))
    return builder.build_and_reset(If(condition, [x], 1, *graphs))


def by_type(graph, kind):
    return next(node for node in graph.get_all_nodes() if node.type == kind)


def test_nodes_come_in_the_order_they_were_made(graph):
    assert graph.name == "small"
    assert [(node.name, node.type) for node in graph.get_all_nodes()] == [("x", "Data"), ("Const_0", "Const"), ("Add_1", "Add"), ("NetOutput", "NetOutput")]
    assert [node.name for node in graph.get_direct_nodes()] == [node.name for node in graph.get_all_nodes()]
    assert graph.find_node_by_name("Add_1").type == "Add"
    with pytest.raises(RuntimeError, match="Failed to find Node name none"):
        graph.find_node_by_name("none")


def test_neighbours_are_told_with_their_places(graph):
    add = by_type(graph, "Add")
    assert (add.get_inputs_size(), add.get_outputs_size()) == (2, 1)
    source, output = add.get_in_data_nodes_and_port_indexes(1)
    assert (source.name, output) == ("Const_0", 0)
    assert [(user.name, place) for user, place in add.get_out_data_nodes_and_port_indexes(0)] == [("NetOutput", 0)]
    with pytest.raises(RuntimeError, match="Failed to get input data node for index 7"):
        add.get_in_data_nodes_and_port_indexes(7)
    with pytest.raises(RuntimeError, match="Failed to get output data node for index 7"):
        add.get_out_data_nodes_and_port_indexes(7)
    with pytest.raises(TypeError, match="Input index must be an integer"):
        add.get_in_data_nodes_and_port_indexes("0")
    with pytest.raises(TypeError, match="Output index must be an integer"):
        add.get_out_data_nodes_and_port_indexes("0")


def test_edges_can_be_added_and_removed(graph):
    data, add, constant = (by_type(graph, kind) for kind in ("Data", "Add", "Const"))
    graph.add_control_edge(constant, data)
    assert [node.name for node in data.get_in_control_nodes()] == ["Const_0"]
    assert [node.name for node in constant.get_out_control_nodes()] == ["x"]
    graph.remove_edge(constant, -1, data, -1)
    assert data.get_in_control_nodes() == []
    graph.remove_edge(constant, 0, add, 1)
    graph.add_data_edge(data, 0, add, 1)
    assert add.get_in_data_nodes_and_port_indexes(1)[0].name == "x"
    graph.remove_node(constant)
    assert "Const_0" not in [node.name for node in graph.get_all_nodes()]
    with pytest.raises(RuntimeError, match="Failed to add DataEdge from Node x, Port Index 0 to Node Add_1, Port Index 9"):
        graph.add_data_edge(data, 0, add, 9)
    with pytest.raises(RuntimeError, match="Failed to remove Edge from Node x, Port Index 3 to Node Add_1, Port Index 0"):
        graph.remove_edge(data, 3, add, 0)


@pytest.mark.parametrize("call, message", [
    (lambda g, n: g.remove_node(1), "node must be a Node"), (lambda g, n: g.add_control_edge(1, n), "src_node must be a Node"),
    (lambda g, n: g.add_control_edge(n, 1), "dst_node must be a Node"), (lambda g, n: g.add_data_edge(1, 0, n, 0), "src_node must be a Node"),
    (lambda g, n: g.add_data_edge(n, "0", n, 0), "src_port_index must be an integer"), (lambda g, n: g.remove_edge(n, 0, 1, 0), "dst_node must be a Node"),
    (lambda g, n: g.remove_edge(n, 0, n, "0"), "dst_port_index must be an integer"), (lambda g, n: g.find_node_by_name(1), "name must be a string"),
    (lambda g, n: g.get_attr(1), "Attribute key must be a string"), (lambda g, n: g.set_attr(1, 1), "Attribute key must be a string"),
    (lambda g, n: g.save_to_air(1), "file_path must be a string"), (lambda g, n: g.load_from_air(1), "file_path must be a string"),
    (lambda g, n: g.dump_to_stream("kTxt"), "Format must be in"), (lambda g, n: g.dump_to_file(suffix=1), "Suffix must be a string"),
    (lambda g, n: g.add_subgraph(1), "subgraph must be a Graph"), (lambda g, n: g.get_subgraph(1), "name must be a string"),
    (lambda g, n: g.remove_subgraph(1), "name must be a string"), (lambda g, n: n.get_attr(1), "Attribute key must be a string"),
    (lambda g, n: n.set_input_attr(1, 0, 1), "Attribute name must be a string"), (lambda g, n: n.set_input_attr("a", "0", 1), "Input index must be an integer"),
    (lambda g, n: n.get_output_attr("a", "0"), "Output index must be an integer"), (lambda g, n: n.has_attr(1), "attr_name must be a string"),
    (lambda g, n: n.get_input_desc("0"), "Input index must be an integer"), (lambda g, n: n.update_output_desc(0, 1), "tensor_desc must be a TensorDesc"),
    (lambda g, n: Graph(1), "Graph name must be a string"),
])
def test_wrong_types_are_refused_by_name(graph, call, message):
    with pytest.raises(TypeError, match=message):
        call(graph, by_type(graph, "Add"))


VALUES = ["text", "", "grün", 42, -7, 1 << 40, 0, 2.5, True, False, DataType.DT_BF16, DataType.DT_FLOAT, [1, 2, 3], [1.5, -2.5], [True, False], ["a", "b c", ""],
          [DataType.DT_INT8, DataType.DT_FLOAT], [[1, 2], [3], []]]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_attributes_come_back_with_value_and_type(graph, value):
    node = by_type(graph, "Add")
    graph.set_attr("own", value)
    node.set_attr("own", value)
    node.set_input_attr("own", 1, value)
    node.set_output_attr("own", 0, value)
    for got in (graph.get_attr("own"), node.get_attr("own"), node.get_input_attr("own", 1), node.get_output_attr("own", 0)):
        assert got == value and type(got) is type(value)
        if isinstance(value, list):
            assert [type(one) for one in got] == [type(one) for one in value]
    assert node.has_attr("own") and not node.has_attr("other")


def test_an_attribute_may_be_a_tensor(graph):
    graph.set_attr("value", Tensor([7], data_type=DataType.DT_INT32, shape=[]))
    got = graph.get_attr("value")
    assert isinstance(got, Tensor) and got.data == 7 and got.data_type == DataType.DT_INT32
    constant = by_type(graph, "Const").get_attr("value")
    assert constant.data == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("value, message", [([], "Empty list is not supported"), (None, "Unsupported attribute type"), ([1, "a"], "Unsupported attribute type"),
                                            ({"a": 1}, "Unsupported attribute type")])
def test_what_cannot_be_an_attribute_is_refused(graph, value, message):
    with pytest.raises(ValueError, match=message):
        graph.set_attr("own", value)


def test_a_missing_attribute_is_an_error(graph):
    with pytest.raises(RuntimeError, match="Failed to get attribute 'none' from Graph small"):
        graph.get_attr("none")
    with pytest.raises(RuntimeError, match="Failed to get attribute 'none' from Node"):
        by_type(graph, "Add").get_attr("none")


def test_descriptions_are_copies_that_can_be_written_back(graph):
    data = by_type(graph, "Data")
    desc = data.get_output_desc(0)
    assert desc.shape == [2, 2] and desc.format == Format.FORMAT_ND and desc.data_type == DataType.DT_FLOAT
    desc.set_shape([5, 5])
    assert data.get_output_desc(0).shape == [2, 2]
    data.update_output_desc(0, desc)
    data.update_input_desc(0, TensorDesc([-1, 3], Format.FORMAT_NCHW, DataType.DT_INT32))
    assert data.get_output_desc(0).shape == [5, 5]
    assert data.get_input_desc(0).shape.is_unknown_shape() and data.get_input_desc(0).data_type == DataType.DT_INT32
    with pytest.raises(RuntimeError, match="Failed to get input desc for index 9"):
        data.get_input_desc(9)
    with pytest.raises(RuntimeError, match="Failed to update output desc for index 9"):
        data.update_output_desc(9, desc)


def test_subgraphs_are_known_by_name():
    outer = branches()
    assert sorted(graph.name for graph in outer.get_all_subgraphs()) == ["doubled", "tripled"]
    inner = outer.get_subgraph("doubled")
    assert [node.type for node in inner.get_direct_nodes()] == ["Data", "Const", "Mul", "NetOutput"]
    assert outer.get_subgraph("none") is None
    assert len(outer.get_all_nodes()) == len(outer.get_direct_nodes()) + 8
    other = Graph("other")
    assert other.get_all_subgraphs() == [] and other.get_all_nodes() == []
    other.add_subgraph(inner)
    with pytest.raises(RuntimeError, match="Failed to add subgraph 'doubled' to graph 'other'"):
        other.add_subgraph(inner)
    other.remove_subgraph("doubled")
    assert other.get_all_subgraphs() == []
    with pytest.raises(RuntimeError, match="Failed to remove subgraph 'doubled' from graph 'other'"):
        other.remove_subgraph("doubled")


def test_a_graph_is_the_branch_of_one_operator_only():
    builder = GraphBuilder("outer")
    condition, x = builder.create_input(0, data_type=DataType.DT_BOOL), builder.create_input(1, shape=[2])
    inner = GraphBuilder("inner")
    branch = inner.build_and_reset([inner.create_input(0, shape=[2])])
    with pytest.raises(RuntimeError, match="Graph :inner already has an new owner builder :outer, cannot transfer ownership again"):
        If(condition, [x], 1, branch, branch)


def test_a_graph_comes_back_from_its_file(engine, tmp_path):
    """Doc Graph: save_to_air writes the graph to a file, load_from_air replaces a graph by a file's."""
    path = str(tmp_path / "outer.air")
    branches().save_to_air(path)
    loaded = Graph("empty")
    loaded.load_from_air(path)
    assert loaded.name == "outer" and sorted(graph.name for graph in loaded.get_all_subgraphs()) == ["doubled", "tripled"]
    session = Session()
    session.add_graph(1, loaded)
    for condition, factor in ((True, 2.0), (False, 3.0)):
        (result,) = session.run_graph(1, [Tensor([condition], data_type=DataType.DT_BOOL), Tensor([1.0, 10.0], shape=[2])])
        assert result.data == [factor, factor * 10]


def test_files_that_cannot_be_written_or_read_are_errors(graph, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError, match="Failed to save graph to AIR format; .*file"):
        graph.save_to_air(str(tmp_path / "file" / "g.air"))
    with pytest.raises(RuntimeError, match="Failed to load graph from AIR format; .*none.air"):
        graph.load_from_air(str(tmp_path / "none.air"))
    (tmp_path / "bad.air").write_bytes(b"\xff" * 100)
    with pytest.raises(RuntimeError, match="Failed to load graph from AIR format"):
        Graph().load_from_air(str(tmp_path / "bad.air"))


@pytest.mark.parametrize("format, name", [(DumpFormat.kOnnx, r"ge_onnx_\d+_graph_\d+_mine\.pbtxt"), (DumpFormat.kTxt, r"ge_\w*\d+_graph_\d+_mine\.txt"),
                                          (DumpFormat.kReadable, r"ge_readable_\d+_graph_\d+_mine\.txt")])
def test_a_graph_is_dumped_into_the_working_directory(graph, tmp_path, monkeypatch, format, name):
    monkeypatch.chdir(tmp_path)
    graph.dump_to_file(format, "mine")
    (file,) = tmp_path.iterdir()
    assert re.fullmatch(name, file.name) and "Add_1" in file.read_text()
    assert "Add_1" in graph.dump_to_stream(format)


def test_printing_a_graph_gives_the_readable_form(graph):
    assert str(graph) == graph.dump_to_stream() and "Node[type=Add]" in str(graph)


def test_nodes_keep_their_graph():
    builder = GraphBuilder("gone")
    graph = builder.build_and_reset([builder.create_input(0, name="x")])
    node = graph.find_node_by_name("x")
    del graph, builder
    gc.collect()
    assert node.name == "x"


@pytest.mark.parametrize("what", ["graph", "node"])
def test_graphs_and_nodes_cannot_be_copied(graph, what):
    one = graph if what == "graph" else by_type(graph, "Add")
    with pytest.raises(RuntimeError, match="does not support copy"):
        copy.copy(one)
    with pytest.raises(RuntimeError, match="does not support deepcopy"):
        copy.deepcopy(one)


def test_nodes_and_operators_are_not_made_by_hand():
    with pytest.raises(RuntimeError, match="Node objects should not be created directly"):
        Node()
    with pytest.raises(RuntimeError, match="Operator objects should not be created directly"):
        Operator()


def test_an_operator_can_be_filled_in_while_it_is_valid():
    from ge._native import lib

    handle = lib.operator_create(b"own", b"ConcatV2")
    with create_operator(handle) as operator:
        assert (operator.name, operator.type) == ("own", "ConcatV2")
        operator.set_attr("N", 2)
        operator.register_dynamic_input("x", 2)
        operator.register_optional_input("extra")
        for call, error, message in ((lambda: operator.register_input(""), TypeError, "name must be a non-empty string"),
                                     (lambda: operator.register_dynamic_output("y", 1.0), TypeError, "count must be an integer"),
                                     (lambda: operator.register_dynamic_output("y", -1), ValueError, "must be in uint32 range")):
            with pytest.raises(error, match=message):
                call()
    with pytest.raises(RuntimeError, match="Operator is only valid inside parse_node"):
        operator.name
    lib.operator_destroy(handle)


def test_null_handles_are_refused_and_never_followed(graph):
    handle, graph._handle = graph._handle, ctypes.c_void_p(None)
    try:
        for call in (lambda: graph.name, lambda: graph.save_to_air("x"), lambda: graph.load_from_air("x"), lambda: graph.dump_to_stream(),
                     lambda: graph.find_node_by_name("x")):
            with pytest.raises(RuntimeError, match="Failed to"):
                call()
        assert graph.get_all_nodes() == [] and graph.get_all_subgraphs() == []
    finally:
        graph._handle = handle

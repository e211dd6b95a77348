# SPDX-License-Identifier: Apache-2.0
"""Graphs, their nodes, and operators that are not nodes yet."""

import re

import pytest
from ge._native import lib
from ge.es import GraphBuilder
from ge.es.all import If
from ge.graph import DataType, DumpFormat, Format, Graph, Tensor, TensorDesc
from ge.graph.operator import create_operator
from ge.session import Session


@pytest.fixture
def graph():
    """x + a constant."""
    builder = GraphBuilder("small")
    x = builder.create_input(0, name="x", shape=[2, 2])
    return builder.build_and_reset([x + builder.create_const_float([1.0, 2.0, 3.0, 4.0], [2, 2])])


@pytest.fixture
def add(graph):
    return graph.find_node_by_name("Add_1")


def branches():
    """x * 2 or x * 3, as a condition says."""
    builder = GraphBuilder("outer")
    condition = builder.create_input(0, name="condition", data_type=DataType.DT_BOOL)
    x = builder.create_input(1, name="x", shape=[2])
    graphs = []
    for name, factor in (("doubled", 2.0), ("tripled", 3.0)):
        inner = GraphBuilder(name)
        graphs.append(inner.build_and_reset([inner.create_input(0, shape=[2]) * factor]))
    return builder.build_and_reset(If(condition, [x], 1, *graphs))


def names(nodes):
    return [node.name for node in nodes]


# --- nodes
def test_nodes_come_in_the_order_they_were_made(graph):
    assert graph.name == "small"
    kinds = {node.name: node.type for node in graph.get_all_nodes()}
    assert list(kinds.items()) == [("x", "Data"), ("Const_0", "Const"), ("Add_1", "Add"), ("NetOutput", "NetOutput")]
    assert names(graph.get_direct_nodes()) == list(kinds)


def test_a_node_is_found_by_its_name(graph):
    assert graph.find_node_by_name("Add_1").type == "Add"
    with pytest.raises(RuntimeError, match="no node of 'small' is called 'none'"):
        graph.find_node_by_name("none")


def test_a_node_that_is_removed_is_gone(graph):
    graph.remove_node(graph.find_node_by_name("Const_0"))
    assert "Const_0" not in names(graph.get_all_nodes())
    with pytest.raises(RuntimeError, match="Graph.remove_node: 'Mul_1' cannot be taken out of 'small'"):
        graph.remove_node(next(node for node in branches().get_all_nodes() if node.name == "Mul_1"))


def test_neighbours_are_told_with_their_places(add):
    assert (add.get_inputs_size(), add.get_outputs_size()) == (2, 1)
    source, output = add.get_in_data_nodes_and_port_indexes(1)
    assert (source.name, output) == ("Const_0", 0)
    assert [(user.name, place) for user, place in add.get_out_data_nodes_and_port_indexes(0)] == [("NetOutput", 0)]


@pytest.mark.parametrize("call", ["get_in_data_nodes_and_port_indexes", "get_out_data_nodes_and_port_indexes",
                                  "get_input_desc", "get_output_desc"])
def test_a_place_that_is_not_there_is_told_with_how_many_there_are(add, call):
    for place in (7, -1):
        with pytest.raises(RuntimeError, match=f"Node.{call}: .*{place}.* 'Add_1', which has 2 inputs and 1 outputs"):
            getattr(add, call)(place)


# --- edges
def test_control_edges_can_be_added_and_removed(graph):
    data, constant = graph.find_node_by_name("x"), graph.find_node_by_name("Const_0")
    graph.add_control_edge(constant, data)
    assert names(data.get_in_control_nodes()) == ["Const_0"]
    assert names(constant.get_out_control_nodes()) == ["x"]
    graph.remove_edge(constant, -1, data, -1)
    assert data.get_in_control_nodes() == constant.get_out_control_nodes() == []


def test_data_edges_can_be_added_and_removed(graph, add):
    data, constant = graph.find_node_by_name("x"), graph.find_node_by_name("Const_0")
    graph.remove_edge(constant, 0, add, 1)
    graph.add_data_edge(data, 0, add, 1)
    assert add.get_in_data_nodes_and_port_indexes(1)[0].name == "x"
    with pytest.raises(RuntimeError, match="output 0 of 'x', .* cannot be connected to input 9 of 'Add_1'"):
        graph.add_data_edge(data, 0, add, 9)
    with pytest.raises(RuntimeError, match="there is no edge from output 3 of 'x' to input 0 of 'Add_1'"):
        graph.remove_edge(data, 3, add, 0)


# --- attributes
VALUES = ["text", "", "grün", 42, -7, 1 << 40, 0, 2.5, True, False, DataType.DT_BF16, DataType.DT_FLOAT, [1, 2, 3],
          [1.5, -2.5], [True, False], ["a", "b c", ""], [DataType.DT_INT8, DataType.DT_FLOAT], [[1, 2], [3], []]]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_attributes_come_back_with_their_value_and_type(graph, add, value):
    graph.set_attr("own", value)
    add.set_attr("own", value)
    add.set_input_attr("own", 1, value)
    add.set_output_attr("own", 0, value)
    all_four = [graph.get_attr("own"), add.get_attr("own"), add.get_input_attr("own", 1), add.get_output_attr("own", 0)]
    for got in all_four:
        assert got == value and type(got) is type(value)
        if isinstance(value, list):
            assert [type(one) for one in got] == [type(one) for one in value]
    assert add.has_attr("own") and not add.has_attr("other")


def test_an_attribute_may_be_a_tensor_or_tensors(graph):
    graph.set_attr("value", Tensor([7], data_type=DataType.DT_INT32))
    got = graph.get_attr("value")
    assert isinstance(got, Tensor) and (got.data, got.data_type) == (7, DataType.DT_INT32)
    graph.set_attr("values", [Tensor([1.0]), Tensor([2.0])])
    assert [one.data for one in graph.get_attr("values")] == [1.0, 2.0]
    assert graph.find_node_by_name("Const_0").get_attr("value").data == [[1.0, 2.0], [3.0, 4.0]]


def test_an_attribute_that_is_not_there_is_an_error(graph, add):
    with pytest.raises(RuntimeError, match="Graph.get_attr: there is no attribute 'none' of the graph 'small'"):
        graph.get_attr("none")
    with pytest.raises(RuntimeError, match="Node.get_attr: there is no attribute 'none' of 'Add_1'"):
        add.get_attr("none")
    with pytest.raises(RuntimeError, match="Node.get_input_attr: there is no attribute 'none' at index 1 of 'Add_1'"):
        add.get_input_attr("none", 1)


# --- descriptions
def test_descriptions_are_copies_that_can_be_written_back(graph):
    data = graph.find_node_by_name("x")
    desc = data.get_output_desc(0)
    assert (desc.shape, desc.format, desc.data_type) == ([2, 2], Format.FORMAT_ND, DataType.DT_FLOAT)
    desc.set_shape([5, 5])
    assert data.get_output_desc(0).shape == [2, 2]
    data.update_output_desc(0, desc)
    data.update_input_desc(0, TensorDesc([-1, 3], Format.FORMAT_NCHW, DataType.DT_INT32))
    assert data.get_output_desc(0).shape == [5, 5]
    assert data.get_input_desc(0).shape.is_unknown_shape() and data.get_input_desc(0).data_type == DataType.DT_INT32
    with pytest.raises(RuntimeError, match=r"index 9 cannot be set to TensorDesc\(shape=\[5, 5\]"):
        data.update_output_desc(9, desc)


# --- subgraphs
def test_subgraphs_are_known_by_name():
    outer = branches()
    assert sorted(names(outer.get_all_subgraphs())) == ["doubled", "tripled"]
    inner = outer.get_subgraph("doubled").get_direct_nodes()
    assert [node.type for node in inner] == ["Data", "Const", "Mul", "NetOutput"]
    assert outer.get_subgraph("none") is None
    assert len(outer.get_all_nodes()) == len(outer.get_direct_nodes()) + 8


def test_subgraphs_can_be_added_and_removed():
    inner, other = branches().get_subgraph("doubled"), Graph("other")
    assert other.get_all_subgraphs() == other.get_all_nodes() == []
    other.add_subgraph(inner)  # a copy: it is part of another graph
    with pytest.raises(RuntimeError, match="'other' does not take 'doubled' as a subgraph"):
        other.add_subgraph(inner)
    other.remove_subgraph("doubled")
    assert other.get_all_subgraphs() == []
    with pytest.raises(RuntimeError, match="no subgraph of 'other' is called 'doubled'"):
        other.remove_subgraph("doubled")


def test_a_graph_is_the_branch_of_one_operator_only():
    builder = GraphBuilder("outer")
    condition, x = builder.create_input(0, data_type=DataType.DT_BOOL), builder.create_input(1, shape=[2])
    inner = GraphBuilder("inner")
    branch = inner.build_and_reset([inner.create_input(0, shape=[2])])
    with pytest.raises(RuntimeError, match="If: this Graph is part of the graph 'outer' already"):
        If(condition, [x], 1, branch, branch)
    assert "If" not in [node.type for node in builder.build_and_reset().get_all_nodes()]


# --- files
def test_a_graph_comes_back_from_its_file(engine, tmp_path):
    path = str(tmp_path / "outer.air")
    branches().save_to_air(path)
    loaded = Graph("empty")
    loaded.load_from_air(path)
    assert loaded.name == "outer" and sorted(names(loaded.get_all_subgraphs())) == ["doubled", "tripled"]
    session = Session()
    session.add_graph(1, loaded)
    for condition, factor in ((True, 2.0), (False, 3.0)):
        inputs = [Tensor([condition], data_type=DataType.DT_BOOL), Tensor([1.0, 10.0], shape=[2])]
        assert [one.data for one in session.run_graph(1, inputs)] == [[factor, factor * 10]]


def test_files_that_cannot_be_written_or_read_are_errors(graph, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "bad.air").write_bytes(b"\xff" * 100)
    with pytest.raises(RuntimeError, match="the graph was not written to .*file.g.air; "):
        graph.save_to_air(str(tmp_path / "file" / "g.air"))
    for name in ("none.air", "bad.air"):
        with pytest.raises(RuntimeError, match=f"no graph was read from .*{name}"):
            Graph().load_from_air(str(tmp_path / name))


@pytest.mark.parametrize("format, name", [(DumpFormat.kOnnx, r"ge_onnx_\d+_graph_\d+_mine\.pbtxt"),
                                          (DumpFormat.kTxt, r"ge_\w*\d+_graph_\d+_mine\.txt"),
                                          (DumpFormat.kReadable, r"ge_readable_\d+_graph_\d+_mine\.txt")])
def test_a_graph_is_dumped_into_the_working_directory(graph, tmp_path, monkeypatch, format, name):
    monkeypatch.chdir(tmp_path)
    graph.dump_to_file(format, "mine")
    (file,) = tmp_path.iterdir()
    assert re.fullmatch(name, file.name) and "Add_1" in file.read_text()
    assert "Add_1" in graph.dump_to_stream(format)


def test_printing_a_graph_gives_the_readable_form(graph):
    assert str(graph) == graph.dump_to_stream(DumpFormat.kReadable) and "Node[type=Add]" in str(graph)


# --- operators, as a callback of a plugin gets them
@pytest.fixture
def handle():
    made = lib.operator_create(b"own", b"ConcatV2")
    yield made
    lib.operator_destroy(made)  # create_operator leaves it to its owner


def test_an_operator_can_be_filled_in(handle):
    with create_operator(handle) as operator:
        assert (operator.name, operator.type) == ("own", "ConcatV2")
        operator.set_attr("N", 2)
        operator.register_dynamic_input("x", 2)
        operator.register_dynamic_output("more", 0)
        operator.register_input("extra")
        operator.register_optional_input("another")
        operator.register_output("result")


@pytest.mark.parametrize("call, error, words", [
    (lambda operator: operator.register_input(""), TypeError, "Operator.register_input: name is '' (str)"),
    (lambda operator: operator.set_attr(1, 1), TypeError, "Operator.set_attr: name is 1 (int)"),
    (lambda operator: operator.set_attr("N", None), ValueError, "Operator.set_attr: value is None"),
    (lambda operator: operator.register_dynamic_output("y", 1.0), TypeError, "count is 1.0 (float)"),
    (lambda operator: operator.register_dynamic_input("y", True), TypeError, "count is True (bool)"),
    (lambda operator: operator.register_dynamic_output("y", -1), ValueError, "give an int from 0 to 4294967295"),
])
def test_an_operator_refuses_wrong_arguments(handle, call, error, words):
    with create_operator(handle) as operator, pytest.raises(error, match=re.escape(words)):
        call(operator)


def test_an_operator_is_valid_inside_its_with_only(handle):
    with create_operator(handle) as operator:
        pass
    for call in (lambda: operator.name, lambda: operator.type, lambda: operator.set_attr("N", 2),
                 lambda: operator.register_output("y"), lambda: operator.register_dynamic_input("x", 1)):
        with pytest.raises(RuntimeError, match="this Operator is not valid any more"):
            call()

# SPDX-License-Identifier: Apache-2.0
"""Graphs built with ge.es: inputs, constants, attributes, scopes, outputs."""

import pytest
from ge.es import GraphBuilder, InputType, TensorHolder, attr_scope, control_dependency_scope
from ge.es import all as ops
from ge.es.tensor_like import convert_to_tensor_holder, resolve_builder
from ge.graph import DataType, Format, Graph, Tensor


@pytest.fixture
def builder():
    return GraphBuilder("built")


def value_of(builder, tensor):
    """The tensor that a constant of the builder holds."""
    return builder.build_and_reset().find_node_by_name(tensor.name).get_attr("value")


# --- inputs and variables
def test_an_input_is_what_it_was_told(builder):
    builder.create_input(0, name="image", type_str=InputType.DATA, data_type=DataType.DT_FLOAT16,
                         format=Format.FORMAT_NCHW, shape=[1, 3, 8, 8])
    later = builder.create_input(1)
    assert later.set_shape([4]).set_data_type(DataType.DT_INT32).set_format(Format.FORMAT_NHWC) is later
    graph = builder.build_and_reset()
    expected = {"image": ([1, 3, 8, 8], DataType.DT_FLOAT16, Format.FORMAT_NCHW),
                "input_1": ([4], DataType.DT_INT32, Format.FORMAT_NHWC)}
    for place, (name, told) in enumerate(expected.items()):
        node = graph.find_node_by_name(name)
        assert node.get_attr("index") == place
        for desc in (node.get_output_desc(0), node.get_input_desc(0)):
            assert (desc.shape, desc.data_type, desc.format) == told


@pytest.mark.parametrize("kind", [InputType.DATA, InputType.REF_DATA, InputType.AIPP_DATA])
def test_an_input_may_be_of_another_kind(builder, kind):
    builder.create_input(0, name="x", type_str=kind)
    assert builder.build_and_reset().find_node_by_name("x").type == kind.value


def test_a_kind_of_input_that_nobody_defines_is_named(builder):
    """Which kinds there are is up to the table of operators; Python knows one more."""
    with pytest.raises(RuntimeError, match="^GraphBuilder.create_input: 'x' .* the type AnyData is defined"):
        builder.create_input(0, name="x", type_str=InputType.ANY_DATA)
    assert builder.create_input(0, name="x").name == "x"  # the place is free


def test_several_inputs_are_made_at_once(builder):
    assert [one.name for one in builder.create_inputs(2)] == ["input_0", "input_1"]
    assert [one.name for one in builder.create_inputs(1, start_index=2)] == ["input_2"]
    graph = builder.build_and_reset()
    assert graph.find_node_by_name("input_0").get_output_desc(0).shape == []


def test_a_variable_is_a_node_of_its_own_name(builder):
    variable = builder.create_variable(3, "weight")
    assert variable.name == "weight" and variable.get_owner_builder() is builder
    node = builder.build_and_reset().find_node_by_name("weight")
    assert (node.type, node.get_attr("index")) == ("Variable", 3)


# --- constants
@pytest.mark.parametrize("method, arguments, data_type, value, shape", [
    ("create_const_int64", (5,), DataType.DT_INT64, 5, []),
    ("create_const_int64", ([1, 2, 3, 4], [2, 2]), DataType.DT_INT64, [[1, 2], [3, 4]], [2, 2]),
    ("create_const_int64", (7, [1, 1]), DataType.DT_INT64, [[7]], [1, 1]),
    ("create_const_int64", ([7], []), DataType.DT_INT64, 7, []),
    ("create_const_int64", ([],), DataType.DT_INT64, [], [0]),
    ("create_const_int32", ([1, -2],), DataType.DT_INT32, [1, -2], [2]),
    ("create_const_uint32", ([1, 2],), DataType.DT_UINT32, [1, 2], [2]),
    ("create_const_uint64", (1 << 63,), DataType.DT_UINT64, 1 << 63, []),
    ("create_const_float", ([1, 2.5],), DataType.DT_FLOAT, [1.0, 2.5], [2]),
    ("create_vector_int64", ([7, 8],), DataType.DT_INT64, [7, 8], [2]),
    ("create_scalar_int64", (-1,), DataType.DT_INT64, -1, []),
    ("create_scalar_int32", (-1,), DataType.DT_INT32, -1, []),
    ("create_scalar_uint64", (1,), DataType.DT_UINT64, 1, []),
    ("create_scalar_uint32", (0xFFFFFFFF,), DataType.DT_UINT32, 0xFFFFFFFF, []),
    ("create_scalar_float", (2,), DataType.DT_FLOAT, 2.0, []),
])
def test_constants_have_their_type_value_and_shape(builder, method, arguments, data_type, value, shape):
    held = value_of(builder, getattr(builder, method)(*arguments))
    assert (held.data_type, held.data, held.shape) == (data_type, value, shape)


@pytest.mark.parametrize("like, data_type", [
    (3, DataType.DT_INT64),
    (2.5, DataType.DT_FLOAT),
    ([1, 2], DataType.DT_INT64),
    ([[1, 2.5], [3, 4]], DataType.DT_FLOAT),
    ([[[1]], [[2]]], DataType.DT_INT64),
], ids=str)
def test_numbers_become_constants(builder, like, data_type):
    held = value_of(builder, convert_to_tensor_holder(like, builder))
    assert (held.data_type, held.data) == (data_type, like)


def test_tensors_and_none_stay_what_they_are(builder):
    x = builder.create_input(0)
    assert convert_to_tensor_holder(x, builder) is x
    assert convert_to_tensor_holder(None, builder) is None
    assert resolve_builder(1, None, x) is resolve_builder(builder, x) is builder


# --- outputs
def test_inputs_and_outputs_count_without_a_gap(builder):
    builder.create_input(0)
    last = builder.create_input(2)
    with pytest.raises(RuntimeError, match=r"the inputs of 'built' are \[0, 2\]; input 1 is missing"):
        builder.build_and_reset()
    builder.create_input(1)
    builder.set_graph_output(last, 1)
    with pytest.raises(RuntimeError, match="'built' has an output 1 already; the next free index is 0"):
        builder.set_graph_output(last, 1)
    with pytest.raises(RuntimeError, match=r"the outputs of 'built' are \[1\]; output 0 is missing"):
        builder.build_and_reset()
    builder.set_graph_output(last, 0)
    assert isinstance(builder.build_and_reset(), Graph)


def test_outputs_come_in_the_order_they_were_given(builder):
    x, y = builder.create_inputs(2)
    end = builder.build_and_reset([y, x, y]).find_node_by_name("NetOutput")
    sources = [end.get_in_data_nodes_and_port_indexes(place) for place in range(3)]
    assert [(node.name, output) for node, output in sources] == [("input_1", 0), ("input_0", 0), ("input_1", 0)]


def test_a_node_without_outputs_can_only_be_ordered(builder):
    x = builder.create_input(0)
    done = ops.NoOp(builder)
    assert isinstance(done, TensorHolder)
    builder.add_control_dependency(x, [done])
    with pytest.raises(RuntimeError, match="the node 'NoOp_0' has no output"):
        builder.set_graph_output(done, 0)
    with pytest.raises(ValueError, match="Relu: input x is 'NoOp_0', which has no outputs"):
        ops.Relu(done)


def test_a_builder_builds_once(builder):
    x = builder.create_input(0, name="x")
    builder.build_and_reset([x])
    calls = [lambda: builder.create_input(1), lambda: builder.create_inputs(1), lambda: builder.create_variable(0, "v"),
             lambda: builder.create_const_float(1.0), lambda: builder.create_scalar_int32(1),
             lambda: builder.create_vector_int64([1]), lambda: builder.set_graph_attr_int64("a", 1),
             lambda: builder.set_node_attr_bool(x, "a", True), lambda: builder.add_control_dependency(x, []),
             lambda: builder.set_graph_output(x, 1), builder.build_and_reset, lambda: x + x, lambda: ops.Relu(x),
             lambda: x.set_shape([1])]
    for call in calls:
        with pytest.raises(RuntimeError, match="the graph 'built' is built; make a new GraphBuilder"):
            call()
    assert x.name == "x"


def test_tensors_of_two_builders_do_not_mix():
    one, other = GraphBuilder("one"), GraphBuilder("other")
    first, second = one.create_input(0), other.create_input(0)
    for call in (lambda: first + second, lambda: ops.Maximum(first, second), lambda: ops.ConcatV2([first, second], 0)):
        with pytest.raises(ValueError, match="is 'input_0' of the builder 'other'; give a tensor of 'one'"):
            call()
    kinds = [node.type for node in one.build_and_reset().get_all_nodes()]
    assert not {"Add", "Maximum", "ConcatV2"} & set(kinds)  # what failed left no node behind


def test_a_tensor_is_the_attribute_of_one_operator_only(builder):
    value = Tensor([1.0])
    ops.Const(builder, value=value)
    with pytest.raises(RuntimeError, match="Const: this Tensor is part of the graph 'built' already"):
        ops.Const(builder, value=value)
    assert value.data == 1.0


# --- attributes and order
def test_attributes_of_the_graph_its_nodes_and_their_tensors(builder):
    x = builder.create_input(0, name="x")
    values = {"int64": 5, "string": "text", "bool": True}
    for kind, value in values.items():
        getattr(builder, f"set_graph_attr_{kind}")(f"g_{kind}", value)
        getattr(builder, f"set_node_attr_{kind}")(x, f"n_{kind}", value)
        getattr(builder, f"set_tensor_attr_{kind}")(x, f"t_{kind}", value)
    graph = builder.build_and_reset([x])
    node = graph.find_node_by_name("x")
    for kind, value in values.items():
        for got in (graph.get_attr(f"g_{kind}"), node.get_attr(f"n_{kind}"), node.get_output_attr(f"t_{kind}", 0)):
            assert got == value and type(got) is type(value)


def test_nodes_get_the_attributes_of_the_scopes_around_them(builder):
    x = builder.create_input(0)
    with attr_scope({"label": "outer", "rank": 1}):
        first = ops.Relu(x)
        with attr_scope({"label": "inner"}):
            second = x + 1.0
        third = ops.Relu(x)
    last = ops.Relu(x)
    graph = builder.build_and_reset()
    nodes = [graph.find_node_by_name(tensor.name) for tensor in (first, second, third)]
    assert [node.get_attr("label") for node in nodes] == ["outer", "inner", "outer"]
    assert [node.get_attr("rank") for node in nodes] == [1, 1, 1]
    assert not graph.find_node_by_name(last.name).has_attr("label")


def test_a_scope_ends_with_an_exception_too(builder):
    x = builder.create_input(0)
    with pytest.raises(KeyError), attr_scope({"label": "lost"}), control_dependency_scope([x]):
        raise KeyError
    y = ops.Relu(x)
    node = builder.build_and_reset().find_node_by_name(y.name)
    assert not node.has_attr("label") and node.get_in_control_nodes() == []


def test_nodes_run_after_those_of_the_scopes_around_them(builder):
    x, y = builder.create_inputs(2)
    with control_dependency_scope([y]), control_dependency_scope([x]):
        late = ops.Relu(x)
    free = ops.Relu(x)
    builder.add_control_dependency(free, [late])
    graph = builder.build_and_reset()
    earlier = [node.name for node in graph.find_node_by_name(late.name).get_in_control_nodes()]
    assert sorted(earlier) == ["input_0", "input_1"]
    assert [node.name for node in graph.find_node_by_name(free.name).get_in_control_nodes()] == [late.name]

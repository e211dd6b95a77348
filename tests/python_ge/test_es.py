# SPDX-License-Identifier: Apache-2.0
"""ge.es: graphs built the eager way, and what they compute. Doc: GraphBuilder, TensorHolder."""

import copy
import inspect

import pytest
from ge.error import GeError
from ge.es import GraphBuilder, InputType, TensorHolder, attr_scope, control_dependency_scope, get_plugin, list_plugins
from ge.es import all as ops
from ge.graph import DataType, Format, Graph, Tensor
from ge.session import Session

np = pytest.importorskip("numpy", reason="results are compared with numpy's")

TYPES = {np.dtype(np.float32): DataType.DT_FLOAT, np.dtype(np.float16): DataType.DT_FLOAT16, np.dtype(np.int32): DataType.DT_INT32,
         np.dtype(np.int64): DataType.DT_INT64, np.dtype(np.bool_): DataType.DT_BOOL}
RANDOM = np.random.default_rng(7)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def compute(function, *arrays):
    """What function(*tensors) makes of the arrays, in a session."""
    builder = GraphBuilder("computed")
    inputs = [builder.create_input(place, data_type=TYPES[array.dtype], shape=list(array.shape)) for place, array in enumerate(arrays)]
    made = function(*inputs)
    graph = builder.build_and_reset(list(made) if isinstance(made, (list, tuple)) else [made])
    session = Session()
    session.add_graph(1, graph)
    tensors = [Tensor(array.flatten().tolist(), None, TYPES[array.dtype], Format.FORMAT_ND, list(array.shape)) for array in arrays]
    results = [np.array(one.get_data()) for one in session.run_graph(1, tensors)]
    return results if isinstance(made, (list, tuple)) else results[0]


A, B = normal(3, 4), normal(3, 4)


@pytest.mark.parametrize("function, expected", [
    (lambda a, b: a + b, A + B), (lambda a, b: a - b, A - B), (lambda a, b: a * b, A * B), (lambda a, b: a / b, A / B),
    (lambda a, b: a + 1.5, A + 1.5), (lambda a, b: 1.5 - a, 1.5 - A), (lambda a, b: 2.0 / b, 2 / B), (lambda a, b: 3.0 * a, 3 * A),
    (lambda a, b: a + [1.0, 2.0, 3.0, 4.0], A + [1, 2, 3, 4]), (lambda a, b: [[1.0], [2.0], [3.0]] - b, [[1], [2], [3]] - B),
    (lambda a, b: ops.MatMul(a, b, None, transpose_x2=True), A @ B.T), (lambda a, b: ops.Maximum(a, b), np.maximum(A, B)),
    (lambda a, b: ops.Relu(a), np.maximum(A, 0)), (lambda a, b: ops.Exp(a), np.exp(A)), (lambda a, b: ops.Transpose(a, [1, 0]), A.T),
    (lambda a, b: ops.ReduceSum(a, [1], keep_dims=True), A.sum(1, keepdims=True)), (lambda a, b: ops.ConcatV2([a, b], 0, N=2), np.concatenate([A, B])),
    (lambda a, b: ops.Cast(a, dst_type=DataType.DT_INT32), A.astype(np.int32)), (lambda a, b: ops.Reshape(a, [4, 3]), A.reshape(4, 3)),
    (lambda a, b: ops.Greater(a, b), A > B), (lambda a, b: ops.GatherV2(a, [2, 0], 0), A[[2, 0]]),
], ids=lambda value: None)
def test_operators_compute_what_numpy_does(engine, function, expected):
    np.testing.assert_allclose(compute(function, A, B), expected, rtol=1e-5, atol=1e-6)


def test_layers_compute_what_torch_does(engine, monkeypatch):
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # torch alone: torch_npu would take the device for itself
    torch = pytest.importorskip("torch", reason="results are compared with torch's")
    functional = torch.nn.functional
    image, kernel, gamma, beta = normal(1, 3, 8, 8), normal(4, 3, 3, 3), normal(8), normal(8)

    def network(x, w, g, b):
        x = x.set_format(Format.FORMAT_NCHW)
        w = w.set_format(Format.FORMAT_NCHW)
        y = ops.Relu(ops.Conv2D(x, w, strides=[1, 1, 1, 1], pads=[1, 1, 1, 1], data_format="NCHW"))
        normed = ops.LayerNormV4(y, [8], g, b, epsilon=1e-5)
        return [normed.y, ops.SoftmaxV2(normed.y, axes=[-1])]

    got = compute(network, image, kernel, gamma, beta)
    x, w, g, b = map(torch.from_numpy, (image, kernel, gamma, beta))
    y = functional.layer_norm(functional.relu(functional.conv2d(x, w, padding=1)), [8], g, b, 1e-5)
    np.testing.assert_allclose(got[0], y.numpy(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got[1], torch.softmax(y, -1).numpy(), rtol=1e-3, atol=1e-4)


def test_an_operator_with_several_outputs_gives_them_by_name(engine):
    """Doc GraphBuilder, functions of operators: several outputs are attributes of the result."""
    def largest(x):
        found = ops.TopKV2(x, np.int64(2).item(), sorted=True)
        assert isinstance(found, ops.TopKV2Output)
        return [found.values, found.indices]

    values, indices = compute(largest, A)
    np.testing.assert_allclose(values, -np.sort(-A)[:, :2])
    np.testing.assert_array_equal(indices, np.argsort(-A)[:, :2])


def test_an_operator_with_any_number_of_outputs_gives_a_list(engine):
    parts = compute(lambda x: ops.SplitV(x, [1, 3], 1, 2, num_split=2), A)
    np.testing.assert_array_equal(parts[0], A[:, :1])
    np.testing.assert_array_equal(parts[1], A[:, 1:])


def test_whole_numbers_take_the_type_that_the_definition_has(engine):
    """Samples of CANN pass the axis of Split as it is; its definition has int32 alone."""
    def halves(x):
        made = ops.Split(1, x, 2, num_split=2)
        axis, _ = made[0]._get_node_snapshot().get_in_data_nodes_and_port_indexes(0)
        assert axis.get_attr("value").data_type == DataType.DT_INT32
        return made

    left, right = compute(halves, A)
    np.testing.assert_array_equal(np.concatenate([left, right], 1), A)
    builder = GraphBuilder("wide")
    total = ops.Reshape(builder.create_input(0), [1, 1])
    assert total._get_node_snapshot().get_in_data_nodes_and_port_indexes(1)[0].get_attr("value").data_type == DataType.DT_INT64


def test_inputs_that_may_be_absent_are_left_out(engine):
    bias = normal(3)
    np.testing.assert_allclose(compute(lambda a, b: ops.MatMulV2(a, b, transpose_x2=True), A, B), A @ B.T, rtol=1e-5)
    np.testing.assert_allclose(compute(lambda a, b, c: ops.MatMulV2(a, b, c, transpose_x2=True), A, B, bias), A @ B.T + bias, rtol=1e-5)


def test_a_loop_runs_its_body_while_the_condition_holds(engine):
    builder = GraphBuilder("loop")
    number, total = builder.create_input(0, data_type=DataType.DT_INT32), builder.create_input(1, data_type=DataType.DT_INT32)
    condition = GraphBuilder("condition")
    first = condition.create_input(0, data_type=DataType.DT_INT32)
    condition.create_input(1, data_type=DataType.DT_INT32)
    condition = condition.build_and_reset([ops.Greater(first, first.get_owner_builder().create_scalar_int32(0))])
    body = GraphBuilder("body")
    n, sum_ = body.create_input(0, data_type=DataType.DT_INT32), body.create_input(1, data_type=DataType.DT_INT32)
    body = body.build_and_reset([n - body.create_scalar_int32(1), sum_ + n])
    session = Session()
    session.add_graph(1, builder.build_and_reset(ops.While([number, total], 2, condition, body)))
    results = session.run_graph(1, [Tensor([10], data_type=DataType.DT_INT32), Tensor([0], data_type=DataType.DT_INT32)])
    assert [one.data for one in results] == [0, 55]


def test_a_variable_is_a_node_of_its_own_name():
    builder = GraphBuilder("variables")
    assert builder.create_variable(0, "weight").name == "weight"


# --- constants
@pytest.mark.parametrize("make, data_type, value, shape", [
    (lambda b: b.create_const_int64(5), DataType.DT_INT64, 5, []), (lambda b: b.create_const_int64([1, 2, 3, 4], [2, 2]), DataType.DT_INT64, [[1, 2], [3, 4]], [2, 2]),
    (lambda b: b.create_const_int32([1, -2]), DataType.DT_INT32, [1, -2], [2]), (lambda b: b.create_const_uint32([1, 2]), DataType.DT_UINT32, [1, 2], [2]),
    (lambda b: b.create_const_uint64(1 << 63), DataType.DT_UINT64, 1 << 63, []), (lambda b: b.create_const_float([1, 2.5]), DataType.DT_FLOAT, [1.0, 2.5], [2]),
    (lambda b: b.create_vector_int64([7, 8]), DataType.DT_INT64, [7, 8], [2]), (lambda b: b.create_scalar_float(2), DataType.DT_FLOAT, 2.0, []),
    (lambda b: b.create_scalar_uint32(0xFFFFFFFF), DataType.DT_UINT32, 0xFFFFFFFF, []), (lambda b: b.create_scalar_int32(-1), DataType.DT_INT32, -1, []),
])
def test_constants_have_their_type_value_and_shape(make, data_type, value, shape):
    builder = GraphBuilder("constants")
    held = make(builder)._get_node_snapshot().get_attr("value")
    assert (held.data_type, held.data, held.shape) == (data_type, value, shape)


@pytest.mark.parametrize("call, error, message", [
    (lambda b: b.create_input("0"), TypeError, "Input index must be an integer"), (lambda b: b.create_input(0, shape="x"), TypeError, "Shape must be a list of integers"),
    (lambda b: b.create_inputs(0), TypeError, "Number of inputs must be a positive integer"),
    (lambda b: b.create_inputs(1, -1), TypeError, "Start index must be a non-negative integer"),
    (lambda b: b.create_const_int64("x"), TypeError, "Value must be an integer or list of integers"),
    (lambda b: b.create_const_float("x"), TypeError, "Value must be a float or list of floats"),
    (lambda b: b.create_const_int64([1, 2, 3], [2, 2]), ValueError, r"Value count \(3\) doesn't match shape \[2, 2\] \(expected 4 elements\)"),
    (lambda b: b.create_vector_int64(1), TypeError, "Value must be a list of integers"), (lambda b: b.create_scalar_int64(1.5), TypeError, "Value must be an integer"),
    (lambda b: b.create_scalar_float("x"), TypeError, "Value must be a number"), (lambda b: b.create_scalar_uint64(-1), ValueError, "Value must be non-negative"),
    (lambda b: b.create_scalar_uint32(1 << 32), ValueError, r"Value must be in range \[0, 2\^32-1\]"),
    (lambda b: b.create_variable("0", "n"), TypeError, "Index must be an integer"), (lambda b: b.create_variable(0, 1), TypeError, "Name must be a string"),
    (lambda b: b.set_graph_output(1, 0), TypeError, "Tensor must be a TensorHolder"), (lambda b: b.set_graph_output(b.create_input(0), "0"), TypeError, "Output index"),
    (lambda b: b.build_and_reset(1), TypeError, "Outputs must be a list"), (lambda b: b.build_and_reset([1]), TypeError, "All outputs must be TensorHolder objects"),
    (lambda b: b.set_graph_attr_int64(1, 1), TypeError, "Attribute name must be a string"), (lambda b: b.set_graph_attr_bool("a", 1), TypeError, "Value must be a boolean"),
    (lambda b: b.add_control_dependency(b.create_input(0), 1), TypeError, "src_tensors must be a list"),
    (lambda b: b.create_input(0).set_shape(1), TypeError, "Shape must be a list of integers"),
    (lambda b: b.create_input(0).set_data_type(1), TypeError, "Data type must be a DataType enum"),
    (lambda b: b.create_input(0) + "x", TypeError, "Value must be TensorHolder or int"),
    (lambda b: ops.Cast(b.create_input(0), dst_type="x"), TypeError, "attribute dst_type is 'x', but must be Int"),
    (lambda b: ops.Split(0, b.create_input(0), -1, num_split=1), TypeError, "the number of outputs y must be an integer"),
    (lambda b: ops.ConcatV2([1, 2], 0), ValueError, "Please ensure at least one input tensor"),
    (lambda b: GraphBuilder(1), TypeError, "Graph name must be a string"), (lambda b: TensorHolder(), RuntimeError, "TensorHolder objects should not be created directly"),
])
def test_wrong_arguments_are_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call(GraphBuilder("wrong"))


# --- building
def test_inputs_and_outputs_count_without_a_gap():
    builder = GraphBuilder("gaps")
    builder.create_input(0)
    with pytest.raises(RuntimeError, match="Failed to create input; the index 0 is taken"):
        builder.create_input(0)
    last = builder.create_input(2)
    with pytest.raises(RuntimeError, match=r"Failed to build graph; inputs must count from 0 without a gap, but are \[0, 2\]"):
        builder.build_and_reset()
    builder.create_input(1)
    builder.set_graph_output(last, 1)
    with pytest.raises(RuntimeError, match="Failed to set graph output for graph gaps output index 1; the index is taken"):
        builder.set_graph_output(last, 1)
    with pytest.raises(RuntimeError, match="outputs must count from 0"):
        builder.build_and_reset()
    builder.set_graph_output(last, 0)
    assert isinstance(builder.build_and_reset(), Graph)


def test_a_builder_builds_once():
    """Doc GraphBuilder: after build_and_reset the builder cannot be used any more."""
    builder = GraphBuilder("once")
    x = builder.create_input(0, name="x")
    builder.build_and_reset([x])
    for call in (lambda: builder.create_input(1), lambda: builder.create_const_float(1.0), builder.build_and_reset, lambda: x + x, lambda: ops.Relu(x),
                 lambda: x.set_shape([1]), lambda: builder.set_graph_attr_int64("a", 1)):
        with pytest.raises(RuntimeError, match="GraphBuilder has already been built. Create a new GraphBuilder to build another graph."):
            call()
    assert x.name == "x"


def test_tensors_of_two_builders_do_not_mix():
    one, other = GraphBuilder("one"), GraphBuilder("other")
    with pytest.raises(ValueError, match=r"Cannot perform add: tensors from different GraphBuilders \('one' vs 'other'\)"):
        one.create_input(0) + other.create_input(0)
    with pytest.raises(ValueError, match="comes from the GraphBuilder 'other', not from 'one'"):
        ops.Maximum(one.create_input(1), other.create_input(1))
    kinds = [node.type for node in one.build_and_reset().get_all_nodes()]
    assert "Maximum" not in kinds  # what failed left nothing behind


def test_an_input_says_what_it_was_told():
    builder = GraphBuilder("inputs")
    builder.create_input(0, name="image", type_str=InputType.DATA, data_type=DataType.DT_FLOAT16, format=Format.FORMAT_NCHW, shape=[1, 3, 8, 8])
    builder.create_input(1).set_shape([4]).set_data_type(DataType.DT_INT32).set_format(Format.FORMAT_NHWC)
    graph = builder.build_and_reset()
    image, other = graph.find_node_by_name("image"), graph.find_node_by_name("input_1")
    for desc in (image.get_output_desc(0), image.get_input_desc(0)):
        assert (desc.shape, desc.data_type, desc.format) == ([1, 3, 8, 8], DataType.DT_FLOAT16, Format.FORMAT_NCHW)
    for desc in (other.get_output_desc(0), other.get_input_desc(0)):
        assert (desc.shape, desc.data_type, desc.format) == ([4], DataType.DT_INT32, Format.FORMAT_NHWC)
    assert image.get_attr("index") == 0 and other.get_attr("index") == 1


def test_an_input_that_says_nothing_is_what_the_first_run_brings(engine):
    """CANN's samples make inputs by create_inputs and run the graph on matrices."""
    builder = GraphBuilder("open")
    left, right = builder.create_inputs(2)
    session = Session()
    session.add_graph(1, builder.build_and_reset([ops.MatMul(left, right, None, transpose_x2=True)]))
    tensors = [Tensor(array.flatten().tolist(), shape=list(array.shape)) for array in (A, B)]
    for _ in range(2):
        (result,) = session.run_graph(1, tensors)
        np.testing.assert_allclose(np.array(result.data), A @ B.T, rtol=1e-5)
    assert left._get_node_snapshot().get_output_desc(0).shape == []  # Doc GraphBuilder: without a shape it is a scalar


def test_attributes_of_graph_node_and_tensor():
    builder = GraphBuilder("attributes")
    x = builder.create_input(0, name="x")
    for kind, value in (("int64", 5), ("string", "text"), ("bool", True)):
        getattr(builder, f"set_graph_attr_{kind}")(f"g_{kind}", value)
        getattr(builder, f"set_node_attr_{kind}")(x, f"n_{kind}", value)
        getattr(builder, f"set_tensor_attr_{kind}")(x, f"t_{kind}", value)
    graph = builder.build_and_reset([x])
    node = graph.find_node_by_name("x")
    for kind, value in (("int64", 5), ("string", "text"), ("bool", True)):
        assert graph.get_attr(f"g_{kind}") == node.get_attr(f"n_{kind}") == node.get_output_attr(f"t_{kind}", 0) == value


def test_attr_scope_marks_the_nodes_made_in_it():
    builder = GraphBuilder("scopes")
    x = builder.create_input(0)
    with attr_scope({"label": "outer", "rank": 1}):
        first = ops.Relu(x)
        with attr_scope({"label": "inner"}):
            second = x + 1.0
    third = ops.Relu(x)
    nodes = [tensor._get_node_snapshot() for tensor in (first, second, third)]
    assert [node.get_attr("label") for node in nodes[:2]] == ["outer", "inner"] and nodes[1].get_attr("rank") == 1
    assert not nodes[2].has_attr("label")


def test_control_dependency_scope_orders_the_nodes_made_in_it():
    builder = GraphBuilder("order")
    x, y = builder.create_inputs(2)
    with control_dependency_scope([y]):
        with control_dependency_scope([x]):
            late = ops.Relu(x)
    free = ops.Relu(x)
    builder.add_control_dependency(free, [late])
    assert sorted(node.name for node in late._get_node_snapshot().get_in_control_nodes()) == ["input_0", "input_1"]
    assert [node.name for node in free._get_node_snapshot().get_in_control_nodes()] == [late.name]


def test_a_builder_cannot_be_copied():
    with pytest.raises(RuntimeError, match="GraphBuilder does not support copy"):
        copy.copy(GraphBuilder())
    with pytest.raises(RuntimeError, match="GraphBuilder does not support deepcopy"):
        copy.deepcopy(GraphBuilder())


# --- the functions of operators
def test_every_operator_of_the_table_has_a_function(root):
    rows = [line.split("\t") for line in (root / "src" / "ops" / "table" / "ge_ir.tsv").read_text().splitlines() if line[0] != "#"]
    left_out = {row[0] for row in rows[1:] if not hasattr(ops, row[0])}
    assert left_out >= {"Data", "NetOutput"} and len(left_out) < 15, left_out
    assert len(ops.__all__) > 2000 and set(ops.__all__) <= {row[0] for row in rows}


@pytest.mark.parametrize("name, expected", [
    ("Add", "(x1, x2)"), ("MatMul", "(x1, x2, bias=None, *, transpose_x1=False, transpose_x2=False)"),
    ("Split", "(split_dim, x, y_num, *, num_split)"), ("If", "(cond, input, output_num, then_branch, else_branch)"),
    ("Const", "(owner_graph_builder, *, value=None)"), ("Assign", "(ref, value, *, validate_shape=True, use_locking=False)"),
])
def test_signatures_follow_the_definitions(name, expected):
    """Doc of the generated functions: inputs, number of dynamic outputs, subgraphs, then attributes by keyword."""
    signature = inspect.signature(getattr(ops, name))
    bare = signature.replace(return_annotation=inspect.Signature.empty,
                             parameters=[one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()])
    assert str(bare) == expected


def test_operators_can_be_had_under_every_name():
    assert list_plugins() == ["all", "cv", "math", "nn", "transformer"]
    from ge.es.math import Add
    from ge.es.nn import Relu

    assert Add is ops.Add and Relu is ops.Relu and get_plugin("transformer").SoftmaxV2 is ops.SoftmaxV2
    assert get_plugin("none") is None and get_plugin(None) is None


def test_a_function_of_an_operator_that_cannot_run_builds_and_the_run_names_it(engine):
    builder = GraphBuilder("stranger")
    y = ops.Acos(builder.create_input(0, shape=[2])) + ops.AGLU(builder.create_input(1, shape=[2, 2]), builder.create_input(2, shape=[2, 2]), activate_func="x")
    session = Session()
    session.add_graph(1, builder.build_and_reset([y]))
    with pytest.raises(GeError, match="AGLU"):
        session.run_graph(1, [Tensor([0.5, 0.5], shape=[2]), Tensor([1.0] * 4, shape=[2, 2]), Tensor([1.0] * 4, shape=[2, 2])])

# SPDX-License-Identifier: Apache-2.0
"""The functions of ge.es.all: one per operator, and what the graphs compute that they build."""

import inspect

import pytest
from ge.error import GeError
from ge.es import GraphBuilder, get_plugin, list_plugins
from ge.es import all as ops
from ge.graph import DataType, Format, Tensor
from ge.session import Session

np = pytest.importorskip("numpy", reason="results are compared with numpy's")

TYPES = {np.dtype(np.float32): DataType.DT_FLOAT, np.dtype(np.int32): DataType.DT_INT32}
RANDOM = np.random.default_rng(7)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def run(graph, tensors):
    session = Session()
    session.add_graph(1, graph)
    return [np.array(one.data) for one in session.run_graph(1, tensors)]


def compute(function, *arrays):
    """What function(*tensors) makes of the arrays."""
    builder = GraphBuilder("computed")
    inputs = [builder.create_input(place, data_type=TYPES[array.dtype], shape=list(array.shape))
              for place, array in enumerate(arrays)]
    made = function(*inputs)
    many = isinstance(made, list)
    tensors = [Tensor(array.flatten().tolist(), data_type=TYPES[array.dtype], shape=list(array.shape))
               for array in arrays]
    results = run(builder.build_and_reset(made if many else [made]), tensors)
    return results if many else results[0]


A, B = normal(3, 4), normal(3, 4)


@pytest.mark.parametrize("function, expected", [
    (lambda a, b: a + b, A + B),
    (lambda a, b: a - b, A - B),
    (lambda a, b: a * b, A * B),
    (lambda a, b: a / b, A / B),
    (lambda a, b: a.add(b).sub(1.0).mul(2.0).div(4.0), (A + B - 1) * 2 / 4),
    (lambda a, b: a + 1.5, A + 1.5),
    (lambda a, b: 1.5 + a, A + 1.5),
    (lambda a, b: 1.5 - a, 1.5 - A),
    (lambda a, b: 2.0 / b, 2 / B),
    (lambda a, b: 3.0 * a, 3 * A),
    (lambda a, b: a + [1.0, 2.0, 3.0, 4.0], A + [1, 2, 3, 4]),
    (lambda a, b: [[1.0], [2.0], [3.0]] - b, [[1], [2], [3]] - B),
    (lambda a, b: ops.MatMul(a, b, None, transpose_x2=True), A @ B.T),
    (lambda a, b: ops.Maximum(a, b), np.maximum(A, B)),
    (lambda a, b: ops.Relu(a), np.maximum(A, 0)),
    (lambda a, b: ops.Exp(a), np.exp(A)),
    (lambda a, b: ops.Transpose(a, [1, 0]), A.T),
    (lambda a, b: ops.ReduceSum(a, [1], keep_dims=True), A.sum(1, keepdims=True)),
    (lambda a, b: ops.ConcatV2([a, b], 0, N=2), np.concatenate([A, B])),
    (lambda a, b: ops.Cast(a, dst_type=DataType.DT_INT32), A.astype(np.int32)),
    (lambda a, b: ops.Reshape(a, [4, 3]), A.reshape(4, 3)),
    (lambda a, b: ops.Greater(a, b), A > B),
    (lambda a, b: ops.GatherV2(a, [2, 0], 0), A[[2, 0]]),
], ids=lambda value: "")
def test_graphs_compute_what_numpy_does(engine, function, expected):
    np.testing.assert_allclose(compute(function, A, B), expected, rtol=1e-5, atol=1e-6)


def test_layers_compute_what_torch_does(engine, monkeypatch):
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # torch alone: torch_npu would take the device for itself
    torch = pytest.importorskip("torch", reason="results are compared with torch's")
    image, kernel, gamma, beta = normal(1, 3, 8, 8), normal(4, 3, 3, 3), normal(8), normal(8)

    def network(x, w, g, b):
        for tensor in (x, w):
            tensor.set_format(Format.FORMAT_NCHW)
        y = ops.Relu(ops.Conv2D(x, w, strides=[1, 1, 1, 1], pads=[1, 1, 1, 1], data_format="NCHW"))
        normed = ops.LayerNormV4(y, [8], g, b, epsilon=1e-5)
        return [normed.y, ops.SoftmaxV2(normed.y, axes=[-1])]

    got = compute(network, image, kernel, gamma, beta)
    x, w, g, b = map(torch.from_numpy, (image, kernel, gamma, beta))
    y = torch.relu(torch.nn.functional.conv2d(x, w, padding=1))
    y = torch.nn.functional.layer_norm(y, [8], g, b, 1e-5)
    np.testing.assert_allclose(got[0], y.numpy(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got[1], torch.softmax(y, -1).numpy(), rtol=1e-3, atol=1e-4)


def test_several_outputs_are_given_by_name(engine):
    def largest(x):
        found = ops.TopKV2(x, 2, sorted=True)
        assert isinstance(found, ops.TopKV2Output) and repr(found) == "TopKV2Output(values, indices)"
        return [found.values, found.indices]

    values, indices = compute(largest, A)
    np.testing.assert_allclose(values, -np.sort(-A)[:, :2])
    np.testing.assert_array_equal(indices, np.argsort(-A)[:, :2])


def test_any_number_of_outputs_is_given_as_a_list(engine):
    parts = compute(lambda x: ops.SplitV(x, [1, 3], 1, 2, num_split=2), A)
    np.testing.assert_array_equal(np.concatenate(parts, 1), A)
    assert [part.shape for part in parts] == [(3, 1), (3, 3)]


def test_whole_numbers_take_the_type_that_the_definition_has(engine):
    """The axis of Split is int32 and nothing else; elsewhere whole numbers are int64."""
    left, right = compute(lambda x: ops.Split(1, x, 2, num_split=2), A)
    np.testing.assert_array_equal(np.concatenate([left, right], 1), A)
    builder = GraphBuilder("types")
    x = builder.create_input(0)
    users = [(ops.Split(1, x, 2, num_split=2)[0], 0), (ops.Reshape(x, [1, 1]), 1)]
    graph = builder.build_and_reset()
    sources = [graph.find_node_by_name(user.name).get_in_data_nodes_and_port_indexes(place)[0] for user, place in users]
    assert [source.get_attr("value").data_type for source in sources] == [DataType.DT_INT32, DataType.DT_INT64]


def test_inputs_that_may_be_absent_are_left_out(engine):
    bias = normal(3)
    np.testing.assert_allclose(compute(lambda a, b: ops.MatMulV2(a, b, transpose_x2=True), A, B), A @ B.T, rtol=1e-5)
    got = compute(lambda a, b, c: ops.MatMulV2(a, b, c, transpose_x2=True), A, B, bias)
    np.testing.assert_allclose(got, A @ B.T + bias, rtol=1e-5)


def test_a_loop_runs_its_body_while_the_condition_holds(engine):
    def counters(name):
        builder = GraphBuilder(name)
        return builder, [builder.create_input(place, data_type=DataType.DT_INT32) for place in range(2)]

    condition, (number, _) = counters("condition")
    condition = condition.build_and_reset([ops.Greater(number, condition.create_scalar_int32(0))])
    body, (number, total) = counters("body")
    body = body.build_and_reset([number - body.create_scalar_int32(1), total + number])
    loop, inputs = counters("loop")
    graph = loop.build_and_reset(ops.While(inputs, 2, condition, body))
    assert run(graph, [Tensor([value], data_type=DataType.DT_INT32) for value in (10, 0)]) == [0, 55]


def test_an_input_of_which_nothing_is_said_is_what_the_first_run_brings(engine):
    builder = GraphBuilder("open")
    left, right = builder.create_inputs(2)
    session = Session()
    session.add_graph(1, builder.build_and_reset([ops.MatMul(left, right, None, transpose_x2=True)]))
    for _ in range(2):
        (result,) = session.run_graph(1, [Tensor(array.flatten().tolist(), shape=[3, 4]) for array in (A, B)])
        np.testing.assert_allclose(np.array(result.data), A @ B.T, rtol=1e-5)


def test_an_operator_that_cannot_run_can_be_built_and_the_run_names_it(engine):
    builder = GraphBuilder("stranger")
    x, y = [builder.create_input(place, shape=[2, 2]) for place in range(2)]
    graph = builder.build_and_reset([ops.AGLU(x, y, activate_func="x")])
    with pytest.raises(GeError, match="AGLU"):
        run(graph, [Tensor([1.0] * 4, shape=[2, 2])] * 2)


# --- what there is
def test_every_operator_of_the_table_has_a_function(root):
    table = (root / "src" / "ops" / "table" / "ge_ir.tsv").read_text().splitlines()
    names = [line.split("\t")[0] for line in table if line[0] != "#"][1:]
    left_out = {name for name in names if not hasattr(ops, name)}
    assert left_out >= {"Data", "NetOutput"} and len(left_out) < 15, left_out
    assert len(ops.__all__) > 2000 and set(ops.__all__) <= set(names)


@pytest.mark.parametrize("name, expected", [
    ("Add", "(x1, x2)"),
    ("MatMul", "(x1, x2, bias=None, *, transpose_x1=False, transpose_x2=False)"),
    ("Split", "(split_dim, x, y_num, *, num_split)"),
    ("If", "(cond, input, output_num, then_branch, else_branch)"),
    ("Const", "(owner_graph_builder, *, value=None)"),
    ("Assign", "(ref, value, *, validate_shape=True, use_locking=False)"),
])
def test_signatures_follow_the_definitions(name, expected):
    """Inputs, the number of each dynamic output, subgraphs, then attributes by keyword."""
    parameters = inspect.signature(getattr(ops, name)).parameters.values()
    bare = inspect.Signature([one.replace(annotation=inspect.Parameter.empty) for one in parameters])
    assert str(bare) == expected


def test_operators_can_be_had_under_every_name():
    assert list_plugins() == ["all", "cv", "math", "nn", "transformer"]
    for plugin in list_plugins():
        assert get_plugin(plugin).Relu is ops.Relu
    assert get_plugin("none") is None and get_plugin(None) is None

# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments: every call refuses them before it does anything, and says which argument it was and what to give."""

import pytest
from ge.allocator import Allocator, MemBlock
from ge.es import GraphBuilder, attr_scope, control_dependency_scope
from ge.es import all as ops
from ge.es.tensor_like import convert_to_tensor_holder, resolve_builder
from ge.ge_global import GeApi
from ge.graph import DataType, Graph, Shape, Tensor, TensorDesc
from ge.graph.operator import create_operator
from ge.offline_compile import (GraphWithOptions, build_initialize, build_model, bundle_build_model, bundle_save_model,
                                save_model)
from ge.session import Session
from ge.utils import GeUtils


class Nothing(Allocator):
    def malloc(self, size):
        return MemBlock(0, size)

    def free(self, block):
        pass


class Things:
    """One of each, for the calls of the tables."""

    def __init__(self):
        self.builder = GraphBuilder("wrong")
        self.x = self.builder.create_input(0, name="x")
        other = GraphBuilder("good")
        self.graph = other.build_and_reset([other.create_input(0, shape=[2]) + 1.0])
        self.node = self.graph.find_node_by_name("Add_1")
        self.session = Session()
        self.tensor = Tensor([1.0])
        self.desc = TensorDesc([1])


@pytest.fixture
def things():
    return Things()


def is_refused(things, call, error, words):
    with pytest.raises(error) as caught:
        call(things)
    assert type(caught.value) is error, caught.value
    for word in words.split(" | "):
        assert word in str(caught.value), caught.value


# The second column has what the message must say, in parts: the call and the argument, what it was, what to give.
WRONG_TYPES = [
    (lambda t: GeApi.ge_initialize([]), "GeApi.ge_initialize: config is [] (list) | give a dict of options"),
    (lambda t: GeApi.ge_initialize({}), "GeApi.ge_initialize: config is {} (dict) | give a dict of options"),
    (lambda t: GeApi.ge_initialize({"ge.graphRunMode"}), "config is {'ge.graphRunMode'} (set)"),
    (lambda t: GeApi.ge_initialize({"ge.graphRunMode": 0}), "config['ge.graphRunMode'] is 0 (int); give a str"),
    (lambda t: Session(["x"]), "Session: options is ['x'] (list); give a dict"),
    (lambda t: Session({1: "x"}), "Session: a key of options is 1 (int); give a str"),
    (lambda t: t.session.add_graph("1", t.graph), "Session.add_graph: graph_id is '1' (str); give an int from 0"),
    (lambda t: t.session.add_graph(1, "g"), "Session.add_graph: add_graph is 'g' (str); give a Graph"),
    (lambda t: t.session.add_graph(1, t.graph, {"x"}), "Session.add_graph: options is {'x'} (set)"),
    (lambda t: t.session.remove_graph("1"), "Session.remove_graph: graph_id is '1' (str)"),
    (lambda t: t.session.run_graph("1", []), "Session.run_graph: graph_id is '1' (str)"),
    (lambda t: t.session.run_graph(1, t.tensor), "run_graph: inputs is <ge.graph | a list of Tensor"),
    (lambda t: t.session.run_graph(1, [t.tensor, 0]), "Session.run_graph: inputs[1] is 0 (int); give a Tensor"),
    (lambda t: t.session.run_graph_with_stream_async("1", 1, []), "stream_async: graph_id is '1' (str)"),
    (lambda t: t.session.run_graph_with_stream_async(1, None, []), "stream_async: stream is None (NoneType)"),
    (lambda t: t.session.run_graph_with_stream_async(1, 1, ()), "stream_async: inputs is () (tuple)"),
    (lambda t: t.session.run_graph_with_stream_async(1, 1, [0]), "stream_async: inputs[0] is 0 (int)"),
    (lambda t: t.session.register_external_allocator("1", Nothing()), "external_allocator: stream is '1' (str)"),
    (lambda t: t.session.register_external_allocator(1, "x"), "allocator is 'x' (str); give an Allocator"),
    (lambda t: t.session.unregister_external_allocator("1"), "unregister_external_allocator: stream is '1' (str)"),
    (lambda t: Graph(1), "Graph: name is 1 (int); give a str"),
    (lambda t: t.graph.find_node_by_name(1), "Graph.find_node_by_name: name is 1 (int)"),
    (lambda t: t.graph.remove_node(1), "Graph.remove_node: node is 1 (int); give a Node"),
    (lambda t: t.graph.add_control_edge(1, t.node), "Graph.add_control_edge: src_node is 1 (int)"),
    (lambda t: t.graph.add_control_edge(t.node, 1), "Graph.add_control_edge: dst_node is 1 (int)"),
    (lambda t: t.graph.add_data_edge(1, 0, t.node, 0), "Graph.add_data_edge: src_node is 1 (int)"),
    (lambda t: t.graph.add_data_edge(t.node, "0", t.node, 0), "Graph.add_data_edge: src_port_index is '0' (str)"),
    (lambda t: t.graph.remove_edge(t.node, 0, 1, 0), "Graph.remove_edge: dst_node is 1 (int)"),
    (lambda t: t.graph.remove_edge(t.node, 0, t.node, "0"), "Graph.remove_edge: dst_port_index is '0' (str)"),
    (lambda t: t.graph.add_subgraph(1), "Graph.add_subgraph: subgraph is 1 (int); give a Graph"),
    (lambda t: t.graph.get_subgraph(1), "Graph.get_subgraph: name is 1 (int)"),
    (lambda t: t.graph.remove_subgraph(1), "Graph.remove_subgraph: name is 1 (int)"),
    (lambda t: t.graph.get_attr(1), "Graph.get_attr: key is 1 (int)"),
    (lambda t: t.graph.set_attr(1, 1), "Graph.set_attr: key is 1 (int)"),
    (lambda t: t.graph.dump_to_stream("kTxt"), "Graph.dump_to_stream: format is 'kTxt' (str); give a DumpFormat"),
    (lambda t: t.graph.dump_to_file(1), "Graph.dump_to_file: format is 1 (int)"),
    (lambda t: t.graph.dump_to_file(suffix=1), "Graph.dump_to_file: suffix is 1 (int)"),
    (lambda t: t.graph.save_to_air(1), "Graph.save_to_air: file_path is 1 (int)"),
    (lambda t: t.graph.load_from_air(1), "Graph.load_from_air: file_path is 1 (int)"),
    (lambda t: t.node.get_in_data_nodes_and_port_indexes("0"), "in_index is '0' (str)"),
    (lambda t: t.node.get_out_data_nodes_and_port_indexes("0"), "out_index is '0' (str)"),
    (lambda t: t.node.get_input_desc("0"), "Node.get_input_desc: index is '0' (str)"),
    (lambda t: t.node.get_output_desc("0"), "Node.get_output_desc: index is '0' (str)"),
    (lambda t: t.node.update_input_desc("0", t.desc), "Node.update_input_desc: index is '0' (str)"),
    (lambda t: t.node.update_output_desc(0, 1), "Node.update_output_desc: tensor_desc is 1 (int); give a TensorDesc"),
    (lambda t: t.node.has_attr(1), "Node.has_attr: attr_name is 1 (int)"),
    (lambda t: t.node.get_attr(1), "Node.get_attr: key is 1 (int)"),
    (lambda t: t.node.set_attr(1, 1), "Node.set_attr: key is 1 (int)"),
    (lambda t: t.node.get_input_attr(1, 0), "Node.get_input_attr: attr_name is 1 (int)"),
    (lambda t: t.node.set_input_attr("a", "0", 1), "Node.set_input_attr: input_index is '0' (str)"),
    (lambda t: t.node.get_output_attr("a", "0"), "Node.get_output_attr: output_index is '0' (str)"),
    (lambda t: t.node.set_output_attr(1, 0, 1), "Node.set_output_attr: attr_name is 1 (int)"),
    (lambda t: create_operator("x"), "create_operator: handle is 'x' (str)"),
    (lambda t: Shape("x"), "Shape: dims is 'x' (str); give a list of int"),
    (lambda t: TensorDesc("x"), "TensorDesc: shape is 'x' (str)"),
    (lambda t: TensorDesc([1], 2), "TensorDesc: format is 2 (int); give a Format"),
    (lambda t: TensorDesc([1], data_type=0), "TensorDesc: data_type is 0 (int); give a DataType"),
    (lambda t: t.desc.set_shape([1, 1.5]), "TensorDesc.set_shape: shape[1] is 1.5 (float); give an int"),
    (lambda t: t.desc.set_origin_shape((1,)), "TensorDesc.set_origin_shape: shape is (1,) (tuple)"),
    (lambda t: t.desc.set_format(1), "TensorDesc.set_format: format is 1 (int)"),
    (lambda t: t.desc.set_origin_format(1), "TensorDesc.set_origin_format: format is 1 (int)"),
    (lambda t: t.desc.set_data_type(1), "TensorDesc.set_data_type: data_type is 1 (int)"),
    (lambda t: Tensor(1), "Tensor: data is 1 (int); give a list"),
    (lambda t: Tensor([None]), "Tensor: data[0] is None (NoneType); give a number"),
    (lambda t: Tensor(file_path=1), "Tensor: file_path is 1 (int)"),
    (lambda t: Tensor([1.0], shape=1), "Tensor: shape is 1 (int)"),
    (lambda t: Tensor([1.0], shape=[1.0]), "Tensor: shape[0] is 1.0 (float)"),
    (lambda t: Tensor([1.0], placement=1), "Tensor: placement is 1 (int); give a Placement"),
    (lambda t: Tensor([1.0], data_type="x"), "Tensor: data_type is 'x' (str)"),
    (lambda t: t.tensor.set_format(0), "Tensor.set_format: format is 0 (int)"),
    (lambda t: t.tensor.set_data_type(0), "Tensor.set_data_type: data_type is 0 (int)"),
    (lambda t: GraphBuilder(1), "GraphBuilder: name is 1 (int)"),
    (lambda t: t.builder.create_input("1"), "GraphBuilder.create_input: index is '1' (str); give an int from 0 on"),
    (lambda t: t.builder.create_input(1, name=1), "GraphBuilder.create_input: name is 1 (int)"),
    (lambda t: t.builder.create_input(1, type_str="Data"), "type_str is 'Data' (str); give an InputType"),
    (lambda t: t.builder.create_input(1, shape="x"), "GraphBuilder.create_input: shape is 'x' (str)"),
    (lambda t: t.builder.create_input(1, data_type=1), "data_type is 1 (int)"),
    (lambda t: t.builder.create_inputs(0), "GraphBuilder.create_inputs: num is 0 (int); give an int from 1 on"),
    (lambda t: t.builder.create_inputs(1, -1), "GraphBuilder.create_inputs: start_index is -1 (int)"),
    (lambda t: t.builder.create_variable("0", "n"), "GraphBuilder.create_variable: index is '0' (str)"),
    (lambda t: t.builder.create_variable(0, 1), "GraphBuilder.create_variable: name is 1 (int)"),
    (lambda t: t.builder.create_const_int64("x"), "GraphBuilder.create_const_int64: value is 'x' (str); give an int"),
    (lambda t: t.builder.create_const_int32([1, 2.5]), "GraphBuilder.create_const_int32: value[1] is 2.5 (float)"),
    (lambda t: t.builder.create_const_float("x"), "GraphBuilder.create_const_float: value is 'x' (str); give a number"),
    (lambda t: t.builder.create_const_float([1.0], "x"), "GraphBuilder.create_const_float: shape is 'x' (str)"),
    (lambda t: t.builder.create_vector_int64(1), "create_vector_int64: value is 1 (int); give a list of int"),
    (lambda t: t.builder.create_scalar_int64(1.5), "GraphBuilder.create_scalar_int64: value is 1.5 (float)"),
    (lambda t: t.builder.create_scalar_int32([1]), "create_scalar_int32: value is [1] (list) | create_const_"),
    (lambda t: t.builder.create_scalar_float("x"), "GraphBuilder.create_scalar_float: value is 'x' (str)"),
    (lambda t: t.builder.set_graph_attr_int64(1, 1), "GraphBuilder.set_graph_attr_int64: attr_name is 1 (int)"),
    (lambda t: t.builder.set_graph_attr_string("a", 1), "set_graph_attr_string: value is 1 (int); give a str"),
    (lambda t: t.builder.set_graph_attr_bool("a", 1), "set_graph_attr_bool: value is 1 (int); give a bool"),
    (lambda t: t.builder.set_node_attr_int64(1, "a", 1), "GraphBuilder.set_node_attr_int64: tensor is 1 (int)"),
    (lambda t: t.builder.set_tensor_attr_bool(t.x, "a", 1), "GraphBuilder.set_tensor_attr_bool: value is 1 (int)"),
    (lambda t: t.builder.add_control_dependency(1, []), "GraphBuilder.add_control_dependency: dst_tensor is 1 (int)"),
    (lambda t: t.builder.add_control_dependency(t.x, 1), "src_tensors is 1 (int); give a list of TensorHolder"),
    (lambda t: t.builder.add_control_dependency(t.x, [1]), "src_tensors[0] is 1 (int); give a TensorHolder"),
    (lambda t: t.builder.set_graph_output(1, 0), "GraphBuilder.set_graph_output: tensor is 1 (int)"),
    (lambda t: t.builder.set_graph_output(t.x, "0"), "GraphBuilder.set_graph_output: output_index is '0' (str)"),
    (lambda t: t.builder.build_and_reset(1), "GraphBuilder.build_and_reset: outputs is 1 (int)"),
    (lambda t: t.builder.build_and_reset([t.x, 1]), "GraphBuilder.build_and_reset: outputs[1] is 1 (int)"),
    (lambda t: attr_scope(1).__enter__(), "attr_scope: attr_maps is 1 (int); give a dict"),
    (lambda t: control_dependency_scope([1]).__enter__(), "control_dependency_scope: tensors[0] is 1 (int)"),
    (lambda t: t.x.set_shape(1), "TensorHolder.set_shape: shape is 1 (int)"),
    (lambda t: t.x.set_data_type(1), "TensorHolder.set_data_type: data_type is 1 (int)"),
    (lambda t: t.x.set_format(1), "TensorHolder.set_format: format is 1 (int)"),
    (lambda t: t.x + "x", "value is 'x' (str); give a TensorHolder, a number or lists of numbers"),
    (lambda t: [1.0, "x"] - t.x, "value is 'x' (str)"),
    (lambda t: t.x * None, "Mul: an operand is None"),
    (lambda t: convert_to_tensor_holder({}, t.builder), "convert_to_tensor_holder: value is {} (dict)"),
    (lambda t: ops.Cast(t.x, dst_type="x"), "Cast: the attribute dst_type is 'x' (str) | Int"),
    (lambda t: ops.Const(t.builder, value=1), "Const: value is 1 (int); give a Tensor"),
    (lambda t: ops.Split(0, t.x, -1, num_split=1), "Split: the number of outputs y is -1 (int); give an int from 0 on"),
    (lambda t: ops.ConcatV2(t.x, 0), "x is <ge.es.tensor_holder | give a list of tensors"),
    (lambda t: ops.If(t.x, [t.x], 1, 1, t.graph), "If: then_branch is 1 (int); give a Graph"),
    (lambda t: build_initialize("x"), "build_initialize: global_options is 'x' (str); give a dict"),
    (lambda t: build_initialize({1: "v"}), "build_initialize: a key of global_options is 1 (int)"),
    (lambda t: build_model("g"), "build_model: graph is 'g' (str)"),
    (lambda t: build_model(t.graph, []), "build_model: build_options is [] (list)"),
    (lambda t: save_model(1, None), "save_model: output_file is 1 (int)"),
    (lambda t: save_model("x", None), "save_model: model is None (NoneType); give a ModelBuffer"),
    (lambda t: bundle_save_model("x", None), "bundle_save_model: model is None"),
    (lambda t: bundle_build_model("x"), "bundle_build_model: graph_with_options is 'x' (str)"),
    (lambda t: bundle_build_model([1, 2]), "bundle_build_model: graph_with_options[0] is 1 (int)"),
    (lambda t: GraphWithOptions("g"), "GraphWithOptions: graph is 'g' (str)"),
    (lambda t: GraphWithOptions(t.graph, {"k": 1}), "GraphWithOptions: build_options['k'] is 1 (int); give a str"),
    (lambda t: GeUtils.infer_shape(1, []), "GeUtils.infer_shape: graph is 1 (int)"),
    (lambda t: GeUtils.infer_shape(t.graph, "x"), "GeUtils.infer_shape: input_shapes is 'x' (str)"),
    (lambda t: GeUtils.infer_shape(t.graph, [1]), "GeUtils.infer_shape: input_shapes[0] is 1 (int)"),
    (lambda t: GeUtils.infer_shape(t.graph, [[1, "x"]]), "GeUtils.infer_shape: input_shapes[0][1] is 'x' (str)"),
    (lambda t: GeUtils.check_node_support_on_aicore(1), "GeUtils.check_node_support_on_aicore: node is 1 (int)"),
]


@pytest.mark.parametrize("call, words", WRONG_TYPES, ids=lambda value: value[:50] if isinstance(value, str) else "")
def test_a_value_of_the_wrong_type_is_a_type_error_that_names_it(things, call, words):
    is_refused(things, call, TypeError, words)


WRONG_VALUES = [
    (lambda t: t.session.add_graph(-1, t.graph), "graph_id is -1 (int); give an int from 0 to 4294967295"),
    (lambda t: t.session.run_graph(1 << 32, []), "Session.run_graph: graph_id is 4294967296 (int)"),
    (lambda t: t.session.unregister_external_allocator(1 << 64), "stream is 18446744073709551616 (int)"),
    (lambda t: t.node.get_input_attr("a", -1), "Node.get_input_attr: input_index is -1 (int); give an int from 0"),
    (lambda t: t.node.get_input_desc(1 << 31), "Node.get_input_desc: index is 2147483648 (int)"),
    (lambda t: t.graph.find_node_by_name("a\0b"), "Graph.find_node_by_name: name is 'a\\x00b' (str) | null character"),
    (lambda t: t.graph.set_attr("a", 1 << 63), "value is 9223372036854775808 (int)"),
    (lambda t: t.graph.set_attr("a", []), "Graph.set_attr: value is [] (list) | not empty"),
    (lambda t: t.graph.set_attr("a", None), "Graph.set_attr: value is None (NoneType); give a str, int"),
    (lambda t: t.node.set_attr("a", [1, "a"]), "Node.set_attr: value is [1, 'a'] (list)"),
    (lambda t: t.node.set_output_attr("a", 0, {"a": 1}), "Node.set_output_attr: value is {'a': 1} (dict)"),
    (lambda t: create_operator(0), "create_operator: handle is 0 (int)"),
    (lambda t: t.desc.set_shape([1 << 63]), "TensorDesc.set_shape: shape[0] is 9223372036854775808 (int)"),
    (lambda t: Tensor([1, 300], data_type=DataType.DT_INT8, shape=[2]), "data[1] is 300 (int) | fits DT_INT8"),
    (lambda t: Tensor(["one"]), "Tensor: data[0] is 'one' (str) | fits DT_FLOAT"),
    (lambda t: t.builder.create_scalar_uint64(-1), "GraphBuilder.create_scalar_uint64 | -1 (int) | fits DT_UINT64"),
    (lambda t: t.builder.create_scalar_uint32(1 << 32), "GraphBuilder.create_scalar_uint32 | fits DT_UINT32"),
    (lambda t: t.builder.create_const_int32([1 << 31]), "GraphBuilder.create_const_int32 | fits DT_INT32"),
    (lambda t: t.builder.create_const_int64([1, 2, 3], [2, 2]), "3 values are given for shape [2, 2]; give 4"),
    (lambda t: t.x + [[1.0, 2.0], [3.0]], "value[0] has the shape [2], but value[1] has [1]"),
    (lambda t: resolve_builder(1, [2.0], None), "resolve_builder: none of the 3 values tells the graph"),
    (lambda t: ops.ConcatV2([1, 2], 0), "resolve_builder | give a TensorHolder"),
    (lambda t: bundle_build_model([GraphWithOptions(t.graph)]), "graph_with_options has 1 members; give 2 or more"),
]


@pytest.mark.parametrize("call, words", WRONG_VALUES, ids=lambda value: value[:50] if isinstance(value, str) else "")
def test_a_value_out_of_bounds_is_a_value_error_that_names_it(things, call, words):
    is_refused(things, call, ValueError, words)


WRONG_STATES = [
    (lambda t: t.builder.create_input(-1), "GraphBuilder.create_input: index is -1 (int); give an int from 0 on"),
    (lambda t: t.builder.create_input(0), "'wrong' has an input 0 already; the next free index is 1"),
    (lambda t: t.builder.set_graph_output(t.x, -1), "GraphBuilder.set_graph_output: output_index is -1 (int)"),
    (lambda t: GraphBuilder("other").set_graph_output(t.x, 0), "'x' is in the graph 'wrong'; give a tensor of 'other'"),
    (lambda t: Tensor([1.0], "file"), "Tensor: both data and file_path ('file') are given; give one of them"),
    (lambda t: Tensor([1.0], data_type=DataType.DT_DOUBLE), "Tensor: a list cannot become DT_DOUBLE"),
    (lambda t: Tensor(["a"], data_type=DataType.DT_STRING), "Tensor: a list cannot become DT_STRING"),
    (lambda t: Tensor([1, 0], data_type=DataType.DT_BOOL), "not a bool; give True and False"),
]


@pytest.mark.parametrize("call, words", WRONG_STATES, ids=lambda value: value[:50] if isinstance(value, str) else "")
def test_what_the_object_cannot_do_now_is_a_runtime_error(things, call, words):
    is_refused(things, call, RuntimeError, words)


def test_a_long_value_is_shown_in_part(things):
    with pytest.raises(TypeError) as caught:
        things.graph.find_node_by_name(["word"] * 1000)
    assert "... (list); give a str" in str(caught.value) and len(str(caught.value)) < 160

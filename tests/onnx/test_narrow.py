# SPDX-License-Identifier: Apache-2.0
"""Types of less than a byte and floats that the runtime has no form for: as constants, moved about, cast, in branches; against ml_dtypes."""

import sys
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx", reason="the onnx package is not in this Python; requirements.txt has it")
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
import node_tests
from test_onnx import program

TYPES = {"int4": TensorProto.INT4, "uint4": TensorProto.UINT4, "int2": TensorProto.INT2, "uint2": TensorProto.UINT2, "float4_e2m1fn": TensorProto.FLOAT4E2M1,
         "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ, "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ}


@pytest.fixture(scope="module")
def worker(root):
    one = node_tests.Worker(program(root, "onnx_model_runner"))
    yield one
    one.close()


def elements(name, shape=(3, 5)):
    """Every code of the type in turn."""
    count, codes = int(np.prod(shape)), 2**ml_dtypes.finfo(name).bits if name.startswith("float") else 2**ml_dtypes.iinfo(name).bits
    bits = (np.arange(count) * 7 % codes).astype(np.uint8)
    if name.startswith("float"):
        return bits.view(getattr(ml_dtypes, name)).reshape(shape)
    low = int(ml_dtypes.iinfo(name).min)
    return (bits.astype(np.int8) + low).astype(getattr(ml_dtypes, name)).reshape(shape)


def run(worker, folder, nodes, constants, outputs, feeds=None):
    feeds = feeds or {}
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
    graph = helper.make_graph(nodes, "narrow", inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    (folder / "model.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]).SerializeToString())
    node_tests.write_inputs(folder / "inputs", list(feeds.values()))
    return worker.ask(folder / "model.onnx", folder / "inputs")


@pytest.mark.parametrize("name", TYPES)
def test_constants_are_what_the_file_says(worker, tmp_path, name):
    """An odd number of elements; the sum with an input keeps the cast from being folded whole."""
    values, ones = elements(name), np.zeros((3, 5), np.float32)
    nodes = [helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT), helper.make_node("Add", ["wide", "x"], ["y"])]
    stage, answer = run(worker, tmp_path, nodes, {"w": values}, ["y"], {"x": ones})
    assert stage == "ok", answer
    np.testing.assert_array_equal(answer[0], values.astype(np.float32))


@pytest.mark.parametrize("name", [name for name in TYPES if not name.endswith("fnuz")])
def test_weights_in_blocks_are_dequantised(worker, tmp_path, name):
    values = elements(name, (6, 4))
    scale = (np.arange(12, dtype=np.float32).reshape(3, 4) + 1) / 8
    zero = elements(name, (3, 4)) if "int" in name else np.zeros((3, 4), getattr(ml_dtypes, name))
    node = helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["y"], axis=0, block_size=2)
    stage, answer = run(worker, tmp_path, [node], {"w": values, "zero": zero}, ["y"], {"scale": scale})
    assert stage == "ok", answer
    expected = (values.astype(np.float32) - np.repeat(zero.astype(np.float32), 2, 0)) * np.repeat(scale, 2, 0)
    np.testing.assert_array_equal(answer[0], expected)


@pytest.mark.parametrize("name", TYPES)
def test_elements_that_are_moved_keep_their_type(worker, tmp_path, name):
    values = elements(name, (2, 3, 4))
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[2, 0, 1]), helper.make_node("Reshape", ["t", "shape"], ["r"]),
             helper.make_node("Concat", ["r", "r"], ["c"], axis=0), helper.make_node("Gather", ["c", "places"], ["g"], axis=1),
             helper.make_node("Cast", ["g"], ["y"], to=TensorProto.FLOAT)]
    stage, answer = run(worker, tmp_path, nodes, {"shape": np.array([4, 6]), "places": np.array([5, 0])}, ["g", "y"], {"x": values})
    assert stage == "ok", answer
    moved = np.concatenate([values.transpose(2, 0, 1).reshape(4, 6)] * 2)[:, [5, 0]]
    np.testing.assert_array_equal(node_tests.told(answer[0], moved).astype(np.float32), moved.astype(np.float32))
    np.testing.assert_array_equal(answer[1], moved.astype(np.float32))


@pytest.mark.parametrize("name", TYPES)
def test_a_branch_reads_the_outer_graphs_values(worker, tmp_path, name):
    """One constant, one input; what a branch gives back must be of a type that graphs have."""
    values = elements(name)
    branches = []
    for source in ("w", "x"):
        cast = helper.make_node("Cast", [source], ["inner_" + source], to=TensorProto.FLOAT)
        branches.append(helper.make_graph([cast], source, [], [helper.make_tensor_value_info("inner_" + source, TensorProto.FLOAT, None)]))
    node = helper.make_node("If", ["flag"], ["y"], then_branch=branches[0], else_branch=branches[1])
    for flag, expected in ((True, values), (False, values[::-1])):
        stage, answer = run(worker, tmp_path, [node], {"w": values}, ["y"], {"flag": np.array(flag), "x": np.ascontiguousarray(values[::-1])})
        assert stage == "ok", answer
        np.testing.assert_array_equal(answer[0], expected.astype(np.float32))


def test_what_computes_with_such_types_is_refused(worker, tmp_path):
    values = elements("uint4")
    stage, answer = run(worker, tmp_path, [helper.make_node("Add", ["x", "x"], ["y"])], {}, ["y"], {"x": values})
    assert stage == "parse" and "UINT4" in answer, answer
    stage, answer = run(worker, tmp_path, [helper.make_node("Concat", ["x", "b"], ["y"], axis=0)], {"b": np.zeros((3, 5), np.uint8)}, ["y"], {"x": values})
    assert stage == "parse" and "another type" in answer, answer
    branch = helper.make_graph([helper.make_node("Identity", ["x"], ["inner"])], "branch", [], [helper.make_tensor_value_info("inner", TensorProto.UINT4, None)])
    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch, else_branch=branch)
    stage, answer = run(worker, tmp_path, [node], {}, ["y"], {"flag": np.array(True), "x": values})
    assert stage == "parse" and "branch" in answer, answer

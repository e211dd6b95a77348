# SPDX-License-Identifier: Apache-2.0
"""ONNX models from the onnx package, through the installed libraries' public interface."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx", reason="the onnx package is not in this Python; requirements.txt has it")
import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import node_tests

MIN_PASSED = 1790  # a ratchet: it only goes up


def program(root, name):
    """The newest build of a test program."""
    found = sorted(root.glob(f"build/*/bin/{name}"), key=lambda path: path.stat().st_mtime)
    found = [path for path in found if path.parts[-3] not in ("asan", "tsan")]
    if not found:
        pytest.fail(f"{name} is not built; ./millpond test builds it")
    return found[-1]


def test_a_model_runs_on_a_stream_with_an_external_allocator(root, tmp_path):
    weight = np.arange(12, dtype=np.float32).reshape(3, 4) / 4
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["product"], "dense"), helper.make_node("Relu", ["product"], ["y"], "active"),
         helper.make_node("Shape", ["y"], ["shape"]), helper.make_node("Cast", ["shape"], ["sizes"], to=TensorProto.FLOAT)],
        "model", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 4]), helper.make_tensor_value_info("sizes", TensorProto.FLOAT, [2])],
        [numpy_helper.from_array(weight, "w")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    done = subprocess.run([program(root, "onnx_stream_client"), path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    x = np.array([[-2, -1, 0], [1, 2, 3]], dtype=np.float32)
    assert np.allclose(np.array(lines[0].split(), dtype=np.float32), np.maximum(x @ weight, 0).ravel(), rtol=1e-5)
    assert lines[1].split() == ["2", "4"]
    made, freed = (int(word) for word in lines[2].split() if word.isdigit())
    assert made > 0 and made == freed, lines[2]


def chain_of_products(path, layers, width, rows):
    """A model of `layers` products with square matrices, whose weights take layers * width * width * 4 bytes."""
    nodes, weights, at = [], [], "x"
    for i in range(layers):
        weights.append(numpy_helper.from_array(np.full((width, width), 1 / width + i, dtype=np.float32), f"w{i}"))
        nodes += [helper.make_node("MatMul", [at, f"w{i}"], [f"m{i}"]), helper.make_node("Relu", [f"m{i}"], [f"r{i}"])]
        at = f"r{i}"
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, width])],
                              [helper.make_tensor_value_info(at, TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return layers * width * width * 4


@pytest.mark.parametrize("rows", [8, "rows"])
def test_weights_are_in_memory_once(root, tmp_path, rows):
    chain_of_products(tmp_path / "warm.onnx", 1, 64, rows)
    weights = chain_of_products(tmp_path / "model.onnx", 6, 2048, rows)
    done = subprocess.run([program(root, "onnx_memory_client"), tmp_path / "warm.onnx", "8x64", tmp_path / "model.onnx", "8x2048"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(line.split() for line in done.stdout.splitlines())  # the last model's figures
    assert told["static"] == str(int(rows == 8))
    slack = 8 << 20  # what the heap and the page tables take, whatever the model
    most = 1.2 * weights + 1.1 * int(told["feature"]) + slack
    assert int(told["graph_gone"]) <= most, done.stdout
    # The client's graph shares a mapped file, whose pages come and go: it is free while it is not read.
    assert int(told["run"]) <= most, done.stdout


def test_node_tests_of_the_package_pass_and_none_is_wrong(root, tmp_path):
    results = tmp_path / "results.json"
    done = subprocess.run([sys.executable, HERE / "node_tests.py", "--runner", program(root, "onnx_model_runner"), "--least", str(MIN_PASSED), "--json", results],
                          capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    outcomes = json.loads(results.read_text())
    assert len(outcomes) > 1800
    passed = sum(outcome == "pass" for outcome, *_ in outcomes.values())
    assert passed == MIN_PASSED, f"{passed} pass: write that number as MIN_PASSED"
    page = subprocess.run([sys.executable, root / "tools" / "gen_onnx_doc.py", "--check", results], capture_output=True, text=True, check=False)
    assert page.returncode == 0, page.stdout[-4000:]


LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@pytest.mark.parametrize("model", sorted(path.stem for path in LIGHT.glob("*.onnx")))
def test_known_networks_give_what_the_package_says(root, tmp_path, model):
    graph = onnx.load(LIGHT / f"{model}.onnx").graph
    constants = {one.name for one in graph.initializer}
    inputs = []
    for one in graph.input:
        if one.name in constants:
            continue
        shape = [dim.dim_value for dim in one.type.tensor_type.shape.dim]
        size = int(np.prod(shape))
        inputs.append((np.arange(size) / size).astype(np.float32).reshape(shape))
    node_tests.write_inputs(tmp_path / "inputs", inputs)
    worker = node_tests.Worker(program(root, "onnx_model_runner"))
    try:
        stage, answer = worker.ask(LIGHT / f"{model}.onnx", tmp_path / "inputs")
    finally:
        worker.close()
    assert stage == "ok", answer
    expected = numpy_helper.to_array(onnx.load_tensor(LIGHT / f"{model}_output_0.pb"))
    assert node_tests.difference(expected, answer[0], rtol=1e-3, atol=1e-7) is None

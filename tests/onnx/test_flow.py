# SPDX-License-Identifier: Apache-2.0
"""Issue 13: If and Loop within If and Loop, through the parser and a session, and through atc and an offline model."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx", reason="the onnx package is not in this Python; requirements.txt has it")
sys.path.insert(0, str(Path(__file__).resolve().parent))
import node_tests
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from test_onnx import program

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
SHAPE = [2, 3]


def value(name, kind=FLOAT, shape=tuple(SHAPE)):
    return helper.make_tensor_value_info(name, kind, list(shape))


class Maker:
    """Graphs that nest to a depth. Every graph reads `x` of the outermost and the value that it was given, and makes one."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def node(self, kind, inputs, **attributes):
        out = self.name()
        return helper.make_node(kind, inputs, [out], **attributes), out

    def step(self, given, nodes):
        """One arithmetic node, so that every branch and round leaves a mark of its own."""
        made, out = self.node(self.random.choice(["Add", "Sub", "Max", "Min"]), [given, self.random.choice(["x", "y"])])
        scaled, small = self.node("Mul", [out, self.random.choice(["half", "most"])])
        nodes += [made, scaled]
        return small

    def condition(self, given, nodes):
        """Known only at run."""
        total, sum_name = self.node("ReduceSum", [given], keepdims=0)
        test, out = self.node(self.random.choice(["Less", "Greater"]), [sum_name, "limit"])
        nodes += [total, test]
        return out

    def flow(self, kind, given, depth, nodes):
        if kind == "If":
            branches = [self.graph(given, depth - 1, [], []) for _ in range(2)]
            made, out = self.node("If", [self.random.choice([self.condition(given, nodes), "flag"])], then_branch=branches[0],
                                  else_branch=branches[1])
        else:
            trips, number = self.random.choice(["trips", "three"]), self.name()
            going, carried = self.name(), self.name()
            inputs = [value(number, INT64, []), value(going, BOOL, []), value(carried)]
            body = self.graph(carried, depth - 1, inputs, [going])
            made, out = self.node("Loop", [trips, "yes", given], body=body)
        nodes.append(made)
        return out

    def graph(self, given, depth, inputs, first_outputs):
        nodes = []
        out = self.step(given, nodes)
        if depth > 0:
            for kind in self.random.sample(["If", "Loop"], self.random.choice([1, 1, 2])):
                out = self.flow(kind, out, depth, nodes)
        result, last = self.node("Identity", [out])
        nodes.append(result)
        outputs = []
        for one in first_outputs:
            again, going = self.node("Identity", [one])
            nodes.append(again)
            outputs.append(value(going, BOOL, []))
        return helper.make_graph(nodes, self.name(), inputs, [*outputs, value(last)])

    def model(self, depth):
        graph = self.graph("y", depth, [value("x"), value("y"), value("flag", BOOL, []), value("trips", INT64, [])], [])
        constants = {"half": np.float32(0.5), "most": np.float32(0.75), "limit": np.float32(1), "three": np.int64(3), "yes": np.bool_(True)}
        graph.initializer.extend(numpy_helper.from_array(np.array(number), name) for name, number in constants.items())
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def feeds():
    x = np.array([[0.5, -1, 2], [3, -0.25, 1]], dtype=np.float32)
    for flag, trips in ((True, 2), (False, 0), (True, 5)):
        yield {"x": x, "y": -x[::-1].copy(), "flag": np.array(flag), "trips": np.array(trips)}


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_flow_within_flow_gives_what_the_reference_gives(root, tmp_path, depth):
    worker = node_tests.Worker(program(root, "onnx_model_runner"))
    wrong = []
    try:
        for seed in range(12 if depth < 4 else 4):
            model = Maker(1000 * depth + seed).model(depth)
            path = tmp_path / f"{seed}.onnx"
            onnx.save(model, path)
            reference = ReferenceEvaluator(model)
            for number, feed in enumerate(feeds()):
                node_tests.write_inputs(tmp_path / "inputs", list(feed.values()))
                stage, answer = worker.ask(path, tmp_path / "inputs")
                expected = reference.run(None, feed)[0]
                reason = answer if stage != "ok" else node_tests.difference(expected, answer[0], rtol=1e-5, atol=1e-6)
                if reason is not None:
                    wrong.append(f"seed {seed}, feed {number}: {stage}: {reason}")
    finally:
        worker.close()
    assert not wrong, "\n".join(wrong)


# Reads the feeds, runs the offline model for each and prints its output.
RUN = """
import ctypes, json, sys
import acl
assert acl.init() == 0 and acl.rt.set_device(0) == 0
model, ret = acl.mdl.load_from_file(sys.argv[1])
assert ret == 0, acl.get_recent_err_msg()
desc = acl.mdl.create_desc()
assert acl.mdl.get_desc(desc, model) == 0
def dataset(sizes):
    handle, memory = acl.mdl.create_dataset(), []
    for size in sizes:
        address, ret = acl.rt.malloc(max(size, 1), 0)
        assert ret == 0
        memory.append(address)
        acl.mdl.add_dataset_buffer(handle, acl.create_data_buffer(address, size))
    return handle, memory
inputs, fed = dataset([acl.mdl.get_input_size_by_index(desc, i) for i in range(acl.mdl.get_num_inputs(desc))])
size = acl.mdl.get_output_size_by_index(desc, 0)
outputs, made = dataset([size])
results = []
for feed in json.loads(sys.argv[2]):
    for address, text in zip(fed, feed):
        data = bytes.fromhex(text)
        assert acl.rt.memcpy(address, len(data), acl.util.bytes_to_ptr(data), len(data), 1) == 0
    assert acl.mdl.execute(model, inputs, outputs) == 0, acl.get_recent_err_msg()
    host = ctypes.create_string_buffer(size)
    assert acl.rt.memcpy(ctypes.addressof(host), size, made[0], size, 2) == 0
    results.append(host.raw.hex())
print(json.dumps(results))
"""


@pytest.mark.parametrize("depth", [2, 3])
def test_an_offline_model_with_flow_within_flow_gives_what_the_reference_gives(ascend, ascend_env, tmp_path, depth):
    for seed in range(3):
        model = Maker(2000 * depth + seed).model(depth)
        onnx.save(model, tmp_path / "model.onnx")
        build = subprocess.run([ascend / "bin" / "atc", f"--model={tmp_path / 'model.onnx'}", "--framework=5", f"--output={tmp_path / 'model'}",
                                "--soc_version=Ascend910B3"], env=ascend_env, capture_output=True, text=True, timeout=120, check=False)
        assert build.returncode == 0, build.stdout + build.stderr
        given = [[array.tobytes().hex() for array in feed.values()] for feed in feeds()]
        done = subprocess.run([sys.executable, "-c", RUN, tmp_path / "model.om", json.dumps(given)], env=ascend_env, capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        reference = ReferenceEvaluator(model)
        for feed, text in zip(feeds(), json.loads(done.stdout.splitlines()[-1])):
            actual = np.frombuffer(bytes.fromhex(text), np.float32).reshape(SHAPE)
            assert node_tests.difference(reference.run(None, feed)[0], actual, rtol=1e-5, atol=1e-6) is None, f"seed {seed}, {feed}"


def scan_of_flow():
    """A Scan whose rounds run an If, in a Loop that is not written out."""
    then_graph = helper.make_graph([helper.make_node("Add", ["sum", "row"], ["more"])], "then", [], [value("more", FLOAT, [3])])
    else_graph = helper.make_graph([helper.make_node("Sub", ["sum", "row"], ["less"])], "else", [], [value("less", FLOAT, [3])])
    body = helper.make_graph([helper.make_node("If", ["flag"], ["next"], then_branch=then_graph, else_branch=else_graph),
                              helper.make_node("Identity", ["next"], ["seen"])], "row_body", [value("sum", FLOAT, [3]), value("row", FLOAT, [3])],
                             [value("next", FLOAT, [3]), value("seen", FLOAT, [3])])
    loop = helper.make_graph([helper.make_node("Scan", ["start", "state"], ["last", "rows"], body=body, num_scan_inputs=1),
                              helper.make_node("Identity", ["going"], ["going_on"])], "loop_body",
                             [value("round", INT64, []), value("going", BOOL, []), value("state")], [value("going_on", BOOL, []), value("rows")])
    graph = helper.make_graph([helper.make_node("Loop", ["trips", "", "x"], ["z"], body=loop)], "model",
                              [value("x"), value("y"), value("flag", BOOL, []), value("trips", INT64, [])], [value("z")],
                              [numpy_helper.from_array(np.zeros(3, np.float32), "start")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_scan_of_branches_within_a_loop_gives_what_numpy_gives(root, tmp_path):
    onnx.save(scan_of_flow(), tmp_path / "scan.onnx")
    worker = node_tests.Worker(program(root, "onnx_model_runner"))
    try:
        for feed in feeds():
            node_tests.write_inputs(tmp_path / "inputs", list(feed.values()))
            stage, answer = worker.ask(tmp_path / "scan.onnx", tmp_path / "inputs")
            assert stage == "ok", answer
            expected = feed["x"]
            for _ in range(int(feed["trips"])):
                expected = np.cumsum(expected if feed["flag"] else -expected, axis=0, dtype=np.float32)
            assert np.array_equal(answer[0], expected)
    finally:
        worker.close()


def multiplying(levels, calls, constant):
    """Functions of which each calls the next `calls` times; the last one adds, to a constant or to what it was given."""
    functions = []
    for level in range(levels):
        last = level + 1 == levels
        nodes = [helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones(3, np.float32)))] if last and constant else []
        at = "c" if last and constant else "a"
        for call in range(calls):
            nodes.append(helper.make_node("Add", [at, at], [f"b{call}"]) if last else helper.make_node(f"F{level + 1}", [at], [f"b{call}"], domain="local"))
            at = f"b{call}"
        functions.append(helper.make_function("local", f"F{level}", ["a"], [at], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]))
    graph = helper.make_graph([helper.make_node("F0", ["x"], ["y"], domain="local")], "g", [value("x")], [value("y")])
    return helper.make_model(graph, functions=functions, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], ir_version=9)


@pytest.mark.parametrize("constant", [False, True])
def test_a_small_file_that_asks_for_much_is_refused_with_the_bound(root, tmp_path, constant):
    """With constants every node is computed while the model is parsed, and nothing of it is left to count."""
    model = multiplying(8, 12, constant)
    assert len(model.SerializeToString()) < 10_000
    onnx.save(model, tmp_path / "small.onnx")
    node_tests.write_inputs(tmp_path / "inputs", [np.ones(SHAPE, np.float32)])
    worker = node_tests.Worker(program(root, "onnx_model_runner"))
    try:
        stage, answer = worker.ask(tmp_path / "small.onnx", tmp_path / "inputs")
        assert stage == "parse" and "takes more than it may" in answer and "bytes and" in answer, (stage, answer)
        onnx.save(multiplying(3, 3, constant), tmp_path / "honest.onnx")
        stage, answer = worker.ask(tmp_path / "honest.onnx", tmp_path / "inputs")
        assert stage == "ok", answer
        assert np.array_equal(answer[0], np.full([3] if constant else SHAPE, 2.0 ** (3 if constant else 27), np.float32))
    finally:
        worker.close()

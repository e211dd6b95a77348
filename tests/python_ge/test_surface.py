# SPDX-License-Identifier: Apache-2.0
"""What the package holds: modules, names, annotations, and what it refuses by name."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from ge.error import GeError
from ge.es import GraphBuilder
from ge.graph import Graph
from ge.offline_compile import (GraphWithOptions, ModelBuffer, build_initialize, build_model, bundle_build_model, bundle_save_model, save_model)
from ge.utils import GeUtils

PACKAGE = Path(importlib.import_module("ge").__file__).parent
PUBLIC = {
    "ge.ge_global": "GeApi",
    "ge.session": "GeError Session",
    "ge.allocator": "Allocator MemBlock",
    "ge.graph": "DataType DumpFormat Format Graph Node Operator Placement Shape Tensor TensorDesc",
    "ge.es": "GraphBuilder TensorHolder get_plugin list_plugins",
    "ge.offline_compile": "GraphWithOptions ModelBuffer build_finalize build_initialize build_model bundle_build_model bundle_save_model save_model",
    "ge.utils": "GeUtils",
}


@pytest.mark.parametrize("module", list(PUBLIC))
def test_modules_hold_the_documented_names(module):
    loaded = importlib.import_module(module)
    for name in PUBLIC[module].split():
        assert name in loaded.__all__ and getattr(loaded, name) is not None


@pytest.mark.parametrize("name", ["ge.error", "ge.session.session", "ge.graph.types", "ge.graph.tensor", "ge.graph.graph", "ge.graph.node", "ge.es.graph_builder",
                                  "ge.es.tensor_holder", "ge.es.tensor_like", "ge.ge_global.geapi", "ge.allocator.allocator"])
def test_modules_that_programs_import_from_are_there(name):
    importlib.import_module(name)


def test_the_package_is_typed():
    """PEP 561: py.typed, a stub beside every module, and no public function without annotations."""
    assert (PACKAGE / "py.typed").exists()
    bare = []
    for source in PACKAGE.rglob("*.py"):
        assert source.with_suffix(".pyi").exists(), f"{source} has no stub"
        tree = ast.parse(source.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                missing = [one.arg for one in arguments if one.annotation is None and one.arg not in ("self", "cls")]
                if missing or node.returns is None:
                    bare.append(f"{source.relative_to(PACKAGE)}:{node.lineno} {node.name} {missing}")
    assert bare == []


@pytest.mark.parametrize("module, name", [("ge.passes", "PatternFusionPass"), ("ge.passes", "register_fusion_pass"), ("ge.custom_op", "register_op"),
                                          ("ge.onnx_plugin", "OnnxPlugin"), ("ge.runtime", "Tensor")])
def test_plugin_frameworks_refuse_by_name(module, name):
    loaded = importlib.import_module(module)
    with pytest.raises(GeError, match=f"{module}.{name} is not there: ") as caught:
        getattr(loaded, name)
    assert isinstance(caught.value, ImportError)  # for programs that do without
    with pytest.raises(AttributeError):
        loaded.nothing_of_that_name


def test_the_converter_says_that_it_is_not_here():
    outcome = subprocess.run([sys.executable, "-m", "ge.pyatc", "--model=x"], capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 1 and "ge.pyatc failed: " in outcome.stderr


# --- ge.offline_compile. Doc OfflineCompile: the types of arguments.
def small():
    builder = GraphBuilder("small")
    return builder.build_and_reset([builder.create_input(0, shape=[2]) + 1.0])


@pytest.mark.parametrize("call, error, message", [
    (lambda: build_initialize("x"), TypeError, "global_options must be a dictionary"),
    (lambda: build_initialize({1: "v"}), TypeError, "global_options keys and values must be strings"),
    (lambda: build_model("g"), TypeError, "graph must be a Graph"), (lambda: build_model(Graph("g"), []), TypeError, "build_options must be a dictionary"),
    (lambda: save_model(1, None), TypeError, "output_file must be a string"), (lambda: save_model("x", None), TypeError, "model must be a ModelBuffer"),
    (lambda: bundle_save_model("x", None), TypeError, "model must be a ModelBuffer"), (lambda: bundle_build_model("x"), TypeError, "graph_with_options must be a list"),
    (lambda: bundle_build_model([GraphWithOptions(Graph("g"))]), ValueError, "graph_with_options size must be larger than 1"),
    (lambda: bundle_build_model([1, 2]), TypeError, "Each item in graph_with_options must be a GraphWithOptions"),
    (lambda: GraphWithOptions("g"), TypeError, "graph must be a Graph"), (lambda: GraphWithOptions(Graph("g"), {"k": 1}), TypeError, "keys and values must be strings"),
    (ModelBuffer, RuntimeError, "ModelBuffer objects should not be created directly"),
])
def test_offline_arguments_are_checked(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_model_is_built_or_the_error_names_what_is_missing(tmp_path):
    """Never a success without a model: either the library builds one, or the call says which function it lacks."""
    try:
        build_initialize({})
        model = build_model(small())
    except GeError as error:
        assert "aclgrphBuild" in str(error) and "libge_compiler.so" in str(error)
    else:
        assert model.length > 0
        save_model(str(tmp_path / "small"), model)
        assert list(tmp_path.iterdir())[0].stat().st_size > 0


def test_utilities_work_or_name_what_is_missing():
    graph = small()
    for bad in ("bad", [1, 2], [[1, "bad"]]):
        with pytest.raises(TypeError):
            GeUtils.infer_shape(graph, bad)
    try:
        assert GeUtils.infer_shape(graph, [[2]]) is None
        assert graph.find_node_by_name("Add_1").get_output_desc(0).shape == [2]
    except GeError as error:
        assert "ge::GeUtils::InferShape" in str(error)
    try:
        supported, _ = GeUtils.check_node_support_on_aicore(graph.find_node_by_name("Add_1"))
        assert isinstance(supported, bool)
    except GeError as error:
        assert "ge::GeUtils::CheckNodeSupportOnAicore" in str(error)


def test_the_example_runs(engine, root):
    outcome = subprocess.run([sys.executable, root / "examples" / "ge_python" / "own_allocator.py"], capture_output=True, text=True, timeout=120, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "given   " in outcome.stdout and outcome.stdout.rstrip().endswith("nothing is left over")

# SPDX-License-Identifier: Apache-2.0
"""What the package holds: modules, names, annotations, and what it refuses by name."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ge.error import GeError
from ge.es import GraphBuilder
from ge.offline_compile import (GraphWithOptions, build_finalize, build_initialize, build_model, bundle_build_model,
                                bundle_save_model, save_model)
from ge.utils import GeUtils

PACKAGE = Path(importlib.import_module("ge").__file__).parent
PUBLIC = {
    "ge.ge_global": "GeApi",
    "ge.session": "GeError Session",
    "ge.allocator": "Allocator MemBlock",
    "ge.graph": "DataType DumpFormat Format Graph Node Operator Placement Shape Tensor TensorDesc",
    "ge.es": "GraphBuilder InputType TensorHolder attr_scope control_dependency_scope get_plugin list_plugins",
    "ge.offline_compile": "GraphWithOptions ModelBuffer build_finalize build_initialize build_model bundle_build_model "
                          "bundle_save_model save_model",
    "ge.utils": "GeUtils",
}
# Programs import from these, too.
MODULES = ("ge.allocator.allocator", "ge.error", "ge.es.graph_builder", "ge.es.tensor_holder", "ge.es.tensor_like",
           "ge.ge_global.geapi", "ge.graph.graph", "ge.graph.node", "ge.graph.operator", "ge.graph.tensor",
           "ge.graph.tensor_desc", "ge.graph.types", "ge.offline_compile.offline_compile", "ge.session.session",
           "ge.utils.ge_utils")
# Parameters that programs may name or leave out.
SIGNATURES = {
    "ge.session.Session": "(options=None)",
    "ge.session.Session.add_graph": "(self, graph_id, add_graph, options=None)",
    "ge.session.Session.run_graph_with_stream_async": "(self, graph_id, stream, inputs)",
    "ge.session.Session.register_external_allocator": "(self, stream, allocator)",
    "ge.graph.Tensor": "(data=None, file_path=None, data_type=DT_FLOAT, format=FORMAT_ND, shape=None, "
                       "placement=PLACEMENT_HOST)",
    "ge.graph.TensorDesc": "(shape=None, format=FORMAT_ND, data_type=DT_FLOAT)",
    "ge.graph.Graph": "(name='graph')",
    "ge.graph.Graph.add_data_edge": "(self, src_node, src_port_index, dst_node, dst_port_index)",
    "ge.graph.Graph.dump_to_file": "(self, format=kReadable, suffix='')",
    "ge.graph.Node.set_input_attr": "(self, attr_name, input_index, value)",
    "ge.graph.Node.get_output_attr": "(self, attr_name, output_index)",
    "ge.graph.Node.update_input_desc": "(self, index, tensor_desc)",
    "ge.graph.Operator.register_dynamic_input": "(self, name, count)",
    "ge.es.GraphBuilder": "(name=None)",
    "ge.es.GraphBuilder.create_input": "(self, index, *, name=None, type_str=DATA, data_type=DT_FLOAT, "
                                       "format=FORMAT_ND, shape=None)",
    "ge.es.GraphBuilder.create_inputs": "(self, num, start_index=0)",
    "ge.es.GraphBuilder.create_const_float": "(self, value, shape=None)",
    "ge.es.GraphBuilder.set_tensor_attr_int64": "(self, tensor, attr_name, value)",
    "ge.es.GraphBuilder.add_control_dependency": "(self, dst_tensor, src_tensors)",
    "ge.es.GraphBuilder.build_and_reset": "(self, outputs=None)",
    "ge.es.attr_scope": "(attr_maps)",
    "ge.offline_compile.build_model": "(graph, build_options=None)",
    "ge.offline_compile.GraphWithOptions": "(graph, build_options=<factory>)",
    "ge.utils.GeUtils.infer_shape": "(graph, input_shapes)",
}


@pytest.mark.parametrize("module", list(PUBLIC))
def test_modules_hold_their_public_names(module):
    loaded = importlib.import_module(module)
    assert sorted(PUBLIC[module].split()) == sorted(loaded.__all__)
    assert all(hasattr(loaded, name) for name in loaded.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_modules_that_programs_import_from_are_there(name):
    importlib.import_module(name)


@pytest.mark.parametrize("name", list(SIGNATURES))
def test_parameters_have_their_names_and_defaults(name):
    module, *rest = name.split(".")[2:]
    found = getattr(importlib.import_module(".".join(name.split(".")[:2])), module)
    for word in rest:
        found = getattr(found, word)
    bare = []
    for one in inspect.signature(found).parameters.values():
        default = getattr(one.default, "name", None)  # of an enumeration
        shown = type("Shown", (), {"__repr__": lambda self, default=default: default})() if default else one.default
        bare.append(one.replace(annotation=inspect.Parameter.empty, default=shown))
    assert str(inspect.Signature(bare)) == SIGNATURES[name]


def test_the_package_is_typed():
    """PEP 561: py.typed, a stub beside every module, and no public function without annotations."""
    assert (PACKAGE / "py.typed").exists()
    bare = []
    for source in PACKAGE.rglob("*.py"):
        assert source.with_suffix(".pyi").exists(), f"{source} has no stub"
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                missing = [one.arg for one in arguments if one.annotation is None and one.arg not in ("self", "cls")]
                if missing or node.returns is None:
                    bare.append(f"{source.relative_to(PACKAGE)}:{node.lineno} {node.name} {missing}")
    assert bare == []


def test_stubs_have_the_signatures_of_the_code():
    for source in PACKAGE.rglob("*.py"):
        stub = ast.parse(source.with_suffix(".pyi").read_text())
        code = ast.parse(source.read_text())
        methods = {(kind.name, one.name): ast.unparse(one.args) for kind in code.body if isinstance(kind, ast.ClassDef)
                   for one in kind.body if isinstance(one, ast.FunctionDef)}
        for kind in stub.body:
            for one in kind.body if isinstance(kind, ast.ClassDef) else ():
                if isinstance(one, ast.FunctionDef):
                    assert ast.unparse(one.args) == methods[kind.name, one.name], f"{source}: {kind.name}.{one.name}"


# --- what is not here
@pytest.mark.parametrize("module, name", [("ge.passes", "PatternFusionPass"), ("ge.passes", "register_fusion_pass"),
                                          ("ge.custom_op", "register_op"), ("ge.onnx_plugin", "OnnxPlugin"),
                                          ("ge.runtime", "Tensor")])
def test_plugin_frameworks_refuse_by_name(module, name):
    loaded = importlib.import_module(module)
    with pytest.raises(GeError, match=f"{module}.{name} is not there: ") as caught:
        getattr(loaded, name)
    assert isinstance(caught.value, ImportError)  # for programs that can do without
    with pytest.raises(AttributeError):
        loaded.nothing_of_that_name  # noqa: B018  the look-up is what is tested


def test_the_converter_is_atc():
    """The same words and the same code, whatever they are."""
    for arguments in (["--help"], ["--model=there_is_no_such_file", "--framework=5", "--output=x"]):
        outcomes = [subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
                    for command in ([sys.executable, "-m", "ge.pyatc"], ["atc"])]
        assert outcomes[0].returncode == outcomes[1].returncode
        assert outcomes[0].stdout == outcomes[1].stdout and outcomes[0].stderr == outcomes[1].stderr


def test_types_has_tensor_desc_too():
    from ge.graph import TensorDesc, types
    assert types.TensorDesc is TensorDesc
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        types.nothing_of_that_name  # noqa: B018  the look-up is what is tested


# --- functions of the compiler, which an installation may lack
def small():
    builder = GraphBuilder("small")
    return builder.build_and_reset([builder.create_input(0, shape=[2]) + 1.0])


@pytest.mark.parametrize("build, save", [
    (lambda: build_model(small()), save_model),
    (lambda: bundle_build_model([GraphWithOptions(small()), GraphWithOptions(small(), {})]), bundle_save_model),
], ids=["one graph", "a bundle"])
def test_a_model_is_built_or_the_error_names_what_is_missing(tmp_path, build, save):
    """Never a success without a model: either the library builds one, or the call says which function it lacks."""
    try:
        build_initialize({})
        model = build()
    except GeError as error:
        assert re.search("aclgrphBu.*(libge_compiler|libmillpond_kernels).so", str(error), re.S)
    else:
        assert model.length == model.get_length() > 0
        save(str(tmp_path / "small"), model)
        assert next(tmp_path.iterdir()).stat().st_size > 0
        build_finalize()


def test_utilities_work_or_name_what_is_missing():
    graph = small()
    add = graph.find_node_by_name("Add_1")
    try:
        assert GeUtils.infer_shape(graph, [[2]]) is None
        assert add.get_output_desc(0).shape == [2]
    except GeError as error:
        assert "ge::GeUtils::InferShape" in str(error)
    try:
        supported, reason = GeUtils.check_node_support_on_aicore(add)
        assert isinstance(supported, bool) and isinstance(reason, str)
    except GeError as error:
        assert "ge::GeUtils::CheckNodeSupportOnAicore" in str(error)


def test_the_example_runs(engine, root):
    command = [sys.executable, root / "examples" / "ge_python" / "own_allocator.py"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "given   " in outcome.stdout and outcome.stdout.rstrip().endswith("nothing is left over")

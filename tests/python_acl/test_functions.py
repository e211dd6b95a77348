# SPDX-License-Identifier: Apache-2.0
"""Every function of the vendor's acl is there, takes positional arguments alone, and answers in the documented shape."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXTRAS = {"acl.get_compileopt", "acl.set_compileopt", "acl.rt.launch_host_func", "acl.op.compile", "acl.op.compile_and_execute",
          "acl.op.compile_and_execute_v2", "acl.op.set_compile_flag"}
SUBMODULES = ["rt", "mdl", "op", "blas", "util", "prof", "media", "himpi", "fv"]


def vendor_names():
    text = re.sub(r"\n\s+", " ", (HERE / "vendor_names.txt").read_text())
    for line in filter(lambda line: not line.startswith("#"), text.splitlines()):
        module, _, names = line.partition(":")
        yield from (("acl" if module == "acl" else f"acl.{module}", name) for name in names.split())


def function_of(row):
    return getattr(importlib.import_module("acl" if row.module == "acl" else f"acl.{row.module}"), row.name)


@pytest.mark.parametrize("name", SUBMODULES)
def test_submodules_can_be_imported_by_themselves(program, name):
    program(f"import acl.{name} as module, sys; assert sys.modules['acl'].{name} is module and module.__name__ == 'acl.{name}'")


def test_vllm_ascends_import_works(program):
    program("from acl.rt import memcpy; assert callable(memcpy)")


def test_every_function_of_the_vendors_is_there(acl):
    missing = [f"{module}.{name}" for module, name in vendor_names()
               if not callable(getattr(importlib.import_module(module), name, None))]
    assert missing == []
    assert len(list(vendor_names())) > 700


def test_what_the_vendor_lacks_is_marked_extra(acl, rows):
    known = {f"{module}.{name}" for module, name in vendor_names()}
    assert {row.full_name for row in rows} - known == EXTRAS == {row.full_name for row in rows if "extra" in row.flags}


def test_the_module_exports_no_constants(acl):
    modules = [acl, *(getattr(acl, name) for name in SUBMODULES)]
    found = [f"{module.__name__}.{name}" for module in modules for name, value in vars(module).items()
             if not name.startswith("__") and not callable(value) and not inspect.ismodule(value)]
    assert found == []


def test_keyword_arguments_are_a_type_error(acl, rows):
    for row in rows:
        with pytest.raises(TypeError, match="no keyword arguments"):
            function_of(row)(stream=0)


def test_a_wrong_number_of_arguments_is_a_type_error_that_names_the_function(acl, rows):
    for row in (row for row in rows if row.parameters):
        with pytest.raises(TypeError, match=re.escape(f"{row.full_name} args parse failed")):
            function_of(row)(*[0] * (len(row.parameters) + 1))


@pytest.mark.filterwarnings("ignore:acl.util")
def test_an_argument_of_another_type_is_a_type_error(acl, rows):
    """A set is none of the kinds; where the vendor's raises ValueError for it, so does ours."""
    checked = 0
    for row in rows:
        for index, (_, kind, _) in enumerate(row.parameters):
            if kind == "object":
                continue
            values = [good_value(other) for _, other, _ in row.parameters]
            values[index] = {1}
            with pytest.raises(ValueError if kind == "bytes" else TypeError):
                function_of(row)(*values)
            checked += 1
    assert checked > 800


def good_value(kind):
    if kind.startswith("list"):
        return []
    return {"str": "", "str?": None, "f32": 0.0, "callable": len, "dict": {}, "tuple": (), "bytes": b"", "object": None}.get(kind, 0)


def test_functions_called_with_nothing_answer_in_their_documented_shape(program):
    """Nulls, zeros and empty lists to every function in one process: none crashes, hangs, or raises for an acl failure."""
    done = program(f"""
        import importlib, pathlib, sys, warnings
        warnings.simplefilter("ignore")
        sys.path.insert(0, {str(ROOT / "python" / "acl")!r})
        import acl, gen_acl
        def value(kind):
            if kind.startswith("list"): return []
            return {{"str": "", "str?": None, "f32": 0.0, "callable": lambda *_: None, "dict": {{}}, "tuple": (), "bytes": b"",
                    "object": None}}.get(kind, 0)
        may_raise = {{"acl.mdl.set_config_opt", "acl.util.ptr_to_bytes", "acl.util.ptr_to_numpy", "acl.util.numpy_to_ptr",
                     "acl.util.numpy_contiguous_to_ptr"}}
        acl.init(); acl.rt.set_device(0)
        for table in sorted(pathlib.Path({str(ROOT / "python" / "acl" / "tables")!r}).glob("*.txt")):
            module = importlib.import_module("acl" if table.stem == "acl" else "acl." + table.stem)
            for row in gen_acl.read_table(table):
                print(row.full_name, flush=True)
                try:
                    answer = getattr(module, row.name)(*[value(kind) for _, kind, _ in row.parameters])
                except (TypeError, ValueError):
                    assert row.full_name in may_raise, row.full_name
                    continue
                assert isinstance(answer, tuple) == row.is_tuple, (row.full_name, answer)
                if row.is_tuple:
                    assert len(answer) == len(row.results), (row.full_name, answer)
                if row.results[-1][0] == "ret":
                    assert type(answer[-1] if row.is_tuple else answer) is int, (row.full_name, answer)
                if row.how == "refused":
                    code = answer[-1] if row.is_tuple else answer
                    assert code == (207000 if row.results[-1][0] == "ret" else 0), (row.full_name, answer)
        print("all")
    """)
    assert done.stdout.endswith("all\n")


def test_stubs_declare_exactly_what_the_modules_have(acl, ascend, rows):
    for name in ["__init__", *SUBMODULES]:
        stub = ast.parse((ascend / "python" / "site-packages" / "acl-stubs" / f"{name}.pyi").read_text())
        declared = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
        module = acl if name == "__init__" else getattr(acl, name)
        assert set(declared) == {name for name, value in vars(module).items() if inspect.isbuiltin(value)}
        for node in declared.values():
            assert not node.args.args and not node.args.kwonlyargs, f"{name}.{node.name} is not positional only"
            assert node.returns is not None


def test_signatures_are_visible_in_python(acl):
    assert str(inspect.signature(acl.rt.malloc)) == "(size, policy, /)"
    assert "tuple[int, int]" in acl.rt.malloc.__doc__


def test_the_document_has_the_tables_rows(generator, tmp_path):
    document = ROOT / "docs" / "acl_python.md"
    copy = tmp_path / "copy.md"
    copy.write_text(document.read_text())
    generator.main(["--docs", str(ROOT / "python" / "acl" / "tables"), str(copy)])
    assert copy.read_text() == document.read_text(), "run: python3 python/acl/gen_acl.py --docs python/acl/tables docs/acl_python.md"

# SPDX-License-Identifier: Apache-2.0
"""The operator table, the kernels and libopapi agree: a symbol is exported only if it works."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, str(ROOT / "tools"))  # gen_ops imports its neighbour
gen_ops = _load("gen_ops", ROOT / "tools" / "gen_ops.py")
surface = _load("surface", Path(__file__).with_name("surface.py"))
TABLE = ROOT / "src" / "ops" / "table"


@pytest.fixture(scope="module")
def rows():
    return gen_ops.read_table(TABLE)


def test_libopapi_exports_both_phases_of_every_row_and_nothing_else(rows, ascend):
    wanted = {name for row in rows if row.aclnn for name in (row.name, f"{row.name}GetWorkspaceSize")}
    found = {name for name in surface.exported(ascend / "lib64" / "libopapi.so") if not name.endswith("GetMaxWorkspaceSize")}
    assert sorted(wanted - found) == []
    assert sorted(found - wanted) == []


def test_bindings_name_what_the_ge_operators_have(rows):
    gen_ops.check_ge(rows, gen_ops.ge_table.read(TABLE / "ge_ir.tsv") | gen_ops.read_own(TABLE))
    types = [kind for row in rows for kind, *_ in row.ge]
    assert sorted(kind for kind in set(types) if types.count(kind) > 1) == []


def test_every_generated_header_compiles_as_c(ascend, tmp_path):
    headers = sorted((ascend / "include" / "aclnnop").glob("*.h"))
    assert headers
    source = tmp_path / "all.c"
    source.write_text("".join(f"#include <aclnnop/{path.name}>\n" for path in headers))
    outcome = subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", "-pedantic", "-fsyntax-only", "-I", str(ascend / "include"),
                              str(source)], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def refused(text, says, folder, read):
    (folder / "bad.ops").write_text(text + "\n")
    with pytest.raises(gen_ops.Bad) as error:
        read(folder)
    assert says in str(error.value) and "bad.ops:" in str(error.value)


@pytest.mark.parametrize("text, says", [
    ("aclnnX(T self, >t out", "not a row"),
    ("aclnnX(Q self)", "TYPE"),
    ("aclnnX(T self, T self)", "twice"),
    ("aclnnX(T self, >t out)\n    shape out = same(other)", "no argument 'other'"),
    ("aclnnX(T self, >t out)\n    ge Abs(self=x)", "says nothing about out"),
    ("for aclnnY\n    waits", "no row aclnnY"),
    ("aclnnX(T self)\naclnnX(T self)", "has a row already"),
    ("aclnnX(T self, >t out)\n    onnx Abs(self=x)", "is none of: kernel"),
    ("aclnnX(T self, >t out)\n    may self", "does not write self"),
    ("aclnnX(i64 n = 1)", "only a kernel's parameter may have"),
    ("kernel K(T self)\n    waits", "is none of: ignores, refuses"),
])
def test_a_bad_table_is_refused_with_the_line(text, says, tmp_path):
    refused(text, says, tmp_path, gen_ops.read_table)


KERNEL = "kernel K(T self, T? bias = none, i64 mode, S alpha = 1, >t out)\n    ignores hint \"a hint\"\n"


@pytest.mark.parametrize("text, says", [
    (KERNEL, "no row binds kernel K"),
    (KERNEL + "aclnnX(T self, >t out)\n    kernel K", "says nothing about mode"),
    (KERNEL + "aclnnX(T self, >t out)\n    kernel K(mode=1.5)", "neither an argument of the row nor a value for i64 mode"),
    (KERNEL + "aclnnX(T self, >t out)\n    kernel K(mode=none)", "neither an argument of the row nor a value for i64 mode"),
    (KERNEL + "aclnnX(T self, i64 mode, >t out)\n    kernel K(knob=1)", "no parameter 'knob'"),
    (KERNEL + "aclnnX(T self, i64 mode, bool flag, >t out)\n    kernel K", "takes no flag of aclnnX"),
    (KERNEL + "aclnnX(T? self, i64 mode, >t out)\n    kernel K", "T? self cannot be T self"),
    (KERNEL + "aclnnX(T self, f64 mode, >t out)\n    kernel K", "f64 mode cannot be i64 mode"),
    (KERNEL + "aclnnX(T self, i64 mode, T out)\n    kernel K", "T out cannot be >t out"),
    (KERNEL + "aclnnX(!t self, i64 mode)\n    kernel K(out=self)", "!t self cannot be T self"),
    (KERNEL + "aclnnX(T self, i64 mode, >t out)\n    kernel K\n    ignores mode \"no\"", "ignores or refuses 'mode'"),
    ("aclnnX(T self)\n    kernel Y", "there is no kernel Y"),
    ("aclnnX(T self)\naclnnY(T self)\n    kernel aclnnX\naclnnZ(T self)\n    kernel aclnnY", "there is no kernel aclnnY"),
    ("kernel aclnnX(T self)\naclnnX(T self)", "has no 'kernel' line"),
])
def test_a_bad_binding_is_refused_with_the_line(text, says, tmp_path):
    refused(text, says, tmp_path, lambda folder: gen_ops.op_kernels.bind(*gen_ops.read_tables(folder)))


def test_a_row_gives_its_arguments_and_constants_to_the_kernels_parameters(tmp_path):
    (tmp_path / "good.ops").write_text(KERNEL + """
aclnnX(T self, i64 mode, i8 hint, >t out)
    kernel K
aclnnInplaceX(&t selfRef, T bias, bool fast, f64 limit)
    kernel K(self=selfRef, mode=fast, alpha=2.5, out=selfRef)
    refuses limit unless 0 "only 0"
""")
    bindings = gen_ops.op_kernels.bind(*gen_ops.read_tables(tmp_path))
    constant = gen_ops.op_kernels.CONSTANT_PLACE
    assert bindings["aclnnX"].places == [0, constant, 1, constant + 1, 3]
    assert bindings["aclnnX"].constants == ["{}", "{.dtype = DType::kInt64, .integer = 1}"]
    assert bindings["aclnnInplaceX"].places == [0, 1, 2, constant, 0]
    assert bindings["aclnnInplaceX"].constants == ["{.dtype = DType::kDouble, .real = 2.5}"]
    assert bindings["aclnnInplaceX"].refusals == ['{3, {.dtype = DType::kDouble, .real = 0}, "only 0"}']


def test_a_row_runs_its_own_kernel_without_what_it_ignores(tmp_path):
    (tmp_path / "good.ops").write_text('aclnnX(T self, i8 hint, >t out)\n    ignores hint "a hint"\naclnnY(T self, i8 hint, >t out)\n    kernel aclnnX\n')
    bindings = gen_ops.op_kernels.bind(*gen_ops.read_tables(tmp_path))
    assert [parameter.name for parameter in bindings["aclnnX"].kernel.args] == ["self", "out"]
    assert bindings["aclnnX"].places == bindings["aclnnY"].places == [0, 2]


def test_no_kernel_has_a_parameter_without_a_name():
    """What a kernel does not use is not its parameter: the table says that it is ignored, and why."""
    unnamed = re.compile(r"^(const )?[\w:]+ ?[&*]?$")
    found = []
    for path in sorted((ROOT / "src" / "kernels").rglob("*.cc")):
        for match in re.finditer(r"^MP_(?:WIDE_)?KERNEL\(([^{]*?)\)\s*\{", path.read_text(), re.M | re.S):
            name, *parameters = (re.sub(r"\s+", " ", part).strip() for part in match[1].split(","))
            found += [f"{path.name}: {name}: {parameter}" for parameter in parameters if unnamed.match(parameter)]
    assert found == []

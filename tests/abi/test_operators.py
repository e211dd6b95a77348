# SPDX-License-Identifier: Apache-2.0
"""The operator table, the kernels and libopapi agree: a symbol is exported only if it works."""

import importlib.util
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
    types = [kind for row in rows for kind, *_ in row.doors["ge"]]
    assert sorted(kind for kind in set(types) if types.count(kind) > 1) == []


def test_every_generated_header_compiles_as_c(ascend, tmp_path):
    headers = sorted((ascend / "include" / "aclnnop").glob("*.h"))
    assert headers
    source = tmp_path / "all.c"
    source.write_text("".join(f"#include <aclnnop/{path.name}>\n" for path in headers))
    outcome = subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", "-pedantic", "-fsyntax-only", "-I", str(ascend / "include"),
                              str(source)], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("text, says", [
    ("aclnnX(T self, >t out", "not a row"),
    ("aclnnX(Q self)", "TYPE"),
    ("aclnnX(T self, T self)", "twice"),
    ("aclnnX(T self, >t out)\n    shape out = same(other)", "no argument 'other'"),
    ("aclnnX(T self, >t out)\n    ge Abs(self=x)", "says nothing about out"),
    ("for aclnnY\n    waits", "no row aclnnY"),
    ("aclnnX(T self)\naclnnX(T self)", "has a row already"),
])
def test_a_bad_table_is_refused_with_the_line(text, says, tmp_path):
    (tmp_path / "bad.ops").write_text(text + "\n")
    with pytest.raises(gen_ops.Bad) as error:
        gen_ops.read_table(tmp_path)
    assert says in str(error.value) and "bad.ops:" in str(error.value)

# SPDX-License-Identifier: Apache-2.0
"""The layer checker: right about made-up trees, and the tree keeps its own table."""

import importlib.util

import pytest

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
check_layers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_layers)

TABLE = """
include:
src/base:
src/trace: src/base
src/device: src/base src/trace
src/graph/ir: src/base
src/api: include src/base src/device
tests: include
"""


def make_tree(folder, files, table=TABLE):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "layers.txt").write_text(table)
    return check_layers.check_tree(folder, folder / "layers.txt")


def test_this_tree_keeps_the_table():
    errors = check_layers.check_tree(ROOT, ROOT / "tools" / "layers.txt")
    assert errors == []


def test_include_of_a_lower_layer_is_allowed(tmp_path):
    assert make_tree(tmp_path, {"src/device/a.cc": '#include "src/base/b.h"\n#include "src/device/a.h"\n#include <vector>\n'}) == []


def test_include_of_a_higher_layer_is_named_with_its_line(tmp_path):
    errors = make_tree(tmp_path, {"src/trace/a.cc": '#include <string>\n#include "src/device/stream/stream.h"\n'})
    assert errors == ["src/trace/a.cc:2: error: 'src/trace' may not include 'src/device' (src/device/stream/stream.h)"]


def test_unit_test_keeps_the_rule_of_its_folder(tmp_path):
    errors = make_tree(tmp_path, {"src/base/b_test.cc": '#include "src/trace/sink.h"\n'})
    assert len(errors) == 1 and errors[0].startswith("src/base/b_test.cc:1:")


def test_relative_include_cannot_hide_the_layer(tmp_path):
    errors = make_tree(tmp_path, {"src/base/b.h": '#include "../trace/sink.h"\n', "src/trace/sink.h": ""})
    assert errors == ["src/base/b.h:1: error: 'src/base' may not include 'src/trace' (src/trace/sink.h)"]


@pytest.mark.parametrize("line", ['#include "acl/acl.h"', "#include <acl/acl.h>", "#  include <acl/acl.h>"])
def test_public_header_is_the_include_layer_however_it_is_written(tmp_path, line):
    files = {"include/acl/acl.h": "", "src/device/a.cc": line + "\n", "src/api/ok.cc": line + "\n"}
    errors = make_tree(tmp_path, files)
    assert errors == ["src/device/a.cc:1: error: 'src/device' may not include 'include' (include/acl/acl.h)"]


def test_public_header_may_include_nothing_of_ours(tmp_path):
    errors = make_tree(tmp_path, {"include/acl/acl.h": '#include "acl_base.h"\n#include "src/base/status.h"\n',
                                  "include/acl/acl_base.h": ""})
    assert errors == ["include/acl/acl.h:2: error: 'include' may not include 'src/base' (src/base/status.h)"]


def test_folder_without_a_row_is_an_error(tmp_path):
    assert make_tree(tmp_path, {"src/new/a.cc": ""}) == ["src/new/a.cc:1: error: no row of the layer table holds this folder"]


def test_longest_row_wins(tmp_path):
    table = TABLE.replace("src/api:", "src/api/acl: include\nsrc/api:")
    errors = make_tree(tmp_path, {"src/api/acl/a.cc": '#include "src/base/b.h"\n', "src/api/a.cc": '#include "src/base/b.h"\n'}, table)
    assert errors == ["src/api/acl/a.cc:1: error: 'src/api/acl' may not include 'src/base' (src/base/b.h)"]


def test_commented_include_is_no_include(tmp_path):
    assert make_tree(tmp_path, {"src/base/b.h": '// #include "src/device/stream/stream.h"\n'}) == []


@pytest.mark.parametrize("table, said", [
    ("a: b\nb: c\nc: a\n", "cyclic: a -> b -> c -> a"),
    ("a: a\n", "cyclic: a -> a"),
    ("a: b\n", "'b', which has no row"),
    ("a:\na:\n", "second row"),
    ("just words\n", "has the form"),
])
def test_bad_table_is_refused(tmp_path, table, said):
    (tmp_path / "layers.txt").write_text(table)
    with pytest.raises(check_layers.TableError, match="error") as caught:
        check_layers.read_table(tmp_path / "layers.txt")
    assert said in str(caught.value)

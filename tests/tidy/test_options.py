# SPDX-License-Identifier: Apache-2.0
"""The table of CANN's options (src/base/cann_options.def) has every name that the public headers have."""

import importlib.util
import re

import pytest


@pytest.fixture(name="rows", scope="module")
def table_rows(root):
    spec = importlib.util.spec_from_file_location("gen_options", root / "tools" / "gen_options.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.cann_rows((root / "src" / "base" / "cann_options.def").read_text())


def keys(rows, door):
    return [row[1] for row in rows if row[0] == door]


def enumerators(text, name):
    """The names of an enumeration and their numbers."""
    body = re.search(r"enum\s+" + name + r"\s*{(.*?)}|enum\s*{([^}]*)}\s*" + name + ";", text, re.S)
    assert body, name
    return [(key, int(number, 0)) for key, number in re.findall(r"(\w+) = (-?\w+)", body[1] or body[2])]


@pytest.mark.parametrize("door, header, name, first", [
    ("Model", "acl_mdl.h", "aclmdlConfigAttr", 0), ("ModelRun", "acl_mdl.h", "aclmdlExecConfigAttr", 0),
    ("Compile", "acl_op_compiler.h", "aclCompileOpt", 0), ("Parameter", "acl_base_rt.h", "aclSysParamOpt", 0),
    ("Limit", "acl_rt.h", "aclrtDeviceLimit", 0), ("Stream", "acl_rt.h", "aclrtStreamAttr", 1)])
def test_rows_stand_in_the_order_of_their_enumeration(root, rows, door, header, name, first):
    """Doors look a row up by its number."""
    found = enumerators((root / "include" / "acl" / header).read_text(), name)
    assert keys(rows, door) == [key for key, number in found if number != 0xFFFF]
    assert [number for _, number in found if number != 0xFFFF] == list(range(first, first + len(keys(rows, door))))


def test_every_option_of_the_graph_engine_has_a_row(root, rows):
    named = set()
    for path in (root / "include").rglob("*.h"):
        named |= set(re.findall(r'"(ge\.[A-Za-z0-9_.]+)"', path.read_text()))
    assert len(named) > 200
    assert sorted(named - set(keys(rows, "Graph"))) == []


def test_every_field_of_a_communicators_configuration_has_a_row_and_is_read(root, rows):
    text = (root / "include" / "hccl" / "hccl_types.h").read_text()
    body = re.search(r"typedef struct HcclCommConfigDef {(.*?)}", text, re.S)[1]
    fields = re.findall(r"(\w+)(?:\[\w+\])?;", body)
    assert keys(rows, "Comm") == [field for field in fields if field != "reserved"]
    source = (root / "src" / "api" / "hccl" / "comm.cc").read_text()
    assert all(f"MP_FIELD({field})" in source or field == "hcclCommName" for field in keys(rows, "Comm"))


def test_treatments_are_those_that_the_table_explains(rows):
    assert {row[3] for row in rows} == {"Honoured", "Harmless", "Told", "Refused"}

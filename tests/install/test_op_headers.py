# SPDX-License-Identifier: Apache-2.0
"""The classes of graph operators as a client compiles them: from CANN's place and from include/, with either string ABI."""

import re
import subprocess

import pytest


def compile_line(tmp_path, line, *flags):
    source = tmp_path / "client.cc"
    source.write_text(f"{line}\nge::Operator Make() {{ return ge::op::Conv2D(\"conv\").set_attr_strides({{1, 1, 1, 1}}); }}\n")
    outcome = subprocess.run(["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *flags, str(source)],
                             capture_output=True, text=True, timeout=600, check=False)
    assert outcome.returncode == 0, outcome.stderr[:4000]


@pytest.mark.parametrize("strings", [0, 1])
def test_all_operators_compile_in_one_client(ascend, tmp_path, strings):
    """Once from each place, once with each string ABI: the two are independent, so that two compilations show four facts."""
    include = f"-I{ascend}/include"
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={strings}"
    if strings == 0:
        compile_line(tmp_path, '#include "op_proto/inc/all_ops.h"', include, abi)
    else:
        compile_line(tmp_path, '#include "all_ops.h"', f"-I{ascend}/opp/built-in/op_proto/inc", include, abi)


def test_each_header_stands_alone(ascend):
    """Each includes what its macros need and nothing else of the folder, so that what compiles together compiles alone."""
    folder = ascend / "opp" / "built-in" / "op_proto" / "inc"
    together = set(re.findall(r'#include "([^"]+)"', (folder / "all_ops.h").read_text()))
    headers = {path.name for path in folder.glob("*.h") if path.stem != "all_ops" and not path.stem.startswith("ops_proto_")}
    assert together == headers
    for path in folder.glob("ops_proto_*.h"):
        assert '#include "all_ops.h"' in path.read_text(), path.name
    for name in sorted(headers):
        text = (folder / name).read_text()
        assert re.findall(r'#include [<"]([^">]+)', text) == ["graph/operator_reg.h"], name
        assert text.count("REG_OP(") == text.count("OP_END"), name


@pytest.mark.parametrize("name", ["array_ops.h", "nn_calculation_ops.h", "functional_ops.h"])
def test_a_header_alone_compiles(ascend, tmp_path, name):
    line = f'#include "op_proto/inc/{name}"\n#include "op_proto/inc/nn_calculation_ops.h"'
    compile_line(tmp_path, line, f"-I{ascend}/include")

# SPDX-License-Identifier: Apache-2.0
"""What headers bring along, where programs count on it: sources that compile with CANN's headers compile with these."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "exe_graph/runtime/shape.h": "int main() { std::cout << gert::Shape({2, 3}).GetShapeSize() << std::vector<int>(3).size() << std::array<int, 2>().size(); }",
    "parser/tensorflow_parser.h": 'int main() { ge::Graph graph; return ge::aclgrphParseTensorFlow("a", std::map<ge::AscendString, ge::AscendString>(), graph) == ge::GRAPH_SUCCESS; }',
    "parser/caffe_parser.h": 'int main() { ge::Graph graph; return ge::aclgrphParseCaffe("a", "b", graph) == ge::GRAPH_SUCCESS; }',
    "mstx/ms_tools_ext.h": 'int main() { aclrtStream stream = nullptr; mstxDomainHandle_t domain = mstxDomainCreateA("a"); mstxMemHeapDesc_t heap{}; mstxMemRegionRef_t reference{};'
                           ' reference.pointer = &heap; mstxRangeEnd(mstxDomainRangeStartA(domain, "b", stream)); return reference.pointer == nullptr; }',
    "atb/atb_infer.h": "int main() { atb::SVector<atb::ReshapeFunc> functions; functions.resize(100); atb::infer::SelfAttentionParam param; return param.kvHeadNum; }",
    "atb/atb_acl.h": "int main() { return AtbMLA(nullptr, 0, nullptr, nullptr); }",
}


@pytest.mark.parametrize("header", PROGRAMS)
def test_a_program_needs_no_other_include(header, tmp_path):
    source = tmp_path / "program.cc"
    source.write_text(f'#include "{header}"\n{PROGRAMS[header]}\n')
    done = subprocess.run(["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", f"-I{ROOT / 'include'}", str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

# SPDX-License-Identifier: Apache-2.0
"""`millpond kernel`: what it makes of a source, and what comes out of the compiler. (issue 16)"""

import subprocess
import sys

import pytest


@pytest.fixture
def cmd_kernel(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "tools" / "cli"))
    import cmd_kernel as module

    yield module
    for name in [name for name, found in sys.modules.items() if str(root / "tools" / "cli") in str(getattr(found, "__file__", ""))]:
        del sys.modules[name]


PROGRAM = r"""
#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"
// not_this<<<1, 2, 3>>>(4) is a comment
template <uint32_t kCount>
__vector__ __global__ void fill(__gm__ float* out, float value) {
  for (uint32_t i = 0; i < kCount; ++i) out[block_idx * kCount + i] = value + block_idx;
}
extern "C" __global__ __aicore__ void twice(GM_ADDR out, uint16_t count) {
  for (uint16_t i = 0; i < count; ++i) reinterpret_cast<float*>(out)[i] *= 2;
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream = nullptr;
  aclrtCreateStream(&stream);
  void* memory = nullptr;
  aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE_FIRST);
  constexpr uint32_t four = 4;
  fill<four><<<2,
      nullptr, stream>>>(static_cast<float*>(memory), 1.5f);
  twice<<<1, 0, stream>>>(static_cast<uint8_t*>(memory), 8);
  std::printf("synchronised %d\n", aclrtSynchronizeStream(stream));
  float host[8];
  aclrtMemcpy(host, 32, memory, 32, ACL_MEMCPY_DEVICE_TO_HOST);
  for (float one : host) std::printf("%g ", one);
  std::printf("line %d \"<<<\"\n", __LINE__);
}
"""


def test_launches_become_calls_and_lines_keep_their_numbers(cmd_kernel, tmp_path):
    text = cmd_kernel.translated(PROGRAM, tmp_path / "program.asc")
    assert '::millpond_kernel::Launch<(&fill<four>)>("fill<four>", 2, stream)' in text
    assert '::millpond_kernel::Launch<(&twice)>("twice", 1, stream)' in text
    assert "not_this<<<1, 2, 3>>>(4) is a comment" in text
    assert text.count("MILLPOND_KERNEL(") == 1 and "MILLPOND_KERNEL(twice);" in text
    body = text.split('program.asc"\n', 1)[1]
    assert body.splitlines()[PROGRAM.splitlines().index("int main() {")] == "int main() {"
    assert body.splitlines()[len(PROGRAM.splitlines()) - 1] == "}"


def test_a_line_that_is_there_is_not_written_again(cmd_kernel, tmp_path):
    source = 'extern "C" __global__ void one(GM_ADDR x) {}\nMILLPOND_KERNEL( one );\nextern "C" __global__ void declared(GM_ADDR x);\n'
    assert "MILLPOND_KERNEL(" not in cmd_kernel.translated(source, tmp_path / "x.cc").rsplit("declared", 1)[1]


def test_a_launch_that_is_not_understood_stops(cmd_kernel, tmp_path):
    with pytest.raises(Exception, match="line 2"):
        cmd_kernel.translated("void f() {\n  (g)<<<1>>>();\n}\n", tmp_path / "x.cc")


def test_a_program_with_launches_runs(cmd_kernel, ascend, ascend_env, tmp_path):
    source, program = tmp_path / "program.asc", tmp_path / "program"
    source.write_text(PROGRAM)
    arguments = cmd_kernel.kernel_parser().parse_args([str(source), "-o", str(program)])
    assert cmd_kernel.compile_all("g++", arguments, ["-Wall"], ascend) == 0
    outcome = subprocess.run([str(program)], env=ascend_env, capture_output=True, text=True, check=False, timeout=60)
    assert "synchronised 0" in outcome.stdout, outcome.stdout + outcome.stderr
    line = PROGRAM.splitlines().index(next(one for one in PROGRAM.splitlines() if "__LINE__" in one)) + 1
    assert f"3 3 3 3 5 5 5 5 line {line}" in outcome.stdout, outcome.stdout

# SPDX-License-Identifier: Apache-2.0
"""The cases of docs/find_the_wrong_operation.md: each example is found as the page says, and its mended form earns nothing.

The case with torch_npu is in tests/torch/programs/test_guide.py.
"""

import subprocess
import sys

import guide_page
import pytest

SECONDS = 120


def run(command, folder, env):
    return subprocess.run(list(map(str, command)), cwd=folder, env={**env, "MILLPOND_CHECK": "1"}, capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.mark.parametrize("name, compiler, libraries", [("acl_free.c", ["gcc"], ["ascendcl"]),
                                                       ("ge_output.cc", ["g++", "-std=c++17"], ["ge_runner", "graph", "ascendcl"])])
def test_a_compiled_case_is_found_as_the_page_says(ascend, ascend_env, tmp_path, name, compiler, libraries):
    source = guide_page.EXAMPLES / name
    program = tmp_path / source.stem
    subprocess.run([*compiler, "-g", f"-I{guide_page.EXAMPLES.parent}", f"-I{ascend}/include", source, f"-L{ascend}/lib64", f"-Wl,-rpath,{ascend}/lib64",
                    *(f"-l{library}" for library in libraries), "-o", program], check=True, timeout=SECONDS)
    guide_page.check(source.stem, source.parent, run([program], tmp_path, ascend_env), run([program, "mended"], tmp_path, ascend_env))


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the checker reads the frames of CPython 3.11 alone")
def test_the_case_with_pyacl_is_found_as_the_page_says(ascend_env, tmp_path):
    program = [sys.executable, guide_page.EXAMPLES / "pyacl_copy.py"]
    guide_page.check("pyacl_copy", guide_page.EXAMPLES, run(program, tmp_path, ascend_env), run([*program, "mended"], tmp_path, ascend_env))


def test_the_page_has_a_case_for_each_example_and_shows_its_lines_as_they_are():
    names = {path.stem: path.read_text(encoding="utf-8") for path in guide_page.EXAMPLES.iterdir() if path.is_file()}
    assert set(guide_page.shown()) == set(names)
    for block in guide_page.CODE.findall(guide_page.PAGE.read_text(encoding="utf-8")):
        assert any(block in text for text in names.values()), block

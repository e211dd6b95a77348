# SPDX-License-Identifier: Apache-2.0
"""Functions that build graphs call by call: gen_esb and find_package(GenerateEsPackage), as a project outside the tree uses them."""

import os
import subprocess
from pathlib import Path

CLIENT = Path(__file__).resolve().parent / "es"
NODES = {"Add": 2, "BatchNorm": 1, "Cast": 1, "ConcatV2": 1, "Const": 7, "Data": 1, "Fill": 1, "NetOutput": 1, "ReduceMean": 1, "Reshape": 1,
         "Shape": 1, "Split": 1, "TopKV2": 1}


def sh(*command, env, fails=False):
    done = subprocess.run([str(part) for part in command], env=env, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode != 0) == fails, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def environment(ascend):
    return {**{name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")}, "ASCEND_HOME_PATH": str(ascend)}


def test_a_project_builds_graphs_with_generated_functions(ascend, tmp_path):
    env = environment(ascend)
    said = sh("cmake", "-G", "Ninja", "-S", CLIENT, "-B", tmp_path, env=env)
    assert f"operators in {tmp_path}/output/include/es_all" in said
    sh("cmake", "--build", tmp_path, "--target", "client", "-j", "2", env=env)
    nodes = dict(line.split() for line in sh(tmp_path / "client", env=env).splitlines())
    assert {kind: int(count) for kind, count in nodes.items()} == NODES
    output = tmp_path / "output"
    assert (output / "lib64" / "libes_all.so").exists()
    assert (output / "include" / "es_all" / "es_all_ops_c.h").exists()
    assert not (output / "include" / "es_all" / "es_Conv2D.h").exists()


def test_definitions_of_a_projects_own_are_refused_by_name(ascend, tmp_path):
    said = sh("cmake", "-G", "Ninja", "-S", CLIENT, "-B", tmp_path, "-DOWN_DEFINITIONS=ON", env=environment(ascend), fails=True)
    assert "opgraph_own is not the built-in definitions" in " ".join(said.split())


def test_c_functions_compile_as_c99(ascend, tmp_path):
    env = environment(ascend)
    sh(ascend / "bin" / "gen_esb", f"--output_dir={tmp_path}", "--module_name=math", env=env)
    source = tmp_path / "client.c"
    source.write_text('#include "es_math_ops_c.h"\nEsCTensorHolder* Sum(EsCTensorHolder* x) { return EsAdd(x, x); }\n', encoding="utf-8")
    sh("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{tmp_path}", f"-I{ascend}/include", f"-I{ascend}/include/ge", source, env=env)


def test_gen_esb_refuses_what_it_does_not_do(ascend, tmp_path):
    said = sh(ascend / "bin" / "gen_esb", f"--output_dir={tmp_path}", "--es_mode=extract_history", env=environment(ascend), fails=True)
    assert "there is no history of definitions here" in said

# SPDX-License-Identifier: Apache-2.0
"""tools/release_check.py on a tree of its own: each point is seen when it is done, and when it is not."""

import importlib.util
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CASE = '<testsuite><testcase name="a"/>{}</testsuite>'


@pytest.fixture(name="check", scope="module")
def check_fixture():
    spec = importlib.util.spec_from_file_location("release_check", ROOT / "tools" / "release_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(name="ready")
def ready_fixture(check, tmp_path):
    """A tree in which every point is done."""
    (tmp_path / "CMakeLists.txt").write_text("project(Millpond VERSION 1.2.3 LANGUAGES C)\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n## 1.2.3 (2026-01-02)\n\n- new\n")
    (tmp_path / ".gitignore").write_text("/build/\n/dist/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "all")
    (tmp_path / "build" / "junit").mkdir(parents=True)
    for name in check.SUITES:
        (tmp_path / "build" / "junit" / f"{name}.xml").write_text(CASE.format(""))
    (tmp_path / "dist").mkdir()
    with zipfile.ZipFile(tmp_path / "dist" / "millpond-1.2.3-py3-none-manylinux_2_35_x86_64.whl", "w") as archive:
        archive.writestr("millpond/ascend/share/millpond/build.info", f"commit={git(tmp_path, 'rev-parse', 'HEAD')[:12]}\nversion=1.2.3\n")
    return tmp_path


def test_a_tree_with_every_point_done_is_ready(check, ready, capsys):
    assert check.main(["1.2.3"], ready) == 0
    assert "FAIL" not in capsys.readouterr().out


@pytest.mark.parametrize("name, spoil", [
    ("version", lambda tree: (tree / "CMakeLists.txt").write_text("project(Millpond VERSION 1.2.2 LANGUAGES C)\n")),
    ("tree", lambda tree: (tree / "new").write_text("")),
    ("tag", lambda tree: git(tree, "tag", "v1.2.3")),
    ("changelog", lambda tree: (tree / "CHANGELOG.md").write_text("## Unreleased: more\n\n- new\n\n## 1.2.3 (2026-01-02)\n\n- new\n")),
    ("changelog", lambda tree: (tree / "CHANGELOG.md").write_text("## 1.2.3\n\n- new\n")),
    ("tests", lambda tree: (tree / "build/junit/pytest.xml").write_text(CASE.format('<testcase name="b"><failure/></testcase>'))),
    ("tests", lambda tree: os.utime(tree / "build/junit/pytest.xml", (1, 1))),
    ("tests", lambda tree: (tree / "build/junit/ctest-tsan.xml").unlink()),
    ("wheel", lambda tree: git(tree, "commit", "-q", "--allow-empty", "-m", "later")),
])
def test_a_point_that_is_not_done_is_named(check, ready, capsys, name, spoil):
    spoil(ready)
    assert check.main(["1.2.3"], ready) == 1
    assert f"FAIL  {name}: " in capsys.readouterr().out

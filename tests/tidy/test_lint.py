# SPDX-License-Identifier: Apache-2.0
"""Other people's checkers on the whole tree: ruff, codespell, shellcheck. Each says what is wrong and where."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool(name, named_in):
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found, f"{name} is missing; {named_in} names it, ./millpond test installs it"
    return found


def run(*command):
    outcome = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    return outcome.returncode, outcome.stdout + outcome.stderr


def shell_scripts(files):
    scripts = []
    for path in files:
        if path.suffix in (".sh", ".bash"):
            scripts.append(path)
        elif not path.suffix and not path.is_symlink():
            first = path.read_bytes()[:40].split(b"\n")[0]
            if first.startswith(b"#!") and first.endswith(b"sh"):
                scripts.append(path)
    return scripts


def test_python_has_no_finding_of_ruff():
    status, output = run(tool("ruff", "requirements-lint.txt"), "check", "--no-cache", "--quiet", "--output-format", "concise", ".")
    assert status == 0, f"\n{output}"


def test_words_are_spelled_right(project_files):
    files = [path for path in project_files if not path.is_symlink() and b"\0" not in path.read_bytes()[:4096]]
    status, output = run(tool("codespell", "requirements-lint.txt"), *files)
    assert status == 0, f"\n{output}a name that is right goes into .codespellrc"


def test_shell_scripts_have_no_finding_of_shellcheck(project_files):
    scripts = shell_scripts(project_files)
    assert ROOT / "millpond" in scripts and ROOT / ".ci" / "run" in scripts
    status, output = run(tool("shellcheck", "packaging/debian-packages-lint.txt"), "-f", "gcc", *scripts)
    assert status == 0, f"\n{output}"


@pytest.mark.parametrize("checker, named_in, name, text", [
    ("ruff", "requirements-lint.txt", "a.py", "import os\n"),
    ("codespell", "requirements-lint.txt", "a.md", "recie" + "ve\n"),
    ("shellcheck", "packaging/debian-packages-lint.txt", "a.sh", "#!/bin/sh\ncd $1\n"),
])
def test_a_finding_fails_the_checker(tmp_path, checker, named_in, name, text):
    path = tmp_path / name
    path.write_text(text)
    status, output = run(tool(checker, named_in), *(["check", "--no-cache"] if checker == "ruff" else []), path)
    assert status != 0 and name in output

# SPDX-License-Identifier: Apache-2.0
"""What pip may install: exactly what the lists name, by hash, wheels only."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LISTS = sorted(ROOT.glob("requirements*.txt"))
ENTRY = re.compile(r"^[\w.-]+==[^\s\\]+(?: \\\n    --hash=sha256:[0-9a-f]{64})+$", re.M)


@pytest.fixture(name="generator")
def generator_fixture(root):
    spec = importlib.util.spec_from_file_location("gen_hashes", root / "tools" / "gen_hashes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_pin_has_a_hash_and_nothing_but_wheels_is_taken(path, generator):
    """Issue 13: a list without hashes takes whatever an index gives under that name."""
    rest = "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("#"))
    assert rest.startswith(generator.MODES)
    assert re.sub(r"\n+", "", ENTRY.sub("", rest.removeprefix(generator.MODES))) == "", "every line is a pin or its hash"


def test_the_hashes_of_torch_are_those_of_its_cpu_builds(root, generator):
    entry = next(text[0] for text in ENTRY.finditer((root / "requirements-torch.txt").read_text()) if text[0].startswith("torch=="))
    version = re.match(r"torch==([^\s\\]+)", entry)[1]
    assert re.findall(r"sha256:(\w+)", entry) == sorted(generator.own_builds()["torch", version])


def test_nobody_is_told_to_use_an_extra_index(project_files, root):
    """Whoever owns a name at one of two indexes can give a file for it; where it is mentioned, it is to warn."""
    allowed = {"docs/pytorch.md", "docs/zh/pytorch.md", "tests/tidy/test_requirements.py", "tests/cli/test_torch.py"}
    texts = {path.relative_to(root).as_posix(): path for path in project_files if path.suffix in (".md", ".py", ".sh", ".txt", ".yaml", "")}
    assert {name for name, path in texts.items() if b"extra-index-url" in path.read_bytes()} - allowed == set()


def test_hashes_are_those_of_wheels_for_this_platform(generator, monkeypatch):
    index = {"a_b-1.0-py3-none-any.whl": "1" * 64, "a_b-1.0.tar.gz": "2" * 64, "a_b-1.0.1-py3-none-any.whl": "3" * 64,
             "a_b-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": "4" * 64, "a_b-1.0-cp311-cp311-win_amd64.whl": "5" * 64,
             "a_b-1.0-cp39-abi3-manylinux_2_28_x86_64.whl": "6" * 64, "a_b-1.0-cp39-cp39-manylinux_2_28_x86_64.whl": "7" * 64}
    monkeypatch.setattr(generator, "listed", lambda name: index)
    text = generator.hashed("# why\nA-b==1.0 \\\n    --hash=sha256:" + "9" * 64 + "\n")
    assert text == f"# why\n{generator.MODES}A-b==1.0" + "".join(f" \\\n    --hash=sha256:{digit * 64}" for digit in "146") + "\n"
    with pytest.raises(SystemExit, match="a-c==1: the index has no wheel"):
        generator.hashed("a-c==1\n")

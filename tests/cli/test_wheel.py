# SPDX-License-Identifier: Apache-2.0
"""The wheel as a file, and an installed tree: what is packed, that two builds are equal, links, what the command can do without sources."""

import base64
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(name="cli")
def cli_fixture(monkeypatch):
    """The command line's modules, for this test alone."""
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "cli"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture(name="small")
def small_fixture(tmp_path):
    """A tree with one of each: a program, a file, a link to a folder, a link to a file, an empty folder."""
    tree = tmp_path / "tree"
    for folder in ("bin", "lib64", "runtime", "opp/vendors", "share/millpond"):
        (tree / folder).mkdir(parents=True)
    (tree / "bin" / "tool").write_text("#!/bin/sh\n")
    (tree / "bin" / "tool").chmod(0o755)
    (tree / "lib64" / "liba.so").write_bytes(b"\x7fELF not really")
    (tree / "runtime" / "lib64").symlink_to("../lib64")
    (tree / "devlib").symlink_to("lib64")
    (tree / "lib64" / "alias.txt").symlink_to("liba.so")
    (tree / "set_env.sh").write_text("# environment\n")
    return tree


def pack(cli, tree, path, seconds=1700000000):
    content = cli("wheel").Content()
    content.add_tree(tree)
    content.write(path, "millpond-1.dist-info", seconds)
    return path


def test_two_wheels_of_one_tree_are_equal_whatever_the_files_times_and_order(cli, small, tmp_path):
    first = pack(cli, small, tmp_path / "a.whl")
    copy = tmp_path / "copy"
    shutil.copytree(small, copy, symlinks=True)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    second = pack(cli, copy, tmp_path / "b.whl")
    assert first.read_bytes() == second.read_bytes()
    (copy / "set_env.sh").write_text("# another\n")
    assert first.read_bytes() != pack(cli, copy, tmp_path / "c.whl").read_bytes()


def test_every_file_is_in_the_record_with_its_hash(cli, small, tmp_path):
    with zipfile.ZipFile(pack(cli, small, tmp_path / "a.whl")) as archive:
        names = archive.namelist()
        rows = dict(line.split(",", 1) for line in archive.read("millpond-1.dist-info/RECORD").decode().splitlines())
        assert set(rows) == set(names) and names[-1] == "millpond-1.dist-info/RECORD" and rows[names[-1]] == ","
        for name in names[:-1]:
            data = archive.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert rows[name] == f"sha256={digest},{len(data)}"
        assert archive.getinfo("millpond/ascend/bin/tool").external_attr >> 16 & 0o111
        assert not archive.getinfo("millpond/ascend/lib64/liba.so").external_attr >> 16 & 0o111
        assert "millpond/ascend/opp/vendors/.keep" in names
        assert archive.read("millpond/ascend/lib64/alias.txt") == b"\x7fELF not really"
        assert archive.read("millpond/ascend/share/millpond/links.txt") == b"devlib\tlib64\nruntime/lib64\t../lib64\n"


def unpacked(cli, small, folder):
    with zipfile.ZipFile(pack(cli, small, folder / "a.whl")) as archive:
        archive.extractall(folder / "site")
    return folder / "site" / "millpond" / "ascend"


def test_links_that_a_wheel_cannot_have_are_made_in_place_and_once(cli, small, tmp_path):
    tree = unpacked(cli, small, tmp_path)
    for _ in range(2):
        cli("installed").complete(tree, tree)
        assert os.readlink(tree / "devlib") == "lib64" and (tree / "runtime" / "lib64" / "liba.so").exists()


def test_a_tree_that_cannot_be_written_gets_a_twin_of_links(cli, small, tmp_path):
    tree = unpacked(cli, small, tmp_path)
    before = sorted(tree.rglob("*"))
    twin = tmp_path / "cache" / "twin"
    for _ in range(2):
        cli("installed").complete(twin, tree)
    assert sorted(tree.rglob("*")) == before
    assert (twin / "runtime" / "lib64" / "liba.so").exists() and (twin / "devlib" / "liba.so").exists() and (twin / "set_env.sh").exists()
    assert os.path.realpath(twin / "lib64" / "liba.so") == str(tree / "lib64" / "liba.so")


def test_the_sbom_has_each_part_of_the_notices_and_nothing_by_chance(cli):
    sbom = cli("sbom")
    notices = (ROOT / "THIRD_PARTY.md").read_text()
    facts = {"version": "1.2.3", "commit": "abc", "cann": "9.0.0"}
    text = sbom.document(facts, notices, 1700000000)
    assert text == sbom.document(facts, notices, 1700000000)
    found = json.loads(text)
    assert found["bomFormat"] == "CycloneDX" and found["metadata"]["component"]["version"] == "1.2.3"
    table = [line for line in notices.splitlines() if line.startswith("| ") and "`" in line]
    assert len(found["components"]) == len(table) >= 4
    names = {part["name"]: part for part in found["components"]}
    assert names["JSON for Modern C++"]["licenses"] == [{"expression": "MIT"}] and names["PyTorch"]["version"] == "2.13"


def test_metadata_names_torch_as_an_extra(cli):
    text = cli("wheel").metadata("1.2.3", "# Read\n", {"torch": "2.13.0", "torch_npu": "2.13.0"})
    head, _, body = text.partition("\n\n")
    assert "Version: 1.2.3" in head and 'Requires-Dist: torch==2.13.0; extra == "torch"' in head and body == "# Read\n"


@pytest.fixture(name="install")
def install_fixture(tmp_path):
    """The command line where an install has it, and nothing else of the sources."""
    tree = tmp_path / "else where" / "ascend"
    data = tree / "share" / "millpond" / "cli" / "data"
    shutil.copytree(ROOT / "tools" / "cli", data.parent, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "profiles", tree / "share" / "millpond" / "profiles")
    data.mkdir()
    for name in ("tools/rule_table.py", "src/check/rules.yaml", "src/report/base.css", "src/base/options.def", "requirements-torch.txt"):
        shutil.copy(ROOT / name, data)
    (tree / "share" / "millpond" / "build.info").write_text("version=1.2.3\ncann=9.0.0\ncommit=abc\n")
    shutil.copy(ROOT / "packaging" / "set_env.sh", tree)

    def call(*arguments, **extra):
        base = {name: value for name, value in os.environ.items() if not name.startswith(("MILLPOND_", "ASCEND_"))
                and name not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH")}
        return subprocess.run([sys.executable, str(data.parent), *arguments], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
                              env={**base, "XDG_CACHE_HOME": str(tmp_path / "cache"), **extra})
    call.tree = tree
    return call


def test_an_install_tells_its_version_and_knows_its_commands(install):
    assert install("--version").stdout == "millpond 1.2.3 (commit abc, CANN 9.0.0)\n"
    said = install("--help").stdout
    for command in ("demo", "run", "check", "env", "doctor", "graph", "plan"):
        assert f"\n  {command} " in said
    for command in ("test", "bench", "package"):
        assert f"\n  {command} " not in said
        outcome = install(command)
        assert outcome.returncode == 2 and f"'{command}' needs Millpond's sources" in outcome.stderr
    assert "./millpond" not in said and "./millpond" not in install("run", "--help").stdout


def test_an_install_runs_programs_with_its_tree_and_installs_nothing(install):
    outcome = install("run", "--devices", "2", "--", "sh", "-c", "echo $ASCEND_HOME_PATH $MILLPOND_DEVICES $PYTHONPATH", MILLPOND_TORCH="off")
    assert outcome.stdout == f"{install.tree} 2 {install.tree}/python/site-packages\n" and outcome.stderr == ""
    said = install("env", MILLPOND_TORCH="off").stdout
    assert f"export ASCEND_HOME_PATH='{install.tree}'\n" in said
    assert install("check", "--rules").returncode == 0

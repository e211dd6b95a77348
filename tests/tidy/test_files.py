# SPDX-License-Identifier: Apache-2.0
"""Files by name have one way in and out (src/base/files.h, tools/cli/files.py): whoever opens one by hand says here why."""

import os
import re
import stat
import sys

import pytest

# Issue 13: a file was written through a planted link wherever somebody had opened it by hand.
CPP_OPENS = re.compile(r"\b(?:fopen|freopen|open64|creat|mkstemp|[io]?fstream)\b|(?<![\w.>])(?:::)?open(?:at)?\(")
CPP_MAY = {
    "src/base/files.cc": "the way itself",
    "src/graph/io/onnx_external.cc": "one name at a time below the model's folder, no link followed",
    "src/exec/op/torch_threads.cc": "/proc of this process",
    "src/base/long_wait.cc": "/proc of this process",
    "src/check/reporter.cc": "/proc of this process",
    "src/device/torch_queue.cc": "/proc of this process",
    "src/device/stream/last_thread.cc": "/proc of this process",
    "src/device/memory/quota.cc": "figures of the kernel",
    "src/device/memory/vmm.cc": "figures of the kernel",
    "src/device/memory/address_space.cc": "figures of the kernel",
    "src/device/memory/shared_quota.cc": "a table in a folder of the user's own, no link followed, its owner looked at",
    "src/device/memory/device_memory_file.cc": "O_TMPFILE: a file without a name",
    "src/comm/network.cc": "/proc: the kernel's boot",
    "src/trace/chrome_trace.cc": "/proc: the kernel's boot",
    "src/api/acl/rt/device/topology.cc": "/etc/machine-id",
}
PYTHON_OPENS = re.compile(r"""\bopen\([^)]*["'][wax]b?\+?["']|\.write_(?:text|bytes)\(|\bos\.open\(|\bjson\.dump\(""")
PYTHON_MAY = {
    "tools/cli/files.py": "the way itself",
    "tools/cli/ensure.py": "build/: locks and stamps",
    "tools/cli/pytorch.py": "build/: what was found",
    "tools/cli/cmd_package.py": "build/: what the packaging tools hold",
    "tools/cli/pypi.py": ".venv: what it holds",
    "tools/cli/ui.py": "build/log",
    "tools/cli/checks.py": "a page of docs/",
    "tools/doc_page.py": "a page of docs/",
    "tools/cli/cmd_kernel.py": "a new folder that nobody else can write to",
    "tools/msprof/msprof.py": "a new folder that nobody else can write to",
    "tools/forked_programs.py": "a new folder that nobody else can write to",
    "tools/unity.py": "build/",
    "bench/traces/record.py": "packed recordings beside itself",
    "tools/link_floor.py": "build/",
    "tools/torch_versions.py": "build/, and a page of docs/",
    "tools/site_pages.py": "build/: pages of the site",
    "bench/page.py": "a page of docs/ and its plots",
    "bench/plan/compare.py": "a new folder that nobody else can write to",
    "bench/start/start.py": "a new folder that nobody else can write to",
    "bench/pool/programs_check.py": "a new folder that nobody else can write to",
    "python/millpond/millpond/_lines.py": "adds lines to the checker's file, which is there",
    "python/ge/ge/graph/tensor.py": "reads, and looks at what it opened",
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def opens_by_hand(project_files, root, suffixes, pattern, clean):
    found = set()
    for path in project_files:
        name = path.relative_to(root).as_posix()
        is_product = name.startswith(("src/", "tools/", "python/", "include/", "bench/")) and path.suffix in suffixes
        if is_product and not re.search(r"_test\.\w+$|/gen_\w+\.py$", name) and pattern.search(clean(path.read_text(encoding="utf-8"))):
            found.add(name)
    return found


def test_libraries_and_tools_open_files_through_the_one_helper(project_files, root):
    files = [path for path in project_files if not path.relative_to(root).as_posix().startswith("bench/")]
    found = opens_by_hand(files, root, {".cc", ".h"}, CPP_OPENS, without_comments)
    assert found - set(CPP_MAY) == set(), "use millpond::files (src/base/files.h), or say in CPP_MAY why not"
    assert set(CPP_MAY) - found == set(), "these open nothing any more: strike them from CPP_MAY"


def test_python_writes_what_a_user_names_through_the_one_helper(project_files, root):
    found = opens_by_hand(project_files, root, {".py"}, PYTHON_OPENS, lambda text: text)
    assert found - set(PYTHON_MAY) == set(), "use files.write_whole (tools/cli/files.py), or say in PYTHON_MAY why not"
    assert set(PYTHON_MAY) - found == set(), "these write nothing any more: strike them from PYTHON_MAY"


@pytest.mark.parametrize("line, bad", [
    ('std::ofstream out(path);', True), ('fd = ::open(path, O_CREAT);', True), ("fd = open(path, 0);", True),
    ('FILE* f = std::fopen(path, "w");', True), ("std::ifstream(path) >> x;", True), ("// as open(2) says", False),
    ("gate.Open(); file.open();", False), ("Reopen(x); is_open()", False),
])
def test_the_cpp_pattern_finds_what_it_should(line, bad):
    assert bool(CPP_OPENS.search(without_comments(line))) == bad


@pytest.mark.parametrize("line, bad", [
    ('with open(path, "w", encoding="utf-8") as f:', True), ("path.write_text(page)", True), ("open(path, 'ab')", True),
    ('open(path, "rb")', False), ("open(path)", False), ("reopen(path)", False),
])
def test_the_python_pattern_finds_what_it_should(line, bad):
    assert bool(PYTHON_OPENS.search(line)) == bad


@pytest.fixture(name="files")
def files_fixture(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "tools" / "cli"))
    sys.modules.pop("files", None)
    import files
    return files


def test_a_page_is_written_whole_and_through_no_link(files, tmp_path):
    victim, page = tmp_path / "victim", tmp_path / "page.html"
    victim.write_text("precious")
    page.symlink_to(victim)
    files.write_whole(page, "page")
    assert (victim.read_text(), page.read_text(), page.is_symlink()) == ("precious", "page", False)
    assert stat.S_IMODE(page.stat().st_mode) & ~0o640 == 0
    assert sorted(os.listdir(tmp_path)) == ["page.html", "victim"]


def test_a_page_that_cannot_be_written_leaves_nothing_behind(files, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        files.write_whole(tmp_path / "folder", "page")
    with pytest.raises(UnicodeEncodeError):
        files.write_whole(tmp_path / "page", "\udcff")
    assert os.listdir(tmp_path) == ["folder"]
    files.write_whole("/dev/null", "page")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

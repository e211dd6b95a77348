# SPDX-License-Identifier: Apache-2.0
"""THIRD_PARTY.md has a row and a licence for everything of others that is compiled into the libraries."""

import re
import shutil
import subprocess

import pytest

# Interfaces of the kernel and of the C library: declarations, no code of theirs in ours.
SYSTEM = {"sys", "linux", "net", "netinet", "arpa", "sanitizer", "bits", "asm", "asm-generic", "gnu", "rpc",
          "x86_64-linux-gnu"}
# Only tests and benchmarks, which are not installed.
NOT_INSTALLED = {"gtest", "gmock", "benchmark"}
INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)
LIBRARY = re.compile(r"^[a-z_]+(?:\.h)?$")  # <unistd.h>, <vector>


@pytest.fixture(name="rows")
def rows_fixture(root):
    text = (root / "THIRD_PARTY.md").read_text()
    rows = {}
    for what, headers, licence in re.findall(r"^\| ([^|`]+) \| ((?:`[^`]+` ?)+)\| [^|]+ \| (.+) \|$", text, re.M):
        for header in re.findall(r"`([^`]+)`", headers):
            rows[header] = (what, licence)
    assert rows, "the table cannot be read"
    return rows


def is_product(name):
    return name.startswith(("src/", "tools/", "python/", "include/")) and not re.search(r"_test\.\w+$", name)


def test_every_include_of_others_has_a_row(project_files, root, rows):
    headers = set()
    for path in project_files:
        if path.suffix in (".cc", ".h", ".c") and is_product(path.relative_to(root).as_posix()):
            headers |= set(INCLUDE.findall(path.read_text(encoding="utf-8")))
    firsts = {header.split("/")[0] for header in headers if not LIBRARY.match(header)}
    assert firsts - SYSTEM - NOT_INSTALLED - set(rows) == set(), "give it a row in THIRD_PARTY.md"
    assert {"nlohmann", "ATen", "Python.h"} <= firsts, "the search finds what is known to be there"


def outside(lines, tree):
    """The headers that a compiler read for the libraries, outside this tree, as one would include them."""
    headers, counts = set(), False
    for line in lines:
        if line and not line.startswith(" "):
            counts = line.startswith(("src/", "tools/", "python/")) and "_test.dir" not in line
        elif counts and line.strip().startswith("/") and (not line.strip().startswith(tree) or "/site-packages/" in line):
            headers.add(re.sub(r"^.*?/(?:torch/)?include/|^.*/lib/gcc/.*?/include/", "", line.strip()))
    return headers


def test_every_header_that_the_compiler_read_has_a_row(root, rows):
    build = root / "build" / "release"
    ninja = shutil.which("ninja")
    if not ninja or not (build / ".ninja_deps").exists():
        pytest.skip("no release build here: the #include lines are all there is to go by")
    read = subprocess.run([ninja, "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    headers = outside(read.splitlines(), str(root))
    assert headers, "the build says what it read"
    firsts = {header.split("/")[0] for header in headers if "/" in header}
    assert firsts - SYSTEM - NOT_INSTALLED - set(rows) == set(), "give it a row in THIRD_PARTY.md"


def test_the_reader_of_the_build_finds_what_it_should():
    lines = ["src/CMakeFiles/millpond.dir/a.cc.o: #deps 3, deps mtime 1 (VALID)", "    /here/src/a.cc", "    /usr/include/nlohmann/json.hpp",
             "    /here/.venv/lib/python3.11/site-packages/torch/include/ATen/Tensor.h", "    /usr/lib/gcc/x86_64-linux-gnu/12/include/omp.h", "",
             "src/CMakeFiles/base_test.dir/a.cc.o: #deps 1, deps mtime 1 (VALID)", "    /usr/include/gtest/gtest.h"]
    assert outside(lines, "/here") == {"nlohmann/json.hpp", "ATen/Tensor.h", "omp.h"}


def test_each_row_has_its_licence_with_its_text(root, rows):
    text = (root / "THIRD_PARTY.md").read_text()
    headings = {re.sub(r"[^\w -]", "", line[3:].strip()).replace(" ", "-").lower(): line for line in text.splitlines() if line.startswith("## ")}
    for header, (what, licence) in rows.items():
        linked = re.search(r"\[text\]\(#([\w-]+)\)", licence)
        assert linked or "exception" in licence, f"{what} ({header}) has no licence text"
        if linked:
            part = text.partition(headings[linked[1]])[2].partition("\n## ")[0]
            assert "```" in part and "WARRANT" in part.upper(), f"the text of {what} is missing"


def test_the_notice_is_installed_with_the_tree(root):
    assert re.search(r"install\(FILES [^)]*THIRD_PARTY\.md[^)]* DESTINATION share/millpond\)", (root / "packaging" / "CMakeLists.txt").read_text())

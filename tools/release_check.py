#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The release checklist: looks, changes nothing, and says of each point whether it is done.

    python3 tools/release_check.py 0.1.0

Before it: ./millpond test --long, ./millpond package. After it, with every point ok: git tag -s v0.1.0, then upload dist/.
"""

import re
import subprocess
import sys
import xml.etree.ElementTree
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The suites of ./millpond test --long that leave their results in build/junit.
SUITES = ("ctest-release", "ctest-asan", "ctest-tsan", "pytest", "pytest-torch", "ctest-kernels-asan", "pytest-kernels-asan")


def git(*arguments, root=ROOT):
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False).stdout.strip()


def version_is_set(version, root):
    found = re.search(r"^project\(Millpond VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(), re.M)[1]
    return found == version, f"CMakeLists.txt has version {found}"


def tree_is_clean(_, root):
    changed = git("status", "--porcelain", root=root)
    return not changed, "nothing is changed or new" if not changed else f"{len(changed.splitlines())} files are changed or new: git status"


def tag_is_free(version, root):
    found = git("tag", "--list", f"v{version}", root=root)
    return not found, f"tag v{version} is {'taken' if found else 'free'}"


def changelog_has_the_section(version, root):
    text = (root / "CHANGELOG.md").read_text()
    section = re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not section:
        return False, f"CHANGELOG.md has no line '## {version} (YYYY-MM-DD)'"
    rows = len(re.findall(r"^- ", section[1], re.M))
    rest = re.findall(r"^## Unreleased.*?\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    left = sum(len(re.findall(r"^- ", part, re.M)) for part in rest)
    return rows > 0 and left == 0, f"CHANGELOG.md: {rows} lines under {version}, {left} under Unreleased"


def suites_passed(_, root):
    """Results newer than the commit, each with tests and none that failed."""
    commit = int(git("log", "-1", "--format=%ct", root=root) or 0)
    wrong = []
    for name in SUITES:
        path = root / "build" / "junit" / f"{name}.xml"
        if not path.exists() or path.stat().st_mtime < commit:
            wrong.append(f"{name} did not run since the commit")
            continue
        cases = list(xml.etree.ElementTree.parse(path).iter("testcase"))
        failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"]
        if failed or not cases:
            wrong.append(f"{name}: {len(failed)} of {len(cases)} failed")
    return not wrong, "; ".join(wrong) or f"all {len(SUITES)} suites of ./millpond test --long passed since the commit"


def wheel_is_of_the_commit(version, root):
    wheels = list((root / "dist").glob(f"millpond-{version}-py3-none-manylinux_*.whl"))
    if len(wheels) != 1:
        return False, f"dist/ has {len(wheels)} wheels of {version}: ./millpond package"
    with zipfile.ZipFile(wheels[0]) as archive:
        facts = dict(line.split("=", 1) for line in archive.read("millpond/ascend/share/millpond/build.info").decode().splitlines())
    commit = facts.get("commit", "unknown")
    head = git("rev-parse", "HEAD", root=root)
    return bool(head) and head.startswith(commit), f"{wheels[0].name} is of commit {commit}, HEAD is {head[:12]}"


POINTS = (("version", version_is_set), ("tree", tree_is_clean), ("tag", tag_is_free), ("changelog", changelog_has_the_section),
          ("tests", suites_passed), ("wheel", wheel_is_of_the_commit))
BY_HAND = ("the tree compared with hashes of the vendor's public sources: no sentence in common",
           "a second ./millpond package in another clone of the commit: the same bytes (sha256sum dist/*.whl)",
           "README's times measured anew on a machine that does nothing else",
           "the wheel installed where there is no compiler, millpond demo there")


def main(argv, root=ROOT):
    if len(argv) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+", argv[0]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    results = [(name, *check(argv[0], root)) for name, check in POINTS]
    for name, good, fact in results:
        print(f"  {'ok  ' if good else 'FAIL'}  {name}: {fact}")
    for point in BY_HAND:
        print(f"  hand  {point}")
    failed = sum(not good for _, good, _ in results)
    print(f"{failed} of {len(results)} points are not done, {len(BY_HAND)} are yours to see to")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/coverage.md from the headers, the tests and abi/refused.txt: function, state, tests.

    gen_coverage.py [--check] [--root FOLDER]

A function's state follows from evidence alone: `refuses` when abi/refused.txt names it (it is exported and returns an
error that says so), `works` when a test's body calls it, `no test` otherwise. The tests shown are the most specific:
those that name the fewest other functions. --check writes nothing and exits 1 when the file is not current.
"""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

DECLARATION = re.compile(r"ACL_FUNC_VISIBILITY\s+[^;{]*?\b(\w+)\s*\(", re.S)
GTEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
PYTEST = re.compile(r"^(?:    )?def (test_\w+)\s*\(", re.M)
WORD = re.compile(r"\b\w+\b")
SHOWN_TESTS = 2
# Tests of names, layouts and files: that a symbol exists says nothing about what it does.
NO_EVIDENCE = {("tests", "abi"), ("tests", "tidy"), ("tests", "install"), ("tests", "cli")}
TITLE = """# API coverage

Made by tools/gen_coverage.py from the headers, the tests and abi/refused.txt; do not edit.
`works`: a test calls it and judges what it does. `refuses`: exported, and returns an error that names the function.
`no test`: exported, nothing more is claimed. The tests shown are the most specific ones.
"""


def declared(root):
    """{header: [function, ...]} in the order of declaration."""
    result = {}
    for header in sorted((root / "include").rglob("*.h")):
        names = DECLARATION.findall(header.read_text())
        if names:
            result[header.relative_to(root / "include").as_posix()] = list(dict.fromkeys(names))
    return result


def test_bodies(root):
    """(test name, its text) for every test in the tree."""
    sources = [*root.glob("src/**/*_test.cc"), *root.glob("tests/**/*.cc"), *root.glob("tests/**/*.py")]
    for source in sorted(set(sources)):
        if source.relative_to(root).parts[:2] in NO_EVIDENCE:
            continue
        text = source.read_text(encoding="utf-8", errors="replace")
        starts = list((PYTEST if source.suffix == ".py" else GTEST).finditer(text))
        for place, start in enumerate(starts):
            end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
            name = start[1] if source.suffix == ".py" else f"{start[1]}.{start[2]}"
            yield f"{name} ({source.relative_to(root).as_posix()})", text[start.start():end]


def evidence(root, functions):
    """{function: [test name, ...]}, the most specific first."""
    found = defaultdict(list)
    for name, body in test_bodies(root):
        used = functions.intersection(WORD.findall(body))
        for function in used:
            found[function].append((len(used), name))
    return {function: [name for _, name in sorted(tests)] for function, tests in found.items()}


def refused(root):
    path = root / "abi" / "refused.txt"
    if not path.exists():
        return set()
    return {line.split("#")[0].split()[0] for line in path.read_text().splitlines() if line.split("#")[0].split()}


def render(root):
    headers = declared(root)
    functions = {name for names in headers.values() for name in names}
    tests = evidence(root, functions)
    closed = refused(root)

    def state(name):
        return "refuses" if name in closed else "works" if tests.get(name) else "no test"

    counts = defaultdict(int)
    for name in functions:
        counts[state(name)] += 1
    lines = [TITLE, f"{len(functions)} functions: {counts['works']} work, {counts['refuses']} refuse, "
                    f"{counts['no test']} without a test.\n"]
    for header, names in headers.items():
        lines += [f"## {header}\n", "| function | state | tests |", "|---|---|---|"]
        for name in names:
            shown = "<br>".join(f"`{test}`" for test in tests.get(name, [])[:SHOWN_TESTS])
            lines.append(f"| `{name}` | {state(name)} | {shown} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    path = arguments.root / "docs" / "coverage.md"
    text = render(arguments.root)
    if arguments.check:
        if not path.exists() or path.read_text() != text:
            print("docs/coverage.md is not current; run: python3 tools/gen_coverage.py")
            return 1
        return 0
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/coverage.md from the headers, the export lists, the tests and abi/refused.txt: function, state, tests.

    gen_coverage.py [--check] [--root FOLDER]

A function's state follows from evidence alone: `refuses` when abi/refused.txt names it (it is exported and returns an
error that says so), `works` when a test asserts that a call of it succeeds (tools/test_evidence.py says what counts), `not shown` when
tests call it without that, `no test` otherwise. The tests shown are the most specific: those that show the fewest other functions.
--check writes nothing and exits 1 when the file is not current.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import test_evidence

DECLARATION = re.compile(r"ACL_FUNC_VISIBILITY\s+([^;{(]*?)\b(\w+)\s*\(", re.S)
# A macro's definition declares nothing.
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
NO_RESULT = re.compile(r"\bvoid\s+(\w+)\s*\(|\b\w+\s*&\s*(\w+)\s*\(")
# name(arguments) of a class or a namespace, demangled; constructors, destructors and operators are the class's own affair.
QUALIFIED = re.compile(r"^((?:ge|gert)::(?:\w+::)*)(\w+)(?:\[abi:\w+\])?\(")
SHOWN_TESTS = 2
# Tests of names, layouts and files: that a symbol exists says nothing about what it does.
NO_EVIDENCE = {("tests", "abi"), ("tests", "tidy"), ("tests", "install"), ("tests", "cli")}
TITLE = """# API coverage

Made by tools/gen_coverage.py from the headers, the export lists, the tests and abi/refused.txt; do not edit.
`works`: a test asserts that a call of it succeeds, or gives the value it should. `refuses`: exported, and returns an error that names the function.
`not shown`: tests call it, but none of them asserts a success here: by a refusal that depends on the arguments or the device, or through another process.
`no test`: exported, nothing more is claimed. The tests shown are the most specific ones.
"""
ACLNN = """## aclnn

The operators of `libopapi.so` are called in two phases, `aclnnXGetWorkspaceSize` and `aclnnX`. These have a test that calls them by name. The others are called by
torch_npu and by graphs: [ops.md](ops.md) has PyTorch's operator database against the CPU, operator by operator, and tests/torch the rest; which of them reaches
which function is the wheel's choice, so no row is claimed for them here.
"""


def declared(root):
    """{header: [function, ...]} in the order of declaration."""
    result = {}
    for header in sorted((root / "include").rglob("*.h")):
        names = [name for _, name in DECLARATION.findall(DIRECTIVE.sub("", header.read_text()))]
        if names:
            result[header.relative_to(root / "include").as_posix()] = list(dict.fromkeys(names))
    return result


def without_result(root):
    """Functions whose success nobody can assert: void, or the object itself."""
    names = set()
    for header in (root / "include").rglob("*.h"):
        names |= {one or other for one, other in NO_RESULT.findall(header.read_text())}
    return names


def exported(root):
    """{library: [(class or namespace, name), ...]} of the graph engine's export lists."""
    result = defaultdict(dict)
    for path in sorted((root / "abi" / "ge").glob("*.exports")):
        library = path.read_text().splitlines()[0].lstrip("# ")
        symbols = subprocess.run(["c++filt"], input=path.read_text(), capture_output=True, text=True, check=True).stdout.splitlines()
        for symbol in symbols:
            match = QUALIFIED.match(symbol)
            scope = match[1].rstrip(":").split("::") if match else []
            if match and match[2] != scope[-1] and not match[2].startswith("operator"):
                result[library]["::".join([*scope, match[2]])] = (scope[-1], match[2])
    return result


class Evidence:
    def __init__(self, root, functions):
        self.tests = [(name, words, shown, called) for name, words, shown, called in test_evidence.read(root, NO_EVIDENCE)]
        self.silent = without_result(root)
        self.weight = {name: len(shown & functions) for name, _, shown, _ in self.tests}

    def of(self, function, scope=None):
        """(tests that show it, whether any calls it). scope: the class, which the test's files must name."""
        mine = [test for test in self.tests if scope in (None, "ge", "gert") or scope in test[1]]
        callers = [name for name, _, _, called in mine if function in called]
        showing = callers if function in self.silent else [name for name, _, shown, _ in mine if function in shown]
        return sorted(showing, key=lambda name: (self.weight[name], name)), bool(callers)


def refused(root):
    path = root / "abi" / "refused.txt"
    if not path.exists():
        return set()
    return {line.split("#")[0].split()[0] for line in path.read_text().splitlines() if line.split("#")[0].split()}


def aclnn_names(root):
    text = "\n".join(path.read_text() for path in sorted((root / "src" / "ops" / "table").glob("*.ops")))
    return sorted(set(re.findall(r"^(aclnn\w+)\(", text, re.M)))


class Page:
    def __init__(self, root):
        self.headers, self.libraries, self.operators = declared(root), exported(root), aclnn_names(root)
        functions = {name for names in self.headers.values() for name in names}
        methods = {name for names in self.libraries.values() for _, name in names.values()}
        self.evidence = Evidence(root, functions | methods)
        self.closed = refused(root)
        self.counts = defaultdict(int)

    def row(self, shown_name, function, scope=None):
        tests, is_called = self.evidence.of(function, scope)
        state = "refuses" if function in self.closed else "works" if tests else "not shown" if is_called else "no test"
        self.counts[state] += 1
        cited = "" if state == "refuses" else "<br>".join(f"`{test}`" for test in tests[:SHOWN_TESTS])
        return f"| `{shown_name}` | {state} | {cited} |"

    def table(self, title, rows):
        return [f"## {title}\n", "| function | state | tests |", "|---|---|---|", *rows, ""]

    def operator_rows(self):
        for name in self.operators:
            tests, _ = self.evidence.of(name)
            if tests:
                yield f"| `{name}` | works | " + "<br>".join(f"`{test}`" for test in tests[:SHOWN_TESTS]) + " |"

    def text(self):
        lines, done = [], set()
        for header, names in self.headers.items():
            lines += self.table(header, [self.row(name, name) for name in names if not (name in done or done.add(name))])
        for library, names in self.libraries.items():
            rows = [self.row(name, function, scope) for name, (scope, function) in sorted(names.items()) if not (name in done or done.add(name))]
            lines += self.table(library, rows) if rows else []
        operators = list(self.operator_rows())
        if self.operators:
            lines += [ACLNN, f"{len(self.operators)} functions, {len(operators)} with a test of their own.\n",
                      "| function | state | tests |", "|---|---|---|", *operators, ""]
        counts = self.counts
        total = (f"{sum(counts.values())} functions and methods: {counts['works']} work, {counts['refuses']} refuse, {counts['not shown']} not shown, "
                 f"{counts['no test']} without a test.\n")
        return "\n".join([TITLE, total, *lines])


def render(root):
    return Page(root).text()


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

# SPDX-License-Identifier: Apache-2.0
"""tests/hccl/rows.tsv: each failure, error code and function of HCCL that a known client calls has tests, which are there and are about it.

    python3 tests/tidy/test_hccl_rows.py      # writes the rows of functions anew
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "hccl" / "rows.tsv"
# At the beginning of a line: a test, a body of ranks, a process' role, the values of a suite, or a function that these call.
HEAD = re.compile(r"^(?:(?:TEST|TEST_F|TEST_P)\((?P<suite>\w+), (?P<name>\w+)\)|(?:RANK_BODY|MP_ROLE)\((?P<body>\w+)\)|INSTANTIATE_TEST_SUITE_P\(\s*\w+, (?P<values>\w+),"
                  r"|(?=\S)(?!TEST|RANK_BODY|MP_|INST|namespace|class|struct|using|constexpr)[\w:<>,&* ]*?\b(?P<helper>\w+)\()", re.M)
SHOWN = 3


def blocks(text):
    """(head, what follows it up to the next)"""
    heads = list(HEAD.finditer(text))
    return [(head, text[head.end():after.start() if after else len(text)]) for head, after in zip(heads, [*heads[1:], None], strict=True)]


def found_in(pattern, text):
    """The tests of a file in which the pattern stands, or whose bodies, roles or functions have it."""
    parts = blocks(text)
    todo, seen, found = [head for head, rest in parts if re.search(pattern, rest)], set(), {}
    while todo:
        head = todo.pop()
        if head.start() in seen:
            continue
        seen.add(head.start())
        if head["suite"]:
            found[head.start()] = f"{head['suite']}.{head['name']}"
        elif head["values"]:
            todo += [other for other, _ in parts if other["suite"] == head["values"]]
        else:
            called = f'"{head["body"]}"' if head["body"] else rf"\b{head['helper']}\("
            todo += [other for other, rest in parts if re.search(called, rest)]
    return [found[place] for place in sorted(found)]


def sources():
    return {path: path.read_text() for path in sorted((ROOT / "tests" / "hccl").glob("*_test.cc"))}


def found_with(pattern):
    return [test for text in sources().values() for test in found_in(pattern, text)]


def rows(kind):
    lines = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return {line[1]: line[2].split() for line in lines if line[0] == kind}


def test_every_row_names_tests_that_are_there():
    known = {f"{head['suite']}.{head['name']}" for text in sources().values() for head in HEAD.finditer(text) if head["suite"]}
    for kind in ("failure", "code", "function"):
        assert rows(kind), kind
        for row, tests in rows(kind).items():
            assert tests, f"{row} has no test"
            assert tests == ["-"] or set(tests) <= known, f"{row}: no test is called {set(tests) - known}"


def test_tests_of_a_code_look_for_it():
    for code, tests in rows("code").items():
        assert tests == ["-"] or set(tests) <= set(found_with(code)), code


def test_tests_of_a_function_call_it():
    for function, tests in rows("function").items():
        assert set(tests) <= set(found_with(rf"\b{function}\(")), function


def specific(tests, usual):
    """Those of several ranks first, then those that stand for the fewest functions."""
    one_rank = ("HcclTest.", "CollectivesTest.", "HcclSettings.", "Group")
    return sorted(dict.fromkeys(tests), key=lambda test: (test.startswith(one_rank), usual[test]))[:SHOWN]


def write():
    kept = [line for line in TABLE.read_text().splitlines() if not line.startswith("function\t")]
    found = {name: found_with(rf"\b{name}\(") for name in rows("function")}
    usual = {}
    for tests in found.values():
        for test in set(tests):
            usual[test] = usual.get(test, 0) + 1
    TABLE.write_text("\n".join([*kept, *(f"function\t{name}\t{' '.join(specific(tests, usual))}" for name, tests in found.items())]) + "\n")


if __name__ == "__main__":
    write()

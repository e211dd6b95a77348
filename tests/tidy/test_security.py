# SPDX-License-Identifier: Apache-2.0
"""docs/security.md names a test for each promise: all of them exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/security.md"


def names_of_all_tests():
    found = set()
    for folder in ("src", "tests"):
        for path in (ROOT / folder).rglob("*_test.cc"):
            found |= {f"{suite}.{name}" for suite, name in re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", path.read_text())}
    return found


def test_every_test_that_the_threat_model_names_exists():
    named = set(re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", PAGE.read_text()))
    assert len(named) > 20, "the page names its tests as `Suite.Sentence`"
    assert not sorted(named - names_of_all_tests())


def test_every_promise_between_processes_names_a_test():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| **")]
    assert len(rows) >= 6
    assert not [row for row in rows if not re.search(r"`[A-Z]\w+\.[A-Z]\w+`", row)]

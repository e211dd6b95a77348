# SPDX-License-Identifier: Apache-2.0
"""Words: those the house has replaced do not come back, and nothing is cited that a reader does not have."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Papers that are in no clone: a comment cites a CANN page by its title, or a row of docs/compat.md.
CITATIONS = re.compile(r"\b(?:[Ff]acts? \d+(?:\.\d+)*|[Ss]eed 0\d\d|[Dd]oc(?:ument)? \d\d)\b")
# What not to write, and what instead. Patterns see one line.
REPLACED = (
    (r"\bk(?:Most|Least)(?:[A-Z]\w*)?\b", "kMax..., kMin..."),
    (r"\b(?:MOST|LEAST)_[A-Z]\w*\b", "MAX_..., MIN_..."),
    (r"\bJudge(?:[A-Z]\w*|\()", "Validate"),
    (r"\bTilesPay\b", "IsPackingWorthwhile"),
    (r"\bis no (?:text|string)\b", "is not a string"),
    (r"(?<!there )\bis no (?:list|number|whole number|file|tensor)\b(?! %)", "is not a ..."),
    (r"\bby chance\b", "random"),
    (r"\bsecond cache\b", "L2"),
    (r"\bbrought near\b", "prefetched"),
    (r"\bright side\b", "right-hand side, RHS"),
)
# CHANGELOG says what was; this file says what not.
EXEMPT = ("CHANGELOG.md", "tests/tidy/test_words.py", "LICENSE", "docs/ops.md")


def lines_of(files):
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        if name in EXEMPT or path.is_symlink() or b"\0" in path.read_bytes()[:4096]:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            yield f"{name}:{number}", line


def replaced_in(line):
    return [(found.group(), instead) for pattern, instead in REPLACED if (found := re.search(pattern, line))]


def test_nothing_is_cited_that_a_reader_does_not_have(project_files):
    found = [f"{where}: {cited.group()}" for where, line in lines_of(project_files) if (cited := CITATIONS.search(line))]
    assert found == [], "cite a CANN page by its title, or a row of docs/compat.md:\n" + "\n".join(found)


def test_replaced_words_do_not_come_back(project_files):
    found = [f"{where}: '{word}'; write {instead}" for where, line in lines_of(project_files)
             for word, instead in replaced_in(line)]
    assert found == [], "\n" + "\n".join(found)


@pytest.mark.parametrize("line, bad", [
    ("// facts 3.3 says so", True), ("as seed 003 asks", True), ("(doc 06)", True), ("the facts 3 of them", True),
    ("a seed of 64", False), ("docs/compat.md", False), ("the document says 12", False), ("--seed 7", False),
])
def test_citations_are_found(line, bad):
    assert bool(CITATIONS.search(line)) == bad


@pytest.mark.parametrize("line, bad", [
    ("constexpr int kMostBlocks = 3;", True), ("kLeast", True), ("JudgePlan(x)", True), ("'7' is no text", True),
    ("MOST_ROWS = 4", True), ("kMaxBlocks", False), ("almost", False), ("the checker judges", False),
    ("there is no stream", False), ("it has 3; there is no number %zu", False),
])
def test_replaced_words_are_found(line, bad):
    assert bool(replaced_in(line)) == bad

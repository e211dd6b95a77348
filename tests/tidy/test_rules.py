# SPDX-License-Identifier: Apache-2.0
"""The table of the checker's rules (src/check/rules.yaml), its reader, and what is made of it."""

import re
import subprocess
import sys

import pytest

RULE = """- id: MP101
  name: a-rule
  severity: error
  rule: What is asked for.
  page: aclrtFree
  do: The next step.
  doors: acl, ge
  on: always
"""


@pytest.fixture(name="table")
def table_fixture(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "tools"))
    import rule_table
    return rule_table


@pytest.fixture(name="generator")
def generator_fixture(table, root):
    import gen_rules
    return gen_rules


def test_the_rules_are_read_in_order(table):
    rules = table.load()
    assert len(rules) > 70 and [rule.id for rule in rules] == sorted(rule.id for rule in rules)
    free = next(rule for rule in rules if rule.id == "MP304")
    assert (free.name, free.severity, free.page, free.doors, free.on) == ("free-in-flight", "error", "aclrtFree", ("acl",), "always")


def test_words_of_rules_are_sentences(table):
    for rule in table.load():
        assert all(re.fullmatch(r"\S.*[.]", text) for text in (rule.rule, rule.do)), rule.id
        assert not rule.derived or rule.derived.startswith("from "), rule.id


@pytest.mark.parametrize("old, new, reason", [
    ("MP101", "MP1", "three digits"), ("a-rule", "A rule", "small letters"), ("severity: error", "severity: fatal", "none of error"),
    ("  on: always\n", "", "missing ['on']"), ("doors: acl, ge", "doors: acl, ge, x", "none of acl"), ("  page: aclrtFree\n", "", "one of page and derived"),
    ("  do:", "  do: twice\n  do:", "stands twice"), ("What is asked for.", "Of a: b.", "plain text"), ("What is asked for.", "Of a # b.", "plain text"),
    ("What is asked for.", '"quoted"', "plain text"), ("What is asked for.", "caf\u00e9", "plain text"), ("  name", "\tname", "plain text"),
    ("  name: a-rule", "  name: a-rule\n  colour: red", "unknown ['colour']"), ("- id", "  id", "before the first"),
    ("on: always", "on: later", "says why"), ("on: always", "on: always\n  why: no reason", "says why"),
])
def test_a_wrong_line_is_refused_with_its_place(table, old, new, reason):
    assert table.parse(RULE)[0].id == "MP101"
    with pytest.raises(table.BadTable, match=re.escape(reason)):
        table.parse(RULE.replace(old, new, 1))


def test_ids_and_names_are_given_once(table):
    with pytest.raises(table.BadTable, match="ids ascend"):
        table.parse(RULE + RULE)
    with pytest.raises(table.BadTable, match="names given twice"):
        table.parse(RULE + RULE.replace("MP101", "MP102"))


def test_the_table_for_cpp_has_a_line_per_rule(generator, table):
    text = generator.render_header(table.load())
    lines = [line for line in text.splitlines() if line.startswith("MP_RULE(")]
    assert len(lines) == len(table.load())
    pattern = r'MP_RULE\(MP\d{3}, "[a-z-]+", k(?:Error|Warning|Advice), "[^"]+", "[^"]*", "[^"]+", k(?:Always|Asked|Later)\)'
    assert all(re.fullmatch(pattern, line) for line in lines)
    assert generator.quoted('a"b\\') == '"a\\"b\\\\"'


def test_every_rule_is_on_the_page(generator, table):
    page = generator.render_doc(table.load())
    assert re.findall(r'<a id="(MP\d+)">', page) == [rule.id for rule in table.load()]


def test_a_page_that_is_not_current_is_told(root, tmp_path):
    command = [sys.executable, str(root / "tools" / "gen_rules.py"), "--doc", str(tmp_path / "rules.md")]
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 1
    assert subprocess.run(command, check=False).returncode == 0
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 0


# Where a wrong program and its right twin are, by the door they stand at.
PROGRAMS = {"acl": ("tests/wrong/rules_acl*_test.cc", "tests/wrong/rules_guard_test.cc", "tests/wrong/rules_told_test.cc", "tests/wrong/rules_hccl_test.cc"),
            "ge": ("tests/wrong/rules_ge*_test.cc",), "torch": ("tests/torch/programs/test_checked.py", "tests/torch/programs/test_sleep_wake.py")}


@pytest.mark.parametrize("door", PROGRAMS)
def test_every_rule_has_a_program_at_each_of_its_doors(root, table, door):
    texts = [path.read_text() for pattern in PROGRAMS[door] for path in root.glob(pattern)]
    tested = {rule for text in texts for rule in re.findall(r'(?:MP_PROGRAM\(|TEST\(Rules, |"|\()(MP\d{3})', text)}
    assert len(tested) > 15
    assert [rule.id for rule in table.load() if door in rule.doors and rule.on != "later" and rule.id not in tested] == []

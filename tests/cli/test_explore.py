# SPDX-License-Identifier: Apache-2.0
"""./millpond check --explore: other orders of tasks, and what counts as shown. checked.py stands for the program."""

import json
import re
import shlex

import pytest
from check_lines import end, finding, start
from test_check import check, found, said

ERROR = [start(), finding(), end(1)]  # its earlier task is number 12 of stream 1
HOLD = "hold:1:12"
PCT = re.compile(r"pct:\d+(:\d+(,\d+)?)?")


def explored(outcome):
    return [line.removeprefix("millpond: check: explore: ") for line in said(outcome) if "explore:" in line]


@pytest.mark.parametrize("instead, words", [
    ({"exit": 3}, "exited with 3 instead of exiting with 0"), ({"kill": 11}, "was ended by SIGSEGV instead of exiting with 0"),
    ({"print": "sum 40\nsum 1\n"}, "prints something else: line 2 is 'sum 1' instead of 'sum 2'"),
    ({"print": "sum 40\n"}, "line 2 is '' instead of 'sum 2'"),
])
def test_an_order_that_changes_the_result_is_told_and_can_be_had_again(tree, instead, words):
    spec = {"lines": ERROR, "print": "sum 40\nsum 2\n", "ordered": {HOLD: instead}}
    findings, outcome = found(tree, spec, "--explore", "5")
    assert outcome.returncode == 66
    first, again = explored(outcome)
    assert first.startswith("MP304 at pool.cpp:140: with hold:1:12 the program ") and words in first
    assert again.startswith("again: ./millpond run --schedule hold:1:12 -- ") and "checked.py" in again
    assert findings[0]["witness"]["schedule"] == HOLD and words in findings[0]["witness"]["shown"] and findings[0]["witness"]["sure"]
    replayed = tree.call("run", "--schedule", HOLD, "--", *shlex.split(again.split(" -- ", 1)[1]))
    plain = tree.call("run", "--", *shlex.split(again.split(" -- ", 1)[1]))
    assert (replayed.returncode, replayed.stdout) != (plain.returncode, plain.stdout)


def test_what_was_not_shown_is_said_to_be_so_and_no_more(tree):
    findings, outcome = found(tree, {"lines": ERROR, "print": "same\n"}, "--explore", "3")
    assert outcome.returncode == 66 and "witness" not in findings[0]
    (line,) = explored(outcome)
    assert line == ("3 orders tried; for 1 finding none changed how the program ends or what it prints: an effect was not shown, which does not make the program "
                    "right")


def test_a_random_order_is_cut_down_to_what_it_takes(tree):
    findings, outcome = found(tree, {"lines": ERROR, "ordered": {"pct:": {"exit": 9}}}, "--explore", "4")
    assert findings[0]["witness"]["schedule"] == "pct:0", "every step could go"
    assert "exited with 9" in explored(outcome)[0]


def test_random_orders_are_the_same_the_next_time_and_fit_the_option(tree):
    orders = []
    for _ in range(2):
        path = tree.root / "orders"
        path.unlink(missing_ok=True)
        script = f"echo $MILLPOND_SCHEDULE >>{path}; [ -z \"$MILLPOND_CHECK_JSON\" ] || cat lines >>$MILLPOND_CHECK_JSON"
        (tree.root / "lines").write_text("".join(json.dumps({"pid": 1, **line}) + "\n" for line in ERROR))
        assert tree.call("check", "--explore", "6", "--", "sh", "-c", script).returncode == 66
        orders.append(path.read_text().split("\n"))
    assert orders[0] == orders[1]
    assert orders[0][:4] == ["", "", "", HOLD], "the checked run, two that nobody disturbs, and the one that is aimed"
    assert len(orders[0]) == 1 + 2 + 6 + 1 and all(PCT.fullmatch(order) for order in orders[0][4:-1])
    assert tree.call("run", "--schedule", orders[0][5], "--", "true").returncode == 0


def test_two_findings_are_shown_apart_by_holding_and_not_by_chance(tree):
    other = finding(rule="MP611", fingerprint="f" * 16, lanes=[{"stream": 2, "label": "", "tasks": [{"count": 7, "name": "Add", "mark": "earlier"}]}])
    lines = [start(), finding(), other, end(2)]
    findings, outcome = found(tree, {"lines": lines, "ordered": {"hold:2:7": {"exit": 1}}}, "--explore", "2")
    assert "witness" not in findings[0] and findings[1]["witness"]["schedule"] == "hold:2:7"
    assert any(line.startswith("2 orders tried; for 1 finding none") for line in explored(outcome))
    findings, outcome = found(tree, {"lines": lines, "ordered": {"pct:": {"exit": 1}}}, "--explore", "9")
    assert [each["witness"]["sure"] for each in findings] == [False, False]
    assert "which this order cannot tell apart" in outcome.stderr


@pytest.mark.parametrize("lines", [[start(), end()], [start(), finding(rule="MP502", severity="warning", lanes=[]), end()], [start(), finding(rule="MP606"), end(1)]])
def test_without_a_finding_about_order_nothing_is_run_again(tree, lines):
    path = tree.root / "again"
    outcome = check(tree, {"lines": lines, "ordered": {HOLD: {"environment": str(path)}, "pct:": {"environment": str(path)}}}, "--explore", "3")
    assert explored(outcome) == ["no finding is about the order of tasks, so there is no other order to try"]
    assert not path.exists()


def test_what_a_program_prints_differently_each_time_is_not_compared(tree):
    script = "import os, sys\nprint(os.getpid())\nf = os.environ.get('MILLPOND_CHECK_JSON')\nif f: open(f, 'a').write(open('lines').read())\n"
    (tree.root / "lines").write_text("".join(json.dumps({"pid": 1, **line}) + "\n" for line in ERROR))
    outcome = tree.call("check", "--explore", "1", "--", "python3", "-c", script)
    assert outcome.returncode == 66 and "differs between two undisturbed runs and was not compared" in outcome.stderr
    assert any("1 order tried" in line for line in explored(outcome))


def test_exploring_leaves_the_status_alone_and_hears_nothing_of_the_checker(tree):
    path = tree.root / "environment.json"
    spec = {"lines": ERROR, "exit": 5, "ordered": {HOLD: {"environment": str(path)}}}
    assert check(tree, spec, "--explore", "1", "--also", "*", "--seed", "3").returncode == 5
    values = json.loads(path.read_text())
    assert values["MILLPOND_SCHEDULE"] == HOLD
    assert not [name for name in values if name.startswith(("MILLPOND_CHECK", "MILLPOND_SEED"))]

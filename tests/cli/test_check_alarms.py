# SPDX-License-Identifier: Apache-2.0
"""The short form of tools/no_false_alarm_tests.py: a few of the tree's suites under the checker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
import no_false_alarm_tests as judge

SECONDS = 300


def finding(rule, *functions):
    return {"rule": rule, "stacks": [{"frames": [{"function": function} for function in functions]}]}


def test_a_finding_is_of_the_test_or_role_that_made_it():
    rows = judge.read_table("# a comment\nacl_a_test\tCopy_*\tMP504,MP602\texpects the refusal\n")
    place = judge.place_of(finding("MP504", "helper()", "(anonymous namespace)::Copy_Far_Test::TestBody()", "main"))
    assert place == "Copy_Far" and judge.is_on_purpose(rows, "acl_a_test", place, "MP504")
    assert not judge.is_on_purpose(rows, "acl_a_test", place, "MP611") and not judge.is_on_purpose(rows, "acl_b_test", place, "MP504")
    assert judge.place_of(finding("MP504", "ranks_test::Body_Order(Rank&)", "Role_rank()")) == "Body_Order"
    assert judge.place_of(finding("MP504", "main")) == "-"


@pytest.mark.parametrize("row", ["acl_a_test\tCopy_Far\tMP504\t?", "acl_a_test\tCopy_Far\tMP504", "acl_a_test\t\tMP504\tno test"])
def test_a_row_without_a_judgement_stops_the_tool(row):
    with pytest.raises(SystemExit, match="a row is suite, test, rules and reason"):
        judge.read_table(row)


@pytest.mark.parametrize("suites", ["acl_capture", "acl_memory"])
def test_suites_earn_only_the_errors_that_they_are_about(root, suites):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLPOND_")}
    done = subprocess.run([sys.executable, root / "tools" / "no_false_alarm_tests.py", "--only", suites], capture_output=True, text=True, env=environment,
                          timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "silent with" in done.stdout

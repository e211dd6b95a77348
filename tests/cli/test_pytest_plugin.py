# SPDX-License-Identifier: Apache-2.0
"""millpond.pytest_plugin: tests whose process wrote findings, in a pytest of their own. The tests write the checker's lines themselves."""

import json
import os
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from check_lines import finding

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEAD = """
import json, os, subprocess, sys
import pytest
from check_lines import again, end, finding, hostile, start

OTHER = dict(rule="MP611", fingerprint="f" * 16, message="Two streams write block 4.")
WARNING = dict(rule="MP502", severity="warning", fingerprint="e" * 16)

def tell(*lines, pid=None, end="\\n"):
    with open(os.environ["MILLPOND_CHECK_JSON"], "a") as file:
        for line in lines:
            file.write(json.dumps({"pid": pid or os.getpid(), **line}) + end)
"""


class Inner:
    """A pytest of its own in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.lines = folder / "lines"
        self.variables = {"MILLPOND_CHECK": "1", "MILLPOND_CHECK_JSON": str(self.lines)}

    def run(self, text, *options, checked=("--npu-check",)):
        """(pytest's outcome, {test: [kinds of its results]})."""
        (self.folder / "test_it.py").write_text(HEAD + textwrap.dedent(text))
        base = {name: value for name, value in os.environ.items() if not name.startswith(("MILLPOND_", "PYTEST_"))}
        path = os.pathsep.join([str(ROOT / "python" / "millpond"), str(HERE)])
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "millpond.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers", "-q",
                               "--rootdir=.", "--junitxml=out.xml", *checked, *options, "test_it.py"],
                              cwd=self.folder, env={**base, "PYTHONPATH": path, **self.variables}, capture_output=True, text=True, timeout=60, check=False)
        results = {}
        if (self.folder / "out.xml").exists():
            for case in ElementTree.parse(self.folder / "out.xml").iter("testcase"):
                results.setdefault(case.get("name"), []).extend([child.tag for child in case if child.tag in ("failure", "error", "skipped")])
        return done, results

    def expected(self):
        return [row for row in map(json.loads, self.lines.read_text().splitlines()) if row["event"] == "expected"]


@pytest.fixture
def inner(tmp_path):
    return Inner(tmp_path)


def test_the_test_in_which_a_finding_was_made_fails_with_its_text(inner):
    done, results = inner.run("""
        def test_before(): pass
        def test_wrong(): tell(start(), finding())
        def test_after(): pass
    """)
    assert done.returncode == 1 and results == {"test_before": [], "test_wrong": ["failure"], "test_after": []}
    for part in ("test_it.py::test_wrong", "error MP304: aclrtFree of block 17 while task 12 (Add) on stream 1 still uses it.", "the free:",
                 "#0 Trim /src/pool.cpp:140", "the task:", "#0 Launch /src/net.cpp:77", 'page "aclrtFree"', "Synchronise the stream first.", "0123456789abcdef"):
        assert part in done.stdout, part


def test_a_phase_that_finds_something_fails_and_no_other(inner):
    done, results = inner.run("""
        @pytest.fixture
        def early(): tell(start(), finding())
        @pytest.fixture
        def late():
            yield
            tell(finding(**OTHER))
        def test_in_setup(early): raise AssertionError("never called")
        def test_in_teardown(late): pass
        def test_clean(): pass
    """)
    assert done.returncode == 1 and results == {"test_in_setup": ["error"], "test_in_teardown": ["error"], "test_clean": []}
    assert "never called" not in done.stdout.replace('AssertionError("never called")', "")


def test_a_test_that_fails_by_itself_shows_both(inner):
    done, results = inner.run("""
        def test_both():
            tell(start(), finding())
            assert 1 == 2
        def test_skips():
            tell(finding(**OTHER))
            pytest.skip("no reason to hide it")
    """)
    assert results == {"test_both": ["failure"], "test_skips": ["failure"]}
    assert "assert 1 == 2" in done.stdout and "error MP304" in done.stdout and "error MP611" in done.stdout


def test_an_expected_finding_lets_the_test_pass_and_the_command_hears_of_it(inner):
    done, results = inner.run("""
        @pytest.mark.npu_check(expect="MP304")
        def test_one(): tell(start(), finding())
        @pytest.mark.npu_check(expect="MP304, MP5*")
        def test_two(): tell(again(2), finding(**WARNING))
        @pytest.mark.npu_check(expect=["MP304"])
        def test_list(npu_findings):
            tell(again(4))
            assert npu_findings.rules == ["MP304"] and npu_findings.findings[0].count == 2
    """)
    assert done.returncode == 0, done.stdout
    assert results == {"test_one": [], "test_two": [], "test_list": []}
    assert [(row["fingerprint"][0], row["count"]) for row in inner.expected()] == [("0", 1), ("0", 1), ("e", 1), ("0", 2)]


def test_what_is_expected_and_does_not_come_fails(inner):
    done, results = inner.run("""
        @pytest.mark.npu_check(expect="MP304")
        def test_nothing(): pass
        @pytest.mark.npu_check(expect="MP304")
        def test_other(): tell(start(), finding(**OTHER))
        @pytest.mark.npu_check(expect="MP304,MP611")
        def test_half(): tell(finding())
    """)
    assert done.returncode == 1 and set(map(tuple, results.values())) == {("failure",)}
    assert "npu_check expects MP304, and the checker found nothing in this test" in done.stdout
    assert "error MP611: Two streams write block 4." in done.stdout
    assert "npu_check expects MP611, and the checker found MP304" in done.stdout


def test_a_rule_that_does_not_exist_lists_those_that_do(inner):
    done, results = inner.run(f"""
        import millpond.pytest_plugin, pathlib
        millpond.pytest_plugin.RULES = pathlib.Path({str(ROOT / "src" / "check" / "rules.yaml")!r})
        @pytest.mark.npu_check(expect="MP999")
        def test_unknown(): pass
        @pytest.mark.npu_check(expect="MP3*")
        def test_known(): tell(start(), finding())
        @pytest.mark.npu_check(expect="free-in-flight")
        def test_named(): tell(again(2))
    """)
    assert done.returncode == 1 and results == {"test_unknown": ["error"], "test_known": [], "test_named": []}
    assert "the checker has no rule 'MP999'; known: MP101, " in done.stdout and "MP304, " in done.stdout


@pytest.mark.parametrize("mark, reason", [
    ('expect="free"', "'free' is no rule"), ("expect=7", "takes expect alone"), ('"MP304"', "takes expect alone"), ("", "takes expect alone"),
    ('expect="MP304", strict=True', "takes expect alone"), ('expect=""', "'' is no rule"), ('expect="*"', "'*' is no rule"),
])
def test_a_wrong_mark_is_an_error_that_says_why(inner, mark, reason):
    done, results = inner.run(f"""
        @pytest.mark.npu_check({mark})
        def test_it(): pass
    """)
    assert done.returncode == 1 and results == {"test_it": ["error"]} and reason in done.stdout


def test_warnings_are_listed_and_fail_only_when_asked(inner):
    text = "def test_it(): tell(start(), finding(**WARNING))\n"
    done, results = inner.run(text)
    assert done.returncode == 0 and results == {"test_it": []}
    assert "warning MP502 test_it.py::test_it: aclrtFree" in done.stdout
    assert inner.run(text, "--npu-check-level=warning")[1] == {"test_it": ["failure"]}


def test_findings_outside_of_tests_fail_the_run(inner):
    done, results = inner.run("""
        tell(start(), finding())
        def test_it(): pass
    """)
    assert done.returncode == 1 and results == {"test_it": []}
    assert "error MP304 outside of tests" in done.stdout and "#0 Trim /src/pool.cpp:140" in done.stdout


def test_a_process_that_the_test_started_counts(inner):
    _, results = inner.run("""
        def test_child(): tell(start(), finding(), pid=1)
        def test_again(): tell(again(2), pid=1)
        def test_exec(): tell(finding(**OTHER), start(), pid=1)
        def test_clean(): pass
    """)
    assert results == {"test_child": ["failure"], "test_again": ["failure"], "test_exec": ["failure"], "test_clean": []}


def test_a_worker_counts_itself_and_what_it_started_and_no_other_worker(inner):
    inner.variables["PYTEST_XDIST_WORKER"] = "gw0"
    _, results = inner.run("""
        def test_own(): tell(start(), finding())
        def test_neighbour(): tell(start(ppid=1), finding(), pid=7)
        def test_child(): tell(start(ppid=os.getpid()), pid=8); tell(start(ppid=8), finding(), pid=9)
    """)
    assert results == {"test_own": ["failure"], "test_neighbour": [], "test_child": ["failure"]}


def test_a_line_that_is_not_whole_yet_belongs_to_the_test_that_ends_it(inner):
    _, results = inner.run("""
        def test_first(): tell(start()); tell(finding(), end="")
        def test_second(): tell(end=""); open(os.environ["MILLPOND_CHECK_JSON"], "a").write("\\n")
        def test_third(): pass
    """)
    assert results == {"test_first": [], "test_second": ["failure"], "test_third": []}


def test_lines_of_an_earlier_run_are_nobodys(inner):
    inner.lines.write_text("".join(json.dumps({"pid": 1, **row}) + "\n" for row in (
        {"event": "start"}, {"event": "finding", "rule": "MP304", "severity": "error", "message": "old", "fingerprint": "0123456789abcdef"})))
    done, results = inner.run("def test_it(): tell(start(), again(2), pid=1)\n")
    assert done.returncode == 0 and results == {"test_it": []} and "old" not in done.stdout


@pytest.mark.parametrize("raw", ["{", "[]", "7", '{"event":"finding","pid":1}', '{"event":"finding","pid":1,"rule":"MP304","severity":"error","message":"m",'
                                 '"fingerprint":"0","stacks":[7]}', "[" * 100000])
def test_a_spoilt_line_is_told_and_costs_only_itself(inner, raw):
    (inner.folder / "raw").write_text(raw + "\n")
    done, results = inner.run("""
        def test_it():
            open(os.environ["MILLPOND_CHECK_JSON"], "a").write(open("raw").read())
            tell(start(), finding())
    """)
    assert results == {"test_it": ["failure"]} and "1 line(s) of the checker could not be read" in done.stdout


def test_names_of_the_program_cannot_move_the_cursor(inner):
    done, results = inner.run("def test_it(): tell(start(), hostile())\n")
    assert results == {"test_it": ["failure"]}
    assert "\x1b[31m" not in done.stdout and "\x07" not in done.stdout and "\\x1b[31m" in done.stdout


@pytest.mark.parametrize("variables", [{"MILLPOND_CHECK": "0"}, {"MILLPOND_CHECK": ""}, {"MILLPOND_CHECK_JSON": ""}, {"MILLPOND_CHECK_JSON": "/dev/zero"}])
def test_a_process_that_is_not_checked_says_the_command(inner, variables):
    inner.variables.update(variables)
    done, _ = inner.run("def test_it(): pass\n")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "./millpond check -- python -m pytest -p millpond.pytest_plugin --npu-check" in done.stderr and next(iter(variables)) in done.stderr


def test_without_the_option_nothing_fails_and_the_fixture_asks_for_the_checker(inner):
    text = """
        @pytest.mark.npu_check(expect="MP304")
        def test_mark(): pass
        def test_fixture(npu_findings): assert npu_findings.findings == []
    """
    assert inner.run(text, checked=())[1] == {"test_mark": [], "test_fixture": []}
    inner.variables = {}
    done, results = inner.run(text, checked=())
    assert results == {"test_mark": [], "test_fixture": ["error"]} and "started without MILLPOND_CHECK" in done.stdout


def test_the_fixture_gives_the_findings_of_its_test_alone(inner):
    done, _ = inner.run("""
        def test_first(npu_findings):
            tell(start(), finding())
            (found,) = npu_findings.findings
            assert (found.rule, found.severity, found.count, found.stacks[0]["operation"]) == ("MP304", "error", 1, "aclrtFree")
            assert found in npu_findings.findings and "block 17" in found.text()
        def test_second(npu_findings):
            assert npu_findings.findings == [] and (npu_findings.live_bytes(), npu_findings.peak_bytes(), npu_findings.blocks) == (0, 0, [])
    """, checked=())
    assert done.returncode == 0, done.stdout


def test_a_full_disk_costs_the_message_and_no_test(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "python" / "millpond"))
    from millpond import _lines
    lines = _lines.Lines("/dev/full", family=False)
    lines.tell_expected([_lines.Finding.of({"pid": 1, **finding()})])
    assert "No space left" in str(lines.untold)

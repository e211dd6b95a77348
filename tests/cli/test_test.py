# SPDX-License-Identifier: Apache-2.0
"""./millpond test: what it runs, how it counts, and that nothing broken looks well."""

import json
import re

import pytest

FAILED = '<failure message="Failed"/><system-out>expected 3, got 4</system-out>'


def last_line(outcome):
    return outcome.stdout.splitlines()[-1]


def test_all_suites_run_and_are_summed(tree):
    outcome = tree.call("test")
    # Two of three pass in each of release, asan and tsan (one is skipped), clang's build is one, and two in pytest.
    assert last_line(outcome) == "9 passed, 0 failed", outcome.stderr
    assert outcome.stdout == "9 passed, 0 failed\n"
    assert outcome.returncode == 0
    ctest = [line for line in tree.calls() if line.startswith("ctest")]
    assert ["build/release" in ctest[0], "build/asan" in ctest[1], "build/tsan" in ctest[2]] == [True] * 3
    assert "-L" not in ctest[0] and "-L ^core$" in ctest[1] and "-L ^core$" in ctest[2]
    assert sum(line.startswith("pytest") for line in tree.calls()) == 1


def test_skip_prints_its_reason(tree):
    assert "skipped ctest release: Pool.Skips: needs two cores" in tree.call("test", "--quick").stderr


def test_quick_leaves_the_sanitizers_out(tree):
    outcome = tree.call("test", "--quick")
    assert last_line(outcome) == "4 passed, 0 failed"
    assert not [line for line in tree.calls() if "asan" in line or "tsan" in line or "clang" in line]


TIDY = """#!/bin/sh
echo "run-clang-tidy-19 $*" >>"$FAKE_LOG"
[ -z "${FAKE_TIDY_FINDS:-}" ] || echo "/tree/src/a.cc:3:7: warning: said twice [bugprone-branch-clone]"
"""


MUTATE = """#!/bin/sh
echo "caught one: a wait is left out"
if [ -n "$FAKE_BUG_SURVIVES" ]; then
  echo "SURVIVED two: an index is not looked at"
  exit 1
fi
if [ -n "$FAKE_BUG_ROTS" ]; then
  echo "UNTRIED two: two.patch does not apply:"
  exit 1
fi
echo "caught two: an index is not looked at"
"""


WALK = """\
import os
import sys

if os.environ.get("FAKE_TYPE_FAILS"):
    sys.exit("aclnnCat int4 phase 3")
"""
HALVES = """\
import os, sys
if os.environ.get("FAKE_ROUNDS_TWICE"):
    sys.exit("2.0  softmax float16 forward: sample 0")
"""
SITE = """#!/bin/sh
if [ -n "$FAKE_DEAD_LINK" ]; then echo "WARNING - no heading #gone"; exit 1; fi
"""
SILENT = """#!/bin/sh
echo "[1/2] silent with 64 seeds: two_streams_pool in 2 s"
if [ -n "$FAKE_ALARM" ]; then
  echo "ALARM torch/ddp.py with seed 3: MP611 nothing orders the two"
  echo "[2/2] ALARMS with 1 of 64 seeds: torch/ddp.py in 2 s"
  exit 1
fi
echo "[2/2] silent with 64 seeds: torch/ddp.py in 2 s"
"""
SUITES = """#!/bin/sh
echo "[1/2] silent with 6 errors on purpose: acl_memory_copy_test, 2 s after the start"
if [ -n "$FAKE_TEST_ALARMS" ]; then
  echo "ALARM acl_event_test MP611 in EventTest_Waits (event_test.cc:7): nothing orders the two"
  echo "[2/2] ALARMS (1) from acl_event_test, 4 s after the start"
  exit 1
fi
echo "[2/2] silent with 0 errors on purpose: acl_event_test, 4 s after the start"
"""
RANKS = """#!/bin/sh
echo "[1/2] passed 2000 random programs AsThreads in 9 s"
if [ -n "$FAKE_RANKS_LEAVE" ]; then
  echo "[2/2] FAILED ranks_failure x 20 in 9 s: left behind: socket millpond-7-1"
  exit 1
fi
echo "[2/2] passed ranks_failure x 20 in 9 s"
"""
RANDOM = """#!/bin/sh
[ "$MILLPOND_RANDOM_PROGRAMS" -ge 2000 ] || exit 3
verdict='<failure message="Failed">program 1007 earned MP611</failure>'
[ "$FAKE_RANDOM_ALARM${0##*/}" = 1rules_random_test ] || [ "$FAKE_RELAY_ALARM${0##*/}" = 1rules_relay_test ] || verdict=
echo "<testsuite><testcase name='Random' classname='Rules'>$verdict</testcase></testsuite>" >"${1#--gtest_output=xml:}"
[ -z "$verdict" ]
"""
VERSIONS = """#!/bin/sh
echo "2.10.0 import: yes"
if [ -n "$FAKE_OLD_TORCH_FAILS" ]; then
  echo "2.10.0 conformance: 600 of 620, 18 refused, 2 wrong"
  echo "1 passed, 1 failed"
  echo "FAILED 2.10.0 conformance"
  exit 1
fi
echo "2.10.0 conformance: 602 of 620, 18 refused, 0 wrong"
echo "2 passed, 0 failed"
"""


@pytest.fixture(name="long_tree")
def long_tree_fixture(tree):
    tree.program("run-clang-tidy-19", TIDY)
    for name, text in (("mutate.py", MUTATE), ("no_false_alarm.py", SILENT), ("no_false_alarm_tests.py", SUITES), ("site_pages.py", SITE), ("ranks_long.py", RANKS),
                       ("torch_versions.py", VERSIONS)):
        tool = tree.root / "tools" / name
        tool.write_text(text)
        tool.chmod(0o755)
    programs = tree.root / "build" / "release" / "bin"
    programs.mkdir(parents=True)
    for name in ("rules_random_test", "rules_relay_test"):
        (programs / name).write_text(RANDOM)
        (programs / name).chmod(0o755)
    halves = tree.root / "tests" / "torch" / "conformance" / "halves.py"
    halves.parent.mkdir(parents=True)
    halves.write_text(HALVES)
    types = tree.root / "tests" / "torch" / "types" / "walk.py"
    types.parent.mkdir(parents=True)
    types.write_text(WALK)
    types.with_name("shapes.py").write_text(WALK.replace("FAKE_TYPE_FAILS", "FAKE_SHAPE_CRASHES"))
    return tree


def test_long_adds_clang_tidy_deliberate_bugs_and_sanitized_kernels(long_tree):
    tree = long_tree
    outcome = tree.call("test", "--quick", "--long")
    # Release, pytest and torch give two each; clang, clang-tidy, the site, half types, all types and all shapes one each; two bugs; two examples; two suites; random programs two; ranks two, and two by torch; the kernels two
    # of ctest and two of pytest; aarch64 two of ctest; another torch two programs.
    assert last_line(outcome) == "32 passed, 0 failed", outcome.stderr
    assert any("ctest" in line and "build/kernels-asan" in line and "-L ^core$" in line for line in tree.calls())
    assert any("ctest" in line and "build/aarch64" in line and "-L ^core$" in line for line in tree.calls())
    assert any("--target install_set" in line and "build/clang" in line for line in tree.calls())


@pytest.mark.parametrize(("broken", "told"), [
    pytest.param("FAKE_BUG_SURVIVES", ["no test noticed that an index is not looked at"], id="a bug that no test notices"),
    pytest.param("FAKE_BUG_ROTS", ["it could not be tried: two.patch does not apply"], id="a bug that cannot be tried"),
    pytest.param("FAKE_ALARM", ["FAILED no false alarm: torch/ddp.py", "with seed 3: MP611"], id="an example with an error of the checker"),
    pytest.param("FAKE_TEST_ALARMS", ["FAILED no false alarm: acl_event_test", "MP611 in EventTest_Waits"], id="a test with an error of the checker"),
    pytest.param("FAKE_RANDOM_ALARM", ["FAILED random programs: Rules::Random", "program 1007 earned MP611"], id="a random program with an error of the checker"),
    pytest.param("FAKE_RELAY_ALARM", ["FAILED random threads: Rules::Random", "program 1007 earned MP611"], id="random threads with an error of the checker"),
    pytest.param("FAKE_RANKS_LEAVE", ["left behind: socket millpond-7-1"], id="ranks that leave something behind"),
    pytest.param("FAKE_TIDY_FINDS", ["FAILED clang-tidy", "[bugprone-branch-clone]"], id="a finding of clang-tidy"),
    pytest.param("FAKE_DEAD_LINK", ["FAILED site", "no heading #gone"], id="a link of the site that leads nowhere"),
    pytest.param("FAKE_OLD_TORCH_FAILS", ["FAILED torch 2.10.0 conformance"], id="a program that another release of torch breaks"),
    pytest.param("FAKE_ROUNDS_TWICE", ["FAILED half types", "softmax float16 forward"], id="an operator that rounds more than once"),
])
def test_what_a_long_check_finds_is_a_failure_that_names_it(long_tree, broken, told):
    outcome = long_tree.call("test", "--quick", "--long", **{broken: "1"})
    assert last_line(outcome) == "31 passed, 1 failed"
    for text in told:
        assert text in outcome.stderr


def test_what_clang_refuses_is_a_failure(tree):
    cmake = (tree.fake / "cmake").read_text()
    tree.program("cmake", cmake.replace("--build)", '--build) case "$*" in *build/clang*) echo "guarded by"; exit 1 ;; esac;'))
    outcome = tree.call("test")
    assert last_line(outcome) == "8 passed, 1 failed" and "FAILED clang locks" in outcome.stderr


def test_coverage_writes_the_page_and_runs_nothing_else(tree):
    (tree.root / "docs").mkdir()
    counts = {"line_covered": 3, "line_total": 4, "branch_covered": 1, "branch_total": 2}
    files = [{"filename": name, **counts} for name in ("src/base/a.cc", "src/device/stream/b.cc", "src/device/stream/c.cc")]
    tree.program("gcovr", '#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = --json-summary ] && echo \'' + json.dumps({"files": files})
                 + '\' >"$2"; shift; done\n')
    outcome = tree.call("test", "--coverage")
    assert last_line(outcome) == "2 passed, 0 failed", outcome.stderr
    page = (tree.root / "docs" / "line_coverage.md").read_text()
    assert "| `src/device/stream` | 75.0 % of 8 | 50.0 % of 4 |" in page and "| **all** | 75.0 % of 12 | 50.0 % of 6 |" in page
    assert not [line for line in tree.calls() if "release" in line or line.startswith("pytest")]


def test_pattern_reaches_both(tree):
    tree.call("test", "--quick", "-k", "Pool")
    assert any(line.startswith("ctest") and "-R Pool" in line for line in tree.calls())
    assert any(line.startswith("pytest") and line.endswith("-k Pool") for line in tree.calls())


def test_failure_is_shown_and_counted(tree):
    outcome = tree.call("test", "--quick", FAKE_CTEST_STATUS="fail", FAKE_CTEST_BODY=FAILED)
    assert last_line(outcome) == "3 passed, 1 failed"
    assert outcome.returncode == 1
    assert "FAILED ctest release: Pool.Shrinks" in outcome.stderr and "expected 3, got 4" in outcome.stderr


def test_what_fails_again_alone_is_a_failure(tree):
    outcome = tree.call("test", "--quick", FAKE_CTEST_STATUS="fail", FAKE_CTEST_BODY=FAILED)
    assert len([line for line in tree.calls() if "-again-" in line and r"-R ^Pool\.Shrinks$" in line]) == 3
    assert outcome.returncode == 1 and "UNSTEADY" not in outcome.stderr


def test_what_passes_alone_is_told_and_strict_fails_it(tree):
    unsteady = {"FAKE_CTEST_STATUS": "fail", "FAKE_CTEST_BODY": FAILED, "FAKE_CTEST_AGAIN": "run"}
    outcome = tree.call("test", "--quick", **unsteady)
    assert (outcome.returncode, last_line(outcome)) == (0, "4 passed, 0 failed")
    assert "UNSTEADY ctest release: Pool.Shrinks" in outcome.stderr and "expected 3, got 4" in outcome.stderr
    outcome = tree.call("test", "--quick", "--strict", **unsteady)
    assert (outcome.returncode, last_line(outcome)) == (1, "3 passed, 1 failed")


@pytest.mark.parametrize("output", ["ERROR: AddressSanitizer: heap-use-after-free", "a.cc:3: runtime error: signed integer overflow",
                                    "WARNING: ThreadSanitizer: data race", "***Exception: SEGFAULT", "***Timeout 300.1 sec",
                                    "subprocess.TimeoutExpired: Command", "Subprocess aborted"])
def test_a_crash_a_sanitizers_report_and_a_hang_are_never_luck(tree, output):
    body = f"<failure message='Failed'/><system-out>{output}</system-out>"
    outcome = tree.call("test", "--quick", FAKE_CTEST_STATUS="fail", FAKE_CTEST_BODY=body, FAKE_CTEST_AGAIN="run")
    assert (outcome.returncode, last_line(outcome)) == (1, "3 passed, 1 failed")
    assert not [line for line in tree.calls() if "-again-" in line]


@pytest.mark.parametrize("trouble", ["FAKE_CTEST_SILENT", "FAKE_BUILD_FAILS"])
def test_suite_that_cannot_run_is_a_failure(tree, trouble):
    outcome = tree.call("test", "--quick", **{trouble: "1"})
    assert outcome.returncode == 1
    assert not last_line(outcome).endswith(" 0 failed")


def test_suite_without_tests_is_a_failure(tree):
    tree.program("ctest", '#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = --output-junit ] && echo "<testsuite/>" >"$2"; shift; done; exit 0\n')
    outcome = tree.call("test", "--quick")
    assert last_line(outcome) == "2 passed, 1 failed" and "no test was found" in outcome.stderr


def test_torch_tests_are_a_suite_of_their_own(tree):
    (tree.root / "tests" / "torch").mkdir()
    outcome = tree.call("test", "--quick")
    assert last_line(outcome) == "6 passed, 0 failed", outcome.stderr
    plain, torch = [line for line in tree.calls() if line.startswith("pytest")]
    folder = f"{tree.root}/tests/torch"
    assert f"--ignore={folder} " in plain and f" {folder} " in torch and "--ignore" not in torch


def test_torch_off_leaves_the_torch_tests_out_and_says_so(tree):
    (tree.root / "tests" / "torch").mkdir()
    outcome = tree.call("test", "--quick", MILLPOND_TORCH="off")
    assert last_line(outcome) == "4 passed, 0 failed", outcome.stderr
    assert "skipped pytest torch: MILLPOND_TORCH=off" in outcome.stderr


def test_suite_that_never_ends_is_killed_with_all_it_started(tree):
    """The time limit of the torch suite, made short."""
    (tree.root / "tests" / "torch").mkdir()
    text = (tree.root / "tools" / "cli" / "cmd_test.py")
    text.write_text(re.sub(r"TORCH_SECONDS = .*", "TORCH_SECONDS = 1", text.read_text()))
    hang = '#!/bin/sh\ncase "$*" in *--ignore=*) ;; *pytest*) sleep 1000 & sleep 1000 ;; esac\n'
    python = tree.root / ".venv" / "bin" / "python"
    python.write_text(hang + python.read_text().removeprefix("#!/bin/sh\n"))
    outcome = tree.call("test", "--quick")
    assert last_line(outcome) == "4 passed, 1 failed"
    assert "killed: it ran longer than 1.0 s" in outcome.stderr


@pytest.mark.parametrize("fails, walk", [("FAKE_TYPE_FAILS", "all types"), ("FAKE_SHAPE_CRASHES", "all shapes")])
def test_what_a_walk_over_operators_finds_is_a_failure(long_tree, fails, walk):
    outcome = long_tree.call("test", "--quick", "--long", **{fails: "1"})
    assert last_line(outcome) == "31 passed, 1 failed"
    assert f"FAILED {walk}" in outcome.stderr and "aclnnCat int4" in outcome.stderr

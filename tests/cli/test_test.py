# SPDX-License-Identifier: Apache-2.0
"""./millpond test: what it runs, how it counts, and that nothing broken looks well."""

import pytest

FAILED = '<failure message="Failed"/><system-out>expected 3, got 4</system-out>'


def last_line(outcome):
    return outcome.stdout.splitlines()[-1]


def test_all_suites_run_and_are_summed(tree):
    outcome = tree.call("test")
    # Two of three pass in each of release, asan and tsan (one is skipped), and two in pytest.
    assert last_line(outcome) == "8 passed, 0 failed", outcome.stderr
    assert outcome.stdout == "8 passed, 0 failed\n"
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
    assert not [line for line in tree.calls() if "asan" in line or "tsan" in line]


def test_pattern_reaches_both(tree):
    tree.call("test", "--quick", "-k", "Pool")
    assert any(line.startswith("ctest") and "-R Pool" in line for line in tree.calls())
    assert any(line.startswith("pytest") and line.endswith("-k Pool") for line in tree.calls())


def test_failure_is_shown_and_counted(tree):
    outcome = tree.call("test", "--quick", FAKE_CTEST_STATUS="fail", FAKE_CTEST_BODY=FAILED)
    assert last_line(outcome) == "3 passed, 1 failed"
    assert outcome.returncode == 1
    assert "FAILED ctest release: Pool.Shrinks" in outcome.stderr and "expected 3, got 4" in outcome.stderr


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
    text.write_text(text.read_text().replace("TORCH_SECONDS = 15 * 60", "TORCH_SECONDS = 1"))
    hang = '#!/bin/sh\ncase "$*" in *--ignore=*) ;; *pytest*) sleep 1000 & sleep 1000 ;; esac\n'
    python = tree.root / ".venv" / "bin" / "python"
    python.write_text(hang + python.read_text().removeprefix("#!/bin/sh\n"))
    outcome = tree.call("test", "--quick")
    assert last_line(outcome) == "4 passed, 1 failed"
    assert "killed: it ran longer than 1.0 s" in outcome.stderr

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tree's own suites under the checker and demands that no test earns an error that it is not about.

    tools/no_false_alarm_tests.py [--only TEXT] [--list] [--rows]

Most suites are about right use, some about wrong use: tests/wrong/on_purpose.tsv has what those earn, test by test. A finding is of the test or role (a process
of a test's own) whose function is in its stacks. Suites whose subject is the checker itself (tests/wrong) are not run here. Needs ./millpond test's build.
One line for each suite; exit 1 when one earned another error, or was not checked. Whether its tests pass is for the other suites to say: a few count
memory that the checker keeps back. --rows prints what was
found as rows of the table, to be judged one by one before they go in.
"""

import argparse
import fnmatch
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "cli"))
import environment
from layout import VENV, build_dir
from no_false_alarm import errors_in, choose

TABLE = ROOT / "tests" / "wrong" / "on_purpose.tsv"
PREFIXES = ("acl", "pool", "hccl", "aclnn", "ge")
FOLDERS = ("python_acl", "python_ge")
# Not run: nobody has judged their findings yet.
OPEN = dict.fromkeys(("acl_soak_test", "hccl_ranks_many_test", "hccl_ranks_random_test", "python_acl", "python_ge"), "not judged yet")
SECONDS = 600  # for one suite
UNJUDGED = "?"  # as --rows prints it
UNKNOWN = "-"  # no function of a test is in the stacks
PLACES = (re.compile(r"\b(\w+)_Test::TestBody"), re.compile(r"\b(Body_\w+)"), re.compile(r"\b(Role_\w+)"), re.compile(r"^(test_\w+)$"))


@dataclass(frozen=True)
class Suite:
    name: str
    command: tuple


def suites():
    folder = build_dir("release") / "bin"
    programs = sorted(path for prefix in PREFIXES for path in folder.glob(f"{prefix}_*_test"))
    found = [Suite(path.name, (path, "--gtest_brief=1")) for path in programs]
    pytest = (VENV / "bin" / "python", "-m", "pytest", "-c", ROOT / "tests" / "pytest.ini", "--rootdir", ROOT, "-q", "-p", "no:cacheprovider")
    return found + [Suite(name, (*pytest, ROOT / "tests" / name)) for name in FOLDERS]


def read_table(text):
    """[(suite, place, rules)]; a place may have * in it."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 4 or not all(fields) or fields[3] == UNJUDGED:
            raise SystemExit(f"{TABLE.name}:{number}: a row is suite, test, rules and reason, with tabs between them")
        rows.append((fields[0], fields[1], frozenset(fields[2].split(","))))
    return rows


def place_of(finding):
    """The test or role that made it: the outermost function that is one."""
    functions = [frame["function"] for stack in finding["stacks"] for frame in stack["frames"]]
    for pattern in PLACES:
        for function in reversed(functions):
            if found := pattern.search(function):
                return found.group(1)
    return UNKNOWN


def is_on_purpose(rows, suite, place, rule):
    return any(suite == row[0] and fnmatch.fnmatchcase(place, row[1]) and rule in row[2] for row in rows)


def run(suite, base):
    """(errors, what kept it from being checked or nothing)"""
    with tempfile.TemporaryDirectory(prefix="millpond-alarm-") as folder:
        lines = Path(folder) / "lines"
        variables = {**base, "MILLPOND_CHECK": "1", "MILLPOND_CHECK_STATUS": "keep", "MILLPOND_CHECK_JSON": str(lines)}
        why = None
        try:
            subprocess.run(list(map(str, suite.command)), cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            why = f"could not be run: {error}"
        found = lines.read_text(encoding="utf-8", errors="replace") if lines.exists() else ""
        return errors_in(found), why or (None if found else "no process was checked")


def shown(finding):
    at = next((f"{Path(frame['file']).name}:{frame['line']}" for stack in finding["stacks"] for frame in stack["frames"] if frame["file"]), "no line")
    return f"{finding['rule']} in {place_of(finding)} ({at}): {finding['message']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", action="store_true", help="print rows for the table")
    arguments, chosen = choose(parser, suites())
    rows, base, bad, began = read_table(TABLE.read_text(encoding="utf-8")), environment.for_program(argparse.Namespace()), 0, time.monotonic()
    for suite in [suite for suite in chosen if suite.name in OPEN]:
        print(f"left out: {suite.name}, {OPEN[suite.name]}")
        chosen.remove(suite)
    for number, suite in enumerate(chosen, 1):
        errors, why = run(suite, base)
        wrong = [finding for finding in errors if not is_on_purpose(rows, suite.name, place_of(finding), finding["rule"])]
        told = [shown(finding) for finding in wrong] + ([why] if why else [])
        for text in told:
            print(f"ALARM {suite.name} {text}", flush=True)
        if arguments.rows:
            for row in sorted({f"{suite.name}\t{place_of(finding)}\t{finding['rule']}\t{UNJUDGED}" for finding in wrong}):
                print(row)
        bad += bool(told)
        verdict = f"ALARMS ({len(told)}) from" if told else f"silent with {len(errors)} errors on purpose:"
        print(f"[{number}/{len(chosen)}] {verdict} {suite.name}, {time.monotonic() - began:.0f} s after the start", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

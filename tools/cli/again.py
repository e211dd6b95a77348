# SPDX-License-Identifier: Apache-2.0
"""A test that failed beside others is tried again alone, so that the verdict on the tree does not hang on the machine's load.

One that then passes every time is *unsteady*: told by name with what it printed, and a failure where --strict asks. What is never a
matter of luck stays a failure: a sanitizer's report, a crash, a test that did not end. So does a suite in which many failed.
"""

import re

import ui
from layout import BUILD, ROOT

MAX_FAILED = 5
TRIES = 3
NEVER_LUCK = re.compile(r"Sanitizer|runtime error: |SEGFAULT|SIGSEGV|SIGABRT|SIGBUS|Segmentation fault|core dumped|\b[Aa]borted\b"
                        r"|\bILLEGAL\b|\bNUMERICAL\b|\bINTERRUPT\b|OTHER_FAULT|Bus error|[Tt]ime(d )?out\b|TimeoutExpired|ran longer than|Fatal Python error")


def try_again(name, result, command_for, run):
    """Moves what passes alone from result.failed to result.unsteady.

    command_for(names, junit_path): the command that runs these tests one after another. run: cmd_test's way to run one.
    """
    worth = [(test, output) for test, output in result.failed if "::" in test or "." in test]
    if not worth or len(worth) != len(result.failed) or len(worth) > MAX_FAILED:
        return result
    if any(NEVER_LUCK.search(output) for _, output in worth):
        return result
    names = [test.removeprefix(f"{name}: ") for test, _ in worth]
    steady_failures = set()
    for attempt in range(1, TRIES + 1):
        label = f"{name}, again alone ({attempt} of {TRIES})"
        path = BUILD / "junit" / f"{name.replace(' ', '-')}-again-{attempt}.xml"
        try:
            found = run(label, command_for(names, path), path)
        except ui.Stop as stop:
            ui.say(str(stop))
            return result
        if found.passed + len(found.failed) != len(names):
            return result  # what was asked for was not what ran
        steady_failures |= {test.removeprefix(f"{label}: ") for test, _ in found.failed}
    result.unsteady += [row for row, test in zip(worth, names) if test not in steady_failures]
    result.failed = [row for row, test in zip(worth, names) if test in steady_failures]
    result.passed += len(worth) - len(result.failed)
    return result


def ctest_names(names):
    return "|".join(f"^{re.escape(name)}$" for name in names)


def pytest_ids(names):
    """`tests.cli.test_run.Class::test_x[1]`, as JUnit has it, to what pytest takes: `tests/cli/test_run.py::Class::test_x[1]`."""
    ids = []
    for name in names:
        module, test = name.split("::", 1)
        parts = module.split(".")
        length = next((n for n in range(len(parts), 0, -1) if (ROOT / "/".join(parts[:n])).with_suffix(".py").is_file()), len(parts))
        ids.append("::".join(["/".join(parts[:length]) + ".py", *parts[length:], test]))
    return ids

# SPDX-License-Identifier: Apache-2.0
"""`test`: every test of every kind, closing with the one line `N passed, N failed`.

A suite that cannot be built or that finds no test counts as one failure: silence must not look like success.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass

import again
import checks
import ensure
import environment
import junit
import pytorch
import ui
from arguments import Parser
from layout import BUILD, ROOT, VENV, build_dir

SHOWN_FAILURES = 20
SHOWN_LINES = 40
TORCH_TESTS = ROOT / "tests" / "torch"
# Generous, for slow machines. A kernel that never ends must cost this suite, not the verdict on the others.
TORCH_SECONDS = 30 * 60
PYTEST = (VENV / "bin" / "python", "-m", "pytest", "-c", ROOT / "tests" / "pytest.ini", "--rootdir", ROOT)


@dataclass(frozen=True)
class Suite:
    name: str
    preset: str
    label: str = ""  # ctest label; empty runs all
    variables: tuple = ()  # (name, value) beside our own environment
    at_once: int = 1  # tests for each core: those that mostly wait leave it idle
    option: str = ""  # of the build: ON with --long, else OFF


# LeakSanitizer of gcc 12 takes two words in front of a thread's dynamic TLS for a header that glibc does not write, and faults at them now and then.
ASAN_OPTIONS = "intercept_tls_get_addr=0"
# TSan waits at a process's end for races with threads that still run: a second by default, which 2,300 processes cannot afford.
TSAN_OPTIONS = "atexit_sleep_ms=20"
CTEST_SUITES = (Suite("ctest release", "release"), Suite("ctest asan", "asan", "core", (("ASAN_OPTIONS", ASAN_OPTIONS),), at_once=2),
                Suite("ctest tsan", "tsan", "core", (("TSAN_OPTIONS", TSAN_OPTIONS),), at_once=2, option="MILLPOND_TSAN_ALL"))
KERNELS_ASAN = Suite("ctest kernels-asan", "kernels-asan", "core", (("ASAN_OPTIONS", checks.ASAN_OPTIONS),))
AARCH64 = Suite("ctest aarch64", "aarch64", "core")
COVERAGE = Suite("ctest coverage", "coverage", "core")


def test_parser():
    parser = Parser(
        "test",
        description="Builds and runs all tests: ctest in release, the core's tests under ASan and TSan, clang's "
                    "thread-safety analysis, and pytest with the linters among its tests. "
                    "The last line is 'N passed, N failed'; the exit status is 0 only when none failed.")
    parser.add_argument("--quick", action="store_true", help="release only, without the sanitizer builds")
    parser.add_argument("--long", action="store_true", help="also what takes hours: clang on everything, clang-tidy, deliberate bugs that the "
                                                            "suites must catch, every example under the checker with 64 seeds, 2,000 random programs under it, aarch64 under an emulator, other releases of torch, "
                                                            "the real kernels under ASan and UBSan, unit tests without threads under TSan")
    parser.add_argument("--coverage", action="store_true", help="only count the lines and branches that the core's tests reach: "
                                                                "docs/line_coverage.md")
    parser.add_argument("-k", metavar="TEXT", help="only tests whose name matches (a regular expression for ctest, "
                                                   "an expression for pytest)")
    parser.add_argument("--strict", action="store_true", help="a test that failed once and passes alone counts as failed; --long implies it")
    return parser


def test(argv):
    arguments = test_parser().parse_args(argv)
    started = time.monotonic()
    total = junit.Result()
    for name, work in _suites(arguments, total):
        total.add(_attempt(name, work))
    if arguments.strict or arguments.long:
        total.failed += total.unsteady
        total.passed -= len(total.unsteady)
        total.unsteady = []
    _report(total)
    ui.say(f"all suites took {ui.seconds(time.monotonic() - started)}")
    print(f"{total.passed} passed, {len(total.failed)} failed", flush=True)
    return 1 if total.failed or not total.passed else 0


def _suites(arguments, total):
    """(name, what runs it) of each suite in its order; what is left out goes to total.skipped with its reason."""
    if arguments.coverage:
        yield "coverage", lambda: checks.coverage(lambda: _run_ctest(COVERAGE, arguments.k))
        return
    yield "setting up", _set_up
    for suite in CTEST_SUITES[:1] if arguments.quick else CTEST_SUITES:
        yield suite.name, lambda suite=suite: _ctest(suite, arguments.k, arguments.long)
    if not arguments.quick and not arguments.k:
        yield "clang locks", lambda: checks.clang("locks")
    yield "pytest", lambda: _pytest("pytest", arguments.k, _plain_folders())
    if TORCH_TESTS.is_dir() and pytorch.enabled():
        yield "pytest torch", lambda: _pytest("pytest torch", arguments.k, [TORCH_TESTS], TORCH_SECONDS)
    elif TORCH_TESTS.is_dir():
        total.skipped.append(("pytest torch", f"{pytorch.SWITCH}=off: the tests of torch_npu need torch"))
    if arguments.long:
        yield from _long_suites(arguments, total)


def _long_suites(arguments, total):
    if not arguments.k:
        yield "clang all", lambda: checks.clang(ensure.INSTALL_TARGET)
        yield "clang-tidy", checks.clang_tidy
        yield "mutation", checks.mutation
        yield "no false alarm", checks.no_false_alarm
        yield "no false alarm in tests", checks.no_false_alarm_tests
        yield "random programs", lambda: checks.random_programs(_run, "random programs", "rules_random_test")
        yield "random threads", lambda: checks.random_programs(_run, "random threads", "rules_relay_test")
        yield "site", checks.site
        yield "ranks", checks.ranks
    yield AARCH64.name, lambda: _aarch64(arguments.k)
    if not pytorch.enabled():
        total.skipped.append(("kernels-asan", f"{pytorch.SWITCH}=off: the kernels need torch"))
        return
    if not arguments.k:
        yield "half types", checks.half_types
        yield "all types", checks.all_types
        yield "all shapes", checks.all_shapes
        yield "torch versions", checks.torch_versions
        yield "pytest ranks", lambda: checks.divided_models(_run)
    yield KERNELS_ASAN.name, lambda: _ctest(KERNELS_ASAN, arguments.k)
    yield "pytest kernels-asan", lambda: checks.sanitized_kernels(arguments.k, _run)


def _attempt(name, work):
    try:
        return work()
    except ui.Stop as stop:
        ui.say(str(stop))
        return junit.Result(failed=[(name, str(stop))])


def _set_up():
    checks.set_up()
    ensure.ready(tests=True)
    return junit.Result()


def _run(name, command, junit_path, log_name, env=None, limit=None):
    junit_path.parent.mkdir(parents=True, exist_ok=True)
    junit_path.unlink(missing_ok=True)
    ui.say(f"{name} ...")
    status, log_path, span = ui.run_logged(name, command, log_name, env=env, limit=limit)
    if not junit_path.exists():
        print(ui.tail(log_path), file=sys.stderr)
        raise ui.Stop(f"{name} ended with {status} and wrote no results; the whole log is {ui.shown(log_path)}")
    result = junit.read(junit_path, name)
    ui.say(f"{name}: {result.passed} passed, {len(result.failed)} failed, {len(result.skipped)} skipped "
           f"in {ui.seconds(span)}")
    if status != 0 and not result.failed and result.passed:
        result.failed.append((name, f"exit status {status} although no test failed; see {ui.shown(log_path)}"))
    return result


def _expect_some(result, name, pattern):
    if pattern is None and not result.passed and not result.failed:
        result.failed.append((name, "no test was found"))
    return result


def _ctest(suite, pattern, long=True):
    defines = (f"-D{suite.option}={'ON' if long else 'OFF'}",) if suite.option else ()
    ensure.build(suite.preset, targets=(), defines=defines, sources=(*ensure.SOURCES, *ensure.TEST_SOURCES))
    return _run_ctest(suite, pattern)


def _aarch64(pattern):
    """The core's suites, cross-compiled, under an emulator of user programs: what depends on the processor has its twin."""
    ensure.packages(checks.LONG_PACKAGES)
    ensure.build(AARCH64.preset, targets=(), defines=checks.NO_TORCH, sources=(*ensure.SOURCES, *ensure.TEST_SOURCES))
    return _run_ctest(AARCH64, pattern)


def _run_ctest(suite, pattern):
    folder = build_dir(suite.preset)
    junit_path = BUILD / "junit" / f"{suite.name.replace(' ', '-')}.xml"
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--output-junit", junit_path, "-j", str(int(ensure.jobs()) * suite.at_once)]
    if suite.label:
        command += ["-L", f"^{suite.label}$"]
    if pattern:
        command += ["-R", pattern]
    env = {**os.environ, **dict(suite.variables)}
    result = _run(suite.name, command, junit_path, f"ctest-{suite.preset}.log", env=env)

    def alone(names, path):
        return ["ctest", "--test-dir", folder, "--output-on-failure", "--output-junit", path, "-R", again.ctest_names(names)]

    again.try_again(suite.name, result, alone, lambda label, command, path: _run(label, command, path, f"{path.stem}.log", env=env))
    return _expect_some(result, suite.name, pattern)


def _plain_folders():
    return [ROOT / name for name in ("tests", "bench") if (ROOT / name).is_dir()] + [f"--ignore={TORCH_TESTS}"]


def _pytest(name, pattern, folders, limit=None):
    ensure.venv()
    file_name = name.replace(" ", "-")
    junit_path = BUILD / "junit" / f"{file_name}.xml"
    # Files side by side: most tests wait for a program that they started. What a file sets up is made once.
    command = [*PYTEST, *folders, "-n", ensure.jobs(), "--dist", "loadfile", "-q", "-rs", f"--junitxml={junit_path}"]
    if pattern:
        command += ["-k", pattern]
    variables = environment.for_program(argparse.Namespace())
    # Tests choose their own environment; what set_env.sh adds is there to be found, and the torch tests import torch in it.
    result = _run(name, command, junit_path, f"{file_name}.log", env=variables, limit=limit)

    def alone(names, path):
        return [*PYTEST, *again.pytest_ids(names), "-q", "-rs", f"--junitxml={path}"]

    again.try_again(name, result, alone, lambda label, command, path: _run(label, command, path, f"{path.stem}.log", env=variables, limit=limit))
    return _expect_some(result, name, pattern)


def _report(total):
    for name, reason in total.skipped:
        ui.say(f"skipped {name}: {reason}")
    for name, output in total.unsteady:
        print(f"---- UNSTEADY {name}: failed once, then passed {again.TRIES} times alone", file=sys.stderr)
        print("\n".join(output.splitlines()[-SHOWN_LINES:]), file=sys.stderr)
    for name, output in total.failed[:SHOWN_FAILURES]:
        print(f"---- FAILED {name}", file=sys.stderr)
        print("\n".join(output.splitlines()[-SHOWN_LINES:]), file=sys.stderr)
    for name, _ in total.failed[SHOWN_FAILURES:]:
        print(f"---- FAILED {name}", file=sys.stderr)
    sys.stderr.flush()

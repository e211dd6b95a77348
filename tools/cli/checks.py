# SPDX-License-Identifier: Apache-2.0
"""What `test` asks of other compilers and of instrumented builds. Each check is a suite that counts as one test.

Short: clang's thread-safety analysis of the files that lock. Long (--long): clang on everything, clang-tidy, deliberate bugs, every
example under the checker with 64 seeds, the tests themselves and 2,000 random programs under it, ranks, other releases of torch, aarch64 under an emulator, the real kernels under ASan and UBSan. --coverage: which lines and branches the core's tests reach, written to docs/line_coverage.md.
"""

import argparse
import json
import os
import re
import subprocess

import ensure
import environment
import junit
import ui
from layout import BUILD, ROOT, VENV, build_dir

TEST_PACKAGES = "debian-packages-test.txt"
LINT_PACKAGES = "debian-packages-lint.txt"
LONG_PACKAGES = "debian-packages-long.txt"
LINT_REQUIREMENTS = "requirements-lint.txt"
# clang has no use for torch: the kernels are ATen's headers for the most part.
NO_TORCH = ("-DMILLPOND_TORCH_PYTHON=off",)
# Targets that write headers.
GENERATED = ("op_tables", "check_rules")
# torch is not sanitized: it hands over vectors and blocks that ASan has not seen, and keeps what it has to the end.
ASAN_OPTIONS = "detect_leaks=0:detect_container_overflow=0:alloc_dealloc_mismatch=0:detect_odr_violation=0"
KERNEL_TESTS = ROOT / "tests" / "torch" / "ops"
KERNEL_SECONDS = 60 * 60
COVERED = "src/(base|trace|planner|pool|device|ops|graph|report|check|comm|exec|api)/"
PAGE = ROOT / "docs" / "line_coverage.md"


def set_up():
    ensure.packages(TEST_PACKAGES)
    ensure.packages(LINT_PACKAGES)
    ensure.venv_list(LINT_REQUIREMENTS)


def _one_passed(name, span=None):
    ui.say(f"{name}: 1 passed" + (f" in {ui.seconds(span)}" if span is not None else ""))
    return junit.Result(passed=1)


def clang(target):
    """-Wthread-safety and clang's own warnings. target: `locks`, the files that lock, or `install_set`, all."""
    ensure.build("clang", targets=(target,), defines=NO_TORCH)
    return _one_passed(f"clang {target}")


def clang_tidy():
    """.clang-tidy's list on every file of the core, the shims and the tools.

    On units of several files (tools/unity.py), as the release build compiles them: a file alone is headers for the most part.
    """
    name = "clang-tidy"
    ensure.packages(LONG_PACKAGES)
    ensure.build("clang", targets=GENERATED, defines=(*NO_TORCH, "-DMILLPOND_UNITY=ON"), name="tidy")
    ui.say(f"{name} ...")
    # Units are made of .cc files, and tell gcc of a warning that clang does not know.
    command = ["run-clang-tidy-19", "-p", build_dir("tidy"), "-j", ensure.jobs(), "-quiet", "-checks=-bugprone-suspicious-include",
               "-extra-arg=-Wno-unknown-warning-option",
               "-extra-arg=-Wno-deprecated-declarations", rf"^{re.escape(str(ROOT))}/(build/tidy/units|src|tools)/(?!.*_test)"]
    status, log_path, span = ui.run_logged(name, command, "clang-tidy.log")
    found = tidy_findings(log_path.read_text(encoding="utf-8", errors="replace"))
    if found:
        return junit.Result(failed=[(name, "\n".join(found))])
    if status != 0:
        raise ui.Stop(f"{name} ended with {status}; the whole log is {ui.shown(log_path)}")
    return _one_passed(name, span)


def tidy_findings(text):
    """Each finding once, however many files include the header it is in."""
    return sorted(set(re.findall(r"^\S+:\d+:\d+: (?:warning|error): .*\[[\w.,-]+\]$", text, re.M)))


def mutation():
    """Deliberate bugs in a copy of the tree, each of which its suite must catch: tools/mutate.py. One test for each."""
    name = "mutation"
    ui.say(f"{name} ...")
    status, log_path, span = ui.run_logged(name, [ROOT / "tools" / "mutate.py"], "mutation.log")
    result = mutation_result(log_path.read_text(encoding="utf-8", errors="replace"))
    if status != 0 and not result.failed:
        raise ui.Stop(f"{name} ended with {status}; the whole log is {ui.shown(log_path)}")
    ui.say(f"{name}: {result.passed} bugs caught, {len(result.failed)} not, in {ui.seconds(span)}")
    return result


def mutation_result(text):
    survived = re.findall(r"^SURVIVED (\S+): (.*)$", text, re.M)
    untried = re.findall(r"^UNTRIED (\S+): (.*)$", text, re.M)
    return junit.Result(passed=len(re.findall(r"^caught \S+: ", text, re.M)),
                        failed=[(f"mutation: {name}", f"no test noticed that {says}") for name, says in survived] +
                               [(f"mutation: {name}", f"it could not be tried: {why}") for name, why in untried])


def _parts_of(name, tool, read, says):
    """Runs a tool that tells of its parts line by line; `read` makes a result of them, `says` a sentence of that."""
    ui.say(f"{name} ...")
    status, log_path, span = ui.run_logged(name, [ROOT / "tools" / tool], tool.replace(".py", ".log"))
    result = read(log_path.read_text(encoding="utf-8", errors="replace"))
    if not result.passed or (status != 0 and not result.failed):
        raise ui.Stop(f"{name} ended with {status}; the whole log is {ui.shown(log_path)}")
    ui.say(f"{name}: {says.format(result.passed, len(result.failed))}, in {ui.seconds(span)}")
    return result


def no_false_alarm():
    """Every example under the checker, with seeds 0 to 63: tools/no_false_alarm.py. One test for each."""
    return _parts_of("no false alarm", "no_false_alarm.py", alarm_result, "{} examples are silent, {} are not")


def no_false_alarm_tests():
    """The tree's own suites under the checker: tools/no_false_alarm_tests.py. One test for each."""
    return _parts_of("no false alarm in tests", "no_false_alarm_tests.py", alarm_result, "{} suites are silent, {} are not")


def random_programs(run, name, test):
    """What CI asks of 40 random programs, of 2,000 others: tests/wrong/rules_random_test.cc and rules_relay_test.cc."""
    junit_path = BUILD / "junit" / f"{test}-long.xml"
    command = [build_dir("release") / "bin" / test, f"--gtest_output=xml:{junit_path}"]
    variables = {**os.environ, "MILLPOND_RANDOM_FIRST": "1000", "MILLPOND_RANDOM_PROGRAMS": "2000"}
    return run(name, command, junit_path, f"{test}-long.log", env=variables)


def alarm_result(text):
    alarms = dict(re.findall(r"^ALARM (\S+) (.*)$", text, re.M))
    return junit.Result(passed=len(re.findall(r"^\[\d+/\d+\] silent with ", text, re.M)),
                        failed=[(f"no false alarm: {name}", what) for name, what in alarms.items()])


def site():
    """The documentation as a site, every link of it followed: tools/site_pages.py."""
    name = "site"
    ui.say(f"{name} ...")
    status, log_path, span = ui.run_logged(name, [ROOT / "tools" / "site_pages.py"], "site.log")
    if status != 0:
        return junit.Result(failed=[(name, ui.tail(log_path))])
    return _one_passed(name, span)


def ranks():
    """Random programs of collectives, every failure many times, many ranks: tools/ranks_long.py. One test for each part."""
    return _parts_of("ranks", "ranks_long.py", ranks_result, "{} parts passed, {} failed")


def ranks_result(text):
    failed = re.findall(r"^\[\d+/\d+\] FAILED (.*?) in \d+ s: (.*)$", text, re.M)
    return junit.Result(passed=len(re.findall(r"^\[\d+/\d+\] passed ", text, re.M)), failed=[(f"ranks: {name}", what) for name, what in failed])


def torch_versions():
    """Other releases of torch with their torch_npu: tools/torch_versions.py. One test for each program."""
    return _parts_of("torch versions", "torch_versions.py", versions_result, "{} programs ran, {} did not")


def versions_result(text):
    failed = re.findall(r"^FAILED (.*)$", text, re.M)
    tried = re.findall(r"^[\d.]+ \w+: .*$", text, re.M)
    return junit.Result(passed=len(tried) - len(failed), failed=[(f"torch {name}", "see the log") for name in failed])


def half_types():
    """Every operator of PyTorch's database on half types, in roundings from the float64 result."""
    return _torch_script("half types", "conformance/halves.py")


def all_types():
    """Every operator of calls.tsv over all types: right, or refused in phase 1."""
    return _torch_script("all types", "types/walk.py")


def all_shapes():
    """Every operator of calls.tsv with tensors of other shapes: no call ends the process."""
    return _torch_script("all shapes", "types/shapes.py")


def _torch_script(name, script):
    """A program of tests/torch that says by its exit code whether all is well."""
    ui.say(f"{name} ...")
    command = [VENV / "bin" / "python", ROOT / "tests" / "torch" / script]
    log = name.replace(" ", "_") + ".log"
    status, log_path, span = ui.run_logged(name, command, log, env=environment.for_program(argparse.Namespace()))
    if status != 0:
        return junit.Result(failed=[(name, ui.tail(log_path))])
    return _one_passed(name, span)


def divided_models(run):
    """What CI runs on 2 ranks, on 4 as well: tests/torch/programs/test_ranks.py."""
    name = "pytest ranks"
    junit_path = BUILD / "junit" / "pytest-ranks.xml"
    command = [VENV / "bin" / "python", "-m", "pytest", "-c", ROOT / "tests" / "pytest.ini", "--rootdir", ROOT,
               ROOT / "tests" / "torch" / "programs" / "test_ranks.py", "-q", f"--junitxml={junit_path}"]
    variables = {**environment.for_program(argparse.Namespace()), "TEST_LONG": "1"}
    return run(name, command, junit_path, "pytest-ranks.log", env=variables, limit=KERNEL_SECONDS)


def preloaded():
    """The sanitizers' runtime libraries, for a Python that was not linked to them."""
    return ":".join(subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
                    for name in ("libasan.so", "libubsan.so"))


def sanitized_kernels(pattern, run):
    """The operators of torch_npu's tests on sanitized kernels: Python is preloaded with ASan, the build's libraries come first."""
    name = "pytest kernels-asan"
    folder = build_dir("kernels-asan")
    variables = environment.for_program(argparse.Namespace())
    variables["LD_LIBRARY_PATH"] = f"{folder / 'lib64'}:{variables.get('LD_LIBRARY_PATH', '')}"
    variables |= {"ASAN_OPTIONS": ASAN_OPTIONS, "UBSAN_OPTIONS": "print_stacktrace=1"}
    junit_path = BUILD / "junit" / "pytest-kernels-asan.xml"
    # Preloaded by env, behind the fork: cmake and pip are not to be sanitized.
    command = ["env", f"LD_PRELOAD={preloaded()}", VENV / "bin" / "python", "-m", "pytest", "-c", ROOT / "tests" / "pytest.ini",
               "--rootdir", ROOT, KERNEL_TESTS, "-q", "-p", "no:cacheprovider", f"--junitxml={junit_path}"]
    if pattern:
        command += ["-k", pattern]
    return run(name, command, junit_path, "pytest-kernels-asan.log", env=variables, limit=KERNEL_SECONDS)


def coverage(run_ctest):
    """Builds with gcov's counters, runs the core's tests, and writes the page of figures."""
    ensure.packages(TEST_PACKAGES)
    ensure.packages(LONG_PACKAGES)
    ensure.build("coverage", targets=(), sources=(*ensure.SOURCES, *ensure.TEST_SOURCES))
    folder = build_dir("coverage")
    for stale in folder.rglob("*.gcda"):
        stale.unlink()
    result = run_ctest()
    summary = BUILD / "coverage.json"
    html = BUILD / "coverage_html"
    html.mkdir(exist_ok=True)
    ui.step("counting lines and branches", ["gcovr", "--root", ROOT, "--object-directory", folder, folder, "-j", ensure.jobs(),
            "--filter", COVERED, "--exclude", r".*_test\.cc", "--exclude-throw-branches", "--exclude-unreachable-branches",
            "--json-summary", summary, "--html-details", html / "index.html"], "gcovr.log")
    PAGE.write_text(coverage_page(json.loads(summary.read_text())), encoding="utf-8")
    ui.say(f"{ui.shown(PAGE)} has the figures; each line: {ui.shown(html / 'index.html')}")
    return result


def coverage_page(summary):
    """Markdown with one row per room of src/, lines and branches that the core's tests reach."""
    rooms = {}
    for file in summary["files"]:
        parts = file["filename"].split("/")
        room = "/".join(parts[:3] if len(parts) > 3 and parts[1] in ("device", "graph", "exec", "api") else parts[:2])
        counts = rooms.setdefault(room, [0, 0, 0, 0])
        for place, key in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
            counts[place] += file[key]

    def row(name, counts):
        lines, line_total, branches, branch_total = counts
        return (f"| {name} | {100 * lines / max(line_total, 1):.1f} % of {line_total:,} | "
                f"{100 * branches / max(branch_total, 1):.1f} % of {branch_total:,} |")

    total = [sum(counts[place] for counts in rooms.values()) for place in range(4)]
    return "\n".join([
        "# Lines and branches that the tests reach", "",
        "Written by `./millpond test --coverage`; do not edit. The core's own suites alone (ctest label `core`, with stand-ins for the kernels), as the",
        "sanitizer builds run them: what only the Python suites and the operators' tests reach counts as not reached. Branches that",
        "exist for exceptions alone are left out.", "",
        "| folder | lines | branches |", "|---|---|---|",
        *[row(f"`{name}`", rooms[name]) for name in sorted(rooms)], row("**all**", total), ""])


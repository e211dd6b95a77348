# SPDX-License-Identifier: Apache-2.0
"""pytest and the checker: a test in which a rule was broken fails with the finding's text.

    ./millpond check -- python -m pytest -p millpond.pytest_plugin --npu-check tests

docs/check.md has the guide.
"""

import ctypes
import os
import re
from pathlib import Path

import pytest

from millpond import _checker, _lines

MARK = "npu_check(expect): the test passes only if the checker finds these rules in it, such as 'MP304' or 'MP304,MP6*'"
COMMAND = "./millpond check -- python -m pytest -p millpond.pytest_plugin --npu-check ..."
RULE = re.compile(r"MP\d{3}|MP\d{0,2}\*")
KEY = pytest.StashKey()
# Of the installed tree, as ./millpond check reads it.
RULES = Path(__file__).resolve().parents[3] / "share" / "millpond" / "cli" / "data" / "rules.yaml"


def pytest_addoption(parser):
    group = parser.getgroup("npu", "Ascend programs under Millpond's checker")
    group.addoption("--npu-check", action="store_true", help=f"fail the test in which the checker finds an error. Start it so: {COMMAND}")
    group.addoption("--npu-check-level", choices=_lines.SEVERITIES, default="error",
                    help="the least severity that fails a test (default: error); all findings are listed at the end")


def pytest_configure(config):
    config.addinivalue_line("markers", MARK)
    reason = why_not_checked(os.environ)
    if config.getoption("npu_check") and reason:
        raise pytest.UsageError(f"--npu-check: {reason}")
    # The first process of pytest-xdist runs no test; its workers do.
    leads = getattr(config.option, "dist", "no") != "no" and "PYTEST_XDIST_WORKER" not in os.environ
    if not reason and not leads:
        config.pluginmanager.register(Checked(config), "millpond_checked")


def why_not_checked(environment):
    """The runtime opens the checker when it is loaded, so that the process must have been started for it; or ''."""
    for variable in ("MILLPOND_CHECK", "MILLPOND_CHECK_JSON"):
        if environment.get(variable, "") in ("", "0"):
            return f"this process was started without {variable}, so that nothing is checked; start it so: {COMMAND}"
    path = environment["MILLPOND_CHECK_JSON"]
    if os.path.exists(path) and not os.path.isfile(path):  # a device may never end
        return f"MILLPOND_CHECK_JSON names {path}, which is no regular file and cannot be read again; start it so: {COMMAND}"
    return ""


def expected_rules(item):
    """Rules and beginnings of rules that the test's marks name. Raises what pytest shows as the test's failure."""
    rules = []
    for mark in item.iter_markers("npu_check"):
        expect = mark.kwargs.get("expect")
        words = expect.split(",") if isinstance(expect, str) else expect
        if mark.args or set(mark.kwargs) != {"expect"} or not isinstance(words, (list, tuple)):
            raise failure(f"npu_check takes expect alone, a rule or a list of them; it was given {mark.args} {mark.kwargs}")
        known = known_rules()
        for word in words:
            rule = known.get(str(word).strip(), str(word).strip())
            if not RULE.fullmatch(rule):
                raise failure(f"npu_check(expect={expect!r}): {word!r} is no rule; allowed: MP304, its name, or its beginning with a * (MP3*). "
                              "./millpond check --rules lists them")
            if known and not any(rule_matches(rule, each) for each in known.values()):
                raise failure(f"npu_check(expect={expect!r}): the checker has no rule {word!r}; known: {', '.join(known.values())}")
            rules.append(rule)
    return rules


def known_rules():
    """The ids of all rules by their names; nothing where the tree is not whole."""
    try:
        found = re.findall(r"^- id: (MP\d{3})\n  name: (\S+)$", RULES.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return {}
    return {name: rule for rule, name in found}


def failure(text):
    return pytest.fail.Exception(text, pytrace=False)


def rule_matches(rule, name):
    return name.startswith(rule[:-1]) if rule.endswith("*") else name == rule


def matches(rule, finding):
    return rule_matches(rule, finding.rule)


class Record:
    """What is known of the test that runs."""

    def __init__(self):
        self.expect = []
        self.findings = []
        self.seen = 0  # how many of them an earlier phase has dealt with


class Checked:
    """The plugin of a process that is checked. Without --npu-check it only serves the fixture."""

    def __init__(self, config):
        self._fails = config.getoption("npu_check")
        self._levels = _lines.SEVERITIES[:_lines.SEVERITIES.index(config.getoption("npu_check_level")) + 1]
        # Workers of pytest-xdist share the file, and each has tests of its own.
        self._lines = _lines.Lines(os.environ["MILLPOND_CHECK_JSON"], family=bool(os.environ.get("PYTEST_XDIST_WORKER")))
        self._outside = [each for each in self._lines.new() if each.pid == os.getpid()]  # the rest is an earlier run's
        self._listed = []  # where, and the finding

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item):
        self._outside += self._lines.new()
        record = item.stash[KEY] = Record()
        try:
            record.expect = expected_rules(item)
        except pytest.fail.Exception as wrong:
            outcome = yield
            if self._fails:
                outcome.force_exception(wrong)
            return
        outcome = yield
        self._after(item, "setup", outcome)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        outcome = yield
        self._after(item, "call", outcome)
        if self._fails and outcome.excinfo is None:
            self._require_expected(item, outcome)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item):
        outcome = yield
        self._after(item, "teardown", outcome)

    def take(self, item, memory=False):
        """Files what was found since the last look under the test; answers the checker's newest account of memory."""
        item.stash[KEY].findings += self._lines.new(memory)
        return self._lines.span

    def _after(self, item, phase, outcome):
        """A finding of this phase that nobody expects fails it. The fixture may have taken some already."""
        record = item.stash[KEY]
        self.take(item)
        new, record.seen = record.findings[record.seen:], len(record.findings)
        expected = [each for each in new if any(matches(rule, each) for rule in record.expect)]
        unexpected = [each for each in new if each not in expected]
        self._listed += [(item.nodeid, each) for each in unexpected]
        if not self._fails:
            return
        if expected:
            self._lines.tell_expected(expected)
        wrong = [each for each in unexpected if each.severity in self._levels]
        if not wrong:
            return
        text = "\n\n".join(each.text() for each in wrong)
        if outcome.excinfo is None or issubclass(outcome.excinfo[0], pytest.skip.Exception):
            outcome.force_exception(failure(f"the checker found what {item.nodeid} must not do\n{text}"))
        else:  # it has failed already: both are shown
            item.add_report_section(phase, "npu-check", text)

    def _require_expected(self, item, outcome):
        record = item.stash[KEY]
        missing = [rule for rule in record.expect if not any(matches(rule, each) for each in record.findings)]
        if not missing:
            return
        found = ", ".join(sorted({each.rule for each in record.findings})) or "nothing"
        outcome.force_exception(failure(f"npu_check expects {', '.join(missing)}, and the checker found {found} in this test"))

    def pytest_sessionfinish(self, session):
        self._outside += self._lines.new()
        wrong = any(each.severity in self._levels for each in self._outside)
        if self._fails and wrong and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        listed = [("outside of tests", each) for each in self._outside] + self._listed
        if listed:
            terminalreporter.section("npu-check")
        for where, each in listed:
            terminalreporter.line(_lines.visible(f"{each.severity} {each.rule} {where}: {each.message}"))
        for each in self._outside:
            terminalreporter.line(each.text())
        if self._lines.unreadable:
            terminalreporter.line(f"npu-check: {self._lines.unreadable} line(s) of the checker could not be read; is the disk full?")
        if self._lines.untold:
            terminalreporter.line(f"npu-check: the command will take expected findings for errors, because it could not be told: {self._lines.untold}")


class Block(dict):
    """A block of device memory; what it has is read as block["bytes"] or block.bytes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a block has {', '.join(self)}; no {name}") from None


class Findings:
    """What the checker knows of the test that runs, up to now."""

    def __init__(self, checked, item):
        self._checked = checked
        self._item = item
        _checker.begin()
        self._before = self._devices("live")

    @property
    def findings(self):
        """Of the test, its fixtures included: objects with rule, severity, message, stacks, objects, fingerprint, count, text()."""
        self._checked.take(self._item)
        return list(self._item.stash[KEY].findings)

    @property
    def rules(self):
        return sorted({each.rule for each in self.findings})

    @property
    def blocks(self):
        """Blocks of device memory that were allocated since the fixture was made and are still there, the 50 largest first:
        each with number, address, bytes, device and frames."""
        return [Block(each) for each in self._span().get("blocks", [])]

    @property
    def live_blocks(self):
        """How many such blocks there are."""
        return self._span().get("live_blocks", 0)

    def live_bytes(self, device=0):
        """Bytes in use now, less those in use when the fixture was made."""
        return self._devices("live").get(device, 0) - self._before.get(device, 0)

    def peak_bytes(self, device=0):
        """The most that was in use at once since then."""
        return self._devices("peak").get(device, 0)

    def _span(self):
        return self._checked.take(self._item, memory=True)

    def _devices(self, key):
        return {row["device"]: row[key] for row in self._span().get("devices", [])}


@pytest.fixture
def npu_findings(request):
    """Findings and device memory of this test. Needs the checker, but not --npu-check."""
    checked = request.config.pluginmanager.get_plugin("millpond_checked")
    if checked is None:
        raise failure(f"npu_findings: {why_not_checked(os.environ)}")
    return Findings(checked, request.node)


class FailAllocations:
    """Makes allocations of the test's process fail: device, physical, pool and pinned memory that the program asks the runtime for."""

    def __init__(self):
        try:
            self._library = ctypes.CDLL("libmillpond.so")
        except OSError as error:
            raise failure(f"npu_fail_allocations: the runtime cannot be loaded ({error}); start pytest by ./millpond run or check, or after "
                          "sourcing set_env.sh") from None
        self._library.millpond_failed_allocations.restype = ctypes.c_uint64
        self._failed = None  # of a time that is over

    def __call__(self, every=1, skip=0):
        """From now on every nth request fails, the first `skip` not counted."""
        if not isinstance(every, int) or not isinstance(skip, int) or every < 1 or skip < 0:
            raise ValueError(f"npu_fail_allocations(every={every!r}, skip={skip!r}): every is 1 or more, skip 0 or more")
        self._library.millpond_fail_allocations(ctypes.c_uint64(every), ctypes.c_uint64(skip))
        self._failed = None

    def stop(self):
        """None fails any more."""
        self._failed = self.failed
        self._library.millpond_fail_allocations(ctypes.c_uint64(0), ctypes.c_uint64(0))

    @property
    def failed(self):
        """How many requests have failed since the last call of the fixture, until stop()."""
        return self._library.millpond_failed_allocations() if self._failed is None else self._failed


@pytest.fixture
def npu_fail_allocations():
    """npu_fail_allocations(every=3) fails every third allocation until the test ends. Needs no checker."""
    failing = FailAllocations()
    yield failing
    failing.stop()

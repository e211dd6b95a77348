# SPDX-License-Identifier: Apache-2.0
"""Reads the JUnit files that ctest and pytest write, into counts and the names of what failed or was skipped."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field


@dataclass
class Result:
    passed: int = 0
    failed: list = field(default_factory=list)  # (name, what it printed)
    skipped: list = field(default_factory=list)  # (name, reason)
    unsteady: list = field(default_factory=list)  # (name, what it printed): failed once, passed alone; counted as passed

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.unsteady += other.unsteady


def read(path, label):
    result = Result()
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{label}: {_name(case)}"
        bad = [case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None]
        skip = case.find("skipped")
        if bad or case.get("status") == "fail":
            result.failed.append((name, _output(case, bad)))
        elif skip is not None or case.get("status") in ("disabled", "notrun"):
            result.skipped.append((name, _reason(case, skip)))
        else:
            result.passed += 1
    return result


def _name(case):
    # ctest repeats the name as classname; pytest puts the module there.
    name, owner = case.get("name", "?"), case.get("classname", "")
    return name if owner in ("", name) else f"{owner}::{name}"


def _output(case, bad):
    # pytest has the details in the failure's text; ctest leaves it in system-out and puts a bare "Failed" here.
    told = [element.text for element in bad if element.text and element.text.strip()]
    parts = told or [element.get("message") or "" for element in bad] + [case.findtext("system-out") or ""]
    return "\n".join(part.strip() for part in parts if part.strip())


def _reason(case, skip):
    reason = (skip.get("message") if skip is not None else None) or case.get("status") or "no reason given"
    if reason in ("SKIP_REGULAR_EXPRESSION_MATCHED", "SKIP_RETURN_CODE=77", "run", "notrun"):
        said = (case.findtext("system-out") or "").strip().splitlines()
        # gtest prints "file:line: Skipped" and then the reason on the next line.
        for place, line in enumerate(said):
            if line.endswith("Skipped") and place + 1 < len(said):
                return said[place + 1].strip()
    return reason

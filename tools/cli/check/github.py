# SPDX-License-Identifier: Apache-2.0
"""--github: a line per finding that a GitHub job shows beside the code, errors first because it shows ten of each kind."""

import re

from . import model, places, rules

KINDS = {"error": "error", "warning": "warning", "advice": "notice"}
CONTROL = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def render(run, base):
    """Begins with a line end: the program's own output may not have had its last one."""
    table = rules.by_id()
    ordered = sorted(run.findings, key=lambda finding: model.SEVERITIES.index(finding.severity))
    return "".join(f"\n{_line(finding, table, base)}" for finding in ordered) + ("\n" if ordered else "")


def _line(finding, table, base):
    (_, frame), (other, other_frame) = places.of(finding, base)
    rule = table.get(finding.rule)
    properties = {}
    if frame:
        properties = {"file": places.relative(frame.file, base) or frame.file, "line": str(frame.line)}
    properties["title"] = f"{finding.rule} {rule.name if rule else ''}".strip()
    message = f"{finding.message}\n{finding.advice}".strip()
    if other_frame:
        message += f"\n{other.title}: {other_frame.place}"
    listed = ",".join(f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items())
    return f"::{KINDS[finding.severity]} {listed}::{_escaped(message)}"


def _escaped(text):
    """A log is shown on terminals too: nothing may move the cursor, and the ends of lines are said, not made."""
    return CONTROL.sub("\ufffd", text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

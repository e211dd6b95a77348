# SPDX-License-Identifier: Apache-2.0
"""Suppression files: judged before the program starts, and written from what was found. The process applies them.

One suppression per line, # and what follows it is a comment: a rule (MP304, or * for any), then conditions that must all hold in one frame of the
finding (function=, file=, module=, each a pattern with * and ?), or fingerprint= and 16 hexadecimal digits.
"""

import os
import re
import stat
from pathlib import Path

import ui

from . import rules

KEYS = ("function", "file", "module", "fingerprint")
FORM = "RULE [function=PATTERN] [file=PATTERN] [module=PATTERN], or RULE fingerprint=HEX"
FINGERPRINT = re.compile(r"[0-9a-f]{16}")


def read(path):
    """{number: line} of the suppressions in a file; a Stop names the line that is wrong."""
    try:
        if not Path(path).is_file() and not stat.S_ISDIR(os.stat(path).st_mode):
            raise ui.Stop(f"suppression file '{path}' is not a regular file; the program's processes read it too. Nothing was started", code=2)
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is not UTF-8 ({error.reason} at byte {error.start})"
        raise ui.Stop(f"suppression file '{path}' cannot be read: {reason}; nothing was started", code=2) from None
    ids = [rule.id for rule in rules.known()]
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.partition("#")[0].strip()
        reason = complaint(line, ids) if line else ""
        if reason:
            raise ui.Stop(f"suppression file '{path}', line {number}: {reason}; a line is {FORM}. Nothing was started", code=2)
        if line:
            found[number] = line
    return found


def complaint(line, ids):
    """What is wrong with a line, or nothing."""
    rule, *conditions = line.split()
    if rule != "*" and rule not in ids:
        return f"no rule '{rule}' (./millpond check --rules lists them)"
    keys = []
    for condition in conditions:
        key, equals, value = condition.partition("=")
        if not equals or not value or key not in KEYS:
            return f"'{condition}' is not a condition; known: {', '.join(f'{key}=' for key in KEYS)}"
        if key in keys:
            return f"'{key}=' stands twice"
        if key == "fingerprint" and not FINGERPRINT.fullmatch(value):
            return f"'{value}' is not a fingerprint: 16 hexadecimal digits in small letters"
        keys.append(key)
    if "fingerprint" in keys and len(keys) > 1:
        return "a fingerprint names one finding; no other condition goes with it"
    if rule == "*" and not keys:
        return "'*' alone would hide everything; name a rule, a function, a file, a module or a fingerprint"
    return ""


def unused(suppressions, run):
    return {number: line for number, line in suppressions.items() if not run.suppressed.get(number)}


def added(path, findings):
    """The text of a suppression file with lines for the findings behind what it has already."""
    text = Path(path).read_text(encoding="utf-8", errors="replace") if Path(path).is_file() else ""
    if text and not text.endswith("\n"):
        text += "\n"
    for finding in findings:
        line = f"{finding.rule} fingerprint={finding.fingerprint}"
        if not complaint(line, [finding.rule]) and line not in text.split("\n"):
            comment = " ".join(finding.message.split())
            text += f"# {comment}\n{line}\n"
    return text

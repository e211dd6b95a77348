# SPDX-License-Identifier: Apache-2.0
"""The rules, as the command line speaks of them: a list of ids, names and patterns, and the table of --rules."""

import argparse
import fnmatch
import functools
import re
import sys

from layout import data

sys.path.append(str(data("tools/rule_table.py").parent))
import rule_table  # the generators use it too

PATTERN = re.compile(r"(?:MP\d*)?\*")


@functools.cache
def known():
    return rule_table.load(data("src/check/rules.yaml"))


def by_id():
    return {rule.id: rule for rule in known()}


def parse_list(text):
    """MP304, MP3* or free-in-flight, with commas; as the process reads it: ids and patterns."""
    table = known()
    chosen = []
    for word in (part.strip() for part in text.split(",")):
        matching = [rule.id for rule in table if rule.name == word or rule.id == word.upper()]
        if not matching and PATTERN.fullmatch(word.upper()) and fnmatch.filter((rule.id for rule in table), word.upper()):
            matching = [word.upper()]
        if not matching:
            listed = ", ".join(f"{rule.id} {rule.name}" for rule in table)
            raise argparse.ArgumentTypeError(f"no rule '{word}'; allowed: ids, names, or MP and digits before a * (MP3*), with commas. Known: {listed}")
        chosen += matching
    return ",".join(dict.fromkeys(chosen))


def expand(listed):
    """The ids that a list stands for, as parse_list gives it."""
    words = [word for word in listed.split(",") if word]
    return {rule.id for rule in known() if any(fnmatch.fnmatchcase(rule.id, word) for word in words)} if words else set()


def printed():
    """The table of --rules."""
    lines = []
    for rule in known():
        asked = {"asked": "  (off until --also)", "later": "  (not looked for)"}.get(rule.on, "")
        lines.append(f"{rule.id}  {rule.severity:8} {rule.name}{asked}\n       {rule.rule}\n       {rule.source}; {', '.join(rule.doors)}\n       {rule.do}"
                     + (f"\n       Not looked for: {rule.why}." if rule.why else ""))
    return "\n".join(lines) + "\n"

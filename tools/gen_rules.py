#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what is made of src/check/rules.yaml: docs/rules.md, and the table that src/check is compiled with.

    gen_rules.py [--check] [--doc FILE]      docs/rules.md, or FILE
    gen_rules.py --header FILE               MP_RULE(id, name, severity, rule, page, advice, on) lines; the page of a derived rule is ""

--check writes nothing and exits 1 when the page is not current.
"""

import argparse
import sys
from pathlib import Path

import rule_table

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "1": "Registering an allocator", "2": "What an allocator's functions keep to", "3": "When memory may go", "4": "torch_npu",
    "5": "Memory and copies", "6": "Streams and events", "7": "Virtual memory and sharing", "8": "Start and end"}
TITLE = """# Rules of the checker

Made by tools/gen_rules.py from src/check/rules.yaml; do not edit. [check.md](check.md) says how to run the checker.

- **error**: the documents forbid it, or it corrupts memory. Errors alone make `./millpond check` exit with 66.
- **warning**: it works here and fails elsewhere, or something was forgotten.
- **advice**: it costs time, or has no effect.

The words are ours; the page that states the rule is named by its title, and a rule that no page states says what it was derived from.
Rules marked *asked* are off until `--also` turns them on: they cost time, or need someone who knows the program.
"""
LATER = "Rules marked *not looked for* are known, and say why the checker leaves them alone.\n"


def render_doc(rules):
    page = TITLE + (LATER if any(rule.on == "later" for rule in rules) else "")
    for group, title in GROUPS.items():
        page += f"\n## {title}\n\n| rule | severity | what is asked for | what to do | doors |\n|---|---|---|---|---|\n"
        for rule in (rule for rule in rules if rule.id[2] == group):
            asked = {"asked": " *asked*", "later": " *not looked for*"}.get(rule.on, "")
            source = rule.source if rule.page else f"*{rule.source}*"
            page += (f"| <a id=\"{rule.id}\"></a>{rule.id}{asked}<br>`{rule.name}` | {rule.severity} | {rule.rule}<br>{source} | "
                     f"{rule.do}{f'<br>*Not looked for*: {rule.why}.' if rule.why else ''} | {', '.join(rule.doors)} |\n")
    return page


def quoted(text):
    """A C++ string literal; the reader lets only printable ASCII through."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def render_header(rules):
    lines = ["// Made by tools/gen_rules.py from src/check/rules.yaml.",
             "// MP_RULE(id, name, severity, rule, page, advice, on): the page of a derived rule is empty."]
    for rule in rules:
        lines.append(f"MP_RULE({rule.id}, {quoted(rule.name)}, k{rule.severity.capitalize()}, {quoted(rule.rule)}, "
                     f"{quoted(rule.page)}, {quoted(rule.do)}, k{rule.on.capitalize()})")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is not current")
    parser.add_argument("--doc", type=Path, metavar="FILE", default=ROOT / "docs" / "rules.md")
    parser.add_argument("--header", type=Path, metavar="FILE", help="write the table for C++ instead of the page")
    arguments = parser.parse_args()
    try:
        rules = rule_table.load()
    except rule_table.BadTable as error:
        sys.exit(str(error))
    path, text = (arguments.header, render_header(rules)) if arguments.header else (arguments.doc, render_doc(rules))
    if not arguments.check:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return 0
    print(f"{path.name} is not current; run: python3 tools/gen_rules.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())

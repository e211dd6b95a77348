# SPDX-License-Identifier: Apache-2.0
"""A page of docs/ that a tool makes from the results of a run: written, or compared with --check."""

import argparse
import json
from pathlib import Path


def main(page, render, description, made_by):
    """`render` takes the results; `made_by` is what writes the file that the tool reads. The exit status."""
    shown = f"docs/{page.name}"
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help=f"write nothing; exit 1 when {shown} is not current")
    parser.add_argument("json", metavar="FILE", help=f"what {made_by} --json wrote")
    options = parser.parse_args()
    text = render(json.loads(Path(options.json).read_text()))
    if not options.check:
        page.write_text(text)
        return 0
    old = page.read_text().splitlines() if page.exists() else []
    new = text.splitlines()
    if old == new:
        return 0
    for line in sorted(set(old) ^ set(new)):
        print(("- " if line in old else "+ ") + line[:200])
    print(f"{shown} is not what the run gave; tools/{parser.prog} {options.json} writes it anew")
    return 1


def write_or_check(page, text, arguments, tool):
    """For pages made from the tree alone: the exit status, 1 where `--check` finds another text."""
    if "--check" not in arguments:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.exists() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"docs/{page.name} is not current; run tools/{tool}")
    return 1

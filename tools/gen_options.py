#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/options.md from src/base/options.def, the one table of settings.

    gen_options.py [--check] [--root FOLDER]

--check writes nothing and exits 1 when the file is not current.
"""

import argparse
import re
import sys
from pathlib import Path

ROW = re.compile(r'^MP_OPTION\((\w+),\s*"([^"]*)",\s*"([^"]*)",\s*"((?:[^"\\]|\\.)*)"\)', re.M)
TITLE = """# Settings

Made by tools/gen_options.py from src/base/options.def; do not edit. Read once, at the first use of the runtime.

| variable | default | meaning |
|---|---|---|
"""


def render(root):
    rows = ROW.findall((root / "src" / "base" / "options.def").read_text())
    body = "".join(f"| `{variable}` | {f'`{default}`' if default else '-'} | {text} |\n"
                   for _, variable, default, text in rows)
    return TITLE + body


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    path = arguments.root / "docs" / "options.md"
    text = render(arguments.root)
    if arguments.check:
        if not path.exists() or path.read_text() != text:
            print("docs/options.md is not current; run: python3 tools/gen_options.py")
            return 1
        return 0
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

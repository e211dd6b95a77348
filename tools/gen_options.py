#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/options.md from src/base/options.def, the table in docs/pool.md from src/pool/settings.def, and
docs/options_cann.md from src/base/cann_options.def.

    gen_options.py [--check] [--root FOLDER]

--check writes nothing and exits 1 when a file is not current.
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

POOL_ROW = re.compile(r'^MP_POOL_SETTING\((\w+),\s*"([^"]*)",\s*([^,]+),\s*([^,]+),\s*([^,]+),\s*"((?:[^"\\]|\\.)*)"\)', re.M)
POOL_TITLE = """| name | variable | default | allowed | meaning |
|---|---|---|---|---|
"""
POOL_BEGIN = "<!-- Made by tools/gen_options.py from src/pool/settings.def; do not edit. -->\n"
POOL_END = "<!-- The end of the table. -->\n"
SHIFT = re.compile(r"size_t\{(\d+)\}\s*<<\s*(\d+)")


def render_options(root):
    rows = ROW.findall((root / "src" / "base" / "options.def").read_text())
    body = "".join(f"| `{variable}` | {f'`{default}`' if default else '-'} | {text} |\n"
                   for _, variable, default, text in rows)
    return TITLE + body


def as_written(value):
    """A value of the table as a user would write it: size_t{20} << 20 is 20Mi."""
    value = value.strip()
    if value == "SIZE_MAX":
        return "unlimited"
    shift = SHIFT.fullmatch(value)
    if not shift:
        return str(int(value))
    number, power = int(shift[1]), int(shift[2])
    return f"{number << power % 10}{['', 'Ki', 'Mi', 'Gi', 'Ti'][power // 10]}"


def render_pool(root):
    """The page with its table made anew; the rest of it is written by hand."""
    table = (root / "src" / "pool" / "settings.def").read_text()
    rows = POOL_ROW.findall(table)
    if len(rows) != len(re.findall(r"^MP_POOL_SETTING\(", table, re.M)):
        raise SystemExit("src/pool/settings.def has a row that this script cannot read; one line each, as the others")
    body = "".join(f"| `{field}` | `{variable}` | `{as_written(default)}` | {as_written(least)} to {as_written(most)} | {text} |\n"
                   for field, variable, default, least, most, text in rows)
    page = (root / "docs" / "pool.md").read_text()
    before, begin, rest = page.partition(POOL_BEGIN)
    _, end, after = rest.partition(POOL_END)
    if not begin or not end:
        raise SystemExit(f"docs/pool.md has lost the lines around its table: {POOL_BEGIN.strip()} and {POOL_END.strip()}")
    return before + begin + POOL_TITLE + body + end + after


CANN_REASON = re.compile(r'^MP_CANN_REASON\((\w+), "((?:[^"\\]|\\.)*)"\)$', re.M)
CANN_ROW = re.compile(r'^MP_CANN_OPTION\((\w+), "([^"]+)", "([^"]*)", (\w+), "([^"]*)", (?:"((?:[^"\\]|\\.)*)"|(\w+))\)$', re.M)
CANN_TITLE = """# CANN's options

Made by tools/gen_options.py from src/base/cann_options.def; do not edit. Every option that CANN names, at every door, and what is done with it:

- **honoured**: done as asked;
- **harmless**: nothing is to be done, and a client cannot notice; a line of the log (warnings, module ASCENDCL) says so once per process;
- **told**: not done, and a client could notice; a line on stderr says so once per process;
- **refused**: the call fails and names the option and the reason.

An empty value asks for nothing at any door. An option that is not here is refused where CANN refuses it (builds, parsers, atc); elsewhere a warning names it, with the nearest
name that there is. What torch_npu and torchair set by themselves is never refused.
"""
CANN_DOORS = {
    "Graph": "Graph engine: GEInitialize, sessions, graphs, aclgrphBuild*, parsers", "Atc": "atc", "Init": "aclInit's file",
    "Model": "aclmdlSetConfigOpt", "ModelRun": "aclmdlSetExecConfigOpt", "Compile": "aclSetCompileopt",
    "Parameter": "aclrtSetSysParamOpt, aclrtCtxSetSysParamOpt", "Limit": "aclrtDeviceSetLimit", "Stream": "aclrtSetStreamAttribute",
    "Comm": "HcclCommConfig"}


def cann_rows(text):
    """(door, key, values, treatment, quiet, reason) of each row."""
    reasons = dict(CANN_REASON.findall(text))
    rows = [(*row[:5], row[5] if not row[6] else reasons[row[6]]) for row in CANN_ROW.findall(text)]
    if len(rows) != len(re.findall(r"^MP_CANN_OPTION\(", text, re.M)):
        raise SystemExit("src/base/cann_options.def has a row that this script cannot read; one line each, as the others")
    return rows


def render_cann(root):
    rows = cann_rows((root / "src" / "base" / "cann_options.def").read_text())
    page = CANN_TITLE
    for door, title in CANN_DOORS.items():
        page += f"\n## {title}\n| option | takes | done | how, or why |\n|---|---|---|---|\n"
        for _, key, values, treatment, quiet, reason in (row for row in rows if row[0] == door):
            takes = ", ".join(value or "nothing" for value in values.split("|")) if values else "-"
            done = treatment.lower() + (f", but for {', '.join(quiet.split('|'))}" if quiet else "")
            text = reason.replace('\\"', '"').replace("|", "\\|")
            page += f"| `{key}` | {takes} | {done} | {text} |\n"
    return page


PAGES = {"options.md": render_options, "options_cann.md": render_cann, "pool.md": render_pool}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    stale = 0
    for name, render in PAGES.items():
        path = arguments.root / "docs" / name
        text = render(arguments.root)
        if not arguments.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"docs/{name} is not current; run: python3 tools/gen_options.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())

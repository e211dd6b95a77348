#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/aclnn.md: which of CANN's public aclnn functions and headers are here.

    tools/gen_aclnn_doc.py [--check]

tests/abi/aclnn_public.tsv has what is public, src/ops/table and abi/libnnopbase.exports what is here, tests/abi/aclnn_not_here.tsv why the rest is not. --check writes nothing and exits 1 when the page is not current.
"""

import sys
from pathlib import Path

import doc_page
import gen_ops

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "aclnn.md"
TABLE = ROOT / "src" / "ops" / "table"
TITLE = """# aclnn functions and headers

Made by tools/gen_aclnn_doc.py; do not edit.

What CANN's public operator repositories (ops-math, ops-nn, ops-cv, ops-transformer) document or declare outside of their `experimental` folders, and what the
torch_npu wheel of requirements-torch.txt names, against the operator table. A function that is not here is not exported: a program that asks for it by name
learns so, and torch_npu takes another way or says which function is missing. What an exported one refuses, it refuses by name ([compat.md](compat.md)). Where
no reason stands beside a function that is not here, nobody has written it yet.

"""


def public():
    """(function, header or "", documented, in the wheel)"""
    for line in (ROOT / "tests" / "abi" / "aclnn_public.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, header, who = line.split("\t")
            yield name, header.strip("-"), "d" in who, "w" in who


def homes():
    lines = (TABLE / "headers.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if line and line[0] != "#")


def by_hand():
    """The two-phase functions of libnnopbase, which are no rows."""
    names = set((ROOT / "abi" / "libnnopbase.exports").read_text(encoding="utf-8").split())
    return {name for name in names if name.startswith("aclnn") and f"{name}GetWorkspaceSize" in names}


def here():
    """{function: its header} of what libopapi and libnnopbase export."""
    named = homes()
    ours = {row.name: gen_ops.header_of(row, named) for row in gen_ops.read_table(TABLE) if row.aclnn}
    return ours | {name: header for name, header, _, _ in public() if name in by_hand()}


def reasons(ours):
    """{function: why it is not here}."""
    lines = (ROOT / "tests" / "abi" / "aclnn_not_here.tsv").read_text(encoding="utf-8").splitlines()
    told = dict(line.split("\t") for line in lines if line and line[0] != "#")
    if stale := sorted(name for name in told if name in ours):
        sys.exit(f"gen_aclnn_doc: {stale[0]} is here: take it out of tests/abi/aclnn_not_here.tsv")
    return told


def render():
    ours, listed = here(), list(public())
    why = reasons(ours)
    headers = {}
    for name, header, _, _ in listed:
        if header:
            headers.setdefault(header, []).append(name)
    documented = [name for name, _, told, _ in listed if told]
    wheel = [name for name, _, _, used in listed if used]
    whole = [header for header, names in headers.items() if all(name in ours for name in names)]
    some = [header for header, names in headers.items() if any(name in ours for name in names)]
    lines = ["| | public | here |", "|---|---|---|",
             f"| functions of the repositories | {len(documented)} | {sum(name in ours for name in documented)} |",
             f"| functions that the wheel names | {len(wheel)} | {sum(name in ours for name in wheel)} |",
             f"| headers | {len(headers)} | {len(some)}, {len(whole)} of them with every function |", "",
             "## Not here", "", "| function | header | the wheel names it | why |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {f'`{header}.h`' if header else ''} | {'yes' if used else ''} | {why.get(name, '')} |"
              for name, header, _, used in listed if name not in ours]
    lines += ["", "## Headers", "", "| header | functions | state |", "|---|---|---|"]
    for header, names in sorted(headers.items()):
        missing = [name for name in names if name not in ours]
        state = "whole" if not missing else "absent" if len(missing) == len(names) else "without " + ", ".join(f"`{name}`" for name in missing)
        lines.append(f"| `aclnnop/{header}.h` | {len(names)} | {state} |")
    return TITLE + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(doc_page.write_or_check(PAGE, render(), sys.argv[1:], "gen_aclnn_doc.py"))

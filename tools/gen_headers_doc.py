#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/headers.md: which of the headers of CANN's public packages are here.

    tools/gen_headers_doc.py [--check]

tests/abi/cann_headers.tsv has what is public, include/ what is here. --check writes nothing and exits 1 when the page is not current.
"""

import sys
from pathlib import Path

import doc_page

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "headers.md"
TABLE = ROOT / "tests" / "abi" / "cann_headers.tsv"
# Why one is not here, by how its path begins; the first that fits.
REASONS = [
    ("acl/acl_rt_impl.h", "the runtime's own inside"),
    ("adxl/", "transfers between clusters' caches: another library"),
    ("llm_datadist/", "transfers between clusters' caches: another library"),
    ("asc/", "definitions of operators for the card's compiler"),
    ("base/", "frameworks of operators for the card's compiler"),
    ("ccu/", "the card's communication unit"),
    ("exe_graph/runtime/", "what operators of the user's own see in CANN's executor"),
    ("ge/fusion/", "passes of the user's own in CANN's compiler"),
    ("ge/ge_utils.h", "questions to the card's compiler"),
    ("ge/ge_prof.h", "an older profiling interface; acl_prof.h is here"),
    ("graph/", "operators of the user's own"),
    ("hccl/", "parts of communicators for kernels on the card"),
    ("hcomm_", "parts of communicators for kernels on the card"),
    ("register/", "registration of operators and passes for the card's compiler"),
    ("ge_common/", "under `ge/` here"),
]
TITLE = """# Headers of CANN's packages

Made by tools/gen_headers_doc.py; do not edit.

What the public repositories of CANN's packages install for programs, against `include/`; [aclnn.md](aclnn.md) has the operators' headers. A program that includes one that is not
here does not compile, and sees which.

"""


def public():
    """(header, package)"""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if not line.startswith("#")][1:]


def is_here(header):
    return any((ROOT / "include" / folder / header).exists() for folder in ("", "external"))


def reason(header):
    return next((why for begin, why in REASONS if header.startswith(begin)), None)


def render():
    listed = public()
    packages = list(dict.fromkeys(package for _, package in listed))
    lines = ["| package | public | here |", "|---|---|---|"]
    for package in packages:
        own = [header for header, of in listed if of == package]
        lines.append(f"| {package} | {len(own)} | {sum(map(is_here, own))} |")
    lines += ["", "## Here", "", ", ".join(f"`{header}`" for header, _ in listed if is_here(header)) + ".", "", "## Not here", "",
              "| why | headers |", "|---|---|"]
    missing = {}
    for header, _ in listed:
        if not is_here(header):
            missing.setdefault(reason(header), []).append(header)
    lines += [f"| {why} | {', '.join(f'`{header}`' for header in headers)} |" for why, headers in missing.items()]
    return TITLE + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(doc_page.write_or_check(PAGE, render(), sys.argv[1:], "gen_headers_doc.py"))

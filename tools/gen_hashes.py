#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the hashes of the pinned packages into requirements*.txt: after a pin was changed, with a network.

    .venv/bin/python tools/gen_hashes.py [FILE ...]

Wheels alone are listed (nothing of a package runs while it is installed), for Linux on x86-64 and the Pythons that torch_npu has
wheels for. They are those of the index that pip uses; torch's are PyTorch's CPU builds, which another index has: packaging/torch-cpu.txt.
"""

import html.parser
import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^([\w.-]+)==([^\s\\]+)", re.M)
TAGS = re.compile(r"(py3\d*|py2\.py3|cp3(11|12|13|14)|cp3\d+-abi3)-.*(none-any|manylinux[\w.]*x86_64[\w.]*)\.whl$")
MODES = "--require-hashes\n--only-binary :all:\n"


class _Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if tag == "a" and name == "href"]


def listed(name):
    """{file name: hash} of a project at pip's own index."""
    from pip._internal.models.index import PyPI  # the address is pip's to know
    page = f"{PyPI.simple_url}/{re.sub(r'[-_.]+', '-', name).lower()}/"
    with urllib.request.urlopen(page, timeout=60) as answer:
        links = _Links()
        links.feed(answer.read().decode())
    parts = [urllib.parse.urlsplit(address) for address in links.addresses]
    return {urllib.parse.unquote(part.path.rpartition("/")[2]): part.fragment.partition("=")[2] for part in parts
            if part.fragment.startswith("sha256=")}


def own_builds():
    """{(name, version): hashes} of packaging/torch-cpu.txt."""
    rows = [line.split() for line in (ROOT / "packaging" / "torch-cpu.txt").read_text().splitlines() if line and line[0] != "#"]
    found = {}
    for digest, wheel in rows:
        name, version = wheel.split("-")[:2]
        found.setdefault((name, version.partition("+")[0]), []).append(digest)
    return found


def hashes(name, version):
    own = own_builds().get((name, version))
    if own:
        return sorted(own)
    stem = re.compile(rf"{re.sub(r'[-_.]+', '[-_.]+', name)}-{re.escape(version)}-", re.I)
    return sorted({digest for wheel, digest in listed(name).items() if stem.match(wheel) and TAGS.search(wheel)})


def hashed(text):
    comments = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
    entries = []
    for name, version in PIN.findall(text):
        found = hashes(name, version)
        if not found:
            raise SystemExit(f"{name}=={version}: the index has no wheel of it for Linux on x86-64")
        entries.append(" \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{digest}" for digest in found)]))
    return comments + MODES + "\n".join(entries) + "\n"


def main(names):
    for path in [Path(name) for name in names] or sorted(ROOT.glob("requirements*.txt")):
        path.write_text(hashed(path.read_text()))
        print(f"{path.name}: written")


if __name__ == "__main__":
    main(sys.argv[1:])

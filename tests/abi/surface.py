# SPDX-License-Identifier: Apache-2.0
"""The public C surface, read from the headers and from the built libraries.

    surface.py LIBDIR    rewrites abi/*.exports from the libraries in LIBDIR, for a change that is meant
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ABI = ROOT / "abi"
HEADER_FOLDERS = ("acl", "aclnn", "hccl")
DECLARATION = re.compile(r"^ACL_FUNC_VISIBILITY\s[^;(]*?(\w+)\s*\(", re.MULTILINE)


def headers(include):
    """The C headers below an include folder, as clients spell them."""
    return sorted(path.relative_to(include).as_posix() for folder in HEADER_FOLDERS for path in (include / folder).rglob("*.h"))


def declared(include):
    """{function: header}"""
    return {name: header for header in headers(include) for name in DECLARATION.findall((include / header).read_text())}


def exported(library):
    """Names that a shared library defines for others."""
    listing = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", str(library)], capture_output=True,
                             text=True, check=True)
    names = [line.split()[0].split("@")[0] for line in listing.stdout.splitlines() if line.strip()]
    return sorted(name for name in names if name not in ("_init", "_fini", "_edata", "_end", "__bss_start"))


def dynamic_section(library):
    """{tag: [value, ...]} for SONAME, NEEDED and FILTER."""
    listing = subprocess.run(["readelf", "-d", "-W", str(library)], capture_output=True, text=True, check=True)
    found = {"SONAME": [], "NEEDED": [], "FILTER": []}
    for tag, value in re.findall(r"\((SONAME|NEEDED|FILTER)\)[^\[]*\[([^\]]*)\]", listing.stdout):
        found[tag].append(value)
    return found


def recorded():
    """{library file: names in abi/<library>.exports}"""
    return {f"{path.stem}.so": path.read_text().split() for path in sorted(ABI.glob("*.exports"))}


def refused():
    """Rows of abi/refused.txt: (function, library, answer)."""
    lines = (ABI / "refused.txt").read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


def main():
    for library in recorded():
        names = exported(Path(sys.argv[1]) / library)
        (ABI / f"{Path(library).stem}.exports").write_text("\n".join(names) + "\n")
        print(f"{library}: {len(names)}")


if __name__ == "__main__":
    main()

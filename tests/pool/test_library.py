# SPDX-License-Identifier: Apache-2.0
"""libmillpond_pool.so must load beside the vendor's libascendcl: what it links and exports."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("surface", Path(__file__).parents[1] / "abi" / "surface.py")
surface = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(surface)

# Static TLS that the loader reserves for dlopen; a Python process with torch has little left.
STATIC_TLS_BYTES = 256


@pytest.fixture(scope="module")
def library(ascend):
    return ascend / "lib64" / "libmillpond_pool.so"


def test_needs_libascendcl_and_the_system_alone(library):
    needed = set(surface.dynamic_section(library)["NEEDED"])
    assert "libascendcl.so" in needed
    assert not [name for name in needed if "millpond" in name]


def test_uses_only_what_the_acl_headers_declare(library, ascend):
    listing = subprocess.run(["nm", "-D", "--undefined-only", "--format=posix", str(library)], capture_output=True,
                             text=True, check=True)
    used = {line.split()[0].split("@")[0] for line in listing.stdout.splitlines() if line.strip()}
    assert not [name for name in used if "millpond" in name]
    ours = {name for name in used if name.startswith(("acl", "rt", "Hccl", "_ZN2ge"))}
    assert len(ours) > 20
    assert sorted(ours - set(surface.declared(ascend / "include"))) == []


def test_offers_what_its_header_declares(library, ascend):
    header = (ascend / "include" / "millpond" / "pool.h").read_text()
    declared = set(re.findall(r"^MILLPOND_POOL_API\s[^;(]*?(\w+)\s*\(", header, re.MULTILINE))
    assert len(declared) > 25
    assert set(surface.exported(library)) == declared


def test_header_is_c99(ascend, tmp_path):
    source = tmp_path / "header.c"
    source.write_text('#include "millpond/pool.h"\nint unit;\n')
    subprocess.run(["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ascend}/include",
                    str(source)], check=True)


def test_can_be_opened_late(library):
    segments = subprocess.run(["readelf", "-lW", str(library)], capture_output=True, text=True, check=True).stdout
    for line in segments.splitlines():
        if line.split()[:1] == ["TLS"]:
            assert int(line.split()[5], 16) <= STATIC_TLS_BYTES, line

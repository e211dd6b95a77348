# SPDX-License-Identifier: Apache-2.0
"""C++ functions that programs compiled against CANN call, by mangled name, in the library where they look for them.

Each abi/ge/*.exports names its library in the first line. Functions that pass std::string stand there twice: once as
_GLIBCXX_USE_CXX11_ABI=1 spells them and once as 0 does. A library may export more: classes bring vtables and the like.
"""

import importlib.util
import subprocess
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("surface", Path(__file__).with_name("surface.py"))
surface = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(surface)

LISTS = sorted((surface.ABI / "ge").glob("*.exports"))


def read(path):
    head, *names = path.read_text().split("\n")
    return head.removeprefix("# ").strip(), [name for name in names if name]


def test_there_are_lists():
    assert LISTS


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_listed_function_is_exported(path, ascend):
    library, names = read(path)
    missing = sorted(set(names) - set(surface.exported(ascend / "lib64" / library)))
    assert not missing, f"{library} does not export {missing}"


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_strings_are_passed_in_both_abis(path):
    _, names = read(path)
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n")
    new = [name for name in plain if "std::__cxx11::" in name or "[abi:cxx11]" in name]
    # What only returns a string has no trace of it in the old spelling but for its twin's. Some c++filt write the alias out.
    old = [name for name in plain if "std::string" in name or "std::basic_string<" in name or name.replace("(", "[abi:cxx11](", 1) in new]
    assert len(new) == len(old), f"{len(new)} functions of the new string ABI, {len(old)} of the old one"

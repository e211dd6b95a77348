# SPDX-License-Identifier: Apache-2.0
"""Where things are. In the tree every path hangs off the folder that holds ./millpond; installed (in a wheel, or in build/ascend)
off the tree of libraries that holds this file, and there is nothing to build. Both may stand anywhere."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
IN_TREE = HERE.parent.name == "tools"  # else <ascend>/share/millpond/cli
ROOT = HERE.parent.parent if IN_TREE else HERE.parent.parent.parent
BUILD = ROOT / "build"
VENV = ROOT / ".venv"
PACKAGING = ROOT / "packaging"
DEFAULT_SOC = "Ascend910B3"
# How the user calls us.
COMMAND = "./millpond" if IN_TREE else "millpond"


def _cache():
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "millpond"


def _installed_tree():
    """The tree itself; where its links are missing and cannot be made, a copy of links in the cache (installed.py)."""
    if os.path.lexists(ROOT / "devlib") or os.access(ROOT, os.W_OK):
        return ROOT
    return _cache() / "tree" / str(ROOT).strip("/").replace("/", "+")


ASCEND = BUILD / "ascend" if IN_TREE else _installed_tree()
# Where the files themselves are, whether or not somebody has made the links yet: for who only looks.
INSTALLED = BUILD / "ascend" if IN_TREE else ROOT
PROFILES = ROOT / "profiles" if IN_TREE else ROOT / "share" / "millpond" / "profiles"
STAMPS = BUILD / "stamp" if IN_TREE else _cache()
LOG = BUILD / "log" if IN_TREE else _cache() / "log"


def data(path):
    """A file of the sources that the command line reads too; the install has them all in one folder."""
    return ROOT / path if IN_TREE else HERE / "data" / Path(path).name


def build_dir(preset):
    return BUILD / preset


def known_socs():
    return sorted(path.stem for path in PROFILES.glob("*.ini"))

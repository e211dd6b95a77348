# SPDX-License-Identifier: Apache-2.0
"""Where things are. Every path hangs off the folder that holds ./millpond, so the tree may stand anywhere."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build"
ASCEND = BUILD / "ascend"
LOG = BUILD / "log"
STAMPS = BUILD / "stamp"
VENV = ROOT / ".venv"
PACKAGING = ROOT / "packaging"
PROFILES = ROOT / "profiles"
DEFAULT_SOC = "Ascend910B3"


def build_dir(preset):
    return BUILD / preset


def known_socs():
    return sorted(path.stem for path in PROFILES.glob("*.ini"))

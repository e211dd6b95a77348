# SPDX-License-Identifier: Apache-2.0
"""What every Python test may ask for: the tree's root, its files, and the installed tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SKIPPED_FOLDERS = {".git", "build", ".venv", "__pycache__", ".cache", ".pytest_cache"}


def tracked_files():
    """The files that belong to the project: git's, or every file outside build folders when there is no git."""
    try:
        listing = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                 capture_output=True, check=True)
        names = [name for name in listing.stdout.decode().split("\0") if name]
        if names:
            return sorted({ROOT / name for name in names if (ROOT / name).is_file()})
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        found += [Path(folder) / name for name in files if not name.endswith(".pyc")]
    return sorted(found)


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def project_files():
    return tracked_files()


@pytest.fixture(scope="session")
def ascend():
    """The installed tree, build/ascend. ./millpond test makes it before it calls pytest."""
    tree = ROOT / "build" / "ascend"
    if not (tree / "lib64" / "libascendcl.so").exists():
        pytest.fail("build/ascend is not installed; run ./millpond test, or ./millpond demo first")
    return tree


@pytest.fixture(scope="session")
def ascend_env(ascend):
    """The environment of ./millpond run, without the options of whoever started pytest."""
    sys.path.insert(0, str(ROOT / "tools" / "cli"))
    try:
        import environment
    finally:
        sys.path.pop(0)
    base = {name: value for name, value in os.environ.items() if not name.startswith(("MILLPOND_", "ASCEND_"))}
    return {**base, **environment.ascend(base)}

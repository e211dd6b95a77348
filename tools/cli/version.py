# SPDX-License-Identifier: Apache-2.0
"""Which Millpond this is. The version stands in CMakeLists.txt, once; an install has it in share/millpond/build.info."""

import re

from layout import IN_TREE, ROOT


def _of_tree():
    import subprocess
    text = (ROOT / "CMakeLists.txt").read_text()
    found = {"version": re.search(r"^project\(Millpond VERSION ([\d.]+)", text, re.M)[1],
             "cann": re.search(r'^set\(MILLPOND_CANN_VERSION "([^"]+)"', text, re.M)[1]}
    try:
        done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
                              capture_output=True, text=True, check=False)
    except OSError:
        return found
    return {**found, "commit": done.stdout.strip()} if done.returncode == 0 else found


def _of_install():
    text = (ROOT / "share" / "millpond" / "build.info").read_text()
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def facts():
    """{'version': ..., 'cann': ..., 'commit': ...}; no commit where there is no git and no package. A commit with + has changes."""
    return _of_tree() if IN_TREE else _of_install()


def line():
    found = facts()
    return f"millpond {found['version']} (commit {found.get('commit', 'unknown')}, CANN {found['cann']})"

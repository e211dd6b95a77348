# SPDX-License-Identifier: Apache-2.0
"""Runs the tool atc of this installation with the same arguments."""

import os
import shutil
import sys
from pathlib import Path
from typing import Optional


def find() -> Optional[str]:
    """The atc beside this package, else the one that the shell would take."""
    beside = Path(__file__).resolve().parents[4] / "bin" / "atc"
    return str(beside) if beside.exists() else shutil.which("atc")


def main() -> None:
    tool = find()
    if tool is None:
        sys.exit("ge.pyatc failed: there is no atc beside this package nor in PATH; source the installation's set_env.sh")
    sys.stdout.flush()
    os.execv(tool, [tool, *sys.argv[1:]])  # its output and its exit code are those of this command


if __name__ == "__main__":
    main()

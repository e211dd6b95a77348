# SPDX-License-Identifier: Apache-2.0
"""Writing a file that the user named: whole or not at all, and through no link (src/base/files.h does it for the libraries)."""

import os
import stat
import tempfile
from pathlib import Path

MODE = 0o640


def write_whole(path, text):
    path = Path(path)
    if _is_written_in_place(path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
        return
    handle, beside = tempfile.mkstemp(prefix=".millpond-", suffix=".part", dir=path.absolute().parent)  # a new file, O_EXCL
    try:
        with open(handle, "w", encoding="utf-8") as file:
            os.fchmod(handle, MODE)
            file.write(text)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _is_written_in_place(path):
    """/dev/stdout, /dev/null: what cannot be replaced, or must not be."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or (stat.S_ISLNK(mode) and str(path.absolute().parent) in ("/dev", "/dev/fd", "/proc/self/fd"))

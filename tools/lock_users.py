#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the C++ files that clang's thread-safety analysis has something to say about, one in a line.

Those are the files that take a lock or include one of our headers in which members are guarded. All others would cost
clang minutes for nothing; ./millpond test --long compiles them too.
"""

import argparse
import re
from pathlib import Path

LOCKS = re.compile(r"\b(?:Mutex|SharedMutex|SpinLock|MutexLock|UniqueLock|ReaderLock|GUARDED_BY|REQUIRES)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+"(src/[^"]+)"', re.M)
FOLDERS = ("src", "tools")
# Lock classes and templates around one: what they guard is their own.
BASE = "src/base/"
# Compiled against torch, or only ever a test.
LEFT_OUT = re.compile(r"^src/kernels/|_test\.cc$")


def lock_users(root):
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".cc", ".h")}
    guarded = {name for name, text in texts.items() if name.endswith(".h") and not name.startswith(BASE) and LOCKS.search(text)}
    return [name for name, text in texts.items() if name.endswith(".cc") and not LEFT_OUT.search(name)
            and (LOCKS.search(text) or guarded.intersection(INCLUDE.findall(text)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    print("\n".join(lock_users(parser.parse_args().root)))


if __name__ == "__main__":
    main()

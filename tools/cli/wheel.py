# SPDX-License-Identifier: Apache-2.0
"""A wheel of the install tree, by the specification "Binary distribution format": a zip file with a list of its hashes.

Written by hand, because what is packed is a finished tree and no project of setuptools; and because two builds of one commit
must be equal byte by byte: sorted entries, one time for all (the commit's), fixed modes.
"""

import base64
import hashlib
import os
import stat
import time
import zipfile
from pathlib import Path

import installed

KEEP = ".keep"  # in a folder that would be empty: a wheel has files alone
PACKAGE = "millpond"
TREE = f"{PACKAGE}/ascend"
# What only the build machine knows, or what the wheel's own package has.
LEFT_OUT = ("share/millpond/torch.info", "share/millpond/build.info")


class Content:
    """Files by name, each with its bytes and whether it may be executed."""

    def __init__(self):
        self.files = {}

    def add(self, name, data, executable=False):
        if name in self.files:
            raise ValueError(f"{name} is there twice")
        self.files[name] = (data.encode() if isinstance(data, str) else data, executable)

    def add_tree(self, tree):
        """The install tree; its links to folders become lines of a list, its links to files the files."""
        links = {}
        for folder, folders, names in os.walk(tree):
            inner = Path(folder).relative_to(tree)
            for name in [name for name in folders if (Path(folder) / name).is_symlink()]:
                links[(inner / name).as_posix()] = os.readlink(Path(folder) / name)
            folders[:] = sorted(name for name in folders if not (Path(folder) / name).is_symlink() and name != "__pycache__")
            for name in names:
                path = Path(folder) / name
                place = (inner / name).as_posix()
                if place not in LEFT_OUT:
                    self.add(f"{TREE}/{place}", path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
            if not folders and not names:
                self.add(f"{TREE}/{inner.as_posix()}/{KEEP}", b"")
        lines = "".join(f"{path}\t{target}\n" for path, target in sorted(links.items()))
        self.add(f"{TREE}/{installed.LINKS.as_posix()}", lines)

    def record(self, place):
        rows = []
        for name in sorted(self.files):
            data = self.files[name][0]
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(data)}\n")
        return "".join([*rows, f"{place},,\n"])

    def write(self, path, info, seconds):
        """info: the folder *.dist-info, which comes last, as the specification advises."""
        place = f"{info}/RECORD"
        everything = {**self.files, place: (self.record(place).encode(), False)}
        moment = time.gmtime(max(seconds, 315532800))[:6]  # zip's times begin in 1980
        order = sorted(everything, key=lambda name: (name.startswith(info), name == place, name))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in order:
                data, executable = everything[name]
                entry = zipfile.ZipInfo(name, moment)
                entry.create_system = 3  # Unix, whatever the machine: the modes below count
                entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, data)


def wheel_file(tag):
    return f"Wheel-Version: 1.0\nGenerator: millpond package\nRoot-Is-Purelib: false\nTag: {tag}\n"


def metadata(version, readme, torch):
    """torch: {'torch': version, 'torch_npu': version}, an extra: C and C++ programs without operators need neither."""
    lines = ["Metadata-Version: 2.4", "Name: millpond", f"Version: {version}",
             "Summary: Ascend (CANN) programs on an ordinary Linux CPU", "License-Expression: Apache-2.0",
             "License-File: LICENSE", "License-File: THIRD_PARTY.md", "Requires-Python: >=3.10",
             "Classifier: Operating System :: POSIX :: Linux", "Classifier: Programming Language :: Python :: 3",
             "Classifier: Programming Language :: C++", "Classifier: Framework :: Pytest", "Provides-Extra: torch",
             *[f"Requires-Dist: {name}=={pin}; extra == \"torch\"" for name, pin in torch.items()],
             "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + readme


# The plugin has its module's name, so that `-p millpond.pytest_plugin` and the entry are one.
ENTRY_POINTS = """[console_scripts]
millpond = millpond.__main__:main

[pytest11]
millpond.pytest_plugin = millpond.pytest_plugin
"""

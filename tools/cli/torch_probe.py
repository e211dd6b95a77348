# SPDX-License-Identifier: Apache-2.0
"""Run by a Python we know nothing about: prints as JSON which torch and torch_npu it would import, importing neither.

CMake (cmake/FindMillpondTorch.cmake) and the command line (pytorch.py) both ask this file, so they agree.
"""

import importlib.metadata
import importlib.util
import json
import os
import sys


def found(module, distribution):
    """{version, folder} of an installed package, {} when it is not there."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return {}
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"
    return {"version": version, "folder": os.path.realpath(next(iter(spec.submodule_search_locations)))}


def main():
    # The first entry is this file's own folder, not the program's.
    sys.path.pop(0)
    print(json.dumps({
        "python": sys.executable,
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "torch": found("torch", "torch"),
        "torch_npu": found("torch_npu", "torch_npu"),
        # Installing or removing a package changes the time of one of these, so an answer can be kept until then.
        "search": sorted({os.path.realpath(entry) for entry in sys.path if os.path.isdir(entry)}),
    }))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The command `millpond`, as a wheel installs it: share/millpond/cli of the tree of libraries does the work.

The tree lies in this package (a wheel) or around it (python/site-packages of the tree, which `millpond run` puts on the path):
both lead to the same command.
"""

import os
import sys


def tree():
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.path.join(here, "ascend"), os.path.dirname(os.path.dirname(os.path.dirname(here)))):
        if os.path.exists(os.path.join(folder, "set_env.sh")):
            return folder
    raise SystemExit(f"millpond: the libraries are not beside {here}; install the wheel again")


def main():
    import importlib.util
    folder = os.path.join(tree(), "share", "millpond", "cli")
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("millpond_cli", os.path.join(folder, "__main__.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.guarded(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

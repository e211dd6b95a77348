# SPDX-License-Identifier: Apache-2.0
"""How a script of a benchmark says that it cannot run here: bench/run.py shows the reason and goes on."""

import importlib
import sys

SKIP_EXIT_CODE = 77  # run.py reports the first line of stderr as the reason


def skip(reason):
    print(reason, file=sys.stderr)
    raise SystemExit(SKIP_EXIT_CODE)


def import_or_skip(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        skip(f"no {name} in {sys.executable}: {error}")

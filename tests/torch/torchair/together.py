# SPDX-License-Identifier: Apache-2.0
"""Runs programs of examples/torchair one after another in this process: together.py "mlp" "gpt2_cache --dynamic" ..."""

import runpy
import sys
import traceback
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "torchair"


def main(calls):
    sys.path.insert(0, str(FOLDER))
    for call in calls:
        name, *arguments = call.split()
        print(f"== {call}", flush=True)
        sys.argv = [name, *arguments]
        try:
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        except Exception:  # the next one shall run; the test sees this
            print(f"failed: {traceback.format_exc()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

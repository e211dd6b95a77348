#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/ops.md from a run of the conformance suite.

    ./millpond run -- python tests/torch/conformance/run.py --missing --calls --json FILE
    tools/gen_ops_doc.py [--check] FILE

--check writes nothing and exits 1 when docs/ops.md is not current.
"""

import sys
from pathlib import Path

import doc_page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "torch" / "conformance"))
import reasons

PAGE = ROOT / "docs" / "ops.md"
COLUMNS = (("float32", "forward"), ("float32", "backward"), ("float16", "forward"), ("bfloat16", "forward"), ("int64", "forward"),
           ("bool", "forward"))
TITLE = """# PyTorch's operators on the virtual NPU

Made by tools/gen_ops_doc.py from a run of tests/torch/conformance; do not edit.

Every entry of PyTorch's operator database (`op_db`) with the torch_npu wheel on the virtual NPU, compared with CPU.

- pass: every sample gives what CPU gives.
- cpu: the same, but torch_npu itself sent part of the work to CPU.
- refused: at least one sample ends in an error that says why; the others are right.
- differs: the wheel asks for another result than CPU gives (`tests/torch/conformance/wheel_differs.tsv` has the evidence).

"""


def state_of(row):
    return row["state"] if row["state"] != "none" else ""


def reason_of(row):
    if row["state"] in ("pass", "none"):
        return ""
    if row["state"] in ("cpu", "differs"):
        return row["reason"]
    return reasons.short(row["reason"], row["aclnn_only_reason"])


def summary(rows):
    lines = ["| pairs | pass | cpu | refused | differs | other |", "|---|---|---|---|---|---|"]
    for column in COLUMNS:
        states = [row["state"] for row in rows if (row["pair"]["dtype"], row["pair"]["direction"]) == column]
        counts = [states.count(state) for state in ("pass", "cpu", "refused", "differs")]
        other = sum(state not in ("pass", "cpu", "refused", "differs", "none") for state in states)
        lines.append(f"| {' '.join(column)} | {' | '.join(map(str, counts))} | {other} |")
    return "\n".join(lines) + "\n\n"


def render(rows):
    by_op = {}
    for row in rows:
        by_op.setdefault(row["pair"]["op"], {})[(row["pair"]["dtype"], row["pair"]["direction"])] = row
    lines = ["| op | float32 | backward | float16 | bfloat16 | int64 | bool | reason |", "|---|---|---|---|---|---|---|---|"]
    for op, found in sorted(by_op.items()):
        states = [state_of(found[column]) if column in found else "" for column in COLUMNS]
        if any(states):
            said = dict.fromkeys(reason_of(found[column]) for column in COLUMNS if column in found)
            said = "; ".join(text for text in said if text).replace("|", "\\|")
            lines.append(f"| `{op}` | {' | '.join(states)} | {said} |")
    return TITLE + summary(rows) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(doc_page.main(PAGE, render, __doc__.splitlines()[0], "run.py"))

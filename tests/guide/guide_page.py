# SPDX-License-Identifier: Apache-2.0
"""docs/find_the_wrong_operation.md: the reports that it shows, to be compared with what the checker prints now."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "find_the_wrong_operation.md"
EXAMPLES = ROOT / "examples" / "check"
REPORT = re.compile(r"<!-- report: (\w+) -->\n```text\n(.*?)```", re.S)
CODE = re.compile(r"```(?:c|cpp|python)\n(.*?)```", re.S)


def shown():
    """By example, the report that the page has."""
    return dict(REPORT.findall(PAGE.read_text(encoding="utf-8")))


def as_shown(printed, folder):
    """The first finding of a process's standard error, as the page would have it: without folders and addresses."""
    text = printed[printed.index("millpond check: error"):]
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines) if number and not line.startswith("  ")), len(lines))
    text = "\n".join(lines[:end]) + "\n"
    return re.sub(r"0x[0-9a-f]+", "0x...", text).replace(f"{folder}/", "")


def check(name, folder, wrong, mended):
    """wrong, mended: finished processes of the example in `folder`, with returncode and stderr."""
    assert as_shown(wrong.stderr, folder) == shown()[name]
    assert wrong.returncode == 66, wrong.stderr
    assert mended.returncode == 0 and "millpond check" not in mended.stderr, mended.stderr

# SPDX-License-Identifier: Apache-2.0
"""The case with torch_npu of docs/find_the_wrong_operation.md; the others are in tests/guide."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "guide"))
import guide_page


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the page shows frames of CPython 3.11")
def test_the_case_with_torch_npu_is_found_as_the_page_says(start):
    ended = [start(guide_page.EXAMPLES / "torch_race.py", *arguments, env={"MILLPOND_CHECK": "1", "TASK_QUEUE_ENABLE": "0"}) for arguments in ((), ("mended",))]
    wrong, mended = (SimpleNamespace(returncode=each.status, stderr=each.errors) for each in ended)
    guide_page.check("torch_race", guide_page.EXAMPLES, wrong, mended)

# SPDX-License-Identifier: Apache-2.0
"""docs/aclnn.md is current, and functions are declared where CANN declares them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gen_aclnn_doc


def test_the_page_is_current():
    outcome = subprocess.run([sys.executable, ROOT / "tools" / "gen_aclnn_doc.py", "--check"], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_every_function_is_in_canns_own_header():
    ours = gen_aclnn_doc.here()
    wrong = {name: (ours[name], header) for name, header, _, _ in gen_aclnn_doc.public() if name in ours and header and ours[name] != header}
    assert wrong == {}

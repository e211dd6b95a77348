# SPDX-License-Identifier: Apache-2.0
"""Functions are declared where CANN declares them (docs/aclnn.md)."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gen_aclnn_doc


def test_every_function_is_in_canns_own_header():
    ours = gen_aclnn_doc.here()
    wrong = {name: (ours[name], header) for name, header, _, _ in gen_aclnn_doc.public() if name in ours and header and ours[name] != header}
    assert wrong == {}

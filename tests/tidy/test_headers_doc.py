# SPDX-License-Identifier: Apache-2.0
"""Each header of CANN's that is not here has a reason (docs/headers.md)."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gen_headers_doc


def test_every_header_that_is_not_here_has_a_reason():
    listed = gen_headers_doc.public()
    assert len(listed) > 100 and len(set(listed)) == len(listed)
    assert [header for header, _ in listed if not gen_headers_doc.is_here(header) and gen_headers_doc.reason(header) is None] == []

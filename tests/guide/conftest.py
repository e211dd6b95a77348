# SPDX-License-Identifier: Apache-2.0
"""guide_page.py is here: pytest imports tests by file, not by folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))

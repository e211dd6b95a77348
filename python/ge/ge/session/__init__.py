# SPDX-License-Identifier: Apache-2.0
"""Sessions: graphs by number that are compiled, loaded and run."""

from ge.error import GeError

from .session import Session

__all__ = ["GeError", "Session"]

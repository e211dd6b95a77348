# SPDX-License-Identifier: Apache-2.0
"""Questions to the compiler."""

from .ge_utils import GeUtils

__all__ = ["GeUtils"]

# SPDX-License-Identifier: Apache-2.0
"""Memory that a program lends to the engine."""

from .allocator import Allocator, MemBlock

__all__ = ["Allocator", "MemBlock"]

# SPDX-License-Identifier: Apache-2.0
"""The engine as a whole."""

from .geapi import GeApi

__all__ = ["GeApi"]

# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the engine."""

from ge._native import lib, options
from ge.error import raise_ge_error


class GeApi:
    @classmethod
    def ge_initialize(cls, config: dict) -> int:
        """Comes before everything else. `config` has options by name, all text, at least one. Returns 0."""
        if not isinstance(config, dict):
            raise TypeError("Ge init config must be a dictionary")
        if not config:
            raise TypeError("Ge init config must not be empty")
        status = lib.initialize(*options(config))
        if status != 0:
            raise_ge_error("GEInitialize", status)
        return status

    @classmethod
    def ge_finalize(cls) -> int:
        """Ends every session. Returns 0, also when nothing was started."""
        status = lib.finalize()
        if status != 0:
            raise_ge_error("GEFinalize", status)
        return status

# SPDX-License-Identifier: Apache-2.0
"""Turns the engine on and off."""

from ge import _check as check
from ge._native import lib, options
from ge.error import raise_ge_error


class GeApi:
    @classmethod
    def ge_initialize(cls, config: dict) -> int:
        """Before anything runs. `config` has at least one option. Returns 0, again when the engine is on already."""
        where = "GeApi.ge_initialize"
        if not config:
            raise check.refusal(TypeError, where, "config", config, 'a dict of options, like {"ge.exec.deviceId": "0"}')
        words = check.options(where, config=config)
        status = lib.initialize(*options(words))
        if status != 0:
            raise_ge_error("GEInitialize", status)
        return status

    @classmethod
    def ge_finalize(cls) -> int:
        """Ends every session. Returns 0, also where the engine is off."""
        status = lib.finalize()
        if status != 0:
            raise_ge_error("GEFinalize", status)
        return status

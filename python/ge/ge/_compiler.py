# SPDX-License-Identifier: Apache-2.0
"""Functions of libge_compiler.so, which a smaller installation may lack."""

from ge._native import MISSING
from ge.error import raise_ge_error, raise_missing


def settle(api_name: str, symbol: str, status: int, instead: str) -> None:
    """Raises GeError where the call failed, and says what to do where there is no such function."""
    if status == MISSING:
        raise_missing(api_name, f"libge_compiler.so has no {symbol}; {instead}")
    if status != 0:
        raise_ge_error(api_name, status)

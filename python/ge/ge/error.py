# SPDX-License-Identifier: Apache-2.0
"""Failures of the engine."""

from typing import NoReturn, Optional

from ge._native import take_message


class GeError(RuntimeError):
    """A call of the engine failed. Its text is `<Api> failed; key=value, ...; <what the engine said>`."""

    def __init__(self, message: str, error_message: Optional[str] = None, api_name: Optional[str] = None,
                 context: Optional[dict] = None) -> None:
        super().__init__(message)
        self.error_message = error_message
        self.api_name = api_name
        self.context = context or {}


def get_ge_error_msg() -> str:
    """What the engine says about the last failure of this thread, "" for nothing. Reading clears it."""
    return take_message()


def raise_ge_error(api_name: str, status: Optional[int] = None, cause: Optional[BaseException] = None,
                   **context: object) -> NoReturn:
    """Raises GeError for a call that returned `status`. `cause`: an exception of the client's own that made it fail."""
    del status  # the message says more
    said = get_ge_error_msg()
    parts = [f"{api_name} failed", ", ".join(f"{key}={value}" for key, value in context.items())]
    if cause is not None:
        parts.append(f"the allocator raised {type(cause).__name__}: {cause}")
    parts.append(said)
    words = "; ".join(part for part in parts if part)
    raise GeError(words, error_message=said, api_name=api_name, context=context) from cause


def raise_missing(api_name: str, what: str) -> NoReturn:
    """Raises GeError for what this implementation does not have."""
    text = f"{api_name} is not there: {what}"
    raise GeError(f"{api_name} failed; {text}", error_message=text, api_name=api_name)

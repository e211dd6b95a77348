# SPDX-License-Identifier: Apache-2.0
"""What the user asked to be written. What cannot be written is told and lost; the exit status stays the program's."""

import os

import files
import ui

from . import suppress


def write(path, text, what):
    try:
        files.write_whole(path, text)
    except OSError as error:
        ui.say(f"cannot write {what} to '{path}': {error.strerror or error}; make room and run again")


def append_suppressions(path, findings):
    try:
        text = suppress.added(path, findings)
    except OSError as error:
        ui.say(f"cannot add suppressions to '{path}': {error.strerror}")
        return
    write(path, text, "suppressions")


def print_out(text, what):
    """Past Python's buffer: what is left in it when standard output is full or closed would change the exit status."""
    rest = text.encode("utf-8", "replace")
    try:
        while rest:
            rest = rest[os.write(1, rest):]
    except OSError as error:
        ui.say(f"cannot write {what} to standard output: {error.strerror}")

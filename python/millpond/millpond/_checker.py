# SPDX-License-Identifier: Apache-2.0
"""What the checker in this process can be asked while it runs; it answers with lines in its file."""

import ctypes
import os

_OWNER = os.getpid()


def library():
    """None while the runtime is not loaded, and in a forked child, where another thread may have held the checker's lock."""
    if os.getpid() != _OWNER:
        return None
    try:
        return ctypes.CDLL("libmillpond_check.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def begin():
    """Device memory is counted anew from here."""
    found = library()
    if found is not None:
        found.millpond_check_begin()


def tell(memory=False):
    """How often each finding was made goes to the file, and with memory a line "span"."""
    found = library()
    if found is not None:
        found.millpond_check_tell(ctypes.c_int(memory))

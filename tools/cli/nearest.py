# SPDX-License-Identifier: Apache-2.0
"""The name that was meant. Imported when something is wrong already: difflib takes its time."""

import difflib


def hint(typed, known, prefix=""):
    """' (did you mean X?)' to put behind what was wrong, or nothing when no known name is near. prefix: what all names begin with,
    which makes none of them nearer."""
    found = difflib.get_close_matches(typed.removeprefix(prefix), [name.removeprefix(prefix) for name in known], n=1, cutoff=0.6)
    return f" (did you mean {prefix}{found[0]}?)" if found else ""

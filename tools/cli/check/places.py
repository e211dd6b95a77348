# SPDX-License-Identifier: Apache-2.0
"""Where a finding is: the user's line, for annotations and lists that have room for one."""

import os
from pathlib import PurePosixPath


def base_folder():
    """What file names are relative to: the checkout of a GitHub job, or where the command was started."""
    return os.environ.get("GITHUB_WORKSPACE") or os.getcwd()


def relative(path, base):
    """The path below base, or None. Names only: a file may be of another machine."""
    path, base = os.path.normpath(path), os.path.normpath(base)
    if not os.path.isabs(path):
        return None if path.startswith("..") else path
    try:
        return str(PurePosixPath(path).relative_to(base))
    except ValueError:
        return None


def users_frame(stack, base):
    """The innermost frame of a file below base, else the innermost with a line: a framework's line helps less than the user's."""
    known = [frame for frame in stack.frames if frame.file and frame.line > 0] if stack else []
    installed = ("site-packages", "dist-packages")
    own = [frame for frame in known if relative(frame.file, base) and not set(PurePosixPath(frame.file).parts) & set(installed)]
    return next(iter(own or known), None)


def of(finding, base):
    """(stack, frame) of the operation that is wrong, and of the one that it collides with; either may be None."""
    later = finding.stack("later", "created", "registered", "destroyed", "freed", "allocated") or next(iter(finding.stacks), None)
    other = finding.stack(*[role for role in ("earlier", "freed", "destroyed", "registered", "created", "allocated")
                            if later is None or role != later.role])
    return (later, users_frame(later, base)), (other, users_frame(other, base))


def short(frame):
    return f"{os.path.basename(frame.file)}:{frame.line}" if frame else ""

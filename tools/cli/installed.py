# SPDX-License-Identifier: Apache-2.0
"""What an install from a wheel needs before its first use: a wheel has no symbolic links, and CANN's layout has a dozen.

share/millpond/links.txt names them, a path and its target on each line. They are made in place; where the folder cannot be
written (installed by root, used by another), a copy of the tree that consists of links stands in the user's cache.
"""

import contextlib
import os
from pathlib import Path

import ui
from layout import ROOT

LINKS = Path("share/millpond/links.txt")


def links(tree=ROOT):
    """{path: target} of the links that a wheel could not carry; nothing where cmake made the tree."""
    try:
        lines = (tree / LINKS).read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split("\t") for line in lines)


def complete(tree, source=ROOT):
    """Makes the links that are missing in tree, which is source or, where that cannot be written, a folder of the user's."""
    wanted = links(source)
    try:
        if tree != source and wanted:
            _mirror(source, tree, {Path(path).parent for path in wanted})
        for path, target in wanted.items():
            _link(target, tree / path)
    except OSError as error:
        raise ui.Stop(f"CANN's layout has {len(wanted)} symbolic links, which a wheel cannot carry; they are made at the first use, and neither {source} nor {tree} can "
                      f"be written ({error.strerror}). XDG_CACHE_HOME=FOLDER names another place") from None


def _link(target, path):
    if not os.path.lexists(path):
        with contextlib.suppress(FileExistsError):  # another call made it meanwhile
            os.symlink(target, path)


def _mirror(source, tree, real, at=Path()):
    """Links to everything in source; a folder that will hold more links (real) is a folder here too."""
    (tree / at).mkdir(parents=True, exist_ok=True)
    for entry in os.scandir(source / at):
        inner = at / entry.name
        if entry.is_dir(follow_symlinks=False) and any(folder == inner or inner in folder.parents for folder in real):
            _mirror(source, tree, real, inner)
        else:
            _link(entry.path, tree / inner)


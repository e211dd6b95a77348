#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every #include of the tree against the layer table (tools/layers.txt).

    check_layers.py [--root FOLDER] [--table FILE]

Prints one `file:line: error: ...` per breach and exits 1. Refuses a table that is cyclic, names a folder without a row,
or repeats one: a rule file that contradicts itself proves nothing.
"""

import argparse
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SUFFIXES = {".h", ".cc", ".c", ".hpp", ".cpp", ".inc", ".def"}


class TableError(Exception):
    pass


def read_table(path):
    rows = {}
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, colon, rest = line.partition(":")
        folder = folder.strip()
        if not colon or not folder:
            raise TableError(f"{path}:{number}: error: a row has the form 'folder: folder folder ...'")
        if folder in rows:
            raise TableError(f"{path}:{number}: error: '{folder}' has a second row")
        rows[folder] = rest.split()
    for folder, allowed in rows.items():
        for other in allowed:
            if other not in rows:
                raise TableError(f"{path}: error: '{folder}' may include '{other}', which has no row")
    cycle = find_cycle(rows)
    if cycle:
        raise TableError(f"{path}: error: the table is cyclic: {' -> '.join(cycle)}")
    return rows


def find_cycle(rows):
    done, trail = set(), []

    def visit(folder):
        if folder in trail:
            return trail[trail.index(folder):] + [folder]
        if folder in done:
            return None
        trail.append(folder)
        for other in rows[folder]:
            cycle = visit(other) if other != folder else [folder, folder]
            if cycle:
                return cycle
        trail.pop()
        done.add(folder)
        return None

    for folder in rows:
        cycle = visit(folder)
        if cycle:
            return cycle
    return None


def row_of(rows, path):
    """The longest row that is a prefix of path, or None."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        prefix = "/".join(parts[:length])
        if prefix in rows:
            return prefix
    return None


def target_of(root, rows, source, quote, name):
    """The path in the tree that an #include means, or None for a system header."""
    if quote == '"':
        beside = (source.parent / name).resolve()
        if beside.is_file() and root in beside.parents:
            return beside.relative_to(root).as_posix()
    if row_of(rows, name):
        return name
    if (root / "include" / name).is_file():
        return f"include/{name}"
    return None


def check_file(root, rows, source):
    where = source.relative_to(root).as_posix()
    row = row_of(rows, where)
    if row is None:
        return [f"{where}:1: error: no row of the layer table holds this folder"]
    allowed = {row, *rows[row]}
    errors = []
    for number, line in enumerate(source.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = target_of(root, rows, source, match[1], match[2])
        other = row_of(rows, target) if target else None
        if other and other not in allowed:
            errors.append(f"{where}:{number}: error: '{row}' may not include '{other}' ({target})")
    return errors


def check_tree(root, table):
    root = Path(root).resolve()
    rows = read_table(table)
    errors = []
    for top in sorted({row.split("/")[0] for row in rows}):
        for source in sorted((root / top).rglob("*")):
            if source.suffix in SUFFIXES and source.is_file():
                errors += check_file(root, rows, source)
    return errors


def main():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=here.parent)
    parser.add_argument("--table", default=here / "layers.txt")
    arguments = parser.parse_args()
    try:
        errors = check_tree(arguments.root, arguments.table)
    except TableError as error:
        errors = [str(error)]
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

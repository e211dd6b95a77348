# SPDX-License-Identifier: Apache-2.0
"""Source files that are compiled as one unit: writes the units, prints what is to be compiled.

Most of the time that a file takes is its headers, so files of one folder are compiled together. That must not change what
a file means: two files share a unit only if neither mentions a name that the other defines for itself (in an unnamed
namespace, as static, or as a macro) and both open the same namespaces. A file that nobody suits stays alone. Units include
by paths from the root, so that ccache finds what another checkout compiled.
"""

import argparse
import os
import re
from dataclasses import dataclass, field

WORD = re.compile(r"[A-Za-z_]\w*")
MENTION = re.compile(r"(?<![.\w])(?<!->)[A-Za-z_]\w*")  # not a member of something
LITERAL_OR_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class| struct)?)\s+(\w+)")
ALIAS = re.compile(r"^using\s+(\w+)\s*=|^using\s+[\w:]+::(\w+)\s*;|^typedef\b.*?(\w+)\s*;")
MACRO = re.compile(r"^#\s*define\s+(\w+)")
USING_NAMESPACE = re.compile(r"^using namespace ([\w:]+);", re.MULTILINE)
# The compiler takes an included file for a header, where a member of an unnamed namespace's type would be a mistake.
PREAMBLE = '#pragma GCC diagnostic ignored "-Wsubobject-linkage"\n'
NOT_NAMES = {"template", "namespace", "else", "if", "public", "private", "protected", "return"}


@dataclass
class Source:
    path: str
    size: int
    words: set
    own: dict  # what it defines for itself, each with its using-declaration or the path: the same `using` twice is no clash
    opened: frozenset  # using namespace ...


@dataclass
class Unit:
    opened: frozenset
    size: int = 0
    words: set = field(default_factory=set)
    own: dict = field(default_factory=dict)
    paths: list = field(default_factory=list)

    def suits(self, source, limit):
        return (self.size + source.size <= limit and self.opened == source.opened and not clash(self, source)
                and not clash(source, self))

    def add(self, source):
        self.size += source.size
        self.words |= source.words
        self.own |= source.own
        self.paths.append(source.path)


def clash(one, other):
    return any(name in other.words and other.own.get(name) != meaning for name, meaning in one.own.items())


def defined_on(line):
    """The name that a line in the first column defines, if it does."""
    for pattern in (TYPE, ALIAS, MACRO):
        found = pattern.match(line)
        if found:
            return next(name for name in found.groups() if name)
    if not line[:1].isalpha() and not line.startswith("["):
        return None
    before = re.split(r"[(={;\[]", re.sub(r"\[\[.*?\]\]|alignas\(\w+\)|<[^<>]*>", "", line), maxsplit=1)[0]
    names = WORD.findall(before)
    return names[-1] if names and names[-1] not in NOT_NAMES else None


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    own = {}
    unnamed = False
    for line in text.splitlines():
        if line == "namespace {":
            unnamed = True
        elif line == "}  // namespace":
            unnamed = False
        elif (unnamed or line.startswith(("static ", "#define", "using "))) and not line.startswith("using namespace"):
            name = defined_on(line)
            if name:
                own[name] = line if line.startswith("using ") else path
    code = LITERAL_OR_COMMENT.sub(" ", text)
    return Source(path, len(code), set(MENTION.findall(code)), own, frozenset(USING_NAMESPACE.findall(text)))


def units(paths, limit):
    """Greedy and in order: which unit a file is in depends on the files before it alone."""
    by_folder = {}
    for path in sorted(paths):
        found = by_folder.setdefault(os.path.dirname(path), [])
        source = read(path)
        unit = next((unit for unit in found if unit.suits(source, limit)), None)
        if unit is None:
            unit = Unit(source.opened)
            found.append(unit)
        unit.add(source)
    return by_folder


def write_if_changed(path, text):
    """A unit that stays as it was is not compiled again."""
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kilobytes", type=int, required=True, help="of code in a unit at most, comments aside")
    parser.add_argument("--root", required=True, help="the folder that #include lines start from")
    parser.add_argument("--output", required=True, help="a folder for the units")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    for folder, found in units(arguments.files, arguments.kilobytes * 1024).items():
        room = os.path.relpath(folder, arguments.root).replace(os.sep, "_")
        for number, unit in enumerate(found):
            if len(unit.paths) == 1:
                print(unit.paths[0])
                continue
            path = os.path.join(arguments.output, f"{room}_{number}.cc")
            lines = [PREAMBLE] + [f'#include "{os.path.relpath(source, arguments.root)}"\n' for source in unit.paths]
            write_if_changed(path, "".join(lines))
            print(path)


if __name__ == "__main__":
    main()

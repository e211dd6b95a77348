#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the folder that the installed libraries are linked against, so that they run on systems older than this one.

    link_floor.py --compiler g++-12 --output FOLDER

The linker binds a function to the newest version that the C library it sees has, and a program then runs on no older system. This
machine's libraries hold the older versions too. So for libc, libm, libgcc_s and libstdc++ a library is made that has names and versions and no
code: of each name the newest version that the floor allows. What the floor lacks comes from cmake/floor/floor.c and from a few members of the compiler's own
libstdc++.a, hidden in each library: functions whose state is in their arguments (paths, numbers as text, memory resources). Not the whole archive: with
link-time optimisation the linker takes members of it for functions that the system's library has too. Exceptions, streams,
locales and type information stay those of the system's libstdc++, which all libraries of a process share.

The floor is the profile manylinux_2_28 of PEP 600: what torch_npu's own wheel is for.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

FLOOR = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
NEWEST_GLIBC = 36
SOURCES = Path(__file__).resolve().parent.parent / "cmake" / "floor"
ROW = re.compile(r"^\s*\d+: [0-9a-f]+\s+(\w+)\s+(FUNC|IFUNC|OBJECT|NOTYPE|TLS)\s+(GLOBAL|WEAK|UNIQUE)\s+DEFAULT\s+\d+ (\S+?)(@@?)(\w+?)_([\d.]+)$", re.M)
PLACES = {"OBJECT": (".data", "%object"), "TLS": ('.section .tdata,"awT",%progbits', "%tls_object")}
MEMBERS = re.compile(r"(cow-)?fs_\w+\.o|floating_(from|to)_chars\.o|memory_resource\.o")
# Functions that were in libraries of their own before glibc 2.34: these are asked for by name, so that an older loader finds them.
ASKED_FOR = {"__xstat", "__lxstat", "__fxstat", "__fxstatat"}  # by cmake/floor/floor.c
LOADERS = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")
ONCE_APART = ("libpthread.so.0", "libdl.so.2")


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def place_of(compiler, name):
    """Where the compiler has a library; None where it has none."""
    said = run(compiler, f"-print-file-name={name}").strip()
    return Path(said).resolve() if "/" in said else None


def numbers(text):
    return tuple(map(int, text.split(".")))


def names_of(listing):
    """{name: (kind, size, version)} of what `readelf --dyn-syms` lists: of each name the newest version that the floor allows."""
    found = {}
    rows = ROW.findall(listing)
    # A name without a default version (@@) is there for old programs alone: who links finds it in an archive, such as libgcc.a.
    linked = {row[3] for row in rows if row[4] == "@@"} | ASKED_FOR
    for size, kind, binding, name, _, family, version in rows:
        if name not in linked or family not in FLOOR or numbers(version) > FLOOR[family]:
            continue
        if name not in found or numbers(found[name][2].split("_")[1]) < numbers(version):
            found[name] = (kind, int(size, 0), f"{family}_{version}", binding)
    return found


def assembly(names):
    lines = []
    for name, (kind, size, _, binding) in sorted(names.items()):
        place, type_name = PLACES.get(kind, (".text", "%function"))
        lines += [place, f".{'weak' if binding == 'WEAK' else 'globl'} {name}", f".type {name}, {type_name}", f"{name}:",
                  f".skip {max(size, 1)}", f".size {name}, {size}"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""])


def version_script(names):
    groups = {}
    for name, (_, _, version, _) in sorted(names.items()):
        groups.setdefault(version, []).append(name)
    return "".join(f"{version} {{ global: {' '.join(f'{name};' for name in members)} }};\n" for version, members in sorted(groups.items()))


def make_library(compiler, output, soname, names):
    source, script = output / f"{soname}.s", output / f"{soname}.map"
    source.write_text(assembly(names))
    script.write_text(version_script(names))
    options = [f"-Wl,--version-script={script}"] if names else []
    run(compiler, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", *options, source, "-o", output / soname)


def reason_not_to(compiler):
    """Why no floor can be made with this compiler, or nothing."""
    known = re.findall(r"GLIBC_2\.(\d+)", run("readelf", "-V", "-W", place_of(compiler, "libc.so.6") or "/dev/null"))
    if not known or max(map(int, known)) > NEWEST_GLIBC:
        return f"the C library is no glibc up to 2.{NEWEST_GLIBC}, whose functions cmake/floor knows"
    return "" if place_of(compiler, "libstdc++.a") else f"{compiler} has no libstdc++.a"


def more_members(compiler, output):
    """libmore.a: of libstdc++.a what MEMBERS names."""
    source, archive = place_of(compiler, "libstdc++.a"), output / "libmore.a"
    members = [name for name in run("ar", "t", source).splitlines() if MEMBERS.fullmatch(name)]
    archive.unlink(missing_ok=True)
    subprocess.run(["ar", "x", str(source), *members], cwd=output, check=True)
    run("ar", "rcsD", archive, *[output / name for name in members])


def make(compiler, output):
    output.mkdir(parents=True, exist_ok=True)
    for soname in ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"):
        listing = run("readelf", "--dyn-syms", "-W", place_of(compiler, soname))
        make_library(compiler, output, soname, names_of(listing))
    for soname in ONCE_APART:
        make_library(compiler, output, soname, {})
    archive = output / "libfloor.a"
    archive.unlink(missing_ok=True)
    for source in sorted(SOURCES.glob("*.c")):
        run(compiler, "-x", "c", "-O2", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-c", source, "-o", output / f"{source.stem}.o")
        run("ar", "rcsD", archive, output / f"{source.stem}.o")
    more_members(compiler, output)
    # What the compiler's own -lc, -lm, -lgcc_s and -lstdc++ find.
    more = place_of(compiler, "libc_nonshared.a")
    loader = next(path for name in LOADERS if (path := place_of(compiler, name)))
    (output / "libc.so").write_text(f"GROUP({archive} {output / 'libc.so.6'} {more} AS_NEEDED({loader}))\n")
    (output / "libm.so").write_text(f"INPUT({output / 'libm.so.6'})\n")
    (output / "libgcc_s.so").write_text(f"GROUP({output / 'libgcc_s.so.1'} -lgcc)\n")
    (output / "libstdc++.so").write_text(f"INPUT({output / 'libstdc++.so.6'} {output / 'libmore.a'})\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    reason = reason_not_to(arguments.compiler)
    if reason:
        print(reason, file=sys.stderr)
        return 1
    make(arguments.compiler, arguments.output.absolute())
    return 0


if __name__ == "__main__":
    sys.exit(main())

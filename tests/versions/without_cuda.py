# SPDX-License-Identifier: Apache-2.0
"""Lets a CUDA build of torch be imported where there is no CUDA, for tests: PyPI has older releases of torch as CUDA builds alone.

    python without_cuda.py FOLDER_OF_TORCH/lib

For each library that torch's own name and that is nowhere, a stand-in with the names that torch asks for is put beside them. A
function of it returns "no device" and does nothing; torch's CPU side, which is all that Millpond uses, never calls one but to register and to ask
how many devices there are. What is installed by users is the CPU build, which needs nothing of this.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

OURS = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp|c10.*|torch.*|shm|caffe2.*))\.so")
NEEDED = re.compile(r"\(NEEDED\).*\[(.*)\]")
VERSION_OF = re.compile(r"File: (\S+)\s+Cnt: \d+\n((?:\s+0x[0-9a-f]+:\s+Name: \S+ .*\n?)+)")
UNDEFINED = re.compile(r"^\s*\d+: 0+\s+\d+\s+\w+\s+(?:GLOBAL|WEAK)\s+DEFAULT\s+UND (\S+?)(?:@(\S+))?(?: \(\d+\))?$", re.M)
NO_DEVICE = 100  # cudaErrorNoDevice and CUDA_ERROR_NO_DEVICE
# What torch's static constructors call: registration, which must look like success.
REGISTERS = re.compile(r"^__cuda")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, str(path)], capture_output=True, text=True, check=True).stdout


def versions_in(text):
    """{version: library that must define it}."""
    found = {}
    for library, rows in VERSION_OF.findall(text):
        found.update(dict.fromkeys(re.findall(r"Name: (\S+)", rows), library))
    return found


def known_names(folder):
    """Names that torch's own libraries define."""
    names = set()
    for path in folder.glob("*.so*"):
        for line in readelf("--dyn-syms", path).splitlines():
            parts = line.split()
            if len(parts) >= 8 and parts[6] != "UND":
                names.add(parts[7].split("@")[0])
    return names


def wanted(folder):
    """{missing library: {name: version or ""}}; a name without a version may come from any: the first one has it."""
    libraries = sorted(folder.glob("*.so*"))
    missing = {}
    for path in libraries:
        for name in NEEDED.findall(readelf("-d", path)):
            if not OURS.match(name) and not (folder / name).exists():
                missing.setdefault(name, {})
    if not missing:
        return {}
    defined = known_names(folder)
    first = missing[min(missing)]
    for path in libraries:
        by_version = versions_in(readelf("-V", path))
        for name, version in UNDEFINED.findall(readelf("--dyn-syms", path)):
            if version:
                if by_version.get(version) in missing:
                    missing[by_version[version]][name] = version
            elif name not in defined and re.match(r"_*(cu|nccl|nv|Cu|cupti)", name):
                first.setdefault(name, "")
    return missing


def make(folder, library, names):
    lines = [f"long {name}() {{ return {0 if REGISTERS.match(name) else NO_DEVICE}; }}" for name in sorted(names)]
    groups = {}
    for name, version in sorted(names.items()):
        groups.setdefault(version, []).append(name)
    script = "".join(f"{version} {{ global: {' '.join(f'{name};' for name in members)} }};\n" for version, members in groups.items() if version)
    with tempfile.TemporaryDirectory() as scratch:
        source, versions = Path(scratch) / "names.c", Path(scratch) / "versions.map"
        source.write_text("\n".join(lines) + "\n")
        versions.write_text(script)
        options = [f"-Wl,--version-script={versions}"] if script else []
        subprocess.run(["gcc", "-shared", "-fPIC", "-fno-builtin", "-w", f"-Wl,-soname,{library}", *options, str(source), "-o", str(folder / library)], check=True)


def main(folder):
    for library, names in wanted(folder).items():
        make(folder, library, names)
        print(f"{library}: {len(names)} names")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

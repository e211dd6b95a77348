# SPDX-License-Identifier: Apache-2.0
"""`kernel`: compiles a kernel's source (Ascend C, vector kernels) for this machine.

A C++ compiler lacks two things that the source relies on. What the parameters of a kernel are: after the source comes a
MILLPOND_KERNEL line for each __global__ function, which tells. And the launch with three angle brackets: it is written anew
as a call (millpond/kernel.h), in a copy whose lines keep their numbers.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import ensure
import ui
from arguments import Parser
from layout import ASCEND

# Text in which nothing is to be found: comments, strings, characters.
SILENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
GLOBAL = re.compile(r"(template\s*<[^;{}()]*>\s*)?(?:extern\s+@C\s+)?(?:__\w+__(?:\([^)]*\))?\s+|inline\s+|static\s+)*__global__\s+(?:__\w+__(?:\([^)]*\))?\s+|inline\s+)*"
                    r"void\s+(\w+)\s*\(")
CALLEE = re.compile(r"[\w:]+\s*$")


def kernel_parser():
    parser = Parser("kernel", usage="SOURCE... -o FILE [-I FOLDER] [-- COMPILER OPTIONS]", description="Compiles kernels written in Ascend C (vector kernels; docs/kernels.md) "
                    "for this machine: into a shared object that aclrtBinaryLoadFromFile loads when FILE ends in .so, else into a program.")
    parser.add_argument("sources", metavar="SOURCE", nargs="+", type=Path, help="the kernel's source, of any name (.cpp, .asc)")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="what to write")
    parser.add_argument("-I", "--include", metavar="FOLDER", action="append", default=[], help="a folder with further headers")
    return parser


def kernel(argv):
    parser = kernel_parser()
    own, _, rest = (argv, None, []) if "--" not in argv else (argv[:argv.index("--")], None, argv[argv.index("--") + 1:])
    arguments = parser.parse_args(own)
    for source in arguments.sources:
        if not source.is_file():
            parser.error(f"'{source}' is not there")
    if not arguments.output.absolute().parent.is_dir():
        parser.error(f"cannot write '{arguments.output}': there is no folder '{arguments.output.absolute().parent}'; create it first")
    ensure.ready()
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise ui.Stop("no C++ compiler: neither g++ nor clang++ is here, and CXX names none (Debian: apt-get install g++)")
    return compile_all(compiler, arguments, rest, ASCEND)


def compile_all(compiler, arguments, rest, ascend):
    shared = arguments.output.suffix == ".so"
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for number, source in enumerate(arguments.sources):
            copy = Path(folder) / f"{number}_{source.stem}.cc"
            text = source.read_text(encoding="utf-8", errors="surrogateescape")
            copy.write_text(translated(text, source.absolute()), encoding="utf-8", errors="surrogateescape")
            copies.append(str(copy))
        folders = dict.fromkeys([*(str(source.absolute().parent) for source in arguments.sources), *arguments.include, str(ascend / "include")])
        command = [*compiler.split(), "-std=c++17", "-O2", "-g", "-fPIC", "-fno-strict-aliasing", *(["-fno-gnu-unique"] if "g++" in Path(compiler.split()[0]).name and "clang" not in compiler else []),
                   *(f"-I{one}" for one in folders), *copies, "-o", str(arguments.output), *rest]
        if shared:
            command += ["-shared"]
        else:
            command += [f"-L{ascend / 'lib64'}", f"-Wl,-rpath,{ascend / 'lib64'}", "-lascendcl"]
        return subprocess.run(command, check=False).returncode


def translated(text, path):
    """The source as a C++ compiler takes it."""
    bare = SILENT.sub(lambda match: "@C" + " " * (len(match[0]) - 2) if match[0] == '"C"' else re.sub(r"[^\n]", " ", match[0]), text)
    names = [match[2] for match in GLOBAL.finditer(bare) if not match[1]]
    defined = [name for name in dict.fromkeys(names) if re.search(rf"\b{name}\s*\([^;{{}}]*\)\s*{{", bare)]
    tail = "".join(f"MILLPOND_KERNEL({name});\n" for name in defined if not re.search(rf"\bMILLPOND_KERNEL\(\s*{name}\s*\)", bare))
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'#include "kernel_operator.h"\n#line 1 "{quoted}"\n{launches(text, bare)}\n{tail}'


def launches(text, bare):
    """`name<<<blocks, reserved, stream>>>` as a call. Brackets are looked for in `bare`, which is as long."""
    out, at = [], 0
    while (begin := bare.find("<<<", at)) >= 0:
        end = bare.find(">>>", begin)
        callee = _callee(bare, begin)
        if end < 0 or callee is None:
            raise ui.Stop(f"line {bare.count(chr(10), 0, begin) + 1}: a launch <<<...>>> that is not understood: NAME<<<blocks, reserved, stream>>>(arguments)")
        parts = _split(text[begin + 3:end], bare[begin + 3:end])
        name = text[callee:begin].strip()
        stream = parts[2] if len(parts) > 2 else "nullptr"
        lines = "\n" * text.count("\n", begin, end)
        quoted = name.replace('"', '\\"').replace("\n", " ")
        out += [text[at:callee], f'::millpond_kernel::Launch<(&{name})>("{quoted}", {parts[0].strip()}, {stream.strip()}){lines}']
        at = end + 3
    return "".join([*out, text[at:]])


def _callee(bare, end):
    """Where the name before `end` begins; its template arguments are part of it."""
    at = end
    while at > 0 and bare[at - 1].isspace():
        at -= 1
    if at > 0 and bare[at - 1] == ">":
        depth = 0
        while at > 0:
            at -= 1
            depth += {">": 1, "<": -1}.get(bare[at], 0)
            if depth == 0:
                break
    match = CALLEE.search(bare, 0, at)
    return match.start() if match else None


def _split(text, bare):
    """At commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(bare):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]

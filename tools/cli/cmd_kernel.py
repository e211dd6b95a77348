# SPDX-License-Identifier: Apache-2.0
"""`kernel`: compiles a kernel's source (Ascend C, vector kernels) for this machine.

A C++ compiler lacks some things that the source relies on. What the parameters of a kernel are: after the source comes a
MILLPOND_KERNEL line for each __global__ function, which tells. And the launch with three angle brackets: it is written anew
as a call (millpond/kernel.h), in a copy whose lines keep their numbers. And the instruction `trap`, which becomes one that faults.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import ensure
import files
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
    parser.add_argument("--translate", action="store_true", help="write what the C++ compiler would be given, and compile nothing")
    parser.add_argument("-I", "--include", metavar="FOLDER", action="append", default=[], help="a folder with further headers")
    return parser


def kernel(argv):
    parser = kernel_parser()
    end = argv.index("--") if "--" in argv else len(argv)
    rest = argv[end + 1:]
    arguments = parser.parse_args(argv[:end])
    for source in arguments.sources:
        if not source.is_file():
            parser.error(f"'{source}' is not there")
    if not arguments.output.absolute().parent.is_dir():
        parser.error(f"cannot write '{arguments.output}': there is no folder '{arguments.output.absolute().parent}'; create it first")
    if arguments.translate:
        if len(arguments.sources) != 1:
            parser.error("--translate takes one SOURCE")
        files.write_whole(arguments.output, _translated_file(arguments.sources[0]))
        for name, header in launch_headers(arguments.sources[0].read_text(encoding="utf-8", errors="surrogateescape")).items():
            files.write_whole(arguments.output.parent / f"aclrtlaunch_{name}.h", header)
        return 0
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
            copy.write_text(_translated_file(source), encoding="utf-8", errors="surrogateescape")
            copies.append(str(copy))
        folders = dict.fromkeys([*(str(source.absolute().parent) for source in arguments.sources), *arguments.include, str(ascend / "include")])
        # A library whose symbols are unique in the process could not be unloaded; only gcc makes them.
        unique = ["-fno-gnu-unique"] if "g++" in compiler and "clang" not in compiler else []
        command = [*compiler.split(), "-std=c++17", "-O2", "-g", "-fPIC", "-fno-strict-aliasing", *unique,
                   *(f"-I{one}" for one in folders), *copies, "-o", str(arguments.output), *rest]
        if shared:
            command += ["-shared"]
        else:
            command += [f"-L{ascend / 'lib64'}", f"-Wl,-rpath,{ascend / 'lib64'}", "-lascendcl"]
        return subprocess.run(command, check=False).returncode


def _translated_file(source):
    return translated(source.read_text(encoding="utf-8", errors="surrogateescape"), source.absolute())


# A kernel may hold it as text for the assembler. A store to nowhere fails the task, as on a card; no core has the word otherwise.
TRAP = {"x86_64": "movl $0, 0", "aarch64": "mov x9, #0\\n str xzr, [x9]"}


def _trap():
    fault = TRAP.get(os.uname().machine)
    return f'__asm__(".macro trap\\n {fault}\\n .endm");\n' if fault else ""


# Types that a header can name without what the source includes.
PLAIN = re.compile(r"(?:const\s+)?(?:u?int(?:8|16|32|64)_t|float|double|int|unsigned|bool|char|size_t|long|short|void\s*\*)(?:\s+\w+)?")


def _bare(text):
    """The same text, as long, without comments and strings; but that of extern "C" is known again."""
    return SILENT.sub(lambda match: "@C" + " " * (len(match[0]) - 2) if match[0] == '"C"' else re.sub(r"[^\n]", " ", match[0]), text)


def _kernels(bare):
    """{name: its parameters} of the kernels that the source defines, templates aside."""
    names = [match[2] for match in GLOBAL.finditer(bare) if not match[1]]
    found = {name: re.search(rf"\b{name}\s*\(([^;{{}}]*)\)\s*{{", bare) for name in names}
    return {name: match[1] for name, match in found.items() if match}


def _launch_signature(name, parameters):
    """What aclrtlaunch_NAME takes, and passes on; None where a type is the source's own."""
    kinds = []
    for one in [part.strip() for part in parameters.split(",") if part.strip() not in ("", "void")]:
        kind = "void*" if "GM_ADDR" in one or "__gm__" in one else re.sub(r"\s*\b\w+$", "", one)
        if not PLAIN.fullmatch(kind):
            return None
        kinds.append(kind)
    taken = "".join(f", {kind} p{i}" for i, kind in enumerate(kinds))
    return f'extern "C" uint32_t aclrtlaunch_{name}(uint32_t blocks, void* stream{taken})', ", ".join(f"p{i}" for i in range(len(kinds)))


def launch_headers(text):
    """{kernel: the header that launches it by ACLRT_LAUNCH_KERNEL(kernel)(blocks, stream, arguments)}"""
    made = {}
    for name, parameters in _kernels(_bare(text)).items():
        signature = _launch_signature(name, parameters)
        if signature:
            made[name] = ("// Written by millpond kernel --translate.\n#pragma once\n#include <cstddef>\n#include <cstdint>\n"
                          "#ifndef ACLRT_LAUNCH_KERNEL\n#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel\n#endif\n"
                          f"{signature[0]};\n")
    return made


def _launchers(kernels):
    found = {name: _launch_signature(name, parameters) for name, parameters in kernels.items()}
    return "".join(f'{one[0]} __attribute__((visibility("default")));\n{one[0]} {{ return ::millpond_kernel::Launch<(&{name})>("{name}", blocks, stream)({one[1]}); }}\n'
                   for name, one in found.items() if one)


def translated(text, path):
    """The source as a C++ compiler takes it."""
    bare = _bare(text)
    kernels = _kernels(bare)
    defined = list(kernels)
    tail = _launchers(kernels) + "".join(f"MILLPOND_KERNEL({name});\n" for name in defined if not re.search(rf"\bMILLPOND_KERNEL\(\s*{name}\s*\)", bare))
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    trap = _trap() if re.search(r'\b(?:asm|__asm__)\b[^;]*"[^"]*\btrap\b', text) else ""
    return f'#include "kernel_operator.h"\n{trap}#line 1 "{quoted}"\n{launches(text, bare)}\n{tail}'


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

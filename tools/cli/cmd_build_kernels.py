# SPDX-License-Identifier: Apache-2.0
"""`build-kernels`: the library of kernels for one more release of torch.

A library of kernels is compiled against one release of torch, and the core takes the one that suits the torch in the process
(src/exec/op/torch_library.h): lib64/kernels/torch-<release>. Only the kernels are compiled; the core stays what it is.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import ensure
import pytorch
import ui
from arguments import Parser
from layout import ASCEND, BUILD, COMMAND, IN_TREE, ROOT, STAMPS

MIN_CMAKE = (3, 25)
TOOLS_HINT = "Debian and Ubuntu: apt-get install cmake g++ ninja-build; or pip install cmake ninja, and g++ 12 or newer"


def build_kernels_parser():
    parser = Parser("build-kernels", description="Compiles the kernels for the torch that a Python has, beside those that are there: operators then run with "
                    "that torch too. Takes some minutes and a C++ compiler. The command chooses among them by the torch that a program loads.")
    parser.add_argument("--python", metavar="PYTHON", type=Path, help="the Python whose torch it is (default: the active environment's, else the one that `run` takes)")
    parser.add_argument("--jobs", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="compile so many files at once (default: the cores)")
    return parser


def build_kernels(argv):
    arguments = build_kernels_parser().parse_args(argv)
    # Absolute, for cmake asks it from another folder; not resolved, for the link of an environment is what knows of its packages.
    python = Path(os.path.abspath(arguments.python)) if arguments.python else pytorch.active() or pytorch.chosen()
    found = pytorch.probe(python)
    if found.error or not found.torch:
        raise ui.Stop(f"{python}: {found.error or 'no torch'}; --python names one that has the torch you want to use")
    release = pytorch.release(found.torch["version"])
    if release == pytorch.wanted()["torch"] and (IN_TREE or (ASCEND / "lib64" / "libmillpond_kernels.so").exists()):  # not in a wheel for aarch64
        raise ui.Stop(f"{python}: torch {found.torch['version']} has kernels already: Millpond comes with them")
    require_tools()
    if IN_TREE:
        ensure.ready()
    _require_place()
    folder = folders() / f"{PREFIX}{release}"
    configure(folder, python)
    make(folder, release, arguments.jobs)
    ui.say(f"torch {release}: operators run with it from now on: {COMMAND} run -- {python} YOUR_PROGRAM")
    return 0


PREFIX = "kernels-torch-"


def folders():
    """Where build folders of further kernels stand."""
    return BUILD if IN_TREE else STAMPS


def built():
    """{release: build folder} of the further kernels that were made here, to the end."""
    return {path.name[len(PREFIX):]: path for path in sorted(folders().glob(f"{PREFIX}*")) if (path / "lib64" / "libmillpond_kernels.so").exists()}


def _sources():
    return ROOT if IN_TREE else ASCEND / "share" / "millpond" / "sources"


def require_tools():
    """cmake and a compiler, or a sentence that says how to get them."""
    cmake = shutil.which("cmake")
    said = subprocess.run([cmake, "--version"], capture_output=True, text=True, check=False).stdout if cmake else ""
    numbers = re.search(r"(\d+)\.(\d+)", said)
    version = (int(numbers[1]), int(numbers[2])) if numbers else None
    compiler = os.environ.get("CXX") or next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
    missing = []
    if version is None or version < MIN_CMAKE:
        missing.append(f"cmake {'.'.join(map(str, MIN_CMAKE))} or newer" + (f" (here: {version[0]}.{version[1]})" if version else ""))
    if compiler is None:
        missing.append("a C++ compiler")
    if missing:
        raise ui.Stop(f"compiling kernels needs {' and '.join(missing)}. {TOOLS_HINT}")


def _require_place():
    if not os.access(os.path.realpath(ASCEND / "lib64"), os.W_OK):
        raise ui.Stop(f"{ASCEND / 'lib64'} cannot be written: run this as the user who installed Millpond")


def configure(folder, python):
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    ui.step(f"configuring {folder.name}", ["cmake", "-S", _sources(), "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DMILLPOND_UNITY=ON",
            f"-DMILLPOND_FLOOR={'ON' if IN_TREE else 'OFF'}",  # a wheel goes elsewhere; what is compiled in an install stays there
            f"-DMILLPOND_KERNELS_FOR={ASCEND / 'lib64'}", f"-DMILLPOND_TORCH_PYTHON={python}", f"-DCMAKE_INSTALL_PREFIX={ASCEND}"], f"configure-{folder.name}.log")


def make(folder, release, jobs, prefix=ASCEND):
    """Builds what is not current and installs it."""
    ui.step(f"building the kernels for torch {release}", ["cmake", "--build", folder, "--target", "millpond_kernels", "-j", str(jobs)], f"build-{folder.name}.log")
    ui.step(f"installing them into {ui.shown(prefix)}", ["cmake", "--install", folder, "--prefix", prefix], f"install-{folder.name}.log")

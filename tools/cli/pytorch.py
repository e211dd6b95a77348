# SPDX-License-Identifier: Apache-2.0
"""Which Python has the torch that we need: the user's own if it is the right one, else .venv's.

Nothing here installs (pypi.py does) and nothing imports torch, which takes seconds: torch_probe.py looks at what is
installed, and its answer is kept until one of the folders it looked into changes.
"""

import contextlib
import os
import re
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import ui
from layout import HERE, INSTALLED, IN_TREE, STAMPS, VENV, data

REQUIREMENTS = "requirements-torch.txt"
PIN = re.compile(r"^([\w.-]+)==([^\s\\]+)", re.M)
SWITCH = "MILLPOND_TORCH"
INDEX = "MILLPOND_TORCH_INDEX"
# PyTorch's own, for compute platform CPU. Torch alone is taken from it, and by hash where we install.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
NO_INDEX = "none"
# Variables of the command line itself; the runtime's own are in src/base/options.def.
VARIABLES = {
    SWITCH: "off: ./millpond neither installs torch nor builds against it; for C and C++ programs only",
    INDEX: "address of an index that torch, and nothing else, is taken from; default: pip's own, and PyTorch's CPU index where that has a CUDA build; "
           "none: never another than pip's",
    "MILLPOND_PIP_OPTIONS": "more options for pip install, as on its command line",
    "MILLPOND_TORCH_LIB": "folder of libtorch_cpu.so for operators of a program that has not loaded torch; default: of the torch that they were "
                          "compiled against, or of the Python that a wheel's `millpond run` takes",
    "MILLPOND_SUDO": "yes: sudo may be used without a terminal, to install Debian packages",
}


def enabled():
    value = os.environ.get(SWITCH, "").lower()
    if value not in ("", "on", "off"):
        raise ui.Stop(f"environment variable {SWITCH}: '{value}' is not a choice; allowed: on (the default), off", code=2)
    return value != "off"


def wanted():
    """{'torch': version, 'torch_npu': version} as pinned."""
    pins = dict(PIN.findall(data(REQUIREMENTS).read_text()))
    return {name: pins[name] for name in ("torch", "torch_npu")}


def how_to_install(python=None):
    """Commands to paste: torch comes from an index that has its CPU build, for pip's own has a CUDA build, which torch_npu does not load beside."""
    import shlex
    pip = f"{shlex.quote(str(python))} -m pip" if python else "pip"
    index = os.environ.get(INDEX) or CPU_INDEX
    option = "" if index == NO_INDEX else f"--index-url {index} "
    pins = wanted()
    return f"{pip} install {option}torch=={pins['torch']} && {pip} install torch_npu=={pins['torch_npu']}"


def release(version):
    """2.13.0 of 2.13.0+cpu and 2.13.0.post1: +cpu and +cu130 are builds of one release; .postN mends packaging and keeps the binary interface."""
    return re.sub(r"(\.post\d+)?(\+.*)?$", "", version)


def further():
    """Releases of torch with kernels beside those of the pinned one (cmd_build_kernels.py)."""
    return sorted(path.parent.name[len("torch-"):] for path in (INSTALLED / "lib64" / "kernels").glob("torch-*/libmillpond_kernels.so"))


_NOT_INSTALLED = {}


class Found(namedtuple("Found", "python python_version torch torch_npu error", defaults=("", _NOT_INSTALLED, _NOT_INSTALLED, ""))):
    """python: as one would call it (.venv/bin/python is a link, and its target knows nothing of .venv). torch, torch_npu:
    version and folder; empty when not installed."""

    def complaints(self):
        """What keeps this Python from running torch_npu programs on Millpond; empty when nothing does."""
        return [text for text in map(self.complaint, ("torch", "torch_npu")) if text]

    def complaint(self, name):
        have = getattr(self, name).get("version")
        if self.error:
            return self.error
        if have is None:
            return f"no {name}"
        version = wanted()[name]
        mine = release(self.torch.get("version", ""))
        if mine in further():  # the wheel of torch_npu is for its own release of torch
            version = mine
        if release(have) != version:
            known = [version, *further()] if name == "torch" else [version]
            return f"{name} {have} where {' or '.join(known)} is needed"
        return ""

    def right(self):
        return not self.complaints()

    def pinned(self):
        """It has the torch that the tree itself is built against."""
        return release(self.torch.get("version", "")) == wanted()["torch"]


def _kept_path():
    return STAMPS / "torch-probe.json"


def _times(folders):
    times = []
    for folder in folders:
        try:
            times.append([folder, os.stat(folder).st_mtime_ns])
        except OSError:
            times.append([folder, None])
    return times


def _read_kept():
    import json
    try:
        return json.loads(_kept_path().read_text())
    except (OSError, ValueError):
        return {}


def probe(python):
    """What this Python has. Costs a process the first time (60 ms), a few stat calls later."""
    # The search path depends on these, so they are part of the question.
    question = "\0".join([str(python), os.environ.get("PYTHONPATH", ""), os.environ.get("PYTHONHOME", "")])
    kept = _read_kept()
    row = kept.get(question)
    if row and row["times"] == _times([folder for folder, _ in row["times"]]):
        return Found(str(python), row["python_version"], row["torch"], row["torch_npu"])
    import json
    import subprocess
    try:
        child = subprocess.run([str(python), str(HERE / "torch_probe.py")], capture_output=True, text=True, timeout=30,
                               stdin=subprocess.DEVNULL, check=True)
        answer = json.loads(child.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        absent = isinstance(error, FileNotFoundError) and not os.path.lexists(python)
        return Found(str(python), error="it is not there" if absent else f"it does not run ({type(error).__name__})")
    kept[question] = {key: answer[key] for key in ("python_version", "torch", "torch_npu")}
    kept[question]["times"] = _times([str(python), *answer["search"]])
    # A kept answer saves time and nothing else, so a folder that cannot be written is not an error; doctor makes none.
    with contextlib.suppress(OSError):
        if not IN_TREE:
            STAMPS.mkdir(parents=True, exist_ok=True)
        if STAMPS.is_dir():
            _kept_path().write_text(json.dumps(kept))
    return Found(str(python), answer["python_version"], answer["torch"], answer["torch_npu"])


def active():
    """The Python of the virtual environment or conda environment that the caller has active, or None."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        python = Path(os.environ.get(variable) or "/nowhere") / "bin" / "python"
        if python.exists():
            return python
    return None


def venv_holds(list_name=REQUIREMENTS):
    """.venv was given exactly what this list pins; pypi.py leaves the copy of it."""
    try:
        same = (VENV / f"millpond-{list_name}").read_text() == data(list_name).read_text()
    except OSError:
        return False
    return same and (VENV / "bin" / "python").exists()


def already_there():
    """A Python of the user's that has the right torch and torch_npu, or None. An active environment comes first;
    a Python on the PATH counts only as long as .venv has no torch, so that a choice once made stays."""
    python = active()
    if python and probe(python).right():
        return python
    return _pinned_on_path()


def pinned_there():
    """The same, and it has the torch that the tree is built against."""
    python = active()
    if python and probe(python).right() and probe(python).pinned():
        return python
    return _pinned_on_path()


def _pinned_on_path():
    if venv_holds():
        return None
    for name in ("python3", "python"):
        found = shutil.which(name)
        if found and probe(found).right() and probe(found).pinned():
            return Path(found)
    return None


def _chosen_by_install():
    """An active environment's; else the Python that the command is installed in, unless another on the PATH alone has the torch."""
    mine = Path(sys.executable)
    python = active()
    if python or not enabled() or probe(mine).right():
        return python or mine
    found = shutil.which("python3")
    return Path(found) if found and probe(found).right() else mine


def library_folder():
    """Of the torch under `run`, for programs that do not load it themselves; None in the tree, whose libraries know theirs."""
    if IN_TREE or not enabled() or not (INSTALLED / "lib64" / "libmillpond_kernels.so").exists():
        return None
    found = probe(chosen())
    return None if found.complaint("torch") else os.path.join(found.torch["folder"], "lib")


def chosen():
    """The Python under `run`. With torch switched off: the active one, whatever it has, else .venv's."""
    if not IN_TREE:
        return _chosen_by_install()
    ours = VENV / "bin" / "python"
    if not enabled():
        return active() or ours
    return already_there() or ours


def to_build_against():
    """The Python whose torch the kernels library is compiled against, or None.

    An earlier choice stays while it holds the pinned version: the same version has the same binary interface, and
    going to and fro between two environments must not compile the kernels anew each time.
    """
    if not enabled():
        return None
    kept = STAMPS / "torch-python"
    try:
        before = Path(kept.read_text())
        if before.exists() and probe(before).pinned():
            return before
    except OSError:
        pass
    python = pinned_there() or VENV / "bin" / "python"
    STAMPS.mkdir(parents=True, exist_ok=True)
    kept.write_text(str(python))
    return python

# SPDX-License-Identifier: Apache-2.0
"""The environment of a program on the virtual NPU: set_env.sh's variables, and ours from the options.

packaging/set_env.sh says the same for shells; tests/cli compares the two.
"""

import argparse
import os
import re
import shutil
from pathlib import Path

import pytorch
import ui
from layout import ASCEND, DEFAULT_SOC, data, known_socs

MAX_DEVICES = 64
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"^(\d+)(?:\.(\d+))?\s*([KMGT]?)(?:i?B)?$", re.IGNORECASE)
SIZE_FORM = "a number with an optional unit K, M, G or T (powers of 1024; 'B' and 'iB' may follow), e.g. 512M, 16G, 1.5GiB"
MIN_MEMORY = 2 << 20
CANN = re.compile(r"\d{1,2}\.\d{1,2}\.(\d{1,2}|RC\d{1,2})([.-][\w.]{1,20})?", re.ASCII | re.IGNORECASE)
SCHEDULE = re.compile(r"hold:\d{1,9}:\d{1,18}|pct:\d{1,18}(?::(\d{1,18}(?:,\d{1,18})*))?", re.ASCII)


def parse_soc(text):
    known = known_socs()
    for name in (text, f"Ascend{text}"):
        if name in known:
            return name
    import nearest
    raise argparse.ArgumentTypeError(f"unknown SoC '{text}'{nearest.hint(text, known)}; known: {', '.join(known)}")


def parse_devices(text):
    if not text.isdecimal() or not 1 <= int(text) <= MAX_DEVICES:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of devices; allowed: 1 to {MAX_DEVICES}")
    return str(int(text))


def parse_memory(text):
    match = SIZE.match(text.strip())
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size; allowed: {SIZE_FORM}")
    unit = UNITS[match[3].upper()]
    size = int(match[1]) * unit
    if match[2]:
        size += int(match[2]) * unit // 10 ** len(match[2])
    if size < MIN_MEMORY:
        raise argparse.ArgumentTypeError(f"'{text}' is {size} bytes; a device needs at least {MIN_MEMORY} (2M)")
    return str(size)


def parse_seed(text):
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"'{text}' is not a seed; allowed: 0 to {(1 << 64) - 1}")
    return str(int(text))


def parse_cann(text):
    if not CANN.fullmatch(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a version of CANN; such as 9.0.0, 8.5.0 or 8.3.RC1")
    return text


def parse_schedule(text):
    match = SCHEDULE.fullmatch(text)
    steps = [int(step) for step in match[1].split(",")] if match and match[1] else []
    if not match or steps != sorted(set(steps)):
        raise argparse.ArgumentTypeError(f"'{text}' is not an order of tasks; known: hold:STREAM:TASK, such as hold:3:12, and pct:SEED:STEP,STEP "
                                         "with ascending steps, such as pct:7:120,455, as `check --explore` prints them")
    return text


def parse_output(text):
    """A file that will be written: absolute, because the program may change its folder; refused before anything runs."""
    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write '{path}': there is no folder '{path.parent}'; create it first")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write '{path}': it is a folder or not writable")
    return str(path)


OPTIONS = (
    ("--soc", "MILLPOND_SOC", "NAME", parse_soc, f"device profile (default {DEFAULT_SOC}); an unknown name lists the known ones"),
    ("--devices", "MILLPOND_DEVICES", "N", parse_devices, f"number of virtual devices, 1 to {MAX_DEVICES} (default 1)"),
    ("--memory", "MILLPOND_MEMORY", "SIZE", parse_memory, "memory per device: " + SIZE_FORM),
    ("--cann", "MILLPOND_CANN", "VERSION", parse_cann, "CANN version that the libraries report, such as 8.5.0 or 8.3.RC1 (default: the tree's)"),
    ("--seed", "MILLPOND_SEED", "N", parse_seed, "seeded scheduler: the same N gives the same order of tasks"),
    ("--schedule", "MILLPOND_SCHEDULE", "ORDER", parse_schedule, "an order of tasks that `check --explore` has printed"),
    ("--trace", "MILLPOND_TRACE", "FILE", parse_output, "write a Chrome/Perfetto trace to FILE"),
)


def add_options(parser):
    for flag, variable, metavar, parse, text in OPTIONS:
        parser.add_argument(flag, dest=variable, metavar=metavar, type=parse, help=text)


def chosen(arguments):
    """The MILLPOND_ variables that the options set; one already in the environment stays unless an option replaces it."""
    values = vars(arguments)
    return {row[1]: values[row[1]] for row in OPTIONS if values.get(row[1]) is not None}


def _prepend(old, *folders):
    rest = [part for part in (old or "").split(":") if part and part not in folders]
    return ":".join([*folders, *rest])


def ascend(base=None, prefix=ASCEND):
    """What sourcing <prefix>/set_env.sh changes, given the environment base."""
    base = os.environ if base is None else base
    top = str(prefix)
    return {
        "ASCEND_HOME_PATH": top,
        "ASCEND_TOOLKIT_HOME": top,
        "ASCEND_AICPU_PATH": top,
        "ASCEND_OPP_PATH": f"{top}/opp",
        "TOOLCHAIN_HOME": f"{top}/toolkit",
        "PATH": _prepend(base.get("PATH", os.defpath), f"{top}/bin"),
        "LD_LIBRARY_PATH": _prepend(base.get("LD_LIBRARY_PATH"), f"{top}/lib64"),
        "PYTHONPATH": _prepend(base.get("PYTHONPATH"), f"{top}/python/site-packages"),
        "CMAKE_PREFIX_PATH": _prepend(base.get("CMAKE_PREFIX_PATH"), f"{top}/lib64/cmake"),
        "PKG_CONFIG_PATH": _prepend(base.get("PKG_CONFIG_PATH"), f"{top}/lib64/pkgconfig"),
    }


def for_program(arguments):
    """The whole environment for `run`. A python in it is the one with the right torch: pytorch.chosen()."""
    result = dict(os.environ)
    python = pytorch.chosen()
    path = result.get("PATH", os.defpath)
    if python.exists() and shutil.which(python.name, path=path) != str(python):
        result["PATH"] = _prepend(path, str(python.parent))
    result.update(ascend(result))
    result.update(of_torch(result))
    result.update(chosen(arguments))
    return result


def of_torch(base):
    """Where operators of a program without torch find one, unless the caller says it."""
    folder = None if base.get("MILLPOND_TORCH_LIB") else pytorch.library_folder()
    return {"MILLPOND_TORCH_LIB": folder} if folder else {}


def known_settings():
    """{variable: sentence}: the runtime's own table, and the command line's."""
    table = data("src/base/options.def")
    rows = re.findall(r'^MP_OPTION\(\w+,\s*"(\w+)",\s*"[^"]*",\s*"([^"]*)"', table.read_text() if table.exists() else "", re.M)
    return {**dict(rows), **pytorch.VARIABLES}


def _warn_of_typos():
    """A MILLPOND_ variable that nobody reads and that looks like one that is read: said, because nothing else would."""
    given = [name for name in os.environ if name.startswith("MILLPOND_")]
    known = known_settings() if given else {}
    for name in given:
        if known and name not in known:
            import nearest
            hint = nearest.hint(name, known, "MILLPOND_")
            if hint:
                ui.say(f"environment variable {name}: no setting of that name{hint}")


def check_inherited(more=(), typos=True):
    """Refuses a bad MILLPOND_ value that came with the environment, as the option would be. more: rows beside OPTIONS. typos: say so
    where a variable's name is nearly one of ours."""
    pytorch.enabled()
    if typos:
        _warn_of_typos()
    for _, variable, _, parse, _ in (*OPTIONS, *more):
        if os.environ.get(variable):
            try:
                parse(os.environ[variable])
            except argparse.ArgumentTypeError as error:
                raise ui.Stop(f"environment variable {variable}: {error}", code=2) from None

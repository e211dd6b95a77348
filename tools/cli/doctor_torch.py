# SPDX-License-Identifier: Apache-2.0
"""The doctor on PyTorch: which torch `run` uses, whether it is the right one, and what the kernels were built against."""

import argparse
import os
import subprocess
from pathlib import Path

import environment
import pytorch
from layout import HERE, INSTALLED, IN_TREE, VENV

KERNELS = INSTALLED / "lib64" / "libmillpond_kernels.so"
INFO = INSTALLED / "share" / "millpond" / "torch.info"


def torch(report):
    if not pytorch.enabled():
        report.ok(f"{pytorch.SWITCH}=off: torch is left out; C and C++ programs without operators work")
        return
    python = pytorch.chosen()
    active(report, python)
    if not python.exists():
        report.warn(".venv is not made, and no other Python with the right torch was found", "./millpond demo makes it")
        return
    found = pytorch.probe(python)
    if versions(report, found):
        imports(report, python)
    kernels(report, found)
    amx(report)


def active(report, python):
    mine = pytorch.active()
    if mine and mine != python:
        report.warn(f"active environment {mine.parent.parent}: {' and '.join(pytorch.probe(mine).complaints())}",
                    f"`run` takes {python} instead; to use yours: {pytorch.how_to_install(mine)} (docs/pytorch.md)")


def versions(report, found):
    ours = Path(found.python) == VENV / "bin" / "python"
    for name in ("torch", "torch_npu"):
        complaint = found.complaint(name)
        if not complaint:
            report.ok(f"{name} {getattr(found, name)['version']} in {found.python} (Python {found.python_version})")
        elif not IN_TREE:
            report.warn(f"{found.python}: {complaint}", f"operators and torch_npu programs need it: {pytorch.how_to_install()}")
        elif ours and not pytorch.venv_holds():
            report.warn(f"{found.python}: {complaint}", "./millpond demo installs what requirements-torch.txt pins")
        else:
            # Its copy of the list says that it was installed: it was changed since.
            report.fail(f"{found.python}: {complaint}", pytorch.how_to_install(found.python))
    return found.right()


def imports(report, python):
    if not (INSTALLED / "lib64" / "libascendcl.so").exists():
        return  # the libraries' own section says so
    variables = environment.for_program(argparse.Namespace())
    command = [str(python), str(HERE / "torch_check.py"), "operators" if KERNELS.exists() else "import"]
    try:
        child = subprocess.run(command, env=variables, cwd="/", capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        report.fail("import torch_npu and one operator: no end after 120 s", "py-spy or gdb on the same command: " + " ".join(command))
        return
    lines = child.stdout.splitlines()
    bad = [line for line in lines if not line.startswith("ok ")]
    for line in lines:
        if line.startswith("ok "):
            report.ok(line[3:])
    for line in bad:
        report.fail(line, "CANN's log says more: ASCEND_GLOBAL_LOG_LEVEL=1 ASCEND_SLOG_PRINT_TO_STDOUT=1 ./millpond run -- ...")
    if child.returncode != 0 and not bad:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        report.fail(f"import torch_npu ended with status {child.returncode}: {last}", "./millpond run -- python -X faulthandler -c 'import torch_npu'")


def built_against():
    """{version, folder} of the torch that the kernels library was compiled against, {} when nothing says so."""
    try:
        return dict(line.split("=", 1) for line in INFO.read_text().splitlines() if "=" in line)
    except OSError:
        return {}


def kernels(report, found):
    built = built_against()
    if not KERNELS.exists():
        report.warn("libmillpond_kernels.so is not installed: operators (aclnn) cannot run",
                    "./millpond demo builds it against the torch above")
        return
    if not built:
        report.warn("libmillpond_kernels.so is there, but not the file that names its torch", "rm -r build/ascend, ./millpond demo")
        return
    have = found.torch.get("version", "none")
    if pytorch.release(have) in pytorch.further():
        report.ok(f"kernels for torch {', '.join([built.get('version', '?'), *pytorch.further()])}; `run` has torch {have}")
        return
    if not IN_TREE:
        report.ok(f"kernels are built against torch {built.get('version', '?')}; `run` has torch {have}")
        return
    fact = f"kernels are built against torch {built.get('version', '?')} in {built.get('folder', '?')}"
    if not Path(built.get("folder", "")).is_dir():
        report.fail(f"{fact}, which is gone", "./millpond demo rebuilds them")
    elif have.split("+")[0] != built.get("version", "").split("+")[0]:
        report.fail(f"{fact}; `run` uses torch {have}", "./millpond demo rebuilds them against the torch that `run` uses")
    else:
        report.ok(fact)


def amx(report):
    try:
        flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split()
    except (OSError, IndexError):
        flags = []
    has = "has AMX (bf16 and int8 matrix units)" if "amx_tile" in flags else "has no AMX"
    cap = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA")
    report.ok(f"the CPU {has}; ONEDNN_MAX_CPU_ISA is " + (f"{cap}" if cap else "not set"))

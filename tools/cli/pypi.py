# SPDX-License-Identifier: Apache-2.0
"""Makes .venv hold the pinned packages, and never lets pip fetch a CUDA build of torch: Millpond has no use for one.

Each list of requirements leaves a copy of itself in .venv, so a later call compares two files and goes on. A changed list
is installed into the .venv that is there: made anew it would fetch torch again.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

import pytorch
import ui
from layout import ROOT, VENV

BASE = "requirements.txt"
OPTIONS_VARIABLE = "MILLPOND_PIP_OPTIONS"
CUDA_PACKAGE = re.compile(r"^(nvidia|cuda|triton)\b", re.IGNORECASE)
HEAD_SECONDS = 10


def options():
    text = os.environ.get(OPTIONS_VARIABLE, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ui.Stop(f"environment variable {OPTIONS_VARIABLE}: {error} in: {text}", code=2) from None


def _stamp(list_name):
    return VENV / f"millpond-{list_name}"


def install(list_name, before=None):
    """Puts a list of requirements into .venv. before: called when .venv stands and before pip fetches anything."""
    if not _venv_works():
        shutil.rmtree(VENV, ignore_errors=True)
        ui.step("making .venv", [sys.executable, "-m", "venv", VENV], "venv.log")
    _stamp(list_name).unlink(missing_ok=True)
    if before:
        before()
    wanted = (ROOT / list_name).read_text()
    title = f"installing {list_name} into .venv"
    ui.say(f"{title} ...")
    command = [*_pip(), "install", "-r", ROOT / list_name, *options()]
    status, log_path, span = ui.run_logged(title, command, f"pip-{Path(list_name).stem}.log")
    if status != 0:
        print(ui.tail(log_path, 15), file=sys.stderr)
        names = " ".join(line for line in wanted.split("\n") if line and not line.startswith("#"))
        raise ui.Stop(f"pip could not install: {names}\n    with the network back, run the same command again, or by hand: "
                      f"python3 -m venv .venv && .venv/bin/pip install -r {list_name}\n"
                      f"    {OPTIONS_VARIABLE} passes pip more options, an index for example")
    _stamp(list_name).write_text(wanted)
    ui.say(f"{title}: done in {ui.seconds(span)}")


def _pip():
    # -m pip: a pip that replaces itself must not be started through its script.
    return [VENV / "bin" / "python", "-m", "pip", "--no-input", "--disable-pip-version-check"]


def _venv_works():
    try:
        check = subprocess.run([str(VENV / "bin" / "python"), "-c", "import pip"], capture_output=True, timeout=60, check=False)
        return check.returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _dry_run(*what):
    """pip's own answer to `what would you install?`, from metadata alone; None when it has none."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [*_pip(), "install", "--dry-run", "--ignore-installed", "--quiet", "--report", report, *options(), *what]
        status, _, _ = ui.run_logged("asking pip which torch it would take", command, "pip-dry-run.log")
        if status != 0 or not report.exists():
            return None
        return json.loads(report.read_text())["install"]


def _name(row):
    return row["metadata"]["name"]


def _is_cuda(row):
    """A build that needs CUDA packages. An extra's needs do not count: nobody asked for the extra."""
    needs = row["metadata"].get("requires_dist", [])
    return any(CUDA_PACKAGE.match(need) and "extra ==" not in need for need in needs)


def _bytes(url):
    try:
        if url.startswith("file:"):
            return os.path.getsize(urllib.request.url2pathname(urllib.parse.urlparse(url).path))
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=HEAD_SECONDS) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, TypeError, ValueError):
        return None


def _size_text(rows):
    sizes = [_bytes(row["download_info"]["url"]) for row in rows]
    known = sum(size for size in sizes if size is not None)
    if not known:
        return "of a size the index does not tell"
    unit, text = (1 << 30, "GB") if known >= 1 << 30 else (1 << 20, "MB")
    return f"{'at least ' if None in sizes else ''}{known / unit:.1f} {text}"


def refuse_cuda():
    """Stops before the download when the torch that pip would take is a CUDA build."""
    version = pytorch.wanted()["torch"]
    first = _dry_run("--no-deps", f"torch=={version}")
    # No answer: pip cannot find that torch. Let it say so itself.
    if not first or not _is_cuda(first[0]):
        return
    everything = _dry_run(f"torch=={version}") or first
    cuda = [row for row in everything if _name(row) == "torch" or CUDA_PACKAGE.match(_name(row))]
    raise ui.Stop(
        f"pip would take a CUDA build of torch {version}: {len(cuda)} packages, {_size_text(cuda)}. Nothing was downloaded.\n"
        "    Millpond computes on the CPU and needs the CPU build only (about 0.2 GB). One of these:\n"
        f"    - {OPTIONS_VARIABLE}='--extra-index-url ADDRESS' ./millpond ...   with the address of PyTorch's CPU index,\n"
        "      which PyTorch's page \"Get started\" shows for compute platform CPU\n"
        f"    - activate an environment that has torch {version} and torch_npu {pytorch.wanted()['torch_npu']}; it is used as it is\n"
        f"    - {pytorch.SWITCH}=off ./millpond ...   for C and C++ programs that need no operators")

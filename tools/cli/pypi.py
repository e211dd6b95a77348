# SPDX-License-Identifier: Apache-2.0
"""Makes .venv hold the pinned packages, and never lets pip fetch a CUDA build of torch: Millpond has no use for one.

What is installed is what the lists name by hash, wherever it comes from, and wheels alone: no code of a package runs
before it is imported. tools/gen_hashes.py writes the hashes.

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
CHECKED = ["--require-hashes", "--only-binary", ":all:"]


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
    if list_name == pytorch.REQUIREMENTS and _torch_index():
        _install("torch", _torch_alone(wanted), ["--no-deps", *_torch_index()])
    _install(list_name, wanted, options())
    _stamp(list_name).write_text(wanted)


def _install(name, wanted, more):
    title = f"installing {name} into .venv"
    ui.say(f"{title} ...")
    with tempfile.TemporaryDirectory() as folder:
        wishes = Path(folder) / "requirements.txt"
        wishes.write_text(wanted)
        status, log_path, span = ui.run_logged(title, [*_pip(), "install", *CHECKED, "-r", wishes, *more], f"pip-{Path(name).stem}.log")
    if status != 0:
        print(ui.tail(log_path, 15), file=sys.stderr)
        names = " ".join(f"{package}=={version}" for package, version in pytorch.PIN.findall(wanted))
        raise ui.Stop(f"pip could not install: {names}\n    with the network back, run the same command again, or by hand: "
                      f"python3 -m venv .venv && .venv/bin/pip install -r {name}\n"
                      f"    {OPTIONS_VARIABLE} passes pip more options, a proxy for example; a hash that differs is another file: do not use it")
    ui.say(f"{title}: done in {ui.seconds(span)}")


_fallback = []  # pip's options for PyTorch's CPU index, where pip's own would give a CUDA build


def _torch_index():
    """pip's options for taking torch from an index of its own."""
    address = os.environ.get(pytorch.INDEX)
    return ["--index-url", address] if address and address != pytorch.NO_INDEX else _fallback


def _torch_alone(wanted):
    """torch's lines of a list: the pin and its hashes."""
    return re.search(r"^torch==(?:.*\\\n)*.*\n", wanted, re.M)[0]


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
    """What pip would install, from metadata alone; None when it cannot tell."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [*_pip(), "install", "--dry-run", "--ignore-installed", "--quiet", "--report", report, *(_torch_index() or options()), *what]
        status, _, _ = ui.run_logged("asking pip which torch it would take", command, "pip-dry-run.log")
        if status != 0 or not report.exists():
            return None
        return json.loads(report.read_text())["install"]


def _name(row):
    return row["metadata"]["name"]


def _is_cuda(row):
    """A build that needs CUDA packages. Requirements of extras do not count: extras are not installed."""
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


def _cpu_index_has_it(version):
    """Takes torch from PyTorch's CPU index from now on, if that can be reached and has it."""
    if os.environ.get(pytorch.INDEX):
        return False
    _fallback[:] = ["--index-url", pytorch.CPU_INDEX, "--retries", "1", "--timeout", str(HEAD_SECONDS)]
    found = _dry_run("--no-deps", f"torch=={version}")
    if found and not _is_cuda(found[0]):
        ui.say(f"torch {version}: pip's index has a CUDA build, so the CPU build of PyTorch's own index is taken")
        return True
    _fallback.clear()
    return False


def refuse_cuda():
    """Stops before the download when the torch that pip would take is a CUDA build and PyTorch's CPU index cannot be reached."""
    version = pytorch.wanted()["torch"]
    first = _dry_run("--no-deps", f"torch=={version}")
    # No answer: pip cannot find that torch. Let it say so itself.
    if not first or not _is_cuda(first[0]) or _cpu_index_has_it(version):
        return
    everything = _dry_run(f"torch=={version}") or first
    cuda = [row for row in everything if _name(row) == "torch" or CUDA_PACKAGE.match(_name(row))]
    raise ui.Stop(
        f"pip would take a CUDA build of torch {version}: {len(cuda)} packages, {_size_text(cuda)}. Nothing was downloaded.\n"
        "    Millpond computes on the CPU and needs the CPU build only (about 0.2 GB). One of these:\n"
        f"    - {pytorch.INDEX}=ADDRESS ./millpond ...   with the address of a mirror of PyTorch's CPU index ({pytorch.CPU_INDEX},\n"
        "      which was not reached); torch alone is taken from it\n"
        f"    - activate an environment that has torch {version} and torch_npu {pytorch.wanted()['torch_npu']}; it is used unchanged\n"
        f"    - {pytorch.SWITCH}=off ./millpond ...   for C and C++ programs that need no operators")

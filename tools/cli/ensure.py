# SPDX-License-Identifier: Apache-2.0
"""From nothing to a built and installed tree, and a quick way to see that nothing is to be done.

A later call must cost under a second, so no step asks its tool whether it is up to date: packages are one dpkg-query
(packages.sh), .venv carries a copy of the requirements it was given (pypi.py), and a build carries the fingerprint (path
and content: 10 ms for 2 MB) of every source file it saw. Only when one differs does the tool run, and then it decides what
to do. Not times: a CI that restores build/ from its cache has a fresh checkout beside it.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import time

import pypi
import pytorch
import ui
from layout import ASCEND, BUILD, HERE, LOG, PACKAGING, ROOT, STAMPS, build_dir

# What a build reads. Tests count only when they are built too.
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tools", "examples", "packaging", "profiles",
           "python")
TEST_SOURCES = ("tests", "abi")
INSTALL_TARGET = "install_set"  # packaging/CMakeLists.txt: everything that is installed, and no test


def packages(list_name="debian-packages.txt"):
    status = subprocess.run(["sh", str(HERE / "packages.sh"), str(PACKAGING / list_name), str(LOG)]).returncode
    if status != 0:
        raise ui.Stop("stopped: packages are missing (see above)")


def fingerprint(entries, root=ROOT):
    digest = hashlib.sha256()

    def add(path, name):
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            return
        digest.update(f"{name}\0{len(content)}\n".encode())
        digest.update(content)

    def walk(folder, prefix):
        with os.scandir(folder) as listing:
            for entry in sorted(listing, key=lambda item: item.name):
                if entry.name in ("__pycache__", ".pytest_cache") or entry.name.endswith(".pyc"):
                    continue
                name = f"{prefix}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    walk(entry.path, name)
                else:
                    add(entry.path, name)

    for top in entries:
        path = root / top
        if path.is_dir():
            walk(path, top)
        elif path.exists():
            add(path, top)
    return digest.hexdigest()


@contextlib.contextmanager
def _only_one():
    """Two ./millpond calls at once: the second waits, then finds the work done."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / ".millpond.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            ui.say("another ./millpond is building; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stamp_matches(name, value):
    path = STAMPS / name
    return path.exists() and path.read_text() == value


def _write_stamp(name, value):
    STAMPS.mkdir(parents=True, exist_ok=True)
    (STAMPS / name).write_text(value)


def venv_list(list_name, before=None):
    """Makes .venv hold one list of requirements."""
    if not pytorch.venv_holds(list_name):
        with _only_one():
            if not pytorch.venv_holds(list_name):
                pypi.install(list_name, before=before)


def venv(torch=False):
    """Makes .venv hold requirements.txt, and requirements-torch.txt if asked."""
    venv_list(pypi.BASE)
    if torch:
        venv_list(pytorch.REQUIREMENTS, before=pypi.refuse_cuda)


def torch():
    """The Python packages of `run`: none of ours if the user has the right torch already."""
    venv(torch=pytorch.enabled() and pytorch.already_there() is None)


def _torch_define():
    python = pytorch.to_build_against()
    return f"-DMILLPOND_TORCH_PYTHON={python or 'off'}"


def jobs():
    return str(len(os.sched_getaffinity(0)))


def build(preset="release", targets=(INSTALL_TARGET,), defines=(), sources=SOURCES, name=None):
    """Configures and builds targets of a preset (all of them when targets is empty) unless the stamp says it is done.

    name: a build folder of its own, for a variant of the preset.
    """
    folder = build_dir(name or preset)
    defines = (_torch_define(), *defines)
    stamp = f"{folder.name}-{'+'.join(targets) or 'all'}"

    def done(state):
        return _stamp_matches(stamp, state) and (folder / "build.ninja").exists()

    def state():
        return f"{fingerprint(sources)} {' '.join(defines)}"

    if done(state()):
        return
    with _only_one():
        before = state()
        if done(before):
            return
        _drop_moved(folder)
        place = ["-B", folder] if name else []
        ui.step(f"configuring {folder.name}", ["cmake", "--preset", preset, *place, *defines], f"configure-{folder.name}.log")
        command = ["cmake", "--build", folder, "-j", jobs()]
        if targets:
            command += ["--target", *targets]
        ui.step(f"building {folder.name}", command, f"build-{folder.name}.log")
        _write_stamp(stamp, before)


def _drop_moved(folder):
    """CMake refuses a build folder whose tree was elsewhere when it was made."""
    try:
        cache = (folder / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return
    if f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" not in cache:
        ui.say(f"{ui.shown(folder)} was made for a tree at another place; making it anew")
        shutil.rmtree(folder)


def install():
    """Copies the release build into build/ascend when it changed since the last copy."""
    # The build's own stamp, not a fresh fingerprint: a file saved between the two steps must not count as installed.
    built = STAMPS / f"release-{INSTALL_TARGET}"
    value = built.read_text() if built.exists() else "unbuilt"
    if _stamp_matches("install", value) and (ASCEND / "set_env.sh").exists():
        return
    with _only_one():
        ui.step("installing into build/ascend", ["cmake", "--install", build_dir("release")], "install.log")
        _write_stamp("install", value)


def ready(tests=False):
    """Everything `run` and `demo` need; the tests use .venv's torch, whatever else there is. The sh half has seen to the
    Debian packages already."""
    started = time.monotonic()
    if tests:
        venv(torch=pytorch.enabled())
    else:
        torch()
    build()
    install()
    return time.monotonic() - started

# SPDX-License-Identifier: Apache-2.0
"""From nothing to a built and installed tree, and a quick way to see that nothing is to be done.

A later call must cost under a second, so no step asks its tool whether it is up to date: packages are looked
at only before something is built or installed (packages.sh), .venv carries a copy of the requirements it was given (pypi.py), and a build carries the fingerprint (path
and content) of every source file it saw. Only when one differs does the tool run, and then it decides what
to do. Not times: a CI that restores build/ from its cache has a fresh checkout beside it. Times only spare the reading: as long
as no file changed its size, its inode or the time of its last change, the fingerprint is the one that was taken.
"""

import contextlib
import functools
import os
import time

import pytorch
import ui
from layout import ASCEND, BUILD, HERE, IN_TREE, LOG, PACKAGING, ROOT, STAMPS, build_dir

# What a build reads. Tests count only when they are built too.
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tools", "examples", "packaging", "profiles",
           "python")
TEST_SOURCES = ("tests", "abi")
INSTALL_TARGET = "install_set"  # packaging/CMakeLists.txt: everything that is installed, and no test


SETTLED_SECONDS = 2  # a file that changed just now may change again at the same clock tick


@functools.cache
def packages(list_name="debian-packages.txt"):
    """Once per call and list; not at all when nothing is to be built or installed."""
    import subprocess
    status = subprocess.run(["sh", str(HERE / "packages.sh"), str(PACKAGING / list_name), str(LOG)], check=False).returncode
    if status != 0:
        raise ui.Stop("stopped: packages are missing (see above)")


def _files(folder, prefix):
    """(name, path, stat) of each file below a folder, in order; a link counts as what it leads to."""
    with os.scandir(folder) as listing:
        for entry in sorted(listing, key=lambda item: item.name):
            if entry.name in ("__pycache__", ".pytest_cache") or entry.name.endswith(".pyc"):
                continue
            name = f"{prefix}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, name)
            else:
                with contextlib.suppress(OSError):
                    yield name, entry.path, entry.stat()


def _all_files(entries, root):
    for top in entries:
        path = os.path.join(root, top)
        if os.path.isdir(path):
            yield from _files(path, top)
        elif os.path.exists(path):
            yield top, path, os.stat(path)


def fingerprint(entries, root=ROOT):
    rows = list(_all_files(entries, root))
    seen = "".join(f"{name} {stat.st_size} {stat.st_ino} {stat.st_ctime_ns}\n" for name, _, stat in rows)
    kept = STAMPS / f"seen-{len(entries)}"
    with contextlib.suppress(OSError, ValueError):
        digest, before = kept.read_text().split("\n", 1)
        if before == seen:
            return digest
    digest = _content_digest(rows)
    newest = max((stat.st_ctime for _, _, stat in rows), default=0)
    if STAMPS.is_dir() and newest < time.time() - SETTLED_SECONDS:
        with contextlib.suppress(OSError):
            kept.write_text(f"{digest}\n{seen}")
    return digest


def _content_digest(rows):
    import hashlib
    digest = hashlib.sha256()
    for name, path, _ in rows:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            content = file.read()
            digest.update(f"{name}\0{len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


@contextlib.contextmanager
def _only_one(work="building"):
    """Two ./millpond calls at once: the second waits, then finds the work done. One lock per kind of work: Python packages
    are fetched while the core is built."""
    import fcntl
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / f".millpond-{work}.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            ui.say(f"another ./millpond is {work}; waiting for it")
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
        import pypi
        packages()
        with _only_one("installing"):
            if not pytorch.venv_holds(list_name):
                pypi.install(list_name, before=before)


def venv(torch=False):
    """Makes .venv hold requirements.txt, and requirements-torch.txt if asked."""
    venv_list("requirements.txt")
    if torch:
        venv_list(pytorch.REQUIREMENTS, before=_refuse_cuda)


def _refuse_cuda():
    import pypi
    pypi.refuse_cuda()


def torch():
    """The Python packages of `run`: none of ours if the user has the right torch already."""
    venv(torch=pytorch.enabled() and pytorch.pinned_there() is None)


class NoTorch(ui.Stop):
    """Torch could not be installed; what needs none runs."""


@contextlib.contextmanager
def torch_meanwhile():
    """Installs the Python packages beside what the caller does; at the end of the block they are there, or a Stop says why."""
    import threading
    failure = []
    packages()

    def install_packages():
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # of this thread, and of what it starts: the caller's build is what is waited for
        try:
            torch()
        except ui.Stop as stop:
            failure.append(stop)

    thread = threading.Thread(target=install_packages, daemon=True)
    thread.start()
    yield
    if thread.is_alive():
        ui.say("waiting for the Python packages ...")
    thread.join()
    if failure:
        raise NoTorch(str(failure[0]), failure[0].code)


def _torch_is_there():
    return pytorch.pinned_there() is not None or pytorch.venv_holds()


def _torch_define():
    python = pytorch.to_build_against()
    return f"-DMILLPOND_TORCH_PYTHON={python or 'off'}"


def jobs():
    return str(len(os.sched_getaffinity(0)))


class _Build:
    """One build folder with what is asked of it."""

    def __init__(self, preset, targets, defines, sources, name):
        self.preset = preset
        self.named = name is not None
        self.folder = build_dir(name or preset)
        self.targets = targets
        self.defines = defines
        self.sources = sources
        self.stamp = f"{self.folder.name}-{'+'.join(targets) or 'all'}"

    def state(self):
        return f"{fingerprint(self.sources)} {' '.join(self.defines)}"

    def done(self, state):
        return _stamp_matches(self.stamp, state) and (self.folder / "build.ninja").exists()

    def run(self):
        if self.done(self.state()):
            return
        packages()
        with _only_one():
            before = self.state()
            if self.done(before):
                return
            _drop_moved(self.folder)
            name = self.folder.name
            place = ["-B", self.folder] if self.named else []
            ui.step(f"configuring {name}", ["cmake", "--preset", self.preset, *place, *self.defines], f"configure-{name}.log")
            command = ["cmake", "--build", self.folder, "-j", jobs()]
            if self.targets:
                command += ["--target", *self.targets]
            ui.step(f"building {name}", command, f"build-{name}.log")
            _write_stamp(self.stamp, before)


def build(preset="release", targets=(INSTALL_TARGET,), defines=(), sources=SOURCES, name=None):
    """Configures and builds targets of a preset (all of them when targets is empty) unless the stamp says it is done.

    name: a build folder of its own, for a variant of the preset.
    """
    _Build(preset, targets, (_torch_define(), *defines), sources, name).run()


def is_built():
    """What `run` needs is there and current, torch too."""
    if pytorch.enabled() and not _torch_is_there():
        return False
    whole = _Build("release", (INSTALL_TARGET,), (_torch_define(),), SOURCES, None)
    return whole.done(whole.state())


def build_core(targets):
    """Builds targets that need no kernels, whether torch is there or not: what is compiled is the same."""
    # Not while pip is at work on it: half a torch is none, and the configuration that follows finds the whole one.
    define = _torch_define() if pytorch.enabled() and _torch_is_there() else "-DMILLPOND_TORCH_PYTHON=off"
    _Build("release", targets, (define,), SOURCES, None).run()


def _drop_moved(folder):
    """CMake refuses a build folder whose tree was elsewhere when it was made."""
    try:
        cache = (folder / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return
    if f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" not in cache:
        import shutil
        ui.say(f"{ui.shown(folder)} was made for a tree at another path; recreating it")
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
    """Everything `run` and `demo` need; the tests use .venv's torch, whatever else there is. An install has it all."""
    started = time.monotonic()
    if not IN_TREE:
        import installed
        installed.complete(ASCEND)
        return time.monotonic() - started
    if tests:
        venv(torch=pytorch.enabled())
    else:
        torch()
    build()
    install()
    return time.monotonic() - started

# SPDX-License-Identifier: Apache-2.0
"""`package`: a wheel of the install tree into dist/, looked at by auditwheel."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cmd_build_kernels
import ensure
import pytorch
import sbom
import ui
import version
import wheel
from arguments import Parser
from layout import BUILD, ROOT, build_dir

REQUIREMENTS = "requirements-package.txt"
TOOLS = BUILD / "package-venv"
DIST = ROOT / "dist"
TREE = BUILD / "package" / "ascend"
# The user's own, which only the kernels' library needs, and which are loaded before it (src/exec/op/torch_library.h).
FROM_TORCH = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}


def package_parser():
    parser = Parser("package", description="Builds a wheel of the install tree into dist/: the command millpond, libraries, headers, Python modules, "
                    "examples. auditwheel says which systems it is for. Two builds of one commit are equal byte by byte.")
    parser.add_argument("--output", metavar="DIR", type=Path, default=DIST, help="another folder than dist/")
    parser.add_argument("--aarch64", action="store_true", help="for aarch64, cross-compiled (Debian's g++-12-aarch64-linux-gnu): all but the kernels, which "
                                                               "build-kernels makes where the wheel is installed")
    parser.add_argument("--as-built", action="store_true", help="pack what the build folder has, without looking whether it is current")
    return parser


def package(argv):
    arguments = package_parser().parse_args(argv)
    target = AARCH64 if arguments.aarch64 else HERE
    if not arguments.as_built:
        target.make()
    tools()
    target.install()
    arguments.output.mkdir(parents=True, exist_ok=True)
    facts = version.facts()
    content = Content(facts, target.tree)
    with tempfile.TemporaryDirectory(dir=arguments.output) as folder:
        first = content.write(Path(folder), f"linux_{target.machine}")
        tag = audited(first)
        path = content.write(Path(folder), tag)
        done = arguments.output / path.name
        path.replace(done)
    releases = target.releases()
    print(f"kernels for torch {', '.join(releases)}" if releases else "no kernels")
    print(f"{ui.shown(done.absolute())}: {done.stat().st_size / (1 << 20):.1f} MB, {len(content.files)} files")
    return 0


class Here:
    """The release build, for this processor."""

    tree = TREE
    machine = os.uname().machine

    def make(self):
        ensure.ready()

    def install(self):
        """A tree for the wheel alone: build/ascend may hold what an earlier commit installed."""
        _install("release", self.tree)
        for release, folder in cmd_build_kernels.built().items():
            cmd_build_kernels.make(folder, release, ensure.jobs(), prefix=self.tree)

    def releases(self):
        return [pytorch.wanted()["torch"], *cmd_build_kernels.built()] if pytorch.enabled() else []


class Aarch64:
    """The same, cross-compiled. Operators are computed by ATen: their kernels need that processor's torch."""

    tree = BUILD / "package" / "ascend-aarch64"
    machine = "aarch64"

    def make(self):
        ensure.packages("debian-packages-long.txt")
        ensure.build("aarch64", defines=("-DMILLPOND_TORCH_PYTHON=off",))

    def install(self):
        _install("aarch64", self.tree)

    def releases(self):
        return []


HERE, AARCH64 = Here(), Aarch64()


def _install(preset, tree):
    shutil.rmtree(tree, ignore_errors=True)
    ui.step(f"installing into {ui.shown(tree)}", ["cmake", "--install", build_dir(preset), "--prefix", tree], f"install-package-{preset}.log")


def tools():
    """build/package-venv holds requirements-package.txt: a folder of its own, for .venv is what programs and tests see."""
    copy = TOOLS / REQUIREMENTS
    wanted = (ROOT / REQUIREMENTS).read_text()
    if copy.exists() and copy.read_text() == wanted:
        return
    import pypi
    ui.step("making build/package-venv", [sys.executable, "-m", "venv", "--clear", TOOLS], "package-venv.log")
    ui.step(f"installing {REQUIREMENTS}", [TOOLS / "bin" / "python", "-m", "pip", "--no-input", "--disable-pip-version-check", "install",
            *pypi.CHECKED, "-r", ROOT / REQUIREMENTS, *pypi.options()], "pip-requirements-package.log")
    copy.write_text(wanted)


def commit_seconds():
    """SOURCE_DATE_EPOCH, else the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ui.Stop("no git here, so nothing says which time the wheel's files have: SOURCE_DATE_EPOCH=SECONDS ./millpond package")
    return int(done.stdout)


class Content(wheel.Content):
    """All that is in the wheel, whatever it is called for in the end."""

    def __init__(self, facts, tree):
        super().__init__()
        self.facts = facts
        self.tree = tree
        self.seconds = commit_seconds()
        self.info = f"millpond-{facts['version']}.dist-info"
        self.add_tree(tree)
        self._add_facts()
        self._add_package()
        self._add_notices()
        refuse_foreign_paths(self)

    def _add_facts(self):
        lines = "".join(f"{name}={value}\n" for name, value in sorted(self.facts.items()))
        self.add(f"{wheel.TREE}/share/millpond/build.info", lines)
        try:
            torch = (self.tree / "share" / "millpond" / "torch.info").read_text()
        except OSError:
            return  # built without kernels
        self.add(f"{wheel.TREE}/share/millpond/torch.info", "".join(re.findall(r"^version=.*\n", torch, re.M)))

    def _add_package(self):
        for path in sorted((ROOT / "python" / "millpond" / "millpond").glob("*.py")):
            self.add(f"{wheel.PACKAGE}/{path.name}", path.read_bytes())
        # What a shell and man look for below the prefix that pip installs to.
        data = f"millpond-{self.facts['version']}.data/data/share"
        installed = self.tree / "share" / "millpond" / "cli"
        for shell, place in (("bash", "bash-completion/completions/millpond"), ("zsh", "zsh/site-functions/_millpond"),
                             ("fish", "fish/vendor_completions.d/millpond.fish")):
            self.add(f"{data}/{place}", said_by(installed, "completion", shell))
        self.add(f"{data}/man/man1/millpond.1", said_by(installed, "man"))

    def _add_notices(self):
        notices = (ROOT / "THIRD_PARTY.md").read_text()
        self.add(f"{self.info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
        self.add(f"{self.info}/licenses/THIRD_PARTY.md", notices)
        self.add(f"{self.info}/sboms/millpond.cdx.json", sbom.document(self.facts, notices, self.seconds))
        self.add(f"{self.info}/METADATA", wheel.metadata(self.facts["version"], (ROOT / "README.md").read_text(), pytorch.wanted()))
        self.add(f"{self.info}/entry_points.txt", wheel.ENTRY_POINTS)

    def write(self, folder, platform):
        tag = f"py3-none-{platform}"
        self.files[f"{self.info}/WHEEL"] = (wheel.wheel_file(tag).encode(), False)
        path = folder / f"millpond-{self.facts['version']}-{tag}.whl"
        super().write(path, self.info, self.seconds)
        return path


def said_by(command_line, *arguments):
    """What the installed command line prints: its names and commands, not those of the tree."""
    done = subprocess.run([sys.executable, "-I", "-S", str(command_line), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ui.Stop(f"the installed command line cannot do '{' '.join(arguments)}':\n{done.stderr.strip()}")
    return done.stdout


def refuse_foreign_paths(content):
    """A wheel is installed elsewhere: no library searches a folder of this machine, and no file names this tree."""
    wrong = []
    for name, (data, _) in content.files.items():
        if data[:4] == b"\x7fELF":
            wrong += [f"{name} searches {path}" for path in run_paths(data) if not path.startswith("$ORIGIN")]
        if str(ROOT).encode() in data:
            wrong.append(f"{name} names {ROOT}")
    if wrong:
        raise ui.Stop("this tree cannot be packed:\n    " + "\n    ".join(wrong))


def run_paths(data):
    """The folders in which a library looks for others, by its own word (RPATH, RUNPATH)."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        said = subprocess.run(["readelf", "-d", file.name], capture_output=True, text=True, check=True).stdout
    return [path for found in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said) for path in found.split(":")]


def audited(path):
    """The platform that the wheel may claim, by auditwheel: symbols of glibc and libstdc++, and libraries that it does not bring."""
    done = subprocess.run([str(TOOLS / "bin" / "auditwheel"), "show", "--json", "--disable-isa-ext-check", str(path)],
                          capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise ui.Stop(f"auditwheel says nothing of {path.name}:\n{done.stderr.strip()}") from None
    missing = set(found["external_libs"]) - FROM_TORCH
    if missing or not found["sym_tag"].startswith("manylinux"):
        raise ui.Stop(f"auditwheel finds no system that this wheel is for: its symbols ask for {found['sym_tag']}, and nobody brings "
                      f"{', '.join(sorted(missing)) or 'what they need'}")
    return found["sym_tag"]

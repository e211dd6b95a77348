#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries other releases of torch with the torch_npu of the same number: kernels built for them, programs, a short conformance run.

    tools/torch_versions.py                     # all releases of tests/versions, and the pinned one
    tools/torch_versions.py 2.10.0 --write      # one; its row goes into docs/wheel.md

Each release has an environment of its own in build/versions (1 GB of download and 2 GB of disk, once). One line for each program that was tried.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "versions"
BUILD = ROOT / "build" / "versions"
PAGE = ROOT / "docs" / "wheel.md"
MILLPOND = ROOT / "millpond"
BEGIN, END = "<!-- made by tools/torch_versions.py --write -->", "<!-- end -->"
HEAD = ("| torch and torch_npu | import | own allocator | training | streams, graphs | torchair | operators as on CPU |",
        "|---|---|---|---|---|---|---|")
SECONDS = 3600  # kernels take the longest
TRAINING = ("train_gpt2", "--steps", "4")
TOLERANCE = 1e-4
SHORT = ("--dtypes", "float32", "--directions", "forward", "--samples", "2")

sys.path[:0] = [str(DATA), str(ROOT / "tools" / "cli")]


def call(command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS, check=False, **more)


def must(command, **more):
    done = call(command, **more)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done


def releases():
    return sorted((path.stem.split("-")[1] for path in DATA.glob("torch-*.txt")), key=lambda text: [int(part) for part in text.split(".")])


def pinned():
    import pytorch
    return pytorch.wanted()["torch"]


def others():
    """What torch and torch_npu need, with its hashes: the pinned lists without these two."""
    lists = ROOT / "requirements.txt", ROOT / "requirements-torch.txt"
    blocks = {}
    for path in lists:
        for block in re.findall(r"^[\w.-]+==(?:.*\\\n)*.*\n", path.read_text(), re.M):
            blocks[block.split("==")[0]] = block
    return "".join(block for name, block in blocks.items() if name not in ("torch", "torch_npu", "pip"))


def prepare(release):
    """The Python of an environment that has the release."""
    if release == pinned():
        return ROOT / ".venv" / "bin" / "python"
    folder = BUILD / release
    python = folder / "bin" / "python"
    wanted = (DATA / f"torch-{release}.txt").read_text() + others()
    kept = folder / "wanted.txt"
    if not kept.exists() or kept.read_text() != wanted:
        must([sys.executable, "-m", "venv", "--clear", folder])
        wishes = folder / "wishes.txt"
        wishes.write_text(wanted)
        must([python, "-m", "pip", "--no-input", "--disable-pip-version-check", "install", "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", wishes])
        import without_cuda
        for path in folder.glob("lib/python3*/site-packages/torch/lib"):
            without_cuda.main(path)
        kept.write_text(wanted)
    return python


class Try:
    """Programs with one release; remembers what each said."""

    def __init__(self, release, python):
        self.release, self.python = release, python
        self.row = {}

    def run(self, *arguments, cpu=False):
        if cpu:
            return call([self.python, *arguments], env={"PATH": "/usr/bin:/bin", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
        return call([MILLPOND, "run", "--", self.python, *arguments], cwd=BUILD)

    def note(self, column, good, why=""):
        self.row[column] = "yes" if good is True else "FAIL" if good is False else good
        print(f"{self.release} {column}: {self.row[column]}", flush=True)
        if good is False:
            print(f"    {why.strip()[-1500:]}", flush=True)

    def program(self, column, *commands):
        for arguments in commands:
            done = self.run(*arguments)
            if done.returncode != 0:
                return self.note(column, False, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return self.note(column, True)

    def training(self):
        path, *more = TRAINING
        path = ROOT / "examples" / "torch" / f"{path}.py"
        runs = self.run(path, *more), self.run(path, "--device", "cpu", *more, cpu=True)
        losses = [[float(value) for value in re.findall(r"^step \d+ loss (\S+)", done.stdout, re.M)] for done in runs]
        same = losses[0] and len(losses[0]) == len(losses[1]) and all(abs(a - b) <= TOLERANCE * abs(b) for a, b in zip(*losses))
        self.note("training", bool(same), f"{losses}\n{runs[0].stderr}\n{runs[1].stderr}")

    def torchair(self):
        if self.run("-c", "import torch_npu.dynamo.torchair").returncode != 0:
            return self.note("torchair", "not in the wheel")
        return self.program("torchair", (ROOT / "examples" / "torchair" / "mlp.py",))

    def conformance(self):
        path = BUILD / f"conformance-{self.release}.json"
        path.unlink(missing_ok=True)
        done = self.run(ROOT / "tests" / "torch" / "conformance" / "run.py", *SHORT, "--json", path)
        if not path.exists():
            return self.note("conformance", False, done.stdout + done.stderr)
        states = [row["state"] for row in json.loads(path.read_text())]
        wrong = [line for line in done.stdout.splitlines() if re.match(r"(wrong|crash|hang)", line)]
        bad = sum(states.count(state) for state in ("wrong", "crash", "hang"))
        good, refused = states.count("pass") + states.count("cpu"), states.count("refused")
        text = f"{good} of {len(states) - states.count('none')}, {refused} refused, {bad} wrong"
        self.note("conformance", text)
        for line in wrong:
            print(f"    {line[:300]}")
        return None

    def everything(self):
        self.program("import", ("-c", "import torch, torch_npu\nassert torch.npu.is_available() and torch.ones(3).npu().sum().item() == 3"))
        library = ROOT / "build" / "release" / "examples" / "libmy_allocator.so"
        self.program("allocator", (ROOT / "examples" / "torch_allocator" / "run.py", library))
        self.training()
        self.program("streams", *[(ROOT / "examples" / "torch" / f"{name}.py",) for name in ("two_streams", "graph_replay")])
        self.torchair()
        self.conformance()
        return self.row


def is_good(value):
    return value != "FAIL" and not re.search(r"[1-9]\d* wrong$", value)


def line(release, row):
    return f"| {release} | " + " | ".join(row[name] for name in ("import", "allocator", "training", "streams", "torchair", "conformance")) + " |"


def write(rows):
    """Puts rows into the page; those of other releases stay."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    inside, after = rest.split(END)
    known = dict(re.findall(r"^(?=\| ([\d.]+) )(.*)$", inside, re.M))
    known.update({release: line(release, row) for release, row in rows.items()})
    order = sorted(known, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    PAGE.write_text(before + "\n".join([BEGIN, *HEAD, *[known[name] for name in order], END]) + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"of {', '.join(releases())} (default: all)")
    parser.add_argument("--write", action="store_true", help="put the rows into docs/wheel.md")
    options = parser.parse_args()
    unknown = set(options.releases) - {*releases(), pinned()}
    if unknown:
        parser.error(f"no tests/versions/torch-{min(unknown)}.txt; known: {', '.join([*releases(), pinned()])}")
    BUILD.mkdir(parents=True, exist_ok=True)
    rows = {}
    for release in options.releases or [*releases(), pinned()]:
        python = prepare(release)
        if release != pinned():
            must([MILLPOND, "build-kernels", "--python", python])
        rows[release] = Try(release, python).everything()
    if options.write:
        write(rows)
    failed = [f"{release} {name}" for release, row in rows.items() for name, value in row.items() if not is_good(value)]
    print(f"{sum(map(len, rows.values())) - len(failed)} passed, {len(failed)} failed" + "".join(f"\nFAILED {name}" for name in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

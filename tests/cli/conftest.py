# SPDX-License-Identifier: Apache-2.0
"""A copy of the command line in a folder of its own, with stand-ins for the slow tools, so that a test can see what it calls."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(Path(__file__).resolve().parent))  # browser.py, check_lines.py: pytest imports tests by file, not by folder

REQUIREMENTS = ("requirements.txt", "requirements-torch.txt", "requirements-lint.txt")

CMAKE = """#!/bin/sh
echo "cmake $*" >>"$FAKE_LOG"
case $1 in
  --preset) folder=build/$2; [ "${3:-}" = -B ] && folder=$4; mkdir -p "$folder" && : >"$folder/build.ninja" ;;
  --build) if [ -n "${FAKE_BUILD_FAILS:-}" ]; then echo "the compiler says no"; exit 1; fi ;;
  --install) mkdir -p build/ascend/bin build/ascend/lib64 && cp packaging/set_env.sh build/ascend/ && cp packaging/setenv.bash build/ascend/bin/ ;;
esac
"""

CTEST = """#!/bin/sh
echo "ctest $*" >>"$FAKE_LOG"
while [ $# -gt 0 ]; do
  if [ "$1" = --output-junit ]; then out=$2; fi
  shift
done
if [ -n "${FAKE_CTEST_SILENT:-}" ]; then exit 3; fi
case $out in *-again-*)
  echo '<testsuite><testcase name="Pool.Shrinks" classname="Pool.Shrinks" status="'"${FAKE_CTEST_AGAIN:-fail}"'"/></testsuite>' >"$out"
  [ "${FAKE_CTEST_AGAIN:-fail}" = run ]; exit ;;
esac
cat >"$out" <<XML
<testsuite tests="3" failures="1">
<testcase name="Pool.Grows" classname="Pool.Grows" status="run"/>
<testcase name="Pool.Shrinks" classname="Pool.Shrinks" status="${FAKE_CTEST_STATUS:-run}">${FAKE_CTEST_BODY:-}</testcase>
<testcase name="Pool.Skips" classname="Pool.Skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>a.cc:1: Skipped
needs two cores</system-out></testcase>
</testsuite>
XML
[ "${FAKE_CTEST_STATUS:-run}" = run ]
"""

# Stands for .venv/bin/python: `-m pytest` writes its results, anything else is the real one.
PYTHON = """#!/bin/sh
if [ "$2" = pytest ]; then
  echo "pytest $*" >>"$FAKE_LOG"
  for argument in "$@"; do
    case $argument in --junitxml=*) out=${argument#--junitxml=} ;; esac
  done
  echo '<testsuites><testsuite><testcase classname="tests.a" name="test_b"/><testcase classname="tests.a" name="test_c"/></testsuite></testsuites>' >"$out"
  exit 0
fi
exec /usr/bin/env python3 "$@"
"""


class Tree:
    """root/: the copy; root/../fake: programs that come first on the PATH."""

    def __init__(self, folder):
        self.root = folder / "tree"
        self.fake = folder / "fake"
        self.log = folder / "calls.log"
        self.root.mkdir()
        self.fake.mkdir()
        for name in ("millpond", "CMakeLists.txt", *REQUIREMENTS):
            shutil.copy2(ROOT / name, self.root / name)
        shutil.copytree(ROOT / "tools" / "cli", self.root / "tools" / "cli", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("packaging", "profiles"):
            shutil.copytree(ROOT / name, self.root / name, symlinks=True)
        shutil.copy2(ROOT / "tools" / "rule_table.py", self.root / "tools")
        for name in ("src/check/rules.yaml", "src/report/base.css"):
            (self.root / name).parent.mkdir(parents=True)
            shutil.copy2(ROOT / name, self.root / name)
        (self.root / "src" / "a.cc").write_text("int a;\n")
        (self.root / "tests").mkdir()
        self.program("cmake", CMAKE)
        self.program("ctest", CTEST)
        self.program("dpkg-query", self.dpkg(*self.all_packages()))
        self.program("apt-get", "#!/bin/sh\necho \"apt-get $*\" >>\"$FAKE_LOG\"\nexit 100\n")
        venv = self.root / ".venv" / "bin"
        venv.mkdir(parents=True)
        self.program("python", PYTHON, venv)
        for name in REQUIREMENTS:
            shutil.copy(self.root / name, self.root / ".venv" / f"millpond-{name}")

    def all_packages(self):
        names = []
        for path in sorted((ROOT / "packaging").glob("debian-packages*.txt")):
            names += [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        return names

    @staticmethod
    def dpkg(*installed):
        lines = "\\n".join(f"{name} installed" for name in installed)
        return f"#!/bin/sh\nprintf '{lines}\\n'\n"

    def program(self, name, text, folder=None):
        path = (folder or self.fake) / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def environment(self, **extra):
        base = {name: value for name, value in os.environ.items()
                if not name.startswith(("MILLPOND_", "ASCEND_", "CMAKE_", "PKG_CONFIG", "FAKE_"))
                and name not in ("VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "PYTHONPATH", "TOOLCHAIN_HOME")}
        return {**base, "PATH": f"{self.fake}:/usr/local/bin:/usr/bin:/bin", "FAKE_LOG": str(self.log), **extra}

    def call(self, *arguments, cwd=None, **extra):
        return subprocess.run([str(self.root / "millpond"), *map(str, arguments)], env=self.environment(**extra), cwd=cwd or self.root,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)

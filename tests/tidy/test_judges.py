# SPDX-License-Identifier: Apache-2.0
"""Issue 13: what judges a test must be able to say no."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import mutate


def test_no_test_is_judged_by_its_words_alone(root, project_files):
    """ctest then forgets the exit status: a sanitizer's report, or a crash after the right line, would pass."""
    found = [str(path.relative_to(root)) for path in project_files
             if (path.name == "CMakeLists.txt" or path.suffix == ".cmake") and path.name != "ExpectText.cmake"
             and re.search(r"(PASS|FAIL|SKIP)_REGULAR_EXPRESSION|WILL_FAIL", path.read_text())]
    assert found == []


@pytest.mark.parametrize("script, passes", [("echo 0 wrong", True), ("echo 0 wrong; exit 3", False), ("echo 0 wrong; kill -SEGV $$", False),
                                            ("echo 10 wrong", False), ("true", False), ("echo 0 wrong >&2", True)])
def test_an_example_must_end_well_and_say_so(root, script, passes):
    done = subprocess.run(["cmake", "-DTEXT=(^|[^0-9])0 wrong", "-P", root / "cmake" / "ExpectText.cmake", "--", "sh", "-c", script],
                          capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr


BUGS = mutate.bugs()


def test_there_are_thirty_deliberate_bugs():
    assert len(BUGS) >= 30
    assert len({bug.says for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_deliberate_bug_still_applies_and_its_suite_is_there(root, bug, tmp_path):
    """tools/mutate.py builds and runs them (./millpond test --long); a patch that rots would test nothing."""
    for name in bug.files():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((root / name).read_bytes())
    before = {name: (tmp_path / name).read_bytes() for name in bug.files()}
    done = mutate.apply(bug, tmp_path)
    assert done.returncode == 0, f"{done.stdout}: make the patch again for the code as it is now"
    assert before and all((tmp_path / name).read_bytes() != old for name, old in before.items())
    assert all(name.startswith("src/") and not name.endswith("_test.cc") for name in bug.files())

# SPDX-License-Identifier: Apache-2.0
"""No example without a test, and none that the overview forgets."""

from pathlib import Path


def test_every_example_is_run_and_listed(root):
    folder = root / "examples" / "torch"
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.name != Path(__file__).name)
    overview = (folder / "README.md").read_text()
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "common")
    assert names
    assert [name for name in names if f'"{name}"' not in tests] == []
    assert [name for name in names if f"`{name}.py`" not in overview] == []

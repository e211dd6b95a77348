# SPDX-License-Identifier: Apache-2.0
"""msprof on a profile made by hand: tables that appear together, in a folder that nobody could prepare."""

import json
import os
import subprocess
import sys

import pytest

LINES = ["millpond\t1\t77\t0", "task\t0\t3\t1\taclnnAdd\t9\t1000\t2000\t5000", "call\t9\taclrtSynchronizeStream\t1500\t6000"]


@pytest.fixture(name="profile")
def profile_fixture(tmp_path):
    (tmp_path / "host" / "data").mkdir(parents=True)
    (tmp_path / "host" / "data" / "millpond.tsv").write_text("\n".join(LINES) + "\n")
    return tmp_path


def msprof(root, folder):
    return subprocess.run([sys.executable, str(root / "tools" / "msprof" / "msprof.py"), "--export=on", f"--output={folder}"], capture_output=True,
                          text=True, timeout=60, check=False)


def test_the_tables_appear_together(root, profile):
    for _ in range(2):  # the second replaces the first
        done = msprof(root, profile)
        assert done.returncode == 0, done.stderr
    out = profile / "mindstudio_profiler_output"
    assert sorted(name.rpartition("_")[0] for name in os.listdir(out)) == ["api_statistic", "msprof", "op_summary"]
    assert any(event["name"] == "aclnnAdd" for event in json.loads(next(out.glob("msprof_*.json")).read_text()))
    assert sorted(os.listdir(profile)) == ["host", "mindstudio_profiler_output"]


def test_a_link_in_the_place_of_the_unfinished_folder_is_not_followed(root, profile, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (profile / "mindstudio_profiler_output.part").symlink_to(elsewhere)
    assert msprof(root, profile).returncode == 0
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("damage", ["pipe", "gone"])
def test_a_pipe_in_the_place_of_the_data_is_refused(root, profile, damage):
    data = profile / "host" / "data" / "millpond.tsv"
    data.unlink()
    if damage == "pipe":
        os.mkfifo(data)
    done = msprof(root, profile)
    assert done.returncode == 1 and "millpond.tsv is not a file" in done.stderr
    assert os.listdir(profile) == ["host"]

# SPDX-License-Identifier: Apache-2.0
"""`run` names the file in which its processes meet, and removes those of runs that are over; `top` reads them."""

import importlib
import struct
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOW = ("--", "sh", "-c", "echo ${MILLPOND_SHARED_DEVICES:-none}")


def test_processes_of_one_run_share_and_those_of_another_do_not(tree):
    first, second = (tree.call("run", *SHOW, MILLPOND_TORCH="off").stdout.strip() for _ in range(2))
    assert first.startswith("/") and first != second
    assert tree.call("run", *SHOW, MILLPOND_TORCH="off", MILLPOND_SHARED_DEVICES="/of/the/outer").stdout == "/of/the/outer\n"
    assert tree.call("run", "--private-devices", *SHOW, MILLPOND_TORCH="off", MILLPOND_SHARED_DEVICES="/of/the/outer").stdout == "none\n"


@pytest.fixture(name="shared")
def shared_fixture(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "cli"))
    for name in ("shared", "cmd_top", "arguments", "layout"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("shared")
    monkeypatch.setattr(module, "folder", lambda: tmp_path)
    return module


def written(module, path, rows):
    """A file as the runtime writes it: rows of (pid, MiB used on device 0, most)."""
    table = [[0] * module.MAX_PROCESSES for _ in range(1 + 2 * module.MAX_DEVICES)]
    for number, (pid, used, most) in enumerate(rows):
        table[0][number], table[1][number], table[1 + module.MAX_DEVICES][number] = pid, used << 20, most << 20
    path.write_bytes(module.HEAD.pack(module.MAGIC, 1 << 30, len(rows), b"Ascend910B3, 1 devices, memory 1G")
                     + b"".join(module.ROW.pack(*line) for line in table))


LOCKER = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX, 1, {first} + int(sys.argv[2]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_top_shows_the_living_and_a_run_that_is_over_is_removed(shared, tmp_path, capsys):
    import subprocess
    path, over = tmp_path / "run-1", tmp_path / "run-2"
    written(shared, path, [(4194304, 300, 500), (4194305, 100, 100)])
    written(shared, over, [(4194306, 1, 1)])
    with subprocess.Popen([sys.executable, "-c", LOCKER.format(first=shared.FIRST_LOCK), path, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"locked\n"
        machines = shared.machines()
        assert [(one.path, [process.pid for process in one.processes]) for one in machines] == [(path, [4194304])], "the second row's process is dead"
        assert importlib.import_module("cmd_top").top(["--once"]) == 0
        said = capsys.readouterr().out
        assert "device 0:" in said and "300.0 of 1,024.0 MiB" in said and "most      500.0 MiB" in said
        shared.sweep(tmp_path)
        assert path.exists() and not over.exists()
        other.stdin.close()
    shared.sweep(tmp_path)
    assert not path.exists()
    assert importlib.import_module("cmd_top").top(["--once"]) == 0
    assert "no process uses a virtual device" in capsys.readouterr().out


def test_the_layout_is_the_runtimes(shared):
    text = (ROOT / "src" / "device" / "memory" / "shared_quota.h").read_text()
    assert f"kMaxDevices = {shared.MAX_DEVICES};" in text and f"kMaxProcesses = {shared.MAX_PROCESSES};" in text
    assert f"kMagic = 0x{shared.MAGIC >> 32:08x}'{shared.MAGIC & 0xffffffff:08x};" in text
    assert shared.HEAD.size == struct.calcsize("<QQQ") + 104
    assert "int64_t{1} << 30" in (ROOT / "src" / "device" / "memory" / "shared_quota.cc").read_text() and shared.FIRST_LOCK == 1 << 30

# SPDX-License-Identifier: Apache-2.0
"""npu-smi as scripts read it: by line and column, by `name : value`, and numbers that agree with aclrtGetMemInfo."""

import json
import re
import subprocess
import sys

import pytest

ASK = """
import ctypes, json, sys
acl = ctypes.CDLL("libascendcl.so")
assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(0) == 0
free, total = ctypes.c_size_t(), ctypes.c_size_t()
assert acl.aclrtGetMemInfo(1, ctypes.byref(free), ctypes.byref(total)) == 0
print(json.dumps([free.value, total.value]))
"""


def smi(ascend, ascend_env, *arguments, status=0, **extra):
    outcome = subprocess.run([str(ascend / "bin" / "npu-smi"), *arguments], env={**ascend_env, **extra}, capture_output=True,
                             text=True, timeout=60, check=False)
    assert outcome.returncode == status, outcome.stderr
    return outcome.stdout if status == 0 else outcome.stderr


def fields(text):
    return [(name.strip(), value.strip()) for name, colon, value in (line.partition(" : ") for line in text.splitlines()) if colon]


def memory(ascend_env, **extra):
    outcome = subprocess.run([sys.executable, "-c", ASK], env={**ascend_env, **extra}, capture_output=True, text=True, check=True)
    free, total = json.loads(outcome.stdout)
    return (total - free) >> 20, total >> 20


@pytest.mark.parametrize("soc, width, columns", [
    ("Ascend910B3", 98, (0, 28, 44, 97)), ("Ascend910_9392", 98, (0, 28, 44, 97)), ("Ascend950", 99, (0, 9, 28, 44, 98)),
    ("Ascend310P3", 106, (0, 32, 50, 105))])
def test_table_has_straight_columns(ascend, ascend_env, soc, width, columns):
    text = smi(ascend, ascend_env, "info", MILLPOND_SOC=soc, MILLPOND_DEVICES="2")
    lines = text.splitlines()
    assert {len(line) for line in lines} == {width}
    rows = [line for line in lines if re.match(r"\| (?:\d| {6} )", line) and "Process" not in line and "Bus-Id" not in line]
    assert len(rows) == 4
    for row in rows:
        assert tuple(place for place, letter in enumerate(row) if letter == "|") == columns


def test_table_of_the_default_profile_line_by_line(ascend, ascend_env):
    """Line numbers and columns as scripts use them: the first device is lines 7 and 8."""
    used, total = memory(ascend_env)
    lines = smi(ascend, ascend_env, "info").splitlines()
    assert lines[1].split()[1:5] == ["npu-smi", "9.0.0", "Version:", "9.0.0"]
    assert lines[6].split()[:6] == ["|", "0", "910B3", "|", "OK", "|"]
    assert lines[7].split()[:5] == ["|", "0", "|", "0000:01:00.0", "|"]
    hbm = re.search(r"(\d+)\s*/\s*(\d+)\s*\|$", lines[7])
    assert (int(hbm[1]), int(hbm[2])) == (used, total)
    assert "| No running processes found in NPU 0 " in lines[-2]


def test_numbers_agree_with_the_runtime_when_memory_is_set(ascend, ascend_env):
    extra = {"MILLPOND_MEMORY": str(256 << 20)}
    used, total = memory(ascend_env, **extra)
    assert total == 256
    assert f"{used:<4} / {total:<13}" in smi(ascend, ascend_env, "info", **extra)
    assert ("HBM Capacity(MB)", "256") in fields(smi(ascend, ascend_env, "info", "-t", "memory", "-i", "0", **extra))


def test_list(ascend, ascend_env):
    got = fields(smi(ascend, ascend_env, "info", "-l", MILLPOND_DEVICES="3"))
    assert got[0] == ("Total Count", "3")
    assert [value for name, value in got if name == "NPU ID"] == ["0", "1", "2"]
    assert [value for name, value in got if name == "Chip Count"] == ["1", "1", "1"]


def test_two_chips_share_a_card_on_the_a3(ascend, ascend_env):
    extra = {"MILLPOND_SOC": "Ascend910_9392", "MILLPOND_DEVICES": "4"}
    got = fields(smi(ascend, ascend_env, "info", "-l", **extra))
    assert got[0] == ("Total Count", "2") and [value for name, value in got if name == "Chip Count"] == ["2", "2"]
    mapping = [line.split() for line in smi(ascend, ascend_env, "info", "-m", **extra).splitlines()[1:]]
    assert [row[:3] for row in mapping if row[3] != "Mcu"] == [["0", "0", "0"], ["0", "1", "1"], ["1", "0", "2"], ["1", "1", "3"]]


def test_board(ascend, ascend_env):
    got = fields(smi(ascend, ascend_env, "info", "-t", "board", "-i", "1", MILLPOND_DEVICES="2"))
    assert [name for name, _ in got] == [
        "NPU ID", "Product Name", "Model", "Manufacturer", "Serial Number", "Software Version", "Firmware Version", "Compatibility",
        "Board ID", "PCB ID", "BOM ID", "PCIe Bus Info", "Slot ID", "Class ID", "PCI Vendor ID", "PCI Device ID",
        "Subsystem Vendor ID", "Subsystem Device ID", "Chip Count"]
    values = dict(got)
    assert values["NPU ID"] == "1" and values["PCIe Bus Info"] == "0000:02:00.0" and values["Software Version"] == "9.0.0"
    chip = dict(fields(smi(ascend, ascend_env, "info", "-t", "board", "-i", "0", "-c", "0")))
    assert chip["Chip Name"] == "910B3" and chip["Chip ID"] == "0"


def test_values_stand_in_a_fixed_column(ascend, ascend_env):
    for line in smi(ascend, ascend_env, "info", "-t", "memory", "-i", "0").splitlines():
        if line:
            assert line[0] == "\t" and line[31:34] == " : "


def test_ddr_card_has_no_hbm(ascend, ascend_env):
    text = smi(ascend, ascend_env, "info", "-t", "memory", "-i", "0", MILLPOND_SOC="Ascend310P3")
    assert "HBM" not in text and int(dict(fields(text))["DDR Capacity(MB)"]) == memory(ascend_env, MILLPOND_SOC="Ascend310P3")[1]


def test_all_cards_are_shown_whatever_a_program_may_see(ascend, ascend_env):
    got = fields(smi(ascend, ascend_env, "info", "-l", MILLPOND_DEVICES="2", ASCEND_RT_VISIBLE_DEVICES="1"))
    assert got[0] == ("Total Count", "2")


@pytest.mark.parametrize("arguments, said", [
    (["info", "-t", "board", "-i", "9"], "no card 9; there are 1"), (["info", "-t", "nothing", "-i", "0"], "board, memory"),
    (["info", "-t", "board"], "-i CARD"), (["info", "-t", "board", "-i", "0", "-c", "5"], "no chip 5"),
    (["info", "-i", "x"], "not an id"), (["info", "-t"], "needs a value"), (["upgrade"], "unknown command"),
    (["info", "--wide"], "unknown argument")])
def test_refusals(ascend, ascend_env, arguments, said):
    assert said in smi(ascend, ascend_env, *arguments, status=1)


def test_version_and_help(ascend, ascend_env):
    assert smi(ascend, ascend_env, "-v").split(":")[-1].strip() == "9.0.0"
    assert "Usage: npu-smi" in smi(ascend, ascend_env, "-h") and "Usage: npu-smi" in smi(ascend, ascend_env)

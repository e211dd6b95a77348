# SPDX-License-Identifier: Apache-2.0
"""Every device profile has every key, with a value of the right kind, and names that clients know."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ("memory_gib ai_core_num cube_core_num vector_core_num l2_bytes max_streams max_events max_notifies "
           "stream_priority_least stream_priority_greatest malloc_extra_bytes smi_temp_c smi_memory_clock_mhz "
           "smi_hugepages_total").split()
SWITCHES = ("allocator_register", "bf16", "inf_nan", "peers_open")
CHOICES = {"memory_kind": ("hbm", "ddr"), "smi_table": ("a2", "a3", "950", "310p"), "smi_chips_per_card": ("1", "2")}
OTHER = ("name", "smi_name", "smi_product", "smi_board_id", "smi_pci_device", "smi_pci_subsystem", "smi_power_w")
# SoC names that torch_npu accepts; any other makes its import fail.
KNOWN = re.compile(r"^Ascend(910A|910ProB|910B[1-4]|310B[1-4]|910_93(91|92|81|82|72|62|63)|310P[1-57]|950.*)$")
PROFILES = sorted((ROOT / "profiles").glob("*.ini"))


def read(path):
    values = {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            key, equals, value = line.partition("=")
            assert equals, f"{path.name}: '{line}' is not 'key = value'"
            assert key.strip() not in values, f"{path.name}: '{key.strip()}' stands twice"
            values[key.strip()] = value.strip()
    return values


def test_the_required_profiles_are_there():
    names = {path.stem for path in PROFILES}
    assert {"Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910_9392", "Ascend950", "Ascend310P3", "Ascend310B4", "Ascend910A",
            "Ascend910ProB"} <= names


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_profile_is_complete(path):
    values = read(path)
    assert set(values) == {*NUMBERS, *SWITCHES, *CHOICES, *OTHER}
    for key in NUMBERS:
        assert values[key].isdecimal(), f"{key} = {values[key]}"
    for key in SWITCHES:
        assert values[key] in ("0", "1"), f"{key} = {values[key]}"
    for key, allowed in CHOICES.items():
        assert values[key] in allowed, f"{key} = {values[key]}"
    assert all(values[key] for key in OTHER)
    assert KNOWN.match(values["name"])
    assert int(values["stream_priority_greatest"]) <= int(values["stream_priority_least"])


@pytest.mark.parametrize("path", [path for path in PROFILES if not path.is_symlink()], ids=lambda path: path.stem)
def test_file_is_named_after_the_soc(path):
    """npu-smi finds a profile by what aclrtGetSocName returns."""
    assert read(path)["name"] == path.stem


def test_documented_limits():
    """Stream limits from the stream chapter of the API reference, malloc's extra bytes from the memory chapter."""
    profiles = {path.stem: read(path) for path in PROFILES}
    for name in ("Ascend910B3", "Ascend910B4", "Ascend910_9392", "Ascend950"):
        assert profiles[name]["max_streams"] == "1984"
    assert profiles["Ascend310P3"]["max_streams"] == "1024"
    assert profiles["Ascend950"]["malloc_extra_bytes"] == "0"
    assert [name for name, values in profiles.items() if values["allocator_register"] == "0"] == ["Ascend310B4"]
    assert profiles["Ascend910B3"]["malloc_extra_bytes"] == "32"

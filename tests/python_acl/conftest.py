# SPDX-License-Identifier: Apache-2.0
"""Python acl of the installed tree: the module, a device, streams, and programs of their own in another process."""

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "python" / "acl" / "tables"
SECONDS = 60


@pytest.fixture(scope="session")
def acl(ascend):
    site_packages = str(ascend / "python" / "site-packages")
    if site_packages not in sys.path:
        sys.path.insert(0, site_packages)
    import acl as module

    assert Path(module.__file__).is_relative_to(ascend), f"{module.__file__} is not the acl of {ascend}"
    return module


@pytest.fixture
def device(acl):
    """acl with device 0 set, from init to finalize."""
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield acl
    acl.rt.reset_device(0)
    acl.finalize()


@pytest.fixture
def stream(device):
    handle, ret = device.rt.create_stream()
    assert ret == 0
    yield handle
    device.rt.destroy_stream(handle)


@pytest.fixture
def library(acl):
    """libascendcl for ctypes: what a C program next door would call."""
    return ctypes.CDLL("libascendcl.so")


@pytest.fixture
def program(ascend_env, tmp_path):
    """Runs Python text in a process of its own; answers what it printed. What must fail says so with `fails`."""

    def run(text, fails=False):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env=ascend_env, cwd=tmp_path, capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        assert (done.returncode != 0) == fails, f"ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture(scope="session")
def generator():
    sys.path.insert(0, str(TABLES.parent))
    try:
        import gen_acl
    finally:
        sys.path.pop(0)
    return gen_acl


@pytest.fixture(scope="session")
def rows(generator):
    """Every row of every table."""
    return [row for table in sorted(TABLES.glob("*.txt")) for row in generator.read_table(table)]

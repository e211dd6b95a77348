# SPDX-License-Identifier: Apache-2.0
"""What the tests of the package `ge` share. They import the installed package, on the path of set_env.sh."""

import ctypes
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for ge_bench
HOME = os.environ.get("ASCEND_HOME_PATH")
# With an environment, a package that is not there is a failure of every file.
collect_ignore_glob = [] if HOME else ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    if not HOME:
        terminalreporter.write_line("tests/python_ge was left out: no environment; source set_env.sh of the installed "
                                    "tree, or use ./millpond test")


def pytest_collection_modifyitems(items):
    if HOME and (Path(HOME) / "lib64" / "libmillpond_kernels.so").exists():
        return
    for item in items:
        if "engine" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="graphs run on kernels, which are not there: built without torch"))


class Device:
    """The few calls of acl that the tests need."""

    def __init__(self):
        self.acl = ctypes.CDLL("libascendcl.so")
        self.live = {}  # address: bytes

    def check(self, status, call):
        assert status == 0, f"{call} returned {status}"

    def select(self):
        self.check(self.acl.aclrtSetDevice(0), "aclrtSetDevice")

    def stream(self):
        made = ctypes.c_void_p()
        self.check(self.acl.aclrtCreateStream(ctypes.byref(made)), "aclrtCreateStream")
        return made.value

    def destroy(self, stream):
        self.check(self.acl.aclrtDestroyStream(ctypes.c_void_p(stream)), "aclrtDestroyStream")

    def synchronize(self, stream):
        self.check(self.acl.aclrtSynchronizeStream(ctypes.c_void_p(stream)), "aclrtSynchronizeStream")

    def synchronize_device(self):
        self.check(self.acl.aclrtSynchronizeDevice(), "aclrtSynchronizeDevice")

    def malloc(self, size):
        made = ctypes.c_void_p()
        self.check(self.acl.aclrtMalloc(ctypes.byref(made), ctypes.c_size_t(max(size, 1)), 2), "aclrtMalloc")
        self.live[made.value] = size
        return made.value

    def free(self, address):
        del self.live[address]
        self.check(self.acl.aclrtFree(ctypes.c_void_p(address)), "aclrtFree")

    def free_memory(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.check(self.acl.aclrtGetMemInfo(1, ctypes.byref(free), ctypes.byref(total)), "aclrtGetMemInfo")
        return free.value


@pytest.fixture
def engine():
    """An engine that is on, and this thread's device."""
    from ge.ge_global import GeApi

    assert GeApi.ge_initialize({"ge.exec.deviceId": "0", "ge.graphRunMode": "0"}) == 0
    device = Device()
    device.select()
    yield device
    assert GeApi.ge_finalize() == 0


@pytest.fixture
def stream(engine):
    made = engine.stream()
    yield made
    engine.destroy(made)

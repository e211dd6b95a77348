# SPDX-License-Identifier: Apache-2.0
"""A host touch of device memory in a Python program: our report and faulthandler's, in whichever order they come."""

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, faulthandler, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if sys.argv[2] == "before":
    faulthandler.enable()
acl = ctypes.CDLL(sys.argv[1])
assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(0) == 0
block = ctypes.c_void_p()
assert acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(1000), 0) == 0
if sys.argv[2] == "after":
    faulthandler.enable()
ctypes.string_at(block.value + 100, 4)
"""


@pytest.mark.parametrize("enabled", ["before", "after", "never"])
def test_both_reports_appear_and_the_signal_ends_the_process(ascend, ascend_env, enabled):
    outcome = subprocess.run([sys.executable, "-c", PROGRAM, str(ascend / "lib64" / "libascendcl.so"), enabled],
                             env=ascend_env, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == -11, outcome.stderr
    assert "the host read from device memory" in outcome.stderr
    assert "100 B into block #1 (1056 B at 0x" in outcome.stderr
    assert ("Fatal Python error: Segmentation fault" in outcome.stderr) == (enabled != "never")

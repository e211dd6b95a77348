# SPDX-License-Identifier: Apache-2.0
"""The libraries load late: into a process that already has libstdc++ and little room for static thread-local data."""

import subprocess
import sys

import pytest

LOADER = "import ctypes, sys; ctypes.CDLL('libstdc++.so.6'); ctypes.CDLL(sys.argv[1]); print('loaded')"
LIBRARIES = ["libascendcl.so", "libacl_op_compiler.so", "libhccl.so", "libge_runner.so", "libgraph.so"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_loads_into_a_python_that_has_libstdcxx(ascend, library):
    # torch brings libstdc++ long before torch_npu brings us; its thread-local block is then no longer static.
    run = subprocess.run([sys.executable, "-c", LOADER, str(ascend / "lib64" / library)], capture_output=True, text=True,
                         check=False)
    assert run.stdout.strip() == "loaded", run.stderr

# SPDX-License-Identifier: Apache-2.0
"""The libraries load late: into a process that already has libstdc++ and little room for static thread-local data."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("library", ["libascendcl.so", "libacl_op_compiler.so", "libhccl.so", "libge_runner.so", "libgraph.so"])
def test_loads_into_a_python_that_has_libstdcxx(ascend, library):
    # torch brings libstdc++ long before torch_npu brings us; its thread-local block is then no longer static.
    script = f"import ctypes; ctypes.CDLL('libstdc++.so.6'); ctypes.CDLL({str(ascend / "lib64" / library)!r}); print('loaded')"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout.strip() == "loaded", run.stderr

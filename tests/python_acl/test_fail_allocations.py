# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin's npu_fail_allocations, in a pytest of its own with the runtime in it."""

import subprocess
import sys
import textwrap

HEAD = """
import ctypes
import pytest

OUT_OF_MEMORY = 207001

@pytest.fixture(scope="module")
def acl():
    library = ctypes.CDLL("libascendcl.so")
    assert library.aclInit(None) == 0 and library.aclrtSetDevice(0) == 0
    yield library
    library.aclFinalize()

def allocate(acl, count):
    answers = []
    for _ in range(count):
        block = ctypes.c_void_p()
        answers.append(acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(4096), 0))
        if answers[-1] == 0:
            acl.aclrtFree(block)
    return ["x" if answer == OUT_OF_MEMORY else answer for answer in answers]
"""


def run(folder, env, text):
    (folder / "test_it.py").write_text(HEAD + textwrap.dedent(text))
    return subprocess.run([sys.executable, "-m", "pytest", "-p", "millpond.pytest_plugin", "-p", "no:cacheprovider", "-q", "--rootdir=.", "test_it.py"],
                          env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_every_nth_allocation_of_the_test_fails_and_of_no_other(ascend_env, tmp_path):
    done = run(tmp_path, ascend_env, """
        def test_before(acl): assert allocate(acl, 4) == [0, 0, 0, 0]
        def test_failing(acl, npu_fail_allocations):
            assert allocate(acl, 2) == [0, 0]
            npu_fail_allocations(every=3, skip=1)
            assert allocate(acl, 8) == [0, 0, 0, "x", 0, 0, "x", 0]
            assert npu_fail_allocations.failed == 2
            npu_fail_allocations.stop()
            assert npu_fail_allocations.failed == 2  # what had failed by then
            assert allocate(acl, 2) == [0, 0]
            npu_fail_allocations()
            assert allocate(acl, 2) == ["x", "x"] and npu_fail_allocations.failed == 2
        def test_after(acl): assert allocate(acl, 4) == [0, 0, 0, 0]
    """)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout


def test_pinned_memory_counts_and_other_calls_do_not(ascend_env, tmp_path):
    done = run(tmp_path, ascend_env, """
        def test_pinned(acl, npu_fail_allocations):
            block = ctypes.c_void_p()
            npu_fail_allocations(every=2)
            assert acl.aclrtMallocHost(ctypes.byref(block), ctypes.c_size_t(64)) == 0
            assert acl.aclrtFreeHost(block) == 0
            assert acl.aclrtMallocHost(ctypes.byref(block), ctypes.c_size_t(0)) != OUT_OF_MEMORY
            assert acl.aclrtMallocHost(ctypes.byref(block), ctypes.c_size_t(64)) == OUT_OF_MEMORY
    """)
    assert done.returncode == 0, done.stdout


def test_a_number_that_makes_no_sense_is_refused(ascend_env, tmp_path):
    done = run(tmp_path, ascend_env, """
        @pytest.mark.parametrize("wrong", [{"every": 0}, {"every": -1}, {"every": 1.5}, {"skip": -1}])
        def test_wrong(npu_fail_allocations, wrong):
            with pytest.raises(ValueError, match="every is 1 or more"):
                npu_fail_allocations(**wrong)
    """)
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout


def test_without_the_runtime_it_says_so(ascend_env, tmp_path):
    env = {name: value for name, value in ascend_env.items() if name != "LD_LIBRARY_PATH"}
    done = run(tmp_path, env, """
        def test_alone(npu_fail_allocations): pass
    """)
    assert done.returncode == 1 and "the runtime cannot be loaded" in done.stdout, done.stdout

# SPDX-License-Identifier: Apache-2.0
"""millpond.pytest_plugin with the real checker: pytest under ./millpond check, of tests that use the device through Python acl."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

TESTS = '''
import acl
import pytest

BYTES = 4096


@pytest.fixture(scope="module")
def stream():
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    handle, ret = acl.rt.create_stream()
    assert ret == 0
    yield handle
    assert acl.rt.destroy_stream(handle) == 0 and acl.rt.reset_device(0) == 0 and acl.finalize() == 0


def new_block(size=BYTES):
    pointer, ret = acl.rt.malloc(size, 0)
    assert ret == 0
    return pointer


def frees_too_early(stream):
    pointer = new_block()
    assert acl.rt.memset_async(pointer, BYTES, 7, BYTES, stream) == 0
    acl.rt.free(pointer)
    acl.rt.synchronize_stream(stream)


def test_right(stream, npu_findings):
    pointer = new_block(64 << 20)
    assert npu_findings.live_bytes() >= 64 << 20
    assert acl.rt.memset_async(pointer, BYTES, 7, BYTES, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and acl.rt.free(pointer) == 0
    assert npu_findings.live_bytes() == 0 and 64 << 20 <= npu_findings.peak_bytes() < 128 << 20
    assert npu_findings.findings == []


def test_small(stream, npu_findings):
    pointer = new_block()
    (block,) = npu_findings.blocks
    assert block["bytes"] >= BYTES and npu_findings.live_blocks == 1
    acl.rt.free(pointer)
    assert npu_findings.blocks == [] and npu_findings.live_bytes() == 0 and npu_findings.peak_bytes() < 1 << 20


@pytest.mark.parametrize("number", range(5))
@pytest.mark.npu_check(expect="MP304")
def test_expected(stream, npu_findings, number):
    frees_too_early(stream)
    (found,) = npu_findings.findings
    assert found.stacks[0]["operation"] == "aclrtFree"


def test_wrong(stream):
    if WRONG:
        pointer = new_block()
        assert acl.rt.memset_async(pointer, BYTES, 7, BYTES, stream) == 0
        acl.rt.free(pointer)  # here
        acl.rt.synchronize_stream(stream)
'''


@pytest.mark.parametrize("wrong", [False, True])
def test_a_wrong_test_fails_and_an_expected_finding_is_no_error_of_the_run(root, ascend, tmp_path, wrong):
    assert (ascend / "python" / "site-packages" / "millpond" / "pytest_plugin.py").exists()
    (tmp_path / "test_it.py").write_text(TESTS.replace("WRONG", str(wrong)))
    base = {name: value for name, value in os.environ.items() if not name.startswith(("MILLPOND_", "ASCEND_", "PYTEST_"))}
    done = subprocess.run([str(root / "millpond"), "check", "--json", "found.json", "--", sys.executable, "-m", "pytest", "-p", "millpond.pytest_plugin",
                           "-p", "no:cacheprovider", "--rootdir=.", "--npu-check", "--junitxml=out.xml", "test_it.py"],
                          cwd=tmp_path, env=base, capture_output=True, text=True, timeout=600, check=False)
    expected = {"test_right": [], "test_small": [], **{f"test_expected[{number}]": [] for number in range(5)}, "test_wrong": ["failure"] * wrong}
    results = {case.get("name"): [child.tag for child in case if child.tag in ("failure", "error")]
               for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase")}
    assert results == expected, done.stdout + done.stderr
    assert done.returncode == int(wrong), done.stderr
    assert [each["rule"] for each in json.loads((tmp_path / "found.json").read_text())] == ["MP304"] * wrong
    assert ("error MP304" in done.stdout and "the checker found what test_it.py::test_wrong must not do" in done.stdout) == wrong

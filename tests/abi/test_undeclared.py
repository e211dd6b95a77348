# SPDX-License-Identifier: Apache-2.0
"""Functions that no public header declares and torch_npu looks up: they answer, and claim nothing that is not there."""

import subprocess
import sys

PROGRAM = """
import ctypes, sys
operators = ctypes.CDLL(sys.argv[1] + "/libopapi.so")  # where torch_npu looks: what libnnopbase has is reached through it
operators.CanUsePTACache.restype = ctypes.c_bool
operators.PTAGetExecCache.restype = operators.PTAFindExecCache.restype = ctypes.c_void_p
room, key = ctypes.c_uint64(7), (ctypes.c_uint8 * 4)(1, 2, 3, 4)
operators.InitPTACacheThreadLocal()
assert operators.InitHugeMemThreadLocal(None, False) == 0
assert not operators.CanUsePTACache(b"aclnnAdd")
operators.SetPTAHashKey(ctypes.c_uint64(9))
operators.SetPTACacheHashKey(key, ctypes.c_size_t(4))
assert operators.PTAGetExecCache(ctypes.c_uint64(9), ctypes.byref(room)) is None
assert operators.PTAFindExecCache(key, ctypes.c_size_t(4), ctypes.byref(room)) is None
assert room.value == 7
operators.UnInitPTACacheThreadLocal()
operators.UnInitHugeMemThreadLocal(None, False)
operators.ReleaseHugeMem(None, False)
acl = ctypes.CDLL(sys.argv[1] + "/libascendcl.so")
for name in ("aclprofGetSupportedFeatures", "aclprofGetSupportedFeaturesV2"):
    size, data = ctypes.c_size_t(5), ctypes.c_void_p(8)
    assert getattr(acl, name)(ctypes.byref(size), ctypes.byref(data)) == 0
    assert (size.value, data.value) == (0, None)
    assert getattr(acl, name)(None, ctypes.byref(data)) != 0
print("all answered")
"""


def test_nothing_is_kept_and_no_feature_is_claimed(ascend, ascend_env):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(ascend / "lib64")], env=ascend_env, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.strip() == "all answered", done.stderr[-2000:]

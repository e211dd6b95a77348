# SPDX-License-Identifier: Apache-2.0
"""The doctor's child: loads libascendcl.so as a client does and makes a few queries. One `ok ...` or bad line each."""

import ctypes
import sys


def main(path):
    acl = ctypes.CDLL(path)
    print("ok libascendcl.so loads")
    acl.aclrtGetSocName.restype = ctypes.c_char_p
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p

    def call(name, *arguments):
        code = getattr(acl, name)(*arguments)
        if code != 0:
            reason = acl.aclGetRecentErrMsg() or b""
            print(f"{name} returned {code} {reason.decode(errors='replace').strip()}")
            sys.exit(1)

    call("aclInit", None)
    count = ctypes.c_uint32()
    call("aclrtGetDeviceCount", ctypes.byref(count))
    call("aclrtSetDevice", 0)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("aclrtGetMemInfo", 1, ctypes.byref(free), ctypes.byref(total))
    soc = (acl.aclrtGetSocName() or b"?").decode()
    mib = 1 << 20
    print(f"ok aclInit: {count.value} x {soc}, {free.value // mib} MiB free of {total.value // mib} MiB each")
    call("aclrtResetDevice", 0)
    call("aclFinalize")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

# SPDX-License-Identifier: Apache-2.0
"""Numbers are copied to the host before they are computed. docs/find_the_wrong_operation.md walks through what the checker
says of it; with the argument `mended` the program waits first.

    ./millpond check -- python examples/check/pyacl_copy.py
"""

import sys

import acl

HUGE_FIRST, DEVICE_TO_HOST = 0, 2
SIZE = 1024


def check(ret, what):
    if ret != 0:
        sys.exit(f"{what} failed with {ret}\n{acl.get_recent_err_msg()}")


def read(host, device_memory):
    check(acl.rt.memcpy(host, SIZE, device_memory, SIZE, DEVICE_TO_HOST), "memcpy")
    return acl.util.ptr_to_bytes(host, SIZE)


def main(mended):
    check(acl.init(), "init")
    check(acl.rt.set_device(0), "set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "create_stream")
    numbers, ret = acl.rt.malloc(SIZE, HUGE_FIRST)
    check(ret, "malloc")
    host, ret = acl.rt.malloc_host(SIZE)
    check(ret, "malloc_host")
    check(acl.rt.memset_async(numbers, SIZE, 7, SIZE, stream), "memset_async")
    if mended:
        check(acl.rt.synchronize_stream(stream), "synchronize_stream")
    print(len(read(host, numbers)), "numbers")
    check(acl.rt.synchronize_stream(stream), "synchronize_stream")
    check(acl.rt.free_host(host), "free_host")
    check(acl.rt.free(numbers), "free")
    check(acl.rt.destroy_stream(stream), "destroy_stream")
    check(acl.rt.reset_device(0), "reset_device")
    check(acl.finalize(), "finalize")


main(mended="mended" in sys.argv[1:])

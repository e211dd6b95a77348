# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds of one call from Python: acl, and ctypes on the same C function; lines of JSON for bench/run.py."""

import argparse
import ctypes
import json
import pathlib
import sys
import timeit

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
from skip import import_or_skip

BATCHES = 20  # the best of them counts: at this scale a pre-emption is larger than the figure


def start(acl):
    for ret in (acl.init(), acl.rt.set_device(0)):
        if ret != 0:
            raise SystemExit(f"acl failed with {ret}: {acl.get_recent_err_msg()}")
    stream, ret = acl.rt.create_stream()
    if ret != 0:
        raise SystemExit(f"acl.rt.create_stream failed with {ret}: {acl.get_recent_err_msg()}")
    return stream


def through_acl(acl, stream):
    """Statements by metric, and the names they use. Names are local, as in a function that calls in a loop."""
    names = {"data_type_size": acl.data_type_size, "get_device": acl.rt.get_device, "query": acl.rt.stream_query,
             "synchronize": acl.rt.synchronize_stream, "memcpy": acl.rt.memcpy, "stream": stream}
    return names, {"python_one_int": "data_type_size(0)", "python_tuple": "get_device()", "python_query": "query(stream)",
                   "python_idle_sync": "synchronize(stream)", "python_five_ints": "memcpy(0, 0, 0, 0, 0)"}


def through_ctypes(stream):
    """The same calls, written as a careful user of ctypes writes them: types declared, outputs made once."""
    library = ctypes.CDLL("libascendcl.so")
    library.aclDataTypeSize.argtypes, library.aclDataTypeSize.restype = [ctypes.c_int], ctypes.c_size_t
    library.aclrtGetDevice.argtypes = [ctypes.POINTER(ctypes.c_int)]
    library.aclrtStreamQuery.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    library.aclrtSynchronizeStream.argtypes = [ctypes.c_void_p]
    library.aclrtMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    number = ctypes.c_int()
    names = {"data_type_size": library.aclDataTypeSize, "get_device": library.aclrtGetDevice, "query": library.aclrtStreamQuery,
             "synchronize": library.aclrtSynchronizeStream, "memcpy": library.aclrtMemcpy, "stream": stream, "number": number,
             "reference": ctypes.byref(number)}
    return names, {"python_one_int": "data_type_size(0)", "python_tuple": "(get_device(reference), number.value)",
                   "python_query": "(query(stream, reference), number.value)", "python_idle_sync": "synchronize(stream)",
                   "python_five_ints": "memcpy(0, 0, 0, 0, 0)"}


def nanoseconds(statement, names, count):
    setup = "; ".join(f"{name} = names['{name}']" for name in names)
    timer = timeit.Timer(statement, setup, globals={"names": names})
    return 1e9 * min(timer.repeat(repeat=BATCHES, number=count)) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a few calls of each")
    arguments = parser.parse_args()
    acl = import_or_skip("acl")
    stream = start(acl)
    count = 20 if arguments.smoke else 20000
    for subject, (names, statements) in (("ours", through_acl(acl, stream)), ("ctypes", through_ctypes(stream))):
        for metric, statement in statements.items():
            print(json.dumps({"subject": subject, "metric": metric, "unit": "ns", "value": nanoseconds(statement, names, count)}),
                  flush=True)


if __name__ == "__main__":
    main()

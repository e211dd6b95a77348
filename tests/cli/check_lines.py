# SPDX-License-Identifier: Apache-2.0
"""Lines of a checked process, for tests of ./millpond check."""

HOSTILE = 'a"b\'<c>&%:,\n\r</script>\x1b[31m\u2028\x07'


def frame(function="Trim", file="/src/pool.cpp", line=140, **more):
    return {"function": function, "file": file, "line": line, "module": "libpool.so", "offset": "0x1f2", "language": "c++", **more}


def stack(operation, role, label, *frames):
    return {"operation": operation, "role": role, "label": label, "thread": 1, "frames": list(frames)}


def start(**more):
    return {"event": "start", "format": 1, "ppid": 1, "rank": None, "program": "./a.out", "arguments": ["x"], "time_ns": 1000, "version": "0.1", **more}


def finding(**more):
    return {"event": "finding", "rank": None, "number": 1, "rule": "MP304", "severity": "error",
            "message": "aclrtFree of block 17 while task 12 (Add) on stream 1 still uses it.", "advice": "Synchronise the stream first.", "page": "aclrtFree",
            "objects": [{"kind": "block", "name": "block 17", "address": "0x7f0000001000", "bytes": 4096, "offset": 64, "range_bytes": 640},
                        {"kind": "stream", "name": "stream 1"}, {"kind": "task", "name": "Add", "stream": 1, "count": 12}],
            "stacks": [stack("aclrtFree", "later", "the free", frame(), frame("main", "/src/main.cpp", 30)),
                       stack("Add", "earlier", "the task", frame("Launch", "/src/net.cpp", 77), frame("main", "/src/main.cpp", 28)),
                       stack("aclrtMalloc", "allocated", "", frame("Grow", "/src/pool.cpp", 20))],
            "lanes": [{"stream": 1, "label": "stream 1", "tasks": [{"count": 10, "order": 2, "name": "Memset", "mark": ""}, {"count": 11, "order": 4, "name": "MatMul", "mark": ""},
                                                                   {"count": 12, "order": 8, "name": "Add", "mark": "earlier"}]},
                      {"stream": 2, "label": "stream 2", "tasks": [{"count": 4, "order": 6, "name": "Copy", "mark": "", "after": [1, 11]}]},
                      {"stream": -1, "label": "host", "tasks": [{"count": 0, "order": 9, "name": "aclrtFree", "mark": "later"}]}],
            "memory": [{"begin": "0x7f0000000000", "bytes": 4096, "state": "live", "number": 16, "label": "pool.cpp:20", "mark": False},
                       {"begin": "0x7f0000001000", "bytes": 4096, "state": "live", "number": 17, "label": "pool.cpp:20", "mark": True},
                       {"begin": "0x7f0000400000", "bytes": 1 << 20, "state": "freed", "number": 9, "label": "net.cpp:5", "mark": False}],
            "fingerprint": "0123456789abcdef", **more}


def again(count, fingerprint="0123456789abcdef"):
    return {"event": "again", "fingerprint": fingerprint, "count": count}


def expected(count, fingerprint="0123456789abcdef"):
    return {"event": "expected", "fingerprint": fingerprint, "count": count}


def memory(time_ns, live, owner="aclrtMalloc", device=0):
    return {"event": "memory", "time_ns": time_ns, "device": device, "owner": owner, "live": live}


def live(*rows):
    return {"event": "live", "blocks": [{"bytes": size, "owner": owner, "device": 0, "frames": [frame("Grow", "/src/pool.cpp", 20), frame()]} for size, owner in rows]}


def largest(*rows):
    return {"event": "largest", "blocks": [{"bytes": size, "owner": owner, "device": 0, "count": count, "frames": [frame("Reserve", "/src/cache.cpp", 31), frame()]}
                                           for size, owner, count in rows]}


def end(errors=0, notes=()):
    return {"event": "end", "errors": errors, "warnings": 0, "advice": 0, "notes": list(notes)}


def hostile():
    """A finding whose every name tries to be something else."""
    bad = frame(HOSTILE, f"/src/{HOSTILE}.cpp", 7, module=HOSTILE)
    return finding(message=HOSTILE, advice=HOSTILE, page=HOSTILE, objects=[{"kind": HOSTILE, "name": HOSTILE, HOSTILE: HOSTILE}],
                   stacks=[stack(HOSTILE, "later", HOSTILE, bad), stack(HOSTILE, "earlier", HOSTILE, bad)],
                   lanes=[{"stream": 1, "label": HOSTILE, "tasks": [{"count": 1, "order": 2, "name": HOSTILE, "mark": "earlier"}]},
                          {"stream": -1, "label": HOSTILE, "tasks": [{"count": 0, "order": 3, "name": HOSTILE, "mark": "later"}]}],
                   memory=[{"begin": "0x10", "bytes": 1, "state": HOSTILE, "number": 1, "label": HOSTILE, "mark": True}])

# SPDX-License-Identifier: Apache-2.0
"""Rules of the checker at pyACL's door: a wrong program that earns exactly its rule at the line that is marked, and its right twin."""

import json
import subprocess
import sys

import pytest

HEAD = """
import sys
import acl
WRONG = sys.argv[1] == "wrong"
def ok(answer):
    values = answer if isinstance(answer, tuple) else (answer,)
    assert values[-1] == 0, values
    return values[0]
ok(acl.init())
ok(acl.rt.set_device(0))
one, two = ok(acl.rt.create_stream()), ok(acl.rt.create_stream())
N = 4096
def end():
    for stream in (one, two):
        ok(acl.rt.synchronize_stream(stream))
        ok(acl.rt.destroy_stream(stream))
    ok(acl.rt.reset_device(0))
    ok(acl.finalize())
"""
# The rule, the status of the wrong program, and the program; the line with # HERE is the one that is named.
PROGRAMS = {
    "free in flight": ("MP304", 66, """
p = ok(acl.rt.malloc(N, 0))
ok(acl.rt.memset_async(p, N, 1, N, one))
if not WRONG: ok(acl.rt.synchronize_stream(one))
ok(acl.rt.free(p))  # HERE
"""),
    "two streams": ("MP611", 66, """
p = ok(acl.rt.malloc(N, 0))
event = ok(acl.rt.create_event())
ok(acl.rt.memset_async(p, N, 1, N, one))
ok(acl.rt.record_event(event, one))
if not WRONG: ok(acl.rt.stream_wait_event(two, event))
ok(acl.rt.memset_async(p, N, 2, N, two))  # HERE
for stream in (one, two): ok(acl.rt.synchronize_stream(stream))
ok(acl.rt.destroy_event(event))
ok(acl.rt.free(p))
"""),
    "copied back too early": ("MP510", 66, """
p, host = ok(acl.rt.malloc(N, 0)), ok(acl.rt.malloc_host(N))
ok(acl.rt.memset_async(p, N, 1, N, one))
if not WRONG: ok(acl.rt.synchronize_stream(one))
ok(acl.rt.memcpy(host, N, p, N, 2))  # HERE
ok(acl.rt.synchronize_stream(one))
ok(acl.rt.free_host(host))
ok(acl.rt.free(p))
"""),
    "pinned memory freed in flight": ("MP506", 66, """
p, host = ok(acl.rt.malloc(N, 0)), ok(acl.rt.malloc_host(N))
ok(acl.rt.memcpy_async(p, N, host, N, 1, one))
if not WRONG: ok(acl.rt.synchronize_stream(one))
ok(acl.rt.free_host(host))  # HERE
ok(acl.rt.synchronize_stream(one))
ok(acl.rt.free(p))
"""),
    "past the end": ("MP504", 66, """
p = ok(acl.rt.malloc(N, 0))
acl.rt.memset_async(p, 2 * N if WRONG else N, 1, 2 * N if WRONG else N, one)  # HERE
ok(acl.rt.synchronize_stream(one))
ok(acl.rt.free(p))
"""),
    "freed twice": ("MP501", 66, """
p = ok(acl.rt.malloc(N, 0))
ok(acl.rt.free(p))
if WRONG: acl.rt.free(p)  # HERE
"""),
    "never freed": ("MP502", 0, """
p = ok(acl.rt.malloc(N, 0))  # HERE
if not WRONG: ok(acl.rt.free(p))
"""),
    "destroyed stream": ("MP602", 66, """
third = ok(acl.rt.create_stream())
p = ok(acl.rt.malloc(N, 0))
ok(acl.rt.destroy_stream(third))
acl.rt.memset_async(p, N, 1, N, third if WRONG else one)  # HERE
ok(acl.rt.synchronize_stream(one))
ok(acl.rt.free(p))
"""),
    "never written": ("MP503", 0, """
p, host = ok(acl.rt.malloc(N, 0)), ok(acl.rt.malloc_host(N))
if not WRONG: ok(acl.rt.memset(p, N, 1, N))
ok(acl.rt.memcpy(host, N, p, N, 2))  # HERE
ok(acl.rt.free_host(host))
ok(acl.rt.free(p))
"""),
}


def run(env, folder, text, mode):
    program, lines = folder / "program.py", folder / f"{mode}.lines"
    program.write_text(text)
    done = subprocess.run([sys.executable, str(program), mode], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
                          env={**env, "MILLPOND_CHECK": "1", "MILLPOND_CHECK_JSON": str(lines), "MILLPOND_CHECK_ALSO": "MP503"})
    return done, [row for row in map(json.loads, lines.read_text().splitlines()) if row["event"] == "finding"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_wrong_program_earns_its_rule_and_the_right_one_nothing(ascend_env, tmp_path, name):
    rule, status, body = PROGRAMS[name]
    text = HEAD + body + "end()\n"
    right, found = run(ascend_env, tmp_path, text, "right")
    assert right.returncode == 0 and found == [], right.stderr
    wrong, found = run(ascend_env, tmp_path, text, "wrong")
    assert wrong.returncode == status, wrong.stderr
    assert [row["rule"] for row in found] == [rule], wrong.stderr
    marked = next(number for number, line in enumerate(text.splitlines(), 1) if "# HERE" in line)
    lines = [frame["line"] for stack in found[0]["stacks"] for frame in stack["frames"] if frame["language"] == "python"]
    assert marked in lines, found[0]["stacks"]

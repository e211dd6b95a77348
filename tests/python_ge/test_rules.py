# SPDX-License-Identifier: Apache-2.0
"""Rules of the checker at the door of Python's `ge`: a wrong program that earns exactly its rule at the line that is marked, and its right twin."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import ctypes
import sys
sys.path.insert(0, sys.argv[2])
from ge.allocator import MemBlock
from ge.ge_global import GeApi
from conftest import Device
from ge_bench import Bench, Counting, X, on_device
WRONG = sys.argv[1] == "wrong"
assert GeApi.ge_initialize({"ge.exec.deviceId": "0", "ge.graphRunMode": "0"}) == 0
device = Device()
device.select()
stream = device.stream()
bench = Bench(device, stream).add()

class Spoilt(Counting):
    def malloc(self, size):
        block = super().malloc(size + 8)
        return spoil(block) if WRONG else block

def fails(run):
    try:
        run()
    except Exception as error:
        return str(error)
    return ""
"""
TAIL = """
device.destroy(stream)
del bench
assert GeApi.ge_finalize() == 0
"""
BAD_BLOCK = """
allocator = bench.lend(Spoilt(device))
assert bool(fails(bench.run)) == WRONG  # HERE
bench.finish()
"""
# to_host gives the output's memory back when it has read it, which comes too early as well.
FOLLOWS = {"MP305": ["MP301"]}
# The rule, the status of the wrong program, and the program; the line with # HERE is the one that is named.
PROGRAMS = {
    "output read too early": ("MP305", 66, """
x = on_device(X)
(first, second) = bench.session.run_graph_with_stream_async(bench.number, stream, [x])
if not WRONG: device.synchronize(stream)
first.to_host()  # HERE
device.synchronize(stream)
del first, second
bench.remove()
"""),
    "misaligned block": ("MP202", 66, "spoil = lambda block: MemBlock(block.addr + 8, block.size)" + BAD_BLOCK),
    "block of the host": ("MP205", 66, "room = ctypes.create_string_buffer(1 << 20)\n"
                          "spoil = lambda block: MemBlock((ctypes.addressof(room) + 63) // 64 * 64, block.size)" + BAD_BLOCK),
    "unregistered twice": ("MP109", 0, """
bench.lend(Counting(device))
bench.take_back()
if WRONG: bench.take_back()  # HERE
bench.remove()
"""),
    "stream destroyed with its allocator": ("MP609", 66, """
other = device.stream()
bench.session.register_external_allocator(other, Counting(device))
if not WRONG: bench.session.unregister_external_allocator(other)
device.destroy(other)  # HERE
bench.remove()
"""),
}


def run(env, folder, text, mode):
    program, lines = folder / "program.py", folder / f"{mode}.lines"
    program.write_text(text)
    done = subprocess.run([sys.executable, str(program), mode, str(Path(__file__).parent)], cwd=folder, capture_output=True, text=True, timeout=120,
                          check=False, env={**env, "MILLPOND_CHECK": "1", "MILLPOND_CHECK_JSON": str(lines)})
    return done, [row for row in map(json.loads, lines.read_text().splitlines()) if row["event"] == "finding"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_wrong_program_earns_its_rule_and_the_right_one_nothing(tmp_path, name):
    rule, status, body = PROGRAMS[name]
    text = HEAD + body + TAIL
    right, found = run(os.environ, tmp_path, text, "right")
    assert right.returncode == 0 and found == [], right.stderr
    wrong, found = run(os.environ, tmp_path, text, "wrong")
    assert wrong.returncode == status, wrong.stderr
    assert [row["rule"] for row in found] == [rule, *FOLLOWS.get(rule, [])], wrong.stderr
    marked = next(number for number, line in enumerate(text.splitlines(), 1) if "# HERE" in line)
    lines = [frame["line"] for stack in found[0]["stacks"] for frame in stack["frames"] if frame["language"] == "python"]
    assert marked in lines, found[0]["stacks"]

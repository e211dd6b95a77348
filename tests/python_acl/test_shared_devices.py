# SPDX-License-Identifier: Apache-2.0
"""Processes that share a device's capacity, as those of one `millpond run` do: figures, refusals, and the end of one of them."""

import signal
import subprocess
import sys
import textwrap

import pytest

MIB = 1 << 20
# Allocates so many MiB, says what the device has free then, and goes on at each line from standard input.
HOLDER = textwrap.dedent("""
    import sys
    import acl
    acl.init()
    acl.rt.set_device(0)
    def take(count):
        pointer, ret = acl.rt.malloc((count << 20) - 32, 0)  # 32 bytes are added
        return pointer if ret == 0 else acl.get_recent_err_msg().replace("\\n", " ")
    def free():
        return acl.rt.get_mem_info(1)[0] >> 20
    blocks = [take(int(sys.argv[1]))] if int(sys.argv[1]) else []
    print(free(), flush=True)
    for line in sys.stdin:
        print(eval(line), flush=True)
""")


class Holder:
    def __init__(self, environment, count, path):
        self.process = subprocess.Popen([sys.executable, "-c", HOLDER, str(count)], env=environment, cwd=path, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.free = int(self.process.stdout.readline())

    def ask(self, text):
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture(name="hold")
def hold_fixture(ascend_env, tmp_path):
    """hold(MiB, **settings): a process on a device of 1 GiB that holds so much."""
    holders = []

    def start(count, **settings):
        environment = {**ascend_env, "MILLPOND_MEMORY": "1G", "MILLPOND_SHARED_DEVICES": str(tmp_path / "run"), **settings}
        holders.append(Holder(environment, count, tmp_path))
        return holders[-1]

    yield start
    for holder in holders:
        holder.kill()
        holder.process.stdin.close()
        holder.process.stdout.close()


def test_what_one_process_holds_another_does_not_have(hold):
    first, second = hold(600), hold(100)
    assert (first.free, second.free) == (424, 324)
    assert first.ask("free()") == "324", "what came later counts too"
    refusal = second.ask("take(400)")
    assert "324" in refusal and f"process {first.process.pid} holds 600" in refusal, refusal
    assert second.ask("isinstance(take(300), int)") == "True"


def test_a_process_that_is_killed_gives_its_share_back(hold):
    first, second = hold(900), hold(0)
    assert second.free == 124
    first.kill()
    assert second.ask("free()") == "1024"
    assert second.ask("isinstance(take(1000), int)") == "True"


def test_each_has_its_own_bytes_and_other_settings_are_another_machine(hold):
    first = hold(600)
    assert hold(0, MILLPOND_MEMORY="2G").free == 2048
    assert hold(0, MILLPOND_SHARED_DEVICES="").free == 1024, "private"
    assert first.ask("free()") == "424"


def test_a_device_that_a_process_does_not_see_is_the_same_one_for_all(hold):
    first = hold(600, MILLPOND_DEVICES="2", ASCEND_RT_VISIBLE_DEVICES="1")
    assert first.free == 424
    assert hold(0, MILLPOND_DEVICES="2").free == 1024, "device 0 is nobody's"
    assert hold(0, MILLPOND_DEVICES="2", ASCEND_RT_VISIBLE_DEVICES="1,0").free == 424


def test_fresh_memory_is_filled_where_that_is_wanted(hold):
    first = hold(1, MILLPOND_POISON="1")
    read = "(lambda host: (acl.rt.memcpy(host, 64, blocks[0], 64, 2), __import__('ctypes').string_at(host, 64))[1].hex())(acl.rt.malloc_host(64)[0])"
    assert first.ask(read) == "ff" * 64

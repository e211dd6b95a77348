# SPDX-License-Identifier: Apache-2.0
"""How long allocators and their blocks live, which threads call them, and the allocator of streams that have none."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import pytest
from ge import _allocators
from ge._native import lib
from ge.session import Session
from ge_bench import EXPECTED, PADDED, Bench, Counting, two_outputs, values_of


@pytest.fixture
def bench(engine, stream):
    return Bench(engine, stream).add()


# --- lifetimes
def test_the_engine_keeps_the_allocator_as_long_as_a_block_is_out(bench, engine):
    allocator = bench.lend(Counting(engine))
    record, watch = allocator.back, weakref.ref(allocator)
    outputs = bench.run()
    bench.finish()
    del allocator
    gc.collect()
    assert watch() is not None and engine.live
    count = len(record)
    del outputs
    gc.collect()
    assert len(record) == count + 2 and watch() is None and engine.live == {}
    assert _allocators._blocks == {}


def test_outputs_may_outlive_their_session(engine, stream):
    bench = Bench(engine, stream).add()
    allocator = bench.lend(Counting(engine))
    outputs = bench.run()
    bench.take_back()
    del bench
    gc.collect()
    assert values_of(outputs) == EXPECTED
    assert allocator.out == 0


def test_outputs_can_be_dropped_on_another_thread(bench, engine):
    allocator = bench.lend(Counting(engine))
    outputs = [bench.run()]
    out = allocator.out

    def drop():
        engine.select()
        outputs.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert allocator.out == out - 2
    bench.finish()


def test_a_program_may_end_with_allocators_and_outputs_left(engine, tmp_path):
    """Nobody may call into the interpreter when it is gone."""
    program = tmp_path / "ends.py"
    program.write_text(textwrap.dedent("""
        from conftest import Device
        from ge.ge_global import GeApi
        from ge_bench import Bench, Counting

        GeApi.ge_initialize({"ge.exec.deviceId": "0"})
        device = Device()
        device.select()
        bench = Bench(device, device.stream()).add()
        bench.lend(Counting(device))
        outputs = bench.run()
        print("ran")
    """))
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    outcome = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False,
                             env={**os.environ, "PYTHONPATH": path})
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "ran\n", "")


# --- threads
def test_an_allocator_may_wait_for_another_thread_and_for_the_stream(bench, engine):
    """It would hang if the lock of the interpreter were held while the engine waits for malloc."""
    asked, answered = threading.Event(), threading.Event()

    class Waiting(Counting):
        def malloc(self, size):
            asked.set()
            assert answered.wait(30)
            self.device.synchronize(bench.stream)
            return super().malloc(size)

    helper = threading.Thread(target=lambda: asked.wait(30) and answered.set())
    helper.start()
    bench.lend(Waiting(engine))
    outputs = bench.run()
    helper.join()
    assert values_of(outputs) == EXPECTED
    del outputs
    bench.finish()


def in_threads(work, arguments):
    """work(argument) in a thread for each; none may fail."""
    failures = []

    def guarded(argument):
        try:
            work(argument)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_two_threads_run_graphs_with_allocators_of_their_own(engine):
    session, both = Session(), threading.Barrier(2)
    allocators = [Counting(engine), Counting(engine)]

    def work(allocator):
        both.wait(30)
        engine.select()
        stream = engine.stream()
        bench = Bench(engine, stream, session).add()
        bench.lend(allocator)
        for _ in range(15):
            assert values_of(bench.run()) == EXPECTED
        bench.finish()
        engine.destroy(stream)
        both.wait(30)  # a thread that ends early lends its number to the other

    in_threads(work, allocators)
    assert all(len(allocator.sizes) >= 30 and allocator.out == 0 for allocator in allocators)
    assert allocators[0].threads.isdisjoint(allocators[1].threads)


# --- the allocator of a stream that has none: over aclrtMalloc, as long as the session lives that ran first
def test_a_stream_without_an_allocator_is_lent_one_until_the_session_ends(engine, stream):
    bench = Bench(engine, stream).add()
    before = engine.free_memory()
    outputs = bench.run()
    assert lib.has_allocator(stream, True) and engine.free_memory() < before
    assert values_of(outputs) == EXPECTED
    other = Bench(engine, stream).add()
    assert values_of(other.run()) == EXPECTED  # finds it, and leaves it alone
    del other
    gc.collect()
    assert lib.has_allocator(stream, True)
    del bench, outputs
    gc.collect()
    assert not lib.has_allocator(stream, False)


def test_an_allocator_of_ones_own_takes_its_place_and_stays(engine, stream):
    bench = Bench(engine, stream).add()
    bench.run()
    allocator = bench.lend(Counting(engine))
    assert lib.has_allocator(stream, False) and not lib.has_allocator(stream, True)
    bench.run()
    assert allocator.sizes[-2:] == [PADDED, PADDED]
    del bench
    gc.collect()
    assert lib.has_allocator(stream, False)  # not the session's to take away
    Bench(engine, stream).take_back()
    assert not lib.has_allocator(stream, False) and allocator.out == 0


def test_a_stream_that_lost_its_allocator_is_lent_one_again(bench, engine):
    bench.lend(Counting(engine))
    bench.take_back()
    assert not lib.has_allocator(bench.stream, False)
    assert values_of(bench.run()) == EXPECTED
    assert lib.has_allocator(bench.stream, True)


def test_two_threads_that_run_on_one_stream_lend_it_one_allocator(engine, stream):
    benches = [Bench(engine, stream).add(two_outputs(name=f"graph_{number}")) for number in range(2)]
    both = threading.Barrier(2)

    def work(bench):
        engine.select()
        both.wait(30)
        assert values_of(bench.run()) == EXPECTED

    in_threads(work, benches)
    assert lib.has_allocator(stream, True)
    benches.clear()
    gc.collect()
    assert not lib.has_allocator(stream, False)

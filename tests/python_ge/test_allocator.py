# SPDX-License-Identifier: Apache-2.0
"""External allocators written in Python. Doc: Allocator, Session.register_external_allocator, Session.run_graph_with_stream_async."""

import gc
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest
from ge import _allocators
from ge.allocator import Allocator, MemBlock
from ge.error import GeError
from ge.es import GraphBuilder
from ge.graph import DataType, Format, Placement, Tensor
from ge.session import Session

PADDED = 64 + 32  # what is asked for an output of 16 floats: rounded up to 32, and 32 more


class Counting(Allocator):
    """Blocks of the device's own, with a record of every call."""

    def __init__(self, device, fail_at=None, error=None):
        self.device, self.fail_at, self.error = device, fail_at, error
        self.sizes, self.given, self.back, self.threads = [], [], [], set()

    def malloc(self, size):
        self.threads.add(threading.get_ident())
        self.sizes.append(size)
        if self.fail_at == len(self.sizes):
            raise self.error or MemoryError(f"no {size} bytes left")
        block = MemBlock(self.device.malloc(size), size)
        self.given.append(block)
        return block

    def free(self, block):
        self.back.append(block)
        self.device.free(block.addr)

    @property
    def out(self):
        return len(self.given) - len(self.back)


def two_outputs(name, shape=(4, 4)):
    """x * 2 + 1 and x - 1."""
    builder = GraphBuilder(name)
    x = builder.create_input(0, shape=list(shape))
    return builder.build_and_reset([x * 2.0 + 1.0, x - 1.0])


def device_tensor(values, shape=(4, 4)):
    return Tensor(values, None, DataType.DT_FLOAT, Format.FORMAT_ND, list(shape), Placement.PLACEMENT_DEVICE)


def same(left, right):
    """The very objects, in any order."""
    return sorted(map(id, left)) == sorted(map(id, right))


def values_of(tensor):
    return [one for row in tensor.to_host().get_data() for one in row]


X = [float(number) for number in range(16)]
EXPECTED = ([value * 2 + 1 for value in X], [value - 1 for value in X])


@pytest.fixture
def session(engine):
    return Session()


def run(session, device, stream, graph_id=1, x=None):
    outputs = session.run_graph_with_stream_async(graph_id, stream, [x or device_tensor(X)])
    device.synchronize(stream)
    return outputs


# --- Doc Allocator: malloc is called for memory that a run needs, free when it is not needed any more.
def test_a_run_takes_all_its_memory_from_the_allocator(session, engine, stream):
    allocator = Counting(engine)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("counted"))
    outputs = run(session, engine, stream)
    assert [values_of(one) for one in outputs] == list(EXPECTED)  # to_host moves them: their blocks are free
    assert allocator.sizes[-2:] == [PADDED, PADDED]  # outputs come last
    assert same(allocator.back[-2:], allocator.given[-2:])
    kept = allocator.out  # constants and feature memory stay with the graph
    assert kept == len(allocator.sizes) - 2
    session.remove_graph(1)
    assert allocator.out == 0
    assert same(allocator.given, allocator.back)
    session.unregister_external_allocator(stream)


def test_a_second_run_asks_for_its_outputs_only(session, engine, stream):
    allocator = Counting(engine)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("twice"))
    first = run(session, engine, stream)
    count = len(allocator.sizes)
    second = run(session, engine, stream)
    assert allocator.sizes[count:] == [PADDED, PADDED]
    assert allocator.out == count + 2
    del first, second
    assert allocator.out == count - 2
    session.remove_graph(1)
    session.unregister_external_allocator(stream)
    assert allocator.out == 0


def test_a_graph_of_unknown_shape_takes_every_buffer_from_the_allocator(session, engine, stream):
    allocator = Counting(engine)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("dynamic", (-1, 4)))
    for rows in (4, 2, 8):
        x = [float(number) for number in range(rows * 4)]
        outputs = session.run_graph_with_stream_async(1, stream, [device_tensor(x, (rows, 4))])
        engine.synchronize(stream)
        assert values_of(outputs[0]) == [value * 2 + 1 for value in x]
        assert values_of(outputs[1]) == [value - 1 for value in x]
    assert len(allocator.sizes) >= 6
    session.remove_graph(1)
    session.unregister_external_allocator(stream)
    assert allocator.out == 0


def test_nobody_is_asked_for_nothing(session, engine, stream):
    """A graph without constants: CANN's sample allocator passes each size on to acl.rt.malloc, which refuses 0."""
    builder = GraphBuilder("bare")
    left, right = builder.create_input(0, shape=[4, 4]), builder.create_input(1, shape=[4, 4])
    session.add_graph(1, builder.build_and_reset([left + right + left]))
    allocator = Counting(engine)
    session.register_external_allocator(stream, allocator)
    (result,) = session.run_graph_with_stream_async(1, stream, [device_tensor(X), device_tensor(X)])
    engine.synchronize(stream)
    assert values_of(result) == [value * 3 for value in X]
    assert allocator.sizes and all(size > 0 for size in allocator.sizes)
    session.remove_graph(1)
    session.unregister_external_allocator(stream)


# --- "If allocation fails, raise": the run fails, with the exception as its cause.
def test_an_exception_in_any_malloc_fails_the_run_and_loses_nothing(session, engine, stream):
    session.add_graph(1, two_outputs("faulty"))
    failures = 0
    for nth in range(1, 20):
        allocator = Counting(engine, fail_at=nth)
        session.register_external_allocator(stream, allocator)
        try:
            outputs = run(session, engine, stream)
        except GeError as error:
            failures += 1
            assert str(error).startswith(f"RunGraphWithStreamAsync failed; graph_id=1, stream=0x{stream:x}; the allocator raised MemoryError: no ")
            assert isinstance(error.__cause__, MemoryError)
            del error
        else:
            assert [values_of(one) for one in outputs] == list(EXPECTED)
            break
    assert 3 <= failures < 19
    del outputs
    session.remove_graph(1)
    session.unregister_external_allocator(stream)
    gc.collect()
    assert engine.live == {}


@pytest.mark.parametrize("answer, words", [
    (lambda size: None, "returned None"), (lambda size: MemBlock(0, size), "returned a block at 0"), (lambda size: MemBlock(4096, size - 1), "bytes; return at least"),
    (lambda size: MemBlock("x", size), "returned a block at 'x'"), (lambda size: 7, "AttributeError"),
])
def test_an_answer_that_is_no_block_is_named(session, engine, stream, answer, words):
    class Bad(Counting):
        def malloc(self, size):
            return answer(max(size, 2))

    session.register_external_allocator(stream, Bad(engine))
    session.add_graph(1, two_outputs("bad"))
    with pytest.raises(GeError, match=words):
        run(session, engine, stream)
    session.unregister_external_allocator(stream)


def test_host_memory_as_a_block_is_refused_by_the_engine(session, engine, stream):
    import ctypes

    memory = ctypes.create_string_buffer(1 << 16)

    class Host(Counting):
        def malloc(self, size):
            return MemBlock((ctypes.addressof(memory) + 511) // 512 * 512, size)

        def free(self, block):
            self.back.append(block)

    allocator = Host(engine)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("host"))
    with pytest.raises(GeError, match="RunGraphWithStreamAsync failed"):
        run(session, engine, stream)
    assert allocator.back  # refused blocks are given back
    session.unregister_external_allocator(stream)


def test_keyboard_interrupt_in_malloc_interrupts(session, engine, stream):
    session.register_external_allocator(stream, Counting(engine, fail_at=1, error=KeyboardInterrupt()))
    session.add_graph(1, two_outputs("interrupted"))
    with pytest.raises(KeyboardInterrupt):
        run(session, engine, stream)
    session.unregister_external_allocator(stream)


def test_an_exception_in_free_during_a_call_is_raised_by_the_call(session, engine, stream):
    class Stubborn(Counting):
        def free(self, block):
            super().free(block)
            raise OSError(f"cannot give {block.size} bytes back")

    allocator = Stubborn(engine)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("stubborn"))
    outputs = run(session, engine, stream)
    with pytest.raises(GeError, match="RemoveGraph failed; graph_id=1; the allocator raised OSError: cannot give .* bytes back") as caught:
        session.remove_graph(1)
    assert isinstance(caught.value.__cause__, OSError)
    session.unregister_external_allocator(stream)
    # Outside a call there is nobody to raise it to: Python's own hook gets it.
    seen = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda args: seen.append(args.exc_value)
    try:
        del outputs
    finally:
        sys.unraisablehook = hook
    assert [type(error) for error in seen] == [OSError, OSError]
    assert allocator.out == 0


# --- Doc Session: the last registration of a stream counts; null is no stream.
def test_the_last_registration_counts_and_blocks_go_back_where_they_came_from(session, engine, stream):
    first, second = Counting(engine), Counting(engine)
    session.register_external_allocator(stream, first)
    session.add_graph(1, two_outputs("relay"))
    outputs = run(session, engine, stream)
    taken = len(first.sizes)
    session.register_external_allocator(stream, second)
    later = run(session, engine, stream)
    assert len(first.sizes) == taken and second.sizes[-2:] == [PADDED, PADDED]
    del outputs
    assert same(first.back, first.given[-2:]) and second.back == []
    del later
    assert same(second.back[-2:], second.given[-2:])
    session.remove_graph(1)
    session.unregister_external_allocator(stream)
    assert first.out == second.out == 0


def test_stream_zero_is_refused(session):
    class Nothing(Allocator):
        def malloc(self, size):
            raise MemoryError

        def free(self, block):
            pass

    before = len(_allocators._allocators)
    with pytest.raises(GeError, match="RegisterExternalAllocator failed; stream=0x0; .*stream is null"):
        session.register_external_allocator(0, Nothing())
    with pytest.raises(GeError, match="RegisterDefaultAllocator failed; stream=0x0"):
        session.run_graph_with_stream_async(1, 0, [])
    assert len(_allocators._allocators) == before


def test_an_allocator_must_have_both_methods():
    class Half(Allocator):
        def malloc(self, size):
            return MemBlock(1, size)

    with pytest.raises(TypeError, match="free"):
        Half()


# --- lifetimes
def test_the_engine_keeps_the_allocator_as_long_as_a_block_is_out(session, engine, stream):
    allocator = Counting(engine)
    record, watch = allocator.back, weakref.ref(allocator)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("kept"))
    outputs = run(session, engine, stream)
    session.remove_graph(1)
    session.unregister_external_allocator(stream)
    del allocator
    gc.collect()
    assert watch() is not None and engine.live
    count = len(record)
    del outputs
    gc.collect()
    assert len(record) == count + 2 and watch() is None and engine.live == {}
    assert _allocators._blocks == {}


def test_outputs_may_outlive_the_session_and_the_engine(engine, stream):
    session = Session()
    allocator = Counting(engine)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("orphan"))
    outputs = run(session, engine, stream)
    session.unregister_external_allocator(stream)
    del session
    gc.collect()
    assert [values_of(one) for one in outputs] == list(EXPECTED)
    assert allocator.out == 0


def test_outputs_can_be_freed_on_another_thread(session, engine, stream):
    allocator = Counting(engine)
    session.register_external_allocator(stream, allocator)
    session.add_graph(1, two_outputs("threads"))
    outputs = [run(session, engine, stream)]
    out = allocator.out

    def drop():
        engine.select()
        outputs.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert allocator.out == out - 2
    session.remove_graph(1)
    session.unregister_external_allocator(stream)


# --- the interpreter's lock
def test_an_allocator_may_wait_for_another_thread_and_for_the_stream(session, engine, stream):
    """It would hang if the lock of the interpreter were held while the engine waits for malloc."""
    asked, answered = threading.Event(), threading.Event()

    def helper():
        asked.wait(30)
        answered.set()

    class Waiting(Counting):
        def malloc(self, size):
            asked.set()
            assert answered.wait(30)
            self.device.synchronize(stream)
            return super().malloc(size)

    thread = threading.Thread(target=helper)
    thread.start()
    session.register_external_allocator(stream, Waiting(engine))
    session.add_graph(1, two_outputs("waiting"))
    outputs = run(session, engine, stream)
    thread.join()
    assert values_of(outputs[0]) == EXPECTED[0]
    del outputs
    session.remove_graph(1)
    session.unregister_external_allocator(stream)


def test_two_threads_run_graphs_with_allocators_of_their_own(session, engine):
    failures, allocators, both = [], [Counting(engine), Counting(engine)], threading.Barrier(2)

    def work(number):
        try:
            both.wait(30)
            engine.select()
            stream = engine.stream()
            session.register_external_allocator(stream, allocators[number])
            session.add_graph(10 + number, two_outputs(f"thread_{number}"))
            for _ in range(15):
                outputs = run(session, engine, stream, 10 + number)
                assert [values_of(one) for one in outputs] == list(EXPECTED)
            del outputs
            session.remove_graph(10 + number)
            session.unregister_external_allocator(stream)
            engine.destroy(stream)
            both.wait(30)  # a thread that ends early lends its number to the other
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    for allocator in allocators:
        assert len(allocator.sizes) >= 30 and allocator.out == 0
    assert allocators[0].threads.isdisjoint(allocators[1].threads)


# --- the default allocator: memory of acl.rt.malloc for a stream that has none, as long as the session lives.
def test_a_stream_without_an_allocator_gets_the_default_one(engine, stream):
    from ge._native import lib

    session = Session()
    session.add_graph(1, two_outputs("default"))
    before = engine.free_memory()
    outputs = run(session, engine, stream)
    assert lib.has_allocator(stream, True) and engine.free_memory() < before
    assert [values_of(one) for one in outputs] == list(EXPECTED)
    other = Session()
    other.add_graph(1, two_outputs("other"))
    assert values_of(run(other, engine, stream)[0]) == EXPECTED[0]  # finds it and leaves it alone
    del other
    gc.collect()
    assert lib.has_allocator(stream, True)
    del session, outputs
    gc.collect()
    assert not lib.has_allocator(stream, False)


def test_an_allocator_of_ones_own_takes_the_place_of_the_default_one(engine, stream):
    from ge._native import lib

    session = Session()
    session.add_graph(1, two_outputs("replaced"))
    del_me = run(session, engine, stream)
    allocator = Counting(engine)
    session.register_external_allocator(stream, allocator)
    assert lib.has_allocator(stream, False) and not lib.has_allocator(stream, True)
    del_me = run(session, engine, stream)
    assert allocator.sizes[-2:] == [PADDED, PADDED]
    del del_me, session
    gc.collect()
    assert lib.has_allocator(stream, False)  # not the session's to take away
    Session().unregister_external_allocator(stream)
    assert not lib.has_allocator(stream, False) and allocator.out == 0


def test_a_program_may_end_with_allocators_and_outputs_left(engine, tmp_path):
    """Nobody may call into the interpreter when it is gone."""
    program = tmp_path / "ends.py"
    program.write_text(textwrap.dedent("""
        import ctypes
        from ge.allocator import Allocator, MemBlock
        from ge.es import GraphBuilder
        from ge.ge_global import GeApi
        from ge.graph import DataType, Format, Placement, Tensor
        from ge.session import Session
        acl = ctypes.CDLL("libascendcl.so")
        class Own(Allocator):
            def malloc(self, size):
                made = ctypes.c_void_p()
                assert acl.aclrtMalloc(ctypes.byref(made), ctypes.c_size_t(max(size, 1)), 2) == 0
                return MemBlock(made.value, size)
            def free(self, block):
                acl.aclrtFree(ctypes.c_void_p(block.addr))
        GeApi.ge_initialize({"ge.exec.deviceId": "0"})
        acl.aclrtSetDevice(0)
        stream = ctypes.c_void_p()
        acl.aclrtCreateStream(ctypes.byref(stream))
        session = Session()
        session.register_external_allocator(stream.value, Own())
        builder = GraphBuilder("end")
        session.add_graph(1, builder.build_and_reset([builder.create_input(0, shape=[4]) + 1.0]))
        outputs = session.run_graph_with_stream_async(1, stream.value, [Tensor([1.0] * 4, shape=[4], placement=Placement.PLACEMENT_DEVICE)])
        print("ran")
    """))
    outcome = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "ran\n", "")

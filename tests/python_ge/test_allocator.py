# SPDX-License-Identifier: Apache-2.0
"""Allocators written in Python: what they are asked for, and what becomes of what they answer or raise."""

import ctypes
import gc
import sys

import pytest
from ge import _allocators
from ge.allocator import Allocator, MemBlock
from ge.error import GeError
from ge.es import GraphBuilder
from ge_bench import EXPECTED, PADDED, Bench, Counting, X, on_device, same, two_outputs, values_of


@pytest.fixture
def bench(engine, stream):
    return Bench(engine, stream).add()


# --- what is asked for
def test_a_run_takes_all_its_memory_from_the_allocator(bench, engine):
    allocator = bench.lend(Counting(engine))
    assert values_of(bench.run()) == EXPECTED
    assert allocator.sizes[-2:] == [PADDED, PADDED]  # outputs come last
    assert same(allocator.back[-2:], allocator.given[-2:])
    assert allocator.out == len(allocator.sizes) - 2  # constants and feature memory stay with the graph
    bench.remove()
    assert allocator.out == 0 and same(allocator.given, allocator.back)
    bench.take_back()


def test_a_second_run_asks_for_its_outputs_only(bench, engine):
    allocator = bench.lend(Counting(engine))
    first = bench.run()
    count = len(allocator.sizes)
    second = bench.run()
    assert allocator.sizes[count:] == [PADDED, PADDED]
    assert allocator.out == count + 2
    del first, second
    assert allocator.out == count - 2
    bench.finish()
    assert allocator.out == 0


def test_a_graph_of_unknown_shape_takes_every_buffer_from_the_allocator(engine, stream):
    bench = Bench(engine, stream).add(two_outputs((-1, 4)))
    allocator = bench.lend(Counting(engine))
    for rows in (4, 2, 8):
        x = [float(number) for number in range(rows * 4)]
        outputs = values_of(bench.run(on_device(x, (rows, 4))))
        assert outputs == [[value * 2 + 1 for value in x], [value - 1 for value in x]]
    assert len(allocator.sizes) >= 6
    bench.finish()
    assert allocator.out == 0


def test_nobody_is_asked_for_nothing(engine, stream):
    """A graph without constants needs 0 bytes for them; allocators over aclrtMalloc would fail there."""
    builder = GraphBuilder("bare")
    left, right = builder.create_input(0, shape=[4, 4]), builder.create_input(1, shape=[4, 4])
    bench = Bench(engine, stream).add(builder.build_and_reset([left + right + left]))
    allocator = bench.lend(Counting(engine))
    assert values_of(bench.run(on_device(X), on_device(X))) == [[value * 3 for value in X]]
    assert allocator.sizes and all(size > 0 for size in allocator.sizes)
    bench.finish()


# --- what it raises
def test_an_exception_in_any_malloc_fails_the_run_and_loses_nothing(bench, engine):
    failures = 0
    for nth in range(1, 20):
        bench.lend(Counting(engine, fail_at=nth))
        try:
            outputs = bench.run()
        except GeError as error:
            failures += 1
            begins = f"RunGraphWithStreamAsync failed; graph_id={bench.number}, stream={bench.stream:#x}; "
            assert str(error).startswith(f"{begins}the allocator raised MemoryError: no ")
            assert isinstance(error.__cause__, MemoryError)
            del error
        else:
            assert values_of(outputs) == EXPECTED
            break
    assert 3 <= failures < 19
    del outputs
    bench.finish()
    gc.collect()
    assert engine.live == {}


def test_keyboard_interrupt_in_malloc_interrupts(bench, engine):
    bench.lend(Counting(engine, fail_at=1, error=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    bench.take_back()


class Stubborn(Counting):
    def free(self, block):
        super().free(block)
        raise OSError(f"cannot give {block.size} bytes back")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the outputs are dropped at the end
def test_an_exception_in_free_is_raised_by_the_call_in_which_it_happens(bench, engine):
    bench.lend(Stubborn(engine))
    outputs = bench.run()
    words = f"^RemoveGraph failed; graph_id={bench.number}; the allocator raised OSError: cannot give .* bytes back"
    with pytest.raises(GeError, match=words) as caught:
        bench.remove()
    assert isinstance(caught.value.__cause__, OSError)
    bench.take_back()
    del outputs


def test_an_exception_in_free_outside_a_call_goes_to_the_hook_of_python(bench, engine, monkeypatch):
    allocator = bench.lend(Stubborn(engine))
    outputs = bench.run()
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: seen.append(type(raised.exc_value)))
    del outputs
    assert seen == [OSError, OSError]
    monkeypatch.undo()
    with pytest.raises(GeError):
        bench.remove()
    bench.take_back()
    assert allocator.out == 0


# --- what it answers
@pytest.mark.parametrize("answer, words", [
    (lambda size: None, "returned None"),
    (lambda size: MemBlock(0, size), "returned a block at 0"),
    (lambda size: MemBlock("x", size), "returned a block at 'x'"),
    (lambda size: MemBlock(4096, size - 1), "bytes; return at least"),
    (lambda size: 7, "AttributeError"),
])
def test_an_answer_that_is_not_a_block_is_named(bench, engine, answer, words):
    class Bad(Counting):
        def malloc(self, size):
            return answer(max(size, 2))

    bench.lend(Bad(engine))
    with pytest.raises(GeError, match=words):
        bench.run()
    bench.take_back()


def test_a_block_of_host_memory_is_refused_and_given_back(bench, engine):
    memory = ctypes.create_string_buffer(1 << 16)

    class Host(Counting):
        def malloc(self, size):
            return MemBlock((ctypes.addressof(memory) + 511) // 512 * 512, size)

        def free(self, block):
            self.back.append(block)

    allocator = bench.lend(Host(engine))
    with pytest.raises(GeError, match="^RunGraphWithStreamAsync failed"):
        bench.run()
    assert allocator.back
    bench.take_back()


def test_a_block_prints_its_address_and_size():
    block = MemBlock(0x1000, 64)
    assert (block.addr, block.size, repr(block)) == (0x1000, 64, "MemBlock(addr=0x1000, size=64)")


# --- registration
def test_the_last_allocator_counts_and_blocks_go_back_where_they_came_from(bench, engine):
    first = bench.lend(Counting(engine))
    outputs = bench.run()
    taken = len(first.sizes)
    second = bench.lend(Counting(engine))
    later = bench.run()
    assert len(first.sizes) == taken and second.sizes[-2:] == [PADDED, PADDED]
    del outputs
    assert same(first.back, first.given[-2:]) and second.back == []
    del later
    assert same(second.back[-2:], second.given[-2:])
    bench.finish()
    assert first.out == second.out == 0


def test_stream_zero_is_refused(engine):
    nowhere = Bench(engine, 0)
    before = len(_allocators._allocators)
    with pytest.raises(GeError, match="^RegisterExternalAllocator failed; stream=0x0; .*stream is null"):
        nowhere.lend(Counting(engine))
    with pytest.raises(GeError, match="^RegisterDefaultAllocator failed; stream=0x0"):
        nowhere.run(on_device(X))
    assert len(_allocators._allocators) == before


def test_an_allocator_must_have_both_methods():
    class Half(Allocator):
        def malloc(self, size):
            return MemBlock(1, size)

    with pytest.raises(TypeError, match="free"):
        Half()

# SPDX-License-Identifier: Apache-2.0
"""Python code on streams and threads; and nobody holds the GIL while waiting for work that needs it."""

import ctypes
import gc
import sys
import threading
import time
import weakref

import pytest

BLOCK, NO_BLOCK = 1, 0
SECONDS = 20


class Reporter:
    """A thread that processes the callbacks of a stream, as the documents have it."""

    def __init__(self, acl, stream):
        self.acl, self.stream, self.ending = acl, stream, False
        context, ret = acl.rt.get_context()
        assert ret == 0
        self.thread, ret = acl.util.start_thread(self.run, [context])
        assert ret == 0
        assert acl.rt.subscribe_report(self.thread, stream) == 0

    def run(self, arguments):
        self.acl.rt.set_context(arguments[0])
        while not self.ending:
            self.acl.rt.process_report(50)

    def end(self):
        assert self.acl.rt.unsubscribe_report(self.thread, self.stream) == 0
        self.ending = True
        assert self.acl.util.stop_thread(self.thread) == 0


@pytest.fixture
def reporter(device, stream):
    made = Reporter(device, stream)
    yield made
    made.end()


@pytest.mark.parametrize("block", [BLOCK, NO_BLOCK])
def test_a_callback_gets_its_one_argument_on_the_subscribed_thread(device, stream, reporter, block):
    seen = []
    for number in range(20):
        assert device.rt.launch_callback(lambda data: seen.append((data, threading.get_ident())), [number], block, stream) == 0
    assert device.rt.synchronize_stream(stream) == 0
    deadline = time.monotonic() + SECONDS
    while len(seen) < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [data for data, _ in seen] == [[number] for number in range(20)]
    assert {thread for _, thread in seen} == {reporter.thread}


def test_synchronising_waits_for_a_callback_without_the_gil(device, stream, reporter):
    """The callback needs the GIL for a while; the thread that waits for it must not have it."""
    done = []

    def slowly(data):
        time.sleep(0.2)
        done.append(sum(range(1000)))

    assert device.rt.launch_callback(slowly, None, BLOCK, stream) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert done


def test_other_threads_run_while_one_waits(device, stream, reporter):
    go = threading.Event()
    assert device.rt.launch_callback(lambda data: go.wait(SECONDS), None, BLOCK, stream) == 0
    waits = {"stream": lambda: device.rt.synchronize_stream(stream), "device": device.rt.synchronize_device,
             "timed": lambda: device.rt.synchronize_stream_with_timeout(stream, SECONDS * 1000)}
    results = {}
    context, _ = device.rt.get_context()

    def wait(name):
        device.rt.set_context(context)
        results[name] = waits[name]()

    threads = [threading.Thread(target=wait, args=(name,)) for name in waits]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    assert results == {}
    go.set()  # reached only if none of them holds the GIL
    for thread in threads:
        thread.join(SECONDS)
    assert results == dict.fromkeys(waits, 0)


def test_a_host_function_runs_without_a_subscription(device, stream):
    seen = []
    assert device.rt.launch_host_func(stream, seen.append, "one") == 0
    assert device.rt.launch_host_func(stream, seen.append, "two") == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert seen == ["one", "two"]


def test_an_exception_in_a_callback_is_reported_and_the_stream_goes_on(device, stream, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(report.exc_value))

    def fail(data):
        raise RuntimeError(data)

    assert device.rt.launch_host_func(stream, fail, "broken") == 0
    assert device.rt.launch_host_func(stream, seen.append, "after") == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert isinstance(seen[0], RuntimeError) and seen[1] == "after"


def test_a_callback_and_its_argument_live_until_they_ran(device, stream):
    class Data:
        ran = False

    def mark(data):
        Data.ran = True

    data = Data()
    watched, function = weakref.ref(data), weakref.ref(mark)
    assert device.rt.launch_host_func(stream, mark, data) == 0
    del data, mark
    assert device.rt.synchronize_stream(stream) == 0
    gc.collect()
    assert Data.ran and watched() is None and function() is None


def test_what_a_destroyed_stream_never_called_is_let_go(device):
    class Data:
        pass

    data, go = Data(), threading.Event()
    watched = weakref.ref(data)
    stream, ret = device.rt.create_stream()
    assert ret == 0
    assert device.rt.launch_host_func(stream, lambda _: go.wait(SECONDS), None) == 0
    assert device.rt.launch_host_func(stream, lambda _: None, data) == 0
    del data
    threading.Timer(0.2, go.set).start()
    assert device.rt.destroy_stream_force(stream) == 0
    gc.collect()
    assert watched() is None


def test_a_captured_callback_is_called_at_each_replay(device, stream):
    """And its argument is still there."""
    seen, library = [], ctypes.CDLL("libascendcl.so")
    graph = ctypes.c_void_p()
    assert library.aclmdlRICaptureBegin(ctypes.c_void_p(stream), 2) == 0
    assert device.rt.launch_host_func(stream, lambda data: seen.append(data[0]), [2**40]) == 0
    assert library.aclmdlRICaptureEnd(ctypes.c_void_p(stream), ctypes.byref(graph)) == 0
    for _ in range(3):
        assert library.aclmdlRIExecuteAsync(graph, ctypes.c_void_p(stream)) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert seen == [2**40] * 3
    assert library.aclmdlRIDestroy(graph) == 0


def test_a_launch_that_fails_keeps_nothing(device):
    class Data:
        pass

    data = Data()
    watched = weakref.ref(data)
    assert device.rt.launch_callback(len, data, BLOCK, 0x1234) != 0
    assert device.rt.launch_callback(len, data, 7, 0) != 0
    del data
    assert watched() is None


def test_callbacks_must_be_callable(device, stream):
    for call in (lambda: device.rt.launch_callback(5, None, BLOCK, stream), lambda: device.rt.launch_host_func(stream, "x", None),
                 lambda: device.rt.set_exception_info_callback(5), lambda: device.util.start_thread(5, None)):
        with pytest.raises(TypeError, match="callable"):
            call()


def test_the_exception_info_callback_can_be_set_and_taken_back(device):
    def tell(info):
        pass

    before = sys.getrefcount(tell)
    assert device.rt.set_exception_info_callback(tell) == 0
    assert sys.getrefcount(tell) == before + 1
    assert device.rt.set_exception_info_callback(None) == 0
    assert sys.getrefcount(tell) == before
    assert device.rt.set_exception_info_callback() == 0


def test_a_thread_gets_its_argument_or_none(acl):
    seen = []
    for function, argument in ((seen.append, 5), (lambda: seen.append("none"), None)):
        thread, ret = acl.util.start_thread(function, argument)
        assert ret == 0 and acl.util.stop_thread(thread) == 0
    assert seen == [5, "none"]


def test_stopping_a_thread_that_raised_raises(acl, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda report: None)
    thread, _ = acl.util.start_thread(lambda data: data[5], [1])
    with pytest.raises(RuntimeError, match="IndexError"):
        acl.util.stop_thread(thread)
    assert acl.util.stop_thread(thread) == 3  # stopped already


def test_a_process_ends_cleanly_with_callbacks_and_threads_under_way(program):
    done = program("""
        import acl, threading, time
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        desc = acl.rt.allocator_create_desc()
        acl.rt.allocator_set_obj_to_desc(desc, 1)
        acl.rt.allocator_set_alloc_func_to_desc(desc, lambda *_: None)
        acl.rt.allocator_set_free_func_to_desc(desc, lambda *_: None)
        acl.rt.allocator_set_get_addr_from_block_func_to_desc(desc, lambda *_: None)
        assert acl.rt.allocator_register(stream, desc) == 0
        for _ in range(50):
            acl.rt.launch_host_func(stream, lambda data: time.sleep(0.005), None)
        context, _ = acl.rt.get_context()
        def wait():
            acl.rt.set_context(context)
            acl.rt.synchronize_stream(stream)
        threading.Thread(target=wait, daemon=True).start()
        acl.util.start_thread(lambda: time.sleep(0.1), None)
        time.sleep(0.02)
        print("bye", flush=True)
    """)
    assert done.stdout == "bye\n" and "Fatal" not in done.stderr


def test_a_callback_may_not_be_lost_when_the_program_synchronises_at_exit(program):
    done = program("""
        import acl, atexit
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        atexit.register(lambda: acl.rt.synchronize_stream(stream))
        acl.rt.launch_host_func(stream, print, "ran")
    """)
    assert done.stdout == "ran\n"

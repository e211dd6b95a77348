# SPDX-License-Identifier: Apache-2.0
"""Allocators written in Python: what the runtime calls is the user's code with the user's ints, and it lives long enough.

The runtime's side is played by ctypes: aclrtAllocatorGetByStream hands out the functions that the runtime itself calls.
"""

import ctypes
import gc
import sys
import threading
import weakref

import pytest

ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
ADVISE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
ADDRESS = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
OBJECT = 0x77


class Allocator:
    """Counts blocks from 1 and writes down every call."""

    def __init__(self):
        self.calls = []
        self.next_block = 1

    def alloc(self, allocator, size):
        self.calls.append(("alloc", allocator, size))
        self.next_block += 1
        return self.next_block - 1

    def free(self, allocator, block):
        self.calls.append(("free", allocator, block))

    def advise(self, allocator, size, address):
        self.calls.append(("advise", allocator, size, address))
        return 99

    def address(self, block):
        self.calls.append(("address", block))
        return 0x1000 * block


class Registered:
    """What the runtime holds for a stream."""

    def __init__(self, library, stream):
        self.desc, self.object, *self.functions = (ctypes.c_void_p() for _ in range(6))
        outputs = [ctypes.byref(value) for value in (self.desc, self.object, *self.functions)]
        self.ret = library.aclrtAllocatorGetByStream(ctypes.c_void_p(stream), *outputs)
        kinds = (ALLOC, FREE, ADVISE, ADDRESS)
        self.alloc, self.free, self.advise, self.address = (
            kind(function.value) if function.value else None for kind, function in zip(kinds, self.functions, strict=True))


def describe(acl, alloc, free, address, advise=None, allocator=OBJECT):
    desc = acl.rt.allocator_create_desc()
    assert desc
    assert acl.rt.allocator_set_obj_to_desc(desc, allocator) == 0
    assert acl.rt.allocator_set_alloc_func_to_desc(desc, alloc) == 0
    assert acl.rt.allocator_set_free_func_to_desc(desc, free) == 0
    if advise:
        assert acl.rt.allocator_set_alloc_advise_func_to_desc(desc, advise) == 0
    assert acl.rt.allocator_set_get_addr_from_block_func_to_desc(desc, address) == 0
    return desc


def register(acl, stream, *functions, **options):
    desc = describe(acl, *functions, **options)
    assert acl.rt.allocator_register(stream, desc) == 0
    assert acl.rt.allocator_destroy_desc(desc) == 0


@pytest.fixture
def user():
    return Allocator()


@pytest.fixture
def registered(device, stream, library, user):
    register(device, stream, user.alloc, user.free, user.address, advise=user.advise)
    yield Registered(library, stream)
    device.rt.allocator_unregister(stream)


def test_the_runtime_reaches_the_users_functions_with_the_users_ints(registered, user):
    block = registered.alloc(registered.object, 2**40)  # more than 32 bits
    other = registered.alloc(registered.object, 8)
    assert block and other and block != other
    assert registered.address(block) == 0x1000 and registered.address(other) == 0x2000
    registered.free(registered.object, block)
    registered.free(registered.object, other)
    assert user.calls == [("alloc", OBJECT, 2**40), ("alloc", OBJECT, 8), ("address", 1), ("address", 2), ("free", OBJECT, 1),
                          ("free", OBJECT, 2)]


def test_advise_passes_the_address(registered, user):
    block = registered.advise(registered.object, 16, 0xABC000)
    assert registered.address(block) == 99 * 0x1000
    registered.free(registered.object, block)
    assert user.calls[0] == ("advise", OBJECT, 16, 0xABC000)


def test_two_descriptors_do_not_share_their_functions(device, stream, library):
    other_stream, _ = device.rt.create_stream()
    one, two = Allocator(), Allocator()
    register(device, stream, one.alloc, one.free, one.address)
    register(device, other_stream, two.alloc, two.free, two.address)
    a, b = Registered(library, stream), Registered(library, other_stream)
    block = b.alloc(b.object, 4)
    assert not one.calls and two.calls == [("alloc", OBJECT, 4)]
    a.free(a.object, block)  # a block goes back to the allocator it came from
    assert not one.calls and two.calls[-1] == ("free", OBJECT, 1)
    assert device.rt.allocator_unregister(stream) == 0
    assert device.rt.destroy_stream(other_stream) == 0


def test_one_allocator_on_two_streams_is_one_object_to_the_runtime(device, stream, library, user):
    """The runtime serialises the calls into one object."""
    other_stream, _ = device.rt.create_stream()
    for each in (stream, other_stream):
        register(device, each, user.alloc, user.free, user.address)
    assert Registered(library, stream).object.value == Registered(library, other_stream).object.value
    for each in (stream, other_stream):
        assert device.rt.allocator_unregister(each) == 0
    assert device.rt.destroy_stream(other_stream) == 0


def test_the_last_registration_wins(device, stream, library, user):
    register(device, stream, user.alloc, user.free, user.address)
    newer = Allocator()
    register(device, stream, newer.alloc, newer.free, newer.address)
    found = Registered(library, stream)
    found.free(found.object, found.alloc(found.object, 4))
    assert not user.calls and len(newer.calls) == 2
    assert device.rt.allocator_unregister(stream) == 0


def test_a_changed_descriptor_does_not_change_a_registration(device, stream, library, user):
    desc = describe(device, user.alloc, user.free, user.address)
    assert device.rt.allocator_register(stream, desc) == 0
    assert device.rt.allocator_set_alloc_func_to_desc(desc, lambda *_: 1 / 0) == 0
    found = Registered(library, stream)
    found.free(found.object, found.alloc(found.object, 4))
    assert len(user.calls) == 2
    assert device.rt.allocator_unregister(stream) == 0
    assert device.rt.allocator_destroy_desc(desc) == 0


@pytest.mark.parametrize("missing", ["object", "alloc", "free", "address"])
def test_an_incomplete_descriptor_is_not_registered(device, stream, library, missing):
    desc = device.rt.allocator_create_desc()
    setters = {"object": lambda: device.rt.allocator_set_obj_to_desc(desc, 1),
               "alloc": lambda: device.rt.allocator_set_alloc_func_to_desc(desc, len),
               "free": lambda: device.rt.allocator_set_free_func_to_desc(desc, len),
               "address": lambda: device.rt.allocator_set_get_addr_from_block_func_to_desc(desc, len)}
    for name, setter in setters.items():
        assert name == missing or setter() == 0
    assert device.rt.allocator_register(stream, desc) == 100000
    assert Registered(library, stream).ret == 100000
    assert device.rt.allocator_destroy_desc(desc) == 0


def test_nulls_are_refused_by_name(device, stream):
    desc = describe(device, len, len, len)
    assert device.rt.allocator_register(0, desc) == 100000
    assert "stream" in device.get_recent_err_msg()
    assert device.rt.allocator_register(stream, 0) == 100000
    assert device.rt.allocator_set_obj_to_desc(desc, 0) == 100000
    assert device.rt.allocator_set_alloc_func_to_desc(desc, None) == 100000
    assert device.rt.allocator_destroy_desc(0) == 100000
    assert device.rt.allocator_unregister(0) == 100000
    assert device.rt.allocator_unregister(stream) == 0  # never registered
    assert device.rt.allocator_destroy_desc(desc) == 0
    assert device.rt.allocator_destroy_desc(desc) == 100000  # twice
    with pytest.raises(TypeError, match="callable"):
        device.rt.allocator_set_alloc_func_to_desc(desc, 5)


def test_an_exception_becomes_a_null_block_and_is_reported_twice(device, stream, library, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(report.exc_value))

    def alloc(allocator, size):
        raise ValueError(f"no room for {size}")

    register(device, stream, alloc, len, len)
    found = Registered(library, stream)
    assert found.alloc(found.object, 12) is None
    assert isinstance(seen[0], ValueError)
    message = device.get_recent_err_msg()
    assert "alloc function" in message and "ValueError: no room for 12" in message
    assert device.rt.allocator_unregister(stream) == 0


@pytest.mark.parametrize("answer", [None, 0])
def test_nothing_as_a_block_is_null_without_an_exception(device, stream, library, answer):
    register(device, stream, lambda *_: answer, len, len)
    found = Registered(library, stream)
    assert found.alloc(found.object, 12) is None
    assert device.rt.allocator_unregister(stream) == 0


@pytest.mark.parametrize("answer", ["block", 1.5, object()])
def test_an_answer_that_is_no_int_is_null_and_named(device, stream, library, monkeypatch, answer):
    monkeypatch.setattr(sys, "unraisablehook", lambda report: None)
    register(device, stream, lambda *_: answer, len, len)
    found = Registered(library, stream)
    assert found.alloc(found.object, 12) is None
    assert "TypeError" in device.get_recent_err_msg()
    assert device.rt.allocator_unregister(stream) == 0


def test_exceptions_of_free_and_address_are_reported_too(device, stream, library, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(type(report.exc_value)))

    def free(allocator, block):
        raise KeyError(block)

    register(device, stream, lambda *_: 5, free, lambda block: {}[block])
    found = Registered(library, stream)
    block = found.alloc(found.object, 12)
    assert found.address(block) is None
    found.free(found.object, block)
    assert seen == [KeyError, KeyError]
    assert device.rt.allocator_unregister(stream) == 0


def test_callbacks_come_from_any_thread(registered, user):
    def work():
        for size in range(100):
            registered.free(registered.object, registered.alloc(registered.object, size))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(user.calls) == 800
    assert len({call[2] for call in user.calls if call[0] == "free"}) == 400


def test_a_callback_may_use_acl_itself(device, stream, library):
    """An allocator that takes its memory from the device, and waits for the stream before it gives any back."""
    sizes = {}

    def alloc(allocator, size):
        pointer, ret = device.rt.malloc(size, 0)
        sizes[pointer] = size
        return pointer if ret == 0 else None

    def free(allocator, block):
        assert device.rt.synchronize_stream(stream) == 0
        assert device.rt.free(block) == 0

    register(device, stream, alloc, free, lambda block: block)
    found = Registered(library, stream)
    block = found.alloc(found.object, 4096)
    address = found.address(block)
    assert sizes == {address: 4096} and device.rt.memset(address, 4096, 1, 4096) == 0
    found.free(found.object, block)
    assert device.rt.allocator_unregister(stream) == 0


class Canary:
    def alloc(self, allocator, size):
        return 1

    def free(self, allocator, block):
        pass

    def address(self, block):
        return 0x1000


def canary_on(acl, stream):
    """Registers a canary that nothing but the registration keeps alive."""
    canary = Canary()
    register(acl, stream, canary.alloc, canary.free, canary.address)
    return weakref.ref(canary)


def alive(canary):
    gc.collect()
    return canary() is not None


def test_a_registration_keeps_the_objects_alive_until_it_ends(device, stream, library):
    canary = canary_on(device, stream)
    assert alive(canary)
    found = Registered(library, stream)
    block = found.alloc(found.object, 4)
    assert device.rt.allocator_unregister(stream) == 0
    assert alive(canary), "a block is out: its free function is still needed"
    assert found.address(block) == 0x1000
    found.free(found.object, block)
    assert not alive(canary)


def test_replacing_a_registration_lets_the_older_go(device, stream):
    older = canary_on(device, stream)
    newer = canary_on(device, stream)
    assert not alive(older) and alive(newer)
    assert device.rt.allocator_unregister(stream) == 0
    assert not alive(newer)


def test_destroying_the_stream_ends_the_registration(device, library):
    stream, _ = device.rt.create_stream()
    canary = canary_on(device, stream)
    assert device.rt.destroy_stream(stream) == 0
    assert not alive(canary)
    stream, _ = device.rt.create_stream()
    canary = canary_on(device, stream)
    assert library.aclrtDestroyStream(ctypes.c_void_p(stream)) == 0  # by somebody else
    assert device.rt.allocator_unregister(1) == 0
    assert not alive(canary)


def test_a_descriptor_that_was_never_registered_lets_go(device):
    canary = Canary()
    desc = describe(device, canary.alloc, canary.free, canary.address)
    canary = weakref.ref(canary)
    assert alive(canary)
    assert device.rt.allocator_destroy_desc(desc) == 0
    assert not alive(canary)


def test_a_call_after_the_end_is_answered_with_null(device, stream, library):
    canary_on(device, stream)
    found = Registered(library, stream)
    assert device.rt.allocator_unregister(stream) == 0
    assert found.alloc(found.object, 4) is None
    assert "synchronize_stream before acl.rt.allocator_unregister" in device.get_recent_err_msg()


def test_registering_over_and_over_leaks_nothing(device, stream, library):
    function = lambda *_: 1  # noqa: E731: one object whose references are counted
    register(device, stream, function, function, function)
    before = sys.getrefcount(function)
    for _ in range(200):
        register(device, stream, function, function, function)
        found = Registered(library, stream)
        found.free(found.object, found.alloc(found.object, 4))
    assert sys.getrefcount(function) == before
    assert device.rt.allocator_unregister(stream) == 0
    assert sys.getrefcount(function) < before


def test_a_single_operator_takes_its_output_from_the_allocator(device, stream):
    """An output without memory, executed on a stream with an allocator."""
    blocks = []

    def alloc(allocator, size):
        pointer, ret = device.rt.malloc(max(size, 64), 0)
        assert ret == 0
        blocks.append((pointer, size))
        return pointer

    freed = []
    register(device, stream, alloc, lambda allocator, block: freed.append(block), lambda block: block)
    watched = weakref.ref(alloc)
    del alloc
    source, _ = device.rt.malloc(64, 0)
    assert device.rt.memset(source, 64, 0, 64) == 0
    desc, out = device.create_tensor_desc(0, [4], 2), device.create_tensor_desc(0, [4], 2)
    given, wanted = device.create_data_buffer(source, 16), device.create_data_buffer(0, 0)
    ret = device.op.compile_and_execute_v2("Add", [desc, desc], [given, given], [out], [wanted], 0, 0, 0, "", stream)
    message = device.get_recent_err_msg() or ""
    assert device.rt.synchronize_stream(stream) == 0
    address = device.get_data_buffer_addr(wanted)
    for one in (desc, out):
        device.destroy_tensor_desc(one)
    for one in (given, wanted):
        device.destroy_data_buffer(one)
    assert device.rt.allocator_unregister(stream) == 0
    device.rt.free(source)
    assert ret == 0, message
    assert len(blocks) == 1 and blocks[0][1] >= 16 and address == blocks[0][0]
    assert freed == [], "the output is the caller's"
    assert not alive(watched), "the runtime does not give an output back: nothing waits for it"
    device.rt.free(blocks[0][0])


def test_registrations_may_change_while_callbacks_run(device, stream, library, monkeypatch):
    """Threads allocate through whatever was registered when they looked; the main thread registers and unregisters."""
    monkeypatch.setattr(sys, "unraisablehook", lambda report: pytest.fail(f"{report.exc_value}"))
    ending = threading.Event()
    outcomes = {True: 0, False: 0}

    def work():
        while not ending.is_set():
            found = Registered(library, stream)
            if found.ret != 0:
                continue
            block = found.alloc(found.object, 64)
            outcomes[block is not None] += 1
            if block is not None:
                assert found.address(block) == 0x1000
                found.free(found.object, block)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    canaries = []
    for _ in range(300):
        canaries.append(canary_on(device, stream))
        assert device.rt.allocator_unregister(stream) == 0
    canaries.append(canary_on(device, stream))
    while outcomes[True] < 50:
        assert any(thread.is_alive() for thread in threads)
    ending.set()
    for thread in threads:
        thread.join()
    assert device.rt.allocator_unregister(stream) == 0
    gc.collect()
    assert not any(canary() for canary in canaries)

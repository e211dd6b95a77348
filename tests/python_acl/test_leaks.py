# SPDX-License-Identifier: Apache-2.0
"""Calls keep nothing: not their arguments, not their answers, not what they were refused for."""

import sys
import tracemalloc

import pytest

TIMES = 2000


def growth(work):
    """How many blocks of memory Python keeps of many calls. Blocks, not bytes: the table of names grows at times."""
    for _ in range(TIMES // 10):
        work()
    tracemalloc.start()
    try:
        for _ in range(TIMES):
            work()
        return len(tracemalloc.take_snapshot().traces)
    finally:
        tracemalloc.stop()


def quietly(exception, function, *arguments):
    def work():
        with pytest.raises(exception):
            function(*arguments)

    return work


def test_answers_and_failures_of_every_kind_are_let_go(device, stream):
    calls = {
        "an int": lambda: device.rt.synchronize_stream(stream),
        "a tuple": lambda: device.rt.stream_query(stream),
        "a str": device.get_soc_name,
        "dicts": lambda: device.rt.pointer_get_attributes(0),
        "nested dicts": lambda: device.rt.mem_get_allocation_granularity({"location": {"id": 0, "type": 1}}, 0),
        "a list": device.get_cann_attribute_list,
        "a callback": lambda: (device.rt.launch_host_func(stream, id, object()), device.rt.synchronize_stream(stream)),
        "a refusal": lambda: device.media.dvpp_malloc(1),
        "a thread": lambda: device.util.stop_thread(device.util.start_thread(id, object())[0]),
    }
    assert {name: grown for name, work in calls.items() if (grown := growth(work)) > TIMES / 10} == {}


def test_refused_arguments_are_let_go(acl):
    calls = {
        "a wrong type": quietly(TypeError, acl.create_data_buffer, "x", 1),
        "too many": quietly(TypeError, acl.create_data_buffer, 1, 2, 3),
        "a wrong item": quietly(TypeError, acl.create_tensor_desc, 0, [1, "x"], 2),
        "a wrong dict": quietly(TypeError, acl.rt.malloc_physical, 1, {"location": 5}, 0),
    }
    assert {name: grown for name, work in calls.items() if (grown := growth(work)) > TIMES / 10} == {}


def test_arguments_have_as_many_references_after_a_call_as_before(device, stream):
    numbers = [2**40 + n for n in range(4)]
    dims, text, place = numbers, "x" * 40, {"location": {"id": 2**40, "type": 2**41}}
    counts = [sys.getrefcount(thing) for thing in (*numbers, dims, text, place)]
    for _ in range(50):
        device.destroy_tensor_desc(device.create_tensor_desc(0, dims, 2))
        device.get_version_str(text)
        device.rt.mem_get_allocation_granularity(place, 0)
        device.rt.memcpy(*numbers, 0)
    assert [sys.getrefcount(thing) for thing in (*numbers, dims, text, place)] == counts

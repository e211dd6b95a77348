# SPDX-License-Identifier: Apache-2.0
"""The usual structure of a pyACL program: init, device, context, stream, memory, copies, work, and the way back."""

import ctypes

H2D, D2H, D2D = 1, 2, 3
HUGE_FIRST = 0
FLOAT, ND = 0, 2


def test_a_program_goes_from_init_to_finalize(program):
    done = program("""
        import acl
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        context, ret = acl.rt.create_context(0); assert ret == 0
        assert acl.rt.get_context() == (context, 0)
        assert acl.rt.set_context(context) == 0
        stream, ret = acl.rt.create_stream(); assert ret == 0
        mode, ret = acl.rt.get_run_mode(); assert (mode, ret) == (1, 0)
        text = b"still water" * 1000
        pointer, ret = acl.rt.malloc(len(text), 0); assert ret == 0 and pointer
        host, ret = acl.rt.malloc_host(len(text)); assert ret == 0 and host
        assert acl.rt.memcpy(pointer, len(text), acl.util.bytes_to_ptr(text), len(text), 1) == 0
        assert acl.rt.memcpy_async(host, len(text), pointer, len(text), 2, stream) == 0
        assert acl.rt.synchronize_stream(stream) == 0
        assert acl.util.ptr_to_bytes(host, len(text)) == text
        assert acl.rt.free(pointer) == 0 and acl.rt.free_host(host) == 0
        assert acl.rt.destroy_stream(stream) == 0
        assert acl.rt.destroy_context(context) == 0
        assert acl.rt.reset_device(0) == 0
        assert acl.finalize() == 0
        print("done")
    """)
    assert done.stdout == "done\n"


def test_calls_after_finalize_answer_an_error_and_do_not_crash(program):
    program("""
        import acl
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream(); event, _ = acl.rt.create_event(); pointer, _ = acl.rt.malloc(64, 0)
        acl.rt.reset_device(0); acl.finalize()
        assert acl.rt.synchronize_stream(stream) != 0
        assert acl.rt.memset_async(pointer, 64, 0, 64, stream) != 0
        assert acl.rt.record_event(event, stream) != 0
        assert acl.rt.launch_callback(print, 1, 1, stream) != 0
        assert acl.finalize() != 0
        assert acl.get_recent_err_msg()
    """)


def test_garbage_handles_are_refused(device):
    for handle in (1, 0x1234, 2**63, 2**64 - 1):
        assert device.rt.synchronize_stream(handle) != 0
        assert device.rt.destroy_stream(handle) != 0
        assert device.rt.query_event_status(handle)[1] != 0
        assert device.rt.destroy_event(handle) != 0
        assert device.rt.destroy_context(handle) != 0
        assert device.rt.destroy_notify(handle) != 0
        assert device.rt.free_physical(handle) != 0
        assert device.rt.free(handle) != 0
        assert device.rt.allocator_destroy_desc(handle) == 100000
        assert device.rt.allocator_set_obj_to_desc(handle, 1) == 100000
        assert device.rt.allocator_set_alloc_func_to_desc(handle, len) == 100000
        assert device.rt.allocator_register(1, handle) == 100000
        assert device.util.stop_thread(handle) == 3


def test_garbage_descriptors_buffers_and_attributes_are_looked_up_and_never_read(program):
    program("""
        import acl
        for handle in (1, 0x1234, 2**63, 2**64 - 1):
            assert acl.get_tensor_desc_type(handle) == -1
            acl.destroy_tensor_desc(handle)
            assert acl.set_tensor_shape(handle, [1]) == 100000
            assert acl.destroy_data_buffer(handle) == 100000
            assert acl.get_data_buffer_addr(handle) == 0
            assert acl.op.set_attr_int(handle, "a", 1) == 100000
            acl.op.destroy_attr(handle)
        desc = acl.create_tensor_desc(0, [1], 2)
        acl.destroy_tensor_desc(desc)
        acl.destroy_tensor_desc(desc)  # twice
        assert acl.get_tensor_desc_type(desc) == -1
    """)


def test_a_stream_is_destroyed_once(device):
    stream, _ = device.rt.create_stream()
    assert device.rt.destroy_stream(stream) == 0
    assert device.rt.destroy_stream(stream) != 0


def test_memset_and_copies_between_blocks(device, stream):
    a, _ = device.rt.malloc(256, HUGE_FIRST)
    b, _ = device.rt.malloc(256, HUGE_FIRST)
    assert device.rt.memset(a, 256, 7, 256) == 0
    assert device.rt.memset_async(b, 256, 9, 256, stream) == 0
    assert device.rt.memcpy_async(b, 128, a, 128, D2D, stream) == 0
    assert device.rt.synchronize_stream_with_timeout(stream, 10000) == 0
    back = ctypes.create_string_buffer(256)
    assert device.rt.memcpy(ctypes.addressof(back), 256, b, 256, D2H) == 0
    assert back.raw == b"\7" * 128 + b"\t" * 128
    assert device.rt.free(a) == 0 and device.rt.free(b) == 0


def test_events_order_streams_and_measure_time(device, stream):
    other, _ = device.rt.create_stream()
    start, _ = device.rt.create_event()
    end, ret = device.rt.create_event()
    assert ret == 0
    assert device.rt.record_event(start, stream) == 0
    assert device.rt.stream_wait_event(other, start) == 0
    assert device.rt.record_event(end, other) == 0
    assert device.rt.synchronize_event(end) == 0
    assert device.rt.query_event_status(end) == (1, 0)
    milliseconds, ret = device.rt.event_elapsed_time(start, end)
    assert ret == 0 and isinstance(milliseconds, float) and milliseconds >= 0
    for event in (start, end):
        assert device.rt.destroy_event(event) == 0
    assert device.rt.destroy_stream(other) == 0


def test_virtual_memory_is_reserved_mapped_and_used(device):
    place = {"handleType": 0, "allocationType": 0, "memAttr": 5, "location": {"id": 0, "type": 1}, "reserve": 0}
    granularity, ret = device.rt.mem_get_allocation_granularity(place, 0)
    assert ret == 0
    address, ret = device.rt.reserve_mem_address(granularity, 0, 0, 1)
    assert ret == 0 and address
    handle, ret = device.rt.malloc_physical(granularity, place, 0)
    assert ret == 0
    assert device.rt.map_mem(address, granularity, 0, handle, 0) == 0
    assert device.rt.memset(address, granularity, 1, granularity) == 0
    assert device.rt.unmap_mem(address) == 0
    assert device.rt.free_physical(handle) == 0
    assert device.rt.release_mem_address(address) == 0


def test_a_tensor_desc_tells_what_it_was_made_of(acl):
    desc = acl.create_tensor_desc(1, [2, 3], ND)
    acl.set_tensor_desc_name(desc, "wässer")
    assert acl.get_tensor_desc_name(desc) == "wässer"
    assert (acl.get_tensor_desc_type(desc), acl.get_tensor_desc_format(desc)) == (1, ND)
    assert acl.get_tensor_desc_dim_v2(desc, 1) == (3, 0)
    assert (acl.get_tensor_desc_element_count(desc), acl.get_tensor_desc_size(desc)) == (6, 12)
    assert acl.set_tensor_shape(desc, [4]) == 0
    acl.destroy_tensor_desc(desc)


def test_versions_and_names_are_texts(acl):
    assert acl.get_version()[3] == 0 and acl.get_soc_name().startswith("Ascend")
    version, ret = acl.get_cann_version(0)
    assert ret == 0 and set(version) == {"version", "major_version", "minor_version", "release_version", "patch_version", "reserved"}
    text, ret = acl.get_version_str("runtime")
    assert ret == 0 and text


def test_information_about_the_device(device):
    assert device.rt.get_device() == (0, 0)
    count, ret = device.rt.get_device_count()
    assert ret == 0 and count >= 1
    free, total, ret = device.rt.get_mem_info(1)
    assert ret == 0 and 0 < free <= total
    assert device.rt.get_primary_ctx_state(0) == (1, 0, 0)
    uuid, ret = device.rt.device_get_uuid(0)
    assert ret == 0 and len(uuid["bytes"]) == 16 and all(0 <= byte < 256 for byte in uuid["bytes"])


def test_attributes_of_a_pointer_and_a_stream_are_dicts(device, stream):
    pointer, _ = device.rt.malloc(64, HUGE_FIRST)
    attributes, ret = device.rt.pointer_get_attributes(pointer)
    assert ret == 0 and attributes["location"] == {"id": 0, "type": 1}
    assert device.rt.free(pointer) == 0
    assert device.rt.set_stream_attribute(stream, 3, {"userCustomTag": 77}) == 0
    value, ret = device.rt.get_stream_attribute(stream, 3)
    assert ret == 0 and value["userCustomTag"] == 77


def test_a_single_operator_runs_by_its_type(device, stream):
    x, y = ((ctypes.c_float * 4)(*values) for values in ((1, 2, 3, 4), (10, 20, 30, 40)))
    memory = [device.rt.malloc(64, HUGE_FIRST)[0] for _ in range(3)]
    for target, source in zip(memory, (x, y), strict=False):
        assert device.rt.memcpy(target, 16, ctypes.addressof(source), 16, H2D) == 0
    descs = [device.create_tensor_desc(FLOAT, [4], ND) for _ in range(3)]
    buffers = [device.create_data_buffer(pointer, 16) for pointer in memory]
    attr = device.op.create_attr()
    ret = device.op.compile_and_execute("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, 0, 0, None, stream)
    assert ret == 0, device.get_recent_err_msg()
    assert device.rt.synchronize_stream(stream) == 0
    sums = (ctypes.c_float * 4)()
    assert device.rt.memcpy(ctypes.addressof(sums), 16, memory[2], 16, D2H) == 0
    assert list(sums) == [11, 22, 33, 44]
    device.op.destroy_attr(attr)
    for desc, buffer, pointer in zip(descs, buffers, memory, strict=True):
        device.destroy_tensor_desc(desc)
        assert device.destroy_data_buffer(buffer) == 0 and device.rt.free(pointer) == 0


def test_attributes_of_an_operator_take_lists_of_every_kind(acl):
    attr = acl.op.create_attr()
    assert acl.op.set_attr_bool(attr, "b", 1) == 0
    assert acl.op.set_attr_list_bool(attr, "lb", [0, 1]) == 0
    assert acl.op.set_attr_list_int(attr, "li", [1, -2]) == 0
    assert acl.op.set_attr_list_float(attr, "lf", [1, 2.5]) == 0
    assert acl.op.set_attr_list_string(attr, "ls", ["a", "ß"]) == 0
    assert acl.op.set_attr_list_list_int(attr, "lli", [[1], [], [2, 3]]) == 0
    assert acl.op.set_attr_data_type(attr, "t", 1) == (attr, 0)
    assert acl.op.set_attr_list_data_type(attr, "lt", [0, 1]) == (attr, 0)
    acl.op.destroy_attr(attr)


def test_refused_functions_say_their_name(acl):
    assert acl.media.vdec_create_channel(0) == 207000
    assert "acl.media.vdec_create_channel" in acl.get_recent_err_msg()

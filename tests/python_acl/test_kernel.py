# SPDX-License-Identifier: Apache-2.0
"""A kernel of one's own, loaded and launched through acl.rt. (issue 16)"""

import ctypes
import struct
import subprocess

import pytest

H2D, D2H = 1, 2
BLOCKS, TOTAL = 4, 1024


@pytest.fixture(scope="module")
def kernels(ascend, root, tmp_path_factory):
    library = tmp_path_factory.mktemp("kernels") / "scaled_add.so"
    subprocess.run(["g++", "-std=c++17", "-shared", "-fPIC", f"-I{ascend}/include", str(root / "examples" / "kernel" / "scaled_add.cc"),
                    "-o", str(library)], check=True)
    return library


@pytest.fixture
def arrays(device):
    """x, y and z on the device: 0, 1, 2 ...; ones; nothing."""
    bytes_each = TOTAL * 4
    found = []
    for values in (range(TOTAL), [1] * TOTAL, [0] * TOTAL):
        memory, ret = device.rt.malloc(bytes_each, 0)
        assert ret == 0
        host = (ctypes.c_float * TOTAL)(*values)
        assert device.rt.memcpy(memory, bytes_each, ctypes.addressof(host), bytes_each, H2D) == 0
        found.append(memory)
    yield found
    for memory in found:
        device.rt.free(memory)


def result(device, memory):
    host = (ctypes.c_float * TOTAL)()
    assert device.rt.memcpy(ctypes.addressof(host), TOTAL * 4, memory, TOTAL * 4, D2H) == 0
    return list(host)


def expected(factor):
    return [factor * i + 1 for i in range(TOTAL)]


def test_a_list_of_arguments_is_launched(device, stream, kernels, arrays):
    binary, ret = device.rt.binary_load_from_file(str(kernels), [])
    assert ret == 0
    function, ret = device.rt.binary_get_function(binary, "scaled_add")
    assert ret == 0
    args, ret = device.rt.kernel_args_init(function)
    assert ret == 0
    values = [*(ctypes.c_uint64(memory) for memory in arrays), ctypes.c_float(0.5), ctypes.c_uint32(TOTAL)]
    handles = []
    for value in values:
        handle, ret = device.rt.kernel_args_append(args, ctypes.addressof(value), ctypes.sizeof(value))
        assert ret == 0
        handles.append(handle)
    assert device.rt.kernel_args_finalize(args) == 0
    assert device.rt.launch_kernel_with_config(function, BLOCKS, stream, [], args, 0) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert result(device, arrays[2]) == expected(0.5)

    again = ctypes.c_float(2)
    assert device.rt.kernel_args_para_update(args, handles[3], ctypes.addressof(again), 4) == 0
    assert device.rt.kernel_args_finalize(args) == 0
    assert device.rt.launch_kernel_with_config(function, BLOCKS, stream, [{"id": 1, "value": 0}], args, 0) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert result(device, arrays[2]) == expected(2)
    assert device.rt.binary_unload(binary) == 0
    assert device.rt.binary_unload(binary) != 0


def test_arguments_on_the_device_and_a_binary_in_memory(device, stream, kernels, arrays):
    data = kernels.read_bytes()
    image = ctypes.create_string_buffer(data, len(data))
    binary, ret = device.rt.binary_load_from_data(ctypes.addressof(image), len(data), [{"type": 1, "value": 0}])
    assert ret == 0
    function, ret = device.rt.binary_get_function(binary, "scaled_add")
    assert ret == 0
    packed = struct.pack("=QQQfI", *arrays, 3.0, TOTAL)
    host = ctypes.create_string_buffer(packed, len(packed))
    memory, ret = device.rt.malloc(len(packed), 0)
    assert ret == 0
    assert device.rt.memcpy(memory, len(packed), ctypes.addressof(host), len(packed), H2D) == 0
    assert device.rt.launch_kernel(function, BLOCKS, memory, len(packed), stream) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert result(device, arrays[2]) == expected(3)
    assert device.rt.launch_kernel(function, 0, memory, len(packed), stream) == 100000
    assert device.rt.free(memory) == 0
    assert device.rt.binary_unload(binary) == 0


def test_what_is_no_library_is_refused(device, tmp_path):
    garbage = tmp_path / "kernel.o"
    garbage.write_bytes(b"garbage")
    handle, ret = device.rt.binary_load_from_file(str(garbage), [])
    assert (handle, ret != 0) == (0, True)
    assert "is no ELF file" in device.get_recent_err_msg()

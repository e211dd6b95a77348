# SPDX-License-Identifier: Apache-2.0
"""acl.util: addresses of bytes and arrays without a copy, and back."""

import ctypes
import warnings

import pytest


@pytest.fixture
def numpy():
    return pytest.importorskip("numpy", reason="numpy is not installed in this environment")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_the_address_of_bytes_is_inside_the_object(acl):
    text = b"pond"
    assert ctypes.string_at(acl.util.bytes_to_ptr(text), 4) == text


@pytest.mark.parametrize("value", [bytearray(b"x"), "x", memoryview(b"x"), None])
def test_only_bytes_have_an_address(acl, value):
    with pytest.raises(ValueError, match="bytes"):
        acl.util.bytes_to_ptr(value)


def test_bytes_of_an_address_are_a_copy(acl):
    memory = ctypes.create_string_buffer(b"abcd", 4)
    copy = acl.util.ptr_to_bytes(ctypes.addressof(memory), 4)
    memory[0] = b"z"
    assert copy == b"abcd"
    assert acl.util.ptr_to_bytes(ctypes.addressof(memory), 0) == b""
    for address, size in ((0, 4), (ctypes.addressof(memory), -1)):
        with pytest.raises(ValueError, match="bytes can be copied from address"):
            acl.util.ptr_to_bytes(address, size)


def test_the_address_of_an_array_is_its_data(acl, numpy):
    array = numpy.arange(6, dtype=numpy.float32)
    assert acl.util.numpy_to_ptr(array) == array.ctypes.data


def test_numpy_functions_warn_that_they_will_go(acl, numpy):
    array = numpy.zeros(4)
    for call in (lambda: acl.util.numpy_to_ptr(array), lambda: acl.util.numpy_contiguous_to_ptr(array),
                 lambda: acl.util.ptr_to_numpy(array.ctypes.data, (4,), 12)):
        with pytest.warns(Warning, match="on its way out"):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning):
            acl.util.numpy_to_ptr(array)


def test_an_array_with_gaps_is_warned_about_or_made_contiguous(acl, numpy):
    array = numpy.arange(8)[::2]
    with pytest.warns(Warning, match="not contiguous"):
        assert acl.util.numpy_to_ptr(array) == array.ctypes.data
    pointer, copy = acl.util.numpy_contiguous_to_ptr(array)
    assert pointer == copy.ctypes.data and copy is not array and copy.tolist() == [0, 2, 4, 6]
    whole = numpy.arange(4)
    pointer, same = acl.util.numpy_contiguous_to_ptr(whole)
    assert pointer == whole.ctypes.data == same.ctypes.data


@pytest.mark.parametrize("value", [[1, 2], b"x", None, memoryview(b"x")])
def test_only_arrays_are_arrays(acl, numpy, value):
    for function in (acl.util.numpy_to_ptr, acl.util.numpy_contiguous_to_ptr):
        with pytest.raises(ValueError, match="ndarray"):
            function(value)


@pytest.mark.parametrize("number, name", [(0, "bool"), (1, "int8"), (2, "uint8"), (3, "int16"), (5, "int32"), (7, "int64"),
                                          (11, "float32"), (12, "float64"), (14, "complex64"), (23, "float16")])
def test_an_address_becomes_a_writable_view_by_numpys_type_number(acl, numpy, number, name):
    memory = numpy.zeros((2, 3), dtype=name)
    view = acl.util.ptr_to_numpy(memory.ctypes.data, (2, 3), number)
    assert view.dtype == memory.dtype and view.shape == (2, 3) and view.ctypes.data == memory.ctypes.data
    view[1, 2] = 1
    assert memory[1, 2] == 1


def test_what_cannot_be_an_array_is_refused(acl, numpy):
    with pytest.raises(TypeError, match="tuple"):
        acl.util.ptr_to_numpy(4096, [2], 11)
    for address, number in ((0, 11), (4096, 17), (4096, 18), (4096, -1), (4096, 99)):
        with pytest.raises(ValueError, match="can be made at address"):
            acl.util.ptr_to_numpy(address, (1,), number)


def test_arrays_as_values_of_attributes_need_the_right_items(acl, numpy):
    attr = acl.op.create_attr()
    assert acl.op.set_attr_list_int(attr, "i", numpy.arange(3)) == 0
    assert acl.op.set_attr_list_float(attr, "f", numpy.ones(3, dtype=numpy.float32)) == 0
    assert acl.op.set_attr_list_bool(attr, "b", numpy.ones(3, dtype=bool)) == 0
    for function, array in ((acl.op.set_attr_list_int, numpy.arange(3, dtype=numpy.int32)), (acl.op.set_attr_list_float, numpy.ones(3)),
                            (acl.op.set_attr_list_int, numpy.arange(6)[::2])):
        with pytest.raises(ValueError, match="contiguous"):
            function(attr, "x", array)
    with pytest.raises(TypeError):
        acl.op.set_attr_list_int(attr, "x", (1, 2))
    acl.op.destroy_attr(attr)


def test_an_array_goes_to_the_device_and_back(device, numpy):
    array = numpy.random.default_rng(1).random((64, 64), dtype=numpy.float32)
    pointer, _ = device.rt.malloc(array.nbytes, 0)
    assert device.rt.memcpy(pointer, array.nbytes, device.util.numpy_to_ptr(array), array.nbytes, 1) == 0
    host, _ = device.rt.malloc_host(array.nbytes)
    assert device.rt.memcpy(host, array.nbytes, pointer, array.nbytes, 2) == 0
    assert (device.util.ptr_to_numpy(host, (64, 64), 11) == array).all()
    assert device.rt.free(pointer) == 0 and device.rt.free_host(host) == 0

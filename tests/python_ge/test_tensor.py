# SPDX-License-Identifier: Apache-2.0
"""Tensors, their descriptions, shapes, and the enumerations."""

import math
import os
import re

import pytest
from ge.graph import DataType, Format, Placement, Shape, Tensor, TensorDesc
from ge.graph.types import AttrValueType

np = pytest.importorskip("numpy", reason="values are compared with numpy's")

NUMPY = {
    DataType.DT_FLOAT: np.float32, DataType.DT_FLOAT16: np.float16, DataType.DT_BOOL: np.bool_,
    DataType.DT_INT8: np.int8, DataType.DT_INT16: np.int16, DataType.DT_INT32: np.int32, DataType.DT_INT64: np.int64,
    DataType.DT_UINT8: np.uint8, DataType.DT_UINT16: np.uint16, DataType.DT_UINT32: np.uint32,
    DataType.DT_UINT64: np.uint64,
}
EVERY_TYPE = pytest.mark.parametrize("data_type", list(NUMPY), ids=lambda data_type: data_type.name)


def sample(data_type, shape):
    """Values of a type, the largest and the smallest among them."""
    kind, count = NUMPY[data_type], math.prod(shape)
    if kind == np.bool_:
        return (np.arange(count) % 3 == 0).reshape(shape)
    if np.issubdtype(kind, np.floating):
        return np.linspace(-3.25, 7.5, count).astype(kind).reshape(shape)
    values = (np.arange(count) % 100).astype(kind)
    values[0], values[-1] = np.iinfo(kind).min, np.iinfo(kind).max
    return values.reshape(shape)


def tensor_of(values, data_type, **more):
    return Tensor(values.flatten().tolist(), data_type=data_type, shape=list(values.shape), **more)


# --- values
@pytest.mark.parametrize("shape", [[6], [2, 3], [2, 1, 3, 2], [1]], ids=str)
@EVERY_TYPE
def test_values_of_every_type_come_back_as_they_went_in(data_type, shape):
    values = sample(data_type, shape)
    tensor = tensor_of(values, data_type)
    np.testing.assert_array_equal(np.array(tensor.get_data(), dtype=NUMPY[data_type]), values)
    assert (tensor.shape, tensor.data_type, tensor.format) == (shape, data_type, Format.FORMAT_ND)
    assert tensor.placement == tensor.get_placement() == Placement.PLACEMENT_HOST


@EVERY_TYPE
def test_values_survive_the_way_to_the_device_and_back(engine, data_type):
    values = sample(data_type, [3, 5])
    tensor = tensor_of(values, data_type, placement=Placement.PLACEMENT_DEVICE)
    assert tensor.placement == Placement.PLACEMENT_DEVICE
    with pytest.raises(RuntimeError, match=r"in device memory; call to_host\(\) first"):
        tensor.get_data()
    with pytest.raises(ValueError, match="Tensor.to_device: the tensor is at PLACEMENT_DEVICE already"):
        tensor.to_device()
    assert "placement=PLACEMENT_DEVICE" in str(tensor)
    assert tensor.to_host() is tensor
    np.testing.assert_array_equal(np.array(tensor.data, dtype=NUMPY[data_type]), values)
    with pytest.raises(ValueError, match="Tensor.to_host: the tensor is at PLACEMENT_HOST already"):
        tensor.to_host()


def test_memory_of_the_device_is_given_back(engine):
    before, count = engine.free_memory(), 1 << 20
    tensor = Tensor([1.0] * count, shape=[count], placement=Placement.PLACEMENT_DEVICE)
    assert engine.free_memory() <= before - 4 * count
    del tensor
    assert engine.free_memory() == before


def test_halves_round_to_the_nearest_and_overflow_to_infinity():
    values = [65504.0, 65520.0, -1e6, 1e-8, 0.1, float("nan")]
    got = Tensor(values, data_type=DataType.DT_FLOAT16, shape=[6]).data
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(np.array(got, dtype=np.float16), np.array(values).astype(np.float16))


def test_numbers_of_other_kinds_are_converted():
    assert Tensor([1, True, np.float32(2.5)], shape=[3]).data == [1.0, 1.0, 2.5]
    assert Tensor([1.0, 2.7, np.int8(3)], data_type=DataType.DT_INT32, shape=[3]).data == [1, 2, 3]


def test_a_scalar_is_one_value():
    assert Tensor([7], data_type=DataType.DT_INT32, shape=[]).data == 7
    assert Tensor([2.5]).data == 2.5  # no shape is the shape of a scalar


@pytest.mark.parametrize("shape, expected", [([0], []), ([2, 0], [[], []]), ([0, 3], []), ([1, 0, 2], [[]])], ids=str)
def test_a_tensor_without_values_has_empty_lists(shape, expected):
    assert Tensor([], shape=shape).data == expected


def test_values_that_do_not_fit_the_shape_cannot_be_read():
    with pytest.raises(ValueError, match=r"the tensor has 2 values, but its shape \[3\] has 3"):
        Tensor([1.0, 2.0], shape=[3]).get_data()


def test_a_tensor_prints_its_type_format_shape_and_values():
    text = str(Tensor([1, 2, 3, 4], data_type=DataType.DT_INT8, shape=[2, 2]))
    assert text == "Tensor(data_type=DT_INT8, format=FORMAT_ND, shape=[2, 2], data=[[1, 2], [3, 4]])"


# --- files of raw bytes
@pytest.mark.parametrize("data_type, bits, expected", [
    (DataType.DT_FLOAT, np.array([0.5, -2.0], np.float32), [0.5, -2.0]),
    (DataType.DT_DOUBLE, np.array([0.1, -2.0], np.float64), [0.1, -2.0]),
    (DataType.DT_BF16, np.array([0x3F80, 0xC000], np.uint16), [1.0, -2.0]),
    (DataType.DT_COMPLEX64, np.array([1 + 2j, -3j], np.complex64), [1 + 2j, -3j]),
    (DataType.DT_COMPLEX128, np.array([1 + 2j, -3j], np.complex128), [1 + 2j, -3j]),
], ids=str)
def test_a_file_of_raw_bytes_makes_a_tensor(tmp_path, data_type, bits, expected):
    bits.tofile(tmp_path / "values.bin")
    assert Tensor(file_path=str(tmp_path / "values.bin"), data_type=data_type, shape=[2]).data == expected


def test_a_file_that_does_not_fit_is_refused(tmp_path):
    (tmp_path / "values.bin").write_bytes(bytes(24))
    with pytest.raises(RuntimeError, match=r"values.bin has 24 bytes, but \[7\] of DT_FLOAT needs 28"):
        Tensor(file_path=str(tmp_path / "values.bin"), shape=[7])
    with pytest.raises(RuntimeError, match="Tensor: file_path cannot be read: .*none.bin"):
        Tensor(file_path=str(tmp_path / "none.bin"))
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(RuntimeError, match=f"Tensor: file_path '{path}' is not a file"):
            Tensor(file_path=path)


def test_values_that_python_has_no_numbers_for_are_refused(tmp_path):
    (tmp_path / "values.bin").write_bytes(bytes(2))
    tensor = Tensor(file_path=str(tmp_path / "values.bin"), data_type=DataType.DT_HIFLOAT8, shape=[2])
    with pytest.raises(RuntimeError, match="Python has no numbers like DT_HIFLOAT8"):
        tensor.get_data()


# --- descriptions
def test_format_and_type_of_a_tensor_can_be_changed():
    tensor = Tensor()
    assert tensor.set_format(Format.FORMAT_NCHW).set_data_type(DataType.DT_INT64) is tensor
    assert tensor.get_format() == tensor.format == Format.FORMAT_NCHW
    assert tensor.get_data_type() == tensor.data_type == DataType.DT_INT64
    assert tensor.get_shape() == tensor.shape == []
    desc = tensor.get_tensor_desc()
    desc.set_format(Format.FORMAT_ND)
    assert tensor.format == Format.FORMAT_NCHW  # what get_tensor_desc gives is a copy


def test_a_description_keeps_what_it_is_told():
    desc = TensorDesc([1, -1, 3], Format.FORMAT_NCHW, DataType.DT_INT32)
    assert desc.shape == desc.origin_shape == [1, -1, 3]
    assert desc.format == desc.origin_format == Format.FORMAT_NCHW and desc.data_type == DataType.DT_INT32
    changed = desc.set_shape([4]).set_format(Format.FORMAT_ND).set_data_type(DataType.DT_BF16)
    assert changed.set_origin_shape([2, 2]).set_origin_format(Format.FORMAT_NHWC) is desc
    assert (desc.get_shape(), desc.get_origin_shape()) == ([4], [2, 2])
    assert (desc.get_format(), desc.get_origin_format()) == (Format.FORMAT_ND, Format.FORMAT_NHWC)
    assert desc.get_data_type() == DataType.DT_BF16
    assert repr(desc) == "TensorDesc(shape=[4], format=FORMAT_ND, data_type=DT_BF16)"
    assert repr(TensorDesc()) == "TensorDesc(shape=[], format=FORMAT_ND, data_type=DT_FLOAT)"


@pytest.mark.parametrize("dims, size, unknown", [([2, 3], 6, False), ([], 0, False), (None, 0, False),
                                                 ([0, 5], 0, False), ([2, -1], -1, True), ([-2], -1, True)], ids=str)
def test_a_shape_is_a_list_that_knows_its_size(dims, size, unknown):
    shape = Shape(dims)
    assert isinstance(shape, list) and shape == (dims or [])
    assert (shape.get_shape_size(), shape.is_unknown_shape()) == (size, unknown)


def test_numbers_are_those_of_the_header(root):
    header = (root / "include" / "graph" / "c_types.h").read_text()
    for prefix, enumeration in (("DT_", DataType), ("FORMAT_", Format)):
        numbers = {name: int(number, 0) for name, number in re.findall(rf"C_({prefix}\w+) = (\w+)", header)}
        assert {one.name: one.value for one in enumeration} == numbers
    assert [int(one) for one in Placement] == [0, 1]
    assert AttrValueType.VT_LIST_INT == AttrValueType.VT_LIST_BASE + AttrValueType.VT_INT == 1004

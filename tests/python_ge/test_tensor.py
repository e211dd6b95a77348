# SPDX-License-Identifier: Apache-2.0
"""ge.graph.Tensor, TensorDesc, Shape and the enumerations. Doc: Tensor, TensorDesc, Shape, DataType."""

import copy
import ctypes
import math

import pytest
from ge.error import GeError
from ge.graph import DataType, Format, Placement, Shape, Tensor, TensorDesc
from ge.graph.types import AttrValueType

np = pytest.importorskip("numpy", reason="values are compared with numpy's")

NUMPY = {DataType.DT_FLOAT: np.float32, DataType.DT_FLOAT16: np.float16, DataType.DT_INT8: np.int8, DataType.DT_UINT8: np.uint8,
         DataType.DT_INT16: np.int16, DataType.DT_UINT16: np.uint16, DataType.DT_INT32: np.int32, DataType.DT_UINT32: np.uint32,
         DataType.DT_INT64: np.int64, DataType.DT_UINT64: np.uint64, DataType.DT_BOOL: np.bool_}


def sample(dtype, shape):
    count = math.prod(shape)
    if dtype == np.bool_:
        return (np.arange(count) % 3 == 0).reshape(shape)
    if np.issubdtype(dtype, np.floating):
        return np.linspace(-3.25, 7.5, count).astype(dtype).reshape(shape)
    limits = np.iinfo(dtype)
    values = np.arange(count, dtype=np.int64) % 100
    made = values.astype(dtype).reshape(shape)
    made.flat[0], made.flat[-1] = limits.min, limits.max
    return made


@pytest.mark.parametrize("shape", [[6], [2, 3], [2, 1, 3, 2], [1]])
@pytest.mark.parametrize("data_type", list(NUMPY))
def test_values_of_every_type_come_back_as_they_went_in(data_type, shape):
    values = sample(NUMPY[data_type], shape)
    tensor = Tensor(values.flatten().tolist(), None, data_type, Format.FORMAT_ND, shape)
    np.testing.assert_array_equal(np.array(tensor.get_data(), dtype=NUMPY[data_type]), values)
    assert tensor.shape == shape and tensor.data_type == data_type and tensor.format == Format.FORMAT_ND
    assert tensor.placement == Placement.PLACEMENT_HOST


@pytest.mark.parametrize("data_type", list(NUMPY))
def test_values_survive_the_way_to_the_device_and_back(engine, data_type):
    """Doc Tensor: to_device and to_host move the tensor in place and return it."""
    values = sample(NUMPY[data_type], [3, 5])
    tensor = Tensor(values.flatten().tolist(), None, data_type, Format.FORMAT_ND, [3, 5], Placement.PLACEMENT_DEVICE)
    assert tensor.placement == Placement.PLACEMENT_DEVICE
    with pytest.raises(RuntimeError, match="Failed to get Tensor data; it is on the device.*to_host"):
        tensor.get_data()
    with pytest.raises(ValueError, match=r"to_device\(\) only supports host tensors"):
        tensor.to_device()
    assert tensor.to_host() is tensor
    np.testing.assert_array_equal(np.array(tensor.data, dtype=NUMPY[data_type]), values)
    with pytest.raises(ValueError, match=r"to_host\(\) only supports device tensors"):
        tensor.to_host()


def test_device_memory_of_a_tensor_is_given_back(engine):
    before = engine.free_memory()
    tensor = Tensor([1.0] * (1 << 20), None, DataType.DT_FLOAT, Format.FORMAT_ND, [1 << 20], Placement.PLACEMENT_DEVICE)
    assert engine.free_memory() <= before - (4 << 20)
    del tensor
    assert engine.free_memory() == before


def test_halves_round_to_the_nearest_and_overflow_to_infinity():
    values = [65504.0, 65520.0, -1e6, 1e-8, 0.1, float("nan")]
    got = Tensor(values, None, DataType.DT_FLOAT16, Format.FORMAT_ND, [6]).get_data()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(np.array(got, dtype=np.float16), np.array(values).astype(np.float16))


def test_a_value_that_does_not_fit_its_type_is_refused():
    with pytest.raises(ValueError, match="does not fit DT_INT8"):
        Tensor([300], data_type=DataType.DT_INT8, shape=[1])


def test_a_scalar_is_one_value():
    assert Tensor([7], data_type=DataType.DT_INT32, shape=[]).get_data() == 7
    assert Tensor([2.5]).data == 2.5  # Doc Tensor: without a shape it is a scalar


@pytest.mark.parametrize("shape, expected", [([0], []), ([2, 0], [[], []]), ([0, 3], [])])
def test_a_tensor_without_elements_has_empty_lists(shape, expected):
    assert Tensor([], shape=shape).get_data() == expected


def test_a_tensor_prints_its_format_type_shape_and_data():
    text = str(Tensor([1, 2, 3, 4], None, DataType.DT_INT8, Format.FORMAT_ND, [2, 2]))
    assert [line.strip() for line in text.strip().splitlines()] == ["Tensor format is 2,", "data_type is 2,", "shape is [2, 2],",
                                                                     "data is [[1, 2], [3, 4]]"]


def test_a_file_of_raw_bytes_makes_a_tensor(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    values.tofile(tmp_path / "values.bin")
    tensor = Tensor(None, str(tmp_path / "values.bin"), DataType.DT_FLOAT, Format.FORMAT_ND, [2, 3])
    assert tensor.get_data() == values.tolist()
    with pytest.raises(RuntimeError, match="Failed to create Tensor; .* has 24 bytes, and .* needs 28"):
        Tensor(None, str(tmp_path / "values.bin"), DataType.DT_FLOAT, Format.FORMAT_ND, [7])
    with pytest.raises(RuntimeError, match="Failed to create Tensor; .*none.bin"):
        Tensor(file_path=str(tmp_path / "none.bin"))


@pytest.mark.parametrize("arguments, error, message", [
    (dict(data=1), TypeError, "data should be List"),
    (dict(data=[1.0], shape=1), TypeError, "Shape must be a list of integers"),
    (dict(data=[1.0], shape=[1.0]), TypeError, "Shape must be a list of integers"),
    (dict(data=[1.0], placement=1), TypeError, "Placement must be a Placement"),
    (dict(data=[1.0], file_path="x"), RuntimeError, "Tensor should be created either by data or by file"),
    (dict(data=[1.0], data_type=DataType.DT_DOUBLE), RuntimeError, "DT_DOUBLE is not supported in python Tensor constructor"),
    (dict(data=[1, 0], data_type=DataType.DT_BOOL), RuntimeError, "Failed to create Tensor with data type"),
    (dict(data=["a"], data_type=DataType.DT_STRING), RuntimeError, "Failed to create Tensor with data type"),
])
def test_wrong_arguments_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        Tensor(**arguments)


def test_format_and_type_can_be_changed():
    tensor = Tensor()
    assert tensor.set_format(Format.FORMAT_NCHW).set_data_type(DataType.DT_INT64) is tensor
    assert tensor.get_format() == Format.FORMAT_NCHW and tensor.get_data_type() == DataType.DT_INT64
    with pytest.raises(TypeError, match="Format must be a Format"):
        tensor.set_format(0)
    with pytest.raises(TypeError, match="Data_type must be a DataType"):
        tensor.set_data_type(0)


@pytest.mark.parametrize("made", [Tensor, TensorDesc])
def test_tensors_and_descriptions_cannot_be_copied(made):
    with pytest.raises(RuntimeError, match=f"{made.__name__} does not support copy"):
        copy.copy(made())
    with pytest.raises(RuntimeError, match=f"{made.__name__} does not support deepcopy"):
        copy.deepcopy(made())


def test_a_null_handle_is_refused_and_never_followed():
    tensor = Tensor()
    handle, tensor._handle = tensor._handle, ctypes.c_void_p(None)
    try:
        for call, message in ((lambda: tensor.set_format(Format.FORMAT_ND), "Failed to set format 2"),
                              (lambda: tensor.set_data_type(DataType.DT_INT64), "Failed to set datatype 9"),
                              (tensor.get_data, "Failed to get Tensor data"), (tensor.get_tensor_desc, "Failed to get tensor desc")):
            with pytest.raises(RuntimeError, match=message):
                call()
    finally:
        tensor._handle = handle


def test_a_description_keeps_what_it_is_told():
    desc = TensorDesc([1, -1, 3], Format.FORMAT_NCHW, DataType.DT_INT32)
    assert desc.shape == [1, -1, 3] == desc.origin_shape and desc.format == Format.FORMAT_NCHW and desc.data_type == DataType.DT_INT32
    desc.set_shape([4]).set_origin_shape([2, 2]).set_format(Format.FORMAT_ND).set_origin_format(Format.FORMAT_NHWC).set_data_type(DataType.DT_BF16)
    assert (desc.get_shape(), desc.get_origin_shape()) == ([4], [2, 2])
    assert (desc.get_format(), desc.get_origin_format(), desc.get_data_type()) == (Format.FORMAT_ND, Format.FORMAT_NHWC, DataType.DT_BF16)
    for call, message in ((lambda: TensorDesc("x"), "shape must be a list of integers"), (lambda: desc.set_shape([1.5]), "shape must be a list of integers"),
                          (lambda: desc.set_format(1), "Format must be a Format"), (lambda: desc.set_data_type(1), "Data type must be a DataType")):
        with pytest.raises(TypeError, match=message):
            call()


@pytest.mark.parametrize("dims, size, unknown", [([2, 3], 6, False), ([], 0, False), (None, 0, False), ([2, -1], -1, True), ([-2], -1, True), ([0, 5], 0, False)])
def test_a_shape_is_a_list_with_a_size(dims, size, unknown):
    """Doc Shape: the product of the dimensions, 0 for a scalar, -1 when one is not known."""
    shape = Shape(dims)
    assert isinstance(shape, list) and shape == (dims or [])
    assert shape.get_shape_size() == size and shape.is_unknown_shape() is unknown


def test_numbers_are_those_of_the_headers(root):
    import re

    header = (root / "include" / "graph" / "c_types.h").read_text()
    for prefix, enumeration in (("C_DT_", DataType), ("C_FORMAT_", Format)):
        for name, number in re.findall(rf"{prefix}(\w+) = (0x[0-9a-f]+|\d+)", header):
            assert enumeration[f"{prefix[2:]}{name}"] == int(number, 0)
    assert (Placement.PLACEMENT_HOST, Placement.PLACEMENT_DEVICE) == (0, 1)
    assert AttrValueType.VT_LIST_INT == AttrValueType.VT_LIST_BASE + AttrValueType.VT_INT


def test_errors_of_the_engine_are_runtime_errors():
    assert issubclass(GeError, RuntimeError)

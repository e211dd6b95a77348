# SPDX-License-Identifier: Apache-2.0
"""acl.mdl: an offline model with an open dimension, loaded, described and run from Python."""

import array
import ctypes
import subprocess
import sys

import pytest

FLOAT, ND = 0, 2
H2D, D2H = 1, 2
COLUMNS, MAX_ROWS = 16, 64
MAX_BYTES = MAX_ROWS * COLUMNS * 4
GRAPH = f"""
import sys
from ge.es import GraphBuilder
from ge.es.all import Relu
builder = GraphBuilder("small")
x = builder.create_input(0, name="x", shape=[-1, {COLUMNS}])
builder.build_and_reset([Relu(x + x) * x - x]).save_to_air(sys.argv[1])
"""


@pytest.fixture(scope="module")
def model_file(ascend, ascend_env, tmp_path_factory):
    """y = relu(x + x) * x - x, with 1 to 64 rows."""
    atc = ascend / "bin" / "atc"
    if not atc.exists():
        pytest.skip("this build has no atc, so there is no offline model")
    folder = tmp_path_factory.mktemp("model")
    make = [sys.executable, "-c", GRAPH, str(folder / "small.air")]
    build = [str(atc), f"--model={folder / 'small.air'}", "--framework=1", f"--output={folder / 'small'}", "--soc_version=Ascend910B3",
             f"--input_shape=x:1~{MAX_ROWS},{COLUMNS}"]
    for command in (make, build):
        done = subprocess.run(command, env=ascend_env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return str(folder / "small.om")


@pytest.fixture
def model(device, model_file):
    number, ret = device.mdl.load_from_file(model_file)
    assert ret == 0, device.get_recent_err_msg()
    yield number
    assert device.mdl.unload(number) == 0


class Dataset:
    def __init__(self, acl):
        self.acl = acl
        self.memory, ret = acl.rt.malloc(MAX_BYTES, 0)
        assert ret == 0
        self.buffer = acl.create_data_buffer(self.memory, MAX_BYTES)
        self.handle = acl.mdl.create_dataset()
        assert acl.mdl.add_dataset_buffer(self.handle, self.buffer) == (self.handle, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        assert self.acl.mdl.destroy_dataset(self.handle) == 0
        assert self.acl.destroy_data_buffer(self.buffer) == 0
        assert self.acl.rt.free(self.memory) == 0


def give(acl, dataset, rows):
    values = [float(i % 7 - 3) for i in range(rows * COLUMNS)]
    data = array.array("f", values).tobytes()
    assert acl.rt.memcpy(dataset.memory, MAX_BYTES, acl.util.bytes_to_ptr(data), len(data), H2D) == 0
    desc = acl.create_tensor_desc(FLOAT, [rows, COLUMNS], ND)
    assert acl.mdl.set_dataset_tensor_desc(dataset.handle, desc, 0) == (dataset.handle, 0)
    acl.destroy_tensor_desc(desc)
    return [max(x + x, 0.0) * x - x for x in values]


def taken(acl, dataset):
    size = acl.get_tensor_desc_size(acl.mdl.get_dataset_tensor_desc(dataset.handle, 0))
    host = ctypes.create_string_buffer(size)
    assert acl.rt.memcpy(ctypes.addressof(host), size, dataset.memory, size, D2H) == 0
    return array.array("f", host.raw).tolist()


def test_a_model_is_described_in_dicts(device, model):
    desc = device.mdl.create_desc()
    assert device.mdl.get_desc(desc, model) == 0
    assert (device.mdl.get_num_inputs(desc), device.mdl.get_num_outputs(desc)) == (1, 1)
    assert device.mdl.get_input_name_by_index(desc, 0) == "x"
    assert device.mdl.get_input_index_by_name(desc, "x") == (0, 0)
    assert device.mdl.get_input_index_by_name(desc, "nobody")[1] != 0
    assert device.mdl.get_input_dims(desc, 0) == ({"name": "x", "dimCount": 2, "dims": [-1, COLUMNS]}, 0)
    assert device.mdl.get_input_dims(desc, 7)[0] == {}
    assert device.mdl.get_input_dims_range(desc, 0) == ({"rangeCount": 2, "range": [[1, MAX_ROWS], [COLUMNS, COLUMNS]]}, 0)
    assert device.mdl.get_input_data_type(desc, 0) == FLOAT
    assert device.mdl.destroy_desc(desc) == 0


def test_each_run_has_the_shape_it_says(device, stream, model):
    with Dataset(device) as source, Dataset(device) as target:
        for rows in (4, MAX_ROWS, 1):
            wanted = give(device, source, rows)
            assert device.mdl.execute_async(model, source.handle, target.handle, stream) == 0, device.get_recent_err_msg()
            assert device.rt.synchronize_stream(stream) == 0
            assert taken(device, target) == wanted
        wanted = give(device, source, 2)
        assert device.mdl.execute(model, source.handle, target.handle) == 0
        assert taken(device, target) == wanted


def test_a_shape_outside_the_range_is_refused(device, stream, model):
    with Dataset(device) as source, Dataset(device) as target:
        desc = device.create_tensor_desc(FLOAT, [MAX_ROWS + 1, COLUMNS], ND)
        _, ret = device.mdl.set_dataset_tensor_desc(source.handle, desc, 0)
        ret = ret or device.mdl.execute_async(model, source.handle, target.handle, stream)
        assert ret != 0
        device.destroy_tensor_desc(desc)


def test_the_allocator_is_asked_by_asynchronous_runs_alone_and_its_failure_fails_the_run(device, stream, model, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda report: None)
    blocks, failing = {}, False

    def alloc(allocator, size):
        if failing:
            raise MemoryError("told to fail")
        pointer, ret = device.rt.malloc(size, 0)
        blocks[pointer] = size
        return pointer if ret == 0 else None

    def free(allocator, block):
        assert device.rt.synchronize_stream(stream) == 0 and device.rt.free(block) == 0
        del blocks[block]

    desc = device.rt.allocator_create_desc()
    device.rt.allocator_set_obj_to_desc(desc, 1)
    device.rt.allocator_set_alloc_func_to_desc(desc, alloc)
    device.rt.allocator_set_free_func_to_desc(desc, free)
    device.rt.allocator_set_get_addr_from_block_func_to_desc(desc, lambda block: block)
    assert device.rt.allocator_register(stream, desc) == 0
    assert device.rt.allocator_destroy_desc(desc) == 0
    with Dataset(device) as source, Dataset(device) as target:
        wanted = give(device, source, 8)
        failing = True
        assert device.mdl.execute(model, source.handle, target.handle) == 0  # does not ask
        assert device.mdl.execute_async(model, source.handle, target.handle, stream) != 0
        assert "MemoryError: told to fail" in device.get_recent_err_msg()
        failing = False
        assert device.mdl.execute_async(model, source.handle, target.handle, stream) == 0
        assert device.rt.synchronize_stream(stream) == 0
        assert taken(device, target) == wanted
    assert device.rt.allocator_unregister(stream) == 0
    assert blocks == {}


def test_models_that_are_none_are_refused(device, tmp_path):
    assert device.mdl.load_from_file(str(tmp_path / "nothing.om"))[1] != 0
    (tmp_path / "bad.om").write_bytes(b"not a model" * 100)
    assert device.mdl.load_from_file(str(tmp_path / "bad.om"))[1] != 0
    assert device.mdl.unload(12345) != 0
    assert device.mdl.execute(12345, 0, 0) != 0

# SPDX-License-Identifier: Apache-2.0
"""A model whose input has an open dimension, run with several shapes on an allocator written in Python.

    ./millpond run -- python examples/acl_python/dynamic_model.py

The flow of the document "Dynamic Shape Input (Setting the Shape Range)": a small ONNX model is written, atc makes an
offline model with a range for its first dimension, and each run says which shape its input has. Every block that
the allocator gives is printed. The synchronous acl.mdl.execute would never ask it.
"""

import array
import pathlib
import shutil
import subprocess
import sys
import tempfile

import acl
import onnx_model

FLOAT, ND = 0, 2
HUGE_FIRST = 0
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
COLUMNS, MAX_ROWS = 16, 64
MAX_BYTES = MAX_ROWS * COLUMNS * 4


def check(ret, what):
    if ret != 0:
        sys.exit(f"{what} failed with {ret}\n{acl.get_recent_err_msg()}")


class Allocator:
    """Keeps what comes back, by size. A block is its own address."""

    def __init__(self):
        self.sizes = {}  # address -> bytes
        self.idle = []
        self.requests = 0

    def alloc(self, allocator, size):
        self.requests += 1
        block = next((block for block in self.idle if self.sizes[block] >= size), None)
        if block:
            self.idle.remove(block)
            print(f"  alloc of {size} bytes: {self.sizes[block]} bytes from before")
            return block
        block, ret = acl.rt.malloc(size, HUGE_FIRST)
        if ret != 0:
            return None
        self.sizes[block] = size
        print(f"  alloc of {size} bytes: new")
        return block

    def free(self, allocator, block):
        # All its users are on one stream, so the next one cannot begin before the last has ended.
        print(f"  free of {self.sizes[block]} bytes")
        self.idle.append(block)

    def register(self, stream):
        desc = acl.rt.allocator_create_desc()
        check(acl.rt.allocator_set_obj_to_desc(desc, 1), "allocator_set_obj_to_desc")
        check(acl.rt.allocator_set_alloc_func_to_desc(desc, self.alloc), "allocator_set_alloc_func_to_desc")
        check(acl.rt.allocator_set_free_func_to_desc(desc, self.free), "allocator_set_free_func_to_desc")
        check(acl.rt.allocator_set_get_addr_from_block_func_to_desc(desc, lambda block: block), "allocator_set_get_addr_from_block")
        check(acl.rt.allocator_register(stream, desc), "allocator_register")
        check(acl.rt.allocator_destroy_desc(desc), "allocator_destroy_desc")

    def end(self, stream):
        check(acl.rt.synchronize_stream(stream), "synchronize_stream")  # before memory is returned to the device
        check(acl.rt.allocator_unregister(stream), "allocator_unregister")
        for block in self.sizes:
            check(acl.rt.free(block), "acl.rt.free")


class Dataset:
    """One buffer that is large enough for every shape."""

    def __init__(self):
        self.memory, ret = acl.rt.malloc(MAX_BYTES, HUGE_FIRST)
        check(ret, "acl.rt.malloc")
        self.buffer = acl.create_data_buffer(self.memory, MAX_BYTES)
        self.handle = acl.mdl.create_dataset()
        _, ret = acl.mdl.add_dataset_buffer(self.handle, self.buffer)
        check(ret, "add_dataset_buffer")

    def destroy(self):
        check(acl.mdl.destroy_dataset(self.handle), "destroy_dataset")
        check(acl.destroy_data_buffer(self.buffer), "destroy_data_buffer")
        check(acl.rt.free(self.memory), "acl.rt.free")


def build(folder):
    if not shutil.which("atc"):
        sys.exit("atc is not on PATH: source set_env.sh, or use ./millpond run")
    model = folder / "small.onnx"
    onnx_model.write(model, COLUMNS)
    command = ["atc", f"--model={model}", "--framework=5", f"--output={folder / 'small'}", "--soc_version=Ascend910B3",
               f"--input_shape=x:1~{MAX_ROWS},{COLUMNS}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return str(folder / "small.om")


def run(model, rows, stream, source, target):
    """Whether the results are right."""
    values = [float(i % 7 - 3) for i in range(rows * COLUMNS)]
    data = array.array("f", values).tobytes()
    check(acl.rt.memcpy(source.memory, MAX_BYTES, acl.util.bytes_to_ptr(data), len(data), HOST_TO_DEVICE), "acl.rt.memcpy")
    desc = acl.create_tensor_desc(FLOAT, [rows, COLUMNS], ND)  # the shape of this run, within the range
    _, ret = acl.mdl.set_dataset_tensor_desc(source.handle, desc, 0)
    check(ret, "set_dataset_tensor_desc")
    acl.destroy_tensor_desc(desc)
    print(f"{rows} rows:")
    check(acl.mdl.execute_async(model, source.handle, target.handle, stream), "acl.mdl.execute_async")
    check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
    size = acl.get_tensor_desc_size(acl.mdl.get_dataset_tensor_desc(target.handle, 0))  # the run's actual size
    host, ret = acl.rt.malloc_host(size)
    check(ret, "acl.rt.malloc_host")
    check(acl.rt.memcpy(host, size, target.memory, size, DEVICE_TO_HOST), "acl.rt.memcpy")
    results = array.array("f", acl.util.ptr_to_bytes(host, size)).tolist()
    check(acl.rt.free_host(host), "acl.rt.free_host")
    return results == [max(x + x, 0.0) * x - x for x in values]


def main():
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "acl.rt.create_stream")
    with tempfile.TemporaryDirectory() as folder:
        model, ret = acl.mdl.load_from_file(build(pathlib.Path(folder)))
    check(ret, "acl.mdl.load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "acl.mdl.get_desc")
    shape, ret = acl.mdl.get_input_dims_range(desc, 0)
    check(ret, "acl.mdl.get_input_dims_range")
    print(f"input {acl.mdl.get_input_name_by_index(desc, 0)} takes {shape['range']}")

    allocator = Allocator()
    allocator.register(stream)
    source, target = Dataset(), Dataset()
    runs = [run(model, rows, stream, source, target) for rows in (4, MAX_ROWS, 4, 1)]
    right = all(runs) and allocator.requests > 0

    for dataset in (source, target):
        dataset.destroy()
    allocator.end(stream)  # before the stream goes
    check(acl.mdl.destroy_desc(desc), "acl.mdl.destroy_desc")
    check(acl.mdl.unload(model), "acl.mdl.unload")
    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    check(acl.rt.reset_device(0), "acl.rt.reset_device")
    check(acl.finalize(), "acl.finalize")
    print("as expected" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

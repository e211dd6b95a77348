#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A graph that takes its memory from an allocator written in Python.

    ./millpond run -- python examples/ge_python/own_allocator.py

Builds y = relu(x @ w + b) and its row sums, lends a small pool to a stream, runs the graph three times on the stream and prints each block that the
engine is given and gives back. The engine asks once for what belongs to the graph (constants, feature memory) and once per run for each output; a
block that comes back is kept and given out again, so the second and third run need no new memory of the device.
"""

import ctypes
from collections import defaultdict

from ge.allocator import Allocator, MemBlock
from ge.es import GraphBuilder
from ge.es.all import MatMul, ReduceSum, Relu
from ge.ge_global import GeApi
from ge.graph import DataType, Format, Placement, Tensor
from ge.session import Session

# The runtime's own functions. CANN's Python package `acl` has the same under acl.rt.
runtime = ctypes.CDLL("libascendcl.so")


def check(status, what):
    if status != 0:
        raise RuntimeError(f"{what} failed: {status}")


class Pool(Allocator):
    """Keeps what comes back, by size. malloc may raise: the run then fails with that exception as its cause."""

    def __init__(self):
        self.kept = defaultdict(list)
        self.out = 0

    def malloc(self, size):
        if self.kept[size]:
            block, word = self.kept[size].pop(), "again"
        else:
            address = ctypes.c_void_p()
            check(runtime.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(max(size, 1)), 2), "aclrtMalloc")
            block, word = MemBlock(address.value, size), "new"
        self.out += 1
        print(f"  given   {block.size:6d} bytes at 0x{block.addr:x} ({word})")
        return block

    def free(self, block):
        # The very object that malloc returned. The stream's order protects its memory: no need to synchronise here.
        self.out -= 1
        print(f"  back    {block.size:6d} bytes at 0x{block.addr:x}")
        self.kept[block.size].append(block)

    def clear(self):
        for blocks in self.kept.values():
            for block in blocks:
                check(runtime.aclrtFree(ctypes.c_void_p(block.addr)), "aclrtFree")
        self.kept.clear()


def build():
    builder = GraphBuilder("example")
    x = builder.create_input(0, name="x", data_type=DataType.DT_FLOAT, shape=[4, 8])
    weight = builder.create_const_float([((row * 3 + column) % 5 - 2) / 2 for row in range(8) for column in range(6)], [8, 6])
    y = Relu(MatMul(x, weight) + [0.5, 0.0, -0.5, 1.0, 0.0, 0.0])  # numbers and lists become constants
    return builder.build_and_reset([y, ReduceSum(y, [1])])


def main():
    GeApi.ge_initialize({"ge.exec.deviceId": "0", "ge.graphRunMode": "0"})
    check(runtime.aclrtSetDevice(0), "aclrtSetDevice")
    stream = ctypes.c_void_p()
    check(runtime.aclrtCreateStream(ctypes.byref(stream)), "aclrtCreateStream")

    session, pool = Session(), Pool()
    session.register_external_allocator(stream.value, pool)  # before the first run, so that the graph's own memory comes from it too
    session.add_graph(1, build())
    for number in range(3):
        print(f"run {number}")
        values = [float((number + place) % 7) for place in range(32)]
        x = Tensor(values, None, DataType.DT_FLOAT, Format.FORMAT_ND, [4, 8], Placement.PLACEMENT_DEVICE)
        outputs = session.run_graph_with_stream_async(1, stream.value, [x])  # returns at once
        check(runtime.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream")
        sums = outputs[1].to_host().get_data()  # moves the tensor: its block comes back
        print(f"  sums    {sums}")
        del outputs  # the other one's too

    print("end")
    session.remove_graph(1)  # what belonged to the graph comes back
    session.unregister_external_allocator(stream.value)
    pool.clear()
    check(runtime.aclrtDestroyStream(stream), "aclrtDestroyStream")
    GeApi.ge_finalize()
    print("nothing is left over" if pool.out == 0 else f"{pool.out} blocks are left over")


if __name__ == "__main__":
    main()

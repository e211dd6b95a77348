# SPDX-License-Identifier: Apache-2.0
"""What the tests of allocators share: a graph that runs on a stream, and an allocator that keeps a record."""

import threading

from ge.allocator import Allocator, MemBlock
from ge.es import GraphBuilder
from ge.graph import Placement, Tensor
from ge.session import Session

X = [float(number) for number in range(16)]
EXPECTED = [[value * 2 + 1 for value in X], [value - 1 for value in X]]
PADDED = 64 + 32  # what is asked for an output of 16 floats: rounded up to 32, and 32 more


def two_outputs(shape=(4, 4), name="two_outputs"):
    """x * 2 + 1 and x - 1."""
    builder = GraphBuilder(name)
    x = builder.create_input(0, shape=list(shape))
    return builder.build_and_reset([x * 2.0 + 1.0, x - 1.0])


def on_device(values, shape=(4, 4)):
    return Tensor(values, shape=list(shape), placement=Placement.PLACEMENT_DEVICE)


def values_of(tensors):
    """Flat lists. Moves the tensors to the host: their blocks are free."""
    return [[one for row in tensor.to_host().data for one in row] for tensor in tensors]


def same(left, right):
    """The very objects, in any order."""
    return sorted(map(id, left)) == sorted(map(id, right))


class Counting(Allocator):
    """Blocks of the device's own, with a record of every call."""

    def __init__(self, device, fail_at=None, error=None):
        self.device, self.fail_at, self.error = device, fail_at, error
        self.sizes, self.given, self.back, self.threads = [], [], [], set()

    def malloc(self, size):
        self.threads.add(threading.get_ident())
        self.sizes.append(size)
        if self.fail_at == len(self.sizes):
            raise self.error or MemoryError(f"no {size} bytes left")
        block = MemBlock(self.device.malloc(size), size)
        self.given.append(block)
        return block

    def free(self, block):
        self.back.append(block)
        # Page "RegisterExternalAllocator": the streams' work ends before memory is returned to the system.
        self.device.synchronize_device()
        self.device.free(block.addr)

    @property
    def out(self):
        return len(self.given) - len(self.back)


class Bench:
    """A session that runs one graph on a stream."""

    def __init__(self, device, stream, session=None):
        self.device, self.stream, self.session = device, stream, session or Session()
        self.number = stream & 0xFFFFFFFF  # of the graph: another one for every bench

    def add(self, graph=None):
        self.session.add_graph(self.number, graph or two_outputs())
        return self

    def lend(self, allocator):
        self.session.register_external_allocator(self.stream, allocator)
        return allocator

    def run(self, *inputs):
        """The outputs, when they are there. Inputs stay until then: their memory is freed with them, whatever is queued."""
        given = list(inputs) or [on_device(X)]
        outputs = self.session.run_graph_with_stream_async(self.number, self.stream, given)
        self.device.synchronize(self.stream)
        return outputs

    def remove(self):
        self.session.remove_graph(self.number)

    def take_back(self):
        self.session.unregister_external_allocator(self.stream)

    def finish(self):
        self.remove()
        self.take_back()

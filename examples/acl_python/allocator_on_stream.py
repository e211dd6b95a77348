# SPDX-License-Identifier: Apache-2.0
"""An allocator written in Python, registered for a stream, and single operators that take their memory from it.

    ./millpond run -- python examples/acl_python/allocator_on_stream.py

Every call of the runtime into the allocator is printed. The outputs of the operators have no memory of their own: their
buffers are (0, 0), so the runtime asks the allocator of the stream. The memory of an output belongs to the program
afterwards, which gives the block back to its allocator itself.
"""

import array
import sys

import acl

FLOAT, ND = 0, 2  # aclDataType, aclFormat: acl has no constants, programs bring their own
HUGE_FIRST = 0  # aclrtMemMallocPolicy
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2  # aclrtMemcpyKind


def check(ret, what):
    if ret != 0:
        sys.exit(f"{what} failed with {ret}\n{acl.get_recent_err_msg()}")


class Arena:
    """Blocks of one piece of device memory. A block is known by its number, as the runtime never looks into it."""

    alignment = 64

    def __init__(self, size):
        self.base, ret = acl.rt.malloc(size, HUGE_FIRST)
        check(ret, "acl.rt.malloc")
        self.size, self.used = size, 0
        self.blocks = {}  # number -> (address, size)
        self.given = 0
        self.idle = []  # blocks that came back: (address, size)

    # The three functions that the runtime calls. `allocator` is what was passed to allocator_set_obj_to_desc.

    def alloc(self, allocator, size):
        place = self.place_for(size)
        if place is None:
            print(f"  alloc of {size} bytes: the arena is full")
            return None
        self.given += 1
        self.blocks[self.given] = place
        print(f"  alloc of {size} bytes: block {self.given} at offset {place[0] - self.base}")
        return self.given

    def free(self, allocator, block):
        print(f"  free of block {block}")
        self.idle.append(self.blocks.pop(block))

    def address_of(self, block):
        return self.blocks[block][0]

    def place_for(self, size):
        size = -(-size // self.alignment) * self.alignment
        for place in self.idle:
            if place[1] >= size:
                self.idle.remove(place)
                return place
        if self.used + size > self.size:
            return None
        self.used += size
        return self.base + self.used - size, size

    # What the program itself does with it.

    def register(self, stream):
        desc = acl.rt.allocator_create_desc()
        check(acl.rt.allocator_set_obj_to_desc(desc, 1), "allocator_set_obj_to_desc")
        check(acl.rt.allocator_set_alloc_func_to_desc(desc, self.alloc), "allocator_set_alloc_func_to_desc")
        check(acl.rt.allocator_set_free_func_to_desc(desc, self.free), "allocator_set_free_func_to_desc")
        check(acl.rt.allocator_set_get_addr_from_block_func_to_desc(desc, self.address_of), "allocator_set_get_addr_from_block")
        check(acl.rt.allocator_register(stream, desc), "allocator_register")
        check(acl.rt.allocator_destroy_desc(desc), "allocator_destroy_desc")  # the registration has a copy

    def give_back(self, address):
        """The block of an output, by its address."""
        self.free(1, next(number for number, place in self.blocks.items() if place[0] == address))


class Tensor:
    """A descriptor and a buffer. Without values it has no memory until an operator has run."""

    def __init__(self, shape, values=None):
        self.desc = acl.create_tensor_desc(FLOAT, shape, ND)
        self.memory = 0
        size = 0
        if values is not None:
            values = array.array("f", values).tobytes()
            size = len(values)
            self.memory, ret = acl.rt.malloc(size, HUGE_FIRST)
            check(ret, "acl.rt.malloc")
            check(acl.rt.memcpy(self.memory, size, acl.util.bytes_to_ptr(values), size, HOST_TO_DEVICE), "acl.rt.memcpy")
        self.buffer = acl.create_data_buffer(self.memory, size)

    @property
    def address(self):
        return acl.get_data_buffer_addr(self.buffer)

    def values(self):
        size = acl.get_tensor_desc_size(self.desc)
        host, ret = acl.rt.malloc_host(size)
        check(ret, "acl.rt.malloc_host")
        check(acl.rt.memcpy(host, size, self.address, size, DEVICE_TO_HOST), "acl.rt.memcpy")
        values = array.array("f", acl.util.ptr_to_bytes(host, size)).tolist()
        check(acl.rt.free_host(host), "acl.rt.free_host")
        return values

    def destroy(self):
        acl.destroy_tensor_desc(self.desc)
        check(acl.destroy_data_buffer(self.buffer), "acl.destroy_data_buffer")
        if self.memory:
            check(acl.rt.free(self.memory), "acl.rt.free")


def run(operator, inputs, stream):
    print(f"{operator}:")
    output = Tensor([4])
    attributes = acl.op.create_attr()
    check(acl.op.execute_v2(operator, [x.desc for x in inputs], [x.buffer for x in inputs], [output.desc], [output.buffer],
                            attributes, stream), f"acl.op.execute_v2 of {operator}")
    acl.op.destroy_attr(attributes)
    check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
    print(f"  {output.values()}")
    return output


def main():
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "acl.rt.create_stream")
    arena = Arena(1 << 16)
    arena.register(stream)

    a, b = Tensor([4], [1, 2, 3, 4]), Tensor([4], [10, 20, 30, 40])
    total = run("Add", [a, b], stream)
    product = run("Mul", [total, b], stream)
    arena.give_back(total.address)  # it is idle now: the next output takes its place
    difference = run("Sub", [product, a], stream)
    right = difference.values() == [109, 438, 987, 1756] and arena.given == 3 and arena.used <= 2 * 128

    for tensor in (a, b, total, product, difference):
        tensor.destroy()
    check(acl.rt.allocator_unregister(stream), "acl.rt.allocator_unregister")  # before the stream and the arena go
    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    check(acl.rt.free(arena.base), "acl.rt.free")
    check(acl.rt.reset_device(0), "acl.rt.reset_device")
    check(acl.finalize(), "acl.finalize")
    print("as expected" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

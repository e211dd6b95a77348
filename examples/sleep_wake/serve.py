# SPDX-License-Identifier: Apache-2.0
"""A serving engine that gives its device memory back between requests, and the mistake that is easily made with it.

    serve.py PATH/libsleepy_allocator.so              right: waits for the replay, then sleeps
    serve.py PATH/libsleepy_allocator.so --mistake    sleeps while a replay may still be reading the weights

Weights and a cache live in memory pools on sleepy_allocator.cc; one decoding step is captured in an NPUGraph and replayed. Asleep,
the weights are on the host and the cache is nowhere; awake, both are at the addresses that the graph has captured.
"""

import argparse
import ctypes

import torch
import torch_npu

MIB = 2**20


class Sleepy:
    """The library, as the allocator of pools and as something that can sleep."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name in ("sleepy_sleep", "sleepy_wake"):
            getattr(self.library, name).restype = ctypes.c_int64
        self.allocator = torch_npu.npu.memory.NPUPluggableAllocator(path, "sleepy_malloc", "sleepy_free")
        self.pools = {}

    def tagged(self, tag):
        """What is allocated inside this block has the tag."""
        self.library.sleepy_tag(tag.encode())
        self.pools[tag] = torch.npu.MemPool(self.allocator.allocator())
        return torch.npu.use_mem_pool(self.pools[tag])

    def sleep(self, keep):
        return self._checked(self.library.sleepy_sleep(keep.encode()))

    def wake(self, tag=""):
        return self._checked(self.library.sleepy_wake(tag.encode()))

    @staticmethod
    def _checked(count):
        if count < 0:
            raise RuntimeError("the allocator could not; it says why above")
        return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--mistake", action="store_true", help="sleep without waiting for the replay")
    options = parser.parse_args()
    sleepy = Sleepy(options.library)

    with sleepy.tagged("weights"):
        weights = torch.arange(MIB, dtype=torch.float32).reshape(1024, 1024).to("npu") / MIB
    with sleepy.tagged("cache"):
        cache = torch.zeros(2 * MIB, device="npu")
    token = torch.ones(1, 1024, device="npu")

    def decode():
        answer = token @ weights
        cache[:1024].add_(answer[0])
        return answer.sum()

    decode()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        answer = decode()

    graph.replay()
    if not options.mistake:
        torch.npu.synchronize()
    slept = sleepy.sleep(keep="weights")
    torch.npu.synchronize()
    free_asleep = torch.npu.mem_get_info()[0]
    print(f"asleep: {slept // MIB} MiB given back", flush=True)

    woken = sleepy.wake("weights") + sleepy.wake("cache")
    cache.zero_()  # a cache comes back empty: what is in it is not what was
    graph.replay()
    torch.npu.synchronize()
    print(f"awake: {woken // MIB} MiB mapped, {(free_asleep - torch.npu.mem_get_info()[0]) // MIB} MiB less free", flush=True)
    wanted = (torch.arange(MIB, dtype=torch.float64) / MIB).sum().item()
    right = abs(answer.item() / wanted - 1) < 1e-5 and bool(torch.equal(cache[:1024].cpu(), (token @ weights)[0].cpu()))
    print("the replay after the sleep is", "right" if right else "WRONG", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())

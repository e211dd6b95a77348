// SPDX-License-Identifier: Apache-2.0
// The pool as an aclrtAllocator: one pool serves two streams, and a block crosses from one to the other. The descriptor
// is what dynamic-shape models take their buffers from; here the program calls the callbacks itself, as they would.
#include <acl/acl.h>
#include <acl/acl_rt_allocator.h>
#include <millpond/pool.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    if (const aclError code = (call); code != ACL_SUCCESS) {                              \
      std::fprintf(stderr, "%s failed: %d (%s)\n", #call, code, millpondPoolLastError()); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

namespace {

constexpr size_t kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

// Registers the pool for a stream. The descriptor is copied and may go at once.
void Register(millpondPool pool, aclrtStream stream) {
  aclrtAllocatorDesc desc = nullptr;
  CHECK(millpondPoolCreateDesc(pool, stream, &desc));
  CHECK(aclrtAllocatorRegister(stream, desc));
  CHECK(aclrtAllocatorDestroyDesc(desc));
}

// What a model does on `stream`: requests a block through the registered callbacks.
struct Client {
  aclrtAllocatorDesc desc = nullptr;
  aclrtAllocator allocator = nullptr;
  aclrtAllocatorAllocFunc alloc = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  explicit Client(aclrtStream stream) {
    CHECK(aclrtAllocatorGetByStream(stream, &desc, &allocator, &alloc, &free, &advise, &address));
  }
};

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtStream first = nullptr, second = nullptr;
  CHECK(aclrtCreateStream(&first));
  CHECK(aclrtCreateStream(&second));
  const millpondPoolSetting settings[] = {{"limit", "64MiB"}};
  millpondPool pool = nullptr;
  CHECK(millpondPoolCreate(0, settings, 1, &pool));
  Register(pool, first);
  Register(pool, second);
  Client one(first), two(second);

  // The first stream fills a block; the second adds it to its own, ten times.
  aclrtAllocatorBlock sum = two.alloc(two.allocator, kBytes);
  CHECK(aclrtMemsetAsync(two.address(sum), kBytes, 0, kBytes, second));
  std::vector<float> ones(kCount, 1.0F);
  aclrtEvent filled = nullptr;
  CHECK(aclrtCreateEventExWithFlag(&filled, ACL_EVENT_SYNC));
  for (int round = 0; round < 10; ++round) {
    aclrtAllocatorBlock block = one.alloc(one.allocator, kBytes);
    void* address = one.address(block);
    CHECK(aclrtMemcpyAsync(address, kBytes, ones.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, first));
    CHECK(aclrtRecordEvent(filled, first));
    CHECK(aclrtStreamWaitEvent(second, filled));
    CHECK(aclrtReduceAsync(two.address(sum), address, kBytes, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, second,
                           nullptr));
    // Freed while the second stream still reads: the pool waits for that before it reuses the block.
    CHECK(millpondPoolRecordStream(pool, address, second));
    one.free(one.allocator, block);
  }
  std::vector<float> result(kCount);
  CHECK(aclrtSynchronizeStream(second));
  CHECK(aclrtMemcpy(result.data(), kBytes, two.address(sum), kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = 0;
  for (float value : result) wrong += value != 10.0F;
  two.free(two.allocator, sum);

  millpondPoolStatistics statistics = {};
  statistics.size = sizeof(statistics);
  CHECK(millpondPoolGetStatistics(pool, &statistics));
  std::printf("%zu elements wrong; %llu blocks given, %zu MiB taken from the device at most\n", wrong,
              static_cast<unsigned long long>(statistics.allocations), statistics.reservedBytesHigh >> 20);

  CHECK(aclrtAllocatorUnregister(first));
  CHECK(aclrtAllocatorUnregister(second));
  CHECK(aclrtDestroyEvent(filled));
  CHECK(millpondPoolDestroy(pool));
  CHECK(aclrtDestroyStream(first));
  CHECK(aclrtDestroyStream(second));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return wrong == 0 ? 0 : 1;
}

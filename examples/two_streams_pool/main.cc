// SPDX-License-Identifier: Apache-2.0
// Two streams, one pool, one result: stream 1 makes x = 1 + 2 + ... + 8 (element by element, with aclrtReduceAsync),
// stream 2 meanwhile makes y the same way from other numbers, waits for stream 1 by an event, and adds. Every byte of
// device memory comes from the program's own pool, which is also registered for both streams, as
// page "aclrtAllocatorRegister" describes. Only CANN's public API: the same file compiles against the vendor's toolkit.
#include <acl/acl.h>
#include <acl/acl_rt_allocator.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pool.h"

namespace {

#define CHECK(call)                                                                        \
  do {                                                                                     \
    if (const aclError code = (call); code != ACL_SUCCESS) {                               \
      const char* why = aclGetRecentErrMsg();                                              \
      std::fprintf(stderr, "%s failed: %d\n%s\n", #call, code, why != nullptr ? why : ""); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

constexpr size_t kCount = 256 * 1024;
constexpr size_t kBytes = kCount * sizeof(float);
constexpr int kTerms = 8;

// sum += step * (1 + 2 + ... + kTerms), all on `stream`. The scratch block is freed to the pool immediately: the next
// user of it on the same stream comes later in stream order.
void Accumulate(Pool& pool, aclrtStream stream, const char* who, float* pinned, float step, void* sum) {
  CHECK(aclrtMemsetAsync(sum, kBytes, 0, kBytes, stream));
  for (int term = 1; term <= kTerms; ++term) {
    Pool::Block* scratch = pool.Allocate(kBytes, who);
    float* source = pinned + static_cast<size_t>(term - 1) * kCount;
    for (size_t i = 0; i < kCount; ++i) source[i] = step * static_cast<float>(term);
    CHECK(aclrtMemcpyAsync(pool.Address(scratch), kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK(aclrtReduceAsync(sum, pool.Address(scratch), kBytes, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                           nullptr));
    pool.Free(scratch);
  }
}

aclrtAllocatorDesc Describe(Pool* pool) {
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  CHECK(aclrtAllocatorSetObjToDesc(desc, pool));
  CHECK(aclrtAllocatorSetAllocFuncToDesc(desc, Pool::OnAlloc));
  CHECK(aclrtAllocatorSetFreeFuncToDesc(desc, Pool::OnFree));
  CHECK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, Pool::OnAdvise));
  CHECK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, Pool::OnAddress));
  return desc;
}

// Runs everything and returns how many elements are wrong.
size_t Run(Pool& first_pool, Pool& second_pool, aclrtStream first, aclrtStream second) {
  void* pinned = nullptr;
  CHECK(aclrtMallocHost(&pinned, (2 * kTerms + 1) * kBytes));
  auto* host = static_cast<float*>(pinned);
  aclrtEvent ready = nullptr;
  CHECK(aclrtCreateEventExWithFlag(&ready, ACL_EVENT_SYNC));

  Pool::Block* x = first_pool.Allocate(kBytes, "x on stream 1");
  Pool::Block* y = second_pool.Allocate(kBytes, "y on stream 2");
  Accumulate(first_pool, first, "stream 1's scratch", host, 1.0F, first_pool.Address(x));
  CHECK(aclrtRecordEvent(ready, first));
  Accumulate(second_pool, second, "stream 2's scratch", host + kTerms * kCount, 100.0F, second_pool.Address(y));
  CHECK(aclrtStreamWaitEvent(second, ready));
  CHECK(aclrtReduceAsync(second_pool.Address(y), first_pool.Address(x), kBytes, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM,
                         ACL_FLOAT, second, nullptr));
  float* result = host + 2 * kTerms * kCount;
  CHECK(aclrtMemcpyAsync(result, kBytes, second_pool.Address(y), kBytes, ACL_MEMCPY_DEVICE_TO_HOST, second));
  CHECK(aclrtSynchronizeStream(second));

  const float expected = 101.0F * kTerms * (kTerms + 1) / 2;
  size_t wrong = 0;
  for (size_t i = 0; i < kCount; ++i) wrong += result[i] != expected;
  std::printf("y[0] = %.0f, y[%zu] = %.0f, expected %.0f: %zu of %zu elements wrong\n", result[0], kCount - 1,
              result[kCount - 1], expected, wrong, kCount);
  first_pool.Free(x);
  second_pool.Free(y);
  CHECK(aclrtDestroyEvent(ready));
  CHECK(aclrtFreeHost(pinned));
  return wrong;
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  size_t free_before = 0, total = 0;
  CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
  std::printf("%s with %zu MiB, %zu MiB free\n", aclrtGetSocName(), total >> 20, free_before >> 20);
  aclrtStream first = nullptr, second = nullptr;
  CHECK(aclrtCreateStream(&first));
  CHECK(aclrtCreateStream(&second));
  size_t wrong = 0;
  {
    // A pool each: one allocator must not serve two streams that run at the same time (page "aclrtAllocatorRegister").
    Pool first_pool("pool 1", 8 << 20), second_pool("pool 2", 8 << 20);
    if (!first_pool.ok() || !second_pool.ok()) return 1;
    aclrtAllocatorDesc descs[] = {Describe(&first_pool), Describe(&second_pool)};
    CHECK(aclrtAllocatorRegister(first, descs[0]));
    CHECK(aclrtAllocatorRegister(second, descs[1]));
    for (aclrtAllocatorDesc desc : descs) CHECK(aclrtAllocatorDestroyDesc(desc));
    wrong = Run(first_pool, second_pool, first, second);
    CHECK(aclrtAllocatorUnregister(first));
    CHECK(aclrtAllocatorUnregister(second));
    std::printf("pool 1 gave %d blocks, peak %zu KiB; pool 2 gave %d blocks, peak %zu KiB; in use now: %zu bytes\n",
                first_pool.blocks_given(), first_pool.peak() >> 10, second_pool.blocks_given(),
                second_pool.peak() >> 10, first_pool.in_use() + second_pool.in_use());
  }
  size_t free_after = 0;
  CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
  std::printf("device memory given back: %s\n", free_after == free_before ? "all of it" : "NOT all of it");
  CHECK(aclrtDestroyStream(first));
  CHECK(aclrtDestroyStream(second));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return wrong == 0 && free_after == free_before ? 0 : 1;
}

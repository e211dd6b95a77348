// SPDX-License-Identifier: Apache-2.0
// The pool as a ge::Allocator. A program registers it with session.RegisterExternalAllocator(stream, allocator) before
// it loads a graph; here it is used as a graph uses it: feature memory requested at the address it had in the last run
// (MallocAdvise), and outputs that several owners share.
#include <acl/acl.h>
#include <millpond/ge_allocator.h>

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

constexpr size_t kFeatureBytes = 24 << 20;
constexpr size_t kOutputs = 4096;
constexpr size_t kOutputBytes = kOutputs * sizeof(uint32_t);

ge::MemBlock* Checked(ge::MemBlock* block) {
  if (block == nullptr) {
    std::fprintf(stderr, "no block: %s\n", millpondPoolLastError());
    std::exit(1);
  }
  return block;
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  millpondPool pool = nullptr;
  CHECK(millpondPoolCreate(0, nullptr, 0, &pool));
  size_t wrong = 0;
  int moved = 0;
  {
    const ge::AllocatorPtr allocator = std::make_shared<millpond::PoolAllocator>(pool, stream);
    void* feature_address = nullptr;
    for (int run = 0; run < 5; ++run) {
      // Feature memory is freed right after the launch, in stream order, and requested again at the same address.
      ge::MemBlock* feature =
          Checked(feature_address == nullptr ? allocator->Malloc(kFeatureBytes)
                                             : allocator->MallocAdvise(kFeatureBytes, feature_address));
      if (feature_address != nullptr && feature->GetAddr() != feature_address) ++moved;
      feature_address = feature->GetAddr();
      ge::MemBlock* output = Checked(allocator->Malloc(kOutputBytes));
      output->AddCount();  // a second tensor shares it
      CHECK(aclrtMemsetAsync(feature_address, kFeatureBytes, run, kFeatureBytes, stream));
      CHECK(aclrtMemcpyAsync(output->GetAddr(), kOutputBytes, feature_address, kOutputBytes,
                             ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
      feature->Free();
      output->Free();  // the first owner leaves; the block stays

      std::vector<uint32_t> host(kOutputs);
      CHECK(aclrtSynchronizeStream(stream));
      CHECK(aclrtMemcpy(host.data(), kOutputBytes, output->GetAddr(), kOutputBytes, ACL_MEMCPY_DEVICE_TO_HOST));
      for (uint32_t value : host) wrong += value != 0x01010101U * static_cast<uint32_t>(run);
      output->Free();
    }
  }
  millpondPoolStatistics statistics = {};
  statistics.size = sizeof(statistics);
  CHECK(millpondPoolGetStatistics(pool, &statistics));
  std::printf("%zu elements wrong; feature memory moved %d times; %llu blocks still live\n", wrong, moved,
              static_cast<unsigned long long>(statistics.liveBlocks));
  const bool good = wrong == 0 && moved == 0 && statistics.liveBlocks == 0;
  CHECK(millpondPoolDestroy(pool));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return good ? 0 : 1;
}

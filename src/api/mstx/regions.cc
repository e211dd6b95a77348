// SPDX-License-Identifier: Apache-2.0
// Pools tell the pieces that they give out and take back (page "mstx API", memory regions). The checker listens;
// without it nobody does, and the calls cost a load and a branch. torch_npu's caching allocator makes them when it
// finds libascend_kernel_hook.so among the preloaded libraries.
//
// The structures are as clients lay them out; those that only a vendor's header names have no declaration of ours.
#include <cstddef>
#include <cstdint>

#include "src/trace/emit.h"

namespace {

void TellRegion(bool begins, int32_t device, const void* address, size_t bytes) {
  using millpond::trace::PoolPiece;
  millpond::trace::TellPiece(begins, PoolPiece::Teller::kRegions, device, address, bytes);
}

struct Range {
  uint32_t device;
  const void* address;
  uint64_t bytes;
};
static_assert(sizeof(Range) == 24);

struct RegionsToRegister {
  void* heap;
  int32_t type;
  size_t count;
  const Range* ranges;
  void** out_handles;  // may be null or, from torch_npu, anything: never written
};
static_assert(sizeof(RegionsToRegister) == 40);

struct RegionReference {
  int32_t type;
  const void* address;  // or a handle, of which none are given out
};
static_assert(sizeof(RegionReference) == 16);
constexpr int32_t kByAddress = 0;

struct RegionsToUnregister {
  size_t count;
  const RegionReference* references;
};

}  // namespace

#define MP_EXPORT extern "C" __attribute__((visibility("default")))

// torch_npu fills in the count and the ranges alone: the other members are not looked at.
MP_EXPORT void mstxMemRegionsRegister(void* /*domain*/, const RegionsToRegister* batch) {
  if (batch == nullptr || batch->ranges == nullptr) return;
  for (size_t i = 0; i < batch->count; ++i) {
    const Range& range = batch->ranges[i];
    if (range.address != nullptr && range.bytes != 0) {
      TellRegion(true, static_cast<int32_t>(range.device), range.address, range.bytes);
    }
  }
}

MP_EXPORT void mstxMemRegionsUnregister(void* /*domain*/, const RegionsToUnregister* batch) {
  if (batch == nullptr || batch->references == nullptr) return;
  for (size_t i = 0; i < batch->count; ++i) {
    const RegionReference& reference = batch->references[i];
    if (reference.type == kByAddress && reference.address != nullptr) TellRegion(false, -1, reference.address, 0);
  }
}

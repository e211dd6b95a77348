// SPDX-License-Identifier: Apache-2.0
// Pools tell the pieces that they give out and take back (page "mstx API", memory regions). The checker listens;
// without it nobody does, and the calls cost a load and a branch. torch_npu's caching allocator makes them when it
// finds libascend_kernel_hook.so among the preloaded libraries.
#include <cstddef>
#include <cstdint>

#include "include/mstx/ms_tools_ext.h"
#include "src/trace/emit.h"

namespace {

void TellRegion(bool begins, int32_t device, const void* address, size_t bytes) {
  using millpond::trace::PoolPiece;
  millpond::trace::TellPiece(begins, PoolPiece::Teller::kRegions, device, address, bytes);
}

// As clients were compiled, torch_npu among them.
static_assert(sizeof(mstxMemVirtualRangeDesc_t) == 24);
static_assert(sizeof(mstxMemRegionsRegisterBatch_t) == 40);
static_assert(sizeof(mstxMemRegionRef_t) == 16);

}  // namespace

// torch_npu fills in the count and the ranges alone: the other members are not looked at, and no handle is written.
extern "C" void mstxMemRegionsRegister(mstxDomainHandle_t /*domain*/, const mstxMemRegionsRegisterBatch_t* desc) {
  if (desc == nullptr || desc->regionDescArray == nullptr) return;
  const auto* ranges = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->regionDescArray);
  for (size_t i = 0; i < desc->regionCount; ++i) {
    const mstxMemVirtualRangeDesc_t& range = ranges[i];
    if (range.ptr != nullptr && range.size != 0) {
      TellRegion(true, static_cast<int32_t>(range.deviceId), range.ptr, range.size);
    }
  }
}

extern "C" void mstxMemRegionsUnregister(mstxDomainHandle_t /*domain*/, const mstxMemRegionsUnregisterBatch_t* desc) {
  if (desc == nullptr || desc->refArray == nullptr) return;
  for (size_t i = 0; i < desc->refCount; ++i) {
    const mstxMemRegionRef_t& reference = desc->refArray[i];
    if (reference.refType == MSTX_MEM_REGION_REF_TYPE_POINTER && reference.pointer != nullptr) {
      TellRegion(false, -1, reference.pointer, 0);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Batches of copies: all from host to device, or all back; no order among them (CANN's chapter on copies).
#include <algorithm>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/memory/memory_copy.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/capture/mode.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using trace::Mode;

namespace {

struct Batch {
  void** dsts;
  size_t* destMaxs;
  void** srcs;
  size_t* sizes;
  size_t count;
  aclrtMemcpyBatchAttr* attrs;
  size_t* attrsIndexes;
  size_t numAttrs;
  size_t* failIndex;
};

struct Copy {
  void* dst;
  const void* src;
  size_t bytes;
};

Status CheckGiven(const char* name, const void* array) {
  if (array == nullptr) return NullPointer(name);
  return HostCanRead({array}) ? Ok() : WildPointer(name, array);
}

Status CheckAttributes(const Batch& batch) {
  if (batch.numAttrs == 0 || batch.numAttrs > batch.count) {
    return InvalidValue("numAttrs", std::to_string(batch.numAttrs),
                        Format("it must be 1 to numBatches, which is %zu", batch.count));
  }
  for (size_t k = 0; k < batch.numAttrs; ++k) {
    const size_t index = batch.attrsIndexes[k];
    const bool ordered = k == 0 ? index == 0 : index > batch.attrsIndexes[k - 1];
    if (!ordered || index >= batch.count) {
      return InvalidValue("attrsIndexes", Format("%zu at place %zu", index, k),
                          "the first must be 0, each greater than the one before, the last less than numBatches");
    }
    const uint8_t* rsv = batch.attrs[k].rsv;
    if (std::any_of(rsv, rsv + sizeof(batch.attrs[k].rsv), [](uint8_t byte) { return byte != 0; })) {
      return InvalidParameter("attrs", Format("rsv of entry %zu is reserved and must be 0", k));
    }
  }
  return Ok();
}

// True when `location` is a right name for where `info` is.
bool Agrees(const aclrtMemLocation& location, const PointerInfo& info) {
  if (location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    return info.on_device() ? location.id == static_cast<uint32_t>(info.device)
                            : info.kind == PointerKind::kManaged || info.kind == PointerKind::kRegistered;
  }
  return info.host_accessible();
}

Status CheckEntry(const Batch& batch, size_t i, const aclrtMemcpyBatchAttr& attr, bool first_to_device,
                  CopyEnds* out_ends) {
  if (batch.dsts[i] == nullptr) return NullPointer("dsts[i]");
  if (batch.srcs[i] == nullptr) return NullPointer("srcs[i]");
  MP_RETURN_IF_ERROR(CheckRange("dsts[i]", batch.dsts[i], batch.sizes[i], &out_ends->dst));
  MP_RETURN_IF_ERROR(CheckRange("srcs[i]", batch.srcs[i], batch.sizes[i], &out_ends->src));
  const bool to_device = attr.dstLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  MP_CHECK(to_device != (attr.srcLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE), kRuntimeArgument,
           "a batch copies from host to device or from device to host; entry %zu is neither", i);
  MP_CHECK(to_device == first_to_device, kRuntimeArgument,
           "entry %zu goes the other way than entry 0; put it into a batch of its own", i);
  MP_CHECK(Agrees(attr.dstLoc, out_ends->dst) && Agrees(attr.srcLoc, out_ends->src), kRuntimeArgument,
           "entry %zu: the memory at dst %p or src %p is not where its attribute says", i, batch.dsts[i],
           batch.srcs[i]);
  return Ok();
}

Status Check(const Batch& batch, std::vector<Copy>* out_copies, bool* out_pageable) {
  MP_RETURN_IF_ERROR(CheckGiven("dsts", batch.dsts));
  MP_RETURN_IF_ERROR(CheckGiven("destMaxs", batch.destMaxs));
  MP_RETURN_IF_ERROR(CheckGiven("srcs", batch.srcs));
  MP_RETURN_IF_ERROR(CheckGiven("attrs", batch.attrs));
  MP_RETURN_IF_ERROR(CheckGiven("attrsIndexes", batch.attrsIndexes));
  for (size_t i = 0; i < batch.count; ++i) {
    if (batch.sizes[i] > batch.destMaxs[i]) {
      return InvalidValue("sizes", Format("%zu at place %zu", batch.sizes[i], i),
                          Format("it must be at most destMaxs there, which is %zu", batch.destMaxs[i]));
    }
  }
  MP_RETURN_IF_ERROR(CheckAttributes(batch));
  const bool to_device = batch.attrs[0].dstLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  *out_pageable = false;
  for (size_t i = 0, k = 0; i < batch.count; ++i) {
    if (k + 1 < batch.numAttrs && batch.attrsIndexes[k + 1] == i) ++k;
    if (batch.sizes[i] == 0) continue;
    CopyEnds ends;
    if (Status status = CheckEntry(batch, i, batch.attrs[k], to_device, &ends); !status.ok()) {
      if (batch.failIndex != nullptr) *batch.failIndex = i;
      return status;
    }
    *out_pageable |= ends.Pageable();
    out_copies->push_back({batch.dsts[i], batch.srcs[i], batch.sizes[i]});
  }
  return Ok();
}

// `sizes` and the count are all that is looked at when there is nothing to copy.
Status Begin(const Batch& batch, std::vector<Copy>* out_copies, bool* out_pageable) {
  if (batch.failIndex != nullptr) {
    MP_RETURN_IF_ERROR(CheckGiven("failIndex", batch.failIndex));
    *batch.failIndex = SIZE_MAX;
  }
  MP_RETURN_IF_ERROR(CheckGiven("sizes", batch.sizes));
  if (batch.count == 0) return InvalidValue("numBatches", "0", "it must be greater than 0");
  if (std::all_of(batch.sizes, batch.sizes + batch.count, [](size_t size) { return size == 0; })) return Ok();
  return Check(batch, out_copies, out_pageable);
}

std::vector<trace::Access> AccessesOf(const std::vector<Copy>& copies) {
  std::vector<trace::Access> accesses;
  for (const Copy& copy : copies) {
    accesses.push_back({copy.src, copy.bytes, Mode::kRead});
    accesses.push_back({copy.dst, copy.bytes, Mode::kWrite});
  }
  return accesses;
}

Status CopyBatch(const Batch& batch, const char* api) {
  std::vector<Copy> copies;
  bool pageable = false;
  MP_RETURN_IF_ERROR(Begin(batch, &copies, &pageable));
  if (copies.empty()) return Ok();
  MP_RETURN_IF_ERROR(capture::CheckAllows(api));
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(RequireContext(&context));
  if (trace::Wants(trace::kHost)) trace::TellHostAccess("MemcpyBatch", AccessesOf(copies));
  return RunOnCaller([&] {
    for (const Copy& copy : copies) CopyBytes(copy.dst, copy.src, copy.bytes);
  });
}

Status CopyBatchAsync(const Batch& batch, const char* when_pageable, aclrtStream stream) {
  std::vector<Copy> copies;
  bool pageable = false;
  MP_RETURN_IF_ERROR(Begin(batch, &copies, &pageable));
  if (copies.empty()) return Ok();
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  if (pageable) MP_RETURN_IF_ERROR(capture::CheckAllows(when_pageable, true));
  const std::vector<trace::Access> accesses = AccessesOf(copies);
  MP_RETURN_IF_ERROR(found->Launch<TaskKind::kCopy>("MemcpyBatchAsync", std::span<const trace::Access>(accesses),
                                                    [copies = std::move(copies)]() -> Status {
                                                      for (const Copy& copy : copies) {
                                                        CopyBytes(copy.dst, copy.src, copy.bytes);
                                                      }
                                                      return Ok();
                                                    }));
  return pageable ? FinishOnStream(found) : Ok();
}

}  // namespace

extern "C" aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                                     aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                                     size_t* failIndex) {
  return Guard("aclrtMemcpyBatch", [&] {
    return CopyBatch({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex},
                     "aclrtMemcpyBatch");
  });
}

extern "C" aclError aclrtMemcpyBatchV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                                       aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs) {
  return Guard("aclrtMemcpyBatchV2", [&] {
    return CopyBatch({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, nullptr},
                     "aclrtMemcpyBatchV2");
  });
}

extern "C" aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                                          aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                                          size_t* failIndex, aclrtStream stream) {
  return Guard("aclrtMemcpyBatchAsync", [&] {
    return CopyBatchAsync({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex},
                          "aclrtMemcpyBatchAsync with pageable host memory", stream);
  });
}

extern "C" aclError aclrtMemcpyBatchAsyncV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                            size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                                            size_t numAttrs, aclrtStream stream) {
  return Guard("aclrtMemcpyBatchAsyncV2", [&] {
    return CopyBatchAsync({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, nullptr},
                          "aclrtMemcpyBatchAsyncV2 with pageable host memory", stream);
  });
}

// SPDX-License-Identifier: Apache-2.0
// Copies and fills of one range. The kind is advice: what the addresses are decides (docs/compat.md, "What clients rely
// on"). Batches are in memory_batch.cc, rectangles and descriptors in memory_copy_forms.cc.
#include "src/api/acl/rt/memory/memory_copy.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/capture/mode.h"
#include "src/device/device.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/watched_copy.h"
#include "src/device/memory/watched_target.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using trace::Mode;

namespace millpond::acl {

Status CheckKind(aclrtMemcpyKind kind) {
  const auto value = static_cast<uint32_t>(kind);
  if (value <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE) return Ok();
  return InvalidValue("kind", std::to_string(value), "it must be an aclrtMemcpyKind, 0 to 7");
}

Status CheckRoom(size_t count, size_t room, const char* room_name) {
  MP_CHECK(count <= room, kRuntimeArgument, "%zu B do not fit: %s is %zu; copy or set at most that much", count,
           room_name, room);
  return Ok();
}

Status CheckPeers(const Device& copier, const CopyEnds& ends) {
  if (!ends.dst.on_device() || !ends.src.on_device() || ends.dst.device == ends.src.device) return Ok();
  for (const int32_t other : {ends.dst.device, ends.src.device}) {
    MP_CHECK(
        copier.MayReach(other), kRuntimeArgument,
        "dst is memory of device %d and src of device %d, and device %d, which copies, may not reach device %d; call "
        "aclrtDeviceEnablePeerAccess(%d, 0) while device %d is current, and the other way round for copies by the "
        "other device",
        ends.dst.device, ends.src.device, copier.id(), other, other, copier.id());
  }
  return Ok();
}

// Neither side is anything a device has an address for.
bool HostOnly(const CopyEnds& ends) {
  const auto plain = [](const PointerInfo& info) {
    return info.kind == PointerKind::kPageable || info.kind == PointerKind::kPinned;
  };
  return plain(ends.dst) && plain(ends.src);
}

Status FinishOnStream(Stream* stream) {
  if (stream->capture() != nullptr) return Ok();
  return stream->WaitFor(stream->enqueued(), std::nullopt, Code::kStreamSyncTimeout, trace::WaitKind::kCopy);
}

}  // namespace millpond::acl

namespace {

// What goes well here although the documents ask for something else. The kind is advice: addresses decide.
void TellOddCopy(const void* dst, size_t destMax, const void* src, aclrtMemcpyKind kind, const CopyEnds& ends) {
  if (__builtin_expect(!trace::Wants(trace::kMisuses), true)) return;
  if (ends.dst.base != nullptr && ends.dst.kind != PointerKind::kPageable) {
    const size_t room =
        ends.dst.bytes - static_cast<size_t>(static_cast<const char*>(dst) - static_cast<const char*>(ends.dst.base));
    if (destMax > room) {
      trace::TellMisuse("MP509", "aclrtMemcpy", dst, [&] {
        return Format("destMax is %zu, and only %zu bytes of the block are left at dst %p", destMax, room, dst);
      });
    }
  }
  const bool to = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  const bool from = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (kind > ACL_MEMCPY_DEVICE_TO_DEVICE || (to == ends.dst.on_device() && from == ends.src.on_device())) return;
  trace::TellMisuse("MP508", "aclrtMemcpy", dst, [&] {
    return Format("the kind %d says %s to %s, but src %p is %s and dst %p is %s", static_cast<int>(kind),
                  from ? "device" : "host", to ? "device" : "host", src, ends.src.on_device() ? "device" : "host", dst,
                  ends.dst.on_device() ? "device memory" : "host memory");
  });
}

Status CheckCopy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind, CopyEnds* out_ends) {
  MP_NOT_NULL(dst);
  MP_NOT_NULL(src);
  MP_RETURN_IF_ERROR(CheckKind(kind));
  MP_RETURN_IF_ERROR(CheckRoom(count, destMax, "destMax"));
  MP_RETURN_IF_ERROR(CheckRange("dst", dst, count, &out_ends->dst));
  MP_RETURN_IF_ERROR(CheckRange("src", src, count, &out_ends->src));
  TellOddCopy(dst, destMax, src, kind, *out_ends);
  return Ok();
}

// The host's bytes are taken now, so that the caller may drop them as soon as this returns.
Status CopyThroughBuffer(Stream* stream, void* dst, const void* src, size_t count) {
  auto buffer = std::make_shared<std::vector<std::byte>>(count);
  trace::TellHostAccess("MemcpyAsync", {{src, count, Mode::kRead}});
  MP_RETURN_IF_ERROR(RunOnCaller([&] { CopyBytes(buffer->data(), src, count); }));
  return stream->Launch<TaskKind::kCopy>("MemcpyAsync", {{dst, count, Mode::kWrite}}, [=]() -> Status {
    CopyBytes(dst, buffer->data(), count);
    return Ok();
  });
}

Status CopyAsync(const char* when_pageable, void* dst, size_t destMax, const void* src, size_t count,
                 aclrtMemcpyKind kind, aclrtStream stream) {
  if (count == 0) return Ok();
  CopyEnds ends;
  MP_RETURN_IF_ERROR(CheckCopy(dst, destMax, src, count, kind, &ends));
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  if (kind == ACL_MEMCPY_HOST_TO_HOST || HostOnly(ends)) {
    return NotSupported("host memory is not copied to host memory asynchronously; use aclrtMemcpy or memcpy");
  }
  if (kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE && ends.src.host_accessible()) {
    return CopyThroughBuffer(found, dst, src, count);
  }
  MP_RETURN_IF_ERROR(CheckPeers(*found->device(), ends));
  if (__builtin_expect(trace::Wants(trace::kSources), false) && ends.src.kind == PointerKind::kPinned &&
      ends.dst.on_device() && found->capture() == nullptr && found->update() == nullptr && TakesSample()) {
    return LaunchWatchedCopy(found, dst, src, count);
  }
  if (__builtin_expect(trace::Wants(trace::kTargets), false) && ends.dst.kind == PointerKind::kPinned &&
      ends.src.on_device() && found->capture() == nullptr && found->update() == nullptr && TakesSample()) {
    return LaunchCopyToTarget(found, dst, src, count, ends.dst);
  }
  const bool pageable = ends.Pageable();
  if (pageable) MP_RETURN_IF_ERROR(capture::CheckAllows(when_pageable, true));
  MP_RETURN_IF_ERROR(found->Launch<TaskKind::kCopy>(
      "MemcpyAsync", {{src, count, Mode::kRead}, {dst, count, Mode::kWrite}}, [=]() -> Status {
        CopyBytes(dst, src, count);
        return Ok();
      }));
  return pageable ? FinishOnStream(found) : Ok();
}

Status CheckFill(void* devPtr, size_t maxCount, size_t count, PointerInfo* out_info) {
  MP_NOT_NULL(devPtr);
  MP_RETURN_IF_ERROR(CheckRoom(count, maxCount, "maxCount"));
  return CheckRange("devPtr", devPtr, count, out_info);
}

Status RequireAnyContext() {
  Context* context = nullptr;
  return RequireContext(&context);
}

// Page "aclrtMemsetD32": 4-byte aligned, memSize >= N * 4, only memory that acl allocated.
Status CheckWords(void* ptr, size_t memSize, size_t N, PointerInfo* out_info) {
  MP_NOT_NULL(ptr);
  if (reinterpret_cast<uintptr_t>(ptr) % sizeof(uint32_t) != 0) {
    return InvalidValue("ptr", Format("%p", ptr), "it must be aligned to 4 bytes");
  }
  if (N > memSize / sizeof(uint32_t)) {
    return InvalidValue("N", std::to_string(N), Format("N * 4 must be at most memSize, which is %zu", memSize));
  }
  MP_RETURN_IF_ERROR(CheckRange("ptr", ptr, N * sizeof(uint32_t), out_info));
  MP_REQUIRE(out_info->kind != PointerKind::kPageable && out_info->kind != PointerKind::kManaged,
             "ptr %p was not allocated with aclrtMalloc or aclrtMallocHost", ptr);
  return Ok();
}

}  // namespace

extern "C" aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return Guard("aclrtMemcpy", [&]() -> Status {
    if (count == 0) return Ok();
    MP_RETURN_IF_ERROR(capture::CheckAllows("aclrtMemcpy"));
    CopyEnds ends;
    MP_RETURN_IF_ERROR(CheckCopy(dst, destMax, src, count, kind, &ends));
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    MP_RETURN_IF_ERROR(CheckPeers(*context->device(), ends));
    trace::TellHostAccess("Memcpy", {{src, count, Mode::kRead}, {dst, count, Mode::kWrite}});
    return RunOnCaller([&] { CopyBytes(dst, src, count); });
  });
}

extern "C" aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                                     aclrtStream stream) {
  return Guard("aclrtMemcpyAsync", [&] {
    return CopyAsync("aclrtMemcpyAsync with pageable host memory", dst, destMax, src, count, kind, stream);
  });
}

extern "C" aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                                  aclrtMemcpyKind kind, aclrtStream stream) {
  return Guard("aclrtMemcpyAsyncWithCondition", [&] {
    return CopyAsync("aclrtMemcpyAsyncWithCondition with pageable host memory", dst, destMax, src, count, kind, stream);
  });
}

extern "C" aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return Guard("aclrtMemset", [&]() -> Status {
    if (count == 0) return Ok();
    MP_RETURN_IF_ERROR(capture::CheckAllows("aclrtMemset"));
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckFill(devPtr, maxCount, count, &info));
    MP_RETURN_IF_ERROR(RequireAnyContext());
    trace::TellHostAccess("Memset", {{devPtr, count, Mode::kWrite}});
    return RunOnCaller([&] { FillBytes(devPtr, value, count); });
  });
}

extern "C" aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return Guard("aclrtMemsetAsync", [&]() -> Status {
    if (count == 0) return Ok();
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckFill(devPtr, maxCount, count, &info));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    const bool pageable = info.kind == PointerKind::kPageable;
    if (pageable) MP_RETURN_IF_ERROR(capture::CheckAllows("aclrtMemsetAsync with pageable host memory", true));
    MP_RETURN_IF_ERROR(found->Launch<TaskKind::kSet>("MemsetAsync", {{devPtr, count, Mode::kWrite}}, [=]() -> Status {
      FillBytes(devPtr, value, count);
      return Ok();
    }));
    return pageable ? FinishOnStream(found) : Ok();
  });
}

extern "C" aclError aclrtMemsetD32(void* ptr, size_t memSize, uint32_t value, size_t N) {
  return Guard("aclrtMemsetD32", [&]() -> Status {
    if (N == 0) return Ok();
    MP_RETURN_IF_ERROR(capture::CheckAllows("aclrtMemsetD32"));
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckWords(ptr, memSize, N, &info));
    MP_RETURN_IF_ERROR(RequireAnyContext());
    trace::TellHostAccess("MemsetD32", {{ptr, N * sizeof(uint32_t), Mode::kWrite}});
    return RunOnCaller([&] { FillWords(ptr, value, N); });
  });
}

extern "C" aclError aclrtMemsetD32Async(void* ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
  return Guard("aclrtMemsetD32Async", [&]() -> Status {
    if (N == 0) return Ok();
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckWords(ptr, memSize, N, &info));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    if (!info.on_device()) {  // host memory is filled at once, not by the stream (CANN's chapter on copies)
      MP_RETURN_IF_ERROR(capture::CheckAllows("aclrtMemsetD32Async on host memory", true));
      trace::TellHostAccess("MemsetD32Async", {{ptr, N * sizeof(uint32_t), Mode::kWrite}});
      return RunOnCaller([&] { FillWords(ptr, value, N); });
    }
    return found->Launch<TaskKind::kSet>("MemsetD32Async", {{ptr, N * sizeof(uint32_t), Mode::kWrite}},
                                         [=]() -> Status {
                                           FillWords(ptr, value, N);
                                           return Ok();
                                         });
  });
}

// SPDX-License-Identifier: Apache-2.0
// Copies and fills of one range. The kind is advice: what the addresses are decides (acl.md 3.2). Batches are in
// memory_batch.cc, rectangles and descriptors in memory_copy_forms.cc.
#include "src/api/acl/memory_copy.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/message.h"
#include "src/device/capture_mode.h"
#include "src/device/device.h"
#include "src/device/fault.h"
#include "src/device/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream.h"

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

// Neither side is anything a device has an address for.
bool HostOnly(const CopyEnds& ends) {
  const auto plain = [](const PointerInfo& info) {
    return info.kind == PointerKind::kPageable || info.kind == PointerKind::kPinned;
  };
  return plain(ends.dst) && plain(ends.src);
}

Status FinishOnStream(Stream* stream) {
  if (stream->capture() != nullptr) return Ok();
  return stream->WaitFor(stream->enqueued(), std::nullopt, Code::kStreamSyncTimeout);
}

}  // namespace millpond::acl

namespace {

Status CheckCopy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind, CopyEnds* out_ends) {
  MP_NOT_NULL(dst);
  MP_NOT_NULL(src);
  MP_RETURN_IF_ERROR(CheckKind(kind));
  MP_RETURN_IF_ERROR(CheckRoom(count, destMax, "destMax"));
  MP_RETURN_IF_ERROR(CheckRange("dst", dst, count, &out_ends->dst));
  return CheckRange("src", src, count, &out_ends->src);
}

// The host's bytes are taken now, so that the caller may drop them as soon as this returns.
Status CopyThroughBuffer(Stream* stream, void* dst, const void* src, size_t count) {
  auto buffer = std::make_shared<std::vector<std::byte>>(count);
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
  const bool pageable = ends.Pageable();
  if (pageable) MP_RETURN_IF_ERROR(CheckCaptureAllows(when_pageable, true));
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

// Facts from 11-03: 4-byte aligned, memSize >= N * 4, only memory that acl allocated.
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
    MP_RETURN_IF_ERROR(CheckCaptureAllows("aclrtMemcpy"));
    CopyEnds ends;
    MP_RETURN_IF_ERROR(CheckCopy(dst, destMax, src, count, kind, &ends));
    MP_RETURN_IF_ERROR(RequireAnyContext());
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
    MP_RETURN_IF_ERROR(CheckCaptureAllows("aclrtMemset"));
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckFill(devPtr, maxCount, count, &info));
    MP_RETURN_IF_ERROR(RequireAnyContext());
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
    if (pageable) MP_RETURN_IF_ERROR(CheckCaptureAllows("aclrtMemsetAsync with pageable host memory", true));
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
    MP_RETURN_IF_ERROR(CheckCaptureAllows("aclrtMemsetD32"));
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckWords(ptr, memSize, N, &info));
    MP_RETURN_IF_ERROR(RequireAnyContext());
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
    if (!info.on_device()) {  // host memory is filled at once, not by the stream (11-03)
      MP_RETURN_IF_ERROR(CheckCaptureAllows("aclrtMemsetD32Async on host memory", true));
      return RunOnCaller([&] { FillWords(ptr, value, N); });
    }
    return found->Launch<TaskKind::kSet>("MemsetD32Async", {{ptr, N * sizeof(uint32_t), Mode::kWrite}},
                                         [=]() -> Status {
                                           FillWords(ptr, value, N);
                                           return Ok();
                                         });
  });
}

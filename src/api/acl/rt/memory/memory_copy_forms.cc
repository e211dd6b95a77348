// SPDX-License-Identifier: Apache-2.0
// Copies in other forms: rectangles, and those whose addresses lie in device memory (descriptors, offsets).
#include <cstring>
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/memory/memory_copy.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/capture/mode.h"
#include "src/device/device.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using trace::Mode;

namespace {

constexpr size_t kMaxWidth = 5'000'000;            // aclrtMemcpy2dAsync
constexpr size_t kMaxHeight = 5u * 1024u * 1024u;  // aclrtMemcpy2dAsync

struct Rectangle {
  void* dst;
  size_t dst_pitch;
  const void* src;
  size_t src_pitch;
  size_t width, height;
  size_t dst_bytes = 0, src_bytes = 0;  // from the first byte to the last

  trace::Access Reads() const { return trace::RowsOf(src, width, height, src_pitch, Mode::kRead); }
  trace::Access Writes() const { return trace::RowsOf(dst, width, height, dst_pitch, Mode::kWrite); }
};

Status Extent(size_t pitch, const char* pitch_name, size_t width, size_t height, size_t* out_bytes) {
  if (height - 1 > (SIZE_MAX - width) / pitch) {
    return InvalidValue(pitch_name, std::to_string(pitch),
                        Format("%zu rows of it are more than there are addresses", height));
  }
  *out_bytes = (height - 1) * pitch + width;
  return Ok();
}

Status CheckRectangle(Rectangle* r, aclrtMemcpyKind kind, CopyEnds* out_ends) {
  if (r->dst == nullptr) return NullPointer("dst");
  if (r->src == nullptr) return NullPointer("src");
  if (r->width > r->dst_pitch || r->width > r->src_pitch) {
    return InvalidValue("width", std::to_string(r->width),
                        Format("it must be at most dpitch (%zu) and spitch (%zu)", r->dst_pitch, r->src_pitch));
  }
  if (kind != ACL_MEMCPY_HOST_TO_DEVICE && kind != ACL_MEMCPY_DEVICE_TO_HOST && kind != ACL_MEMCPY_DEVICE_TO_DEVICE &&
      kind != ACL_MEMCPY_DEFAULT) {
    return InvalidValue("kind", std::to_string(kind),
                        "it must be ACL_MEMCPY_HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE or DEFAULT");
  }
  MP_RETURN_IF_ERROR(Extent(r->dst_pitch, "dpitch", r->width, r->height, &r->dst_bytes));
  MP_RETURN_IF_ERROR(Extent(r->src_pitch, "spitch", r->width, r->height, &r->src_bytes));
  MP_RETURN_IF_ERROR(CheckRange("dst", r->dst, r->dst_bytes, &out_ends->dst));
  MP_RETURN_IF_ERROR(CheckRange("src", r->src, r->src_bytes, &out_ends->src));
  MP_CHECK(!HostOnly(*out_ends), kRuntimeArgument,
           "dst %p and src %p are both host memory; this call copies to or from a device", r->dst, r->src);
  return Ok();
}

// --- Addresses that lie in device memory and are read when the task runs ---

struct CopyDescriptor {
  static constexpr uint64_t kMagic = 0x4d50436f70794431;  // "MPCopyD1"
  uint64_t magic;
  const void* src;
  void* dst;
  uint64_t count;
};

Status CheckInnerKind(aclrtMemcpyKind kind) {
  if (kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) return Ok();
  return InvalidValue("kind", std::to_string(kind), "only ACL_MEMCPY_INNER_DEVICE_TO_DEVICE is supported here");
}

Status CheckOnDevice(const char* name, const void* address, size_t bytes) {
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange(name, address, bytes, &info));
  MP_REQUIRE(info.on_device(), "%s %p is not device memory", name, address);
  return Ok();
}

// In a task: addresses come from device memory, so they are checked now and not before.
Status CopyChecked(const Device& copier, void* dst, const void* src, size_t count) {
  CopyEnds ends;
  MP_RETURN_IF_ERROR(CheckRange("dst", dst, count, &ends.dst));
  MP_RETURN_IF_ERROR(CheckRange("src", src, count, &ends.src));
  MP_RETURN_IF_ERROR(CheckPeers(copier, ends));
  CopyBytes(dst, src, count);
  return Ok();
}

template <class T>
T ReadDevice(const void* address) {
  T value;
  CopyBytes(&value, address, sizeof(T));
  return value;
}

}  // namespace

extern "C" aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                                  aclrtMemcpyKind kind) {
  return Guard("aclrtMemcpy2d", [&]() -> Status {
    if (width == 0 || height == 0) return Ok();
    MP_RETURN_IF_ERROR(capture::CheckAllows("aclrtMemcpy2d"));
    Rectangle r{dst, dpitch, src, spitch, width, height};
    CopyEnds ends;
    MP_RETURN_IF_ERROR(CheckRectangle(&r, kind, &ends));
    if (kind == ACL_MEMCPY_DEVICE_TO_DEVICE || (ends.dst.on_device() && ends.src.on_device())) {
      return NotSupported("rectangles go from host to device or back; use aclrtMemcpy2dAsync within devices");
    }
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    trace::TellHostAccess("Memcpy2d", {r.Reads(), r.Writes()});
    return RunOnCaller([&] { CopyRows(dst, dpitch, src, spitch, width, height); });
  });
}

extern "C" aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                       size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return Guard("aclrtMemcpy2dAsync", [&]() -> Status {
    if (width == 0 || height == 0) return Ok();
    if (width > kMaxWidth) return InvalidValue("width", std::to_string(width), "it must be at most 5000000");
    if (height > kMaxHeight) return InvalidValue("height", std::to_string(height), "it must be at most 5242880");
    Rectangle r{dst, dpitch, src, spitch, width, height};
    CopyEnds ends;
    MP_RETURN_IF_ERROR(CheckRectangle(&r, kind, &ends));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(CheckPeers(*found->device(), ends));
    const bool pageable = ends.Pageable();
    if (pageable) MP_RETURN_IF_ERROR(capture::CheckAllows("aclrtMemcpy2dAsync with pageable host memory", true));
    MP_RETURN_IF_ERROR(found->Launch<TaskKind::kCopy>("Memcpy2dAsync", {r.Reads(), r.Writes()}, [=]() -> Status {
      CopyRows(dst, dpitch, src, spitch, width, height);
      return Ok();
    }));
    return pageable ? FinishOnStream(found) : Ok();
  });
}

extern "C" aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t* descSize) {
  return Guard("aclrtGetMemcpyDescSize", [&]() -> Status {
    MP_NOT_NULL(descSize);
    MP_RETURN_IF_ERROR(CheckInnerKind(kind));
    *descSize = sizeof(CopyDescriptor);
    return Ok();
  });
}

extern "C" aclError aclrtSetMemcpyDesc(void* desc, aclrtMemcpyKind kind, void* srcAddr, void* dstAddr, size_t count,
                                       void* config) {
  return Guard("aclrtSetMemcpyDesc", [&]() -> Status {
    MP_NOT_NULL(desc);
    MP_NOT_NULL(srcAddr);
    MP_NOT_NULL(dstAddr);
    MP_RETURN_IF_ERROR(CheckInnerKind(kind));
    if (count == 0) return InvalidValue("count", "0", "it must be greater than 0");
    if (config != nullptr) return InvalidParameter("config", "it is reserved and must be NULL");
    MP_RETURN_IF_ERROR(CheckOnDevice("desc", desc, sizeof(CopyDescriptor)));
    const CopyDescriptor descriptor{CopyDescriptor::kMagic, srcAddr, dstAddr, count};
    return RunOnCaller([&] { CopyBytes(desc, &descriptor, sizeof(descriptor)); });
  });
}

extern "C" aclError aclrtMemcpyAsyncWithDesc(void* desc, aclrtMemcpyKind kind, aclrtStream stream) {
  return Guard("aclrtMemcpyAsyncWithDesc", [&]() -> Status {
    MP_NOT_NULL(desc);
    MP_RETURN_IF_ERROR(CheckInnerKind(kind));
    MP_RETURN_IF_ERROR(CheckOnDevice("desc", desc, sizeof(CopyDescriptor)));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return found->Launch<TaskKind::kCopy>(
        "MemcpyAsyncWithDesc", {{desc, sizeof(CopyDescriptor), Mode::kRead}},
        [desc, copier = found->device()]() -> Status {
          const auto descriptor = ReadDevice<CopyDescriptor>(desc);
          MP_REQUIRE(descriptor.magic == CopyDescriptor::kMagic,
                     "desc %p holds no descriptor; write it with aclrtSetMemcpyDesc first", desc);
          return CopyChecked(*copier, descriptor.dst, descriptor.src, descriptor.count);
        });
  });
}

extern "C" aclError aclrtMemcpyAsyncWithOffset(void** dst, size_t destMax, size_t dstDataOffset, const void** src,
                                               size_t count, size_t srcDataOffset, aclrtMemcpyKind kind,
                                               aclrtStream stream) {
  return Guard("aclrtMemcpyAsyncWithOffset", [&]() -> Status {
    if (count == 0) return Ok();
    // Addresses in device memory: nothing that the host could read.
    if (dst == nullptr) return NullPointer("dst");
    if (src == nullptr) return NullPointer("src");
    MP_RETURN_IF_ERROR(CheckInnerKind(kind));
    MP_RETURN_IF_ERROR(CheckRoom(count, destMax, "destMax"));
    MP_RETURN_IF_ERROR(CheckOnDevice("dst", dst, sizeof(void*)));
    MP_RETURN_IF_ERROR(CheckOnDevice("src", src, sizeof(void*)));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return found->Launch<TaskKind::kCopy>("MemcpyAsyncWithOffset",
                                          {{dst, sizeof(void*), Mode::kRead}, {src, sizeof(void*), Mode::kRead}},
                                          [=, copier = found->device()]() -> Status {
                                            return CopyChecked(*copier, ReadDevice<char*>(dst) + dstDataOffset,
                                                               ReadDevice<const char*>(src) + srcDataOffset, count);
                                          });
  });
}

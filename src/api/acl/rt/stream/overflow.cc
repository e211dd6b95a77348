// SPDX-License-Identifier: Apache-2.0
// The overflow status: set by operators on streams that watch for it, read and cleared in stream order (pages
// "aclrtGetOverflowStatus" and "aclrtResetOverflowStatus").
#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

constexpr size_t kStatusBytes = 64;

// Calls `visit` on the devices that share the status with `device`: newer series have one for the process.
template <class Visit>
void ForEachSharing(Device* device, Visit visit) {
  const Series series = SeriesOf(device->profile().name);
  Runtime* runtime = nullptr;
  if (series == Series::k310P || series == Series::kOther || !Runtime::Get(&runtime).ok()) return visit(device);
  for (int32_t id = 0; id < runtime->device_count(); ++id) visit(runtime->device(id));
}

Status GetStatus(void* output, size_t bytes, aclrtStream stream) {
  if (output == nullptr) return NullPointer("outputAddr");
  if (bytes != kStatusBytes) return InvalidValue("outputSize", std::to_string(bytes), "the status has 64 bytes");
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("outputAddr", output, bytes, &info));
  MP_REQUIRE(info.on_device(), "outputAddr %p is not device memory; allocate it with aclrtMalloc", output);
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  return found->Launch<TaskKind::kSet>(
      "GetOverflowStatus", {{output, bytes, trace::Mode::kWrite}}, [output, device = found->device()]() -> Status {
        uint32_t words[kStatusBytes / sizeof(uint32_t)] = {};
        ForEachSharing(device,
                       [&](Device* one) { words[0] |= one->overflowed.load(std::memory_order_relaxed) ? 1 : 0; });
        CopyBytes(output, words, sizeof words);
        return Ok();
      });
}

Status ResetStatus(aclrtStream stream) {
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  return found->Launch<TaskKind::kOther>("ResetOverflowStatus", {}, [device = found->device()]() -> Status {
    ForEachSharing(device, [](Device* one) { one->overflowed.store(false, std::memory_order_relaxed); });
    return Ok();
  });
}

// Which of the hardware's checks; there is one here.
Status CheckMode(uint32_t mode) {
  return mode == 0 ? Ok() : InvalidValue("checkMode", std::to_string(mode), "only 0 is supported");
}

}  // namespace

extern "C" aclError aclrtGetOverflowStatus(void* outputAddr, size_t outputSize, aclrtStream stream) {
  return Guard("aclrtGetOverflowStatus", [&] { return GetStatus(outputAddr, outputSize, stream); });
}
extern "C" aclError aclrtResetOverflowStatus(aclrtStream stream) {
  return Guard("aclrtResetOverflowStatus", [&] { return ResetStatus(stream); });
}

// The same by other names, without pages of their own.
extern "C" aclError aclrtGetFloatOverflowStatus(void* outputAddr, uint64_t outputSize, aclrtStream stream) {
  return Guard("aclrtGetFloatOverflowStatus", [&] { return GetStatus(outputAddr, outputSize, stream); });
}
extern "C" aclError aclrtResetFloatOverflowStatus(aclrtStream stream) {
  return Guard("aclrtResetFloatOverflowStatus", [&] { return ResetStatus(stream); });
}
extern "C" aclError aclrtNpuGetFloatOverFlowStatus(void* outputAddr, uint64_t outputSize, uint32_t checkMode,
                                                   aclrtStream stream) {
  return Guard("aclrtNpuGetFloatOverFlowStatus", [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckMode(checkMode));
    return GetStatus(outputAddr, outputSize, stream);
  });
}
extern "C" aclError aclrtNpuClearFloatOverFlowStatus(uint32_t checkMode, aclrtStream stream) {
  return Guard("aclrtNpuClearFloatOverFlowStatus", [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckMode(checkMode));
    return ResetStatus(stream);
  });
}

// SPDX-License-Identifier: Apache-2.0
// Ten symbols that clients link although no public header declares them: torch_npu binds them when it is loaded, so
// without them nothing starts. Six belong to the vendor's profiler, whose data nobody collects
// here (aclprof records by itself); four launch NPU kernels, which cannot run on a CPU.

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string_view>

#include "include/acl/acl_base_rt.h"
#include "src/api/common/refuse.h"
#include "src/device/memory/memory.h"

namespace {

// The profiler's own numbers.
constexpr int32_t kProfilingFailed = -1;
constexpr int32_t kProfilingNotRunning = 6;

constexpr char kNoKernels[] =
    "NPU kernel binaries do not run on a CPU; call the operator through aclnn or PyTorch instead";

int32_t ReportNotRunning(const void* data) { return data == nullptr ? kProfilingFailed : kProfilingNotRunning; }

}  // namespace

extern "C" {

using ProfCommandHandle = int32_t (*)(uint32_t type, void* data, uint32_t length);

// Keeps nothing: the commands are the vendor profiler's, and aclprof sessions here do not send them.
ACL_FUNC_VISIBILITY int32_t MsprofRegisterCallback(uint32_t, ProfCommandHandle handle) {
  return handle == nullptr ? kProfilingFailed : 0;
}

ACL_FUNC_VISIBILITY int32_t MsprofReportApi(uint32_t, const void* api) { return ReportNotRunning(api); }

ACL_FUNC_VISIBILITY int32_t MsprofReportCompactInfo(uint32_t, const void* data, uint32_t) {
  return ReportNotRunning(data);
}

ACL_FUNC_VISIBILITY int32_t MsprofReportAdditionalInfo(uint32_t, const void* data, uint32_t) {
  return ReportNotRunning(data);
}

// Equal texts get equal numbers: FNV-1a, 64 bits.
ACL_FUNC_VISIBILITY uint64_t MsprofGetHashId(const char* text, size_t length) {
  if (text == nullptr || length == 0 || !millpond::HostCanRead({text, text + length - 1})) {
    return std::numeric_limits<uint64_t>::max();
  }
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : std::string_view(text, length)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Nanoseconds of the raw monotonic clock serve as cycles: they only ever go forward and NTP does not bend them.
ACL_FUNC_VISIBILITY uint64_t MsprofSysCycleTime(void) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // extern "C"

#define MP_REFUSE_UNDECLARED(name, arguments)        \
  extern "C" ACL_FUNC_VISIBILITY int name arguments; \
  MP_REFUSE(int, name, arguments, kNoKernels)

MP_REFUSE_UNDECLARED(rtDevBinaryRegister, (const void*, void**))
MP_REFUSE_UNDECLARED(rtFunctionRegister, (void*, const void*, const char*, const void*, uint32_t))
MP_REFUSE_UNDECLARED(rtKernelLaunch, (const void*, uint32_t, void*, uint32_t, void*, void*))
MP_REFUSE_UNDECLARED(rtGetC2cCtrlAddr, (uint64_t*, uint32_t*))

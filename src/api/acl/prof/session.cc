// SPDX-License-Identifier: Apache-2.0
// Profiling sessions. The calls keep their documented order and refuse what the documents refuse, so that a program
// that profiles itself runs to its end. What a session collects is recorded by src/report.
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "include/acl/acl_prof.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/magic.h"
#include "src/api/common/message.h"
#include "src/device/runtime.h"
#include "src/report/profile_session.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using report::ProfileFault;
using report::ProfileRequest;
using report::ProfileSession;

struct aclprofConfig {
  Magic<0x50524f46434f4e46> magic;
  std::vector<uint32_t> devices;
  aclprofAicoreMetrics metrics = ACL_AICORE_NONE;
  uint64_t data_types = 0;
};

namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxConfigBytes = 256;

ProfileRequest RequestOf(const aclprofConfig& config) {
  return {config.devices, config.data_types, (config.data_types & ACL_PROF_ACL_API) != 0};
}

// A session's failure with the number that aclprof has for it.
Outcome Numbered(Status status, ProfileFault fault) {
  switch (fault) {
    case ProfileFault::kNone:
      break;
    case ProfileFault::kNotRunning:
      return {ACL_ERROR_PROF_NOT_RUN, std::move(status)};
    case ProfileFault::kAlreadyRunning:
      return {ACL_ERROR_PROF_ALREADY_RUN, std::move(status)};
    case ProfileFault::kConflict:
      return {ACL_ERROR_PROF_API_CONFLICT, std::move(status)};
  }
  return status;
}

Status CheckConfig(const aclprofConfig* profilerConfig) {
  MP_NOT_NULL(profilerConfig);
  if (!IsAlive(profilerConfig)) {
    return InvalidValue("profilerConfig", Format("%p", static_cast<const void*>(profilerConfig)),
                        "aclprofCreateConfig did not give it, or it was destroyed");
  }
  MP_REQUIRE(profilerConfig->data_types != 0, "dataTypeConfig of profilerConfig is 0; choose what to collect");
  return Ok();
}

// A step of the session that a live configuration asks for.
template <class Step>
aclError WithSession(const char* api, const aclprofConfig* config, Step&& step) {
  return Guard(api, [&]() -> Outcome {
    MP_RETURN_IF_ERROR(CheckConfig(config));
    ProfileFault fault = ProfileFault::kNone;
    Status status = step(ProfileSession::Get(), &fault);
    return Numbered(std::move(status), fault);
  });
}

Status CheckDevices(const uint32_t* ids, uint32_t count) {
  if (count != 0) MP_NOT_NULL(ids);
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  const auto devices = static_cast<uint32_t>(runtime->device_count());
  if (count > devices) {
    return InvalidValue("deviceNums", std::to_string(count), Format("there are %u devices", devices));
  }
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < count; ++i) {
    if (ids[i] >= devices) {
      return InvalidValue("deviceIdList", std::to_string(ids[i]), Format("devices go from 0 to %u", devices - 1));
    }
    if (!seen.insert(ids[i]).second)
      return InvalidValue("deviceIdList", std::to_string(ids[i]), "it is in there twice");
  }
  return Ok();
}

}  // namespace

extern "C" aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return Guard("aclprofInit", [&]() -> Status {
    MP_NOT_NULL(profilerResultPath);
    if (length == 0 || length >= kMaxPathBytes) {
      return InvalidValue("length", std::to_string(length), Format("it must be 1 to %zu", kMaxPathBytes - 1));
    }
    if (strnlen(profilerResultPath, length + 1) != length) {
      return InvalidValue("length", std::to_string(length), "it is not the length of profilerResultPath");
    }
    return ProfileSession::Get().Initialize(profilerResultPath);
  });
}

extern "C" aclError aclprofFinalize(void) {
  return Guard("aclprofFinalize", []() -> Outcome {
    ProfileFault fault = ProfileFault::kNone;
    Status status = ProfileSession::Get().Finalize(&fault);
    return Numbered(std::move(status), fault);
  });
}

extern "C" aclError aclprofSetConfig(aclprofConfigType configType, const char* config, size_t configLength) {
  return Guard("aclprofSetConfig", [&]() -> Status {
    if (configType <= ACL_PROF_ARGS_MIN || configType >= ACL_PROF_ARGS_MAX) {
      return InvalidValue("configType", std::to_string(configType),
                          Format("it must be 1 to %d", static_cast<int>(ACL_PROF_ARGS_MAX) - 1));
    }
    MP_NOT_NULL(config);
    if (configLength > kMaxConfigBytes || strnlen(config, kMaxConfigBytes + 1) != configLength) {
      return InvalidValue("configLength", std::to_string(configLength),
                          Format("it must be the length of config, at most %zu", kMaxConfigBytes));
    }
    return Ok();  // frequencies of hardware counters that do not exist here
  });
}

extern "C" aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                              aclprofAicoreMetrics aicoreMetrics,
                                              const aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig) {
  aclprofConfig* made = nullptr;
  static_cast<void>(Guard("aclprofCreateConfig", [&]() -> Status {
    MP_REQUIRE(aicoreEvents == nullptr, "aicoreEvents is reserved and must be NULL");
    MP_RETURN_IF_ERROR(CheckDevices(deviceIdList, deviceNums));
    if (deviceNums == 0 && (dataTypeConfig & ACL_PROF_MSPROFTX) == 0) {
      return InvalidValue("deviceNums", "0", "without a device only ACL_PROF_MSPROFTX can be collected");
    }
    auto config = std::make_unique<aclprofConfig>();
    config->devices.assign(deviceIdList, deviceIdList + deviceNums);
    config->metrics = aicoreMetrics;
    config->data_types = dataTypeConfig;
    made = config.release();
    return Ok();
  }));
  return made;
}

extern "C" aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return Guard("aclprofDestroyConfig", [&]() -> Status {
    MP_NOT_NULL(profilerConfig);
    if (!IsAlive(profilerConfig)) {
      return InvalidValue("profilerConfig", Format("%p", static_cast<const void*>(profilerConfig)),
                          "it is not a configuration, or it was destroyed");
    }
    return Destroy("profilerConfig", profilerConfig);
  });
}

// In no public header, and looked up by torch_npu.
extern "C" ACL_FUNC_VISIBILITY aclError aclprofWarmup(const aclprofConfig* profilerConfig) {
  return WithSession("aclprofWarmup", profilerConfig,
                     [&](ProfileSession& session, ProfileFault* fault) { return session.WarmUp(fault); });
}

extern "C" aclError aclprofStart(const aclprofConfig* profilerConfig) {
  return WithSession("aclprofStart", profilerConfig, [&](ProfileSession& session, ProfileFault* fault) {
    return session.Start(RequestOf(*profilerConfig), fault);
  });
}

extern "C" aclError aclprofStop(const aclprofConfig* profilerConfig) {
  return WithSession("aclprofStop", profilerConfig, [&](ProfileSession& session, ProfileFault* fault) {
    return session.Stop(RequestOf(*profilerConfig), fault);
  });
}

// What a profiler may ask for beyond the public functions; in no public header, and looked up by torch_npu. There is
// none.
namespace {
aclError NoFeatures(const char* api, size_t* size, void** data) {
  return Guard(api, [&]() -> Status {
    MP_NOT_NULL(size);
    MP_NOT_NULL(data);
    *size = 0;
    *data = nullptr;
    return Ok();
  });
}
}  // namespace

extern "C" ACL_FUNC_VISIBILITY aclError aclprofGetSupportedFeatures(size_t* featuresSize, void** featuresData) {
  return NoFeatures("aclprofGetSupportedFeatures", featuresSize, featuresData);
}

extern "C" ACL_FUNC_VISIBILITY aclError aclprofGetSupportedFeaturesV2(size_t* featuresSize, void** featuresData) {
  return NoFeatures("aclprofGetSupportedFeaturesV2", featuresSize, featuresData);
}

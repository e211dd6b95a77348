// SPDX-License-Identifier: Apache-2.0
// Profiling sessions. The calls keep their documented order and refuse what the documents refuse, so that a program
// that profiles itself runs to its end. What a session collects is recorded by prof_recorder.cc.
#include "src/api/acl/prof_session.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "include/acl/acl_prof.h"
#include "src/api/acl/answer.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/magic.h"
#include "src/api/acl/message.h"
#include "src/api/acl/prof_recorder.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

struct aclprofConfig {
  Magic<0x50524f46434f4e46> magic;
  std::vector<uint32_t> devices;
  aclprofAicoreMetrics metrics = ACL_AICORE_NONE;
  uint64_t data_types = 0;
};

namespace {

constexpr size_t kMostPathBytes = 4096;
constexpr size_t kMostConfigBytes = 256;
// A configuration with no device (marks alone) runs on the host's own number.
constexpr uint32_t kHost = UINT32_MAX;

struct Session {
  std::mutex mutex;
  bool initialised = false;
  bool warm = false;
  std::string path;
  std::map<uint32_t, uint64_t> running;  // device -> what it collects
  std::atomic<bool> runs{false};
};
Session& TheSession() {
  static Session& session = *new Session;  // leaked: clients profile from static destructors
  return session;
}

std::vector<uint32_t> DevicesOf(const aclprofConfig& config) {
  return config.devices.empty() ? std::vector<uint32_t>{kHost} : config.devices;
}

aclError NotRunning(const char* api, const char* first) {
  return Answer(api, ACL_ERROR_PROF_NOT_RUN, Code::kInvalidArgument, Format("call %s first", first));
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

bool millpond::acl::ProfilingRuns() { return TheSession().runs.load(std::memory_order_relaxed); }

extern "C" aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return Guard("aclprofInit", [&]() -> Status {
    MP_NOT_NULL(profilerResultPath);
    if (length == 0 || length >= kMostPathBytes) {
      return InvalidValue("length", std::to_string(length), Format("it must be 1 to %zu", kMostPathBytes - 1));
    }
    if (strnlen(profilerResultPath, length + 1) != length) {
      return InvalidValue("length", std::to_string(length), "it is not the length of profilerResultPath");
    }
    Session& session = TheSession();
    std::lock_guard lock(session.mutex);
    MP_CHECK(!session.initialised, kRepeatInitialize, "profiling is initialised already; call aclprofFinalize first");
    session.path = profilerResultPath;
    session.initialised = true;
    return Ok();
  });
}

extern "C" aclError aclprofFinalize(void) {
  Session& session = TheSession();
  std::unique_lock lock(session.mutex);
  if (!session.initialised) {
    lock.unlock();
    return NotRunning("aclprofFinalize", "aclprofInit");
  }
  return Guard("aclprofFinalize", [&]() -> Status {
    session.running.clear();
    session.runs.store(false);
    session.initialised = session.warm = false;
    session.path.clear();
    return StopRecording();  // of a session that nobody stopped
  });
}

extern "C" aclError aclprofSetConfig(aclprofConfigType configType, const char* config, size_t configLength) {
  return Guard("aclprofSetConfig", [&]() -> Status {
    if (configType <= ACL_PROF_ARGS_MIN || configType >= ACL_PROF_ARGS_MAX) {
      return InvalidValue("configType", std::to_string(configType),
                          Format("it must be 1 to %d", static_cast<int>(ACL_PROF_ARGS_MAX) - 1));
    }
    MP_NOT_NULL(config);
    if (configLength > kMostConfigBytes || strnlen(config, kMostConfigBytes + 1) != configLength) {
      return InvalidValue("configLength", std::to_string(configLength),
                          Format("it must be the length of config, at most %zu", kMostConfigBytes));
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
                          "it is no configuration, or it was destroyed");
    }
    delete profilerConfig;
    return Ok();
  });
}

// In no public header, and looked up by torch_npu.
extern "C" ACL_FUNC_VISIBILITY aclError aclprofWarmup(const aclprofConfig* profilerConfig) {
  constexpr char kApi[] = "aclprofWarmup";
  Session& session = TheSession();
  std::unique_lock lock(session.mutex);
  if (profilerConfig != nullptr && !session.initialised) return NotRunning(kApi, "aclprofInit");
  if (profilerConfig != nullptr && !session.running.empty()) {
    return Answer(kApi, ACL_ERROR_PROF_API_CONFLICT, Code::kInvalidArgument,
                  "profiling has started; warm up before aclprofStart");
  }
  return Guard(kApi, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckConfig(profilerConfig));
    session.warm = true;
    return Ok();
  });
}

extern "C" aclError aclprofStart(const aclprofConfig* profilerConfig) {
  constexpr char kApi[] = "aclprofStart";
  if (const aclError code = Guard(kApi, [&] { return CheckConfig(profilerConfig); }); code != ACL_SUCCESS) return code;
  Session& session = TheSession();
  std::lock_guard lock(session.mutex);
  if (!session.initialised) return NotRunning(kApi, "aclprofInit");
  for (const uint32_t device : DevicesOf(*profilerConfig)) {
    if (session.running.contains(device)) {
      return Answer(
          kApi, ACL_ERROR_PROF_ALREADY_RUN, Code::kInvalidArgument,
          Format("device %u is being profiled already; call aclprofStop with its configuration first", device));
    }
  }
  return Guard(kApi, [&]() -> Status {
    if (session.running.empty()) {  // a second configuration joins what the first records
      const bool calls = (profilerConfig->data_types & ACL_PROF_ACL_API) != 0;
      MP_RETURN_IF_ERROR(StartRecording(session.path, profilerConfig->devices, calls));
    }
    for (const uint32_t device : DevicesOf(*profilerConfig)) session.running[device] = profilerConfig->data_types;
    session.warm = false;
    session.runs.store(true);
    return Ok();
  });
}

extern "C" aclError aclprofStop(const aclprofConfig* profilerConfig) {
  constexpr char kApi[] = "aclprofStop";
  if (const aclError code = Guard(kApi, [&] { return CheckConfig(profilerConfig); }); code != ACL_SUCCESS) return code;
  Session& session = TheSession();
  std::lock_guard lock(session.mutex);
  for (const uint32_t device : DevicesOf(*profilerConfig)) {
    const auto found = session.running.find(device);
    if (found == session.running.end()) return NotRunning(kApi, "aclprofStart with the same configuration");
    if (found->second != profilerConfig->data_types) {
      return Answer(kApi, ACL_ERROR_INVALID_PARAM, Code::kInvalidArgument,
                    "the configuration is not the one aclprofStart had: dataTypeConfig differs");
    }
  }
  return Guard(kApi, [&]() -> Status {
    for (const uint32_t device : DevicesOf(*profilerConfig)) session.running.erase(device);
    session.runs.store(!session.running.empty());
    return session.running.empty() ? StopRecording() : Ok();
  });
}

// SPDX-License-Identifier: Apache-2.0
// aclmdlInitDump and its like, aclopStartDumpArgs, acldumpGetPath (page "Dump configuration").
#include "src/api/acl/rt/device/dump_control.h"

#include "include/acl/acl_dump.h"
#include "include/acl/acl_mdl.h"
#include "src/api/acl/rt/device/init_config.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/mutex.h"
#include "src/device/lifecycle.h"

namespace millpond::acl {

namespace {

Mutex control_mutex;
bool by_init GUARDED_BY(control_mutex) = false;
bool by_call GUARDED_BY(control_mutex) = false;

// Between aclInit and aclFinalize.
bool IsInitialized() {
  Lifecycle& lifecycle = Lifecycle::Get();
  const std::lock_guard lock(lifecycle.mutex);
  return lifecycle.references > 0;
}

Outcome RequireBegun() REQUIRES(control_mutex) {
  if (by_call) return Ok();
  return {ACL_ERROR_DUMP_NOT_RUN,
          InvalidArgument("aclmdlInitDump was not called, or aclmdlFinalizeDump was called since")};
}

Outcome Begin() {
  MP_CHECK(IsInitialized(), kUninitialized, "aclInit comes first");
  MutexLock lock(control_mutex);
  if (by_init || by_call) {
    return {ACL_ERROR_DUMP_ALREADY_RUN,
            InvalidArgument(by_init ? "the file that aclInit was given has turned dumps on" : "it was called already")};
  }
  by_call = true;
  return Ok();
}

Outcome Set(const char* path) {
  MutexLock lock(control_mutex);
  if (Outcome begun = RequireBegun(); !begun.ok()) return begun;
  MP_REQUIRE(*path != '\0', "dumpCfgPath is empty");
  InitConfig config;
  MP_RETURN_IF_ERROR(ReadInitConfig(path, &config));
  if (!config.dump) {
    return {
        ACL_ERROR_INVALID_DUMP_CONFIG,
        InvalidArgument(Format(
            "'%s' turns nothing on: give \"dump\" a \"dump_list\" with models, or \"dump_op_switch\": \"on\"", path))};
  }
  return dump::Start(*config.dump);
}

Outcome End() {
  MutexLock lock(control_mutex);
  if (Outcome begun = RequireBegun(); !begun.ok()) return begun;
  by_call = false;
  dump::Stop();
  return Ok();
}

Status CheckInfoType(uint32_t type) {
  MP_REQUIRE(type == ACL_OP_DUMP_OP_AICORE_ARGS, "dumpType is %u; the only one is ACL_OP_DUMP_OP_AICORE_ARGS (%u)",
             type, ACL_OP_DUMP_OP_AICORE_ARGS);
  return Ok();
}

}  // namespace

Status StartDumpByInit(const dump::Settings& settings) {
  MutexLock lock(control_mutex);
  MP_RETURN_IF_ERROR(dump::Start(settings));
  by_init = true;
  return Ok();
}

void StopDumpByInit() {
  MutexLock lock(control_mutex);
  if (!by_init && !by_call) return;
  by_init = by_call = false;
  dump::Stop();
}

}  // namespace millpond::acl

using millpond::acl::Guard;

extern "C" aclError aclmdlInitDump() {
  return Guard("aclmdlInitDump", [] { return millpond::acl::Begin(); });
}
extern "C" aclError aclmdlSetDump(const char* dumpCfgPath) {
  return Guard("aclmdlSetDump", [&]() -> millpond::acl::Outcome {
    MP_NOT_NULL(dumpCfgPath);
    return millpond::acl::Set(dumpCfgPath);
  });
}
extern "C" aclError aclmdlFinalizeDump() {
  return Guard("aclmdlFinalizeDump", [] { return millpond::acl::End(); });
}

extern "C" aclError aclopStartDumpArgs(uint32_t dumpType, const char* path) {
  return Guard("aclopStartDumpArgs", [&]() -> millpond::Status {
    MP_RETURN_IF_ERROR(millpond::acl::CheckInfoType(dumpType));
    MP_NOT_NULL(path);
    return millpond::dump::StartInfo(path);
  });
}
extern "C" aclError aclopStopDumpArgs(uint32_t dumpType) {
  return Guard("aclopStopDumpArgs", [&]() -> millpond::Status {
    MP_RETURN_IF_ERROR(millpond::acl::CheckInfoType(dumpType));
    millpond::dump::StopInfo();
    return millpond::Ok();
  });
}

// The text lives until the thread asks again.
extern "C" const char* acldumpGetPath(acldumpType dumpType) {
  thread_local std::string path;
  const char* answer = nullptr;
  static_cast<void>(Guard("acldumpGetPath", [&]() -> millpond::Status {
    MP_REQUIRE(dumpType == DATA_DUMP, "dumps of type %d are not made; those of data are (DATA_DUMP)",
               static_cast<int>(dumpType));
    path = millpond::dump::Path();
    MP_REQUIRE(!path.empty(), "no dump is on");
    answer = path.c_str();
    return millpond::Ok();
  }));
  return answer;
}

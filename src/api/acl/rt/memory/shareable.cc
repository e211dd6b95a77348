// SPDX-License-Identifier: Apache-2.0
// Shareable handles of physical memory (CANN's chapter on virtual memory). The V1 and the V2 default form are a number;
// the fabric form, which only the A3 series has, is a longer name for the same thing and reaches no other host than
// this one.
#include <cstring>
#include <span>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/runtime.h"
#include "src/device/share/broker.h"
#include "src/device/share/physical_share.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status CheckExportFlags(uint64_t flags) {
  MP_CHECK(flags <= ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION, kRuntimeArgument,
           "flags is %llu; 0 (check pids) or 1 (do not)", static_cast<unsigned long long>(flags));
  return Ok();
}

Status CheckShareType(aclrtMemSharedHandleType type) {
  MP_CHECK(type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT || type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, kRuntimeArgument,
           "shareType is %d; default (%d) or fabric (%d)", static_cast<int>(type), ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT,
           ACL_MEM_SHARE_HANDLE_TYPE_FABRIC);
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT) return Ok();
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  MP_CHECK(SeriesOf(runtime->profile().name) == Series::kA3, kUnsupported,
           "%s has no fabric handles; use ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT", runtime->profile().name.c_str());
  return Ok();
}

// pre: CheckShareType passed.
Status NameOf(const void* shareable, aclrtMemSharedHandleType type, ShareName* out_name) {
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT) {
    uint64_t handle = 0;
    memcpy(&handle, shareable, sizeof(handle));
    return ShareName::FromHandle(handle, ShareKind::kPhysical, out_name);
  }
  char key[kShareKeyBytes];
  memcpy(key, static_cast<const aclrtMemFabricHandle*>(shareable)->data, sizeof(key));
  return ShareName::Parse(key, ShareKind::kPhysical, out_name);
}

Status Import(const ShareName& name, int64_t device_id, aclrtDrvMemHandle* out_handle) {
  Device* device = nullptr;
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(FindDevice(device_id, &device));
  MP_RETURN_IF_ERROR(RequireContext(&context));
  return ImportPhysical(name, device->id(), out_handle);
}

Status AllowPids(const ShareName& name, const int32_t* pid, size_t pid_num) {
  return Broker::Get().Allow(name, std::span<const int32_t>(pid, pid_num));
}

}  // namespace

extern "C" aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                                    uint64_t flags, uint64_t* shareableHandle) {
  return Guard("aclrtMemExportToShareableHandle", [&]() -> Status {
    MP_NOT_NULL(handle);
    MP_REQUIRE(handleType == ACL_MEM_HANDLE_TYPE_NONE, "handleType is %d; only %d (none) is supported",
               static_cast<int>(handleType), ACL_MEM_HANDLE_TYPE_NONE);
    MP_NOT_NULL(shareableHandle);
    MP_RETURN_IF_ERROR(CheckExportFlags(flags));
    ShareName name;
    MP_RETURN_IF_ERROR(ExportPhysical(handle, flags != 0, /*short_name=*/true, &name));
    *shareableHandle = name.ToHandle();
    return Ok();
  });
}

extern "C" aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                                      aclrtMemSharedHandleType shareType, void* shareableHandle) {
  return Guard("aclrtMemExportToShareableHandleV2", [&]() -> Status {
    MP_NOT_NULL(handle);
    MP_NOT_NULL(shareableHandle);
    MP_RETURN_IF_ERROR(CheckShareType(shareType));
    MP_RETURN_IF_ERROR(CheckExportFlags(flags));
    const bool fabric = shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC;
    ShareName name;
    MP_RETURN_IF_ERROR(ExportPhysical(handle, flags != 0, /*short_name=*/!fabric, &name));
    if (fabric) {
      aclrtMemFabricHandle made{};
      char key[kShareKeyBytes];
      name.Print(key);
      memcpy(made.data, key, sizeof(key));
      memcpy(shareableHandle, &made, sizeof(made));
    } else {
      const uint64_t number = name.ToHandle();
      memcpy(shareableHandle, &number, sizeof(number));
    }
    return Ok();
  });
}

extern "C" aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                                      aclrtDrvMemHandle* handle) {
  return Guard("aclrtMemImportFromShareableHandle", [&]() -> Status {
    MP_NOT_NULL(handle);
    ShareName name;
    MP_RETURN_IF_ERROR(ShareName::FromHandle(shareableHandle, ShareKind::kPhysical, &name));
    return Import(name, deviceId, handle);
  });
}

extern "C" aclError aclrtMemImportFromShareableHandleV2(void* shareableHandle, aclrtMemSharedHandleType shareType,
                                                        uint64_t flags, aclrtDrvMemHandle* handle) {
  return Guard("aclrtMemImportFromShareableHandleV2", [&]() -> Status {
    MP_NOT_NULL(shareableHandle);
    MP_NOT_NULL(handle);
    MP_REQUIRE(flags == 0, "flags is %llu; only 0 is supported", static_cast<unsigned long long>(flags));
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    MP_RETURN_IF_ERROR(CheckShareType(shareType));
    ShareName name;
    MP_RETURN_IF_ERROR(NameOf(shareableHandle, shareType, &name));
    return Import(name, device->id(), handle);
  });
}

extern "C" aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  return Guard("aclrtMemSetPidToShareableHandle", [&]() -> Status {
    MP_NOT_NULL(pid);
    MP_REQUIRE(pidNum > 0, "pidNum is 0; name at least one process");
    ShareName name;
    MP_RETURN_IF_ERROR(ShareName::FromHandle(shareableHandle, ShareKind::kPhysical, &name));
    return AllowPids(name, pid, pidNum);
  });
}

extern "C" aclError aclrtMemSetPidToShareableHandleV2(void* shareableHandle, aclrtMemSharedHandleType shareType,
                                                      int32_t* pid, size_t pidNum) {
  return Guard("aclrtMemSetPidToShareableHandleV2", [&]() -> Status {
    MP_NOT_NULL(shareableHandle);
    MP_NOT_NULL(pid);
    MP_REQUIRE(pidNum > 0, "pidNum is 0; name at least one process");
    MP_RETURN_IF_ERROR(CheckShareType(shareType));
    ShareName name;
    MP_RETURN_IF_ERROR(NameOf(shareableHandle, shareType, &name));
    return AllowPids(name, pid, pidNum);
  });
}

// SPDX-License-Identifier: Apache-2.0
// Notifies and events between processes (documents 08 and 07).
#include "src/device/share/ipc_sync.h"

#include <cstring>
#include <span>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/device.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclrtNotifyGetExportKey(aclrtNotify notify, char* key, size_t len, uint64_t flags) {
  return Guard("aclrtNotifyGetExportKey", [&]() -> Status {
    MP_NOT_NULL(notify);
    MP_NOT_NULL(key);
    MP_CHECK(len >= kShareKeyBytes, kRuntimeArgument, "len is %zu; a key takes %zu bytes", len, kShareKeyBytes);
    MP_CHECK(flags == ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT || flags == ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION,
             kRuntimeArgument, "flags is %llu; 0 (check pids) or 2 (do not)", static_cast<unsigned long long>(flags));
    return ExportNotify(notify, flags != ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT, key);
  });
}

extern "C" aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t* pid, size_t num) {
  return Guard("aclrtNotifySetImportPid", [&]() -> Status {
    MP_NOT_NULL(notify);
    MP_NOT_NULL(pid);
    MP_CHECK(num > 0 && num <= INT32_MAX, kRuntimeArgument, "num is %zu; name at least one process", num);
    return AllowNotifyImport(notify, std::span<const int32_t>(pid, num));
  });
}

extern "C" aclError aclrtNotifySetImportPidInterServer(aclrtNotify notify, aclrtServerPid* serverPids, size_t num) {
  return Guard("aclrtNotifySetImportPidInterServer", [&]() -> Status {
    MP_NOT_NULL(notify);
    MP_NOT_NULL(serverPids);
    MP_CHECK(num > 0, kRuntimeArgument, "num is 0; name at least one process");
    return Unsupported(
        "aclrtNotifySetImportPidInterServer: notifies are shared between processes of one host only; use "
        "aclrtNotifySetImportPid");
  });
}

extern "C" aclError aclrtNotifyImportByKey(aclrtNotify* notify, const char* key, uint64_t flags) {
  return Guard("aclrtNotifyImportByKey", [&]() -> Status {
    MP_NOT_NULL(notify);
    MP_NOT_NULL(key);
    MP_CHECK(flags == ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT || flags == ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS,
             kRuntimeArgument, "flags is %llu; 0 or 2 (enable peer access)", static_cast<unsigned long long>(flags));
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    return ImportNotify(key, device, notify);
  });
}

extern "C" aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle) {
  return Guard("aclrtIpcGetEventHandle", [&]() -> Status {
    MP_NOT_NULL(event);
    MP_NOT_NULL(handle);
    char key[kShareKeyBytes];
    MP_RETURN_IF_ERROR(ExportEvent(event, key));
    static_assert(sizeof(handle->reserved) == kShareKeyDigits);
    memcpy(handle->reserved, key, sizeof(handle->reserved));
    return Ok();
  });
}

extern "C" aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  return Guard("aclrtIpcOpenEventHandle", [&]() -> Status {
    MP_NOT_NULL(event);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    char key[kShareKeyBytes] = {};
    memcpy(key, handle.reserved, sizeof(handle.reserved));
    return ImportEvent(key, device, event);
  });
}

// SPDX-License-Identifier: Apache-2.0
// Device memory between processes, by key (CANN's chapter on memory between processes).
#include "src/device/share/ipc.h"

#include <span>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
  return Guard("aclrtIpcMemGetExportKey", [&]() -> Status {
    MP_NOT_NULL(devPtr);
    MP_NOT_NULL(key);
    MP_CHECK(size > 0, kRuntimeArgument, "size is 0; export at least one byte");
    MP_CHECK(len == kShareKeyBytes, kRuntimeArgument, "len is %zu; a key takes %zu bytes", len, kShareKeyBytes);
    MP_CHECK(flags <= ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION, kRuntimeArgument,
             "flags is %llu; 0 (check pids) or 1 (do not)", static_cast<unsigned long long>(flags));
    return ExportMemory(devPtr, size, flags != 0, key);
  });
}

extern "C" aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  return Guard("aclrtIpcMemSetImportPid", [&]() -> Status {
    MP_NOT_NULL(key);
    MP_NOT_NULL(pid);
    MP_CHECK(num > 0 && num <= INT32_MAX, kRuntimeArgument, "num is %zu; name at least one process", num);
    return AllowMemoryImport(key, std::span<const int32_t>(pid, num));
  });
}

extern "C" aclError aclrtIpcMemImportPidInterServer(const char* key, aclrtServerPid* serverPids, size_t num) {
  return Guard("aclrtIpcMemImportPidInterServer", [&]() -> Status {
    MP_CHECK(key != nullptr && serverPids != nullptr && num > 0, kRuntimeArgument,
             "key %p, serverPids %p, num %zu: none may be null or 0", static_cast<const void*>(key),
             static_cast<void*>(serverPids), num);
    return Unsupported(
        "aclrtIpcMemImportPidInterServer: memory is shared between processes of one host only; use "
        "aclrtIpcMemSetImportPid");
  });
}

extern "C" aclError aclrtIpcMemSetAttr(const char* key, aclrtIpcMemAttrType type, uint64_t attr) {
  return Guard("aclrtIpcMemSetAttr", [&]() -> Status {
    MP_CHECK(key != nullptr, kRuntimeArgument, "key is null; pass what aclrtIpcMemGetExportKey gave");
    MP_CHECK(type == ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, kRuntimeArgument, "type is %d; only %d (access link) exists",
             static_cast<int>(type), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK);
    MP_CHECK(attr <= ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH, kRuntimeArgument, "attr is %llu; 0 to %d",
             static_cast<unsigned long long>(attr), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH);
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    MP_CHECK(SeriesOf(runtime->profile().name) == Series::kA3, kUnsupported,
             "aclrtIpcMemSetAttr: %s has no links to choose from", runtime->profile().name.c_str());
    MP_RETURN_IF_ERROR(CheckMemoryExported(key));
    // The default is in force already; any other link would be success for nothing.
    MP_CHECK(attr == ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO, kUnsupported,
             "aclrtIpcMemSetAttr: a virtual device has no link %llu, only the default (0)",
             static_cast<unsigned long long>(attr));
    return Ok();
  });
}

extern "C" aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  return Guard("aclrtIpcMemImportByKey", [&]() -> Status {
    MP_NOT_NULL(devPtr);
    MP_NOT_NULL(key);
    MP_CHECK(flags <= ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS, kRuntimeArgument,
             "flags is %llu; 0 or 1 (enable peer access)", static_cast<unsigned long long>(flags));
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    return ImportMemory(key, device->id(), devPtr);
  });
}

extern "C" aclError aclrtIpcMemClose(const char* key) {
  return Guard("aclrtIpcMemClose", [&]() -> Status {
    MP_NOT_NULL(key);
    return CloseMemory(key);
  });
}

// SPDX-License-Identifier: Apache-2.0
// HCCL's numbers for our codes, and their texts.
#include <string>

#include "include/hccl/hccl.h"
#include "src/api/hccl/hccl_guard.h"

namespace millpond::hccl {

HcclResult ResultFrom(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return HCCL_SUCCESS;
    case Code::kInvalidArgument:
      return status.message().starts_with("[EH0008]") ? HCCL_E_PTR : HCCL_E_PARA;  // acl has one number for both
    case Code::kRuntimeArgument:
    case Code::kInvalidDevice:
    case Code::kInvalidHandle:
    case Code::kParseFile:
      return HCCL_E_PARA;
    case Code::kInvalidFile:
      return HCCL_E_OPEN_FILE_FAILURE;
    case Code::kUnsupported:
      return HCCL_E_NOT_SUPPORT;
    case Code::kOutOfMemory:
      return HCCL_E_OOM;
    case Code::kHostOutOfMemory:
      return HCCL_E_MEMORY;
    case Code::kTaskTimeout:
      return HCCL_E_TIMEOUT;
    case Code::kIpc:
      return HCCL_E_REMOTE;
    case Code::kInternal:
      return HCCL_E_INTERNAL;
    default:
      return HCCL_E_RUNTIME;  // the runtime's own: no context, a stream of another context, a broken capture ...
  }
}

Status AsArgument(const Status& failure) {
  switch (failure.code()) {
    case Code::kInvalidArgument:
    case Code::kUnsupported:
    case Code::kRuntimeArgument:
    case Code::kInvalidHandle:
    case Code::kInvalidMemoryType:
    case Code::kUnaligned:
      break;
    default:
      return failure.Clone();
  }
  constexpr size_t kTagLength = sizeof("[EH0008] ") - 1;
  std::string text(failure.message());
  if (text.starts_with("[EI")) return failure.Clone();
  text = text.starts_with("[E") ? text.substr(kTagLength) : "{api} failed. Reason: " + text;
  return Status(failure.code(), "[EI0003] " + text).Breaks(failure.rule(), failure.subject());
}

}  // namespace millpond::hccl

extern "C" const char* HcclGetErrorString(HcclResult code) {
  switch (code) {
    case HCCL_SUCCESS:
      return "no error";
    case HCCL_E_PARA:
      return "a parameter is invalid";
    case HCCL_E_PTR:
      return "a pointer is null";
    case HCCL_E_MEMORY:
      return "host memory is exhausted";
    case HCCL_E_INTERNAL:
      return "internal error";
    case HCCL_E_NOT_SUPPORT:
      return "not supported";
    case HCCL_E_NOT_FOUND:
      return "not found";
    case HCCL_E_UNAVAIL:
      return "a resource is unavailable";
    case HCCL_E_SYSCALL:
      return "a system call failed";
    case HCCL_E_TIMEOUT:
      return "timed out";
    case HCCL_E_OPEN_FILE_FAILURE:
      return "a file cannot be opened";
    case HCCL_E_TCP_CONNECT:
      return "TCP connection failed";
    case HCCL_E_ROCE_CONNECT:
      return "RoCE connection failed";
    case HCCL_E_TCP_TRANSFER:
      return "TCP transfer failed";
    case HCCL_E_ROCE_TRANSFER:
      return "RoCE transfer failed";
    case HCCL_E_RUNTIME:
      return "a call of the runtime failed";
    case HCCL_E_DRV:
      return "a call of the driver failed";
    case HCCL_E_PROFILING:
      return "a call of the profiler failed";
    case HCCL_E_CCE:
      return "a call of CCE failed";
    case HCCL_E_NETWORK:
      return "a network call failed";
    case HCCL_E_AGAIN:
      return "try again";
    case HCCL_E_REMOTE:
      return "a remote operation failed";
    case HCCL_E_SUSPENDING:
      return "the communicator is suspended";
    case HCCL_E_OPRETRY_FAIL:
      return "the operation cannot be retried";
    case HCCL_E_OOM:
      return "device memory is exhausted";
    case HCCL_E_RESERVED:
      break;
  }
  return "unknown HCCL result";
}

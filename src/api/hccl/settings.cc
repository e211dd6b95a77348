// SPDX-License-Identifier: Apache-2.0
// Settings of the process, and memory that other ranks may reach. With one rank there are no others: what is registered
// is remembered and checked, so that a program that registers wrongly hears of it here.
#include "include/hccl/hccl.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/device/memory/memory.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using Answer = comm::RegisteredMemory::Answer;

namespace {

Status CheckConfig(HcclConfig config) {
  if (config == HCCL_DETERMINISTIC) return Ok();
  return Unsupported(Format("setting %d is not known; HCCL_DETERMINISTIC (0) is", static_cast<int>(config)));
}

Status OutsideRanges(const void* address, size_t bytes) {
  return InvalidValue("virPtr", Format("%p", address),
                      Format("its %zu bytes lie in no range of HcclCommSetMemoryRange", bytes));
}

}  // namespace

extern "C" HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  return Guard("HcclSetConfig", [&]() -> Outcome {
    MP_RETURN_IF_ERROR(CheckConfig(config));
    if (configValue.value < 0 || configValue.value > comm::kMaxDeterminism) {
      return InvalidValue("configValue", std::to_string(configValue.value), "HCCL_DETERMINISTIC is 0, 1 or 2");
    }
    comm::SetDeterminism(configValue.value);
    return Ok();
  });
}

extern "C" HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  return Guard("HcclGetConfig", [&]() -> Outcome {
    MP_NOT_NULL(configValue);
    MP_RETURN_IF_ERROR(CheckConfig(config));
    configValue->value = comm::Determinism();
    return Ok();
  });
}

extern "C" uint32_t HcclGetCommConfigCapability(void) { return HCCL_COMM_CONFIG_RESERVED; }

extern "C" HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle, uint32_t flag) {
  return GuardComm("HcclCommRegister", comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_NOT_NULL(addr);
    MP_NOT_NULL(handle);
    if (size == 0) return InvalidValue("size", "0", "a window has at least one byte");
    if (flag != 0) return InvalidValue("flag", std::to_string(flag), "it is reserved and must be 0");
    MP_RETURN_IF_ERROR(CheckRange("addr", addr, size));
    if (found->memory.AddWindow(addr, size) == Answer::kTaken) {
      return InvalidValue("addr", Format("%p", addr), "it is registered already; call HcclCommDeregister first");
    }
    *handle = addr;
    return Ok();
  });
}

extern "C" HcclResult HcclCommDeregister(HcclComm comm, void* handle) {
  return GuardComm("HcclCommDeregister", comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_NOT_NULL(handle);
    if (found->memory.RemoveWindow(handle) == Answer::kDone) {
      found->windows.EndOffersOf(handle);
      return Ok();
    }
    return InvalidValue("handle", Format("%p", handle), "HcclCommRegister did not give it, or it is deregistered");
  });
}

extern "C" HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size, size_t alignment,
                                             uint64_t flags) {
  return GuardComm("HcclCommSetMemoryRange", comm, [&](const CommunicatorPtr& found) -> Outcome {
    static_cast<void>(alignment);  // reserved
    static_cast<void>(flags);
    MP_NOT_NULL(baseVirPtr);
    if (size == 0) return InvalidValue("size", "0", "a range has at least one byte");
    if (found->memory.AddRange(baseVirPtr, size) == Answer::kDone) return Ok();
    return InvalidValue("baseVirPtr", Format("%p", baseVirPtr), "the range overlaps one that is set already");
  });
}

extern "C" HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) {
  return GuardComm("HcclCommUnsetMemoryRange", comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_NOT_NULL(baseVirPtr);
    size_t active = 0;
    switch (found->memory.RemoveRange(baseVirPtr, &active)) {
      case Answer::kDone:
        return Ok();
      case Answer::kUnknown:
        return InvalidValue("baseVirPtr", Format("%p", baseVirPtr), "no range that is set begins there");
      case Answer::kTaken:
        break;
    }
    return InvalidParameter("baseVirPtr", Format("%zu parts of the range are active; call "
                                                 "HcclCommDeactivateCommMemory first",
                                                 active));
  });
}

extern "C" HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size, size_t offset,
                                                 aclrtDrvMemHandle handle, uint64_t flags) {
  return GuardComm("HcclCommActivateCommMemory", comm, [&](const CommunicatorPtr& found) -> Outcome {
    static_cast<void>(offset);  // of the physical memory, which nobody else maps here
    static_cast<void>(flags);
    MP_NOT_NULL(virPtr);
    MP_NOT_NULL(handle);
    switch (found->memory.Activate(virPtr, size)) {
      case Answer::kDone:
        return Ok();
      case Answer::kUnknown:
        return OutsideRanges(virPtr, size);
      case Answer::kTaken:
        break;
    }
    return InvalidValue("virPtr", Format("%p", virPtr), "it is active already");
  });
}

extern "C" HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) {
  return GuardComm("HcclCommDeactivateCommMemory", comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_NOT_NULL(virPtr);
    bool in_range = false;
    if (found->memory.Deactivate(virPtr, &in_range) == Answer::kDone) return Ok();
    return in_range ? InvalidValue("virPtr", Format("%p", virPtr), "it is not active") : OutsideRanges(virPtr, 0);
  });
}

extern "C" HcclResult HcclCommWorkingDevNicSet(HcclComm, uint32_t*, bool*, uint32_t) {
  return Guard("HcclCommWorkingDevNicSet", []() -> Outcome {
    return acl::NotSupported("virtual devices have no network card to switch to; leave the call out");
  });
}

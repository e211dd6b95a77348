// SPDX-License-Identifier: Apache-2.0
// Settings of the process, and memory that other ranks may reach. With one rank there are no others: what is registered
// is remembered and checked, so that a program that registers wrongly hears of it here.
#include <atomic>

#include "include/hccl/hccl.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/device/memory.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using acl::InvalidParameter;
using acl::InvalidValue;

namespace {

constexpr int32_t kMostDeterministic = 2;  // off, on, strict
// Copies within one rank give the same result every time, whatever this says.
std::atomic<int32_t> g_deterministic{0};

Status CheckConfig(HcclConfig config) {
  if (config == HCCL_DETERMINISTIC) return Ok();
  return Unsupported(Format("setting %d is not known; HCCL_DETERMINISTIC (0) is", static_cast<int>(config)));
}

uintptr_t Number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// The registered range that holds [address, address + bytes). pre: the comm's memory_mutex is held.
Status FindRange(Comm* comm, const void* address, size_t bytes, MemoryRange** out_range) {
  auto next = comm->ranges.upper_bound(Number(address));
  if (next != comm->ranges.begin()) {
    auto& [base, range] = *std::prev(next);
    const size_t offset = Number(address) - base;
    if (offset <= range.bytes && bytes <= range.bytes - offset) {
      *out_range = &range;
      return Ok();
    }
  }
  return InvalidValue("virPtr", Format("%p", address),
                      Format("its %zu bytes lie in no range of HcclCommSetMemoryRange", bytes));
}

}  // namespace

extern "C" HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  return Guard("HcclSetConfig", [&]() -> Outcome {
    MP_RETURN_IF_ERROR(CheckConfig(config));
    if (configValue.value < 0 || configValue.value > kMostDeterministic) {
      return InvalidValue("configValue", std::to_string(configValue.value), "HCCL_DETERMINISTIC is 0, 1 or 2");
    }
    g_deterministic.store(configValue.value);
    return Ok();
  });
}

extern "C" HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  return Guard("HcclGetConfig", [&]() -> Outcome {
    MP_NOT_NULL(configValue);
    MP_RETURN_IF_ERROR(CheckConfig(config));
    configValue->value = g_deterministic.load();
    return Ok();
  });
}

extern "C" uint32_t HcclGetCommConfigCapability(void) { return HCCL_COMM_CONFIG_RESERVED; }

extern "C" HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle, uint32_t flag) {
  return Guard("HcclCommRegister", [&]() -> Outcome {
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    MP_NOT_NULL(addr);
    MP_NOT_NULL(handle);
    if (size == 0) return InvalidValue("size", "0", "a window has at least one byte");
    if (flag != 0) return InvalidValue("flag", std::to_string(flag), "it is reserved and must be 0");
    MP_RETURN_IF_ERROR(CheckRange("addr", addr, size));
    std::lock_guard lock(found->memory_mutex);
    if (found->windows.contains(addr)) {
      return InvalidValue("addr", Format("%p", addr), "it is registered already; call HcclCommDeregister first");
    }
    found->windows[addr] = {size, {}};
    *handle = addr;
    return Ok();
  });
}

extern "C" HcclResult HcclCommDeregister(HcclComm comm, void* handle) {
  return Guard("HcclCommDeregister", [&]() -> Outcome {
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    MP_NOT_NULL(handle);
    std::lock_guard lock(found->memory_mutex);
    if (found->windows.erase(handle) == 1) return Ok();
    return InvalidValue("handle", Format("%p", handle), "HcclCommRegister did not give it, or it is deregistered");
  });
}

extern "C" HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks,
                                          uint32_t peerRankNum) {
  return Guard("HcclCommExchangeMem", [&]() -> Outcome {
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    MP_NOT_NULL(windowHandle);
    {
      std::lock_guard lock(found->memory_mutex);
      if (!found->windows.contains(windowHandle)) {
        return InvalidValue("windowHandle", Format("%p", windowHandle), "HcclCommRegister did not give it");
      }
    }
    if (peerRankNum == 0) return Ok();
    MP_NOT_NULL(peerRanks);
    return InvalidValue("peerRanks[0]", std::to_string(peerRanks[0]), "a communicator of one rank has no peers");
  });
}

extern "C" HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size, size_t alignment,
                                             uint64_t flags) {
  return Guard("HcclCommSetMemoryRange", [&]() -> Outcome {
    static_cast<void>(alignment);  // reserved
    static_cast<void>(flags);
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    MP_NOT_NULL(baseVirPtr);
    if (size == 0) return InvalidValue("size", "0", "a range has at least one byte");
    const uintptr_t base = Number(baseVirPtr);
    std::lock_guard lock(found->memory_mutex);
    auto next = found->ranges.lower_bound(base);
    const bool runs_into_next = next != found->ranges.end() && next->first - base < size;
    const bool in_previous =
        next != found->ranges.begin() && base - std::prev(next)->first < std::prev(next)->second.bytes;
    if (runs_into_next || in_previous) {
      return InvalidValue("baseVirPtr", Format("%p", baseVirPtr), "the range overlaps one that is set already");
    }
    found->ranges[base] = {size, {}};
    return Ok();
  });
}

extern "C" HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) {
  return Guard("HcclCommUnsetMemoryRange", [&]() -> Outcome {
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    MP_NOT_NULL(baseVirPtr);
    std::lock_guard lock(found->memory_mutex);
    const auto range = found->ranges.find(Number(baseVirPtr));
    if (range == found->ranges.end()) {
      return InvalidValue("baseVirPtr", Format("%p", baseVirPtr), "no range that is set begins there");
    }
    if (!range->second.active.empty()) {
      return InvalidParameter("baseVirPtr", Format("%zu parts of the range are active; call "
                                                   "HcclCommDeactivateCommMemory first",
                                                   range->second.active.size()));
    }
    found->ranges.erase(range);
    return Ok();
  });
}

extern "C" HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size, size_t offset,
                                                 aclrtDrvMemHandle handle, uint64_t flags) {
  return Guard("HcclCommActivateCommMemory", [&]() -> Outcome {
    static_cast<void>(offset);  // of the physical memory, which nobody else maps here
    static_cast<void>(flags);
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    MP_NOT_NULL(virPtr);
    MP_NOT_NULL(handle);
    std::lock_guard lock(found->memory_mutex);
    MemoryRange* range = nullptr;
    MP_RETURN_IF_ERROR(FindRange(found.get(), virPtr, size, &range));
    if (!range->active.emplace(Number(virPtr), size).second) {
      return InvalidValue("virPtr", Format("%p", virPtr), "it is active already");
    }
    return Ok();
  });
}

extern "C" HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) {
  return Guard("HcclCommDeactivateCommMemory", [&]() -> Outcome {
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    MP_NOT_NULL(virPtr);
    std::lock_guard lock(found->memory_mutex);
    MemoryRange* range = nullptr;
    MP_RETURN_IF_ERROR(FindRange(found.get(), virPtr, 0, &range));
    if (range->active.erase(Number(virPtr)) == 1) return Ok();
    return InvalidValue("virPtr", Format("%p", virPtr), "it is not active");
  });
}

extern "C" HcclResult HcclCommWorkingDevNicSet(HcclComm, uint32_t*, bool*, uint32_t) {
  return Guard("HcclCommWorkingDevNicSet", []() -> Outcome {
    return acl::NotSupported("virtual devices have no network card to switch to; leave the call out");
  });
}

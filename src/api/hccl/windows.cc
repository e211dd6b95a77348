// SPDX-License-Identifier: Apache-2.0
// Memory that other ranks reach: windows of HcclCommRegister, symmetric windows, and the memory that is made for these.
#include "src/comm/windows.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "include/hccl/hccl.h"
#include "src/api/common/soc.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/base/mutex.h"
#include "src/comm/host_exchange.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/vmm.h"
#include "src/device/runtime.h"
#include "src/device/share/physical_share.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Page "HcclCommSymWinRegister": A3 alone has them.
Status CheckSeries() {
  const char* soc = aclrtGetSocName();
  if (acl::SeriesOf(soc != nullptr ? soc : "") == acl::Series::kA3) return Ok();
  return acl::NotSupported(
      "symmetric windows are documented for the A3 series alone (such as MILLPOND_SOC=Ascend910_9392); "
      "use collectives, which reach other ranks' memory by themselves");
}

Status FindWindow(HcclCommSymWindow handle, CommunicatorPtr* out_comm, std::shared_ptr<comm::Window>* out_window) {
  if (handle == nullptr) return acl::NullPointer("winHandle");
  *out_comm = comm::Communicators::Get().FindWindow(handle, out_window);
  if (*out_comm != nullptr) return Ok();
  return InvalidValue("winHandle", Format("%p", handle),
                      "HcclCommSymWinRegister did not give it, or it is deregistered");
}

// What HcommMemAlloc made, by address.
struct Made {
  Mutex mutex;
  std::map<void*, void*> handles GUARDED_BY(mutex);
};
Made& TheMade() {
  static auto& made = *new Made;  // leaked: process groups end in static destructors
  return made;
}

Status MakeMapped(Device* device, size_t bytes, void** out_address, void** out_handle) {
  PhysicalSpec spec;
  spec.id = device->id();
  spec.granule = kHugePageBytes;
  MP_RETURN_IF_ERROR(Vmm::Get().CreatePhysical(&device->memory(), spec, bytes, out_handle));
  Status status = Vmm::Get().Reserve(device->id(), bytes, nullptr, out_address);
  if (status.ok()) {
    status = Vmm::Get().Map(*out_address, bytes, 0, *out_handle, /*accessible=*/true);
    if (!status.ok()) Vmm::Get().Release(*out_address).Ignore();  // it was reserved a moment ago
  }
  if (!status.ok()) FreePhysicalHandle(*out_handle).Ignore();
  return status;
}

}  // namespace

extern "C" HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks,
                                          uint32_t peerRankNum) {
  static constexpr char kApi[] = "HcclCommExchangeMem";
  return GuardCommOperation(kApi, comm, [&](const CommunicatorPtr& found, const void* caller) -> Outcome {
    MP_NOT_NULL(windowHandle);
    const size_t bytes = found->memory.BytesOfWindow(windowHandle);
    if (bytes == 0) {
      return InvalidValue("windowHandle", Format("%p", windowHandle), "HcclCommRegister did not give it");
    }
    if (peerRankNum == 0) return Ok();
    MP_NOT_NULL(peerRanks);
    const std::span<const uint32_t> peers(peerRanks, peerRankNum);
    for (size_t i = 0; i < peers.size(); ++i) {
      const std::string parameter = Format("peerRanks[%zu]", i);
      if (peers[i] >= found->ranks || peers[i] == found->rank) {
        return InvalidValue(parameter.c_str(), std::to_string(peers[i]),
                            found->ranks == 1
                                ? std::string("a communicator of one rank has no peers")
                                : Format("it must be another rank than %u, below %u", found->rank, found->ranks));
      }
      if (std::find(peers.begin(), peers.begin() + static_cast<ptrdiff_t>(i), peers[i]) !=
          peers.begin() + static_cast<ptrdiff_t>(i)) {
        return InvalidValue(parameter.c_str(), std::to_string(peers[i]), "it is in the list already");
      }
    }
    return comm::ExchangeMemory(found, {kApi, caller}, windowHandle, bytes, peers);
  });
}

extern "C" HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size, HcclCommSymWindow* winHandle,
                                             uint32_t flag) {
  static constexpr char kApi[] = "HcclCommSymWinRegister";
  return GuardCommOperation(kApi, comm, [&](const CommunicatorPtr& found, const void* caller) -> Outcome {
    MP_NOT_NULL(addr);
    MP_NOT_NULL(winHandle);
    MP_RETURN_IF_ERROR(CheckSeries());
    if (flag != HCCL_WIN_COLL_SYMMETRIC) {
      return InvalidValue("flag", std::to_string(flag), "it must be HCCL_WIN_COLL_SYMMETRIC (1)");
    }
    const uint64_t most = found->settings.window_gib * kGiB;
    if (size == 0 || size > most) {
      return InvalidValue(
          "size", std::to_string(size),
          Format("a window has 1 to %llu bytes (hcclSymWinMaxMemSizePerRank)", static_cast<unsigned long long>(most)));
    }
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckRange("addr", addr, size, &info));
    if (info.kind != PointerKind::kMapped) {
      return InvalidValue("addr", Format("%p", addr),
                          "it is not memory of aclrtMallocPhysical that aclrtMapMem has mapped, nor of HcommMemAlloc");
    }
    const void* handle = nullptr;
    MP_RETURN_IF_ERROR(comm::RegisterWindow(found, {kApi, caller}, addr, size, &handle));
    *winHandle = const_cast<void*>(handle);
    return Ok();
  });
}

extern "C" HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle) {
  return Guard("HcclCommSymWinDeregister", [&]() -> Outcome {
    CommunicatorPtr found;
    std::shared_ptr<comm::Window> window;
    MP_RETURN_IF_ERROR(FindWindow(winHandle, &found, &window));
    if (found->windows.Remove(winHandle) != nullptr) comm::EndWindow(found.get(), *window);
    return Ok();
  });
}

extern "C" HcclResult HcclCommSymWinGet(HcclComm comm, void* ptr, size_t size, HcclCommSymWindow* winHandle,
                                        size_t* offset) {
  return GuardComm("HcclCommSymWinGet", comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_NOT_NULL(ptr);
    MP_NOT_NULL(winHandle);
    MP_NOT_NULL(offset);
    if (size == 0) return InvalidValue("size", "0", "at least one byte");
    const std::shared_ptr<comm::Window> window = found->windows.Containing(ptr, size);
    if (window == nullptr) {
      return InvalidValue("ptr", Format("%p", ptr),
                          Format("its %zu bytes lie in no symmetric window of '%s'", size, found->name.c_str()));
    }
    *winHandle = window.get();
    *offset = static_cast<size_t>(static_cast<char*>(ptr) - window->address);
    return Ok();
  });
}

extern "C" HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank,
                                               void** ptr) {
  return Guard("HcclSymWinGetPeerPointer", [&]() -> Outcome {
    MP_NOT_NULL(ptr);
    CommunicatorPtr found;
    std::shared_ptr<comm::Window> window;
    MP_RETURN_IF_ERROR(FindWindow(winHandle, &found, &window));
    if (peerRank >= window->parts.size()) {
      return InvalidValue("peerRank", std::to_string(peerRank),
                          Format("ranks go from 0 to %zu", window->parts.size() - 1));
    }
    if (offset >= window->bytes) {
      return InvalidValue("offset", std::to_string(offset), Format("the window has %zu bytes", window->bytes));
    }
    *ptr = window->parts[peerRank] + offset;
    return Ok();
  });
}

extern "C" HcommResult HcommMemAlloc(void** ptr, size_t size) {
  return Guard("HcommMemAlloc", [&]() -> Outcome {
    MP_NOT_NULL(ptr);
    if (size == 0) return InvalidValue("size", "0", "at least one byte");
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    const size_t bytes = (size + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    void* handle = nullptr;
    MP_RETURN_IF_ERROR(MakeMapped(device, bytes, ptr, &handle));
    MutexLock lock(TheMade().mutex);
    TheMade().handles[*ptr] = handle;
    return Ok();
  });
}

extern "C" HcommResult HcommMemFree(void* ptr) {
  return Guard("HcommMemFree", [&]() -> Outcome {
    MP_NOT_NULL(ptr);
    void* handle = nullptr;
    {
      MutexLock lock(TheMade().mutex);
      const auto found = TheMade().handles.find(ptr);
      if (found == TheMade().handles.end()) {
        return InvalidValue("ptr", Format("%p", ptr), "HcommMemAlloc did not give it, or it is freed");
      }
      handle = found->second;
      TheMade().handles.erase(found);
    }
    MP_RETURN_IF_ERROR(Vmm::Get().Unmap(ptr));
    MP_RETURN_IF_ERROR(Vmm::Get().Release(ptr));
    return FreePhysicalHandle(handle);
  });
}

// SPDX-License-Identifier: Apache-2.0
#include "src/device/share/ipc.h"

#include <map>
#include <set>
#include <string>

#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/vmm.h"
#include "src/device/runtime.h"

namespace millpond {
namespace {

struct Import {
  void* address = nullptr;
  uint32_t count = 0;
};

struct Ipc {
  Mutex mutex;  // guards the two below
  std::set<std::string> exports GUARDED_BY(mutex);
  std::map<std::string, Import> imports GUARDED_BY(mutex);
};

Ipc& TheIpc() {
  static auto& ipc = *new Ipc;  // leaked: closes from static destructors must find it
  return ipc;
}

const char* KindName(PointerKind kind) {
  switch (kind) {
    case PointerKind::kPageable:
      return "ordinary host memory";
    case PointerKind::kDevice:
      return "device memory";
    case PointerKind::kMapped:
      return "virtual memory; share its physical handle (aclrtMemExportToShareableHandle)";
    case PointerKind::kReserved:
      return "reserved and not mapped";
    case PointerKind::kUnallocated:
      return "not allocated";
    case PointerKind::kPinned:
    case PointerKind::kRegistered:
    case PointerKind::kManaged:
      return "host memory";
  }
  return "unknown";
}

}  // namespace

Status ExportMemory(void* address, size_t bytes, bool any_pid, char key[kShareKeyBytes]) {
  PointerInfo info = LookUp(address);
  MP_CHECK(info.kind == PointerKind::kDevice, kRuntimeArgument,
           "%p is %s; only device memory from aclrtMalloc can be exported by key", address, KindName(info.kind));
  const size_t room = reinterpret_cast<uintptr_t>(info.base) + info.bytes - reinterpret_cast<uintptr_t>(address);
  MP_CHECK(bytes <= room, kRuntimeArgument, "%zu bytes at %p run %zu past the end of the block at %p (%zu bytes)",
           bytes, address, bytes - room, info.base, info.bytes);
  Runtime* runtime = Runtime::Existing();
  MP_CHECK(runtime != nullptr, kInternal, "there is no device");
  DeviceMemory& memory = runtime->device(info.device)->memory();
  SharedFd file;
  MP_RETURN_IF_ERROR(memory.OwnFileOf(info.base, info.block, &file));
  ShareOffer offer;
  offer.kind = ShareKind::kMemory;
  offer.file = file;  // goes when the block is freed, and the key with it
  offer.offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(info.base);
  offer.bytes = bytes;
  offer.any_pid = any_pid;
  Ipc& ipc = TheIpc();
  MutexLock lock(ipc.mutex);
  ShareName name;
  MP_RETURN_IF_ERROR(Broker::Get().Publish(offer, /*short_name=*/false, &name));
  name.Print(key);
  ipc.exports.emplace(key);
  return Ok();
}

Status AllowMemoryImport(const char* key, std::span<const int32_t> pids) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key, ShareKind::kMemory, &name));
  return Broker::Get().Allow(name, pids);
}

Status CheckMemoryExported(const char* key) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key, ShareKind::kMemory, &name));
  Ipc& ipc = TheIpc();
  MutexLock lock(ipc.mutex);
  MP_CHECK(ipc.exports.contains(key), kRuntimeArgument, "this process does not export key %.16s...", key);
  return Ok();
}

Status ImportMemory(const char* key, int32_t device, void** out_address) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key, ShareKind::kMemory, &name));
  Ipc& ipc = TheIpc();
  const auto again = [&]() REQUIRES(ipc.mutex) {
    const auto found = ipc.imports.find(key);
    if (found == ipc.imports.end()) return false;
    ++found->second.count;
    *out_address = found->second.address;
    return true;
  };
  {
    MutexLock lock(ipc.mutex);
    if (again()) return Ok();
  }
  ShareGrant grant;  // without the lock: an exporter may take its time, and other keys are no business of its
  MP_RETURN_IF_ERROR(FetchShare(name, &grant));
  MutexLock lock(ipc.mutex);
  if (again()) return Ok();
  const auto place = ipc.imports.try_emplace(key).first;
  Status status = Vmm::Get().MapForeign(device, grant.file.get(), grant.offset, grant.bytes, &place->second.address);
  if (!status.ok()) {
    ipc.imports.erase(place);
    return status;
  }
  place->second.count = 1;
  *out_address = place->second.address;
  return Ok();
}

Status CloseMemory(const char* key) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key, ShareKind::kMemory, &name));
  Ipc& ipc = TheIpc();
  MutexLock lock(ipc.mutex);
  if (const auto found = ipc.imports.find(key); found != ipc.imports.end()) {
    if (found->second.count > 1) {
      --found->second.count;
      return Ok();
    }
    MP_RETURN_IF_ERROR(Vmm::Get().UnmapForeign(found->second.address));
    ipc.imports.erase(found);
    return Ok();
  }
  const auto exported = ipc.exports.find(key);
  MP_CHECK(exported != ipc.exports.end(), kRuntimeArgument,
           "this process neither exports nor imports key %.16s..., or has closed it already", key);
  MP_RETURN_IF_ERROR(Broker::Get().Withdraw(name));
  ipc.exports.erase(exported);
  return Ok();
}

}  // namespace millpond

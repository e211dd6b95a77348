// SPDX-License-Identifier: Apache-2.0
#include "src/device/ipc.h"

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/device/runtime.h"
#include "src/device/vmm.h"

namespace millpond {
namespace {

struct Import {
  void* address = nullptr;
  uint32_t count = 0;
};

struct Ipc {
  std::mutex mutex;  // guards the two below
  std::set<std::string> exports;
  std::map<std::string, Import> imports;
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
  ShareOffer offer;
  offer.kind = ShareKind::kMemory;
  offer.file = memory.file();
  offer.offset = memory.FileOffsetOf(address);
  offer.bytes = bytes;
  offer.any_pid = any_pid;
  offer.valid = [address, block = info.block] {
    const PointerInfo now = LookUp(address);
    return now.kind == PointerKind::kDevice && now.block == block;
  };
  Ipc& ipc = TheIpc();
  std::lock_guard lock(ipc.mutex);
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
  std::lock_guard lock(ipc.mutex);
  MP_CHECK(ipc.exports.contains(key), kRuntimeArgument, "this process does not export key %.16s...", key);
  return Ok();
}

Status ImportMemory(const char* key, int32_t device, void** out_address) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key, ShareKind::kMemory, &name));
  Ipc& ipc = TheIpc();
  std::lock_guard lock(ipc.mutex);
  if (const auto found = ipc.imports.find(key); found != ipc.imports.end()) {
    ++found->second.count;
    *out_address = found->second.address;
    return Ok();
  }
  ShareGrant grant;
  MP_RETURN_IF_ERROR(FetchShare(name, &grant));
  struct stat file {};
  MP_CHECK(fstat(grant.file.get(), &file) == 0 && static_cast<uint64_t>(file.st_size) >= grant.bytes &&
               grant.offset <= static_cast<uint64_t>(file.st_size) - grant.bytes,
           kIpc, "the exporting process offers [%llu, +%llu) of a file of %lld bytes; export again",
           static_cast<unsigned long long>(grant.offset), static_cast<unsigned long long>(grant.bytes),
           static_cast<long long>(file.st_size));
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
  std::lock_guard lock(ipc.mutex);
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

// SPDX-License-Identifier: Apache-2.0
#include "src/device/share/ipc.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/vmm.h"
#include "src/device/runtime.h"
#include "src/trace/emit.h"

namespace millpond {
namespace {

struct Import {
  void* address = nullptr;
  uint32_t count = 0;
  UniqueFd lease;  // empty unless the exporter wants to know how long
};

// Who has imported a key, as far as a checked exporter wants to know. The other end of a connection is closed by the
// importer's aclrtIpcMemClose, or by its death: the kernel knows at once, whoever looks.
class Importers {
 public:
  void Add(int socket) {
    UniqueFd mine(fcntl(socket, F_DUPFD_CLOEXEC, 0));
    MutexLock lock(mutex_);
    if (mine) sockets_.push_back(std::move(mine));
  }
  size_t Count() {
    MutexLock lock(mutex_);
    std::erase_if(sockets_, [](const UniqueFd& socket) {
      char byte = 0;
      const ssize_t got = recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      return got >= 0 || errno != EAGAIN;
    });
    return sockets_.size();
  }

 private:
  Mutex mutex_;
  std::vector<UniqueFd> sockets_ GUARDED_BY(mutex_);
};

struct Ipc {
  Mutex mutex;                                                                  // guards the two below
  std::map<std::string, std::shared_ptr<Importers>> exports GUARDED_BY(mutex);  // null: nobody asks
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

Status ExportMemory(void* address, size_t bytes, bool any_pid, char key[kShareKeyBytes], Exporter exporter) {
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
  std::shared_ptr<Importers> importers;
  if (exporter == Exporter::kClient && trace::Wants(trace::kMisuses)) {
    importers = std::make_shared<Importers>();
    offer.lease = importers;
    offer.leased = [importers](int socket) { importers->Add(socket); };
  }
  Ipc& ipc = TheIpc();
  MutexLock lock(ipc.mutex);
  ShareName name;
  MP_RETURN_IF_ERROR(Broker::Get().Publish(offer, /*short_name=*/false, &name));
  name.Print(key);
  ipc.exports.emplace(key, std::move(importers));
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
  place->second.lease = std::move(grant.lease);
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
  if (const size_t held = exported->second != nullptr ? exported->second->Count() : 0; held != 0) {
    trace::TellMisuse("MP704", "aclrtIpcMemClose", nullptr, [&] {
      return Format("aclrtIpcMemClose ends the export of key %.16s... while %zu import%s of it %s open", key, held,
                    held == 1 ? "" : "s", held == 1 ? "is" : "are");
    });
  }
  MP_RETURN_IF_ERROR(Broker::Get().Withdraw(name));
  ipc.exports.erase(exported);
  return Ok();
}

}  // namespace millpond

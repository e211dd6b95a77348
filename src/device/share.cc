// SPDX-License-Identifier: Apache-2.0
#include "src/device/share.h"

#include <sys/stat.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "src/device/vmm.h"

namespace millpond {
namespace {

// What travels beside the file.
struct Payload {
  int32_t side;
  int32_t id;
  uint64_t granule;
  int32_t attribute;
  int32_t zero;
  uint64_t reserve;
};
static_assert(sizeof(Payload) <= kSharePayloadBytes);

using NameKey = std::tuple<uint32_t, uint64_t, uint64_t>;

struct Shares {
  std::mutex mutex;  // guards the maps, and keeps a handle from dying between its look-up and its export
  std::map<void*, ShareName> exported;
  std::map<void*, NameKey> imported;
  std::map<NameKey, void*> by_name;
};

Shares& TheShares() {
  static auto& shares = *new Shares;  // leaked: frees from static destructors must find it
  return shares;
}

}  // namespace

Status ExportPhysical(void* handle, bool any_pid, bool short_name, ShareName* out_name) {
  Shares& shares = TheShares();
  std::lock_guard lock(shares.mutex);
  std::shared_ptr<Physical> physical;
  MP_RETURN_IF_ERROR(Vmm::Get().FindPhysical(handle, &physical));
  MP_CHECK(!physical->imported(), kRuntimeArgument,
           "handle %p was itself imported; only the process that made the memory (aclrtMallocPhysical) can export it",
           handle);
  MP_CHECK(!shares.exported.contains(handle), kRuntimeArgument,
           "handle %p has been exported already; a handle has one shareable handle, use that", handle);
  Payload payload{};
  payload.side = static_cast<int32_t>(physical->spec().side);
  payload.id = physical->spec().id;
  payload.granule = physical->spec().granule;
  payload.attribute = physical->spec().attribute;
  payload.reserve = physical->spec().reserve;
  ShareOffer offer;
  offer.kind = ShareKind::kPhysical;
  offer.file = physical->file();
  offer.offset = physical->offset();
  offer.bytes = physical->bytes();
  offer.any_pid = any_pid;
  memcpy(offer.payload, &payload, sizeof(payload));
  offer.lease = physical;
  const auto place = shares.exported.try_emplace(handle).first;
  if (Status status = Broker::Get().Publish(offer, short_name, &place->second); !status.ok()) {
    shares.exported.erase(place);
    return status;
  }
  *out_name = place->second;
  return Ok();
}

Status ImportPhysical(const ShareName& name, int32_t device, void** out_handle) {
  const NameKey key{name.broker, name.high, name.low};
  Shares& shares = TheShares();
  std::lock_guard lock(shares.mutex);
  MP_CHECK(!shares.by_name.contains(key), kRuntimeArgument,
           "this process has imported this memory already, as handle %p; a shareable handle has one handle per process",
           shares.by_name[key]);
  ShareGrant grant;
  MP_RETURN_IF_ERROR(FetchShare(name, &grant));
  Payload payload;
  memcpy(&payload, grant.payload, sizeof(payload));
  PhysicalSpec spec;
  spec.side = static_cast<MemorySide>(payload.side);
  spec.id = spec.side == MemorySide::kDevice ? device : payload.id;
  spec.granule = payload.granule;
  spec.attribute = payload.attribute;
  spec.reserve = payload.reserve;
  // The other process is only trusted as far as its file reaches: beyond its end every access would be a SIGBUS.
  struct stat file {};
  MP_CHECK(fstat(grant.file.get(), &file) == 0 && static_cast<uint64_t>(file.st_size) >= grant.bytes &&
               grant.offset <= static_cast<uint64_t>(file.st_size) - grant.bytes,
           kIpc, "the exporting process offers [%llu, +%llu) of a file of %lld bytes; export again",
           static_cast<unsigned long long>(grant.offset), static_cast<unsigned long long>(grant.bytes),
           static_cast<long long>(file.st_size));
  std::shared_ptr<Physical> physical =
      Physical::Adopt(spec, grant.bytes, std::move(grant.file), grant.offset, std::move(grant.lease));
  void* handle = nullptr;
  MP_RETURN_IF_ERROR(Vmm::Get().AddPhysical(std::move(physical), &handle));
  shares.by_name.emplace(key, handle);
  shares.imported.emplace(handle, key);
  *out_handle = handle;
  return Ok();
}

Status FreePhysicalHandle(void* handle) {
  std::shared_ptr<Physical> last;  // dropped after the lock: giving memory back to the host takes its time
  Shares& shares = TheShares();
  std::lock_guard lock(shares.mutex);
  MP_RETURN_IF_ERROR(Vmm::Get().FreePhysical(handle, &last));
  if (last == nullptr) return Ok();
  if (const auto found = shares.exported.find(handle); found != shares.exported.end()) {
    // It is there: only this function withdraws, and only once.
    Broker::Get().Withdraw(found->second).Ignore();
    shares.exported.erase(found);
  }
  if (const auto found = shares.imported.find(handle); found != shares.imported.end()) {
    shares.by_name.erase(found->second);
    shares.imported.erase(found);
  }
  return Ok();
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
#include "src/device/share/physical_share.h"

#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "src/base/mutex.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/vmm.h"

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

using NameKey = std::tuple<int32_t, uint32_t, uint32_t, uint64_t>;

struct Shares {
  Mutex mutex;  // guards the maps, and keeps a handle from dying between its look-up and its export
  std::map<void*, ShareName> exported GUARDED_BY(mutex);
  std::map<void*, NameKey> imported GUARDED_BY(mutex);
  std::map<NameKey, void*> by_name GUARDED_BY(mutex);
};

Shares& TheShares() {
  static auto& shares = *new Shares;  // leaked: frees from static destructors must find it
  return shares;
}

// The other process is trusted with the contents, not with our bookkeeping.
Status AdoptGrant(ShareGrant grant, int32_t device, void** out_handle) {
  Payload payload;
  memcpy(&payload, grant.payload, sizeof(payload));
  const bool known = payload.side >= static_cast<int32_t>(MemorySide::kHost) &&
                     payload.side <= static_cast<int32_t>(MemorySide::kHostNuma);
  MP_CHECK(known && payload.granule != 0 && payload.granule % kHugePageBytes == 0 &&
               grant.bytes % payload.granule == 0 && grant.offset == 0,
           kIpc,
           "the exporting process offers %llu bytes at %llu of kind %d in units of %llu; this is not physical memory "
           "of ours",
           static_cast<unsigned long long>(grant.bytes), static_cast<unsigned long long>(grant.offset), payload.side,
           static_cast<unsigned long long>(payload.granule));
  PhysicalSpec spec;
  spec.side = static_cast<MemorySide>(payload.side);
  spec.id = spec.side == MemorySide::kDevice ? device : payload.id;
  spec.granule = payload.granule;
  spec.attribute = payload.attribute;
  spec.reserve = payload.reserve;
  auto file = std::make_shared<const UniqueFd>(std::move(grant.file));
  return Vmm::Get().AddPhysical(Physical::Adopt(spec, grant.bytes, std::move(file), std::move(grant.lease)),
                                out_handle);
}

}  // namespace

Status ExportPhysical(void* handle, bool any_pid, bool short_name, ShareName* out_name) {
  Shares& shares = TheShares();
  MutexLock lock(shares.mutex);
  std::shared_ptr<Physical> physical;
  MP_RETURN_IF_ERROR(Vmm::Get().FindPhysical(handle, &physical));
  MP_CHECK(!physical->imported(), kRuntimeArgument,
           "handle %p was itself imported; only the process that made the memory (aclrtMallocPhysical) can export it",
           handle);
  MP_CHECK(!shares.exported.contains(handle), kRuntimeArgument,
           "handle %p has been exported already; a handle has one shareable handle, use that", handle);
  MP_RETURN_IF_ERROR(Vmm::Get().MoveToOwnFile(handle));
  Payload payload{};
  payload.side = static_cast<int32_t>(physical->spec().side);
  payload.id = physical->spec().id;
  payload.granule = physical->spec().granule;
  payload.attribute = physical->spec().attribute;
  payload.reserve = physical->spec().reserve;
  ShareOffer offer;
  offer.kind = ShareKind::kPhysical;
  offer.file = physical->own_file();
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
  const NameKey key{name.pid, name.broker, name.high, name.low};
  Shares& shares = TheShares();
  {
    MutexLock lock(shares.mutex);
    const auto [place, first] = shares.by_name.try_emplace(key, nullptr);
    MP_CHECK(first, kRuntimeArgument,
             "this process has imported this memory already, as handle %p (null: another thread is about to); a "
             "shareable handle has one handle per process",
             place->second);
  }
  // Without the lock: an exporter may take its time, and other handles are no business of its.
  ShareGrant grant;
  void* handle = nullptr;
  Status status = FetchShare(name, &grant);
  if (status.ok()) status = AdoptGrant(std::move(grant), device, &handle);
  MutexLock lock(shares.mutex);
  if (!status.ok()) {
    shares.by_name.erase(key);
    return status;
  }
  shares.by_name[key] = handle;
  shares.imported.emplace(handle, key);
  *out_handle = handle;
  return Ok();
}

Status FreePhysicalHandle(void* handle) {
  std::shared_ptr<Physical> last;  // dropped after the lock: giving memory back to the host takes its time
  Shares& shares = TheShares();
  MutexLock lock(shares.mutex);
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

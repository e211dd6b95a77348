// SPDX-License-Identifier: Apache-2.0
#include "src/comm/remote_memory.h"

#include <unistd.h>

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/format.h"
#include "src/comm/communicator.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/vmm.h"
#include "src/device/share/ipc.h"
#include "src/device/share/physical_share.h"

namespace millpond::comm {

namespace {

uint64_t NumberOf(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// Other processes of this host that have ranks of the communicator.
std::vector<int32_t> OthersOf(const Communicator& comm) {
  std::vector<int32_t> pids;
  if (comm.world == nullptr) return pids;
  for (uint32_t rank = 0; rank < comm.ranks; ++rank) {
    const RankCell& cell = comm.world->cell(rank);
    if (cell.host.load() == 0 && cell.pid != getpid()) pids.push_back(cell.pid);
  }
  return pids;
}

// What ranks of this process have offered. A note comes through memory that other processes write, so an address in it
// is believed only if a rank of this process has said the same here.
struct Offers {
  Mutex mutex;
  std::multiset<std::tuple<uint64_t, uint32_t, uint64_t, uint64_t>> known GUARDED_BY(mutex);
};
Offers& TheOffers() {
  static auto& offers = *new Offers;  // leaked: process groups end in static destructors
  return offers;
}
auto KeyOf(const MemoryNote& note) { return std::tuple(note.world, note.rank, note.address, note.bytes); }

void Remember(const MemoryNote& note) {
  MutexLock lock(TheOffers().mutex);
  TheOffers().known.insert(KeyOf(note));
}
void Forget(const MemoryNote& note) {
  MutexLock lock(TheOffers().mutex);
  const auto found = TheOffers().known.find(KeyOf(note));
  if (found != TheOffers().known.end()) TheOffers().known.erase(found);
}
bool IsOfThisProcess(const MemoryNote& note) {
  MutexLock lock(TheOffers().mutex);
  return TheOffers().known.contains(KeyOf(note));
}

// A handle that was taken to look at a mapping.
class Held {
 public:
  ~Held() {
    if (handle != nullptr) FreePhysicalHandle(handle).Ignore();  // the mapping holds the memory
  }
  void* handle = nullptr;
};

Status OfferMapped(void* address, size_t bytes, size_t offset, const std::vector<int32_t>& others, char* out_key) {
  Held held;
  MP_RETURN_IF_ERROR(Vmm::Get().Retain(address, &held.handle));
  MP_RETURN_IF_ERROR(Vmm::Get().MoveToOwnFile(held.handle));
  std::shared_ptr<Physical> physical;
  MP_RETURN_IF_ERROR(Vmm::Get().FindPhysical(held.handle, &physical));
  ShareOffer offer;
  offer.kind = ShareKind::kMemory;
  offer.file = physical->own_file();
  offer.offset = offset;
  offer.bytes = bytes;
  ShareName name;
  MP_RETURN_IF_ERROR(Broker::Get().Publish(offer, /*short_name=*/false, &name));
  Status allowed = Broker::Get().Allow(name, others);
  if (!allowed.ok()) Broker::Get().Withdraw(name).Ignore();  // it was published a moment ago
  name.Print(out_key);
  return allowed;
}

}  // namespace

Status OfferMemory(const Communicator& comm, void* address, size_t bytes, MemoryNote* out_note) {
  const PointerInfo info = LookUp(address);
  const std::vector<int32_t> others = OthersOf(comm);
  MemoryNote note;
  note.address = NumberOf(address);
  note.bytes = bytes;
  note.world = comm.world != nullptr ? comm.world->header().id : 0;
  note.rank = comm.rank;
  if (others.empty() || !info.on_device()) {
    Remember(note);
    *out_note = note;
    return Ok();
  }
  const size_t offset = NumberOf(address) - NumberOf(info.base);
  MP_REQUIRE(offset <= info.bytes && bytes <= info.bytes - offset,
             "%zu bytes at %p do not lie in one block or mapping: it has %zu bytes at %p", bytes, address, info.bytes,
             info.base);
  if (info.kind == PointerKind::kDevice) {
    MP_RETURN_IF_ERROR(ExportMemory(address, bytes, /*any_pid=*/false, note.key, Exporter::kMillpond));
    Status allowed = AllowMemoryImport(note.key, others);
    if (!allowed.ok()) CloseMemory(note.key).Ignore();  // the export was made a moment ago
    MP_RETURN_IF_ERROR(std::move(allowed));
    Remember(note);
    *out_note = note;
    return Ok();
  }
  note.physical = 1;
  MP_RETURN_IF_ERROR(OfferMapped(address, bytes, offset, others, note.key));
  Remember(note);
  *out_note = note;
  return Ok();
}

void EndOffer(const MemoryNote& note) {
  Forget(note);
  if (note.key[0] == '\0') return;
  if (note.physical == 0) {
    CloseMemory(note.key).Ignore();  // gone already when the block is
    return;
  }
  ShareName name;
  if (ShareName::Parse(note.key, ShareKind::kMemory, &name).ok()) Broker::Get().Withdraw(name).Ignore();
}

RemoteMemory::~RemoteMemory() {
  MutexLock lock(mutex_);
  for (const auto& [key, entry] : entries_) Unmap(entry);
}

Status RemoteMemory::Map(const Communicator& comm, Entry* entry) {
  const MemoryNote& note = entry->note;
  MP_CHECK(note.key[0] != '\0', kUnsupported,
           "it is host memory, which other processes do not reach; use device memory");
  const std::string key = TextOf(note.key, sizeof(note.key));
  void* base = nullptr;
  MP_RETURN_IF_ERROR(ImportMemory(key.c_str(), comm.device, &base));
  entry->here = static_cast<char*>(base);
  entry->mapped = true;
  return Ok();
}

void RemoteMemory::Unmap(const Entry& entry) {
  if (entry.mapped) CloseMemory(TextOf(entry.note.key, sizeof(entry.note.key)).c_str()).Ignore();  // or a reset did it
}

Status RemoteMemory::Add(const Communicator& comm, uint32_t rank, const MemoryNote& note, void** out_here) {
  MutexLock lock(mutex_);
  const auto [place, first] = entries_.try_emplace({rank, note.address});
  Entry& entry = place->second;
  if (!first) {
    ++entry.times;
    *out_here = entry.here;
    return Ok();
  }
  entry.note = note;
  Status status;
  if (comm.world != nullptr && comm.world->cell(rank).host.load() != 0) {
    status = Status(Code::kUnsupported,
                    "it is on another host, whose memory is reached by collectives and messages "
                    "alone");
  } else if (note.rank == rank && note.world == (comm.world != nullptr ? comm.world->header().id : 0) &&
             IsOfThisProcess(note)) {
    entry.here = reinterpret_cast<char*>(note.address);  // NOLINT: a rank of this process offered it
  } else {
    status = Map(comm, &entry);
  }
  if (!status.ok()) {
    entries_.erase(place);
    return std::move(status).Prefixed(Format("%llu bytes at 0x%llx of rank %u",
                                             static_cast<unsigned long long>(note.bytes),
                                             static_cast<unsigned long long>(note.address), rank));
  }
  *out_here = entry.here;
  return Ok();
}

bool RemoteMemory::Remove(uint32_t rank, uint64_t address) {
  MutexLock lock(mutex_);
  const auto found = entries_.find({rank, address});
  if (found == entries_.end()) return false;
  if (--found->second.times > 0) return true;
  Unmap(found->second);
  entries_.erase(found);
  return true;
}

char* RemoteMemory::Find(uint32_t rank, uint64_t address, size_t bytes) const {
  MutexLock lock(mutex_);
  auto next = entries_.upper_bound({rank, address});
  while (next != entries_.begin()) {
    --next;
    const auto& [key, entry] = *next;
    if (key.first != rank) return nullptr;
    const uint64_t offset = address - key.second;
    if (offset <= entry.note.bytes && bytes <= entry.note.bytes - offset) return entry.here + offset;
  }
  return nullptr;
}

std::string RemoteMemory::Name(uint32_t rank) const {
  MutexLock lock(mutex_);
  std::string text;
  for (const auto& [key, entry] : entries_) {
    if (key.first != rank) continue;
    text += Format("%s0x%llx (%llu bytes)", text.empty() ? "" : ", ", static_cast<unsigned long long>(key.second),
                   static_cast<unsigned long long>(entry.note.bytes));
  }
  return text.empty() ? "none" : text;
}

}  // namespace millpond::comm

// SPDX-License-Identifier: Apache-2.0
#include "src/comm/direct_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/base/format.h"
#include "src/base/options.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/own_file.h"
#include "src/device/memory/vmm.h"
#include "src/device/runtime.h"

namespace millpond::comm {

namespace {

constexpr size_t kMaxUsage = 256;
constexpr uint32_t kWorthFrom = 2;  // uses

std::shared_ptr<Neighbours> NeighboursOf(uint64_t world) {
  struct Known {
    Mutex mutex;
    std::map<uint64_t, std::weak_ptr<Neighbours>> by_world GUARDED_BY(mutex);
  };
  static auto& known = *new Known;  // leaked: process groups end in static destructors
  MutexLock lock(known.mutex);
  std::erase_if(known.by_world, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<Neighbours> found = known.by_world[world].lock();
  if (found == nullptr) known.by_world[world] = found = std::make_shared<Neighbours>();
  return found;
}

}  // namespace

DirectMemory::DirectMemory(std::shared_ptr<World> world, uint32_t rank)
    : world_(std::move(world)),
      rank_(rank),
      enabled_(GetOptions().rank_direct != "0"),
      neighbours_(NeighboursOf(world_->header().id)),
      followed_(world_->ranks(), 0) {
  for (uint32_t i = 0; i < world_->ranks(); ++i) {
    if (world_->cell(i).host.load(std::memory_order_relaxed) != 0) continue;
    const int32_t pid = world_->cell(i).pid;
    if (pid == getpid() || std::find(others_.begin(), others_.end(), pid) != others_.end()) continue;
    others_.push_back(pid);
  }
  all_neighbours_ = others_.empty();
}

DirectMemory::~DirectMemory() {
  for (uint32_t slot = 0; slot < kExports; ++slot) End(slot);
  for (const auto& [key, import] : imports_) Unmap(import);
}

void DirectMemory::WithdrawForGood() {
  constexpr auto kPause = std::chrono::microseconds(50);
  neighbours_->withdrawn.store(true);
  while (neighbours_->touching.load() != 0) std::this_thread::sleep_for(kPause);  // a copy is never long
}

// Moving a block copies all of it, and a program may use a corner of a large one, once.
bool DirectMemory::Worth(const BlockKey& block, size_t block_bytes, size_t bytes) {
  if (all_neighbours_) return true;
  if (usage_.size() >= kMaxUsage) usage_.clear();
  Usage& usage = usage_[block];
  usage.bytes += bytes;
  return ++usage.times >= kWorthFrom && usage.bytes >= block_bytes;
}

Status DirectMemory::Share(const void* base, uint64_t number, int32_t device, size_t bytes, Export* made) {
  Runtime* const runtime = Runtime::Existing();
  MP_CHECK(runtime != nullptr, kInternal, "there is no device");
  SharedFd file;
  MP_RETURN_IF_ERROR(runtime->device(device)->memory().OwnFileOf(base, number, &file));
  ShareOffer offer;
  offer.kind = ShareKind::kMemory;
  offer.file = file;
  offer.bytes = bytes;
  MP_RETURN_IF_ERROR(Broker::Get().Publish(offer, /*short_name=*/false, &made->name));
  made->shared = true;
  made->file = file;
  return Broker::Get().Allow(made->name, others_);
}

void DirectMemory::End(uint32_t slot) {
  Export& ended = exports_[slot];
  if (ended.serial == 0) return;
  world_->cell(rank_).exports[slot].serial.store(0, std::memory_order_release);
  if (ended.shared) Broker::Get().Withdraw(ended.name).Ignore();  // gone already when the block is
  {
    MutexLock lock(neighbours_->mutex);
    neighbours_->blocks.erase({rank_, ended.serial});
  }
  ended = Export();
  ++changes_;
}

bool DirectMemory::Offer(const void* address, size_t bytes, BlockPlace* out_place) {
  const PointerInfo info = LookUp(address);
  if (info.kind != PointerKind::kDevice) return false;
  const auto offset = static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.base));
  if (bytes > info.bytes || offset > info.bytes - bytes) return false;
  const BlockKey block(info.base, info.block);
  uint32_t slot = 0;
  for (uint32_t i = 0; i < kExports; ++i) {
    if (exports_[i].serial != 0 && exports_[i].block == block) {
      exports_[i].used = ++uses_;
      *out_place = {exports_[i].serial, offset, i};
      return true;
    }
    if (exports_[i].used < exports_[slot].used) slot = i;
  }
  if (!Worth(block, info.bytes, bytes)) return false;
  End(slot);
  Export made;
  if (!all_neighbours_ && !Share(info.base, info.block, info.device, info.bytes, &made).ok()) {
    if (made.shared) Broker::Get().Withdraw(made.name).Ignore();
    return false;
  }
  made.block = block;
  made.serial = ++serials_;
  made.used = ++uses_;
  {
    MutexLock lock(neighbours_->mutex);
    neighbours_->blocks[{rank_, made.serial}] = {const_cast<char*>(Reachable(static_cast<const char*>(info.base))),
                                                 info.bytes};
  }
  ExportNote& note = world_->cell(rank_).exports[slot];
  note.bytes = info.bytes;
  if (made.shared) {
    char key[kShareKeyBytes];
    made.name.Print(key);
    SetText(note.key, sizeof(note.key), key);
  }
  note.serial.store(made.serial, std::memory_order_release);
  exports_[slot] = std::move(made);
  *out_place = {exports_[slot].serial, offset, slot};
  return true;
}

uint32_t DirectMemory::Sweep() {
  for (uint32_t slot = 0; slot < kExports; ++slot) {
    if (exports_[slot].shared && exports_[slot].file.expired()) End(slot);
  }
  return changes_;
}

void DirectMemory::Unmap(const Import& import) {
  if (!import.mapped) return;
  munmap(import.base, import.bytes);
  Vmm::Get().GiveKernelMappings(1);
}

void DirectMemory::Follow(uint32_t rank, uint32_t changed) {
  if (followed_[rank] == changed) return;
  followed_[rank] = changed;
  const RankCell& cell = world_->cell(rank);
  std::erase_if(imports_, [&](const auto& entry) {
    if (entry.first.first != rank) return false;
    const auto offered = [&](const ExportNote& note) {
      return note.serial.load(std::memory_order_acquire) == entry.first.second;
    };
    if (std::any_of(std::begin(cell.exports), std::end(cell.exports), offered)) return false;
    Unmap(entry.second);
    return true;
  });
}

// What the other process says is believed as far as its file goes, whose size is sealed.
Status DirectMemory::Map(uint32_t rank, const ExportNote& note, Import* out_import) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(TextOf(note.key, sizeof(note.key)).c_str(), ShareKind::kMemory, &name));
  ShareGrant grant;
  MP_RETURN_IF_ERROR(FetchShare(name, &grant));
  const std::string whose = Format("rank %u", rank);
  MP_RETURN_IF_ERROR(CheckOwnFile(grant.file.get(), grant.offset, grant.bytes, whose.c_str()));
  MP_CHECK(grant.offset == 0 && grant.bytes > 0, kIpc, "%s offers a part of a file", whose.c_str());
  MP_RETURN_IF_ERROR(Vmm::Get().TakeKernelMappings(1));
  void* const base = mmap(nullptr, grant.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, grant.file.get(), 0);
  if (base == MAP_FAILED) {
    Vmm::Get().GiveKernelMappings(1);
    return {Code::kHostOutOfMemory, "no address range for a peer's block"};
  }
  madvise(base, grant.bytes, MADV_DONTFORK);
  madvise(base, grant.bytes, MADV_DONTDUMP);
  *out_import = {static_cast<char*>(base), grant.bytes, true};
  return Ok();
}

char* DirectMemory::Reach(uint32_t rank, const BlockPlace& place, size_t bytes) {
  if (place.serial == 0 || place.slot >= kExports) return nullptr;
  const auto [entry, first] = imports_.try_emplace({rank, place.serial});
  Import& import = entry->second;
  const RankCell& cell = world_->cell(rank);
  if (first && cell.pid == getpid()) {
    MutexLock lock(neighbours_->mutex);
    if (const auto found = neighbours_->blocks.find(entry->first); found != neighbours_->blocks.end()) {
      import = {found->second.base, found->second.bytes, false};
    }
  } else if (first) {
    Map(rank, cell.exports[place.slot], &import).Ignore();  // staged instead, and not tried again
  }
  if (import.base == nullptr || bytes > import.bytes || place.offset > import.bytes - bytes) return nullptr;
  return import.base + place.offset;
}

}  // namespace millpond::comm

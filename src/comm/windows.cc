// SPDX-License-Identifier: Apache-2.0
#include "src/comm/windows.h"

#include <algorithm>
#include <utility>

#include "src/base/format.h"
#include "src/comm/communicator.h"
#include "src/comm/host_exchange.h"

namespace millpond::comm {

namespace {

// What a rank says of its part: where it is, or why there is none.
struct Announcement {
  MemoryNote note;
  uint32_t failed = 0;
  char reason[200] = {};
};

void SayWhy(const Status& status, Announcement* out) {
  out->failed = status.ok() ? 0 : 1;
  SetText(out->reason, sizeof(out->reason), status.ok() ? "" : status.message());
}

// The first rank that could not, as a failure of all.
Status FirstFailure(std::span<const Announcement> all, std::span<const uint32_t> ranks, const char* what) {
  for (size_t i = 0; i < all.size(); ++i) {
    MP_CHECK(all[i].failed == 0, kIpc, "rank %u %s: %s", ranks[i], what,
             TextOf(all[i].reason, sizeof(all[i].reason)).c_str());
  }
  return Ok();
}

std::vector<uint32_t> AllRanks(const Communicator& comm) {
  std::vector<uint32_t> ranks(comm.ranks);
  for (uint32_t i = 0; i < comm.ranks; ++i) ranks[i] = i;
  return ranks;
}

// Whether everybody managed; a rank that did not has said why.
Status AgreeOnHost(const CommunicatorPtr& comm, const HostCall& call, const Status& mine) {
  Announcement own;
  SayWhy(mine, &own);
  std::vector<Announcement> all(comm->ranks);
  MP_RETURN_IF_ERROR(GatherOnHost(comm, call, &own, sizeof(own), all.data()));
  if (!mine.ok()) return mine.Clone();
  return FirstFailure(all, AllRanks(*comm), "does not reach the others' memory");
}

}  // namespace

WindowList::~WindowList() {
  MutexLock lock(mutex_);
  for (const auto& window : windows_) EndOffer(window->own);
  for (const MemoryNote& note : offers_) EndOffer(note);
}

void WindowList::Keep(const MemoryNote& note) {
  MutexLock lock(mutex_);
  offers_.push_back(note);
}

void WindowList::EndOffersOf(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  MutexLock lock(mutex_);
  std::erase_if(offers_, [&](const MemoryNote& note) {
    if (note.address != number) return false;
    EndOffer(note);
    return true;
  });
  std::erase_if(exchanged_, [&](const auto& entry) { return entry.second.address == address; });
}

void WindowList::SetOf(uint32_t rank, RankWindow window) {
  MutexLock lock(mutex_);
  exchanged_[rank] = window;
}

RankWindow WindowList::Of(uint32_t rank) const {
  MutexLock lock(mutex_);
  const auto found = exchanged_.find(rank);
  return found != exchanged_.end() ? found->second : RankWindow{};
}

const void* WindowList::Add(std::shared_ptr<Window> window) {
  MutexLock lock(mutex_);
  windows_.push_back(std::move(window));
  return windows_.back().get();
}

std::shared_ptr<Window> WindowList::Containing(const void* address, size_t bytes) const {
  const auto* const at = static_cast<const char*>(address);
  MutexLock lock(mutex_);
  for (const auto& window : windows_) {
    if (at < window->address || at >= window->address + window->bytes) continue;
    if (bytes <= window->bytes - static_cast<size_t>(at - window->address)) return window;
  }
  return nullptr;
}

std::shared_ptr<Window> WindowList::Find(const void* handle) const {
  MutexLock lock(mutex_);
  const auto found =
      std::find_if(windows_.begin(), windows_.end(), [&](const auto& window) { return window.get() == handle; });
  return found != windows_.end() ? *found : nullptr;
}

std::shared_ptr<Window> WindowList::Remove(const void* handle) {
  MutexLock lock(mutex_);
  const auto found =
      std::find_if(windows_.begin(), windows_.end(), [&](const auto& window) { return window.get() == handle; });
  if (found == windows_.end()) return nullptr;
  std::shared_ptr<Window> removed = std::move(*found);
  windows_.erase(found);
  return removed;
}

void EndWindow(Communicator* comm, const Window& window) {
  for (const auto& [rank, address] : window.reached) comm->remote.Remove(rank, address);
  EndOffer(window.own);
}

Status RegisterWindow(const CommunicatorPtr& comm, const HostCall& call, void* address, size_t bytes,
                      const void** out_handle) {
  Announcement own;
  SayWhy(OfferMemory(*comm, address, bytes, &own.note), &own);
  own.note.bytes = bytes;
  std::vector<Announcement> all(comm->ranks);
  Status status = GatherOnHost(comm, call, &own, sizeof(own), all.data());
  if (status.ok()) status = FirstFailure(all, AllRanks(*comm), "cannot offer its memory");
  for (uint32_t rank = 0; rank < comm->ranks && status.ok(); ++rank) {
    if (all[rank].note.bytes == bytes) continue;
    status =
        InvalidArgument(Format("[EI0005] windows of one size are needed on all ranks: rank %u has %llu bytes and "
                               "rank %u has %zu",
                               rank, static_cast<unsigned long long>(all[rank].note.bytes), comm->rank, bytes));
  }
  auto window = std::make_shared<Window>();
  window->address = static_cast<char*>(address);
  window->bytes = bytes;
  window->own = own.note;
  std::vector<std::pair<uint32_t, uint64_t>> added;
  if (status.ok()) {
    Status reached;
    for (uint32_t rank = 0; rank < comm->ranks && reached.ok(); ++rank) {
      void* here = address;
      if (rank != comm->rank) {
        reached = comm->remote.Add(*comm, rank, all[rank].note, &here);
        if (reached.ok()) added.emplace_back(rank, all[rank].note.address);
      }
      window->parts.push_back(static_cast<char*>(here));
    }
    status = AgreeOnHost(comm, call, reached);
  }
  if (!status.ok()) {
    for (const auto& [rank, at] : added) comm->remote.Remove(rank, at);
    EndOffer(own.note);
    return status;
  }
  window->reached = std::move(added);
  *out_handle = comm->windows.Add(std::move(window));
  return Ok();
}

Status ExchangeMemory(const CommunicatorPtr& comm, const HostCall& call, void* address, size_t bytes,
                      std::span<const uint32_t> peers) {
  Announcement own;
  Status offered = OfferMemory(*comm, address, bytes, &own.note);
  if (offered.ok()) comm->windows.Keep(own.note);
  SayWhy(offered, &own);
  std::vector<Announcement> theirs(peers.size());
  MP_RETURN_IF_ERROR(SwapOnHost(comm, call, peers, &own, sizeof(own), theirs.data()));
  MP_RETURN_IF_ERROR(std::move(offered));
  MP_RETURN_IF_ERROR(FirstFailure(theirs, peers, "cannot offer its memory"));
  for (size_t i = 0; i < peers.size(); ++i) {
    void* here = nullptr;
    MP_RETURN_IF_ERROR(comm->remote.Add(*comm, peers[i], theirs[i].note, &here));
    comm->windows.SetOf(peers[i], {static_cast<char*>(here), theirs[i].note.bytes});
  }
  comm->windows.SetOf(comm->rank, {static_cast<char*>(address), bytes});
  return Ok();
}

Status ShareAll(const CommunicatorPtr& comm, const HostCall& call, std::span<const MemoryNote> pieces) {
  const auto count = static_cast<uint32_t>(pieces.size());
  std::vector<uint32_t> counts(comm->ranks);
  MP_RETURN_IF_ERROR(GatherOnHost(comm, call, &count, sizeof(count), counts.data()));
  const uint32_t most = *std::max_element(counts.begin(), counts.end());
  if (most == 0) return Ok();
  std::vector<MemoryNote> own(pieces.begin(), pieces.end()), all(size_t{most} * comm->ranks);
  own.resize(most);
  MP_RETURN_IF_ERROR(GatherOnHost(comm, call, own.data(), most * sizeof(MemoryNote), all.data()));
  Status reached;
  for (uint32_t rank = 0; rank < comm->ranks; ++rank) {
    for (uint32_t i = 0; i < counts[rank] && rank != comm->rank && reached.ok(); ++i) {
      void* here = nullptr;
      reached = comm->remote.Add(*comm, rank, all[size_t{rank} * most + i], &here);
    }
  }
  return AgreeOnHost(comm, call, reached);
}

}  // namespace millpond::comm

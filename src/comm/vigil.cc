// SPDX-License-Identifier: Apache-2.0
#include "src/comm/vigil.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "src/base/log.h"
#include "src/comm/match.h"
#include "src/device/stream/poller.h"

namespace millpond::comm {

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(10);
// That a rank of another host has gone comes by another connection than its bytes, and may overtake them.
constexpr auto kOnItsWay = std::chrono::milliseconds(300);
// Others may be as late as the copy of some MiB takes, or wait for this processor: it is yielded meanwhile. To park
// and be found again costs about as much.
constexpr auto kSpin = std::chrono::microseconds(300);

long long InMs(Clock::duration time) {
  return static_cast<long long>(std::chrono::duration_cast<Milliseconds>(time).count());
}

// Whom the rank waits for in turn, which may be where to look: ", waits for rank 3".
std::string WaitsOf(const Communicator& comm, uint32_t rank) {
  std::vector<uint32_t> ranks;
  for (uint32_t other = 0; other < comm.ranks; ++other) {
    if (comm.world->cell(rank).waits_for.Has(other)) ranks.push_back(other);
  }
  return rank == comm.rank || ranks.empty() ? "" : ", waits for " + NameRanks(ranks);
}

}  // namespace

std::string Vigil::Report(const Communicator& comm, const std::vector<uint32_t>& ranks) const {
  std::string text = Format("%s of rank %u in communicator '%s' of %u ranks waits for %s.", what_, comm.rank,
                            comm.name.c_str(), comm.ranks, NameRanks(ranks).c_str());
  for (uint32_t rank = 0; rank < comm.ranks; ++rank) {
    const bool waited_for = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    text += Format(" Rank %u%s (process %d%s): last %s%s.", rank, waited_for ? ", not there" : "",
                   comm.world->cell(rank).pid, HostOf(*comm.world, rank).c_str(),
                   LastOperation(*comm.world, rank).c_str(), WaitsOf(comm, rank).c_str());
  }
  return text;
}

void Vigil::WaitFor(const Communicator* comm, const std::vector<uint32_t>& ranks) {
  if (comm == nullptr && waiter_ == nullptr) return;
  if (comm != nullptr) waiter_ = comm;
  RankSet& told = waiter_->own_cell().waits_for;
  for (const uint32_t rank : waits_for_) {
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) told.Remove(rank);
  }
  // Another operation of this rank may have waited for one of them as well, and removed it.
  for (const uint32_t rank : ranks) told.Add(rank);
  const bool changed = waits_for_ != ranks;
  waits_for_ = ranks;
  if (changed) waiter_->world->Ring();
  waiter_ = comm;
}

Status Vigil::Gone(const Communicator& comm, const std::vector<uint32_t>& ranks, const Awaited& awaited) const {
  std::string ended, failed;
  for (const uint32_t rank : ranks) {
    const std::string fate = comm.peers.Fate(*comm.world, rank);
    if (fate.empty()) continue;
    const std::vector<uint32_t> still = awaited();
    if (std::find(still.begin(), still.end(), rank) == still.end()) continue;
    std::string& text = fate.starts_with("has failed") ? failed : ended;
    text += Format("%srank %u %s", text.empty() ? "" : ", ", rank, fate.c_str());
  }
  if (ended.empty() && failed.empty()) return Ok();
  // A rank that failed did so because of another: what is known of that one comes first.
  const std::string& first = !ended.empty() ? ended : failed;
  return {Code::kIpc,
          Format("[EI0002] Communication_Error_Timeout: %s; %s", first.c_str(), Report(comm, ranks).c_str())};
}

bool Vigil::MayStillCome(const Communicator& comm, const std::vector<uint32_t>& ranks) {
  const auto now = Clock::now();
  if (gone_since_ == Clock::time_point()) gone_since_ = now;
  const bool away = std::any_of(ranks.begin(), ranks.end(), [&](uint32_t rank) {
    return comm.world->cell(rank).host.load(std::memory_order_relaxed) != 0;
  });
  return away && now - gone_since_ < kOnItsWay;
}

Status Vigil::Look(const Communicator& comm, const Awaited& awaited) {
  const auto now = Clock::now();
  if (since_ == Clock::time_point()) {
    since_ = now;
    look_at_ = now + kLookEvery;
    told_ = false;
    return Ok();
  }
  if (now < look_at_) return Ok();
  look_at_ = now + kLookEvery;
  const std::vector<uint32_t> ranks = awaited();
  WaitFor(&comm, ranks);
  if (ranks.empty()) return Ok();
  if (Status gone = Gone(comm, ranks, awaited); !gone.ok()) {
    if (MayStillCome(comm, ranks)) return Ok();
    return gone;
  }
  gone_since_ = Clock::time_point();
  if (!comm.timeout) return Ok();
  const auto waited = now - since_;
  MP_CHECK(
      waited < *comm.timeout, kTaskTimeout,
      "[EI0002] Communication_Error_Timeout: nothing came for %lld ms. %s Look at why they are not there, or raise "
      "HCCL_EXEC_TIMEOUT",
      InMs(waited), Report(comm, ranks).c_str());
  if (!told_ && waited >= *comm.timeout / 3) {
    told_ = true;
    const std::string note = Format("no progress for %lld ms: %s", InMs(waited), Report(comm, ranks).c_str());
    std::fprintf(stderr, "millpond: %s\n", note.c_str());
    log::Write(log::Level::kWarning, log::kRuntime, note);
  }
  return Ok();
}

Status RunWaiting(const std::function<Advance(Status*)>& advance, const std::function<Status()>& look) {
  constexpr auto kPause = std::chrono::microseconds(50);
  for (;;) {
    Status status;
    const Advance now = advance(&status);
    if (now != Advance::kNothing) Poller::Get().Kick();  // ranks that are threads of this process
    if (now == Advance::kOver || !status.ok()) return status;
    if (now == Advance::kSomething) continue;
    MP_RETURN_IF_ERROR(look());
    std::this_thread::sleep_for(kPause);
  }
}

TaskEnd RunParking(Stream& stream, const std::function<Advance(Status*)>& advance, const std::function<Status()>& look,
                   Status* out_status) {
  auto spin_until = Clock::time_point::min();  // looked at again after a park: only if something has come
  for (;;) {
    switch (advance(out_status)) {
      case Advance::kOver:
        Poller::Get().Kick();
        return TaskEnd::kDone;
      case Advance::kSomething:
        Poller::Get().Kick();  // ranks that are threads of this process
        spin_until = Clock::now() + kSpin;
        continue;
      case Advance::kNothing:
        break;
    }
    if (Clock::now() < spin_until) {
      sched_yield();
      continue;
    }
    *out_status = look();
    if (!out_status->ok()) return TaskEnd::kDone;
    Poller::Get().Soon(&stream);
    return TaskEnd::kBlocked;
  }
}

}  // namespace millpond::comm

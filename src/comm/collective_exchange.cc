// SPDX-License-Identifier: Apache-2.0
// A large AlltoAll over several hosts. Within a host ranks read each other's buffers as they lie; what goes to other
// hosts is sent from the buffer it lies in and received into the one it belongs in (exchange.h), by the process that
// speaks for the host. Where a rank's buffers cannot be reached, all take the staging memory.
#include <unistd.h>

#include <algorithm>

#include "src/comm/collective.h"
#include "src/comm/exchange.h"

namespace millpond::comm {

// Which rank plans for this host: one of the process that speaks for it. Where that is no rank's, nobody can.
void CollectiveRun::PlanExchange() {
  const World& world = *comm_->world;
  const int32_t leader = world.header().leader.load(std::memory_order_relaxed);
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (!IsHere(rank) || world.cell(rank).pid != leader) continue;
    across_.fits = true;
    across_.plans = rank == comm_->rank;
    across_.speaks = leader == getpid();
    return;
  }
}

// False when a buffer of this host's ranks cannot be reached.
bool CollectiveRun::OfferExchange() {
  const World& world = *comm_->world;
  const uint32_t ranks = comm_->ranks;
  auto exchange = std::make_shared<Exchange>();
  exchange->sequence = sequence_;
  exchange->neighbours = comm_->direct->neighbours();
  exchange->pieces.resize(size_t{ranks} * ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) (IsHere(rank) ? exchange->here : exchange->away).push_back(rank);
  for (const uint32_t here : exchange->here) {
    const uint64_t* const counts = world.counts(here, sequence_);
    const uint64_t* const places = world.places(here, sequence_);
    const auto side = [&](uint32_t away, bool sent) {
      const size_t at = (sent ? 0 : ranks) + away, bytes = counts[at] * spec_->element_bytes;
      const uint32_t from = sent ? here : away, to = sent ? away : here;
      Exchange::Piece& piece = exchange->pieces[size_t{from} * ranks + to];
      if (bytes == 0) return true;
      piece = {Reach(here, sent, {places[at], bytes}), bytes};
      if (!sent) exchange->expected += bytes;
      return piece.place != nullptr;
    };
    for (const uint32_t away : exchange->away) {
      if (!side(away, true) || !side(away, false)) return false;
    }
  }
  across_.exchange = exchange;
  Exchanges::Get().Add(world, std::move(exchange));
  return true;
}

// All ranks of this host's process are to let it be: one of them goes.
void CollectiveRun::EndExchange() {
  if (across_.speaks) Exchanges::Get().End(*comm_->world);
}

bool CollectiveRun::StepExchange() {
  const uint64_t moved = comm_->world->header().exchange_moved.load(std::memory_order_relaxed);
  const bool advanced = moved != std::exchange(across_.moved, moved);
  if (consumed_ != 0) {
    // A rank of this process that withdrew has ended the exchange, too.
    withdrawn_ = across_.speaks && !ExchangeIsOver() && comm_->direct->neighbours()->withdrawn.load();
    return advanced;
  }
  if (!MayTouch()) return advanced;
  MoveDirect();
  comm_->direct->EndTouch();
  SayDone();
  return true;
}

bool CollectiveRun::ExchangeIsOver() const {
  return comm_->world->header().exchanged.load(std::memory_order_acquire) > sequence_;
}

}  // namespace millpond::comm

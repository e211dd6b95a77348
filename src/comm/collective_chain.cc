// SPDX-License-Identifier: Apache-2.0
// A large AllReduce over several hosts. A reduction in the order of the ranks is one host's after the other's: the
// first host adds up its own ranks and passes that on, each further one adds its own, and the last has the result,
// which goes back the same way. So each byte crosses a wire once in each direction, however many ranks a host has, and
// the bits are those of one host. What is passed on is what is computed with: float32 for half types.
//
// The buffer is divided among the ranks of a host, and each rank passes pieces of its share to its counterpart on the
// next host, several at a time on the way. Within a host ranks read and write each other's buffers as they lie; if that
// cannot be on one host, all take the staging memory (collective_direct.cc has the vote).
#include <algorithm>
#include <cstring>

#include "src/comm/collective.h"

namespace millpond::comm {

namespace {

constexpr size_t kStep = 32 * 1024;  // is still in a near cache when it is copied on
constexpr uint32_t kForth = 0, kBack = 1;

}  // namespace

// Adds this host's ranks to the next piece. True when there was one, and a place for what comes out.
bool CollectiveRun::GoForward() {
  if (chain_.forward >= chain_.pieces) return false;
  RankCell& own = comm_->own_cell();
  const World& world = *comm_->world;
  Lane& in = own.lanes[kForth];
  const uint64_t taken = in.taken.load(std::memory_order_relaxed);
  if (chain_.before && world.cell(*chain_.before).lanes[kForth].sent.load(std::memory_order_acquire) <= taken) {
    return false;
  }
  const bool is_last = !chain_.after;
  const uint32_t way = is_last ? kBack : kForth, to = is_last ? *chain_.before : *chain_.after;
  Lane& out = own.lanes[way];
  const uint64_t sent = out.sent.load(std::memory_order_relaxed);
  if (sent >= world.cell(to).lanes[way].taken.load(std::memory_order_acquire) + kLaneSlots) return false;
  const Part piece = chain_.Piece(chain_.forward);
  const char* const before = chain_.before ? world.lane_slot(*chain_.before, kForth, taken) : nullptr;
  char* const slot = world.lane_slot(comm_->rank, way, sent);
  const size_t scale = ComputedScale(spec_->type);
  std::vector<const void*> parts(chain_.here.size());
  for (size_t at = 0; at < piece.bytes; at += kStep) {
    const size_t bytes = std::min(kStep, piece.bytes - at);
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = others_[chain_.here[i]].send + piece.offset + at;
    const ReduceStep step{before == nullptr ? nullptr : before + at * scale, is_last};
    Reduce(spec_->reduction, spec_->type, step, parts, slot + (is_last ? at : at * scale), bytes);
    for (size_t i = 0; is_last && i < parts.size(); ++i) {
      std::memcpy(others_[chain_.here[i]].receive + piece.offset + at, slot + at, bytes);
    }
  }
  out.to = to;
  out.bytes[sent % kLaneSlots] = static_cast<uint32_t>(is_last ? piece.bytes : piece.bytes * scale);
  out.sent.store(sent + 1, std::memory_order_release);
  if (chain_.before) {
    in.from = *chain_.before;
    in.taken.store(taken + 1, std::memory_order_release);
  }
  ++chain_.forward;
  if (is_last) ++chain_.backward;
  return true;
}

// Gives the next piece of the result to this host's ranks, and to the host before. True when there was one.
bool CollectiveRun::GoBackward() {
  if (chain_.backward >= chain_.pieces || !chain_.after) return false;
  RankCell& own = comm_->own_cell();
  const World& world = *comm_->world;
  Lane& lane = own.lanes[kBack];
  const uint64_t taken = lane.taken.load(std::memory_order_relaxed), sent = lane.sent.load(std::memory_order_relaxed);
  if (world.cell(*chain_.after).lanes[kBack].sent.load(std::memory_order_acquire) <= taken) return false;
  if (chain_.before &&
      sent >= world.cell(*chain_.before).lanes[kBack].taken.load(std::memory_order_acquire) + kLaneSlots) {
    return false;
  }
  const Part piece = chain_.Piece(chain_.backward);
  const char* const from = world.lane_slot(*chain_.after, kBack, taken);
  char* const slot = world.lane_slot(comm_->rank, kBack, sent);
  for (size_t at = 0; at < piece.bytes; at += kStep) {
    const size_t bytes = std::min(kStep, piece.bytes - at);
    for (const uint32_t rank : chain_.here) {
      std::memcpy(others_[rank].receive + piece.offset + at, from + at, bytes);
    }
    if (chain_.before) std::memcpy(slot + at, from + at, bytes);
  }
  if (chain_.before) {
    lane.to = *chain_.before;
    lane.bytes[sent % kLaneSlots] = static_cast<uint32_t>(piece.bytes);
    lane.sent.store(sent + 1, std::memory_order_release);
  }
  lane.from = *chain_.after;
  lane.taken.store(taken + 1, std::memory_order_release);
  ++chain_.backward;
  return true;
}

// What this rank has sent was taken: its memory may be used for something else.
bool CollectiveRun::LanesAreEmpty() const {
  const World& world = *comm_->world;
  const auto taken = [&](std::optional<uint32_t> by, uint32_t lane) {
    return !by || world.cell(*by).lanes[lane].taken.load(std::memory_order_acquire) >=
                      comm_->own_cell().lanes[lane].sent.load(std::memory_order_relaxed);
  };
  return taken(chain_.after, kForth) && taken(chain_.before, kBack);
}

bool CollectiveRun::StepChain() {
  if (consumed_ != 0 || !MayTouch()) return false;
  const bool forward = GoForward(), backward = GoBackward();
  comm_->direct->EndTouch();
  if (chain_.forward < chain_.pieces || chain_.backward < chain_.pieces || !LanesAreEmpty()) {
    return forward || backward;
  }
  SayDone();
  return true;
}

bool CollectiveRun::LateInChain(uint32_t rank) const {
  const RankCell& cell = comm_->world->cell(rank);
  if (consumed_ != 0) return IsHere(rank) && cell.consumed.load(std::memory_order_acquire) <= base_;
  if (rank != chain_.before && rank != chain_.after) return false;
  const uint32_t to_it = rank == chain_.after ? kForth : kBack, from_it = 1 - to_it;
  const Lane *own = comm_->own_cell().lanes, *other = cell.lanes;
  const size_t done = rank == chain_.after ? chain_.backward : chain_.forward;
  const bool gives_nothing = done < chain_.pieces && other[from_it].sent.load(std::memory_order_acquire) <=
                                                         own[from_it].taken.load(std::memory_order_relaxed);
  return gives_nothing ||
         other[to_it].taken.load(std::memory_order_acquire) < own[to_it].sent.load(std::memory_order_relaxed);
}

}  // namespace millpond::comm

// SPDX-License-Identifier: Apache-2.0
// A large reduction over several hosts. In the order of the ranks it is one host's after the other's: the first host
// adds up its own ranks and passes that on, each further one adds its own, and the last has the result, of which what
// hosts before want goes back the same way. So each byte crosses a wire once in each direction at most, however many
// ranks a host has, and the bits are those of one host. What is passed on is what is computed with: float32 for half
// types.
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

// To ranks of this host: what each is to have of these bytes of the result.
void CollectiveRun::Give(Part result, const char* from) const {
  for (size_t i = 0; i < chain_.here.size(); ++i) {
    const Part& wanted = chain_.results[i];
    const size_t begin = std::max(result.offset, wanted.offset);
    const size_t end = std::min(result.offset + result.bytes, wanted.offset + wanted.bytes);
    if (begin >= end) continue;
    std::memcpy(others_[chain_.here[i]].receive + (begin - wanted.offset), from + (begin - result.offset), end - begin);
  }
}

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
  const bool is_last = !chain_.after, goes = !is_last || chain_.forward < chain_.passed();
  const uint32_t way = is_last ? kBack : kForth, to = is_last ? *chain_.before : *chain_.after;
  Lane& out = own.lanes[way];
  const uint64_t sent = out.sent.load(std::memory_order_relaxed);
  if (goes && sent >= world.cell(to).lanes[way].taken.load(std::memory_order_acquire) + kLaneSlots) return false;
  const Part piece = chain_.Piece(chain_.forward);
  const char* const before = chain_.before ? world.lane_slot(*chain_.before, kForth, taken) : nullptr;
  char* const slot = world.lane_slot(comm_->rank, way, sent);
  const size_t scale = ComputedScale(spec_->type);
  std::vector<const void*> parts(chain_.here.size());
  std::vector<char> results(goes ? 0 : kStep);
  for (size_t at = 0; at < piece.bytes; at += kStep) {
    const size_t bytes = std::min(kStep, piece.bytes - at);
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = others_[chain_.here[i]].send + piece.offset + at;
    const ReduceStep step{before == nullptr ? nullptr : before + at * scale, is_last};
    char* const to_here = !goes ? results.data() : slot + (is_last ? at : at * scale);
    Reduce(spec_->reduction, spec_->type, step, parts, to_here, bytes);
    if (is_last) Give({piece.offset + at, bytes}, to_here);
  }
  if (goes) {
    const size_t going = is_last ? chain_.Piece(chain_.forward, chain_.passed_end).bytes : piece.bytes * scale;
    out.to = to;
    out.bytes[sent % kLaneSlots] = static_cast<uint32_t>(going);
    out.sent.store(sent + 1, std::memory_order_release);
  }
  if (chain_.before) {
    in.from = *chain_.before;
    in.taken.store(taken + 1, std::memory_order_release);
  }
  ++chain_.forward;
  return true;
}

// Gives the next piece of the result to this host's ranks, and to the host before. True when there was one.
bool CollectiveRun::GoBackward() {
  if (chain_.backward >= chain_.returned()) return false;
  const bool goes = chain_.backward < chain_.passed();
  RankCell& own = comm_->own_cell();
  const World& world = *comm_->world;
  Lane& lane = own.lanes[kBack];
  const uint64_t taken = lane.taken.load(std::memory_order_relaxed), sent = lane.sent.load(std::memory_order_relaxed);
  if (world.cell(*chain_.after).lanes[kBack].sent.load(std::memory_order_acquire) <= taken) return false;
  if (goes && sent >= world.cell(*chain_.before).lanes[kBack].taken.load(std::memory_order_acquire) + kLaneSlots) {
    return false;
  }
  const Part piece = chain_.Piece(chain_.backward, chain_.returned_end);
  const char* const from = world.lane_slot(*chain_.after, kBack, taken);
  char* const slot = world.lane_slot(comm_->rank, kBack, sent);
  for (size_t at = 0; at < piece.bytes; at += kStep) {
    const size_t bytes = std::min(kStep, piece.bytes - at);
    Give({piece.offset + at, bytes}, from + at);
    if (goes) std::memcpy(slot + at, from + at, bytes);
  }
  if (goes) {
    lane.to = *chain_.before;
    lane.bytes[sent % kLaneSlots] = static_cast<uint32_t>(chain_.Piece(chain_.backward, chain_.passed_end).bytes);
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
  if (chain_.forward < chain_.pieces || chain_.backward < chain_.returned() || !LanesAreEmpty()) {
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
  const bool is_due = rank == chain_.after ? chain_.backward < chain_.returned() : chain_.forward < chain_.pieces;
  const bool gives_nothing = is_due && other[from_it].sent.load(std::memory_order_acquire) <=
                                           own[from_it].taken.load(std::memory_order_relaxed);
  return gives_nothing ||
         other[to_it].taken.load(std::memory_order_acquire) < own[to_it].sent.load(std::memory_order_relaxed);
}

}  // namespace millpond::comm

// SPDX-License-Identifier: Apache-2.0
// A collective on the ranks' own buffers, as they lie (direct_memory.h). Every rank says with its descriptor where its
// buffers can be found; when all have, each maps what it needs and votes, and one that cannot sends all of them to the
// staging memory. Then each rank does its share in one go, and is done when all are: nobody touches its buffers then.
//
// Buffers may be in place where that is harmless: what a rank overwrites of its own, nobody else reads. Other overlaps
// go through the staging memory, as does what has displacements that only its own rank knows.
#include <algorithm>
#include <cstring>

#include "src/comm/collective.h"
#include "src/device/memory/memory.h"

namespace millpond::comm {

namespace {

constexpr size_t kDirectFrom = 256 * 1024;
constexpr size_t kDirectStep = 32 * 1024;  // is still in a near cache when it is copied to the other ranks
constexpr size_t kShareAlign = 64;         // a whole number of elements of every type

bool Apart(const char* a, size_t a_bytes, const char* b, size_t b_bytes) {
  return a_bytes == 0 || b_bytes == 0 || a + a_bytes <= b || b + b_bytes <= a;
}

Part ShareOf(size_t bytes, uint32_t ranks, uint32_t rank) {
  const size_t each = ((bytes + ranks - 1) / ranks + kShareAlign - 1) / kShareAlign * kShareAlign;
  const size_t begin = std::min(bytes, rank * each);
  return {begin, std::min(each, bytes - begin)};
}

void CopyPlain(char* to, const char* from, size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace

// What of this rank's buffers the others read and write, if it has as much to do as is worth it.
CollectiveRun::Shown CollectiveRun::WhatOthersTouch() const {
  const CollectiveSpec& spec = *spec_;
  const uint32_t me = comm_->rank;
  const bool at_root = me == spec.root;
  switch (spec.operation) {
    case Operation::kAllReduce:
      if (spec.send != spec.receive && !Apart(spec.send, spec.bytes, spec.receive, spec.bytes)) return {};
      return {spec.bytes >= kDirectFrom, spec.bytes, spec.bytes};
    case Operation::kReduce:
      if (at_root && spec.send != spec.receive && !Apart(spec.send, spec.bytes, spec.receive, spec.bytes)) return {};
      return {spec.bytes >= kDirectFrom, spec.bytes, at_root ? spec.bytes : 0};
    case Operation::kBroadcast:
      return {spec.bytes >= kDirectFrom, at_root ? spec.bytes : 0, 0};
    case Operation::kReduceScatter:
    case Operation::kScatter: {
      const bool gives = !spec.send_parts.empty();
      const size_t part = gives ? spec.send_parts[me].bytes : spec.bytes, all = gives ? part * comm_->ranks : 0;
      const bool in_place = gives && spec.receive == spec.send + me * part;
      if (!in_place && !Apart(spec.send, all, spec.receive, part)) return {};
      return {part * comm_->ranks >= kDirectFrom, all, 0};
    }
    case Operation::kAllGather: {
      const Part& own = spec.receive_parts[me];
      const size_t all = own.bytes * comm_->ranks;
      const bool in_place = spec.send == spec.receive + own.offset;
      if (!in_place && !Apart(spec.send, own.bytes, spec.receive, all)) return {};
      return {all >= kDirectFrom, own.bytes, 0};
    }
    case Operation::kAlltoAll: {
      const size_t all = spec.send_parts[me].bytes * comm_->ranks;
      if (!Apart(spec.send, all, spec.receive, all)) return {};
      return {all >= kDirectFrom, all, 0};
    }
    default:
      return {};
  }
}

void CollectiveRun::OfferDirect(Descriptor* what) {
  DirectMemory& direct = *comm_->direct;
  if (!direct.enabled()) return;
  what->exports_changed = direct.Sweep();
  if (comm_->world->spans()) PlanChain();
  const Shown shown = WhatOthersTouch();
  if (!shown.worth || (comm_->world->spans() && !chain_.fits)) return;
  const bool sends = shown.send == 0 || direct.Offer(spec_->send, shown.send, &what->send);
  const bool receives = shown.receive == 0 || direct.Offer(spec_->receive, shown.receive, &what->receive);
  what->exports_changed = direct.Sweep();
  what->direct = sends && receives ? 1 : 0;
  if (what->direct != 0) way_ = Way::kOffered;
}

// pre: all have arrived, and agree about the operation.
void CollectiveRun::ChooseWay() {
  bool all = true;
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    const Descriptor& what = comm_->world->cell(rank).descriptors[sequence_ % kHalves];
    if (rank != comm_->rank && IsHere(rank)) comm_->direct->Follow(rank, what.exports_changed);
    all &= what.direct != 0;
  }
  if (way_ == Way::kOffered && all) {
    way_ = Way::kVoting;
  } else {
    way_ = Way::kStaged;
  }
}

// Maps what this rank needs of the others.
bool CollectiveRun::ReachOthers() {
  const CollectiveSpec& spec = *spec_;
  const bool to_root = spec.operation == Operation::kReduce;
  const bool from_root = spec.operation == Operation::kBroadcast || spec.operation == Operation::kScatter;
  others_.assign(comm_->ranks, {});
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    Reached& other = others_[rank];
    if (rank == comm_->rank) {
      other = {const_cast<char*>(Reachable(spec.send)), Reachable(spec.receive)};
      continue;
    }
    if (!IsHere(rank)) continue;
    const Descriptor& what = comm_->world->cell(rank).descriptors[sequence_ % kHalves];
    size_t sends = from_root && rank != spec.root ? 0 : spec.bytes;
    if (!spec.send_parts.empty()) sends = spec.send_parts[rank].bytes * comm_->ranks;
    if (spec.operation == Operation::kScatter && rank == spec.root) sends = spec.bytes * comm_->ranks;
    if (spec.operation == Operation::kAllGather) sends = spec.receive_parts[rank].bytes;
    if (from_root && comm_->rank == spec.root) sends = 0;
    if (sends != 0 && (other.send = comm_->direct->Reach(rank, what.send, sends)) == nullptr) return false;
    const bool written = spec.operation == Operation::kAllReduce || (to_root && rank == spec.root);
    if (written && (other.receive = comm_->direct->Reach(rank, what.receive, spec.bytes)) == nullptr) return false;
  }
  return true;
}

// True when something happened.
bool CollectiveRun::Vote() {
  RankCell& own = comm_->own_cell();
  bool advanced = false;
  if (!voted_) {
    const bool reaches = ReachOthers();
    comm_->direct->Leave();
    own.verdict.store((sequence_ + 1) * 2 + (reaches ? 1 : 0), std::memory_order_release);
    voted_ = advanced = true;
  }
  bool all = true;
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    const uint64_t verdict = comm_->world->cell(rank).verdict.load(std::memory_order_acquire);
    if (verdict / 2 <= sequence_) return advanced;
    all &= verdict % 2 == 1;
  }
  comm_->direct->Enter();
  way_ = !all ? Way::kStaged : chain_.fits ? Way::kChain : Way::kDirect;
  if (all) rounds_ = 1;
  return true;
}

// Reduces `own` of every rank's buffer into the buffers of all ranks, or of the root.
void CollectiveRun::ReduceDirect(Part own, bool for_all) const {
  std::vector<const void*> parts(comm_->ranks);
  char* const first = others_[for_all ? comm_->rank : spec_->root].receive;
  for (size_t at = own.offset, end = own.offset + own.bytes; at < end; at += kDirectStep) {
    const size_t bytes = std::min(kDirectStep, end - at);
    for (uint32_t rank = 0; rank < comm_->ranks; ++rank) parts[rank] = others_[rank].send + at;
    Reduce(spec_->reduction, spec_->type, parts, first + at, bytes);
    for (uint32_t rank = 0; for_all && rank < comm_->ranks; ++rank)
      CopyPlain(others_[rank].receive + at, first + at, bytes);
  }
}

void CollectiveRun::MoveDirect() const {
  const CollectiveSpec& spec = *spec_;
  const uint32_t me = comm_->rank, ranks = comm_->ranks;
  char* const to = others_[me].receive;
  switch (spec.operation) {
    case Operation::kAllReduce:
      return ReduceDirect(ShareOf(spec.bytes, ranks, me), true);
    case Operation::kReduce:
      return ReduceDirect(ShareOf(spec.bytes, ranks, me), false);
    case Operation::kReduceScatter: {
      std::vector<const void*> parts(ranks);
      for (uint32_t rank = 0; rank < ranks; ++rank) parts[rank] = others_[rank].send + spec.send_parts[me].offset;
      return Reduce(spec.reduction, spec.type, parts, to, spec.send_parts[me].bytes);
    }
    case Operation::kBroadcast:
      if (me != spec.root) CopyPlain(to, others_[spec.root].send, spec.bytes);
      return;
    case Operation::kScatter:
      return CopyPlain(to, others_[spec.root].send + me * spec.bytes, spec.bytes);
    case Operation::kAllGather:
    case Operation::kAlltoAll:
      // Each begins with another rank, so that they do not all read one rank's memory at a time.
      for (uint32_t i = 0; i < ranks; ++i) {
        const uint32_t rank = (me + i) % ranks;
        const Part& part = spec.receive_parts[rank];
        const size_t from = spec.operation == Operation::kAlltoAll ? me * part.bytes : 0;
        CopyPlain(to + part.offset, others_[rank].send + from, part.bytes);
      }
      return;
    default:
      return;
  }
}

// True when something happened.
bool CollectiveRun::GoDirect() {
  if (consumed_ != 0) return false;
  MoveDirect();
  SayDone();
  return true;
}

// This rank touches the others' buffers no more.
void CollectiveRun::SayDone() {
  comm_->direct->Leave();
  consumed_ = published_ = 1;
  RankCell& cell = comm_->own_cell();
  cell.published.store(base_ + 1, std::memory_order_release);
  cell.consumed.store(base_ + 1, std::memory_order_release);
}

// Of other hosts nobody touches this rank's.
bool CollectiveRun::AllAreDone() const {
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (IsHere(rank) && comm_->world->cell(rank).consumed.load(std::memory_order_acquire) <= base_) return false;
  }
  comm_->direct->Enter();
  return true;
}

bool CollectiveRun::LateDirect(const RankCell& cell) const {
  if (way_ == Way::kVoting) return cell.verdict.load(std::memory_order_acquire) / 2 <= sequence_;
  return cell.consumed.load(std::memory_order_acquire) <= base_;
}

}  // namespace millpond::comm

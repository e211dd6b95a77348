// SPDX-License-Identifier: Apache-2.0
// A collective on the ranks' own buffers, as they lie (direct_memory.h). Every rank says with its descriptor where its
// buffers can be found; when all have, each maps what it needs and votes, and one that cannot sends all of them to the
// staging memory. Then each rank does its share in one go, and is done when all are: nobody touches its buffers then.
//
// Buffers may be in place where that is harmless: what a rank overwrites of its own, nobody else reads. Other overlaps
// go through the staging memory.
#include <algorithm>
#include <cstring>

#include "src/comm/collective.h"
#include "src/device/memory/memory.h"

namespace millpond::comm {

namespace {

constexpr size_t kDirectStep = 32 * 1024;  // is still in a near cache when it is copied to the other ranks

bool Apart(const char* a, size_t a_bytes, const char* b, size_t b_bytes) {
  return a_bytes == 0 || b_bytes == 0 || a + a_bytes <= b || b + b_bytes <= a;
}

// Where the last of the parts ends.
size_t EndOf(const std::vector<Part>& parts) {
  size_t end = 0;
  for (const Part& part : parts) end = std::max(end, part.bytes == 0 ? 0 : part.offset + part.bytes);
  return end;
}
void CopyPlain(char* to, const char* from, size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace

// What of this rank's buffers the others read and write, if that is harmless.
CollectiveRun::Shown CollectiveRun::WhatOthersTouch() const {
  const CollectiveSpec& spec = *spec_;
  const uint32_t me = comm_->rank;
  const bool at_root = me == spec.root;
  switch (spec.operation) {
    case Operation::kAllReduce:
      if (spec.send != spec.receive && !Apart(spec.send, spec.bytes, spec.receive, spec.bytes)) return {};
      return {true, spec.bytes, spec.bytes};
    case Operation::kReduce:
      if (at_root && spec.send != spec.receive && !Apart(spec.send, spec.bytes, spec.receive, spec.bytes)) return {};
      return {true, spec.bytes, at_root ? spec.bytes : 0};
    case Operation::kBroadcast:
      return {true, at_root ? spec.bytes : 0, 0};
    case Operation::kReduceScatter:
    case Operation::kScatter: {
      const bool gives = !spec.send_parts.empty();
      const size_t part = gives ? spec.send_parts[me].bytes : spec.bytes, all = gives ? part * comm_->ranks : 0;
      const bool in_place = gives && spec.receive == spec.send + me * part;
      if (!in_place && !Apart(spec.send, all, spec.receive, part)) return {};
      return {true, all, chain_.fits ? part : 0};  // along the chain others write it
    }
    case Operation::kAllGather: {
      const Part& own = spec.receive_parts[me];
      const size_t all = own.bytes * comm_->ranks;
      const bool in_place = spec.send == spec.receive + own.offset;
      if (!in_place && !Apart(spec.send, own.bytes, spec.receive, all)) return {};
      return {true, own.bytes, 0};
    }
    case Operation::kAllGatherV: {
      const size_t own = spec.receive_parts[me].bytes;
      if (!Apart(spec.send, own, spec.receive, EndOf(spec.receive_parts))) return {};
      return {true, own, 0};
    }
    case Operation::kReduceScatterV: {
      const size_t end = EndOf(spec.send_parts);
      if (!Apart(spec.send, end, spec.receive, spec.send_parts[me].bytes)) return {};
      return {true, end, 0};
    }
    case Operation::kAlltoAll:
    case Operation::kAlltoAllV:
    case Operation::kAlltoAllVC: {
      const size_t sends = EndOf(spec.send_parts), receives = EndOf(spec.receive_parts);
      if (!Apart(spec.send, sends, spec.receive, receives)) return {};
      const bool from_afar = across_.fits && !across_.plans;  // what comes is written by another
      return {true, sends, from_afar ? receives : 0};
    }
    default:
      return {};
  }
}

void CollectiveRun::OfferDirect(Descriptor* what) {
  DirectMemory& direct = *comm_->direct;
  if (!direct.enabled()) return;
  what->exports_changed = direct.Sweep();
  const Shape shape = TheShape();
  const std::vector<uint32_t> hosts = shape.spans ? HostsOfRanks() : std::vector<uint32_t>();
  const Course course = CourseOf(shape, hosts);
  if (course == Course::kRounds) return;
  if (course == Course::kChain) static_cast<ChainPlan&>(chain_) = PlanChain(shape, hosts);
  if (course == Course::kExchange) PlanExchange();
  const Shown shown = WhatOthersTouch();
  if (!shown.apart || (course == Course::kExchange && !across_.fits)) return;
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

// What this rank reads of a rank's buffer. Where lists differ from rank to rank, that one says where.
Part CollectiveRun::ReadOf(uint32_t rank) const {
  const CollectiveSpec& spec = *spec_;
  const uint32_t me = comm_->rank;
  switch (spec.operation) {
    case Operation::kBroadcast:
      return rank == spec.root && me != rank ? Part{0, spec.bytes} : Part{};
    case Operation::kScatter:
      return rank == spec.root ? Part{me * spec.bytes, spec.bytes} : Part{};
    case Operation::kReduceScatter:
      return chain_.fits ? Part{0, EndOf(spec.send_parts)} : spec.send_parts[me];
    case Operation::kReduceScatterV:
      return {comm_->world->places(rank, sequence_)[me], spec.send_parts[me].bytes};
    case Operation::kAllGather:
    case Operation::kAllGatherV:
      return {0, spec.receive_parts[rank].bytes};
    case Operation::kAlltoAll:
    case Operation::kAlltoAllV:
    case Operation::kAlltoAllVC:
      return {comm_->world->places(rank, sequence_)[me], spec.receive_parts[rank].bytes};
    default:
      return {0, spec.bytes};
  }
}

// Bytes of a rank's that are offered in this operation; null when they cannot be reached.
char* CollectiveRun::Reach(uint32_t rank, bool sent, Part part) const {
  constexpr size_t kFar = size_t{1} << 48;  // no sum of two overflows
  if (part.offset > kFar || part.bytes > kFar) return nullptr;
  if (rank == comm_->rank) {
    return (sent ? const_cast<char*>(Reachable(spec_->send)) : Reachable(spec_->receive)) + part.offset;
  }
  const Descriptor& what = comm_->world->cell(rank).descriptors[sequence_ % kHalves];
  char* const base = comm_->direct->Reach(rank, sent ? what.send : what.receive, part.offset + part.bytes);
  return base == nullptr ? nullptr : base + part.offset;
}

// Maps what this rank needs of the others.
bool CollectiveRun::ReachOthers() {
  const CollectiveSpec& spec = *spec_;
  others_.assign(comm_->ranks, {});
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (!IsHere(rank)) continue;
    Reached& other = others_[rank];
    const Part read = ReadOf(rank);
    if (read.bytes != 0 && (other.send = Reach(rank, true, read)) == nullptr) return false;
    const bool scatters = chain_.fits && spec.operation == Operation::kReduceScatter;
    const bool written = rank == comm_->rank || scatters || spec.operation == Operation::kAllReduce ||
                         (spec.operation == Operation::kReduce && rank == spec.root);
    if (!written || (rank == comm_->rank && spec.receive == nullptr)) continue;
    const size_t written_bytes = scatters ? spec.send_parts[rank].bytes : spec.bytes;
    if ((other.receive = Reach(rank, false, {0, written_bytes})) == nullptr) return false;
  }
  return !across_.plans || OfferExchange();
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
  way_ = !all ? Way::kStaged : chain_.fits ? Way::kChain : across_.fits ? Way::kExchange : Way::kDirect;
  if (all) rounds_ = 1;
  if (across_.exchange == nullptr) return true;
  if (all && !comm_->direct->neighbours()->withdrawn.load()) {
    across_.exchange->goes.store(true, std::memory_order_release);
  } else {
    EndExchange();
  }
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
    case Operation::kReduceScatter:
    case Operation::kReduceScatterV: {
      std::vector<const void*> parts(ranks);
      for (uint32_t rank = 0; rank < ranks; ++rank) parts[rank] = others_[rank].send;
      return Reduce(spec.reduction, spec.type, parts, to, spec.send_parts[me].bytes);
    }
    case Operation::kBroadcast:
      if (me != spec.root) CopyPlain(to, others_[spec.root].send, spec.bytes);
      return;
    case Operation::kScatter:
      return CopyPlain(to, others_[spec.root].send, spec.bytes);
    case Operation::kAllGather:
    case Operation::kAllGatherV:
    case Operation::kAlltoAll:
    case Operation::kAlltoAllV:
    case Operation::kAlltoAllVC:
      // Each begins with another rank, so that they do not all read one rank's memory at a time.
      for (uint32_t i = 0; i < ranks; ++i) {
        const uint32_t rank = (me + i) % ranks;
        const Part& part = spec.receive_parts[rank];
        if (IsHere(rank) && part.bytes != 0) CopyPlain(to + part.offset, others_[rank].send, part.bytes);
      }
      return;
    default:
      return;
  }
}

// True when something happened.
bool CollectiveRun::GoDirect() {
  if (consumed_ != 0 || !MayTouch()) return false;
  MoveDirect();
  comm_->direct->EndTouch();
  SayDone();
  return true;
}

// Before anything is done to other ranks' buffers; DirectMemory::EndTouch follows.
bool CollectiveRun::MayTouch() {
  withdrawn_ = !comm_->direct->BeginTouch();
  return !withdrawn_;
}

// What becomes of an operation whose buffers a rank has taken back. That rank may have done its part before.
Status CollectiveRun::SayWithdrawn() const {
  std::string who;
  for (uint32_t rank = 0; rank < comm_->ranks && who.empty(); ++rank) {
    if (rank == comm_->rank || !IsHere(rank)) continue;
    const std::string fate = comm_->peers.Fate(*comm_->world, rank);
    if (!fate.empty()) who = Format("rank %u %s", rank, fate.c_str());
  }
  return {Code::kIpc, Format("[EI0002] Communication_Error_Timeout: %s; %s of rank %u in communicator '%s' used its "
                             "buffers; make a new communicator",
                             who.empty() ? "a rank of this process ended its operation" : who.c_str(), spec_->api,
                             comm_->rank, comm_->name.c_str())};
}

// This rank's operation ends before all are done with its buffers.
void CollectiveRun::WithdrawDirect() {
  if (!matched_ || way_ == Way::kStaged) return;
  comm_->direct->WithdrawForGood();
  if (across_.fits) EndExchange();  // one that is planned after this sees that a rank has withdrawn
}

// This rank touches the others' buffers no more.
void CollectiveRun::SayDone() {
  comm_->direct->Leave();
  consumed_ = published_ = 1;
  RankCell& cell = comm_->own_cell();
  if (comm_->world->spans()) {  // nothing lies in the staging memory
    std::fill_n(comm_->world->needs(comm_->rank, base_), comm_->ranks, Need{});
  }
  cell.published.store(base_ + 1, std::memory_order_release);
  cell.consumed.store(base_ + 1, std::memory_order_release);
}

// Of other hosts nobody touches this rank's.
bool CollectiveRun::AllAreDone() const {
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (IsHere(rank) && comm_->world->cell(rank).consumed.load(std::memory_order_acquire) <= base_) return false;
  }
  if (way_ == Way::kExchange && !ExchangeIsOver()) return false;
  comm_->direct->Enter();
  return true;
}

bool CollectiveRun::LateDirect(uint32_t rank) const {
  const RankCell& cell = comm_->world->cell(rank);
  if (way_ == Way::kExchange && !IsHere(rank)) return !ExchangeIsOver();
  if (way_ == Way::kVoting) return cell.verdict.load(std::memory_order_acquire) / 2 <= sequence_;
  return cell.consumed.load(std::memory_order_acquire) <= base_;
}

}  // namespace millpond::comm

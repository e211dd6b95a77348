// SPDX-License-Identifier: Apache-2.0
#include "src/comm/traffic.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "src/comm/call_sites.h"

namespace millpond::comm {

namespace {

struct Sent {
  std::atomic<uint64_t> frames{0}, bytes{0};
};
Sent g_sent[kFrameKinds];

// One for each rank.
bool HasParts(Operation operation) {
  return GivesParts(operation) || operation == Operation::kAllGather || operation == Operation::kAllGatherV;
}

}  // namespace

FrameCount Traffic::Sum() const {
  FrameCount sum;
  for (const FrameCount& count : counts_) sum.Add(count.frames, count.bytes);
  return sum;
}

void CountSent(FrameKind kind, size_t bytes) {
  Sent& sent = g_sent[static_cast<size_t>(kind)];
  sent.frames.fetch_add(1, std::memory_order_relaxed);
  sent.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

Traffic SentSoFar() {
  Traffic traffic;
  for (size_t i = 0; i < kFrameKinds; ++i) {
    traffic[static_cast<FrameKind>(i)] = {g_sent[i].frames.load(), g_sent[i].bytes.load()};
  }
  return traffic;
}

JobPlan::JobPlan(Job job) : job_(std::move(job)) {
  for (uint32_t rank = 0; rank < job_.hosts.size(); ++rank) {
    if (job_.hosts[rank] >= ranks_of_.size()) ranks_of_.resize(job_.hosts[rank] + 1);
    ranks_of_[job_.hosts[rank]].push_back(rank);
  }
  if (HasParts(job_.operation)) {
    for (size_t i = 0; i < job_.hosts.size(); ++i) parts_.push_back({i * job_.bytes, job_.bytes});
  }
  const Shape shape = ShapeOf(job_.root);
  course_ = CourseOf(shape, job_.hosts);
  if (course_ == Course::kRounds) rounds_ = RoundsFor(shape, LongestOf(shape));
}

Shape JobPlan::ShapeOf(uint32_t rank) const {
  const Operation operation = job_.operation;
  const bool is_scatter = operation == Operation::kScatter;
  Shape shape{.operation = operation, .ranks = ranks(), .rank = rank, .root = job_.root, .spans = hosts() > 1};
  shape.scale = job_.scale;
  if (!HasParts(operation) || is_scatter) shape.bytes = job_.bytes;
  if (GivesParts(operation) && (!is_scatter || rank == job_.root)) shape.send_parts = parts_;
  if (!GivesParts(operation) || CountsOf(operation) == Counts::kPairs) shape.receive_parts = parts_;
  return shape;
}

// Link::ScanRank: that the rank has come with its call, what it is, how far it is, and that it is over.
Traffic JobPlan::ToldOf(uint32_t) const {
  const size_t counts = CountsOf(job_.operation) == Counts::kNone ? 0 : sizeof(uint64_t) * 2 * ranks();
  Traffic told;
  told[FrameKind::kLast].Add(2, 2 * sizeof(Act));
  told[FrameKind::kArrive].Add(1, sizeof(Descriptor) + counts);
  if (course_ != Course::kRounds) told[FrameKind::kVerdict].Add(1, 0);
  const size_t steps = std::max<size_t>(1, rounds_);
  told[FrameKind::kPublished].Add(steps, 0);
  told[FrameKind::kConsumed].Add(steps, 0);
  return told;
}

FrameCount JobPlan::Round(uint32_t giver, uint32_t host, size_t round) const {
  const Shape shape = ShapeOf(giver);
  std::vector<Need> ranges;
  for (const uint32_t taker : ranks_of_[host]) {
    const Part part = NeededBy(shape, taker, round);
    AddNeed({static_cast<uint32_t>(part.offset), static_cast<uint32_t>(part.bytes)}, &ranges);
  }
  FrameCount count;
  for (const Need& range : ranges) count.Add(1, range.bytes);
  return count;
}

FrameCount JobPlan::Blocks(uint32_t giver, uint32_t host) const {
  FrameCount count;
  const Shape shape = ShapeOf(giver);
  for (const uint32_t taker : ranks_of_[host]) {
    const size_t bytes = shape.send_parts[taker].bytes;
    count.Add(BlocksOf(bytes), bytes);
  }
  return count;
}

Traffic JobPlan::Lanes(uint32_t rank) const {
  Traffic sent;
  const ChainPlan chain = ChainOf(rank);
  if (chain.after) sent[FrameKind::kLane].Add(chain.pieces, chain.share.bytes * job_.scale);
  for (size_t i = 0; i < chain.passed(); ++i) sent[FrameKind::kLane].Add(1, chain.Piece(i, chain.passed_end).bytes);
  sent[FrameKind::kLaneTaken].Add((chain.before ? chain.pieces : 0) + chain.returned(), 0);
  return sent;
}

Traffic JobPlan::SentBy(uint32_t host) const {
  Traffic sent;
  const auto add = [&](const Traffic& more, uint64_t times) {
    for (size_t i = 0; i < kFrameKinds; ++i) {
      const FrameCount& count = more[static_cast<FrameKind>(i)];
      sent[static_cast<FrameKind>(i)].Add(count.frames * times, count.bytes * times);
    }
  };
  for (const uint32_t rank : ranks_of_[host]) {
    add(ToldOf(rank), hosts() - 1);
    if (course_ == Course::kChain) add(Lanes(rank), 1);
    for (uint32_t other = 0; other < hosts(); ++other) {
      if (other == host) continue;
      for (size_t round = 0; round < rounds_; ++round) {
        const FrameCount count = Round(rank, other, round);
        sent[FrameKind::kRound].Add(count.frames, count.bytes);
      }
      if (course_ != Course::kExchange) continue;
      const FrameCount count = Blocks(rank, other);
      sent[FrameKind::kBlock].Add(count.frames, count.bytes);
    }
  }
  if (course_ == Course::kExchange) sent[FrameKind::kExchanged].Add(hosts() - 1, 0);
  return sent;
}

}  // namespace millpond::comm

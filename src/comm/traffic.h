// SPDX-License-Identifier: Apache-2.0
// What an operation sends between hosts: by its plan, for the simulation of many ranks, and as counted, which a test
// holds beside it (tests/hccl/ranks_plan_test.cc).
#ifndef MILLPOND_SRC_COMM_TRAFFIC_H_
#define MILLPOND_SRC_COMM_TRAFFIC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/comm/connection.h"
#include "src/comm/plan.h"

namespace millpond::comm {

struct FrameCount {
  uint64_t frames = 0;
  uint64_t bytes = 0;  // without the frames' headers

  void Add(uint64_t more_frames, uint64_t more_bytes) {
    frames += more_frames;
    bytes += more_bytes;
  }
};
// By FrameKind.
inline constexpr size_t kFrameKinds = static_cast<size_t>(FrameKind::kInvitation) + 1;
class Traffic {
 public:
  FrameCount& operator[](FrameKind kind) { return counts_[static_cast<size_t>(kind)]; }
  const FrameCount& operator[](FrameKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  FrameCount Sum() const;

 private:
  std::array<FrameCount, kFrameKinds> counts_;
};

// Frames that this process has sent to other hosts since it began, of all communicators.
void CountSent(FrameKind kind, size_t bytes);
Traffic SentSoFar();

// One operation in which all ranks have as many bytes: AllReduce, Reduce and Broadcast of `bytes`, the others of so
// many for or from each rank.
struct Job {
  Operation operation = Operation::kAllReduce;
  size_t bytes = 0;
  uint32_t root = 0;
  size_t scale = 1;             // of the type (ComputedScale)
  std::vector<uint32_t> hosts;  // of each rank: 0, 1, ...
};

// Its plan, if every rank's buffers can be reached.
class JobPlan {
 public:
  explicit JobPlan(Job job);

  Shape ShapeOf(uint32_t rank) const;
  uint32_t ranks() const { return static_cast<uint32_t>(job_.hosts.size()); }
  uint32_t hosts() const { return static_cast<uint32_t>(ranks_of_.size()); }
  const std::vector<uint32_t>& ranks_of(uint32_t host) const { return ranks_of_[host]; }
  Course course() const { return course_; }
  // That go through the staging memory.
  size_t rounds() const { return rounds_; }
  ChainPlan ChainOf(uint32_t rank) const { return PlanChain(ShapeOf(rank), job_.hosts); }

  // What every host is told of a rank, whatever the course moves. As many frames as there can be: where a rank is quick
  // one frame may tell of two steps.
  Traffic ToldOf(uint32_t rank) const;
  // Bytes of one rank's round that one other host is sent.
  FrameCount Round(uint32_t giver, uint32_t host, size_t round) const;
  // Bytes that go from a rank's buffer to one host, where they go from buffer to buffer.
  FrameCount Blocks(uint32_t giver, uint32_t host) const;
  // Pieces of the chain, and confirmations of pieces, that a rank sends.
  Traffic Lanes(uint32_t rank) const;
  // All that a host sends.
  Traffic SentBy(uint32_t host) const;

 private:
  const Job job_;
  std::vector<Part> parts_;
  std::vector<std::vector<uint32_t>> ranks_of_;  // by host
  Course course_ = Course::kRounds;
  size_t rounds_ = 0;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_TRAFFIC_H_

// SPDX-License-Identifier: Apache-2.0
// The floor: buffers of all ranks in one piece of shared memory, each rank takes what it wants straight from the
// others, and two barriers around it that spin and then yield. Nobody checks anything.
#include <sched.h>

#include "bench/ranks/processes.h"

namespace {

using namespace millpond::bench;  // NOLINT: one short program

struct Buffers {
  unsigned char* send[kMaxBenchRanks];
  unsigned char* receive[kMaxBenchRanks];
};

class Barrier {
 public:
  Barrier(std::atomic<unsigned>* came, unsigned ranks) : came_(came), ranks_(ranks) {}
  void Wait() {
    const unsigned goal = ++round_ * ranks_;
    came_->fetch_add(1, std::memory_order_acq_rel);
    for (int spins = 0; came_->load(std::memory_order_acquire) < goal; ++spins) {
      if (spins > 200) sched_yield();
    }
  }

 private:
  std::atomic<unsigned>* const came_;
  const unsigned ranks_;
  unsigned round_ = 0;
};

void Sum(const Buffers& buffers, unsigned ranks, std::size_t begin, std::size_t end, float* to) {
  constexpr std::size_t kStep = 4096;  // stays in the nearest cache
  for (std::size_t at = begin; at < end; at += kStep) {
    const std::size_t length = std::min(kStep, end - at);
    std::memcpy(to + at, reinterpret_cast<const float*>(buffers.send[0]) + at, length * sizeof(float));
    for (unsigned rank = 1; rank < ranks; ++rank) {
      const float* const from = reinterpret_cast<const float*>(buffers.send[rank]) + at;
      for (std::size_t i = 0; i < length; ++i) to[at + i] += from[i];
    }
  }
}

void Once(const Shape& shape, unsigned rank, unsigned ranks, const Buffers& buffers, Barrier* barrier) {
  const std::size_t part = shape.bytes / ranks;
  barrier->Wait();
  if (shape.kind == Kind::kAllReduce) {
    const std::size_t count = shape.bytes / sizeof(float), each = (count + ranks - 1) / ranks;
    const auto bounds = [&](unsigned of) {
      return std::pair(std::min(count, of * each), std::min(count, (of + 1) * each));
    };
    const auto [begin, end] = bounds(rank);
    Sum(buffers, ranks, begin, end, reinterpret_cast<float*>(buffers.receive[rank]));
    barrier->Wait();
    for (unsigned from = 0; from < ranks; ++from) {
      if (from == rank) continue;
      const auto [first, last] = bounds(from);
      std::memcpy(buffers.receive[rank] + first * sizeof(float), buffers.receive[from] + first * sizeof(float),
                  (last - first) * sizeof(float));
    }
  } else if (shape.kind == Kind::kBroadcast) {
    if (rank != 0) std::memcpy(buffers.send[rank], buffers.send[0], shape.bytes);
  } else {
    for (unsigned from = 0; from < ranks; ++from) {
      const std::size_t offset = shape.kind == Kind::kAlltoAll ? rank * part : 0;
      std::memcpy(buffers.receive[rank] + from * part, buffers.send[from] + offset, part);
    }
  }
  barrier->Wait();
}

}  // namespace

int main(int argc, char** argv) {
  const Harness harness("plain", argc, argv);
  Buffers buffers{};
  for (unsigned rank = 0; rank < kMaxBenchRanks; ++rank) {
    buffers.send[rank] = static_cast<unsigned char*>(SharedPages(kLargest));
    buffers.receive[rank] = static_cast<unsigned char*>(SharedPages(kLargest));
  }
  return RunAll(harness, [&](unsigned rank, unsigned ranks, Shared* shared) {
    Barrier barrier(&shared->came[0], ranks);
    const std::vector<Shape> shapes = Shapes(harness.smoke());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Shape& shape = shapes[i];
      if (!harness.Wants(MetricOf(shape, ranks))) continue;
      std::vector<unsigned char> host;
      FillSend(shape, rank, ranks, &host,
               [&](const auto& from) { std::memcpy(buffers.send[rank], from.data(), from.size()); });
      shared->microseconds[rank][i] = MedianUs(shape.repetitions, [&] { Once(shape, rank, ranks, buffers, &barrier); });
      const unsigned char* const result = shape.kind == Kind::kBroadcast ? buffers.send[rank] : buffers.receive[rank];
      host.assign(result, result + shape.bytes);
      if (!IsRight(shape, rank, ranks, host)) {
        std::fprintf(stderr, "%s gives wrong bytes on rank %u\n", MetricOf(shape, ranks).c_str(), rank);
        _exit(1);
      }
      barrier.Wait();  // nobody fills before all have looked
    }
  });
}

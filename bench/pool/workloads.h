// SPDX-License-Identifier: Apache-2.0
// The workloads, the same for ours and every peer. Memory is never touched: only the allocator is timed. An allocator
// has
//
//   void* Allocate(std::size_t bytes, std::size_t lane);   // ends the program when it cannot
//   void Free(void* block, std::size_t lane);
//   void EnterThread();                                    // before a thread's first call
//
// where a lane is a stream's number; those without streams ignore it.
#ifndef BENCH_POOL_WORKLOADS_H_
#define BENCH_POOL_WORKLOADS_H_

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/common/measure.h"
#include "bench/pool/trace_file.h"

namespace millpond::bench {

struct NamedSize {
  const char* name;
  std::size_t bytes;
};
inline constexpr std::array<NamedSize, 6> kPairSizes = {{{"512B", 512},
                                                         {"4KiB", 4 << 10},
                                                         {"64KiB", 64 << 10},
                                                         {"1MiB", 1 << 20},
                                                         {"16MiB", 16 << 20},
                                                         {"64MiB", 64 << 20}}};

// What run.py chose for this machine; the same for every program.
struct PoolArguments {
  std::string trace;
  std::string family;  // more traces, between colons
  std::string mixed_largest = "16777216";
  std::string wide_live = "2000";

  // With those of one program.
  [[nodiscard]] Harness::Flags Flags(Harness::Flags own = {}) {
    own.insert(
        own.end(),
        {{"--trace", &trace}, {"--family", &family}, {"--mixed-largest", &mixed_largest}, {"--wide-live", &wide_live}});
    return own;
  }
  [[nodiscard]] Trace ReadTraceOrExit() const {
    if (!trace.empty()) return ReadTrace(trace);
    std::fprintf(stderr, "no trace: pass --trace FILE, such as bench/traces/resnet50_train.csv\n");
    std::exit(2);
  }
};

// Allocate and free immediately, repeatedly, on one lane: the best case for a cache.
template <typename Allocator>
void Pairs(const Harness& harness, const char* subject, Allocator& allocator) {
  constexpr double kEnoughNanoseconds = 40e6;
  for (const NamedSize& size : kPairSizes) {
    const std::string metric = std::string("pair_") + size.name;
    if (!harness.Wants(metric)) continue;
    const std::size_t batch = harness.Count(1000);
    const auto run = [&] {
      for (std::size_t i = 0; i < batch; ++i) {
        void* block = allocator.Allocate(size.bytes, 0);
        asm volatile("" : : "r"(block) : "memory");  // or the compiler may drop the pair
        allocator.Free(block, 0);
      }
    };
    run();
    std::vector<double> batches;
    double spent = 0;
    do {
      const double took = Nanoseconds(run);
      batches.push_back(took / static_cast<double>(batch));
      spent += took;
    } while (!harness.smoke() && spent < kEnoughNanoseconds);
    harness.EmitFor(subject, metric, "ns", Median(std::move(batches)));
  }
}

// Log-uniform sizes, random replacement: no pattern to learn.
struct MixedShape {
  const char* metric;
  std::size_t largest;
  std::size_t live;
  std::uint64_t seed = 20260101;
  std::size_t timed = 0;  // replacements; 0: twice as many as live blocks
};

class MixedPlan {
 public:
  MixedPlan(const MixedShape& shape, std::size_t replacements) : sizes_(shape.live + replacements) {
    std::mt19937_64 random(shape.seed);
    std::uniform_real_distribution<double> exponent(std::log2(512.0), std::log2(static_cast<double>(shape.largest)));
    for (std::size_t& size : sizes_) size = static_cast<std::size_t>(std::exp2(exponent(random)));
    std::uniform_int_distribution<std::size_t> slot(0, shape.live - 1);
    for (std::size_t i = 0; i < replacements; ++i) slots_.push_back(static_cast<std::uint32_t>(slot(random)));
    FindPeak(shape.live);
  }

  [[nodiscard]] const std::vector<std::size_t>& sizes() const { return sizes_; }  // first the fill, then replacements
  [[nodiscard]] const std::vector<std::uint32_t>& slots() const { return slots_; }
  [[nodiscard]] std::size_t peak_live_bytes() const { return peak_; }

 private:
  void FindPeak(std::size_t live) {
    std::vector<std::size_t> held(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(live));
    std::size_t sum = 0;
    for (const std::size_t size : held) sum += size;
    peak_ = sum;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      sum += sizes_[live + i] - held[slots_[i]];
      held[slots_[i]] = sizes_[live + i];
      peak_ = std::max(peak_, sum);
    }
  }

  std::vector<std::size_t> sizes_;
  std::vector<std::uint32_t> slots_;
  std::size_t peak_ = 0;
};

// Nanoseconds per call (an allocation or a free) once everything has been replaced once; returns the peak of live
// bytes.
template <typename Allocator>
std::size_t Mixed(const Harness& harness, const char* subject, Allocator& allocator, const MixedShape& shape) {
  const std::size_t warm = harness.smoke() ? shape.live / 10 : shape.live;
  const std::size_t timed = harness.smoke() ? 100 : shape.timed != 0 ? shape.timed : 2 * shape.live;
  const MixedPlan plan(shape, warm + timed);
  std::vector<void*> blocks(shape.live);
  for (std::size_t i = 0; i < shape.live; ++i) blocks[i] = allocator.Allocate(plan.sizes()[i], 0);
  const auto replace = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      void*& block = blocks[plan.slots()[i]];
      allocator.Free(block, 0);
      block = allocator.Allocate(plan.sizes()[shape.live + i], 0);
    }
  };
  replace(0, warm);
  const double took = Nanoseconds([&] { replace(warm, warm + timed); });
  for (void* block : blocks) allocator.Free(block, 0);
  harness.EmitFor(subject, shape.metric, "ns", took / static_cast<double>(2 * timed));
  return plan.peak_live_bytes();
}

inline std::array<MixedShape, 2> MixedShapes(const PoolArguments& arguments) {
  return {{{"mixed", std::strtoull(arguments.mixed_largest.c_str(), nullptr, 10), 8000},
           {"mixed_wide", std::size_t{64} << 20, std::strtoull(arguments.wide_live.c_str(), nullptr, 10)}}};
}

// Steps [0, end) of one pass.
template <typename Allocator>
void ReplaySteps(Allocator& allocator, const Trace& trace, std::size_t first_lane, std::size_t end,
                 std::vector<void*>& blocks) {
  for (std::size_t i = 0; i < end; ++i) {
    const TraceStep& step = trace.steps[i];
    if (step.bytes != 0) {
      blocks[step.slot] = allocator.Allocate(step.bytes, first_lane + step.lane);
    } else {
      allocator.Free(blocks[step.slot], first_lane + step.lane);
    }
  }
}

// For picture.py: the trace's peak in the fifth pass, when earlier ones have caused fragmentation.
template <typename Allocator>
void ReplayToWarmPeak(Allocator& allocator, const Trace& trace) {
  std::vector<void*> blocks(trace.slots);
  for (int pass = 0; pass < 4; ++pass) ReplaySteps(allocator, trace, 0, trace.steps.size(), blocks);
  ReplaySteps(allocator, trace, 0, trace.peak_step + 1, blocks);
}

// Nanoseconds per step of each pass: `passes` of them, fewer for a slow allocator, whose median settles sooner.
template <typename Allocator>
std::vector<double> ReplayPasses(Allocator& allocator, const Trace& trace, std::size_t first_lane, std::size_t passes) {
  std::vector<void*> blocks(trace.slots);
  std::vector<double> per_step;
  constexpr std::size_t kEnoughPasses = 40;
  constexpr double kEnoughNanoseconds = 0.8e9;
  double spent = 0;
  for (std::size_t pass = 0; pass < passes && (pass < kEnoughPasses || spent < kEnoughNanoseconds); ++pass) {
    const double took = Nanoseconds([&] { ReplaySteps(allocator, trace, first_lane, trace.steps.size(), blocks); });
    per_step.push_back(took / static_cast<double>(trace.steps.size()));
    spent += took;
  }
  return per_step;
}

// One more pass, untimed: live blocks must not overlap, or the times mean nothing.
template <typename Allocator>
void CheckReplay(Allocator& allocator, const Trace& trace, const char* subject) {
  std::map<std::uintptr_t, std::size_t> live;  // bytes by address
  std::vector<void*> blocks(trace.slots);
  for (const TraceStep& step : trace.steps) {
    if (step.bytes == 0) {
      live.erase(reinterpret_cast<std::uintptr_t>(blocks[step.slot]));
      allocator.Free(blocks[step.slot], step.lane);
      continue;
    }
    blocks[step.slot] = allocator.Allocate(step.bytes, step.lane);
    const auto address = reinterpret_cast<std::uintptr_t>(blocks[step.slot]);
    const auto next = live.lower_bound(address);
    const bool before = next != live.begin() && std::prev(next)->first + std::prev(next)->second > address;
    const bool after = next != live.end() && address + step.bytes > next->first;
    if (address == 0 || before || after) {
      std::fprintf(stderr, "%s returned %zu bytes at %#zx, which overlap a live block: its times would mean nothing\n",
                   subject, step.bytes, static_cast<std::size_t>(address));
      std::exit(1);
    }
    live.emplace(address, step.bytes);
  }
}

inline std::size_t PassCount(const Harness& harness, const Trace& trace) {
  constexpr std::size_t kSteps = 2'000'000;
  return harness.smoke() ? 3 : std::clamp<std::size_t>(kSteps / trace.steps.size(), 6, 400);
}

// The allocator must be fresh: the first pass is reported by itself. Warm is the median of the later passes.
template <typename Allocator>
void Replay(const Harness& harness, const char* subject, Allocator& allocator, const Trace& trace) {
  const std::vector<double> passes = ReplayPasses(allocator, trace, 0, PassCount(harness, trace));
  harness.EmitFor(subject, "replay_first_ns", "ns", passes.front());
  harness.EmitFor(subject, "replay_ns", "ns", Median({passes.begin() + 1, passes.end()}));
  CheckReplay(allocator, trace, subject);
}

// Two threads at the same time, each with its own copy of the trace on its own lanes; per step of each thread.
template <typename Allocator>
void ReplayOnTwoThreads(const Harness& harness, const char* subject, Allocator& allocator, const Trace& trace) {
  constexpr std::size_t kThreads = 2;
  std::barrier start(kThreads);
  std::array<double, kThreads> medians = {};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      allocator.EnterThread();
      const Trace own = trace;
      start.arrive_and_wait();
      const std::vector<double> passes = ReplayPasses(allocator, own, t * own.lanes, PassCount(harness, own));
      medians[t] = Median({passes.begin() + 1, passes.end()});
    });
  }
  for (std::thread& thread : threads) thread.join();
  harness.EmitFor(subject, "replay_2threads_ns", "ns", (medians[0] + medians[1]) / 2);
}

// Every workload on an allocator of its own, which `make()` returns; such an allocator also has
//
//   double ReservedOver(std::size_t peak_live_bytes);   // its high-water mark of reserved bytes over that
template <typename Make>
void MeasureFresh(const Harness& harness, const char* subject, const Make& make, const Trace& trace,
                  const PoolArguments& arguments) {
  {
    auto allocator = make();
    ReplayPasses(allocator, trace, 0, 1);
    harness.EmitFor(subject, "reserved_over_live_first", "x", allocator.ReservedOver(trace.peak_live_bytes));
  }
  {
    auto allocator = make();
    Replay(harness, subject, allocator, trace);
    harness.EmitFor(subject, "reserved_over_live", "x", allocator.ReservedOver(trace.peak_live_bytes));
  }
  {
    auto allocator = make();
    ReplayOnTwoThreads(harness, subject, allocator, trace);
  }
  {
    auto allocator = make();
    Pairs(harness, subject, allocator);
  }
  for (const MixedShape& shape : MixedShapes(arguments)) {
    auto allocator = make();
    const std::size_t live = Mixed(harness, subject, allocator, shape);
    harness.EmitFor(subject, std::string(shape.metric) + "_reserved_over_live", "x", allocator.ReservedOver(live));
  }
}

}  // namespace millpond::bench

#endif  // BENCH_POOL_WORKLOADS_H_

// SPDX-License-Identifier: Apache-2.0
// The family of recorded runs and of random mixes, and growth with the number of live blocks: an allocator must not be
// good at one trace alone. run.py makes the worst and the geometric mean of these rows.
#ifndef BENCH_POOL_FAMILY_H_
#define BENCH_POOL_FAMILY_H_

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "bench/pool/workloads.h"

namespace millpond::bench {

struct FamilyTrace {
  std::string name;
  Trace trace;
};

inline std::vector<FamilyTrace> ReadFamily(const PoolArguments& arguments) {
  std::vector<FamilyTrace> family;
  std::istringstream paths(arguments.family);
  for (std::string path; std::getline(paths, path, ':');) {
    family.push_back({std::filesystem::path(path).stem().string(), ReadTrace(path)});
  }
  return family;
}

inline std::size_t MostLanes(const std::vector<FamilyTrace>& family, std::size_t least) {
  for (const FamilyTrace& each : family) least = std::max(least, each.trace.lanes);
  return least;
}

// Sizes that a device of 8 GiB holds.
inline constexpr std::array<MixedShape, 5> kMixes = {{{"mix_1MiB", std::size_t{1} << 20, 8000, 1},
                                                      {"mix_4MiB", std::size_t{4} << 20, 8000, 3},
                                                      {"mix_32MiB", std::size_t{32} << 20, 1000, 5},
                                                      {"mix_2MiB_unseen", std::size_t{2} << 20, 5000, 17},
                                                      {"mix_8MiB_unseen", std::size_t{8} << 20, 4000, 19}}};

// Nanoseconds per call while `live` blocks of up to 4 KiB are there, replaced at random.
template <typename Allocator>
void LiveBlocks(const Harness& harness, const char* subject, Allocator& allocator, std::size_t live,
                const std::string& metric) {
  constexpr std::size_t kEnough = 200'000;
  const MixedShape shape{metric.c_str(), 4096, live, 23, kEnough};
  Mixed(harness, subject, allocator, shape);
}

template <typename Make>
void MeasureFamily(const Harness& harness, const char* subject, const Make& make,
                   const std::vector<FamilyTrace>& family) {
  for (const FamilyTrace& each : family) {
    auto allocator = make();
    const std::vector<double> passes = ReplayPasses(allocator, each.trace, 0, PassCount(harness, each.trace));
    harness.EmitFor(subject, each.name + "_first_ns", "ns", passes.front());
    harness.EmitFor(subject, each.name + "_ns", "ns", Median({passes.begin() + 1, passes.end()}));
    harness.EmitFor(subject, each.name + "_reserved", "x", allocator.ReservedOver(each.trace.peak_live_bytes));
  }
  for (const MixedShape& shape : kMixes) {
    auto allocator = make();
    const std::size_t live = Mixed(harness, subject, allocator, shape);
    harness.EmitFor(subject, std::string(shape.metric) + "_reserved", "x", allocator.ReservedOver(live));
  }
  for (const auto& [live, metric] :
       {std::pair{1'000, "live_1e3"}, {10'000, "live_1e4"}, {100'000, "live_1e5"}, {1'000'000, "live_1e6"}}) {
    auto allocator = make();
    LiveBlocks(harness, subject, allocator, harness.smoke() ? 100 : static_cast<std::size_t>(live), metric);
  }
}

}  // namespace millpond::bench

#endif  // BENCH_POOL_FAMILY_H_

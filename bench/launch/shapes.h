// SPDX-License-Identifier: Apache-2.0
// The sizes that ours and the peers must agree on, so that a ratio compares like with like.
#ifndef BENCH_LAUNCH_SHAPES_H_
#define BENCH_LAUNCH_SHAPES_H_

#include <array>
#include <cstddef>
#include <string>

namespace millpond::bench {

inline constexpr std::array<std::size_t, 5> kStreamCounts = {1, 8, 64, 512, 1984};

inline std::string StreamsMetric(std::size_t streams) { return "streams_" + std::to_string(streams); }

// A start node, `branches` chains of `length` nodes each, an end node that waits for all of them.
struct ReplayShape {
  const char* metric;
  std::size_t branches;
  std::size_t length;
};
inline constexpr std::array<ReplayShape, 2> kReplayShapes = {{{"replay_chain", 1, 998}, {"replay_fork4", 4, 250}}};

}  // namespace millpond::bench

#endif  // BENCH_LAUNCH_SHAPES_H_

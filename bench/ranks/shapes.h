// SPDX-License-Identifier: Apache-2.0
// What every program of this benchmark does: the same operations on the same bytes by 2 and 4 ranks, one process each,
// and the median time of one operation, of the rank that is slowest.
#ifndef BENCH_RANKS_SHAPES_H_
#define BENCH_RANKS_SHAPES_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millpond::bench {

enum class Kind { kAllReduce, kAllGather, kAlltoAll, kBroadcast };

struct Shape {
  Kind kind;
  std::size_t bytes;  // of the larger buffer of a rank
  const char* name;
  std::size_t repetitions;
};

inline std::vector<Shape> Shapes(bool smoke) {
  std::vector<Shape> shapes;
  struct Size {
    std::size_t bytes;
    const char* name;
    std::size_t repetitions;
  };
  constexpr Size kSizes[] = {{4, "4B", 2000}, {64 << 10, "64KiB", 500}, {4 << 20, "4MiB", 40}, {64 << 20, "64MiB", 9}};
  for (const Kind kind : {Kind::kAllReduce, Kind::kAllGather, Kind::kAlltoAll, Kind::kBroadcast}) {
    for (const Size& size : kSizes) shapes.push_back({kind, size.bytes, size.name, smoke ? 3 : size.repetitions});
  }
  return shapes;
}

inline constexpr unsigned kRankCounts[] = {2, 4};
inline constexpr std::size_t kLargest = std::size_t{64} << 20;
inline constexpr std::size_t kWarmUps = 4;

inline std::string MetricOf(const Shape& shape, unsigned ranks) {
  static constexpr const char* kNames[] = {"allreduce", "allgather", "alltoall", "broadcast"};
  return std::string(kNames[static_cast<int>(shape.kind)]) + "_" + std::to_string(ranks) + "r_" + shape.name;
}

// The first byte of what rank `from` gives to rank `to`, and of what a buffer holds before: all bytes are alike.
inline unsigned char ByteOf(unsigned from, unsigned to) { return static_cast<unsigned char>(1 + from * 16 + to); }

// Microseconds of one operation: the median.
template <class Operation>
double MedianUs(std::size_t repetitions, const Operation& operation) {
  for (std::size_t i = 0; i < kWarmUps; ++i) operation();
  std::vector<double> times(repetitions);
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    operation();
    time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  }
  std::nth_element(times.begin(), times.begin() + static_cast<long>(repetitions / 2), times.end());
  return times[repetitions / 2];
}

// What a rank's bytes are before an operation: floats for a reduction, else the byte of whom they go to.
template <class Write>
void FillSend(const Shape& shape, unsigned rank, unsigned ranks, std::vector<unsigned char>* host, const Write& write) {
  host->assign(shape.bytes, 0);
  if (shape.kind == Kind::kAllReduce) {
    auto* const values = reinterpret_cast<float*>(host->data());
    std::fill_n(values, shape.bytes / sizeof(float), static_cast<float>(rank + 1));
  } else {
    const std::size_t part = shape.bytes / ranks;
    for (unsigned to = 0; to < ranks; ++to) {
      const unsigned other = shape.kind == Kind::kAlltoAll ? to : 0;
      std::fill_n(host->begin() + static_cast<long>(to * part), part, ByteOf(rank, other));
    }
  }
  write(*host);
}

// Whether an operation has given what it must.
inline bool IsRight(const Shape& shape, unsigned rank, unsigned ranks, const std::vector<unsigned char>& got) {
  if (shape.kind == Kind::kAllReduce) {
    const auto* const values = reinterpret_cast<const float*>(got.data());
    const float sum = static_cast<float>(ranks * (ranks + 1) / 2);  // NOLINT: exact
    return std::all_of(values, values + shape.bytes / sizeof(float), [&](float value) { return value == sum; });
  }
  const std::size_t part = shape.bytes / ranks;
  for (std::size_t i = 0; i < part * ranks; ++i) {
    const auto from = static_cast<unsigned>(i / part);
    const unsigned char expected = shape.kind == Kind::kBroadcast  ? ByteOf(0, 0)
                                   : shape.kind == Kind::kAlltoAll ? ByteOf(from, rank)
                                                                   : ByteOf(from, 0);
    if (got[i] != expected) return false;
  }
  return true;
}

}  // namespace millpond::bench

#endif  // BENCH_RANKS_SHAPES_H_

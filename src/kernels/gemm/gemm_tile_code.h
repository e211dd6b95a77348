// SPDX-License-Identifier: Apache-2.0
// What gemm_tile_*.cc compile, each for its processor, each in its unnamed namespace.
#include "src/kernels/gemm/gemm_tile.h"

namespace millpond::kernels {
namespace {

using Lanes = float __attribute__((vector_size(64), aligned(4)));

// How far ahead of their use the columns of the RHS are prefetched, in steps of the depth.
constexpr int64_t kAhead = 16;

// Rows are reached from every third one: an address has a base and once or twice the stride, so that fourteen rows need
// five registers.
constexpr int kReach = 3;

template <int kRows>
struct Bases {
  static constexpr int kCount = (kRows + kReach - 1) / kReach;
  Bases(const float* first, int64_t stride_bytes) {
    for (int i = 0; i < kCount; ++i) at[i] = reinterpret_cast<const char*>(first) + i * kReach * stride_bytes;
  }
  const char* at[kCount];
};

template <int kRows>
[[gnu::always_inline]] inline void Multiply(Lanes (&sums)[kRows][2], const Bases<kRows>& bases, int64_t stride,
                                            int64_t byte, Lanes rhs0, Lanes rhs1) {
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const char* from = bases.at[row / kReach] + byte + (row % kReach) * stride;
    const float value = *reinterpret_cast<const float*>(from);
    sums[row][0] += rhs0 * value;
    sums[row][1] += rhs1 * value;
  }
}

template <int kRows>
[[gnu::always_inline]] inline void Finish(Lanes (&sums)[kRows][2], const TileCall& call, int group) {
  const Lanes zero{};
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    for (int half = 0; half < 2; ++half) {
      const int64_t at = row * call.out_stride + 16 * half;
      Lanes value = sums[row][half];
      if (call.addend[group] != nullptr) value += *reinterpret_cast<const Lanes*>(call.addend[group] + at);
      if (call.relu) value = value > zero ? value : zero;
      *reinterpret_cast<Lanes*>(call.out[group] + at) = value;
    }
  }
}

// Where the results go, and what is added to them, will be needed only at the end.
template <int kRows>
[[gnu::always_inline]] inline void PrefetchResults(const TileCall& call, int group) {
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    for (int half = 0; half < 2; ++half) __builtin_prefetch(call.out[group] + row * call.out_stride + 16 * half, 1, 3);
  }
  if (call.addend[group] == nullptr) return;
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    for (int half = 0; half < 2; ++half)
      __builtin_prefetch(call.addend[group] + row * call.out_stride + 16 * half, 0, 3);
  }
}

template <int kFirst, int kSecond>
void RunTile(const TileCall& call) {
  PrefetchResults<kFirst>(call, 0);
  if constexpr (kSecond > 0) PrefetchResults<kSecond>(call, 1);
  Lanes sums[kFirst][2];
  Lanes more[kSecond > 0 ? kSecond : 1][2];
  const auto* bias = reinterpret_cast<const Lanes*>(call.bias);
#pragma GCC unroll 16
  for (int row = 0; row < kFirst; ++row) {
    sums[row][0] = bias[0];
    sums[row][1] = bias[1];
  }
#pragma GCC unroll 16
  for (int row = 0; row < kSecond; ++row) {
    more[row][0] = bias[0];
    more[row][1] = bias[1];
  }
  const int64_t stride = call.row_stride * static_cast<int64_t>(sizeof(float));
  const int64_t bytes = call.length * static_cast<int64_t>(sizeof(float));
  const auto* rhs = reinterpret_cast<const Lanes*>(call.rhs);
  const char* next = call.next;
  for (int64_t run = 0; run < call.runs; ++run) {
    const Bases<kFirst> first(call.lhs[0] + call.run_offsets[run], stride);
    const Bases<(kSecond > 0 ? kSecond : 1)> second(call.lhs[kSecond > 0 ? 1 : 0] + call.run_offsets[run], stride);
    for (int64_t byte = 0; byte < bytes; byte += static_cast<int64_t>(sizeof(float))) {
      const Lanes rhs0 = rhs[0];
      const Lanes rhs1 = rhs[1];
      __builtin_prefetch(rhs + 2 * kAhead, 0, 3);
      __builtin_prefetch(rhs + 2 * kAhead + 1, 0, 3);
      __builtin_prefetch(next, 0, 2);
      next += call.next_step;
      rhs += 2;
      Multiply<kFirst>(sums, first, stride, byte, rhs0, rhs1);
      if constexpr (kSecond > 0) Multiply<kSecond>(more, second, stride, byte, rhs0, rhs1);
    }
  }
  Finish<kFirst>(sums, call, 0);
  if constexpr (kSecond > 0) Finish<kSecond>(more, call, 1);
}

}  // namespace
}  // namespace millpond::kernels

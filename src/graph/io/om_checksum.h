// SPDX-License-Identifier: Apache-2.0
// The checksum of `.om` files. Why not a standard one: a table-driven CRC takes a second for a large model, and this
// guards against damage, not forgery. Four lanes of 64-bit words run at memory speed.
#ifndef MILLPOND_SRC_GRAPH_IO_OM_CHECKSUM_H_
#define MILLPOND_SRC_GRAPH_IO_OM_CHECKSUM_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace millpond::io {

// Over all bytes, the 8 at `skip` counted as 0. Every bit of every byte changes the result: each step is a bijection of
// its lane for a given word, and of the word for a given lane.
inline uint64_t OmChecksum(std::span<const std::byte> bytes, size_t skip) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  constexpr uint64_t kMix = 0xD6E8FEB86659FD93;
  constexpr size_t kLanes = 4;
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  const auto step = [&](uint64_t* lane, uint64_t word) { *lane = std::rotl((*lane ^ word) * kOdd, 29); };
  const auto word_at = [&](size_t at, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, count);
    return word;
  };
  size_t at = 0;
  for (size_t i = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t), ++i) {
    // The skipped word is 8-byte aligned, so it is one of these.
    step(&lanes[i % kLanes], at == skip ? 0 : word_at(at, sizeof(uint64_t)));
  }
  if (at < bytes.size()) step(&lanes[0], word_at(at, bytes.size() - at));
  uint64_t result = bytes.size();
  for (const uint64_t lane : lanes) {
    result = (result ^ lane) * kMix;
    result ^= result >> 32;
  }
  return result;
}

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_OM_CHECKSUM_H_

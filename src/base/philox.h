// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10: random words as a pure function of a key and a counter (Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", 2011).
#ifndef MILLPOND_SRC_BASE_PHILOX_H_
#define MILLPOND_SRC_BASE_PHILOX_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace millpond {

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock Philox(uint64_t key, PhiloxBlock counter) {
  auto low = static_cast<uint32_t>(key);
  auto high = static_cast<uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32U) ^ counter[1] ^ low, static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32U) ^ counter[3] ^ high, static_cast<uint32_t>(first)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return counter;
}

// The counter advanced by so many blocks, as a 128-bit number.
inline PhiloxBlock Advanced(PhiloxBlock counter, uint64_t blocks) {
  uint64_t carry = 0;
  for (size_t i = 0; i < counter.size(); ++i) {
    const uint64_t part = i == 0 ? blocks & 0xFFFFFFFFU : i == 1 ? blocks >> 32U : 0;
    const uint64_t sum = counter[i] + part + carry;
    counter[i] = static_cast<uint32_t>(sum);
    carry = sum >> 32U;
  }
  return counter;
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_PHILOX_H_

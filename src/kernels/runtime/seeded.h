// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_SEEDED_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_SEEDED_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Where an operation's random numbers begin. In a captured graph the two numbers lie on the device, so that a replay
// can go on where the last one ended; `extra` is the operation's place in the graph.
struct Seeded {
  int64_t seed;
  int64_t offset;

  Seeded(int64_t seed_value, int64_t offset_value) : seed(seed_value), offset(offset_value) {}
  Seeded(const Operand& given_seed, const Operand& given_offset, int64_t extra)
      : seed(given_seed.value("seedTensor").toLong()), offset(given_offset.value("offsetTensor").toLong() + extra) {}

  at::Generator generator() const { return MakeGenerator(seed, offset); }
};

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_SEEDED_H_

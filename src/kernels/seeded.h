// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_SEEDED_H_
#define MILLPOND_SRC_KERNELS_SEEDED_H_

#include "src/kernels/kernel.h"

namespace millpond::kernels {

// Where an operation's random numbers begin. In a captured graph the two numbers lie on the device, so that a replay
// can go on where the last one ended; `extra` is the operation's place in the graph.
struct Seeded {
  int64_t seed;
  int64_t offset;

  Seeded(int64_t seed_value, int64_t offset_value) : seed(seed_value), offset(offset_value) {}
  Seeded(const Tensor& seed_tensor, const Tensor& offset_tensor, int64_t extra)
      : seed(One(seed_tensor, "seedTensor")), offset(One(offset_tensor, "offsetTensor") + extra) {}

  at::Generator generator() const { return MakeGenerator(seed, offset); }

 private:
  static int64_t One(const Tensor& tensor, const char* name) {
    TORCH_CHECK(tensor.numel() == 1, name, " has ", tensor.numel(), " elements; it must have one");
    return tensor.item().toLong();
  }
};

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_SEEDED_H_

// SPDX-License-Identifier: Apache-2.0
// Memory for the intermediate results of kernels, kept between them. malloc gives large blocks of a worker's thread
// back to the system each time, and touching fresh pages costs more than most kernels that need them.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_SCRATCH_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_SCRATCH_H_

#include <c10/core/Allocator.h>

#include <cstddef>

namespace millpond::kernels {

// Sizes worth keeping; what is larger is rare and would pin memory.
inline constexpr size_t kMinScratch = size_t{64} << 10;
inline constexpr size_t kMaxScratch = size_t{64} << 20;

// pre: kMinScratch <= bytes <= kMaxScratch. `base` provides what is not there yet.
c10::DataPtr TakeScratch(size_t bytes, c10::Allocator* base);

// Gives back what nobody uses.
void DropScratch();

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_SCRATCH_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_OPS_RESIZE_AXES_H_
#define MILLPOND_SRC_OPS_RESIZE_AXES_H_

#include <cstdint>
#include <span>

#include "src/base/status.h"

namespace millpond {

// What Resize makes of a dimension: its new size, and how many times as large it is. Kernel and rule must agree.
struct ResizeAxis {
  int64_t size;
  double scale;
};
// One for each dimension of x. `scales` or `sizes` is empty; no axes: all of them.
Status ResizeAxes(std::span<const int64_t> dims, std::span<const double> scales, std::span<const int64_t> sizes,
                  std::span<const int64_t> axes, int64_t policy, std::span<ResizeAxis> out);

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_RESIZE_AXES_H_

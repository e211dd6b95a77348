// SPDX-License-Identifier: Apache-2.0
// Maxima of windows with channels last, float32, without positions: ATen's only form also finds those, and takes four
// times as long.
#ifndef MILLPOND_SRC_KERNELS_NN_MAX_POOL_LAST_H_
#define MILLPOND_SRC_KERNELS_NN_MAX_POOL_LAST_H_

#include <cstdint>

namespace millpond::kernels {

struct MaxPoolShape {
  int64_t batch, height, width, channels;
  int64_t out_height, out_width;
  int64_t window[2] = {}, stride[2] = {}, dilation[2] = {}, before[2] = {};  // y, x; `before`: padding at the beginning
};

// A NaN in a window is its maximum, as ATen has it; a window with nothing of x in it gives -infinity.
void MaxPoolChannelsLast(const float* x, const MaxPoolShape& shape, float* y);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_NN_MAX_POOL_LAST_H_

// SPDX-License-Identifier: Apache-2.0
// GE's lists have an entry for each dimension of a tensor, in the order of its format. ATen wants channels first, and
// the spatial entries alone.
#ifndef MILLPOND_SRC_KERNELS_GE_LAYOUT_H_
#define MILLPOND_SRC_KERNELS_GE_LAYOUT_H_

#include <vector>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// "NCHW", "NHWC", "HWCN", "NCDHW", "NDHWC", "DHWCN": that of the tensor, or `otherwise` where it says nothing.
string_view LayoutOf(const Tensor& tensor, string_view otherwise);

// The dimensions of `layout` in the order of `wanted`; fails when a letter is missing.
std::vector<int64_t> OrderOf(string_view layout, string_view wanted);

// A view with channels first (NCHW, NCDHW).
Tensor ChannelsFirst(const Tensor& tensor, string_view layout);

// The entries of D, H, W out of one for each dimension. A list with only the spatial entries stays as it is.
std::vector<int64_t> SpatialEntries(IntArrayRef list, string_view layout, const char* name);

// Padding of each spatial dimension at both ends.
struct Padding {
  std::vector<int64_t> before, after;
  bool symmetric() const { return before == after; }
  // As constant_pad_nd wants it: the last dimension first.
  std::vector<int64_t> AtenOrder() const;
};
// pads: before and after for each spatial dimension.
Padding PaddingFrom(IntArrayRef pads, size_t spatial);
// TensorFlow's SAME: as many windows as strides fit, what is odd at the end.
Padding SamePadding(IntArrayRef input, IntArrayRef window, IntArrayRef stride);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GE_LAYOUT_H_

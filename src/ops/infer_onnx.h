// SPDX-License-Identifier: Apache-2.0
// Rules of the operators that only ONNX has (src/ops/table/onnx.ops), in the form of infer.h's. Lists have an entry for
// each spatial dimension, channels are dimension 1; pads are all begins, then all ends.
#ifndef MILLPOND_SRC_OPS_INFER_ONNX_H_
#define MILLPOND_SRC_OPS_INFER_ONNX_H_

#include "src/ops/row.h"

namespace millpond::infer {

// NOLINTBEGIN(readability-identifier-naming): names of the text format

// windows_over(x, kernel, strides, pads, dilations, ceil).
Status windows_over(const InferArgs& args, Shape* out);
// filtered(x, filter, strides, pads, dilations); spread(x, filter, strides, pads, dilations, outputPadding, groups).
Status filtered(const InferArgs& args, Shape* out);
Status spread(const InferArgs& args, Shape* out);
// resampled(x, scales, sizes, axes, policy).
Status resampled(const InferArgs& args, Shape* out);
// same_or_flat(x, axis), along(x, axis): axis -1000 stands for all elements in a row.
Status same_or_flat(const InferArgs& args, Shape* out);
Status along(const InferArgs& args, Shape* out);
// kept_boxes(scores): [all, 3].
Status kept_boxes(const InferArgs& args, Shape* out);
// recurrent_steps(x, r, layout), recurrent_last(x, r, layout).
Status recurrent_steps(const InferArgs& args, Shape* out);
Status recurrent_last(const InferArgs& args, Shape* out);
// spectrum(x, length, axis, inverse, onesided).
Status spectrum(const InferArgs& args, Shape* out);
// blocks_back(x, image, block): [N, C / elements of a block, image...].
Status blocks_back(const InferArgs& args, Shape* out);
// without_matrix(x): without the last two dimensions.
Status without_matrix(const InferArgs& args, Shape* out);

// NOLINTEND(readability-identifier-naming)

}  // namespace millpond::infer

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

#endif  // MILLPOND_SRC_OPS_INFER_ONNX_H_

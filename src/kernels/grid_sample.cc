// SPDX-License-Identifier: Apache-2.0
// Sampling at given points.
#include "src/kernels/kernel.h"
#include "src/kernels/lend.h"
#include "src/kernels/masks.h"

namespace millpond::kernels {

MP_KERNEL(aclnnAffineGrid, const Tensor& theta, IntArrayRef size, bool align, Tensor& out) {
  Produce(out, [&] { return at::affine_grid_generator(theta, size, align); });
}

MP_KERNEL(aclnnGridSampler2D, const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding,
          bool align, Tensor& out) {
  Produce(out, [&] { return at::grid_sampler_2d(input, grid, interpolation, padding, align); });
}
MP_KERNEL(aclnnGridSampler2DBackward, const Tensor& grad, const Tensor& input, const Tensor& grid,
          int64_t interpolation, int64_t padding, bool align, BoolArray mask, Tensor* input_grad, Tensor* grid_grad) {
  const auto wanted = WantedOutputs<2>(mask, {input_grad, grid_grad});
  const auto [to_input, to_grid] =
      at::grid_sampler_2d_backward(grad, input, grid, interpolation, padding, align, wanted);
  if (wanted[0]) Write(input_grad, to_input);
  if (wanted[1]) Write(grid_grad, to_grid);
}

MP_KERNEL(aclnnGridSampler3D, const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding,
          bool align, Tensor& out) {
  Produce(out, [&] { return at::grid_sampler_3d(input, grid, interpolation, padding, align); });
}
MP_KERNEL(aclnnGridSampler3DBackward, const Tensor& grad, const Tensor& input, const Tensor& grid,
          int64_t interpolation, int64_t padding, bool align, BoolArray mask, Tensor* input_grad, Tensor* grid_grad) {
  const auto wanted = WantedOutputs<2>(mask, {input_grad, grid_grad});
  const auto [to_input, to_grid] =
      at::grid_sampler_3d_backward(grad, input, grid, interpolation, padding, align, wanted);
  if (wanted[0]) Write(input_grad, to_input);
  if (wanted[1]) Write(grid_grad, to_grid);
}

}  // namespace millpond::kernels

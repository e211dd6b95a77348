// SPDX-License-Identifier: Apache-2.0
// Sampling at given points.
#include "src/kernels/nn/masks.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {

MP_KERNEL(aclnnAffineGrid, const Tensor& theta, IntArrayRef size, bool align, Tensor& out) {
  Produce(out, [&] { return at::affine_grid_generator(theta, size, align); });
}

// In two dimensions or three.
MP_WIDE_KERNEL(GridSampler, const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool align,
               Tensor& out) {
  const auto sample = input.dim() == 4 ? &at::grid_sampler_2d : &at::grid_sampler_3d;
  Produce(out, [&] { return sample(input, grid, interpolation, padding, align); });
}
MP_WIDE_KERNEL(GridSamplerBackward, const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t interpolation,
               int64_t padding, bool align, BoolArray mask, Tensor* input_grad, Tensor* grid_grad) {
  const auto wanted = WantedOutputs<2>(mask, {input_grad, grid_grad});
  const auto backward = input.dim() == 4 ? &at::grid_sampler_2d_backward : &at::grid_sampler_3d_backward;
  const auto [to_input, to_grid] = backward(grad, input, grid, interpolation, padding, align, wanted);
  if (wanted[0]) Write(input_grad, to_input);
  if (wanted[1]) Write(grid_grad, to_grid);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Sampling at given points.
#include "src/kernels/nn/masks.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

// ATen leaves the output as it was for a mode that it does not know.
void CheckModes(int64_t interpolation, int64_t padding) {
  TORCH_CHECK(interpolation >= 0 && interpolation <= 2 && padding >= 0 && padding <= 2, "interpolationMode is ",
              interpolation, " and paddingMode ", padding, "; they must be 0, 1 or 2");
}

// And reads a gradient of whatever size as if it were the output's.
void CheckGradient(const Tensor& grad, const Tensor& input, const Tensor& grid) {
  TORCH_CHECK(grad.dim() == input.dim() && grid.dim() == input.dim() &&
                  grad.sizes().slice(0, 2) == input.sizes().slice(0, 2) &&
                  grad.sizes().slice(2) == grid.sizes().slice(1, grid.dim() - 2),
              "gradOutput has shape ", grad.sizes(), "; input has ", input.sizes(), " and grid ", grid.sizes());
}

}  // namespace

MP_WIDE_KERNEL(aclnnAffineGrid, const Tensor& theta, IntArrayRef size, bool align, Tensor& out) {
  Produce(out, [&] { return at::affine_grid_generator(theta, size, align); });
}

// In two dimensions or three.
MP_WIDE_KERNEL(GridSampler, const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool align,
               Tensor& out) {
  CheckModes(interpolation, padding);
  const auto sample = input.dim() == 4 ? &at::grid_sampler_2d : &at::grid_sampler_3d;
  Produce(out, [&] { return sample(input, grid, interpolation, padding, align); });
}
MP_WIDE_KERNEL(GridSamplerBackward, const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t interpolation,
               int64_t padding, bool align, BoolArray mask, Tensor* input_grad, Tensor* grid_grad) {
  CheckModes(interpolation, padding);
  CheckGradient(grad, input, grid);
  const auto wanted = WantedOutputs<2>(mask, {input_grad, grid_grad});
  const auto backward = input.dim() == 4 ? &at::grid_sampler_2d_backward : &at::grid_sampler_3d_backward;
  const auto [to_input, to_grid] = backward(grad, input, grid, interpolation, padding, align, wanted);
  if (wanted[0]) Write(input_grad, to_input);
  if (wanted[1]) Write(grid_grad, to_grid);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Pooling by maxima. Gradients that meet in one place are summed in float. Indices are flat positions in the input's
// plane (or volume) of the type the caller gives.
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// The mask of MaxPool2dWithMask is a buffer of bytes that only its backward operator reads. We keep 32-bit positions
// in it, from its beginning. A 1x1 window leaves less room than that, but then the position can be found again.
std::optional<Tensor> PositionsIn(const Tensor& mask, IntArrayRef shape) {
  TORCH_CHECK(mask.is_contiguous(), "the mask must be contiguous");
  const int64_t needed = c10::multiply_integers(shape) * static_cast<int64_t>(sizeof(int32_t));
  if (mask.numel() * static_cast<int64_t>(mask.element_size()) < needed) return std::nullopt;
  return at::from_blob(mask.data_ptr(), shape, at::TensorOptions().dtype(at::kInt));
}

// The positions are the client's, and ATen writes there.
void CheckPositions(const Tensor& indices, const Tensor& self, int64_t spatial) {
  TORCH_CHECK(self.dim() > spatial, "self has ", self.dim(), " dimensions; it needs more than ", spatial);
  CheckPlaces("indices", indices, c10::multiply_integers(self.sizes().slice(self.dim() - spatial)));
}

void AdaptiveMaxPool(std::tuple<Tensor, Tensor> (*pool)(const Tensor&, IntArrayRef), const Tensor& self,
                     IntArrayRef size, Tensor& out, Tensor& indices) {
  const Loan loan({&out});
  const auto [value, positions] = pool(self, size);
  DeliverAll({{&out, value}, {&indices, positions}});
}

}  // namespace

MP_KERNEL(MaxPoolWithIndices, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
          IntArrayRef dilation, bool ceil, int64_t dimensions, Tensor& out, Tensor& indices) {
  const Loan loan({&out});
  const auto pool = dimensions == 2 ? &at::max_pool2d_with_indices : &at::max_pool3d_with_indices;
  const auto [value, positions] = pool(self, kernel, stride, padding, dilation, ceil);
  DeliverAll({{&out, value}, {&indices, positions}});
}
MP_WIDE_KERNEL(MaxPoolWithIndicesBackward, const Tensor& grad, const Tensor& self, const Tensor& indices,
               IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil,
               int64_t dimensions, Tensor& grad_input) {
  CheckPositions(indices, self, dimensions);
  TORCH_CHECK(indices.sizes() == grad.sizes(), "indices have shape ", indices.sizes(), ", the gradient ", grad.sizes());
  const auto backward = dimensions == 2 ? &at::max_pool2d_with_indices_backward : &at::max_pool3d_with_indices_backward;
  Produce(grad_input,
          [&] { return backward(grad, self, kernel, stride, padding, dilation, ceil, indices.to(at::kLong)); });
}

MP_KERNEL(aclnnMaxPool2dWithMask, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
          IntArrayRef dilation, bool ceil, Tensor& out, Tensor& mask) {
  const Loan loan({&out});
  const auto [value, positions] = at::max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil);
  if (auto kept = PositionsIn(mask, positions.sizes())) kept->copy_(positions);
  Deliver(out, value);
}
MP_WIDE_KERNEL(aclnnMaxPool2dWithMaskBackward, const Tensor& grad_output, const Tensor& self, const Tensor& mask,
               IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil,
               Tensor& grad_input) {
  const auto kept = PositionsIn(mask, grad_output.sizes());
  const Tensor positions =
      kept ? kept->to(at::kLong)
           : std::get<1>(at::max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil));
  CheckPositions(positions, self, 2);
  Write(grad_input,
        at::max_pool2d_with_indices_backward(grad_output, self, kernel, stride, padding, dilation, ceil, positions));
}

MP_KERNEL(aclnnAdaptiveMaxPool2d, const Tensor& self, IntArrayRef size, Tensor& out, Tensor& indices) {
  AdaptiveMaxPool(&at::adaptive_max_pool2d, self, size, out, indices);
}
MP_WIDE_KERNEL(aclnnAdaptiveMaxPool2dBackward, const Tensor& grad_output, const Tensor& self, const Tensor& indices,
               Tensor& grad_input) {
  CheckPositions(indices, self, 2);
  Produce(grad_input, [&] { return at::adaptive_max_pool2d_backward(grad_output, self, indices.to(at::kLong)); });
}
MP_KERNEL(aclnnAdaptiveMaxPool3d, const Tensor& self, IntArrayRef size, Tensor& out, Tensor& indices) {
  AdaptiveMaxPool(&at::adaptive_max_pool3d, self, size, out, indices);
}
MP_WIDE_KERNEL(aclnnAdaptiveMaxPool3dBackward, const Tensor& grad_output, const Tensor& self, const Tensor& indices,
               Tensor& grad_input) {
  CheckPositions(indices, self, 3);
  // ATen reads the indices as if they were contiguous.
  Produce(grad_input,
          [&] { return at::adaptive_max_pool3d_backward(grad_output, self, indices.to(at::kLong).contiguous()); });
}

}  // namespace millpond::kernels

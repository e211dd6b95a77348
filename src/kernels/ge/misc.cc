// SPDX-License-Identifier: Apache-2.0
// Operators of GE that no aclnn function has.
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_KERNEL(GeFft, const Tensor& x, int64_t dims, Tensor& y) { Write(y, dims == 2 ? at::fft_fft2(x) : at::fft_fft(x)); }

MP_KERNEL(GeEinsum, TensorList x, string_view equation, Tensor& y) {
  Write(y, at::einsum(c10::string_view(equation.data(), equation.size()), x));
}

// Weights are [matrices, layers, rows, columns]; an index below zero leaves its row alone.
MP_KERNEL(GeAddLora, const Tensor& y, const Tensor& x, const Tensor& weight_b, const Tensor& indices,
          const OptTensor& weight_a, int64_t layer, double scale, int64_t offset, int64_t size, Tensor& out) {
  const int64_t width = size < 0 ? y.size(1) - offset : size;
  TORCH_CHECK(offset >= 0 && offset + width <= y.size(1), "columns ", offset, " to ", offset + width, " of ",
              y.size(1));
  const Tensor of_row = Long(indices).reshape({-1});
  const Tensor chosen = of_row.clamp_min(0);
  const auto matrices = [&](const Tensor& weight) {
    return weight.select(1, layer).to(at::kFloat).index_select(0, chosen);
  };
  Tensor value = x.to(at::kFloat).unsqueeze(-1);
  if (weight_a.has_value()) value = at::bmm(matrices(*weight_a), value);
  value = at::bmm(matrices(weight_b), value).squeeze(-1).mul_(scale).mul_(of_row.ge(0).unsqueeze(1));
  StartFrom(y, out);
  Tensor part = out.narrow(1, offset, width);
  part.copy_(part.to(at::kFloat).add(value));
}

}  // namespace millpond::kernels

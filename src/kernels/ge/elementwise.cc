// SPDX-License-Identifier: Apache-2.0
// Elementwise operators that only the GE door has.
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {

MP_KERNEL(GeluByName, const Tensor& self, string_view approximate, Tensor& out) {
  at::gelu_out(out, self, approximate);
}

MP_KERNEL(AddMembers, TensorList members, int64_t count, Tensor& out) {
  TORCH_CHECK(!members.empty() && static_cast<size_t>(count) == members.size(), "N is ", count, " for ", members.size(),
              " members");
  Tensor sum = members[0].clone();
  for (const Tensor& member : members.slice(1)) sum.add_(member);
  Write(out, sum);
}

MP_KERNEL(SquaredDifference, const Tensor& self, const Tensor& other, Tensor& out) {
  const Tensor difference = at::sub(self, other);
  Write(out, at::mul(difference, difference));
}

MP_KERNEL(BiasAdd, const Tensor& self, const Tensor& bias, string_view data_format, Tensor& out) {
  // N comes first, and C second unless it comes last.
  const bool channel_last = !data_format.empty() && data_format.back() == 'C';
  TORCH_CHECK(self.dim() >= 2 && bias.dim() == 1, "an operand of shape ", self.sizes(), " and a bias of shape ",
              bias.sizes(), "; at least 2 dimensions and exactly 1 are needed");
  const int64_t channel = channel_last ? self.dim() - 1 : 1;
  TORCH_CHECK(bias.numel() == self.size(channel), "the bias has ", bias.numel(), " elements for ", self.size(channel),
              " channels");
  std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
  shape[static_cast<size_t>(channel)] = bias.numel();
  at::add_out(out, self, bias.reshape(shape));
}

}  // namespace millpond::kernels

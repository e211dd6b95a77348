// SPDX-License-Identifier: Apache-2.0
// What the activations share with their gradients.
#ifndef MILLPOND_SRC_KERNELS_NN_ACTIVATION_H_
#define MILLPOND_SRC_KERNELS_NN_ACTIVATION_H_

#include <vector>

#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {

// fast_gelu(x) = x * sigmoid(1.702 x)
inline constexpr double kFastGeluSlope = 1.702;

inline string_view GeluKind(int64_t approximate) {
  TORCH_CHECK(approximate == 0 || approximate == 1, "approximate is ", approximate,
              "; it must be 0 (none) or 1 (tanh)");
  return approximate == 0 ? "none" : "tanh";
}

// Which half is activated and which multiplies it.
struct Gate {
  Tensor gate;
  Tensor up;
};
inline Gate GateOf(const Tensor& x, int64_t dim, bool activate_left) {
  TORCH_CHECK(x.dim() > 0 && x.size(dim) % 2 == 0, "dimension ", dim, " of an operand of shape ", x.sizes(),
              " cannot be split into two halves");
  const int64_t half = x.size(dim) / 2;
  const Tensor left = x.narrow(dim, 0, half);
  const Tensor right = x.narrow(dim, half, half);
  return activate_left ? Gate{left, right} : Gate{right, left};
}

// A weight per channel, ready to broadcast. One that has the operand's rank already is taken as it is.
inline Tensor PerChannel(const Tensor& weight, const Tensor& self) {
  if (weight.dim() == self.dim() || weight.numel() == 1) {
    return weight.dim() > self.dim() ? weight.reshape({}) : weight;
  }
  TORCH_CHECK(self.dim() >= 2 && weight.numel() == self.size(1), "the weight has ", weight.numel(),
              " elements; it must have one, or one for each channel of an operand of shape ", self.sizes());
  std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
  shape[1] = weight.numel();
  return weight.reshape(shape);
}

// beta * tanh(gate / beta) * sigmoid(gate) times the other half, which is bent likewise where linear_beta is above 0.
inline Tensor Situ(const Gate& halves, double beta, double linear_beta) {
  TORCH_CHECK(beta != 0, "beta is 0");
  const Tensor bent = linear_beta > 0 ? at::div(halves.up, linear_beta).tanh_().mul_(linear_beta) : halves.up;
  return at::div(halves.gate, beta).tanh_().mul_(beta).mul_(at::sigmoid(halves.gate)).mul_(bent);
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_NN_ACTIVATION_H_

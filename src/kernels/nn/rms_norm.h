// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_NN_RMS_NORM_H_
#define MILLPOND_SRC_KERNELS_NN_RMS_NORM_H_

#include <ATen/core/Tensor.h>

namespace millpond::kernels {

at::ScalarType StatisticsType(at::ScalarType type);

// In the type of statistics: float, or double for double.
struct RmsNormResult {
  at::Tensor y;
  at::Tensor rstd;  // gamma's dimensions as ones
};

struct RmsNormGrads {
  at::Tensor x;
  at::Tensor gamma;
};

RmsNormResult RmsNorm(const at::Tensor& x, const at::Tensor& gamma, double eps, double gamma_offset = 0);
RmsNormGrads RmsNormBackward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& rstd,
                             const at::Tensor& gamma);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_NN_RMS_NORM_H_

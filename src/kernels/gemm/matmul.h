// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_GEMM_MATMUL_H_
#define MILLPOND_SRC_KERNELS_GEMM_MATMUL_H_

#include <ATen/core/Tensor.h>

namespace millpond::kernels {

// out = self x mat2 for any ranks, as torch.matmul, straight into `out` where that is possible.
void Multiply(at::Tensor& out, const at::Tensor& self, const at::Tensor& mat2);

// Refuses a tensor of a private format that was not given as one (the frame reads those that were). pre: `tensor` is an
// argument of the running kernel.
void CheckPlain(const at::Tensor& tensor, const char* name);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GEMM_MATMUL_H_

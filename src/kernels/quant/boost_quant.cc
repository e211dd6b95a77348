// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_KERNEL(AtbQuantize, const Tensor& x, const Tensor& scale, const OptTensor& offset, Tensor& y) {
  Tensor value = x.to(at::kFloat).div(scale.to(at::kFloat)).round();
  if (offset && offset->numel() != 0) value = value.add(offset->to(at::kFloat));
  WriteQuantized(y, value);
}

MP_KERNEL(AtbDequantize, const Tensor& y, const Tensor& scale, const OptTensor& offset, Tensor& out) {
  Tensor value = y.to(at::kFloat);
  if (offset && offset->numel() != 0) value = value.sub(offset->to(at::kFloat));
  Write(out, value.mul(scale.to(at::kFloat)));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Writing where a mask says so, and along the diagonal.
#include <cmath>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Page "aclnnInplaceFillDiagonal": a value beyond the type is refused. ATen wraps it.
void CheckFits(const Scalar& value, ScalarType type) {
  if (value.isComplex() || at::isComplexType(type) || type == at::kBool || !std::isfinite(value.toDouble())) return;
  const double kept = at::scalar_tensor(value, at::TensorOptions(at::kDouble)).to(type).item().toDouble();
  const bool fits =
      at::isIntegralType(type, /*includeBool=*/false) ? kept == std::trunc(value.toDouble()) : std::isfinite(kept);
  TORCH_CHECK(fits, "fillValue is ", value.toDouble(), "; ", type, " cannot hold it");
}

}  // namespace

MP_KERNEL(MaskedFill, Tensor& self, const Tensor& mask, const Operand& value) {
  self.masked_fill_(mask.to(at::kBool), value.value("value"));
}
MP_KERNEL(aclnnInplaceMaskedScatter, Tensor& self, const Tensor& mask, const Tensor& source) {
  self.masked_scatter_(mask.to(at::kBool), source);
}
MP_KERNEL(aclnnInplaceFillDiagonal, Tensor& self, const Scalar& value, bool wrap) {
  CheckFits(value, self.scalar_type());
  self.fill_diagonal_(value, wrap);
}

}  // namespace millpond::kernels

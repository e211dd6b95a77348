// SPDX-License-Identifier: Apache-2.0
// Dropout: the mask made and applied, apart or together.
#include "src/kernels/nn/keep_mask.h"
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/runtime/seeded.h"

namespace millpond::kernels {
namespace {

void DoMask(const Tensor& self, const Tensor& mask, double scale, Tensor& out) {
  const ScalarType type = self.scalar_type();
  TORCH_CHECK(at::isFloatingType(type), "dropout needs a floating-point tensor; this one is ", type);
  const ScalarType factor_type = type == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor factors = KeepFactors(mask, self.sizes(), scale, factor_type);
  if (factor_type == type && out.scalar_type() == type) {
    at::mul_out(out, self, factors);
  } else {
    Write(out, at::mul(self, factors));
  }
}

}  // namespace

MP_KERNEL(DropoutMask, IntArrayRef shape, double drop, const Operand& seed, const Operand& offset, int64_t extra,
          Tensor& out) {
  const Seeded start(seed, offset, extra);
  FillKeepMask(out, c10::multiply_integers(shape), drop, start.seed, start.offset);
}
MP_KERNEL(aclnnDropoutDoMask, const Tensor& self, const Tensor& mask, double drop, Tensor& out) {
  DoMask(self, mask, KeepScale(drop), out);
}
MP_KERNEL(aclnnDropoutV3Grad, const Tensor& grad, const Tensor& mask, double scale, Tensor& out) {
  DoMask(grad, mask, scale, out);
}
MP_KERNEL(Dropout, const Tensor& input, double drop, const Operand& seed, const Operand& offset, int64_t extra,
          Tensor& out, Tensor& mask) {
  const Seeded start(seed, offset, extra);
  FillKeepMask(mask, input.numel(), drop, start.seed, start.offset);
  DoMask(input, mask, KeepScale(drop), out);
}

// Where nothing is left to chance the mask stays as it is, as the page says.
MP_KERNEL(aclnnDropout, const Tensor& input, double drop, bool train, int64_t seed, int64_t offset, Tensor& out,
          Tensor& mask) {
  TORCH_CHECK(drop >= 0 && drop <= 1, "p is ", drop, "; it must be in [0, 1]");
  if (!train || drop == 0) return Write(out, input);
  if (drop == 1) {
    out.zero_();
    return;
  }
  FillKeepMask(mask, input.numel(), drop, seed, offset);
  DoMask(input, mask, KeepScale(drop), out);
}

}  // namespace millpond::kernels

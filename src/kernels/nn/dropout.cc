// SPDX-License-Identifier: Apache-2.0
// Dropout: the mask made and applied, apart or together.
#include "src/kernels/nn/keep_mask.h"
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/runtime/seeded.h"

namespace millpond::kernels {
namespace {

void CheckFloating(const Tensor& self) {
  TORCH_CHECK(at::isFloatingType(self.scalar_type()), "dropout needs a floating-point tensor; this one is ",
              self.scalar_type());
}

// What is dropped is 0, whatever it was. With nothing to chance the mask plays no part.
void DropByMask(const Tensor& self, const Tensor& mask, double drop, Tensor& out) {
  CheckFloating(self);
  TORCH_CHECK(drop >= 0 && drop <= 1, "the probability to drop is ", drop, "; it must be in [0, 1]");
  if (drop == 0) return Write(out, self);
  if (drop == 1) {
    out.zero_();
    return;
  }
  KeepScaled(self, mask, KeepScale(drop), out);
}

// The gradient is a product, so that a NaN stays one.
void Multiplied(const Tensor& self, const Tensor& mask, double scale, Tensor& out) {
  const ScalarType type = self.scalar_type();
  CheckFloating(self);
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
  DropByMask(self, mask, drop, out);
}
MP_KERNEL(aclnnDropoutV3Grad, const Tensor& grad, const Tensor& mask, double scale, Tensor& out) {
  Multiplied(grad, mask, scale, out);
}
// Where nothing is left to chance the mask stays as it is, as the pages say.
MP_KERNEL(Dropout, const Tensor& input, double drop, const Operand& seed, const Operand& offset, int64_t extra,
          Tensor& out, Tensor& mask) {
  const Seeded start(seed, offset, extra);
  if (drop != 0 && drop != 1) FillKeepMask(mask, input.numel(), drop, start.seed, start.offset);
  DropByMask(input, mask, drop, out);
}

MP_KERNEL(aclnnDropout, const Tensor& input, double drop, bool train, int64_t seed, int64_t offset, Tensor& out,
          Tensor& mask) {
  const double share = train ? drop : 0;
  if (share != 0 && share != 1) FillKeepMask(mask, input.numel(), share, seed, offset);
  DropByMask(input, mask, share, out);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Dropout: the mask made and applied, apart or together.
#include "src/kernels/keep_mask.h"
#include "src/kernels/outputs.h"
#include "src/kernels/seeded.h"

namespace millpond::kernels {
namespace {

void GenMask(IntArrayRef shape, double drop, const Seeded& at_place, Tensor& out) {
  FillKeepMask(out, c10::multiply_integers(shape), drop, at_place.seed, at_place.offset);
}

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

void Dropout(const Tensor& input, const OptTensor& noise_shape, double drop, const Seeded& at_place, Tensor& out,
             Tensor& mask) {
  TORCH_CHECK(!noise_shape || noise_shape->numel() == 0,
              "a noise shape is not supported; pass NULL: each element is dropped by itself");
  FillKeepMask(mask, input.numel(), drop, at_place.seed, at_place.offset);
  DoMask(input, mask, KeepScale(drop), out);
}

}  // namespace

MP_KERNEL(aclnnDropoutGenMask, IntArrayRef shape, double drop, int64_t seed, int64_t offset, Tensor& out) {
  GenMask(shape, drop, Seeded(seed, offset), out);
}
MP_KERNEL(aclnnDropoutGenMaskV2, IntArrayRef shape, double drop, int64_t seed, int64_t offset, ScalarType,
          Tensor& out) {
  GenMask(shape, drop, Seeded(seed, offset), out);
}
MP_KERNEL(aclnnDropoutGenMaskV2Tensor, IntArrayRef shape, double drop, const Tensor& seed, const Tensor& offset,
          int64_t extra, ScalarType, Tensor& out) {
  GenMask(shape, drop, Seeded(seed, offset, extra), out);
}
MP_KERNEL(aclnnDropoutDoMask, const Tensor& self, const Tensor& mask, double drop, Tensor& out) {
  DoMask(self, mask, KeepScale(drop), out);
}
MP_KERNEL(aclnnDropoutV3Grad, const Tensor& grad, const Tensor& mask, double scale, Tensor& out) {
  DoMask(grad, mask, scale, out);
}
MP_KERNEL(aclnnDropoutV3, const Tensor& input, const OptTensor& noise_shape, double drop, int64_t seed, int64_t offset,
          Tensor& out, Tensor& mask) {
  Dropout(input, noise_shape, drop, Seeded(seed, offset), out, mask);
}
MP_KERNEL(aclnnDropoutV3Tensor, const Tensor& input, const OptTensor& noise_shape, double drop, const Tensor& seed,
          const Tensor& offset, int64_t extra, Tensor& out, Tensor& mask) {
  Dropout(input, noise_shape, drop, Seeded(seed, offset, extra), out, mask);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Random numbers. Each operation's are a pure function of its seed and offset, whichever way the two arrive.
#include "src/kernels/outputs.h"
#include "src/kernels/seeded.h"

namespace millpond::kernels {

MP_KERNEL(aclnnInplaceUniform, Tensor& self, double from, double to, int64_t seed, int64_t offset) {
  self.uniform_(from, to, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnInplaceUniformTensor, Tensor& self, double from, double to, const Tensor& seed, const Tensor& offset,
          int64_t extra) {
  self.uniform_(from, to, Seeded(seed, offset, extra).generator());
}
MP_KERNEL(aclnnInplaceNormal, Tensor& self, double mean, double std, int64_t seed, int64_t offset) {
  self.normal_(mean, std, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnInplaceNormalTensor, Tensor& self, double mean, double std, const Tensor& seed, const Tensor& offset,
          int64_t extra) {
  self.normal_(mean, std, Seeded(seed, offset, extra).generator());
}
MP_KERNEL(aclnnInplaceRandom, Tensor& self, int64_t from, int64_t to, int64_t seed, int64_t offset) {
  self.random_(from, to, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnInplaceRandomTensor, Tensor& self, int64_t from, int64_t to, const Tensor& seed, const Tensor& offset,
          int64_t extra) {
  self.random_(from, to, Seeded(seed, offset, extra).generator());
}
MP_KERNEL(aclnnInplaceRandomWithoutFromTo, Tensor& self, int64_t seed, int64_t offset) {
  self.random_(Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnInplaceRandomWithoutFromToTensor, Tensor& self, const Tensor& seed, const Tensor& offset,
          int64_t extra) {
  self.random_(Seeded(seed, offset, extra).generator());
}
MP_KERNEL(aclnnInplaceBernoulli, Tensor& self, const Scalar& prob, int64_t seed, int64_t offset) {
  self.bernoulli_(prob.toDouble(), Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnInplaceBernoulliTensor, Tensor& self, const Tensor& prob, int64_t seed, int64_t offset) {
  const Tensor chances =
      prob.scalar_type() == at::kDouble || prob.scalar_type() == at::kFloat ? prob : prob.to(at::kFloat);
  self.bernoulli_(Overlap(self, prob) ? chances.clone() : chances, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnSimThreadExponential, Tensor& self, int64_t count, double lambda, int64_t seed, int64_t offset) {
  TORCH_CHECK(count == self.numel(), "count is ", count, ", but self has ", self.numel(), " elements; pass that many");
  self.exponential_(lambda, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnStatelessExponentialTensor, Tensor& self, const Tensor& seed, const Tensor& offset, int64_t extra,
          double lambda) {
  self.exponential_(lambda, Seeded(seed, offset, extra).generator());
}

MP_KERNEL(aclnnNormalFloatFloat, double mean, double std, int64_t seed, int64_t offset, Tensor& out) {
  out.normal_(mean, std, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnNormalFloatTensor, double mean, const Tensor& std, int64_t seed, int64_t offset, Tensor& out) {
  Write(out, at::normal(mean, std, Seeded(seed, offset).generator()));
}
MP_KERNEL(aclnnNormalTensorFloat, const Tensor& mean, double std, int64_t seed, int64_t offset, Tensor& out) {
  Write(out, at::normal(mean, std, Seeded(seed, offset).generator()));
}
MP_KERNEL(aclnnNormalTensorTensor, const Tensor& mean, const Tensor& std, int64_t seed, int64_t offset, Tensor& out) {
  Write(out, at::normal(mean, std, Seeded(seed, offset).generator()));
}

MP_KERNEL(aclnnMultinomial, const Tensor& self, int64_t samples, bool replacement, int64_t seed, int64_t offset,
          Tensor& out) {
  Write(out, at::multinomial(self, samples, replacement, Seeded(seed, offset).generator()));
}
MP_KERNEL(aclnnMultinomialTensor, const Tensor& self, int64_t samples, bool replacement, const Tensor& seed,
          const Tensor& offset, int64_t extra, Tensor& out) {
  Write(out, at::multinomial(self, samples, replacement, Seeded(seed, offset, extra).generator()));
}
MP_KERNEL(aclnnRandperm, int64_t n, int64_t seed, int64_t offset, Tensor& out) {
  Write(out, at::randperm(n, Seeded(seed, offset).generator(), at::TensorOptions().dtype(at::kLong)));
}

MP_KERNEL(aclnnRReluWithNoise, const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
          bool training, int64_t seed, int64_t offset, Tensor& out) {
  at::rrelu_with_noise_out(out, self, noise, lower, upper, training, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnInplaceRReluWithNoise, Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
          bool training, int64_t seed, int64_t offset) {
  at::rrelu_with_noise_(self, noise, lower, upper, training, Seeded(seed, offset).generator());
}

}  // namespace millpond::kernels

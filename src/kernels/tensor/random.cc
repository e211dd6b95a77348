// SPDX-License-Identifier: Apache-2.0
// Random numbers. Each operation's are a pure function of its seed and offset, whichever way the two arrive.
#include "src/kernels/nn/keep_mask.h"
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/runtime/seeded.h"

namespace millpond::kernels {
namespace {

// Page "aclnnBernoulli": the device draws four numbers at a time.
void CheckFours(int64_t offset) { TORCH_CHECK(offset % 4 == 0, "offset is ", offset, "; it must be a multiple of 4"); }

}  // namespace

MP_KERNEL(Uniform, Tensor& self, double from, double to, const Operand& seed, const Operand& offset, int64_t extra) {
  const at::Generator generator = Seeded(seed, offset, extra).generator();
  if (at::isIntegralType(self.scalar_type(), /*includeBool=*/false)) {
    self.copy_(at::empty(self.sizes(), at::kDouble).uniform_(from, to, generator).floor_());
    return;
  }
  self.uniform_(from, to, generator);
}
MP_KERNEL(Normal, Tensor& self, double mean, double std, const Operand& seed, const Operand& offset, int64_t extra) {
  self.normal_(mean, std, Seeded(seed, offset, extra).generator());
}
MP_KERNEL(Random, Tensor& self, int64_t from, int64_t to, const Operand& seed, const Operand& offset, int64_t extra) {
  self.random_(from, to, Seeded(seed, offset, extra).generator());
}
MP_KERNEL(RandomOfType, Tensor& self, const Operand& seed, const Operand& offset, int64_t extra) {
  self.random_(Seeded(seed, offset, extra).generator());
}
// Draws what a dropout's mask of the same seed draws: torch makes dropout in place of this one.
MP_KERNEL(aclnnInplaceBernoulli, Tensor& self, const Scalar& prob, int64_t seed, int64_t offset) {
  CheckFours(offset);
  const double chance = prob.toDouble();
  TORCH_CHECK(chance >= 0 && chance <= 1, "prob is ", chance, "; it must be in [0, 1]");
  Tensor mask = at::empty({(self.numel() + 7) / 8}, at::kByte);
  FillKeepMask(mask, self.numel(), 1.0 - chance, seed, offset);
  self.copy_(KeepFactors(mask, self.sizes(), 1.0, at::kFloat));
}
// Page "aclnnBernoulliTensor": shapes that do not go together go by elements in their order, as far as there are any.
MP_KERNEL(aclnnInplaceBernoulliTensor, Tensor& self, const Tensor& prob, int64_t seed, int64_t offset) {
  CheckFours(offset);
  const Tensor chances =
      prob.scalar_type() == at::kDouble || prob.scalar_type() == at::kFloat ? prob : prob.to(at::kFloat);
  const at::Generator generator = Seeded(seed, offset).generator();
  if (at::is_expandable_to(prob.sizes(), self.sizes())) {
    self.bernoulli_(Overlap(self, prob) ? chances.clone() : chances, generator);
    return;
  }
  const int64_t count = std::min(self.numel(), prob.numel());
  Tensor flat = self.reshape({-1});
  flat.narrow(0, 0, count).bernoulli_(chances.reshape({-1}).narrow(0, 0, count).clone(), generator);
  self.copy_(flat.view(self.sizes()));
}
MP_KERNEL(aclnnSimThreadExponential, Tensor& self, int64_t count, double lambda, int64_t seed, int64_t offset) {
  TORCH_CHECK(count == self.numel(), "count is ", count, ", but self has ", self.numel(), " elements; pass that many");
  self.exponential_(lambda, Seeded(seed, offset).generator());
}
MP_KERNEL(aclnnStatelessExponentialTensor, Tensor& self, const Tensor& seed, const Tensor& offset, int64_t extra,
          double lambda) {
  self.exponential_(lambda, Seeded(Operand(seed), Operand(offset), extra).generator());
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

MP_KERNEL(Multinomial, const Tensor& self, int64_t samples, bool replacement, const Operand& seed,
          const Operand& offset, int64_t extra, Tensor& out) {
  Write(out, at::multinomial(self, samples, replacement, Seeded(seed, offset, extra).generator()));
}
MP_KERNEL(aclnnRandperm, int64_t n, int64_t seed, int64_t offset, Tensor& out) {
  Write(out, at::randperm(n, Seeded(seed, offset).generator(), at::TensorOptions().dtype(at::kLong)));
}

MP_WIDE_KERNEL(aclnnRReluWithNoise, const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
               bool training, int64_t seed, int64_t offset, Tensor& out) {
  TORCH_CHECK(noise.numel() >= self.numel(), "noise has ", noise.numel(), " elements, self ", self.numel());
  const at::Generator generator = Seeded(seed, offset).generator();
  if (noise.sizes() == self.sizes()) {
    at::rrelu_with_noise_out(out, self, noise, lower, upper, training, generator);
    return;
  }
  Tensor drawn = at::empty(self.sizes(), noise.options());
  at::rrelu_with_noise_out(out, self, drawn, lower, upper, training, generator);
  if (training) noise.view({-1}).narrow(0, 0, self.numel()).copy_(drawn.reshape({-1}));
}

}  // namespace millpond::kernels

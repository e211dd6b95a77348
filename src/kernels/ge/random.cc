// SPDX-License-Identifier: Apache-2.0
// Random numbers as GE's operators ask for them. A key is a seed and a counter a place in its sequence, so that a graph
// draws what the same operation draws alone.
#include "src/kernels/nn/keep_mask.h"
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/runtime/seeded.h"

namespace millpond::kernels {
namespace {

// The sum of a tensor's numbers: counters come as [0, offset].
int64_t SumOf(const Tensor& tensor) {
  int64_t sum = 0;
  const Tensor numbers = tensor.reshape({-1});
  for (int64_t i = 0; i < numbers.numel(); ++i) sum += static_cast<int64_t>(numbers[i].item().toLong());
  return sum;
}

int64_t KeyOf(const Tensor& key) {
  TORCH_CHECK(key.numel() >= 1, "the key has no elements; it must have one");
  return static_cast<int64_t>(key.reshape({-1})[0].item().toLong());
}

Seeded From(const Tensor& key, const Tensor& counter) { return {KeyOf(key), SumOf(counter)}; }

void CheckShape(IntArrayRef shape, const Tensor& out) {
  TORCH_CHECK(out.sizes() == shape, "the shape asked for is ", shape, ", the output has ", out.sizes());
}

double ShareOf(const Tensor& prob) {
  TORCH_CHECK(prob.numel() == 1, "the probability has ", prob.numel(), " elements; it must have one");
  return prob.item().toDouble();
}

}  // namespace

MP_KERNEL(GeStatelessUniform, IntArrayRef shape, const Tensor& key, const Tensor& counter, Tensor& y) {
  CheckShape(shape, y);
  y.uniform_(0, 1, From(key, counter).generator());
}
MP_KERNEL(GeStatelessNormal, IntArrayRef shape, const Tensor& key, const Tensor& counter, Tensor& y) {
  CheckShape(shape, y);
  y.normal_(0, 1, From(key, counter).generator());
}
MP_KERNEL(GeRandomUniform, IntArrayRef shape, int64_t seed, int64_t seed2, Tensor& y) {
  CheckShape(shape, y);
  y.uniform_(0, 1, Seeded(seed, seed2).generator());
}
MP_KERNEL(GeRandomNormal, IntArrayRef shape, int64_t seed, int64_t seed2, Tensor& y) {
  CheckShape(shape, y);
  y.normal_(0, 1, Seeded(seed, seed2).generator());
}

MP_KERNEL(GeStatelessBernoulli, IntArrayRef shape, const Tensor& prob, const Tensor& seed, const Tensor& offset,
          Tensor& y) {
  CheckShape(shape, y);
  const at::Generator generator = From(seed, offset).generator();
  if (prob.numel() == 1) {
    y.bernoulli_(ShareOf(prob), generator);
    return;
  }
  const Tensor chances = prob.scalar_type() == at::kDouble ? prob : prob.to(at::kFloat);
  y.bernoulli_(Overlap(y, chances) ? chances.clone() : chances, generator);
}

MP_KERNEL(GeStatelessKeepMask, IntArrayRef shape, const Tensor& prob, const Tensor& seed, const Tensor& seed1,
          const OptTensor& offset, Tensor& y) {
  const int64_t place = (offset.has_value() ? SumOf(*offset) : 0) + SumOf(seed1);
  FillKeepMask(y, c10::multiply_integers(shape), 1 - ShareOf(prob), KeyOf(seed), place);
}
MP_KERNEL(GeKeepMask, IntArrayRef shape, const Tensor& prob, int64_t seed, int64_t seed2, Tensor& y) {
  FillKeepMask(y, c10::multiply_integers(shape), 1 - ShareOf(prob), seed, seed2);
}

MP_KERNEL(GeDoKeepMask, const Tensor& x, const Tensor& mask, const Tensor& keep_prob, Tensor& y) {
  const double keep = ShareOf(keep_prob);
  const double scale = keep > 0 ? 1 / keep : 0;
  // A mask of bools has one for each element: what a graph makes where nothing is dropped.
  const Tensor factors =
      mask.scalar_type() == at::kBool
          ? mask.reshape(x.sizes()).to(at::kFloat).mul_(scale)
          : KeepFactors(mask, x.sizes(), scale, x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  Write(y, at::mul(x, factors));
}

MP_KERNEL(GeStatelessPermutation, int64_t n, const Tensor& seed, const Tensor& offset, Tensor& y) {
  Write(y, at::randperm(n, From(seed, offset).generator(), at::TensorOptions().dtype(at::kLong)));
}
MP_KERNEL(GeMultinomial, const Tensor& x, const Tensor& seed, const Tensor& offset, int64_t samples, bool replacement,
          Tensor& y) {
  // torchair does not pass the flag on: more samples than there are classes can only be meant with replacement.
  Write(y, at::multinomial(x, samples, replacement || samples > x.size(-1), From(seed, offset).generator()));
}

}  // namespace millpond::kernels

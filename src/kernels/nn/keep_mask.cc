// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/nn/keep_mask.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <cmath>

namespace millpond::kernels {
namespace {

constexpr int64_t kBytesPerTask = 1 << 14;

uint64_t Mixed(uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

// Eight bits, each 1 when its share of the random numbers is below the threshold.
uint8_t RandomByte(uint64_t key, int64_t byte, uint64_t keep_below) {
  uint8_t bits = 0;
  for (int pair = 0; pair < 4; ++pair) {
    const uint64_t counter = static_cast<uint64_t>(byte) * 4 + static_cast<uint64_t>(pair) + 1;
    const uint64_t random = Mixed(key + counter * 0x9E3779B97F4A7C15U);
    const auto low = static_cast<uint8_t>((random & 0xFFFFFFFFU) < keep_below);
    const auto high = static_cast<uint8_t>((random >> 32U) < keep_below);
    bits = static_cast<uint8_t>(bits | (low << (2 * pair)) | (high << (2 * pair + 1)));
  }
  return bits;
}

void CheckBits(const Tensor& mask, int64_t elements) {
  TORCH_CHECK(mask.numel() * mask.element_size() * 8 >= elements, "the mask has ", mask.numel() * mask.element_size(),
              " bytes; ", elements, " elements need ", (elements + 7) / 8);
}

// Calls put(i, whether the i-th bit is set).
template <class Put>
void ForEachBit(const Tensor& mask, int64_t elements, const Put& put) {
  CheckBits(mask, elements);
  const Tensor packed = mask.contiguous();
  const auto* bytes = static_cast<const uint8_t*>(packed.data_ptr());
  at::parallel_for(0, elements, kBytesPerTask * 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) put(i, (bytes[i / 8] >> (i % 8)) & 1);
  });
}

}  // namespace

void FillKeepMask(Tensor& mask, int64_t elements, double drop, int64_t seed, int64_t offset) {
  TORCH_CHECK(drop >= 0 && drop <= 1, "the probability to drop is ", drop, "; it must be in [0, 1]");
  TORCH_CHECK(mask.scalar_type() == at::kByte || mask.scalar_type() == at::kChar, "the mask's type is ",
              mask.scalar_type(), "; it must be uint8");
  TORCH_CHECK(mask.is_contiguous(), "the mask must be contiguous");
  TORCH_CHECK(mask.numel() * 8 >= elements, "the mask has ", mask.numel(), " bytes; ", elements, " elements need ",
              (elements + 7) / 8);
  const auto keep_below = static_cast<uint64_t>(std::llround((1.0 - drop) * 4294967296.0));
  const uint64_t key = Mixed(Mixed(static_cast<uint64_t>(seed)) + static_cast<uint64_t>(offset));
  auto* bytes = static_cast<uint8_t*>(mask.data_ptr());
  at::parallel_for(0, mask.numel(), kBytesPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) bytes[i] = RandomByte(key, i, keep_below);
  });
}

void KeepScaled(const Tensor& self, const Tensor& mask, double scale, Tensor& out) {
  TORCH_CHECK(out.sizes() == self.sizes(), "the result has shape ", self.sizes(), ", the output ", out.sizes());
  const ScalarType type = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor from = self.to(type).contiguous();
  const bool direct = out.scalar_type() == type && out.is_contiguous();
  Tensor to = direct ? out : at::empty(self.sizes(), from.options());
  AT_DISPATCH_FLOATING_TYPES(type, "keep_scaled", [&] {
    const auto* values = from.const_data_ptr<scalar_t>();
    auto* kept = to.data_ptr<scalar_t>();
    const auto factor = static_cast<scalar_t>(scale);
    ForEachBit(mask, from.numel(), [=](int64_t i, int bit) { kept[i] = bit != 0 ? values[i] * factor : 0; });
  });
  if (!direct) out.copy_(to);
}

Tensor KeepFactors(const Tensor& mask, IntArrayRef shape, double scale, ScalarType type) {
  Tensor factors = at::empty(shape, at::TensorOptions().dtype(type));
  AT_DISPATCH_FLOATING_TYPES(type, "keep_factors", [&] {
    auto* out = factors.data_ptr<scalar_t>();
    const scalar_t values[] = {0, static_cast<scalar_t>(scale)};
    ForEachBit(mask, factors.numel(), [&](int64_t i, int bit) { out[i] = values[bit]; });
  });
  return factors;
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/attention_rows.h"

#include <algorithm>

// Vectors of the compiler's own, for whatever the processor has. Sums have sixteen lanes everywhere, so that their
// order does not depend on the processor.
#if defined(__x86_64__)
#define MP_VECTORISED __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define MP_VECTORISED  // what the compiler assumes of the processor is enough: aarch64 always has its vectors
#endif

namespace millpond::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr int64_t kLanes = 16;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef int32_t IntLanes __attribute__((vector_size(kLanes * sizeof(int32_t)), aligned(4), may_alias));

// Macros, since a function with vectors in its signature has another ABI on each processor.
#define MP_LANES(pointer) (*reinterpret_cast<Lanes*>(pointer))
#define MP_CONST_LANES(pointer) (*reinterpret_cast<const Lanes*>(pointer))

MP_VECTORISED float ScaledMax(float* row, int64_t count, float scale) {
  Lanes highest = Lanes{} + kHidden;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes value = MP_LANES(row + i) * scale;
    MP_LANES(row + i) = value;
    highest = value > highest ? value : highest;
  }
  float max = kHidden;
  for (; i < count; ++i) {
    row[i] *= scale;
    max = row[i] > max ? row[i] : max;
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) max = highest[lane] > max ? highest[lane] : max;
  return max;
}

// exp(x) for x <= 0, to about one unit in the last place; 0 below -87. By x = n ln2 + r and a polynomial in r.
#define MP_EXP_OF_NEGATIVE(x, result)                                                            \
  do {                                                                                           \
    const Lanes clamped = (x) < -87.0F ? Lanes{} - 87.0F : (x);                                  \
    /* Towards zero after -0.5: the nearest, as x <= 0. */                                       \
    const IntLanes n = __builtin_convertvector(clamped * 1.44269504088896341F - 0.5F, IntLanes); \
    const Lanes whole = __builtin_convertvector(n, Lanes);                                       \
    const Lanes r = (clamped - whole * 0.693359375F) + whole * 2.12194440e-4F;                   \
    Lanes p = r * 1.9875691500e-4F + 1.3981999507e-3F;                                           \
    p = p * r + 8.3334519073e-3F;                                                                \
    p = p * r + 4.1665795894e-2F;                                                                \
    p = p * r + 1.6666665459e-1F;                                                                \
    p = p * r + 5.0000001201e-1F;                                                                \
    p = p * r * r + r + 1.0F;                                                                    \
    const IntLanes bits = (n + 127) << 23;                                                       \
    (result) = (x) < -87.0F ? Lanes{} : p * reinterpret_cast<const Lanes&>(bits);                \
  } while (false)

// row = exp(row * scale - max), and their sum.
MP_VECTORISED float ExpSum(float* row, int64_t count, float scale, float max) {
  Lanes sums = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes x = MP_LANES(row + i) * scale - max;
    Lanes weight;
    MP_EXP_OF_NEGATIVE(x, weight);
    MP_LANES(row + i) = weight;
    sums += weight;
  }
  if (i < count) {
    Lanes rest = Lanes{} + kBlindMax;
    for (int64_t lane = 0; i + lane < count; ++lane) rest[lane] = row[i + lane] * scale - max;
    Lanes weight;
    MP_EXP_OF_NEGATIVE(rest, weight);
    for (int64_t lane = 0; i + lane < count; ++lane) row[i + lane] = weight[lane];
    sums += weight;
  }
  float sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

MP_VECTORISED void Multiply(float* row, int64_t count, float factor) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) MP_LANES(row + i) *= factor;
  for (; i < count; ++i) row[i] *= factor;
}

}  // namespace

MP_VECTORISED void ChangeRow(float* row, const float* weights, int64_t count, float shared, float scale) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    MP_LANES(row + i) = (MP_LANES(row + i) - shared) * MP_CONST_LANES(weights + i) * scale;
  }
  for (; i < count; ++i) row[i] = (row[i] - shared) * weights[i] * scale;
}

MP_VECTORISED float RowDot(const float* a, const float* b, int64_t count) {
  Lanes sums = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sums += MP_CONST_LANES(a + i) * MP_CONST_LANES(b + i);
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

ScoreRows::ScoreRows(const Visibility& visible, const ScoreBlock& block, int64_t batch, int64_t head)
    : visible_(visible), block_(block) {
  if (!visible.masked.defined()) return;
  const Tensor& masked = visible.masked;
  const auto stride = [&](int64_t from_last) {
    return masked.dim() >= from_last && masked.size(-from_last) != 1 ? masked.stride(-from_last) : 0;
  };
  row_stride_ = stride(2);
  key_stride_ = stride(1);
  masked_ = masked.const_data_ptr<bool>() + batch * stride(4) + head * stride(3) + block.row * row_stride_ +
            block.key * key_stride_;
}

// Puts `value` where the row may not look, and returns what the band leaves of it.
Span ScoreRows::Hide(float* row, int64_t i, float value) const {
  const int64_t query = block_.row + i;
  int64_t from = std::clamp<int64_t>(query + visible_.first - block_.key, 0, block_.keys);
  int64_t to = std::clamp<int64_t>(query + visible_.last + 1 - block_.key, from, block_.keys);
  if (visible_.prefix > 0) {
    from = 0;
    to = std::clamp<int64_t>(visible_.prefix - block_.key, to, block_.keys);
  }
  std::fill(row, row + from, value);
  std::fill(row + to, row + block_.keys, value);
  if (masked_ == nullptr) return {from, to - from};
  const bool* masked = masked_ + i * row_stride_;
  for (int64_t key = from; key < to; ++key) {
    if (masked[key * key_stride_]) row[key] = value;
  }
  return {from, to - from};
}

void ScoreRows::Softmax(float* row, int64_t i, double scale, float* max, float* sum) const {
  const Span seen = Hide(row, i, kHidden);
  const float highest = ScaledMax(row + seen.start, seen.length, static_cast<float>(scale));
  if (highest == kHidden) {
    *max = kBlindMax;
    *sum = kBlindSum;
    std::fill(row, row + block_.keys, 0.0F);
    return;
  }
  *max = highest;
  *sum = ExpSum(row + seen.start, seen.length, 1, highest);
  Multiply(row + seen.start, seen.length, 1 / *sum);
  std::fill(row, row + seen.start, 0.0F);
  std::fill(row + seen.start + seen.length, row + block_.keys, 0.0F);
}

void ScoreRows::Weights(float* row, int64_t i, double scale, float max, float sum) const {
  const Span seen = Hide(row, i, 0);
  ExpSum(row + seen.start, seen.length, static_cast<float>(scale), max);
  Multiply(row + seen.start, seen.length, 1 / sum);
  if (masked_ != nullptr) Hide(row, i, 0);
}

}  // namespace millpond::kernels

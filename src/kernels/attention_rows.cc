// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>

// The compiler's own vectors, for whatever the processor has.
#define MP_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))

namespace millpond::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr int64_t kLanes = 16;
constexpr int64_t kElementsPerThread = 16384;

// Independent lanes: the order of additions does not depend on the processor.
MP_VECTORISED float ScaledMax(float* row, int64_t count, float scale) {
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, kHidden);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      row[i + lane] *= scale;
      lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
    }
  }
  for (; i < count; ++i) {
    row[i] *= scale;
    lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
  }
  return *std::max_element(lanes, lanes + kLanes);
}

MP_VECTORISED void Subtract(float* row, int64_t count, float value) {
  for (int64_t i = 0; i < count; ++i) row[i] -= value;
}

MP_VECTORISED void ScaleAndSubtract(float* row, int64_t count, float scale, float value) {
  for (int64_t i = 0; i < count; ++i) row[i] = row[i] * scale - value;
}

MP_VECTORISED void Multiply(float* row, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) row[i] *= factor;
}

MP_VECTORISED float Sum(const float* row, int64_t count) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += row[i + lane];
  }
  for (; i < count; ++i) lanes[0] += row[i];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

MP_VECTORISED void Change(float* row, const float* weights, int64_t count, float shared, float scale) {
  for (int64_t i = 0; i < count; ++i) row[i] = (row[i] - shared) * weights[i] * scale;
}

// What of each row is visible.
class Rows {
 public:
  Rows(const Tensor& scores, const ScoreBlock& block, const Visibility& visible)
      : block_(block), visible_(visible), heads_(scores.size(1)) {
    if (!visible.masked.defined()) return;
    masked_ = visible.masked;
    if (masked_.dim() >= 2 && masked_.size(-2) != 1) masked_ = masked_.narrow(-2, block.row, block.rows);
    if (masked_.dim() >= 1 && masked_.size(-1) != 1) masked_ = masked_.narrow(-1, block.key, block.keys);
    masked_ = masked_.expand(scores.sizes());
  }

  // Puts `value` where row `number` of the block may not look, and returns what the band leaves of it.
  Span Hide(float* row, int64_t number, float value) const {
    const int64_t query = block_.row + number % block_.rows;
    int64_t from = std::clamp<int64_t>(query + visible_.first - block_.key, 0, block_.keys);
    int64_t to = std::clamp<int64_t>(query + visible_.last + 1 - block_.key, from, block_.keys);
    if (visible_.prefix > 0) {
      from = 0;
      to = std::clamp<int64_t>(visible_.prefix - block_.key, to, block_.keys);
    }
    std::fill(row, row + from, value);
    std::fill(row + to, row + block_.keys, value);
    if (masked_.defined()) HideMasked(row, number, {from, to - from}, value);
    return {from, to - from};
  }

 private:
  void HideMasked(float* row, int64_t number, const Span& band, float value) const {
    const int64_t head = number / block_.rows;
    const bool* masked = masked_.const_data_ptr<bool>() + head / heads_ * masked_.stride(0) +
                         head % heads_ * masked_.stride(1) + number % block_.rows * masked_.stride(2);
    const int64_t stride = masked_.stride(3);
    for (int64_t i = band.start; i < band.start + band.length; ++i) {
      if (masked[i * stride]) row[i] = value;
    }
  }

  const ScoreBlock& block_;
  const Visibility& visible_;
  const int64_t heads_;
  Tensor masked_;
};

// body(row, number) for each row of [B, N, rows, keys].
template <class Body>
void ForRows(const Tensor& scores, const Body& body) {
  const int64_t keys = scores.size(3);
  const int64_t count = scores.size(0) * scores.size(1) * scores.size(2);
  float* data = scores.mutable_data_ptr<float>();
  at::parallel_for(0, count, std::max<int64_t>(1, kElementsPerThread / keys), [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) body(data + number * keys, number);
  });
}

}  // namespace

// exp of what is hidden is made 0 afterwards: vector libraries take exp(-inf) one by one, many times as slowly.
void SoftmaxRows(Tensor& scores, const ScoreBlock& block, const Visibility& visible, double scale, Tensor& max,
                 Tensor& sum) {
  float* maxima = max.mutable_data_ptr<float>();
  float* sums = sum.mutable_data_ptr<float>();
  const Rows rows(scores, block, visible);
  ForRows(scores, [&](float* row, int64_t number) {
    const Span seen = rows.Hide(row, number, kHidden);
    const float highest = ScaledMax(row + seen.start, seen.length, static_cast<float>(scale));
    maxima[number] = highest == kHidden ? kBlindMax : highest;
    Subtract(row + seen.start, seen.length, maxima[number]);
    rows.Hide(row, number, 0);
  });
  scores.exp_();
  ForRows(scores, [&](float* row, int64_t number) {
    const Span seen = rows.Hide(row, number, 0);
    const bool blind = maxima[number] == kBlindMax;
    sums[number] = blind ? kBlindSum : Sum(row + seen.start, seen.length);
    Multiply(row + seen.start, seen.length, 1 / sums[number]);
  });
}

void WeightRows(Tensor& scores, const ScoreBlock& block, const Visibility& visible, double scale, const Tensor& max,
                const Tensor& sum) {
  const float* maxima = max.const_data_ptr<float>();
  const float* sums = sum.const_data_ptr<float>();
  const Rows rows(scores, block, visible);
  ForRows(scores, [&](float* row, int64_t number) {
    const Span seen = rows.Hide(row, number, 0);
    ScaleAndSubtract(row + seen.start, seen.length, static_cast<float>(scale), maxima[number]);
    rows.Hide(row, number, 0);
  });
  scores.exp_();
  ForRows(scores, [&](float* row, int64_t number) {
    const Span seen = rows.Hide(row, number, 0);
    Multiply(row + seen.start, seen.length, 1 / sums[number]);
  });
}

void ChangeRows(Tensor& change, const Tensor& weights, const Tensor& shared, double scale) {
  const float* weight = weights.const_data_ptr<float>();
  const float* shares = shared.const_data_ptr<float>();
  const int64_t keys = change.size(3);
  ForRows(change, [&](float* row, int64_t number) {
    Change(row, weight + number * keys, keys, shares[number], static_cast<float>(scale));
  });
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Dropout as ONNX's reference draws it, mel filters, counts of n-grams.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

MP_KERNEL(OwnDropout, const Tensor& x, double ratio, int64_t training, int64_t seed, Tensor& y, Tensor& mask) {
  TORCH_CHECK(ratio >= 0 && ratio < 1, "the ratio is ", ratio, "; it must be at least 0 and below 1");
  if (training == 0 || ratio == 0) {
    mask.fill_(true);
    return Write(y, x);
  }
  std::mt19937 words(seed < 0 ? std::random_device()() : static_cast<uint32_t>(seed));
  Tensor kept = at::empty(x.sizes(), at::kBool);
  bool* out = kept.mutable_data_ptr<bool>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto high = static_cast<double>(words() >> 5U), low = static_cast<double>(words() >> 6U);  // 53 bits
    out[i] = (high * 67108864.0 + low) / 9007199254740992.0 >= ratio;
  }
  Write(mask, kept);
  const ScalarType type = IsHalf(x.scalar_type()) ? at::kFloat : x.scalar_type();
  Write(y, x.to(type).mul(kept).mul(1.0 / (1.0 - ratio)));
}

MP_KERNEL(OwnMelWeights, int64_t bins, int64_t length, int64_t rate, double low, double high, Tensor& y) {
  TORCH_CHECK(bins > 0 && length > 0 && rate > 0, "there are ", bins, " bins, ", length, " samples at ", rate, " Hz");
  const auto mel = [](double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); };
  const double first = mel(low), step = (mel(high) - first) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700.0 * (std::pow(10.0, (static_cast<double>(i) * step + first) / 2595.0) - 1.0);
    const double edge = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    TORCH_CHECK(edge >= 0 && edge <= static_cast<double>(y.size(0)), "edge ", i, " lies at ", edge, " of ", y.size(0));
    edges.push_back(static_cast<int64_t>(edge));
  }
  Tensor result = at::zeros(y.sizes(), at::kDouble);
  auto out = result.accessor<double, 2>();
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t from = edges[at], middle = edges[at + 1], to = edges[at + 2];
    if (from == middle && middle < y.size(0)) out[middle][i] = 1;
    for (int64_t j = from; j <= std::min(middle, y.size(0) - 1) && middle > from; ++j) {
      out[j][i] = static_cast<double>(j - from) / static_cast<double>(middle - from);
    }
    for (int64_t j = middle; j < to; ++j) out[j][i] = static_cast<double>(to - j) / static_cast<double>(to - middle);
  }
  Write(y, result);
}

MP_KERNEL(OwnTfIdf, const Tensor& x, const Tensor& pool, const Tensor& counts, const Tensor& places,
          const Tensor& weights, int64_t width, int64_t least, int64_t most, int64_t skips, string_view mode,
          Tensor& y) {
  const Tensor words = x.to(at::kLong).reshape({x.dim() == 2 ? x.size(0) : 1, -1}).contiguous();
  const auto numbers = [](const Tensor& t) {
    const Tensor flat = t.to(at::kLong).contiguous();
    return std::vector<int64_t>(flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel());
  };
  const std::vector<int64_t> all = numbers(pool), begins = numbers(counts), to = numbers(places);
  std::map<std::vector<int64_t>, size_t> known;  // by the n-gram, its number
  for (size_t n = 1; n <= begins.size(); ++n) {
    const auto begin = static_cast<size_t>(begins[n - 1]);
    const size_t end = n < begins.size() ? static_cast<size_t>(begins[n]) : all.size();
    TORCH_CHECK(begin <= end && end <= all.size() && (end - begin) % n == 0, n, "-grams lie from ", begin, " to ", end,
                " of ", all.size());
    for (size_t i = begin; i < end; i += n) known.try_emplace({all.data() + i, all.data() + i + n}, known.size());
  }
  TORCH_CHECK(known.size() <= to.size(), "there are ", known.size(), " n-grams for ", to.size(), " places");
  const Tensor by = weights.to(at::kDouble).contiguous();
  TORCH_CHECK(by.numel() == 0 || by.numel() == places.numel(), by.numel(), " weights for ", places.numel(), " places");
  Tensor result = at::zeros({words.size(0), width}, at::kDouble);
  auto out = result.accessor<double, 2>();
  for (int64_t row = 0; row < words.size(0); ++row) {
    std::vector<double> found(known.size(), 0);
    const int64_t* text = words.const_data_ptr<int64_t>() + row * words.size(1);
    for (int64_t n = least; n <= most; ++n) {
      for (int64_t step = 1; step <= (n == 1 ? 1 : skips + 1); ++step) {
        for (int64_t first = 0; first + (n - 1) * step < words.size(1); ++first) {
          std::vector<int64_t> gram;
          for (int64_t k = 0; k < n; ++k) gram.push_back(text[first + k * step]);
          if (const auto it = known.find(gram); it != known.end()) ++found[it->second];
        }
      }
    }
    for (size_t i = 0; i < found.size(); ++i) {
      TORCH_CHECK(to[i] >= 0 && to[i] < width, "n-gram ", i, " counts at ", to[i], " of ", width);
      const double weight = by.numel() == 0 ? 1 : by.const_data_ptr<double>()[i];
      const double value = mode == "TF" ? found[i] : (mode == "IDF" ? std::min(found[i], 1.0) : found[i]) * weight;
      out[row][to[i]] = value;
    }
  }
  Write(y, result.reshape(y.sizes()));
}

}  // namespace millpond::kernels

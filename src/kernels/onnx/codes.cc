// SPDX-License-Identifier: Apache-2.0
// Small floats as codes: a byte each, whose values a table tells.
#include <algorithm>
#include <cmath>
#include <vector>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

enum Round : int64_t { kNearest, kUp, kDown };

// What a type has, from the values of its codes.
class Codes {
 public:
  Codes(const double* table, int64_t count) {
    for (int64_t code = 0; code < count; ++code) {
      const double value = table[code];
      if (std::isnan(value)) {
        nan_ = code;
      } else if (std::isinf(value)) {
        (value > 0 ? plus_ : minus_) = code;
      } else if (value != 0 || !std::signbit(value)) {
        sorted_.push_back({value, code});
      } else {
        minus_zero_ = code;
      }
    }
    std::sort(sorted_.begin(), sorted_.end(), [](const One& a, const One& b) { return a.value < b.value; });
    TORCH_CHECK(sorted_.size() > 1, "the table has ", sorted_.size(), " numbers");
    if (nan_ < 0) nan_ = minus_zero_;
  }

  int64_t Of(double x, bool saturate, int64_t round) const {
    if (std::isnan(x)) return nan_;
    if (sorted_.front().value >= 0) x = std::abs(x);  // a type without a sign
    const One& top = sorted_.back();
    const One& bottom = sorted_.front();
    if (x > top.value) return Beyond(x, top, sorted_[sorted_.size() - 2], saturate, plus_);
    if (x < bottom.value && bottom.value < 0) return Beyond(x, bottom, sorted_[1], saturate, minus_);
    const auto high =
        std::lower_bound(sorted_.begin(), sorted_.end(), x, [](const One& one, double v) { return one.value < v; });
    if (high->value == x || high == sorted_.begin()) return Zero(*high, x);
    const One& low = *(high - 1);
    if (round == kUp) return high->code;
    if (round == kDown) return low.code;
    const double below = x - low.value, above = high->value - x;
    const bool up = above < below || (above == below && high->code % 2 == 0);
    return Zero(up ? *high : low, x);
  }

 private:
  struct One {
    double value;
    int64_t code;
  };
  int64_t Zero(const One& one, double x) const {
    return one.value == 0 && std::signbit(x) && minus_zero_ >= 0 ? minus_zero_ : one.code;
  }
  // Past the last: still that one where it is the nearest of those that a larger type would have.
  int64_t Beyond(double x, const One& last, const One& before, bool saturate, int64_t infinity) const {
    const double half = std::abs(last.value - before.value) / 2, past = std::abs(x - last.value);
    if (saturate || past < half || (past == half && last.code % 2 == 0)) return last.code;
    return infinity >= 0 ? infinity : nan_;
  }

  std::vector<One> sorted_;
  int64_t nan_ = -1, plus_ = -1, minus_ = -1, minus_zero_ = -1;
};

}  // namespace

MP_KERNEL(OwnDecode, const Tensor& x, const Tensor& table, Tensor& y) {
  const Tensor codes = x.contiguous().view(at::kByte).to(at::kLong);
  TORCH_CHECK(codes.numel() == 0 || codes.max().item<int64_t>() < table.numel(), "a code is ",
              codes.max().item<int64_t>(), ", and the type has ", table.numel());
  Write(y, table.index_select(0, codes.reshape({-1})).reshape(x.sizes()));
}

MP_KERNEL(OwnEncode, const Tensor& x, const Tensor& table, bool saturate, int64_t round, Tensor& y) {
  const Tensor values = table.to(at::kDouble).contiguous();
  const Codes codes(values.const_data_ptr<double>(), values.numel());
  const Tensor from = x.to(at::kDouble).contiguous();
  Tensor bytes = at::empty(x.sizes(), at::kByte);
  std::transform(from.const_data_ptr<double>(), from.const_data_ptr<double>() + from.numel(),
                 bytes.mutable_data_ptr<uint8_t>(),
                 [&](double value) { return static_cast<uint8_t>(codes.Of(value, saturate, round)); });
  y.view(at::kByte).copy_(bytes);
}

MP_KERNEL(OwnAs, const Tensor& x, Tensor& y) { Write(y, x); }

}  // namespace millpond::kernels

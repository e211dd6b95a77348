// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/quant/quantized.h"

#include <bit>
#include <cmath>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kBlock = 32;
constexpr int64_t kInt4PerInt32 = 8;

double LargestOf(ScalarType type) {
  switch (type) {
    case at::kChar:
      return 127;
    case at::kInt:
      return 7;  // packed int4
    case at::kFloat8_e4m3fn:
      return 448;
    case at::kFloat8_e5m2:
      return 57344;
    default:
      TORCH_CHECK(false, "quantised outputs of type ", type, " are not supported; int8, int4 packed in int32, ",
                  "float8_e4m3fn and float8_e5m2 are");
  }
}

Tensor PackedInt4(const Tensor& rounded) {
  auto sizes = rounded.sizes().vec();
  TORCH_CHECK(!sizes.empty() && sizes.back() % kInt4PerInt32 == 0,
              "int4 values are packed by eight; the last dimension is ", sizes.empty() ? 0 : sizes.back());
  sizes.back() /= kInt4PerInt32;
  sizes.push_back(kInt4PerInt32);
  const Tensor nibbles = rounded.to(at::kLong).bitwise_and(0xF).reshape(sizes);
  const Tensor places = at::arange(kInt4PerInt32, nibbles.options()).mul_(4);
  return nibbles.bitwise_left_shift(places).sum(-1).to(at::kInt);
}

constexpr int kNoScale = 255;  // NaN, as an exponent

// The biased exponent of a block's scale, from the block's largest absolute value.
int ScaleExponent(float largest, ScalarType type, int64_t algorithm) {
  constexpr int kBias = 127;
  if (!std::isfinite(largest)) return kNoScale;
  if (algorithm == 0) {
    const int emax = type == at::kFloat8_e4m3fn ? 8 : 15;
    const int exponent = static_cast<int>(std::bit_cast<uint32_t>(largest) >> 23);
    return std::max(exponent - emax, 0);
  }
  const auto bits = std::bit_cast<uint32_t>(largest / static_cast<float>(LargestOf(type)));
  const int exponent = static_cast<int>(bits >> 23);
  const uint32_t mantissa = bits & 0x7FFFFFU;
  if (exponent == 0) return mantissa > 0x400000U ? 1 : 0;
  return exponent < 2 * kBias && mantissa != 0 ? exponent + 1 : exponent;
}

}  // namespace

double QuantizedMaximum(const Tensor& out) {
  constexpr double kLargestInt4 = 7;
  return IsInt4(out) ? kLargestInt4 : LargestOf(out.scalar_type());
}

void WriteQuantized(Tensor& out, const Tensor& value) {
  const ScalarType type = out.scalar_type();
  const double largest = QuantizedMaximum(out);
  const Tensor wide = value.to(at::kFloat);
  if (type == at::kChar || type == at::kInt) {
    const Tensor rounded = wide.round().clamp_(-largest - 1, largest);
    Write(out, type == at::kInt ? PackedInt4(rounded) : rounded);
  } else {
    Write(out, wide.clamp(-largest, largest));
  }
}

void WriteBlockScaled(Tensor& out, Tensor& scale, const Tensor& value, int64_t algorithm, float least) {
  const ScalarType type = out.scalar_type();
  TORCH_CHECK(type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2, "block-scaled outputs of type ", type,
              " are not supported; float8_e4m3fn and float8_e5m2 are");
  TORCH_CHECK(algorithm == 0 || algorithm == 1, "scaleAlg is ", algorithm, "; 0 and 1 are supported");
  TORCH_CHECK(scale.is_contiguous(), "the scales must be contiguous");
  const Tensor wide = value.to(at::kFloat).contiguous();
  const int64_t columns = wide.size(-1);
  const int64_t rows = columns == 0 ? 0 : wide.numel() / columns;
  const int64_t blocks = (columns + kBlock - 1) / kBlock;
  const int64_t stored = (blocks + 1) / 2 * 2;
  TORCH_CHECK(scale.numel() == rows * stored, "the scales have ", scale.numel(), " elements; ", rows, " rows of ",
              stored, " are needed");
  Tensor scaled = at::empty_like(wide);
  const auto* from = wide.const_data_ptr<float>();
  auto* to = scaled.mutable_data_ptr<float>();
  auto* exponents = static_cast<uint8_t*>(scale.data_ptr());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t block = 0; block < stored; ++block) {
      const int64_t begin = row * columns + std::min(block * kBlock, columns);
      const int64_t end = row * columns + std::min((block + 1) * kBlock, columns);
      // As bits, so that a NaN is larger than any number.
      auto largest = std::bit_cast<uint32_t>(begin < end ? least : 0);
      for (int64_t i = begin; i < end; ++i) {
        largest = std::max(largest, std::bit_cast<uint32_t>(from[i]) & 0x7FFFFFFFU);
      }
      const int exponent = ScaleExponent(std::bit_cast<float>(largest), type, algorithm);
      exponents[row * stored + block] = static_cast<uint8_t>(exponent);
      for (int64_t i = begin; i < end; ++i) to[i] = exponent == kNoScale ? 0 : std::ldexp(from[i], 127 - exponent);
    }
  }
  WriteQuantized(out, scaled);
}

Tensor DecodedScale(const Tensor& scale) {
  const ScalarType type = scale.scalar_type();
  if (type != at::kLong && type != at::kUInt64) return scale.to(at::kFloat);
  return scale.contiguous().view(at::kFloat).reshape({-1, 2}).select(1, 0).clone();
}

}  // namespace millpond::kernels

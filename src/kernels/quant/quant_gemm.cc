// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/quant/quant_gemm.h"

#include "src/kernels/quant/int4.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// So many products of two int8 sum up to at most 2^24, which float holds exactly.
constexpr int64_t kExactDepth = 1024;

bool IsWord(const Tensor& scale) { return scale.scalar_type() == at::kLong || scale.scalar_type() == at::kUInt64; }

// The 9-bit offset that aclnnTransQuantParam hides in bits 37 to 45 of a scale's word.
Tensor OffsetOfWord(const Tensor& scale) {
  const Tensor words = scale.scalar_type() == at::kLong ? scale : scale.contiguous().view(at::kLong);
  const Tensor bits = words.reshape({-1}).bitwise_right_shift(37).bitwise_and(0x1FF);
  return bits.sub(bits.ge(256).to(at::kLong).mul(512)).to(at::kFloat);
}

Tensor TimesRows(const Tensor& value, const OptTensor& token_scale) {
  if (!token_scale.has_value()) return value;
  const Tensor scale = token_scale->to(at::kFloat);
  return value.mul(scale.numel() == 1 ? scale.reshape({1}) : scale.reshape({-1, 1}));
}

Tensor TimesScaled(const Tensor& a, const Tensor& weight, const Tensor& scale) {
  return at::matmul(a, Dequantized(weight, DecodedScale(scale).reshape(scale.sizes()), {}));
}

Tensor PerColumn(const Tensor& scale) {
  const Tensor wide = DecodedScale(scale);
  return wide.numel() == 1 ? wide.reshape({1}) : wide;
}

}  // namespace

Tensor ExactGemm(const Tensor& a, const Tensor& b) {
  if (a.scalar_type() != at::kChar || b.scalar_type() != at::kChar) {
    TORCH_CHECK(!at::isIntegralType(a.scalar_type(), true) && !at::isIntegralType(b.scalar_type(), true),
                "a product of ", a.scalar_type(), " and ", b.scalar_type(), " is not supported; int8 with int8 is");
    return at::matmul(a.to(at::kFloat), b.to(at::kFloat));
  }
  const int64_t depth = a.size(-1);
  Tensor sum;
  for (int64_t begin = 0; begin == 0 || begin < depth; begin += kExactDepth) {
    const int64_t count = std::min(kExactDepth, depth - begin);
    const Tensor part =
        at::matmul(a.narrow(-1, begin, count).to(at::kFloat), b.narrow(-2, begin, count).to(at::kFloat)).to(at::kInt);
    sum = sum.defined() ? sum.add_(part) : part;
  }
  return sum;
}

Tensor PlainWeight(const Tensor& weight, int64_t rows) {
  if (weight.scalar_type() != at::kInt) return weight;
  if (weight.size(-2) == rows) return UnpackedInt4(weight);
  TORCH_CHECK(weight.size(-2) * 8 == rows, "an int4 weight packed in int32 has shape ", weight.sizes(), "; ", rows,
              " rows are needed");
  return UnpackedInt4(weight.transpose(-1, -2)).transpose(-1, -2);
}

Tensor Dequantized(const Tensor& weight, const Tensor& scale, const OptTensor& offset, int64_t group_size) {
  const int64_t rows = weight.size(-2);
  const auto spread = [&](const Tensor& factor) {
    const Tensor wide = IsWord(factor) ? DecodedScale(factor).reshape(factor.sizes()) : factor.to(at::kFloat);
    if (wide.dim() < 2 || wide.size(-2) == 1 || wide.size(-2) == rows) return wide;
    const int64_t groups = wide.size(-2);
    TORCH_CHECK(group_size > 0 ? groups == (rows + group_size - 1) / group_size : rows % groups == 0, groups,
                " groups of ", group_size, " rows (0: not told) do not make the ", rows, " rows of the weight");
    const int64_t each = group_size > 0 ? group_size : rows / groups;
    return wide.repeat_interleave(each, -2).narrow(-2, 0, rows);
  };
  Tensor value = weight.to(at::kFloat);
  if (offset.has_value()) value = value.add(spread(*offset));
  return value.mul(spread(scale));
}

Tensor ScaledGemm(const Tensor& a, const Tensor& b, const QuantFactors& factors, bool raw) {
  Tensor sum = ExactGemm(a, b);
  const bool early = factors.bias.has_value() && (factors.bias_first || factors.bias->scalar_type() == at::kInt);
  if (early) sum = sum.add(*factors.bias);
  if (raw) return sum;
  Tensor value = sum.to(at::kFloat);
  if (factors.scale.has_value()) value = value.mul(PerColumn(*factors.scale));
  value = TimesRows(value, factors.token_scale);
  if (factors.offset.has_value()) {
    value = value.add(factors.offset->to(at::kFloat));
  } else if (factors.scale.has_value() && IsWord(*factors.scale)) {
    value = value.add(OffsetOfWord(*factors.scale));
  }
  return factors.bias.has_value() && !early ? value.add(factors.bias->to(at::kFloat)) : value;
}

Tensor ShiftedGemm(const Tensor& a, const Tensor& weight, const Tensor& scale, const Tensor& assist,
                   const OptTensor& token_scale) {
  const Tensor sum = TimesScaled(a.to(at::kFloat).sub_(8), weight, scale);
  return TimesRows(sum.add(assist.to(at::kFloat)), token_scale);
}

Tensor NarrowGemm(const Tensor& a, const Tensor& weight, const Tensor& scale, const OptTensor& token_scale) {
  return TimesRows(TimesScaled(a.to(at::kFloat), weight, scale), token_scale);
}

void WriteGemm(Tensor& out, const Tensor& value) {
  if (out.scalar_type() == at::kChar) {
    WriteQuantized(out, value);
  } else {
    Write(out, value);
  }
}

}  // namespace millpond::kernels

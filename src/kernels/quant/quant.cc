// SPDX-License-Identifier: Apache-2.0
// Quantisation with given scales, and its inverse. All arithmetic is in float.
#include <bit>
#include <cctype>
#include <string>

#include "src/kernels/quant/int4.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// A scale of one value, of one for each place of `axis`, or of a shape that broadcasts as it is.
Tensor Along(const Tensor& scale, const Tensor& x, int64_t axis) {
  const Tensor wide = scale.to(at::kFloat);
  if (wide.dim() != 1 || wide.numel() == 1 || x.dim() == 0) return wide;
  std::vector<int64_t> shape(x.dim(), 1);
  shape[at::maybe_wrap_dim(axis, x.dim())] = wide.numel();
  return wide.view(shape);
}

Tensor Rounded(const Tensor& value, string_view mode) {
  if (mode.empty() || mode == "round" || mode == "rint") return value;  // the writer rounds
  if (mode == "floor") return value.floor();
  if (mode == "ceil") return value.ceil();
  TORCH_CHECK(mode == "trunc", "roundMode '", std::string(mode), "' is none of round, rint, floor, ceil, trunc");
  return value.trunc();
}

void AscendQuant(const Tensor& x, const Tensor& scale, const OptTensor& offset, bool sqrt_mode, string_view round_mode,
                 int64_t axis, Tensor& y) {
  TORCH_CHECK(!at::isFloat8Type(y.scalar_type()) || round_mode.empty() || round_mode == "round" || round_mode == "rint",
              "roundMode is '", std::string(round_mode), "'; 8-bit floats take round only");
  const Tensor factor = Along(scale, x, axis);
  Tensor value = x.to(at::kFloat).mul(factor);
  if (sqrt_mode) value = value.mul(factor);
  if (offset.has_value()) value = value.add(Along(*offset, x, axis));
  WriteQuantized(y, Rounded(value, round_mode));
}

// The word that the device's fixed pipe takes: a float of 19 bits, an offset of 9 bits, and a mark.
int64_t FixedPipeWord(float scale, const float* offset, bool round) {
  auto bits = std::bit_cast<uint32_t>(scale);
  if (round && std::isfinite(scale)) bits += 0xFFFU + ((bits >> 13) & 1U);
  uint64_t word = (bits & 0xFFFFE000U) | (uint64_t{1} << 46);
  if (offset != nullptr) {
    const auto whole = static_cast<int64_t>(std::clamp(std::nearbyint(*offset), -256.0F, 255.0F));
    word = (word & 0x4000FFFFFFFFU) | ((static_cast<uint64_t>(whole) & 0x1FFU) << 37);
  }
  return static_cast<int64_t>(word);
}

// In double, which holds every step of a float. ATen multiplies by the inverse of the scale, and so decides ties
// otherwise.
void FakeQuant(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t low, int64_t high,
               Tensor& out, Tensor& mask) {
  TORCH_CHECK(low <= high, "quantMin is ", low, ", above quantMax, ", high);
  const Tensor factor = scale.to(at::kDouble);
  const Tensor zero = zero_point.to(at::kDouble);
  const Tensor steps = self.to(at::kFloat).div(scale.to(at::kFloat)).to(at::kDouble).round_().add_(zero);
  Write(mask, steps.ge(low).logical_and_(steps.le(high)));
  Write(out, steps.clamp(low, high).sub_(zero).mul_(factor));
}

void TransQuantParam(const Tensor& scale, const OptTensor& offset, int64_t round_mode, Tensor& out) {
  TORCH_CHECK(round_mode == 0 || round_mode == 1, "roundMode is ", round_mode, "; 0 and 1 are known");
  const bool shifted = offset.has_value() && offset->numel() != 0;
  const Tensor scales = scale.to(at::kFloat).reshape({-1}).expand({out.numel()}).contiguous();
  const Tensor offsets = shifted ? offset->to(at::kFloat).reshape({-1}).expand({out.numel()}).contiguous() : Tensor();
  const Tensor words = at::empty({out.numel()}, at::TensorOptions().dtype(at::kLong));
  const auto* from = scales.const_data_ptr<float>();
  auto* to = words.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    const float value = shifted ? offsets.const_data_ptr<float>()[i] : 0;
    to[i] = FixedPipeWord(from[i], shifted ? &value : nullptr, round_mode == 1);
  }
  Tensor bits = out.scalar_type() == at::kUInt64 ? out.view(at::kLong) : out;
  TORCH_CHECK(bits.scalar_type() == at::kLong, "the output's type is ", out.scalar_type(),
              "; int64 or uint64 is needed");
  WriteElements(bits, words);
}

}  // namespace

MP_KERNEL(aclnnAscendQuantV3, const Tensor& x, const Tensor& scale, const OptTensor& offset, bool sqrt_mode,
          string_view round_mode, int64_t axis, Tensor& y) {
  AscendQuant(x, scale, offset, sqrt_mode, round_mode, axis, y);
}

MP_KERNEL(aclnnAscendAntiQuant, const Tensor& x, const Tensor& scale, const OptTensor& offset, bool sqrt_mode,
          Tensor& y) {
  const ScalarType type = x.scalar_type();
  TORCH_CHECK(type == at::kChar || type == at::kInt || type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2,
              "x has type ", type, "; int8, int4 packed in int32, float8_e4m3fn and float8_e5m2 are supported");
  const Tensor stored = type == at::kInt ? UnpackedInt4(x) : x;
  // A vector is along the last dimension, or where it does not fit there along the one before.
  const auto spread = [&](const Tensor& given) {
    const Tensor wide = given.to(at::kFloat);
    const bool before_last = wide.dim() == 1 && wide.numel() != 1 && stored.dim() >= 2 &&
                             wide.numel() != stored.size(-1) && wide.numel() == stored.size(-2);
    return before_last ? wide.unsqueeze(-1) : wide;
  };
  const Tensor factor = spread(scale);
  Tensor value = stored.to(at::kFloat);
  if (offset.has_value()) value = value.add(spread(*offset));
  value = value.mul(factor);
  if (sqrt_mode) value = value.mul(factor);
  Write(y, value);
}

MP_KERNEL(aclnnQuantize, const Tensor& x, const Tensor& scales, const OptTensor& zero_points, ScalarType type,
          int64_t axis, Tensor& out) {
  TORCH_CHECK(type == out.scalar_type(), "dtype is ", type, ", the output has ", out.scalar_type());
  Tensor value = x.to(at::kFloat).div(Along(scales, x, axis));
  if (zero_points.has_value()) value = value.add(Along(*zero_points, x, axis));
  switch (type) {
    case at::kByte:
      return Write(out, value.round().clamp_(0, 255));
    case at::kInt:
      return Write(out, value.to(at::kDouble).round().clamp_(-2147483648.0, 2147483647.0));
    case at::kChar:
    case at::kFloat8_e4m3fn:
    case at::kFloat8_e5m2:
      return WriteQuantized(out, value);
    default:
      TORCH_CHECK(false, "type ", type, " is none of int8, uint8, int32, float8_e4m3fn, float8_e5m2");
  }
}

MP_KERNEL(aclnnGroupQuant, const Tensor& x, const Tensor& scale, const Tensor& group_index, const OptTensor& offset,
          Tensor& y) {
  const Tensor group = GroupOfRow(group_index, /*counts=*/false, x.size(0));
  TORCH_CHECK(x.size(0) == 0 || group.ge(0).all().item<bool>(), "groupIndex ends before the ", x.size(0), " rows of x");
  Tensor value = x.to(at::kFloat).mul(scale.to(at::kFloat).index_select(0, group));
  if (offset.has_value()) value = value.add(offset->to(at::kFloat));
  WriteQuantized(y, value);
}

MP_KERNEL(aclnnDequantBias, const Tensor& x, const Tensor& weight_scale, const OptTensor& activate_scale,
          const OptTensor& bias, Tensor& out) {
  const bool early = bias.has_value() && bias->scalar_type() == at::kInt;
  Tensor value = early ? x.add(*bias) : x;
  value = value.to(at::kFloat).mul(weight_scale.to(at::kFloat));
  if (activate_scale.has_value()) value = value.mul(activate_scale->to(at::kFloat).unsqueeze(-1));
  if (bias.has_value() && !early) value = value.add(bias->to(at::kFloat));
  Write(out, value);
}

MP_KERNEL(aclnnTransQuantParamV3, const Tensor& scale, const OptTensor& offset, int64_t round_mode, Tensor& out) {
  TransQuantParam(scale, offset, round_mode, out);
}

MP_KERNEL(aclnnFakeQuantPerChannelAffineCachemask, const Tensor& self, const Tensor& scale, const Tensor& zero_point,
          int64_t axis, int64_t low, int64_t high, Tensor& out, Tensor& mask) {
  const int64_t dim = at::maybe_wrap_dim(axis, self.dim());
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  TORCH_CHECK(scale.dim() == 1 && zero_point.dim() == 1 && scale.numel() == size && zero_point.numel() == size,
              "scale and zeroPoint have shapes ", scale.sizes(), " and ", zero_point.sizes(), "; axis ", dim,
              " has size ", size);
  std::vector<int64_t> shape(self.dim(), 1);
  if (self.dim() != 0) shape[dim] = -1;
  FakeQuant(self, scale.reshape(shape), zero_point.reshape(shape), low, high, out, mask);
}
MP_KERNEL(aclnnFakeQuantPerTensorAffineCachemask, const Tensor& self, const Tensor& scale, const Tensor& zero_point,
          double enabled, int64_t low, int64_t high, Tensor& out, Tensor& mask) {
  if (enabled < 1) {
    Write(out, self);
    mask.fill_(1);
    return;
  }
  FakeQuant(self, scale.reshape({}), zero_point.reshape({}), low, high, out, mask);
}

MP_KERNEL(GeAscendQuant, const Tensor& x, double scale, double offset, bool sqrt_mode, string_view round_mode,
          Tensor& y) {
  const auto number = [](double value) { return at::full({1}, value, at::TensorOptions().dtype(at::kFloat)); };
  std::string mode(round_mode);
  for (char& letter : mode) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  AscendQuant(x, number(scale), OptTensor(number(offset)), sqrt_mode, mode, -1, y);
}
MP_KERNEL(GeAscendDequant, const Tensor& x, const Tensor& scale, bool sqrt_mode, bool relu, Tensor& y) {
  const Tensor factor = DecodedScale(scale).to(at::kFloat);
  const bool per_channel = factor.numel() > 1 && x.dim() >= 4;
  std::vector<int64_t> channel(static_cast<size_t>(x.dim()), 1);
  if (per_channel) channel[1] = -1;
  const Tensor spread = per_channel ? factor.reshape(channel) : factor;
  Tensor value = x.to(at::kFloat).mul(spread);
  if (sqrt_mode) value = value.mul(spread);
  Write(y, relu ? value.relu() : value);
}

}  // namespace millpond::kernels

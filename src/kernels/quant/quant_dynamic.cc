// SPDX-License-Identifier: Apache-2.0
// Quantisation whose scale follows from the values: for each row, column, block or the whole tensor.
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor Smoothed(const Tensor& x, const OptTensor& smooth, const OptTensor& group_index, string_view mode) {
  const bool by_token = mode.empty() || mode == "pertoken";
  TORCH_CHECK(!group_index.has_value() || (smooth.has_value() && by_token),
              "groupIndexOptional goes with smoothScalesOptional, and with the quantMode pertoken");
  const Tensor wide = x.to(at::kFloat);
  if (!smooth.has_value()) return wide;
  const Tensor factor = smooth->to(at::kFloat);
  if (mode == "perchannel") return wide.mul(factor.reshape({-1, 1}));  // one for each row
  if (!group_index.has_value()) return wide.mul(factor);
  const int64_t width = x.size(-1);
  const Tensor rows = wide.reshape({-1, width});
  const Tensor group = GroupOfRow(*group_index, /*counts=*/false, rows.size(0));
  TORCH_CHECK(group.numel() == 0 || group.ge(0).all().item<bool>(), "groupIndex ends before the ", rows.size(0),
              " rows of x");
  return rows.mul(factor.view({-1, width}).index_select(0, group)).view(x.sizes());
}

std::vector<int64_t> ReducedDims(const Tensor& x, string_view mode) {
  if (mode.empty() || mode == "pertoken") return {-1};
  if (mode == "perchannel") {
    TORCH_CHECK(x.dim() >= 2, "quantMode perchannel needs two dimensions, x has ", x.dim());
    return {-2};
  }
  TORCH_CHECK(mode == "pertensor", "quantMode '", std::string(mode), "' is none of pertoken, perchannel, pertensor");
  std::vector<int64_t> all(x.dim());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  return all;
}

void DynamicQuant(const Tensor& x, const OptTensor& smooth, const OptTensor& group_index, string_view mode,
                  bool symmetric, Tensor& y, Tensor& scale_out, Tensor* offset_out) {
  const Tensor value = Smoothed(x, smooth, group_index, mode);
  const auto dims = ReducedDims(x, mode);
  const double largest = QuantizedMaximum(y);
  if (symmetric) {
    const Scaled scaled = ScaledToLargest(value, dims, largest);
    WriteQuantized(y, scaled.values);
    WriteElements(scale_out, scaled.scale);
    return;
  }
  TORCH_CHECK(offset_out != nullptr, "asymmetric quantisation needs offsetOut, which is NULL");
  if (value.numel() == 0) return;
  const double lowest = y.scalar_type() == at::kChar || y.scalar_type() == at::kInt ? -largest - 1 : -largest;
  const Tensor high = value.amax(dims, /*keepdim=*/true);
  const Tensor scale = high.sub(value.amin(dims, /*keepdim=*/true)).div_(largest - lowest);
  const Tensor divisor = scale.masked_fill(scale.eq(0), 1);
  const Tensor offset = at::rsub(high.div(divisor), largest);
  WriteQuantized(y, value.div(divisor).add_(offset));
  WriteElements(scale_out, scale);
  WriteElements(*offset_out, offset);
}

void BlockQuant(const Tensor& x, double min_scale, string_view round_mode, int64_t row_block, int64_t col_block,
                Tensor& y, Tensor& scale_out) {
  TORCH_CHECK(x.dim() >= 2 && row_block > 0 && col_block > 0, "blocks of ", row_block, " x ", col_block,
              " are asked for a tensor of ", x.dim(), " dimensions");
  TORCH_CHECK(round_mode.empty() || round_mode == "rint", "roundMode '", std::string(round_mode),
              "' is not supported; rint is");
  const auto [rows, columns, high, wide, padded] = PadToBlocks(x, row_block, col_block);
  const Tensor blocks = padded.view({-1, high, row_block, wide, col_block});
  Tensor scale = blocks.abs().amax({2, 4}, /*keepdim=*/true).div_(QuantizedMaximum(y));
  if (min_scale > 0) scale = scale.clamp_max(1 / min_scale);
  const Tensor value = blocks.div(scale.masked_fill(scale.eq(0), 1)).view(padded.sizes());
  WriteQuantized(y, value.narrow(1, 0, rows).narrow(2, 0, columns).reshape(x.sizes()));
  WriteElements(scale_out, scale);
}

}  // namespace

MP_KERNEL(DynamicQuantize, const Tensor& x, const OptTensor& smooth, const OptTensor& group_index, int64_t symmetric,
          string_view mode, Tensor& y, Tensor& scale, Tensor* offset) {
  constexpr int64_t kWithoutOffset = 2;
  DynamicQuant(x, smooth, group_index, mode, symmetric == kWithoutOffset ? offset == nullptr : symmetric != 0, y, scale,
               offset);
}

MP_KERNEL(aclnnDynamicBlockQuantV2, const Tensor& x, double min_scale, string_view round_mode, int64_t row_block,
          int64_t col_block, Tensor& y, Tensor& scale) {
  BlockQuant(x, min_scale, round_mode, row_block, col_block, y, scale);
}

MP_KERNEL(aclnnFlatQuant, const Tensor& x, const Tensor& p1, const Tensor& p2, double clip, Tensor& out,
          Tensor& scale_out) {
  TORCH_CHECK(out.scalar_type() == at::kInt || IsInt4(out), "the output has type ", out.scalar_type(),
              "; int4 packed in int32 is supported");
  TORCH_CHECK(clip > 0 && clip <= 1, "clipRatio is ", clip, "; it must be in (0, 1]");
  const Tensor product = at::matmul(p1.to(at::kFloat), at::matmul(x.to(at::kFloat), p2.to(at::kFloat)));
  const Scaled scaled = ScaledToLargest(product, {1, 2}, QuantizedMaximum(out) / clip);
  WriteQuantized(out, scaled.values);
  WriteElements(scale_out, scaled.scale);
}

MP_KERNEL(aclnnConvertWeightToINT4Pack, const Tensor& weight, Tensor& packed) {
  TORCH_CHECK(packed.scalar_type() == at::kInt || IsInt4(packed), "weightInt4Pack has type ", packed.scalar_type(),
              "; INT4, or INT32 with eight of them in each, is supported");
  CheckPlaces("weight + 8", weight + 8, 16);
  WriteQuantized(packed, weight);
}

}  // namespace millpond::kernels

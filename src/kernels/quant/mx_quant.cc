// SPDX-License-Identifier: Apache-2.0
// Quantisation with a power of two for each block of 32 values (MX). The scales lie in pairs: an axis of n values gives
// ceil(ceil(n / 32) / 2) places on that axis and a last dimension of 2; what is missing to a pair is 0.
#include "src/kernels/quant/mx_quant.h"

#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/quant/block_scale.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kBlock = kMxBlock;

// Rows of the groups' scales: each group has its own pairs, one behind the other.
void CheckScaleRows(const Tensor& scale, int64_t needed) {
  TORCH_CHECK(scale.dim() >= 1 && scale.size(0) >= needed, "the scales have ", scale.dim() == 0 ? 0 : scale.size(0),
              " rows of pairs; ", needed, " are needed");
}

}  // namespace

void RequireRint(string_view mode) {
  TORCH_CHECK(mode.empty() || mode == "rint", "roundMode '", std::string(mode),
              "' is not supported; 8-bit floats are rounded by rint");
}

void MxQuantAlong(const Tensor& x, int64_t axis, int64_t algorithm, Tensor& y, Tensor& scale, double least) {
  TORCH_CHECK(x.dim() > 0 && y.sizes() == x.sizes(), "the output has shape ", y.sizes(), ", the operand ", x.sizes());
  const int64_t dim = at::maybe_wrap_dim(axis, x.dim());
  const Tensor lines = x.to(at::kFloat).movedim(dim, -1).contiguous();
  const int64_t pairs = MxPairs(lines.size(-1));
  auto shape = lines.sizes().vec();
  Tensor values = at::empty(shape, y.options());
  shape.back() = pairs;
  shape.push_back(2);
  Tensor scales = at::zeros(shape, at::kByte);
  WriteBlockScaled(values, scales, lines, algorithm, static_cast<float>(least));
  y.copy_(values.movedim(-1, dim));
  Tensor bytes = scale.view(at::kByte);
  WriteElements(bytes, scales.movedim(-2, dim));
}

void MxQuantGroups(const Tensor& x, const OptTensor& groups, int64_t algorithm, Tensor& y, Tensor& scale) {
  if (!groups) return MxQuantAlong(x, -2, algorithm, y, scale);
  TORCH_CHECK(x.dim() == 2 && scale.dim() == 3, "x has ", x.dim(), " dimensions and its scales ", scale.dim(),
              "; 2 and 3 are needed");
  scale.view(at::kByte).zero_();
  int64_t row = 0;
  for (const auto& [begin, end] : GroupRanges(HostList(*groups), /*counts=*/false, x.size(0))) {
    if (begin == end) continue;
    const int64_t pairs = MxPairs(end - begin);
    CheckScaleRows(scale, row + pairs);
    Tensor part = y.narrow(0, begin, end - begin);
    Tensor scales = scale.narrow(0, row, pairs);
    MxQuantAlong(x.narrow(0, begin, end - begin), 0, algorithm, part, scales);
    row += pairs;
  }
}

MP_KERNEL(MxQuantize, const Tensor& x, int64_t axis, string_view mode, int64_t block, int64_t algorithm, double least,
          Tensor& y, Tensor& scale) {
  RequireRint(mode);
  TORCH_CHECK(block == kBlock, "blocksize is ", block, "; ", kBlock, " is supported");
  TORCH_CHECK(least == 0 || (algorithm == 1 && least > 0), "maxLowBound is ", least, " with scaleAlg ", algorithm,
              "; it must be 0, or above 0 with scaleAlg 1");
  MxQuantAlong(x, axis, algorithm, y, scale, least);
}
MP_KERNEL(MxQuantizeTwice, const Tensor& x, string_view mode, int64_t algorithm, Tensor& y1, Tensor& scale1, Tensor& y2,
          Tensor& scale2) {
  RequireRint(mode);
  MxQuantAlong(x, -1, algorithm, y1, scale1);
  MxQuantAlong(x, -2, algorithm, y2, scale2);
}
MP_KERNEL(MxQuantizeGroups, const Tensor& x, const Tensor& groups, string_view mode, int64_t block, int64_t algorithm,
          Tensor& y, Tensor& scale) {
  RequireRint(mode);
  TORCH_CHECK(block == kBlock, "blocksize is ", block, "; ", kBlock, " is supported");
  MxQuantGroups(x, groups, algorithm, y, scale);
}

// One power of two for 32 x 32 values, told along both axes.
MP_KERNEL(aclnnDynamicBlockMxQuant, const Tensor& x, string_view mode, int64_t algorithm, Tensor& y, Tensor& scale1,
          Tensor& scale2) {
  RequireRint(mode);
  TORCH_CHECK(algorithm == 0, "scaleAlg is ", algorithm, "; 0 is the one for 8-bit floats");
  const auto [rows, columns, high, wide, padded] = PadToBlocks(x, kBlock, kBlock);
  // Each block as one line of 1,024 values whose largest stands in every 32 of them.
  const Tensor blocks = padded.view({-1, high, kBlock, wide, kBlock}).abs().amax({2, 4});
  Tensor values = at::empty({blocks.numel(), kBlock}, y.options());
  Tensor scales = at::zeros({blocks.numel(), 2}, at::kByte);
  WriteBlockScaled(values, scales, blocks.reshape({-1, 1}).expand({-1, kBlock}), algorithm);
  const Tensor exponents = scales.select(1, 0).view(blocks.sizes());
  const Tensor factor = at::exp2(at::rsub(exponents.to(at::kFloat), 127));
  const auto spread = [](const Tensor& each) { return each.repeat_interleave(kBlock, 1).repeat_interleave(kBlock, 2); };
  // What has no scale, beside an infinity or a NaN, is 0.
  const Tensor scaled = (padded * spread(factor)).masked_fill_(spread(exponents.eq(255)), 0);
  WriteQuantized(y, scaled.narrow(1, 0, rows).narrow(2, 0, columns).reshape(x.sizes()));
  const auto paired = [](const Tensor& told, int64_t dim) {
    auto pad = std::vector<int64_t>(static_cast<size_t>(2 * (told.dim() - dim)), 0);
    pad.back() = told.size(dim) % 2;
    const Tensor even = at::constant_pad_nd(told, pad);
    return even.unflatten(dim, {-1, 2}).movedim(dim + 1, -1);
  };
  Tensor bytes1 = scale1.view(at::kByte);
  Tensor bytes2 = scale2.view(at::kByte);
  WriteElements(bytes1, paired(exponents.repeat_interleave(kBlock, 1).narrow(1, 0, rows), 2));
  WriteElements(bytes2, paired(exponents.repeat_interleave(kBlock, 2).narrow(2, 0, columns), 1));
}

MP_KERNEL(aclnnAntiMxQuant, const Tensor& x, const Tensor& scale, int64_t axis, Tensor& y) {
  const int64_t dim = at::maybe_wrap_dim(axis, x.dim());
  TORCH_CHECK(scale.dim() == x.dim() + 1 && scale.size(-1) == 2 && scale.size(dim) == MxPairs(x.size(dim)),
              "the scales have shape ", scale.sizes(), "; axis ", dim, " of ", x.sizes(), " needs ",
              MxPairs(x.size(dim)), " pairs");
  Write(y, MxInFloat(x.movedim(dim, -1), scale.view(at::kByte).movedim(dim, -2)).movedim(-1, dim));
}

MP_KERNEL(BlockQuantizeGroups, const Tensor& x, const Tensor& groups, double min_scale, string_view mode,
          int64_t row_block, int64_t col_block, int64_t type, Tensor& y, Tensor& scale) {
  RequireRint(mode);
  TORCH_CHECK(type == 0, "groupListType is ", type, "; 0 (each group's end) is supported, as on the device");
  TORCH_CHECK((x.dim() == 2 || x.dim() == 3) && row_block > 0 && col_block > 0, "blocks of ", row_block, " x ",
              col_block, " are asked for a tensor of ", x.dim(), " dimensions");
  const int64_t columns = x.size(-1);
  const int64_t wide = (columns + col_block - 1) / col_block;
  scale.zero_();
  int64_t row = 0;
  for (const auto& [begin, end] : GroupRanges(HostList(groups), /*counts=*/false, x.size(-2))) {
    if (begin == end) continue;
    const int64_t high = (end - begin + row_block - 1) / row_block;
    TORCH_CHECK(scale.size(-2) >= row + high && scale.size(-1) == wide, "the scales have shape ", scale.sizes(),
                "; their last two dimensions must be at least ", row + high, " and ", wide);
    const Tensor part = x.narrow(-2, begin, end - begin).to(at::kFloat).reshape({-1, end - begin, columns});
    const Tensor padded = at::constant_pad_nd(part, {0, wide * col_block - columns, 0, high * row_block - end + begin});
    const Tensor blocks = padded.view({-1, high, row_block, wide, col_block});
    Tensor step = blocks.abs().amax({2, 4}, /*keepdim=*/true).div_(QuantizedMaximum(y));
    if (min_scale > 0) step = step.clamp_max(1 / min_scale);
    const Tensor value = blocks.div(step.masked_fill(step.eq(0), 1)).view(padded.sizes());
    Tensor out = y.narrow(-2, begin, end - begin);
    WriteQuantized(out, value.narrow(1, 0, end - begin).narrow(2, 0, columns).reshape(out.sizes()));
    Tensor told = scale.narrow(-2, row, high);
    told.copy_(step.reshape(told.sizes()));
    row += high;
  }
}

MP_KERNEL(aclnnQuantMax, const Tensor& x, const Tensor& scale, string_view mode, Tensor& y, Tensor& amax) {
  RequireRint(mode);
  WriteQuantized(y, x.to(at::kFloat).mul(scale.to(at::kFloat).reshape({})));
  amax.copy_(x.numel() == 0 ? at::zeros({1}, at::kFloat) : x.to(at::kFloat).abs().amax().reshape({1}));
}
MP_KERNEL(aclnnGroupedQuantMax, const Tensor& x, const Tensor& scale, const Tensor& groups, string_view mode, Tensor& y,
          Tensor& amax) {
  RequireRint(mode);
  const auto ranges = GroupRanges(HostList(groups), /*counts=*/false, x.size(0));
  TORCH_CHECK(scale.numel() == static_cast<int64_t>(ranges.size()) && amax.numel() == scale.numel(), "there are ",
              ranges.size(), " groups, ", scale.numel(), " scales and room for ", amax.numel(), " maxima");
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, end] = ranges[i];
    const auto place = static_cast<int64_t>(i);
    const Tensor part = x.narrow(0, begin, end - begin).to(at::kFloat);
    Tensor out = y.narrow(0, begin, end - begin);
    WriteQuantized(out, part.mul(scale.select(0, place).to(at::kFloat)));
    Tensor most = amax.select(0, place);
    most.copy_(part.numel() == 0 ? at::zeros({}, at::kFloat) : part.abs().amax());
  }
}

MP_KERNEL(aclnnRmsNormDynamicQuant, const Tensor& x, const Tensor& gamma, const OptTensor& smooth,
          const OptTensor& beta, double eps, Tensor& y, Tensor& scale) {
  Tensor value = RmsNorm(x, gamma, eps).y;
  if (beta) value = value.add(beta->to(value.scalar_type()));
  if (smooth) value = value.mul(smooth->to(value.scalar_type()));
  const Scaled scaled = ScaledToLargest(value, {-1}, QuantizedMaximum(y));
  WriteQuantized(y, scaled.values);
  WriteElements(scale, scaled.scale);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// A gated unit or a rotation, then a quantisation by blocks.
#include "src/kernels/nn/activation.h"
#include "src/kernels/quant/mx_quant.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// 128 values share a scale; rounded up to a power of two when that is asked for.
void BlockScaled(const Tensor& value, bool round_scale, Tensor& y, Tensor& scale) {
  constexpr int64_t kShared = 128;
  constexpr double kMinLargest = 1e-4;
  const int64_t width = value.size(-1);
  const int64_t blocks = (width + kShared - 1) / kShared;
  const Tensor padded = at::constant_pad_nd(value, {0, blocks * kShared - width}).view({-1, blocks, kShared});
  const Tensor seen = at::where(padded.isfinite(), padded.abs(), at::zeros({}, padded.options()));
  Tensor step = seen.amax(-1, /*keepdim=*/true).clamp_min_(kMinLargest).div_(QuantizedMaximum(y));
  if (round_scale) step = at::exp2(step.log2().ceil_());
  const Tensor scaled = padded / step;
  const Tensor whole = at::where(scaled.isfinite(), scaled, padded).view({-1, blocks * kShared}).narrow(1, 0, width);
  WriteQuantized(y, whole.reshape(y.sizes()));
  WriteElements(scale, step);
}

}  // namespace

MP_KERNEL(aclnnSwigluMxQuant, const Tensor& x, int64_t dim, bool left, int64_t mode, double limit, double alpha,
          double bias, int64_t axis, string_view round_mode, int64_t algorithm, Tensor& y, Tensor& scale) {
  RequireRint(round_mode);
  TORCH_CHECK(mode == 0 || mode == 1, "swigluMode is ", mode, "; it must be 0 or 1");
  if (mode == 0) {
    const auto [gate, up] = GateOf(x.to(at::kFloat), dim, left);
    return MxQuantAlong(at::silu(gate).mul_(up), axis, algorithm, y, scale);
  }
  TORCH_CHECK(at::maybe_wrap_dim(dim, x.dim()) == x.dim() - 1 && limit > 0,
              "swigluMode 1 needs the last dimension and ", "a clampLimit above 0; they are ", dim, " and ", limit);
  const Tensor wide = x.to(at::kFloat);
  const Tensor gate = wide.slice(-1, 0, {}, 2).clamp_max(limit);
  const Tensor up = wide.slice(-1, 1, {}, 2).clamp(-limit, limit).add_(bias);
  MxQuantAlong(at::sigmoid(gate * alpha).mul_(gate).mul_(up), axis, algorithm, y, scale);
}
MP_KERNEL(aclnnSwigluMxQuantWithDualAxis, const Tensor& x, const OptTensor& groups, bool left, string_view mode,
          int64_t algorithm, Tensor& y1, Tensor& scale1, Tensor& y2, Tensor& scale2) {
  RequireRint(mode);
  const auto [gate, up] = GateOf(x.to(at::kFloat), -1, left);
  const Tensor value = at::silu(gate).mul_(up);
  MxQuantAlong(value, -1, algorithm, y1, scale1);
  MxQuantGroups(value, groups, algorithm, y2, scale2);
}
MP_KERNEL(aclnnSwigluBackwardMxQuantWithDualAxis, const Tensor& x, const Tensor& grad, const OptTensor& groups,
          bool left, string_view mode, int64_t algorithm, Tensor& y1, Tensor& scale1, Tensor& y2, Tensor& scale2) {
  RequireRint(mode);
  TORCH_CHECK(algorithm == 1, "scaleAlg is ", algorithm, "; 1 is supported, as on the device");
  const auto [gate, up] = GateOf(x.to(at::kFloat), -1, left);
  const Tensor wide = grad.to(at::kFloat);
  const Tensor by_gate = at::silu_backward(wide * up, gate);
  const Tensor by_up = at::silu(gate).mul_(wide);
  const Tensor value = left ? at::cat({by_gate, by_up}, -1) : at::cat({by_up, by_gate}, -1);
  MxQuantAlong(value, -1, algorithm, y1, scale1);
  MxQuantGroups(value, groups, algorithm, y2, scale2);
}
// Only the rows that the groups hold are computed; the others keep what they had.
MP_KERNEL(aclnnSwigluGroupQuant, const Tensor& x, const OptTensor& weight, const OptTensor& groups, int64_t mode,
          int64_t block, bool round_scale, double limit, bool origin, Tensor& y, Tensor& scale) {
  TORCH_CHECK(mode == 0 || mode == 1, "quantMode is ", mode, "; 0 and 1 are supported");
  TORCH_CHECK(block == 0 || block == (mode == 0 ? 128 : 32), "blockSize is ", block, "; 0 or ", mode == 0 ? 128 : 32,
              " goes with quantMode ", mode);
  TORCH_CHECK(!origin, "outputOrigin goes with quantMode 2 and 3, which are not supported");
  TORCH_CHECK(mode == 0 || round_scale, "roundScale must be true with quantMode 1");
  const int64_t rows = x.size(-1) == 0 ? 0 : x.numel() / x.size(-1);
  const int64_t used = groups ? std::clamp<int64_t>(groups->sum().item<int64_t>(), 0, rows) : rows;
  if (used == 0) return;
  auto [gate, up] = GateOf(x.reshape({rows, -1}).narrow(0, 0, used).to(at::kFloat), -1, /*activate_left=*/true);
  if (limit > 0) {
    gate = gate.clamp_max(limit);
    up = up.clamp(-limit, limit);
  }
  Tensor value = at::silu(gate).mul_(up);
  if (weight) value.mul_(weight->to(at::kFloat).reshape({-1, 1}).narrow(0, 0, used));
  Tensor out = y.view({rows, -1}).narrow(0, 0, used);
  if (mode == 0) {
    Tensor told = scale.view({rows, -1}).narrow(0, 0, used);
    return BlockScaled(value, round_scale, out, told);
  }
  constexpr double kMinLargest = 1e-4;
  Tensor told = scale.view({rows, -1, 2}).narrow(0, 0, used);
  MxQuantAlong(value, -1, /*algorithm=*/1, out, told, kMinLargest);
}

// Parts of a row are turned by one matrix, or by one of their own; then int8 or packed int4 by row, or 8-bit floats.
MP_KERNEL(aclnnRotateQuant, const Tensor& x, const Tensor& rotation, const OptTensor& alpha, int64_t axis,
          string_view mode, int64_t algorithm, Tensor& y, Tensor& scale) {
  constexpr int64_t kClamped = 32;
  TORCH_CHECK(x.dim() > 0 && at::maybe_wrap_dim(axis, x.dim()) == x.dim() - 1, "axis is ", axis,
              "; only the last is supported, as on the device");
  RequireRint(mode);
  const int64_t part = rotation.size(-1);
  TORCH_CHECK(
      (rotation.dim() == 2 || rotation.dim() == 3) && part > 0 && rotation.size(-2) == part && x.size(-1) % part == 0,
      "a rotation of shape ", rotation.sizes(), " does not go with rows of ", x.size(-1), " values");
  const Tensor parts = x.to(at::kFloat).reshape({-1, x.size(-1) / part, 1, part});
  Tensor turned = at::matmul(parts, rotation.to(at::kFloat)).reshape(x.sizes());
  const double share = alpha ? alpha->item<double>() : 0;
  if (share > 0 && share < 1) {
    TORCH_CHECK(x.size(-1) % kClamped == 0, "alpha bounds ", kClamped, " values at a time; a row has ", x.size(-1));
    const Tensor groups = turned.reshape({-1, kClamped});
    const Tensor bound = groups.abs().amax(-1, /*keepdim=*/true).mul_(share);
    turned = groups.clamp(-bound, bound).reshape(x.sizes());
  }
  if (y.scalar_type() == at::kFloat8_e4m3fn || y.scalar_type() == at::kFloat8_e5m2) {
    return MxQuantAlong(turned, -1, algorithm, y, scale);
  }
  const Scaled scaled = ScaledToLargest(turned, {-1}, QuantizedMaximum(y));
  WriteQuantized(y, scaled.values);
  WriteElements(scale, scaled.scale);
}

MP_KERNEL(aclnnSituMxQuant, const Tensor& x, double beta, double linear_beta, bool left, string_view mode, Tensor& y,
          Tensor& scale) {
  RequireRint(mode);
  MxQuantAlong(Situ(GateOf(x.to(at::kFloat), -1, left), beta, linear_beta), -1, /*algorithm=*/0, y, scale);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Normalisation as GE's operators describe it. All in float inside.
#include "src/base/options.h"
#include "src/kernels/ge/layout.h"
#include "src/kernels/nn/masks.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor Wide(const Tensor& tensor) { return tensor.to(at::kFloat); }

// Channels-first views of what GE lays out by its format.
Tensor First(const Tensor& x, string_view otherwise = "NCHW") {
  if (x.dim() < 4) return x;
  const string_view layout = LayoutOf(x, x.dim() == 5 && otherwise.size() != 5 ? "NCDHW" : otherwise);
  return layout.size() == static_cast<size_t>(x.dim()) ? ChannelsFirst(x, layout) : x;
}

// One element for each channel, as something that broadcasts over x.
Tensor PerChannel(const Tensor& values, const Tensor& x) {
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[1] = -1;
  return Wide(values).reshape(shape);
}

Tensor SumOfChannels(const Tensor& x) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != 1) dims.push_back(i);
  }
  return x.sum(dims);
}

int64_t CountOf(const Tensor& x) { return x.size(1) == 0 ? 0 : x.numel() / x.size(1); }

Tensor InverseRoot(const Tensor& variance, double eps) { return Wide(variance).add(eps).rsqrt_(); }

Tensor Normalized(const Tensor& x, const Tensor& mean, const Tensor& variance, double eps) {
  return Wide(x).sub(PerChannel(mean, x)).mul_(PerChannel(InverseRoot(variance, eps), x));
}

struct Running {
  Tensor mean, variance;
};
// The statistics that go on: `factor` is the share of the new ones.
Running Mixed(const Running& batch, const OptTensor& mean, const OptTensor& variance, double factor) {
  if (factor == 1 || !mean.has_value() || !variance.has_value()) return batch;
  return {batch.mean.mul(factor).add_(Wide(*mean).reshape({-1}), 1 - factor),
          batch.variance.mul(factor).add_(Wide(*variance).reshape({-1}), 1 - factor)};
}

void BatchNorm(const Tensor& x, const Tensor& scale, const Tensor& offset, const OptTensor& mean,
               const OptTensor& variance, double eps, string_view data_format, bool training, double factor, Tensor& y,
               Tensor& batch_mean, Tensor& batch_variance, Tensor& reserve1, Tensor& reserve2) {
  const Tensor input = First(x, data_format);
  Tensor target = First(y, data_format);
  Running used, next;
  if (training) {
    const Tensor flat = Wide(input).transpose(0, 1).reshape({input.size(1), -1});
    used.mean = flat.mean(1);
    used.variance = flat.var(1, /*unbiased=*/false);
    const double count = static_cast<double>(CountOf(input));
    next = Mixed({used.mean, used.variance.mul(count / std::max(count - 1, 1.0))}, mean, variance, factor);
  } else {
    TORCH_CHECK(mean.has_value() && variance.has_value(), "mean and variance are needed when is_training is false");
    used = {Wide(*mean), Wide(*variance)};
    next = used;
  }
  Write(
      target,
      Normalized(input, used.mean, used.variance, eps).mul_(PerChannel(scale, input)).add_(PerChannel(offset, input)));
  WriteElements(batch_mean, next.mean);
  WriteElements(batch_variance, next.variance);
  WriteElements(reserve1, used.mean);
  WriteElements(reserve2, used.variance);
}

int64_t PositionsOf(const Tensor& x) {
  return x.size(1) == 0 ? 0 : x.numel() / std::max<int64_t>(x.size(0), 1) / x.size(1);
}

OptTensor WideIf(const OptTensor& tensor) { return tensor.has_value() ? OptTensor(Wide(*tensor)) : OptTensor(); }

}  // namespace

MP_KERNEL(GeBatchNormInfer, const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor& mean,
          const Tensor& variance, double eps, Tensor& y) {
  const Tensor input = First(x);
  Tensor target = First(y);
  Write(target, Normalized(input, mean, variance, eps).mul_(PerChannel(scale, input)).add_(PerChannel(offset, input)));
}
MP_KERNEL(GeBatchNormInferGrad, const Tensor& grads, const Tensor& scale, const Tensor& variance, double eps,
          Tensor& out) {
  const Tensor dy = First(grads);
  Tensor target = First(out);
  Write(target, Wide(dy).mul(PerChannel(scale, dy)).mul_(PerChannel(InverseRoot(variance, eps), dy)));
}

MP_KERNEL(GeBatchNormUpdate, const Tensor& x, const Tensor& sum, const Tensor& square_sum, const Tensor& scale,
          const Tensor& offset, const Tensor& mean, const Tensor& variance, double factor, double eps, Tensor& y,
          Tensor& mean_out, Tensor& variance_out, Tensor& batch_mean, Tensor& batch_variance) {
  const Tensor input = First(x);
  const double count = static_cast<double>(CountOf(input));
  const Tensor average = Wide(sum).reshape({-1}).div(count);
  const Tensor spread = Wide(square_sum).reshape({-1}).div(count).sub_(average.square()).clamp_min_(0);
  Tensor target = First(y);
  Write(target, Normalized(input, average, spread, eps).mul_(PerChannel(scale, input)).add_(PerChannel(offset, input)));
  const Running next =
      Mixed({average, spread.mul(count / std::max(count - 1, 1.0))}, OptTensor(mean), OptTensor(variance), factor);
  WriteElements(mean_out, next.mean);
  WriteElements(variance_out, next.variance);
  WriteElements(batch_mean, average);
  WriteElements(batch_variance, spread);
}
MP_KERNEL(GeBatchNormUpdateGrad, const Tensor& grads, const Tensor& x, const Tensor& mean, const Tensor& variance,
          double eps, Tensor& diff_scale, Tensor& diff_offset) {
  const Tensor dy = Wide(First(grads));
  WriteElements(diff_scale, SumOfChannels(Normalized(First(x), mean, variance, eps).mul_(dy)));
  WriteElements(diff_offset, SumOfChannels(dy));
}
MP_KERNEL(GeBatchNormReduceGrad, const Tensor& grads, const Tensor& x, const Tensor& diff_scale,
          const Tensor& diff_offset, const Tensor& scale, const Tensor& mean, const Tensor& variance, double eps,
          Tensor& y) {
  const Tensor dy = First(grads);
  const double count = static_cast<double>(CountOf(dy));
  Tensor grad = Wide(dy).sub(PerChannel(diff_offset, dy).div(count));
  grad = grad.sub_(Normalized(First(x), mean, variance, eps).mul_(PerChannel(diff_scale, dy).div(count)));
  Tensor target = First(y);
  Write(target, grad.mul_(PerChannel(scale, dy)).mul_(PerChannel(InverseRoot(variance, eps), dy)));
}

// save_rstd is what its name says only on the Ascend 950. On the cards before it is the variance, and its reader there
// is BNTrainingUpdateGrad, which takes it as such: torchair trains so.
MP_KERNEL(GeBatchNormV3, const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& running_mean,
          Tensor& running_var, bool training, double momentum, double eps, Tensor& output, Tensor& save_mean,
          Tensor& save_spread) {
  static const bool keeps_variance = GetOptions().soc.rfind("Ascend950", 0) != 0;
  const Loan loan({&output});
  const auto [value, mean, rstd] =
      at::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  Deliver(output, value);
  const Tensor variance = training ? Wide(rstd).pow(-2).sub_(eps).clamp_min_(0) : Wide(running_var);
  Write(save_mean, training ? mean : running_mean);
  Write(save_spread, keeps_variance ? variance : InverseRoot(variance, eps));
}

MP_KERNEL(GeBatchNorm, const Tensor& x, const Tensor& scale, const Tensor& offset, const OptTensor& mean,
          const OptTensor& variance, double eps, string_view data_format, bool training, double factor, Tensor& y,
          Tensor& batch_mean, Tensor& batch_variance, Tensor& reserve1, Tensor& reserve2) {
  BatchNorm(x, scale, offset, mean, variance, eps, data_format, training, factor, y, batch_mean, batch_variance,
            reserve1, reserve2);
}
MP_KERNEL(GeBatchNormWithRest, const Tensor& x, const Tensor& scale, const Tensor& offset, const OptTensor& mean,
          const OptTensor& variance, double eps, string_view data_format, bool training, double factor, Tensor& y,
          Tensor& batch_mean, Tensor& batch_variance, Tensor& reserve1, Tensor& reserve2, Tensor& reserve3) {
  BatchNorm(x, scale, offset, mean, variance, eps, data_format, training, factor, y, batch_mean, batch_variance,
            reserve1, reserve2);
  reserve3.zero_();
}

MP_KERNEL(GeSyncBatchNormElemtGrad, const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& invstd,
          const Tensor& weight, const Tensor& mean_dy, const Tensor& mean_dy_xmu, Tensor& out) {
  const auto shaped = [&](const Tensor& values) {
    return values.numel() == input.numel() || values.dim() == input.dim() ? Wide(values) : PerChannel(values, input);
  };
  const Tensor scale = shaped(invstd);
  const Tensor slope = shaped(mean_dy_xmu).mul(scale.square());
  Write(out,
        Wide(grad).sub(shaped(mean_dy)).sub_(Wide(input).sub(shaped(mean)).mul(slope)).mul(scale).mul(shaped(weight)));
}
MP_KERNEL(GeSyncBatchNormReduceGrad, const Tensor& sum_dy, const Tensor& sum_dy_dx_pad, const Tensor& mean,
          const Tensor& invert_std, Tensor& sum_dy_xmu, Tensor& y) {
  const Tensor centred = Wide(sum_dy_dx_pad).sub(Wide(sum_dy).mul(Wide(mean)));
  Write(sum_dy_xmu, centred);
  Write(y, centred.mul(Wide(invert_std)));
}

MP_KERNEL(GeLayerNorm, const Tensor& x, const Tensor& gamma, const Tensor& beta, int64_t axis, double eps, bool inverse,
          Tensor& y, Tensor& mean, Tensor& third) {
  const int64_t from = axis < 0 ? axis + x.dim() : axis;
  TORCH_CHECK(from >= 0 && from < x.dim(), "begin_norm_axis is ", axis, " for an x of shape ", x.sizes());
  const IntArrayRef normal = x.sizes().slice(static_cast<size_t>(from));
  const auto full = [&](const Tensor& parameter) { return Wide(parameter).expand(normal).contiguous(); };
  const auto [value, mean_value, rstd] = at::native_layer_norm(Wide(x), normal, full(gamma), full(beta), eps);
  Write(y, value);
  WriteElements(mean, mean_value);
  WriteElements(third, inverse ? rstd : rstd.pow(-2).sub_(eps));
}
MP_KERNEL(GeLayerNormGrad, const Tensor& dy, const Tensor& x, const Tensor& rstd, const Tensor& mean,
          const Tensor& gamma, BoolArray mask, Tensor& dx, Tensor& dgamma, Tensor& dbeta) {
  const auto wanted = WantedOutputs<3>(mask, {&dx, &dgamma, &dbeta});
  const int64_t rows = x.numel() / std::max<int64_t>(gamma.numel(), 1);
  const Tensor scale = Wide(gamma).contiguous();
  const auto [to_x, to_gamma, to_beta] =
      at::native_layer_norm_backward(Wide(dy), Wide(x), gamma.sizes(), Wide(mean).reshape({rows}),
                                     Wide(rstd).reshape({rows}), scale, at::zeros_like(scale), wanted);
  DeliverAll({{&dx, to_x}, {&dgamma, to_gamma}, {&dbeta, to_beta}});
}

MP_KERNEL(GeGroupNorm, const Tensor& x, const OptTensor& gamma, const OptTensor& beta, int64_t groups, double eps,
          bool inverse, Tensor& y, Tensor& mean, Tensor& third) {
  const auto [value, mean_value, rstd] = at::native_group_norm(Wide(x).contiguous(), WideIf(gamma), WideIf(beta),
                                                               x.size(0), x.size(1), PositionsOf(x), groups, eps);
  Write(y, value);
  WriteElements(mean, mean_value);
  WriteElements(third, inverse ? rstd : rstd.pow(-2).sub_(eps));
}
MP_KERNEL(GeGroupNormGrad, const Tensor& dy, const Tensor& mean, const Tensor& rstd, const Tensor& x,
          const OptTensor& gamma, int64_t groups, bool want_x, bool want_gamma, bool want_beta, Tensor& dx,
          Tensor& dgamma, Tensor& dbeta) {
  const int64_t n = x.size(0);
  const auto [to_x, to_gamma, to_beta] = at::native_group_norm_backward(
      Wide(dy).contiguous(), Wide(x).contiguous(), Wide(mean).reshape({n, groups}), Wide(rstd).reshape({n, groups}),
      WideIf(gamma), n, x.size(1), PositionsOf(x), groups, {want_x, want_gamma, want_beta});
  DeliverAll({{&dx, to_x}, {&dgamma, to_gamma}, {&dbeta, to_beta}});
}

MP_KERNEL(GeInstanceNorm, const Tensor& x, const Tensor& gamma, const Tensor& beta, string_view data_format, double eps,
          Tensor& y, Tensor& mean, Tensor& variance) {
  const Tensor input = First(x, data_format);
  const Tensor flat = Wide(input).reshape({input.size(0), input.size(1), -1});
  const Tensor average = flat.mean(2, /*keepdim=*/true);
  const Tensor spread = flat.var(at::OptionalIntArrayRef(2), /*correction=*/Scalar(0), /*keepdim=*/true);
  Tensor target = First(y, data_format);
  Write(target, flat.sub(average)
                    .mul_(spread.add(eps).rsqrt_())
                    .reshape(input.sizes())
                    .mul(PerChannel(gamma, input))
                    .add_(PerChannel(beta, input)));
  WriteElements(mean, average);
  WriteElements(variance, spread);
}

}  // namespace millpond::kernels

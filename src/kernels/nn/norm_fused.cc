// SPDX-License-Identifier: Apache-2.0
// Layer and group normalisation with an addition before or an activation after. All in float inside.
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor Wide(const Tensor& tensor) { return tensor.to(at::kFloat); }
void WriteWhere(Tensor* out, const Tensor& value) {
  if (out != nullptr) WriteElements(*out, value);
}

struct LayerGrads {
  Tensor x, gamma, beta;
};

// Statistics as the client kept them, whatever ones their shape ends with; ATen reads them as if they were contiguous.
Tensor Flat(const Tensor& statistics, int64_t rows) { return Wide(statistics).reshape({rows}).contiguous(); }

LayerGrads LayerNormGrads(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                          const Tensor& gamma) {
  CheckSameShape("dy", dy, "x", x);
  const int64_t rows = x.numel() / std::max<int64_t>(gamma.numel(), 1);
  const auto [to_x, to_gamma, to_beta] =
      at::native_layer_norm_backward(dy, x, gamma.sizes(), Flat(mean, rows), Flat(rstd, rows), Wide(gamma),
                                     at::zeros(gamma.sizes(), at::kFloat), {true, true, true});
  return {to_x, to_gamma, to_beta};
}

int64_t PositionsOf(const Tensor& x) {
  return x.size(1) == 0 ? 0 : x.numel() / std::max<int64_t>(x.size(0), 1) / x.size(1);
}

void CheckChannelsFirst(string_view format) {
  TORCH_CHECK(format.empty() || format == "NCHW", "dataFormat '", std::string(format),
              "' is not supported; NCHW is, as on the device");
}

Tensor Swish(const Tensor& x, double scale) { return x.mul(x.mul(scale).sigmoid_()); }

}  // namespace

MP_KERNEL(aclnnAddLayerNorm, const Tensor& x1, const Tensor& x2, const Tensor& gamma, const Tensor& beta,
          const OptTensor& bias, double eps, bool additional, Tensor& y, Tensor* mean, Tensor* rstd, Tensor* x_out) {
  Tensor x = Wide(x1).add(Wide(x2));
  if (bias.has_value()) x = x.add(Wide(*bias));
  const auto [value, mean_value, rstd_value] = at::native_layer_norm(x, gamma.sizes(), Wide(gamma), Wide(beta), eps);
  if (additional) WriteWhere(x_out, x);
  Write(y, value);
  WriteWhere(mean, mean_value);
  WriteWhere(rstd, rstd_value);
}
MP_KERNEL(aclnnAddLayerNormGrad, const Tensor& dy, const Tensor& x1, const Tensor& x2, const Tensor& rstd,
          const Tensor& mean, const Tensor& gamma, const OptTensor& dsum, Tensor& dx, Tensor& dgamma, Tensor& dbeta) {
  const LayerGrads grads = LayerNormGrads(Wide(dy), Wide(x1).add(Wide(x2)), mean, rstd, gamma);
  Write(dx, dsum.has_value() ? grads.x.add(Wide(*dsum)) : grads.x);
  Write(dgamma, grads.gamma);
  Write(dbeta, grads.beta);
}

MP_KERNEL(aclnnDeepNorm, const Tensor& x, const Tensor& gx, const Tensor& beta, const Tensor& gamma, double alpha,
          double eps, Tensor& mean, Tensor& rstd, Tensor& y) {
  const auto [value, mean_value, rstd_value] =
      at::native_layer_norm(Wide(x).mul(alpha).add(Wide(gx)), gamma.sizes(), Wide(gamma), Wide(beta), eps);
  Write(y, value);
  WriteElements(mean, mean_value);
  WriteElements(rstd, rstd_value);
}
MP_KERNEL(aclnnDeepNormGrad, const Tensor& dy, const Tensor& x, const Tensor& gx, const Tensor& gamma,
          const Tensor& mean, const Tensor& rstd, double alpha, Tensor& dx, Tensor& dgx, Tensor& dbeta,
          Tensor& dgamma) {
  const LayerGrads grads = LayerNormGrads(Wide(dy), Wide(x).mul(alpha).add(Wide(gx)), mean, rstd, gamma);
  Write(dgx, grads.x);
  Write(dx, grads.x.mul(alpha));
  Write(dbeta, grads.beta);
  Write(dgamma, grads.gamma);
}

MP_KERNEL(aclnnGroupNormSiluV2, const Tensor& self, const OptTensor& gamma, const OptTensor& beta, int64_t group,
          double eps, bool activate, Tensor& out, Tensor& mean, Tensor& rstd) {
  const auto wide = [](const OptTensor& tensor) { return tensor ? OptTensor(Wide(*tensor).contiguous()) : tensor; };
  const auto [value, mean_value, rstd_value] = at::native_group_norm(
      Wide(self).contiguous(), wide(gamma), wide(beta), self.size(0), self.size(1), PositionsOf(self), group, eps);
  Write(out, activate ? at::silu(value) : value);
  Write(mean, mean_value);
  Write(rstd, rstd_value);
}

MP_KERNEL(aclnnGroupNormSwish, const Tensor& x, const Tensor& gamma, const Tensor& beta, int64_t groups,
          string_view format, double eps, bool activate, double scale, Tensor& y, Tensor& mean, Tensor& rstd) {
  CheckChannelsFirst(format);
  const auto [value, mean_value, rstd_value] =
      at::native_group_norm(Wide(x).contiguous(), Wide(gamma).contiguous(), Wide(beta).contiguous(), x.size(0),
                            x.size(1), PositionsOf(x), groups, eps);
  Write(y, activate ? Swish(value, scale) : value);
  Write(mean, mean_value);
  Write(rstd, rstd_value);
}

MP_KERNEL(aclnnGroupNormSwishGrad, const Tensor& dy, const Tensor& mean, const Tensor& rstd, const Tensor& x,
          const Tensor& gamma, const Tensor& beta, int64_t groups, string_view format, double scale, bool want_gamma,
          bool want_beta, Tensor& dx, Tensor* dgamma, Tensor* dbeta) {
  CheckChannelsFirst(format);
  const int64_t n = x.size(0), c = x.size(1);
  const Tensor wide = Wide(x).contiguous();
  const Tensor grouped = wide.reshape({n, groups, -1});
  const Tensor normal =
      grouped.sub(Wide(mean).reshape({n, groups, 1})).mul_(Wide(rstd).reshape({n, groups, 1})).reshape({n, c, -1});
  const Tensor before = normal.mul(Wide(gamma).unsqueeze(1)).add_(Wide(beta).unsqueeze(1));
  const Tensor gate = before.mul(scale).sigmoid_();
  const Tensor slope = gate.mul(before.mul(scale).mul_(gate.neg().add_(1)).add_(1));
  const Tensor through = Wide(dy).contiguous().reshape({n, c, -1}).mul(slope).reshape(x.sizes());
  const auto [to_x, to_gamma, to_beta] =
      at::native_group_norm_backward(through, wide, Wide(mean).contiguous(), Wide(rstd).contiguous(),
                                     Wide(gamma).contiguous(), n, c, PositionsOf(x), groups, {true, true, true});
  Write(dx, to_x);
  if (want_gamma) Write(dgamma, to_gamma);
  if (want_beta) Write(dbeta, to_beta);
}

}  // namespace millpond::kernels

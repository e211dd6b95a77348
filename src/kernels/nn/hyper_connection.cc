// SPDX-License-Identifier: Apache-2.0
// Manifold-constrained hyper-connections (mHC): n residual streams x[..., n, D] instead of one, mixed before a layer
// (Pre), after it (Post), by matrices made doubly stochastic (Sinkhorn).
#include <vector>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kSinkhornWidth = 8;  // rows of the kept steps are as wide as that

Tensor Wide(const Tensor& x) { return x.to(at::kFloat); }

// Three parts of the mixing weights: n to read, n to write, n * n between the streams (absent with two alphas).
struct Sections {
  int64_t streams;
  bool residual;
  Tensor Alphas(const Tensor& alpha) const {
    std::vector<Tensor> parts{alpha[0].expand({streams}), alpha[1].expand({streams})};
    if (residual) parts.push_back(alpha[2].expand({streams * streams}));
    return at::cat(parts);
  }
};

void Pre(const Tensor& x, const Tensor& phi, const Tensor& alpha, const Tensor& bias, const OptTensor& gamma,
         double norm_eps, double hc_eps, Tensor& h_in, Tensor& h_post, Tensor* h_res, Tensor* inv_rms_out,
         Tensor* mix_out, Tensor* pre_out) {
  TORCH_CHECK(x.dim() >= 2, "x has shape ", x.sizes(), "; it must end with [streams, D]");
  TORCH_CHECK(alpha.numel() == 2 || alpha.numel() == 3, "alpha has ", alpha.numel(), " elements; it must have 2 or 3");
  TORCH_CHECK(alpha.numel() == 2 || h_res != nullptr, "three alphas need hRes, which is NULL");
  const int64_t n = x.size(-2);
  const Sections sections{n, alpha.numel() == 3};
  const Tensor wide = Wide(x);
  const Tensor flat = wide.flatten(-2);
  const Tensor inv_rms = flat.square().mean(-1, /*keepdim=*/true).add_(norm_eps).rsqrt_();
  const Tensor scaled = gamma ? flat * Wide(*gamma).reshape({-1}) : flat;
  const Tensor mix = at::matmul(scaled, Wide(phi).t());
  const Tensor z = (mix * inv_rms).mul_(sections.Alphas(Wide(alpha))).add_(Wide(bias).reshape({-1}));
  const Tensor pre = z.narrow(-1, 0, n).sigmoid().add_(hc_eps);
  Write(h_in, pre.unsqueeze(-1).mul(wide).sum(-2));
  WriteElements(h_post, z.narrow(-1, n, n).sigmoid().mul_(2));
  if (sections.residual) {
    WriteElements(*h_res, z.narrow(-1, 2 * n, n * n));
  } else if (h_res != nullptr) {
    h_res->zero_();
  }
  const auto keep = [](Tensor* out, const Tensor& value) {
    if (out != nullptr && out->numel() != 0) WriteElements(*out, value);
  };
  keep(inv_rms_out, inv_rms);
  keep(mix_out, mix);
  keep(pre_out, pre);
}

struct PreGradOutputs {
  Tensor& x;
  Tensor& phi;
  Tensor& alpha;
  Tensor& bias;
  Tensor* gamma;
};

void PreBackward(const Tensor& x, const Tensor& phi, const Tensor& alpha, const Tensor& grad_in,
                 const Tensor& grad_post, const Tensor& grad_res, const Tensor& inv_rms, const Tensor& mix,
                 const Tensor& pre, const Tensor& post, const OptTensor& gamma, const OptTensor& grad_x_post,
                 double hc_eps, const PreGradOutputs& out) {
  const int64_t n = x.size(-2);
  const int64_t tokens = x.numel() / (n * x.size(-1));
  const Tensor streams = Wide(x).reshape({tokens, n, x.size(-1)});
  const Tensor flat = streams.flatten(1);
  const Tensor d_in = Wide(grad_in).reshape({tokens, 1, x.size(-1)});
  const Tensor inv = Wide(inv_rms).reshape({tokens, 1});
  const Tensor h_mix = Wide(mix).reshape({tokens, -1});
  const Tensor h_pre = Wide(pre).reshape({tokens, n});
  const Sections sections{n, alpha.numel() == 3};

  const Tensor read = h_pre - hc_eps;                           // sigmoid
  const Tensor write = Wide(post).reshape({tokens, n}).div(2);  // sigmoid
  std::vector<Tensor> parts{streams.mul(d_in).sum(-1).mul(read).mul(1 - read),
                            Wide(grad_post).reshape({tokens, n}).mul(2).mul(write).mul(1 - write)};
  if (sections.residual) parts.push_back(Wide(grad_res).reshape({tokens, n * n}));
  const Tensor dz = at::cat(parts, 1);
  const Tensor dz_by_weight = (dz * h_mix * inv).sum(0);
  std::vector<Tensor> d_alpha{dz_by_weight.narrow(0, 0, n).sum(), dz_by_weight.narrow(0, n, n).sum()};
  if (sections.residual) d_alpha.push_back(dz_by_weight.narrow(0, 2 * n, n * n).sum());
  const Tensor dw = dz * sections.Alphas(Wide(alpha));
  const Tensor d_mix = dw * inv;
  const Tensor d_inv = (dw * h_mix).sum(1, /*keepdim=*/true);
  const Tensor d_scaled = at::matmul(d_mix, Wide(phi));
  const Tensor scale = gamma ? Wide(*gamma).reshape({-1}) : Tensor();
  const Tensor scaled = gamma ? flat * scale : flat;

  Tensor dx = gamma ? d_scaled * scale : d_scaled;
  dx = dx - flat * (d_inv * inv.pow(3) / static_cast<double>(flat.size(1)));
  dx = dx.view(streams.sizes()) + h_pre.unsqueeze(-1) * d_in;
  if (grad_x_post) dx = dx + Wide(*grad_x_post).reshape(streams.sizes());
  WriteElements(out.x, dx);
  WriteElements(out.phi, at::matmul(d_mix.t(), scaled));
  WriteElements(out.alpha, at::stack(d_alpha));
  WriteElements(out.bias, dz.sum(0));
  if (out.gamma == nullptr) return;
  if (gamma) {
    WriteElements(*out.gamma, (d_scaled * flat).sum(0));
  } else {
    out.gamma->zero_();
  }
}

}  // namespace

MP_KERNEL(aclnnMhcPreV2, const Tensor& x, const Tensor& phi, const Tensor& alpha, const Tensor& bias,
          const OptTensor& gamma, double norm_eps, double hc_eps, Tensor& h_in, Tensor& h_post, Tensor* h_res,
          Tensor* inv_rms, Tensor* mix, Tensor* pre) {
  Pre(x, phi, alpha, bias, gamma, norm_eps, hc_eps, h_in, h_post, h_res, inv_rms, mix, pre);
}

MP_KERNEL(aclnnMhcPreBackwardV2, const Tensor& x, const Tensor& phi, const Tensor& alpha, const Tensor& grad_in,
          const Tensor& grad_post, const Tensor& grad_res, const Tensor& inv_rms, const Tensor& mix, const Tensor& pre,
          const Tensor& post, const OptTensor& gamma, const OptTensor& grad_x_post, double hc_eps, Tensor& dx,
          Tensor& dphi, Tensor& dalpha, Tensor& dbias, Tensor* dgamma) {
  PreBackward(x, phi, alpha, grad_in, grad_post, grad_res, inv_rms, mix, pre, post, gamma, grad_x_post, hc_eps,
              {dx, dphi, dalpha, dbias, dgamma});
}

MP_KERNEL(aclnnMhcPost, const Tensor& x, const OptTensor& h_res, const Tensor& h_out, const Tensor& h_post,
          Tensor& out) {
  const Tensor mixed = h_res ? at::matmul(Wide(*h_res).transpose(-1, -2), Wide(x)) : Wide(x);
  Write(out, mixed + Wide(h_post).unsqueeze(-1) * Wide(h_out).unsqueeze(-2));
}

MP_KERNEL(aclnnMhcPostBackward, const Tensor& grad, const Tensor& x, const OptTensor& h_res, const Tensor& h_out,
          const Tensor& h_post, Tensor& dx, Tensor* dh_res, Tensor& dh_out, Tensor& dh_post) {
  const Tensor dy = Wide(grad);
  Write(dx, h_res ? at::matmul(Wide(*h_res), dy) : dy);
  if (h_res && dh_res != nullptr) WriteElements(*dh_res, at::matmul(Wide(x), dy.transpose(-1, -2)));
  Write(dh_out, (dy * Wide(h_post).unsqueeze(-1)).sum(-2));
  Write(dh_post, (dy * Wide(h_out).unsqueeze(-2)).sum(-1));
}

// The steps are kept as [step, matrix, n, 8] and their divisors as [step, matrix, 8].
MP_KERNEL(aclnnMhcSinkhorn, const Tensor& x, double eps, int64_t iterations, Tensor& out, Tensor* steps, Tensor* sums) {
  const int64_t n = x.size(-1);
  constexpr int64_t kMaxIterations = 100;
  TORCH_CHECK(x.dim() >= 2 && x.size(-2) == n, "x has shape ", x.sizes(), "; its matrices must be square");
  TORCH_CHECK(iterations >= 1 && iterations <= kMaxIterations, "numIters is ", iterations, "; it must be 1 to ",
              kMaxIterations);
  const int64_t matrices = n == 0 ? 0 : x.numel() / (n * n);
  const auto given = [](const Tensor* kept) { return kept != nullptr && kept->numel() != 0; };
  TORCH_CHECK(n <= kSinkhornWidth || (!given(steps) && !given(sums)), "matrices of size ", n, "; up to ",
              kSinkhornWidth, " can be kept for the gradient");
  const auto room = [&](Tensor* kept, IntArrayRef sizes) { return given(kept) ? kept->zero_().view(sizes) : Tensor(); };
  const Tensor norms = room(steps, {2 * iterations, matrices, n, kSinkhornWidth});
  const Tensor divisors = room(sums, {2 * iterations, matrices, kSinkhornWidth});
  Tensor norm = at::softmax(Wide(x).reshape({matrices, n, n}), -1).add_(eps);
  if (norms.defined()) norms[0].narrow(-1, 0, n).copy_(norm);
  for (int64_t step = 1; step < 2 * iterations; ++step) {
    const Tensor sum = norm.sum(step % 2 == 1 ? -2 : -1, /*keepdim=*/true).add_(eps);
    norm = norm / sum;
    if (norms.defined()) norms[step].narrow(-1, 0, n).copy_(norm);
    if (divisors.defined()) divisors[step].narrow(-1, 0, n).copy_(sum.reshape({matrices, n}));
  }
  WriteElements(out, norm);
}

MP_KERNEL(aclnnMhcSinkhornBackward, const Tensor& grad, const Tensor& steps, const Tensor& sums, Tensor& out) {
  const int64_t n = grad.size(-1);
  const int64_t matrices = n == 0 ? 0 : grad.numel() / (n * n);
  const int64_t count = matrices == 0 ? 0 : sums.numel() / (matrices * kSinkhornWidth);
  Tensor current = Wide(grad).reshape({matrices, n, n});
  if (count > 0) {
    const Tensor norms = Wide(steps).reshape({count, matrices, n, kSinkhornWidth}).narrow(-1, 0, n);
    const Tensor divisors = Wide(sums).reshape({count, matrices, kSinkhornWidth}).narrow(-1, 0, n);
    for (int64_t step = count - 1; step >= 1; --step) {
      const int64_t dim = step % 2 == 1 ? -2 : -1;
      current = (current - current.mul(norms[step]).sum(dim, /*keepdim=*/true)) / divisors[step].unsqueeze(dim);
    }
    current = (current - current.mul(norms[0]).sum(-1, /*keepdim=*/true)).mul(norms[0]);
  }
  WriteElements(out, current);
}

}  // namespace millpond::kernels

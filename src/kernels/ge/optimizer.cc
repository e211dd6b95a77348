// SPDX-License-Identifier: Apache-2.0
// Steps of TensorFlow's optimisers, in float inside. Rates and factors are tensors with one element.
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

double One(const Tensor& tensor, const char* name) {
  TORCH_CHECK(tensor.numel() == 1, name, " has ", tensor.numel(), " elements; it must have one");
  return tensor.item().toDouble();
}

Tensor Wide(const Tensor& tensor) { return tensor.to(tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat); }

}  // namespace

MP_KERNEL(GeMomentumStep, Tensor& var, Tensor& accum, const Tensor& lr, const Tensor& grad, const Tensor& momentum,
          bool nesterov) {
  const double rate = One(lr, "lr"), keep = One(momentum, "momentum");
  const Tensor moved = Wide(accum).mul(keep).add_(Wide(grad));
  accum.copy_(moved);
  const Tensor step = nesterov ? Wide(grad).add(moved, keep) : moved;
  var.copy_(Wide(var).sub(step, rate));
}

// Without the powers of beta: whoever wants them puts them into the rate. mbart_adam has a step of its own, and decays
// by the rate.
MP_KERNEL(GeAdamV2Step, Tensor& var, Tensor& m, Tensor& v, const Tensor& lr, const Tensor& beta1, const Tensor& beta2,
          const Tensor& epsilon, const Tensor& grad, const OptTensor& max_norm, const Tensor& norm, const Tensor& decay,
          const OptTensor& step_size, string_view mode) {
  TORCH_CHECK(mode == "adam" || mode == "mbart_adam", "adam_mode is '", std::string(mode),
              "'; it is adam or mbart_adam");
  const double rate = One(lr, "lr"), keep = One(beta1, "beta1"), keep_square = One(beta2, "beta2");
  Tensor gradient = Wide(grad);
  if (mode == "adam" && max_norm) {
    gradient = gradient * std::min(1.0, One(*max_norm, "max_grad_norm") / One(norm, "global_grad_norm"));
  }
  const Tensor mean = Wide(m).mul(keep).add_(gradient, 1 - keep);
  const Tensor square = Wide(v).mul(keep_square).add_(gradient.square(), 1 - keep_square);
  const Tensor update = mean / square.sqrt().add_(One(epsilon, "epsilon"));
  const double step = mode == "mbart_adam" && step_size ? One(*step_size, "step_size") : rate;
  const Tensor old = Wide(var);
  var.copy_(old.sub(update, step).sub_(old, rate * One(decay, "weight_decay")));
  m.copy_(mean);
  v.copy_(square);
}

MP_KERNEL(GeDescentStep, Tensor& var, const Tensor& alpha, const Tensor& delta) {
  var.copy_(Wide(var).sub(Wide(delta), One(alpha, "alpha")));
}

MP_KERNEL(GeAdagradStep, Tensor& var, Tensor& accum, const Tensor& lr, const Tensor& grad, bool update_slots) {
  if (update_slots) accum.copy_(Wide(accum).add(Wide(grad).square()));
  var.copy_(Wide(var).sub(Wide(grad).mul(Wide(accum).rsqrt()), One(lr, "lr")));
}

MP_KERNEL(GeRmsPropStep, Tensor& var, Tensor& ms, Tensor& mom, const Tensor& lr, const Tensor& rho,
          const Tensor& momentum, const Tensor& epsilon, const Tensor& grad) {
  const double decay = One(rho, "rho");
  ms.copy_(Wide(ms).mul(decay).add_(Wide(grad).square(), 1 - decay));
  const Tensor step = Wide(grad).mul(Wide(ms).add(One(epsilon, "epsilon")).rsqrt_());
  mom.copy_(Wide(mom).mul(One(momentum, "momentum")).add_(step, One(lr, "lr")));
  var.copy_(Wide(var).sub(Wide(mom)));
}

// stat is 1 before the first step, which has no accumulated gradient to dampen.
MP_KERNEL(GeSgdStep, Tensor& parameters, const Tensor& gradient, const Tensor& lr, Tensor& accum,
          const Tensor& momentum, Tensor& stat, double dampening, double weight_decay, bool nesterov) {
  const double keep = One(momentum, "momentum");
  const Tensor before = Wide(parameters);
  const Tensor grad = weight_decay == 0 ? Wide(gradient) : Wide(gradient).add(before, weight_decay);
  const Tensor first = stat.gt(0);
  const Tensor moved = at::where(first, grad, Wide(accum).mul(keep).add_(grad, 1 - dampening));
  accum.copy_(moved);
  stat.zero_();
  const Tensor step = keep == 0 ? grad : (nesterov ? grad.add(moved, keep) : moved);
  parameters.copy_(before.sub(step, One(lr, "learning_rate")));
}

}  // namespace millpond::kernels

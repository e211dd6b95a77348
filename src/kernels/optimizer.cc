// SPDX-License-Identifier: Apache-2.0
// One step of an optimiser, and the scale of automatic mixed precision.
#include <cmath>
#include <vector>

#include "src/kernels/kernel.h"

namespace millpond::kernels {
namespace {

double Value(const Tensor& scalar) {
  TORCH_CHECK(scalar.numel() == 1, "a scalar of ", scalar.numel(), " elements; it must have one");
  return scalar.item<double>();
}

// ATen's fused steps walk each tensor as one run of memory and want one type: lists that are not so are brought into
// that form and written back.
class Uniform {
 public:
  Uniform(TensorList tensors, TensorList like) : real_(tensors.vec()), used_(tensors.vec()) {
    TORCH_CHECK(tensors.empty() || tensors.size() == like.size(), "a list has ", tensors.size(), " members, another ",
                like.size());
    for (size_t i = 0; i < used_.size(); ++i) {
      TORCH_CHECK(used_[i].sizes() == like[i].sizes(), "member ", i, " has shape ", used_[i].sizes(),
                  ", the parameter ", like[i].sizes());
      used_[i] = used_[i].to(like[i].scalar_type()).contiguous();
    }
  }
  void WriteBack() {
    for (size_t i = 0; i < real_.size(); ++i) {
      if (!used_[i].is_same(real_[i])) real_[i].copy_(used_[i]);
    }
  }
  TensorList list() const { return used_; }

 private:
  std::vector<Tensor> real_;
  std::vector<Tensor> used_;
};

// A copy to compute with: half types in float.
Tensor Wide(const Tensor& tensor) { return IsHalf(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor.clone(); }

void Moments(const Tensor& grad, double beta1, double beta2, Tensor* m, Tensor* v) {
  m->lerp_(grad, 1 - beta1);
  v->mul_(beta2).addcmul_(grad, grad, 1 - beta2);
}

}  // namespace

MP_KERNEL(aclnnApplyAdam, Tensor& var, Tensor& m, Tensor& v, const Tensor& beta1_power, const Tensor& beta2_power,
          const Tensor& lr, const Tensor& beta1, const Tensor& beta2, const Tensor& epsilon, const Tensor& grad, bool,
          bool use_nesterov) {
  const double b1 = Value(beta1);
  const double rate = Value(lr) * std::sqrt(1 - Value(beta2_power)) / (1 - Value(beta1_power));
  const Tensor wide_grad = Wide(grad);
  Tensor wide_m = Wide(m);
  Tensor wide_v = Wide(v);
  Moments(wide_grad, b1, Value(beta2), &wide_m, &wide_v);
  const Tensor direction = use_nesterov ? at::lerp(wide_grad, wide_m, b1) : wide_m;
  Tensor wide_var = Wide(var);
  wide_var.addcdiv_(direction, at::sqrt(wide_v).add_(Value(epsilon)), -rate);
  Write(var, wide_var);
  Write(m, wide_m);
  Write(v, wide_v);
}

MP_KERNEL(aclnnApplyAdamW, Tensor& var, Tensor& m, Tensor& v, const Tensor& beta1_power, const Tensor& beta2_power,
          const Tensor& lr, const Tensor& weight_decay, const Tensor& beta1, const Tensor& beta2, const Tensor& eps,
          const Tensor& grad, const OptTensor& max_grad_norm, bool amsgrad, bool maximize) {
  TORCH_CHECK(!amsgrad || max_grad_norm.has_value(), "amsgrad needs maxGradNorm");
  const double rate = Value(lr);
  const double b1 = Value(beta1);
  const double b2 = Value(beta2);
  Tensor wide_grad = Wide(grad);
  if (maximize) wide_grad.neg_();
  Tensor wide_m = Wide(m);
  Tensor wide_v = Wide(v);
  Moments(wide_grad, b1, b2, &wide_m, &wide_v);
  if (amsgrad) wide_v = at::maximum(wide_v, Wide(*max_grad_norm));
  // The powers that arrive are those of the step before.
  const double correction1 = 1 - Value(beta1_power) * b1;
  const double correction2 = 1 - Value(beta2_power) * b2;
  Tensor wide_var = Wide(var);
  wide_var.mul_(1 - rate * Value(weight_decay));
  wide_var.addcdiv_(wide_m, at::div(wide_v, correction2).sqrt_().add_(Value(eps)), -rate / correction1);
  Write(var, wide_var);
  Write(m, wide_m);
  Write(v, wide_v);
}

MP_KERNEL(aclnnApplyAdamWV2, Tensor& var, Tensor& m, Tensor& v, Tensor* max_v, const Tensor& grad, const Tensor& step,
          double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize) {
  TORCH_CHECK(!amsgrad || max_v != nullptr, "amsgrad needs maxGradNorm");
  const TensorList params(&var, 1);
  Uniform vars(params, params);
  Uniform grads(TensorList(&grad, 1), params);
  Uniform averages(TensorList(&m, 1), params);
  Uniform squares(TensorList(&v, 1), params);
  Uniform maxima(max_v == nullptr ? TensorList() : TensorList(max_v, 1), params);
  // The client counts from 0, ATen from 1.
  const Tensor now = step.reshape({}).to(at::kFloat).add(1);
  at::_fused_adamw_(vars.list(), grads.list(), averages.list(), squares.list(), maxima.list(), TensorList(&now, 1), lr,
                    beta1, beta2, weight_decay, eps, amsgrad, maximize);
  for (Uniform* written : {&vars, &averages, &squares, &maxima}) written->WriteBack();
}

MP_KERNEL(aclnnFusedAdam, OutList params, OutList grads, OutList averages, OutList squares, OptOutList maxima,
          TensorList steps, const OptTensor& grad_scale, const OptTensor& found_inf, double lr, double beta1,
          double beta2, double weight_decay, double eps, bool amsgrad, bool maximize) {
  Uniform var(params.tensors, params.tensors);
  Uniform grad(grads.tensors, params.tensors);
  Uniform m(averages.tensors, params.tensors);
  Uniform v(squares.tensors, params.tensors);
  Uniform max_v(maxima.has_value() ? maxima->tensors : TensorList(), params.tensors);
  std::vector<Tensor> counts;
  for (const Tensor& step : steps) counts.push_back(step.reshape({}).to(at::kFloat));
  TORCH_CHECK(counts.size() == params.size(), "stateSteps has ", counts.size(), " members, params ", params.size());
  at::_fused_adam_(var.list(), grad.list(), m.list(), v.list(), max_v.list(), counts, lr, beta1, beta2, weight_decay,
                   eps, amsgrad, maximize, grad_scale, found_inf);
  for (Uniform* written : {&var, &grad, &m, &v, &max_v}) written->WriteBack();
}

MP_KERNEL(aclnnFusedSgd, OutList params, OutList grads, OptOutList momenta, const OptTensor& grad_scale,
          double weight_decay, double momentum, double lr, double dampening, bool nesterov, bool maximize,
          bool is_first_step) {
  Uniform var(params.tensors, params.tensors);
  Uniform grad(grads.tensors, params.tensors);
  Uniform moment(momenta.has_value() ? momenta->tensors : TensorList(), params.tensors);
  at::_fused_sgd_(var.list(), grad.list(), moment.list(), weight_decay, momentum, lr, dampening, nesterov, maximize,
                  is_first_step, grad_scale);
  for (Uniform* written : {&var, &grad, &moment}) written->WriteBack();
}

// The updated ones may be the given ones.
MP_KERNEL(aclnnAmpUpdateScale, const Tensor& scale, const Tensor& tracker, const Tensor& found_inf,
          double growth_factor, double backoff_factor, int64_t growth_interval, Tensor& new_scale,
          Tensor& new_tracker) {
  Tensor next_scale = scale.clone();
  Tensor next_tracker = tracker.clone();
  at::_amp_update_scale_(next_scale, next_tracker, found_inf, growth_factor, backoff_factor, growth_interval);
  Write(new_scale, next_scale);
  Write(new_tracker, next_tracker);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// One step of an optimiser, and the scale of automatic mixed precision.
#include <cmath>
#include <limits>
#include <vector>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

double Value(const Tensor& scalar) {
  TORCH_CHECK(scalar.numel() == 1, "a scalar of ", scalar.numel(), " elements; it must have one");
  return scalar.item<double>();
}

// ATen's fused steps walk each tensor as one run of memory and want one type. `Together` is the type for the members at
// each place of several lists, `Uniform` a list in that form, written back where it is not the client's memory.
using Types = std::vector<ScalarType>;

Types Together(std::initializer_list<TensorList> lists) {
  const TensorList first = *lists.begin();
  Types types;
  for (const Tensor& member : first) types.push_back(member.scalar_type());
  for (const TensorList list : lists) {
    TORCH_CHECK(list.empty() || list.size() == first.size(), "a list has ", list.size(), " members, another ",
                first.size());
    for (size_t i = 0; i < list.size(); ++i) {
      TORCH_CHECK(list[i].sizes() == first[i].sizes(), "member ", i, " has shape ", list[i].sizes(), ", the parameter ",
                  first[i].sizes());
      types[i] = at::promote_types(types[i], list[i].scalar_type());
    }
  }
  return types;
}

class Uniform {
 public:
  Uniform(TensorList tensors, const Types& types) : real_(tensors.vec()), used_(tensors.vec()) {
    for (size_t i = 0; i < used_.size(); ++i) used_[i] = used_[i].to(types[i]).contiguous();
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

// What the fused steps of Adam keep of each parameter.
struct Moments {
  Moments(TensorList averages, TensorList squares, TensorList maxima, TensorList steps, const Types& types)
      : m(averages, types), v(squares, types), max_v(maxima, types) {
    for (const Tensor& step : steps) counts.push_back(step.reshape({}).to(at::kFloat));
    TORCH_CHECK(counts.size() == types.size(), "stateSteps has ", counts.size(), " members, params ", types.size());
  }
  void WriteBack() {
    for (Uniform* written : {&m, &v, &max_v}) written->WriteBack();
  }

  Uniform m;
  Uniform v;
  Uniform max_v;  // of amsgrad; else empty
  std::vector<Tensor> counts;
};

// A copy to compute with: half types in float.
Tensor Wide(const Tensor& tensor) { return IsHalf(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor.clone(); }

struct State {
  Tensor var;
  Tensor m;
  Tensor v;
};

State Copied(const Tensor& var, const Tensor& m, const Tensor& v) { return {Wide(var), Wide(m), Wide(v)}; }

void WriteTo(const State& state, Tensor& var, Tensor& m, Tensor& v) {
  Write(var, state.var);
  Write(m, state.m);
  Write(v, state.v);
}

void UpdateMoments(const Tensor& grad, double beta1, double beta2, State* state) {
  state->m.lerp_(grad, 1 - beta1);
  state->v.mul_(beta2).addcmul_(grad, grad, 1 - beta2);
}

struct AdamNumbers {
  double beta1_power;
  double beta2_power;
  double lr;
  double beta1;
  double beta2;
  double epsilon;
};

void Adam(const AdamNumbers& given, const Tensor& grad, bool use_nesterov, State* state) {
  const double rate = given.lr * std::sqrt(1 - given.beta2_power) / (1 - given.beta1_power);
  const Tensor wide_grad = Wide(grad);
  UpdateMoments(wide_grad, given.beta1, given.beta2, state);
  const Tensor direction = use_nesterov ? at::lerp(wide_grad, state->m, given.beta1) : state->m;
  state->var.addcdiv_(direction, at::sqrt(state->v).add_(given.epsilon), -rate);
}

void AdamW(const AdamNumbers& given, double weight_decay, const Tensor& grad, const OptTensor& max_grad_norm,
           bool amsgrad, bool maximize, State* state) {
  TORCH_CHECK(!amsgrad || max_grad_norm.has_value(), "amsgrad needs maxGradNorm");
  Tensor wide_grad = Wide(grad);
  if (maximize) wide_grad.neg_();
  UpdateMoments(wide_grad, given.beta1, given.beta2, state);
  if (amsgrad) state->v = at::maximum(state->v, Wide(*max_grad_norm));
  // The powers that arrive are those of the step before.
  const double correction1 = 1 - given.beta1_power * given.beta1;
  const double correction2 = 1 - given.beta2_power * given.beta2;
  state->var.mul_(1 - given.lr * weight_decay);
  const Tensor scale = at::div(state->v, correction2).sqrt_().add_(given.epsilon);
  state->var.addcdiv_(state->m, scale, -given.lr / correction1);
}

}  // namespace

// Nobody else touches the tensors while a kernel runs: a lock (use_locking) would change nothing.
MP_KERNEL(aclnnApplyAdam, Tensor& var, Tensor& m, Tensor& v, const Tensor& beta1_power, const Tensor& beta2_power,
          const Tensor& lr, const Tensor& beta1, const Tensor& beta2, const Tensor& epsilon, const Tensor& grad,
          bool use_nesterov) {
  State state = Copied(var, m, v);
  Adam({Value(beta1_power), Value(beta2_power), Value(lr), Value(beta1), Value(beta2), Value(epsilon)}, grad,
       use_nesterov, &state);
  WriteTo(state, var, m, v);
}
MP_KERNEL(AdamStep, const Tensor& var, const Tensor& m, const Tensor& v, double beta1_power, double beta2_power,
          double lr, double beta1, double beta2, double epsilon, const Tensor& grad, bool use_nesterov, Tensor& var_out,
          Tensor& m_out, Tensor& v_out) {
  State state = Copied(var, m, v);
  Adam({beta1_power, beta2_power, lr, beta1, beta2, epsilon}, grad, use_nesterov, &state);
  WriteTo(state, var_out, m_out, v_out);
}

MP_KERNEL(aclnnApplyAdamW, Tensor& var, Tensor& m, Tensor& v, const Tensor& beta1_power, const Tensor& beta2_power,
          const Tensor& lr, const Tensor& weight_decay, const Tensor& beta1, const Tensor& beta2, const Tensor& epsilon,
          const Tensor& grad, const OptTensor& max_grad_norm, bool amsgrad, bool maximize) {
  State state = Copied(var, m, v);
  AdamW({Value(beta1_power), Value(beta2_power), Value(lr), Value(beta1), Value(beta2), Value(epsilon)},
        Value(weight_decay), grad, max_grad_norm, amsgrad, maximize, &state);
  WriteTo(state, var, m, v);
}
MP_KERNEL(AdamWStep, const Tensor& var, const Tensor& m, const Tensor& v, double beta1_power, double beta2_power,
          double lr, double weight_decay, double beta1, double beta2, double epsilon, const Tensor& grad,
          const OptTensor& max_grad_norm, bool amsgrad, bool maximize, Tensor& var_out, Tensor& m_out, Tensor& v_out) {
  State state = Copied(var, m, v);
  AdamW({beta1_power, beta2_power, lr, beta1, beta2, epsilon}, weight_decay, grad, max_grad_norm, amsgrad, maximize,
        &state);
  WriteTo(state, var_out, m_out, v_out);
}

MP_KERNEL(aclnnApplyAdamWV2, Tensor& var, Tensor& m, Tensor& v, Tensor* max_v, const Tensor& grad, const Tensor& step,
          double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize) {
  TORCH_CHECK(!amsgrad || max_v != nullptr, "amsgrad needs maxGradNorm");
  const TensorList var_list(&var, 1);
  const TensorList grad_list(&grad, 1);
  const TensorList m_list(&m, 1);
  const TensorList v_list(&v, 1);
  const TensorList max_list = amsgrad ? TensorList(max_v, 1) : TensorList();
  const Types types = Together({var_list, grad_list, m_list, v_list, max_list});
  Uniform vars(var_list, types);
  Uniform grads(grad_list, types);
  Uniform averages(m_list, types);
  Uniform squares(v_list, types);
  Uniform maxima(max_list, types);
  // The client counts from 0, ATen from 1.
  const Tensor now = step.reshape({}).to(at::kFloat).add(1);
  at::_fused_adamw_(vars.list(), grads.list(), averages.list(), squares.list(), maxima.list(), TensorList(&now, 1), lr,
                    beta1, beta2, weight_decay, eps, amsgrad, maximize);
  for (Uniform* written : {&vars, &averages, &squares, &maxima}) written->WriteBack();
}

MP_KERNEL(aclnnFusedAdam, OutList params, OutList grads, OutList averages, OutList squares, OptOutList maxima,
          TensorList steps, const OptTensor& grad_scale, const OptTensor& found_inf, double lr, double beta1,
          double beta2, double weight_decay, double eps, bool amsgrad, bool maximize) {
  const TensorList max_list = amsgrad && maxima.has_value() ? maxima->tensors : TensorList();
  const Types types = Together({params.tensors, grads.tensors, averages.tensors, squares.tensors, max_list});
  Uniform var(params.tensors, types);
  Uniform grad(grads.tensors, types);
  Moments moments(averages.tensors, squares.tensors, max_list, steps, types);
  at::_fused_adam_(var.list(), grad.list(), moments.m.list(), moments.v.list(), moments.max_v.list(), moments.counts,
                   lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
  for (Uniform* written : {&var, &grad}) written->WriteBack();
  moments.WriteBack();
}

MP_KERNEL(aclnnFusedAdamw, OutList params, TensorList grads, OutList averages, OutList squares, OptOutList maxima,
          TensorList steps, const OptTensor& grad_scale, const OptTensor& found_inf, double lr, double beta1,
          double beta2, double weight_decay, double eps, bool amsgrad, bool maximize) {
  TORCH_CHECK(!amsgrad || maxima.has_value(), "amsgrad needs maxExpAvgSqs, which is NULL");
  const TensorList max_list = amsgrad ? maxima->tensors : TensorList();
  const Types types = Together({params.tensors, grads, averages.tensors, squares.tensors, max_list});
  Uniform var(params.tensors, types);
  std::vector<Tensor> own;  // ATen writes the unscaled gradients back; here they are only read
  for (size_t i = 0; i < grads.size(); ++i) own.push_back(grads[i].to(types[i]).clone(at::MemoryFormat::Contiguous));
  Moments moments(averages.tensors, squares.tensors, max_list, steps, types);
  at::_fused_adamw_(var.list(), own, moments.m.list(), moments.v.list(), moments.max_v.list(), moments.counts, lr,
                    beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
  var.WriteBack();
  moments.WriteBack();
}

// Wide: ATen's vector loop does not write half parameters back.
MP_WIDE_KERNEL(aclnnFusedSgd, OutList params, OutList grads, OptOutList momenta, const OptTensor& grad_scale,
               double weight_decay, double momentum, double lr, double dampening, bool nesterov, bool maximize,
               bool is_first_step) {
  const TensorList moments = momenta.has_value() ? momenta->tensors : TensorList();
  const Types types = Together({params.tensors, grads.tensors, moments});
  Uniform var(params.tensors, types);
  Uniform grad(grads.tensors, types);
  Uniform moment(moments, types);
  at::_fused_sgd_(var.list(), grad.list(), moment.list(), weight_decay, momentum, lr, dampening, nesterov, maximize,
                  is_first_step, grad_scale);
  for (Uniform* written : {&var, &grad, &moment}) written->WriteBack();
}

// mode 0: the decay is part of the gradient; 1: of the step. s follows the variable slowly.
MP_WIDE_KERNEL(aclnnApplyFusedEmaAdam, const Tensor& given, Tensor& var, Tensor& m, Tensor& v, Tensor& s,
               const Tensor& step, double lr, double ema_decay, double beta1, double beta2, double eps, int64_t mode,
               bool bias_correction, double weight_decay) {
  TORCH_CHECK(mode == 0 || mode == 1, "mode is ", mode, "; it must be 0 or 1");
  const double count = Value(step);
  const double correction1 = bias_correction ? 1 - std::pow(beta1, count) : 1;
  const double correction2 = bias_correction ? 1 - std::pow(beta2, count) : 1;
  const Tensor grad = mode == 0 ? at::add(given, var, weight_decay) : given;
  m.mul_(beta1).add_(grad, 1 - beta1);
  v.mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  Tensor update = at::div(m, correction1).div_(at::div(v, correction2).sqrt_().add_(eps));
  if (mode == 1) update.add_(var, weight_decay);
  var.sub_(update, lr);
  s.mul_(ema_decay).add_(var, 1 - ema_decay);
}

// The moments are places in a rising table of 256 values, times the largest magnitude of their block.
MP_KERNEL(aclnnApplyAdamWQuant, Tensor& var, const Tensor& grad, Tensor& m, Tensor& v, const Tensor& map_m,
          const Tensor& map_v, Tensor& absmax_m, Tensor& absmax_v, const Tensor& step, double lr, double beta1,
          double beta2, double weight_decay, double eps, double gnorm_scale, int64_t block) {
  TORCH_CHECK(block > 0 && map_m.numel() == 256 && map_v.numel() == 256, "blocks of ", block, " and tables of ",
              map_m.numel(), " and ", map_v.numel(), " values; the tables must have 256");
  const int64_t count = var.numel();
  const int64_t blocks = (count + block - 1) / block;
  TORCH_CHECK(absmax_m.numel() == blocks && absmax_v.numel() == blocks && m.numel() == count && v.numel() == count,
              "var has ", count, " elements, which is ", blocks, " blocks; absmax has ", absmax_m.numel(), " and ",
              absmax_v.numel());
  const auto blocked = [&](const Tensor& flat) {
    return at::constant_pad_nd(flat, {0, blocks * block - count}).view({blocks, block});
  };
  const auto decoded = [&](const Tensor& places, const Tensor& map, const Tensor& largest) {
    return blocked(map.index_select(0, places.reshape(-1).to(at::kLong))) * largest.reshape({blocks, 1});
  };
  const auto encode = [&](const Tensor& value, const Tensor& map, Tensor& places, Tensor& largest) {
    const Tensor most = value.abs().amax(1, /*keepdim=*/true);
    const Tensor norm = value / most.masked_fill(most.eq(0), 1);
    const Tensor above = at::searchsorted(map, norm.contiguous()).clamp_(1, 255);
    const Tensor low = map.index_select(0, above.sub(1).view(-1)).view(norm.sizes());
    const Tensor high = map.index_select(0, above.view(-1)).view(norm.sizes());
    const Tensor nearest = above - (norm - low).le(high - norm).to(at::kLong);
    places.copy_(nearest.view(-1).narrow(0, 0, count).view(places.sizes()));
    largest.copy_(most.view(largest.sizes()));
  };
  const Tensor g = blocked(grad.reshape(-1).to(at::kFloat)).mul(gnorm_scale);
  const Tensor new_m = decoded(m, map_m, absmax_m).mul_(beta1).add_(g, 1 - beta1);
  const Tensor new_v = decoded(v, map_v, absmax_v).mul_(beta2).addcmul_(g, g, 1 - beta2);
  const double steps = Value(step);
  const Tensor scale = new_v.div(1 - std::pow(beta2, steps)).sqrt_().add_(eps);
  const Tensor wide = blocked(var.reshape(-1).to(at::kFloat));
  const Tensor next = wide.mul(1 - lr * weight_decay).sub_(new_m.div(1 - std::pow(beta1, steps)).div_(scale), lr);
  var.copy_(next.view(-1).narrow(0, 0, count).view(var.sizes()));
  encode(new_m, map_m, m, absmax_m);
  encode(new_v, map_v, v, absmax_v);
}

// The updated ones may be the given ones.
MP_KERNEL(aclnnAmpUpdateScale, const Tensor& scale, const Tensor& tracker, const Tensor& found_inf,
          double growth_factor, double backoff_factor, int64_t growth_interval, Tensor& new_scale,
          Tensor& new_tracker) {
  TORCH_CHECK(growth_interval >= 1 && growth_interval <= std::numeric_limits<int32_t>::max(), "growthInterval is ",
              growth_interval, "; it must be in [1, 2147483647]");
  const Tensor now = scale.clone();
  const auto steps = static_cast<int64_t>(Value(tracker)) + 1;
  const bool found = Value(found_inf) != 0;
  const bool grows = !found && steps == growth_interval;
  Tensor next = now;
  if (found) next = at::mul(now, backoff_factor);
  if (grows) {
    // What the scale's own type holds counts: it stays when it would become infinite.
    const Tensor grown = at::mul(now, growth_factor);
    if (std::isfinite(Value(grown))) next = grown;
  }
  Write(new_scale, next);
  new_tracker.fill_(found || grows ? 0 : steps);
}

}  // namespace millpond::kernels

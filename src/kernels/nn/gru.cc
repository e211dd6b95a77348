// SPDX-License-Identifier: Apache-2.0
// GRU. Gates lie in the weights in the order reset, update, candidate. The lists that training keeps hold, for each
// time, the activated gates, the hidden part of the candidate and the state after it.
#include "src/kernels/nn/rnn.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

using rnn::Plan;
using rnn::Weights;

Tensor Step(const Tensor& valid, const Tensor& next, const Tensor& before) {
  return valid.defined() ? at::where(valid, next, before) : next;
}

struct GruForward {
  Tensor h0;
  Tensor& hy;
  OutList r, z, n, hn, h;

  Tensor Forward(const Weights& w, const Tensor& x, size_t place, const Plan& plan) {
    const int64_t time = x.size(0);
    const auto number = static_cast<int64_t>(place);
    Tensor now = plan.Wide(h0[number]);
    const Tensor from_input = at::linear(x, w.input, w.input_bias);
    std::vector<Tensor> kept[5];
    for (auto& list : kept) list.resize(static_cast<size_t>(time));
    for (int64_t step = 0; step < time; ++step) {
      const int64_t t = plan.reversed(place) ? time - 1 - step : step;
      const auto input = rnn::Gates(from_input[t], 3);
      const auto hidden = rnn::Gates(at::linear(now, w.hidden, w.hidden_bias), 3);
      const Tensor reset = (input[0] + hidden[0]).sigmoid();
      const Tensor update = (input[1] + hidden[1]).sigmoid();
      const Tensor candidate = (input[2] + reset * hidden[2]).tanh();
      now = Step(plan.valid(t), candidate + update * (now - candidate), now);
      const Tensor all[] = {reset, update, candidate, hidden[2], now};
      for (size_t k = 0; k < 5; ++k) kept[k][static_cast<size_t>(t)] = all[k];
    }
    hy[number].copy_(now);
    const OutList lists[] = {r, z, n, hn, h};
    for (size_t k = 0; k < 5; ++k) {
      if (lists[k].size() != 0) WriteElements(lists[k][place], at::stack(kept[k]));
    }
    return at::stack(kept[4]);
  }
};

struct GruBackward {
  Tensor h0;
  OptTensor grad_hy;
  TensorList r, z, n, hn, h;
  bool has_bias;
  Tensor& grad_h0;
  OutList grad_params;

  Tensor states(size_t place, const Plan& plan) const { return plan.Kept(h, place); }

  Tensor Backward(const Weights& w, const Tensor& x, const Tensor& grad, size_t place, const Plan& plan) {
    const int64_t time = x.size(0);
    const auto number = static_cast<int64_t>(place);
    const Tensor before = rnn::Before(plan.Kept(h, place), plan.Wide(h0[number]), plan.reversed(place));
    const Tensor reset = plan.Kept(r, place);
    const Tensor update = plan.Kept(z, place);
    const Tensor candidate = plan.Kept(n, place);
    const Tensor hidden = plan.Kept(hn, place);
    Tensor dh = grad_hy ? plan.Wide((*grad_hy)[number]) : at::zeros_like(before[0]);
    std::vector<Tensor> input_gates(static_cast<size_t>(time));
    std::vector<Tensor> hidden_gates(static_cast<size_t>(time));
    for (int64_t step = 0; step < time; ++step) {
      const int64_t t = plan.reversed(place) ? step : time - 1 - step;
      const Tensor valid = plan.valid(t);
      const Tensor here = dh + grad[t];
      const Tensor dn = here * (1 - update[t]) * (1 - candidate[t].square());
      const Tensor dz = here * (before[t] - candidate[t]) * update[t] * (1 - update[t]);
      const Tensor dr = dn * hidden[t] * reset[t] * (1 - reset[t]);
      Tensor from_input = at::cat({dr, dz, dn}, 1);
      Tensor from_hidden = at::cat({dr, dz, dn * reset[t]}, 1);
      if (valid.defined()) {
        from_input = from_input * valid;
        from_hidden = from_hidden * valid;
      }
      input_gates[static_cast<size_t>(t)] = from_input;
      hidden_gates[static_cast<size_t>(t)] = from_hidden;
      dh = Step(valid, here * update[t] + at::mm(from_hidden, w.hidden), dh);
    }
    grad_h0[number].copy_(dh);
    const Tensor all = at::stack(input_gates);
    rnn::WriteGradients(place, has_bias, x, before, all, at::stack(hidden_gates), grad_params);
    return at::matmul(all, w.input);
  }
};

}  // namespace

MP_KERNEL(aclnnGRU, const Tensor& input, TensorList params, const OptTensor& hx, const OptTensor& batch_sizes,
          bool has_bias, int64_t layers, bool train, bool bidirectional, bool batch_first, Tensor& output, Tensor& hy,
          OptOutList r, OptOutList z, OptOutList n, OptOutList hn, OptOutList h) {
  const Plan plan(input, batch_sizes, layers, bidirectional, batch_first, has_bias, params);
  const auto list = [](const OptOutList& one) { return one.value_or(OutList{}); };
  const auto wanted = static_cast<size_t>(layers * plan.directions());
  plan.CheckStates(hx ? *hx : hy, hy);
  for (const OptOutList* one : {&r, &z, &n, &hn, &h}) {
    const size_t members = list(*one).size();
    TORCH_CHECK(members == wanted || (members == 0 && !train), "a list of gates has ", members,
                " members; training needs ", wanted);
  }
  GruForward cell{hx ? *hx : at::zeros_like(hy), hy, list(r), list(z), list(n), list(hn), list(h)};
  plan.Leave(rnn::Forward(plan, cell, plan.Enter(input)), output);
}

MP_KERNEL(aclnnGRUBackward, const Tensor& input, TensorList params, const Tensor& hx, const OptTensor& dy,
          const OptTensor& dh, TensorList r, TensorList z, TensorList n, TensorList hn, TensorList h,
          const OptTensor& batch_sizes, bool has_bias, int64_t layers, bool bidirectional, bool batch_first, Tensor& dx,
          Tensor& dh_prev, OutList grad_params) {
  const Plan plan(input, batch_sizes, layers, bidirectional, batch_first, has_bias, params);
  plan.CheckStates(hx, dh_prev);
  GruBackward cell{hx, dh, r, z, n, hn, h, has_bias, dh_prev, grad_params};
  const Tensor x = plan.Enter(input);
  const int64_t width = plan.directions() * hx.size(-1);
  const Tensor grad = dy ? plan.Enter(*dy) : at::zeros({x.size(0), x.size(1), width}, x.options());
  plan.Leave(rnn::Backward(plan, cell, x, grad), dx);
}

}  // namespace millpond::kernels

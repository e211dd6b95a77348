// SPDX-License-Identifier: Apache-2.0
// LSTM. Gates lie in the weights in the order input, forget, candidate, output. The lists that training keeps hold, for
// each time, the activated gates, the two states after it and the tangent of the cell state.
#include "src/kernels/outputs.h"
#include "src/kernels/rnn.h"

namespace millpond::kernels {
namespace {

using rnn::Plan;
using rnn::Weights;

// Keeps what a sequence had when it has ended.
Tensor Step(const Tensor& valid, const Tensor& next, const Tensor& before) {
  return valid.defined() ? at::where(valid, next, before) : next;
}

void Store(const OutList& list, size_t place, const std::vector<Tensor>& steps) {
  if (list.size() != 0) WriteElements(list[place], at::stack(steps));
}

struct LstmForward {
  Tensor h0, c0;
  Tensor &hy, &cy;
  OutList i, g, f, o, h, c, tanhc;

  Tensor Forward(const Weights& w, const Tensor& x, size_t place, const Plan& plan) {
    const int64_t time = x.size(0);
    const auto number = static_cast<int64_t>(place);
    Tensor h_now = plan.Wide(h0[number]);
    Tensor c_now = plan.Wide(c0[number]);
    const Tensor from_input = at::linear(x, w.input, w.input_bias);
    std::vector<Tensor> kept[7];
    for (auto& list : kept) list.resize(static_cast<size_t>(time));
    for (int64_t n = 0; n < time; ++n) {
      const int64_t t = plan.reversed(place) ? time - 1 - n : n;
      const auto gates = (from_input[t] + at::linear(h_now, w.hidden, w.hidden_bias)).chunk(4, 1);
      const Tensor in = gates[0].sigmoid();
      const Tensor forget = gates[1].sigmoid();
      const Tensor candidate = gates[2].tanh();
      const Tensor out = gates[3].sigmoid();
      const Tensor cell = forget * c_now + in * candidate;
      const Tensor tangent = cell.tanh();
      const Tensor valid = plan.valid(t);
      c_now = Step(valid, cell, c_now);
      h_now = Step(valid, out * tangent, h_now);
      const Tensor all[] = {in, candidate, forget, out, h_now, c_now, tangent};
      for (size_t k = 0; k < 7; ++k) kept[k][static_cast<size_t>(t)] = all[k];
    }
    hy[number].copy_(h_now);
    cy[number].copy_(c_now);
    const OutList lists[] = {i, g, f, o, h, c, tanhc};
    for (size_t k = 0; k < 7; ++k) Store(lists[k], place, kept[k]);
    return at::stack(kept[4]);
  }
};

struct LstmBackward {
  Tensor h0, c0;
  OptTensor grad_hy, grad_cy;
  TensorList i, g, f, o, h, c, tanhc;
  bool has_bias;
  Tensor &grad_h0, &grad_c0;
  OutList grad_params;

  Tensor states(size_t place, const Plan& plan) const { return Sequence(h, place, plan); }

  Tensor Backward(const Weights& w, const Tensor& x, const Tensor& grad, size_t place, const Plan& plan) {
    const int64_t time = x.size(0);
    const auto number = static_cast<int64_t>(place);
    const Tensor h_before = rnn::Before(Sequence(h, place, plan), plan.Wide(h0[number]), plan.reversed(place));
    const Tensor c_before = rnn::Before(Sequence(c, place, plan), plan.Wide(c0[number]), plan.reversed(place));
    const Tensor in = Sequence(i, place, plan);
    const Tensor candidate = Sequence(g, place, plan);
    const Tensor forget = Sequence(f, place, plan);
    const Tensor out = Sequence(o, place, plan);
    const Tensor tangent = Sequence(tanhc, place, plan);
    Tensor dh = grad_hy ? plan.Wide((*grad_hy)[number]) : at::zeros_like(h_before[0]);
    Tensor dc = grad_cy ? plan.Wide((*grad_cy)[number]) : at::zeros_like(c_before[0]);
    std::vector<Tensor> gates(static_cast<size_t>(time));
    for (int64_t n = 0; n < time; ++n) {
      const int64_t t = plan.reversed(place) ? n : time - 1 - n;
      const Tensor valid = plan.valid(t);
      const Tensor dh_here = dh + grad[t];
      const Tensor dc_here = dc + dh_here * out[t] * (1 - tangent[t].square());
      Tensor d =
          at::cat({dc_here * candidate[t] * in[t] * (1 - in[t]), dc_here * c_before[t] * forget[t] * (1 - forget[t]),
                   dc_here * in[t] * (1 - candidate[t].square()), dh_here * tangent[t] * out[t] * (1 - out[t])},
                  1);
      if (valid.defined()) d = d * valid;
      gates[static_cast<size_t>(t)] = d;
      dh = Step(valid, at::mm(d, w.hidden), dh);
      dc = Step(valid, dc_here * forget[t], dc);
    }
    grad_h0[number].copy_(dh);
    grad_c0[number].copy_(dc);
    const Tensor all = at::stack(gates);
    rnn::WriteGradients(plan, place, has_bias, x, h_before, all, all, grad_params);
    return at::matmul(all, w.input);
  }

 private:
  static Tensor Sequence(TensorList list, size_t place, const Plan& plan) {
    TORCH_CHECK(place < list.size(), "a list of kept gates has ", list.size(), " members; run the forward with train");
    const Tensor& kept = list[place];
    return plan.Wide(kept.dim() == 2 ? kept.unsqueeze(0) : kept);  // clients squeeze one step away
  }
};

}  // namespace

MP_KERNEL(aclnnLSTM, const Tensor& input, TensorList params, TensorList hx, const OptTensor& batch_sizes, bool has_bias,
          int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first, Tensor& output, Tensor& hy,
          Tensor& cy, OutList i, OutList g, OutList f, OutList o, OutList h, OutList c, OutList tanhc) {
  TORCH_CHECK(dropout == 0 || !train || layers == 1, "dropout between layers is not supported: no seed arrives here");
  TORCH_CHECK(hx.size() == 2, "hx has ", hx.size(), " members; it must be the hidden and the cell state");
  const Plan plan(input, batch_sizes, layers, bidirectional, batch_first, has_bias, params);
  LstmForward cell{hx[0], hx[1], hy, cy, i, g, f, o, h, c, tanhc};
  plan.Leave(rnn::Forward(plan, cell, plan.Enter(input)), output);
}

MP_KERNEL(aclnnLstmBackward, const Tensor& input, TensorList hx, TensorList params, const OptTensor& dy,
          const OptTensor& dh, const OptTensor& dc, TensorList i, TensorList g, TensorList f, TensorList o,
          TensorList h, TensorList c, TensorList tanhc, const OptTensor& batch_sizes, bool has_bias, int64_t layers,
          double dropout, bool train, bool bidirectional, bool batch_first, OptBoolArray, Tensor& dx, Tensor& dh_prev,
          Tensor& dc_prev, OutList grad_params) {
  TORCH_CHECK(dropout == 0 || !train || layers == 1, "dropout between layers is not supported: no seed arrives here");
  TORCH_CHECK(hx.size() == 2, "hx has ", hx.size(), " members; it must be the hidden and the cell state");
  const Plan plan(input, batch_sizes, layers, bidirectional, batch_first, has_bias, params);
  LstmBackward cell{hx[0], hx[1], dh, dc, i, g, f, o, h, c, tanhc, has_bias, dh_prev, dc_prev, grad_params};
  const Tensor x = plan.Enter(input);
  const int64_t width = plan.directions() * hx[0].size(-1);
  const Tensor grad = dy ? plan.Enter(*dy) : at::zeros({x.size(0), x.size(1), width}, x.options());
  plan.Leave(rnn::Backward(plan, cell, x, grad), dx);
}

MP_KERNEL(aclnnThnnFusedLstmCell, const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
          const OptTensor& input_bias, const OptTensor& hidden_bias, Tensor& hy, Tensor& cy, Tensor& storage) {
  const ScalarType type = IsHalf(cx.scalar_type()) ? at::kFloat : cx.scalar_type();
  Tensor sum = input_gates.to(type) + hidden_gates.to(type);
  if (input_bias) sum = sum + input_bias->to(type);
  if (hidden_bias) sum = sum + hidden_bias->to(type);
  const auto gates = sum.chunk(4, 1);
  const Tensor in = gates[0].sigmoid();
  const Tensor forget = gates[1].sigmoid();
  const Tensor candidate = gates[2].tanh();
  const Tensor out = gates[3].sigmoid();
  const Tensor cell = forget * cx.to(type) + in * candidate;
  Write(cy, cell);
  Write(hy, out * cell.tanh());
  Write(storage, at::cat({in, forget, candidate, out}, 1));
}

MP_KERNEL(aclnnThnnFusedLstmCellBackward, const OptTensor& grad_hy, const OptTensor& grad_cy, const Tensor& cx,
          const Tensor& cy, const Tensor& storage, bool has_bias, Tensor& grad_gates, Tensor& grad_cx,
          Tensor* grad_bias) {
  const ScalarType type = IsHalf(cx.scalar_type()) ? at::kFloat : cx.scalar_type();
  const auto gates = storage.to(type).chunk(4, 1);
  const Tensor tangent = cy.to(type).tanh();
  const Tensor dh = grad_hy ? grad_hy->to(type) : at::zeros_like(tangent);
  Tensor dc = dh * gates[3] * (1 - tangent.square());
  if (grad_cy) dc = dc + grad_cy->to(type);
  const Tensor all = at::cat({dc * gates[2] * gates[0] * (1 - gates[0]), dc * cx.to(type) * gates[1] * (1 - gates[1]),
                              dc * gates[0] * (1 - gates[2].square()), dh * tangent * gates[3] * (1 - gates[3])},
                             1);
  Write(grad_gates, all);
  Write(grad_cx, dc * gates[1]);
  if (has_bias) Write(grad_bias, all.sum(0));
}

}  // namespace millpond::kernels

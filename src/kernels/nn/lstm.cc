// SPDX-License-Identifier: Apache-2.0
// LSTM over layers and directions, and one step of it. The lists that training keeps hold, for each time, the activated
// gates, the two states after it and the tangent of the cell state.
#include "src/kernels/nn/lstm_cell.h"
#include "src/kernels/nn/rnn.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

using rnn::Plan;
using rnn::Weights;

ValidAt ValidIn(const Plan& plan) {
  return [&plan](int64_t time) { return plan.valid(time); };
}

struct LstmForward {
  Tensor h0, c0;
  Tensor &hy, &cy;
  OutList in, candidate, forget, out, h, c, tangent;

  Tensor Forward(const Weights& w, const Tensor& x, size_t place, const Plan& plan) {
    const auto number = static_cast<int64_t>(place);
    const LstmTrace trace = RunLstm(at::linear(x, w.input, w.input_bias), w.hidden, w.hidden_bias,
                                    plan.Wide(h0[number]), plan.Wide(c0[number]), plan.reversed(place), ValidIn(plan));
    hy[number].copy_(trace.last_h);
    cy[number].copy_(trace.last_c);
    Store(in, place, trace.in);
    Store(candidate, place, trace.candidate);
    Store(forget, place, trace.forget);
    Store(out, place, trace.out);
    Store(h, place, trace.h);
    Store(c, place, trace.c);
    Store(tangent, place, trace.tangent);
    return trace.h;
  }

 private:
  static void Store(const OutList& list, size_t place, const Tensor& sequence) {
    if (list.size() != 0) WriteElements(list[place], sequence);
  }
};

struct LstmBackward {
  Tensor h0, c0;
  OptTensor grad_hy, grad_cy;
  TensorList in, candidate, forget, out, h, c, tangent;
  bool has_bias;
  Tensor &grad_h0, &grad_c0;
  OutList grad_params;

  Tensor states(size_t place, const Plan& plan) const { return plan.Kept(h, place); }

  Tensor Backward(const Weights& w, const Tensor& x, const Tensor& grad, size_t place, const Plan& plan) {
    const auto number = static_cast<int64_t>(place);
    const bool reversed = plan.reversed(place);
    LstmTrace trace;
    trace.in = plan.Kept(in, place);
    trace.candidate = plan.Kept(candidate, place);
    trace.forget = plan.Kept(forget, place);
    trace.out = plan.Kept(out, place);
    trace.tangent = plan.Kept(tangent, place);
    const Tensor h_before = rnn::Before(plan.Kept(h, place), plan.Wide(h0[number]), reversed);
    const Tensor c_before = rnn::Before(plan.Kept(c, place), plan.Wide(c0[number]), reversed);
    Tensor dh = grad_hy ? plan.Wide((*grad_hy)[number]) : at::zeros_like(h_before[0]);
    Tensor dc = grad_cy ? plan.Wide((*grad_cy)[number]) : at::zeros_like(c_before[0]);
    const Tensor gates = LstmGateGradients(trace, c_before, w.hidden, grad, reversed, ValidIn(plan), &dh, &dc);
    grad_h0[number].copy_(dh);
    grad_c0[number].copy_(dc);
    rnn::WriteGradients(place, has_bias, x, h_before, gates, gates, grad_params);
    return at::matmul(gates, w.input);
  }
};

}  // namespace

MP_KERNEL(aclnnLSTM, const Tensor& input, TensorList params, OptTensorList hx, const OptTensor& batch_sizes,
          bool has_bias, int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first,
          Tensor& output, Tensor& hy, Tensor& cy, OptOutList i, OptOutList g, OptOutList f, OptOutList o, OptOutList h,
          OptOutList c, OptOutList tanhc) {
  TORCH_CHECK(dropout == 0 || !train || layers == 1, "dropout between layers is not supported: no seed arrives here");
  const bool starts = hx.has_value() && !hx->empty();
  TORCH_CHECK(!starts || hx->size() == 2, "hx has ", starts ? hx->size() : 0,
              " members; it must be the hidden and the cell state");
  const Plan plan(input, batch_sizes, layers, bidirectional, batch_first, has_bias, params);
  const auto list = [train](const OptOutList& one) { return train ? one.value_or(OutList{}) : OutList{}; };
  const Tensor h0 = starts ? (*hx)[0] : at::zeros(hy.sizes(), input.options());
  const Tensor c0 = starts ? (*hx)[1] : at::zeros(cy.sizes(), input.options());
  plan.CheckStates(h0, hy);
  plan.CheckStates(c0, cy);
  LstmForward cell{h0, c0, hy, cy, list(i), list(g), list(f), list(o), list(h), list(c), list(tanhc)};
  plan.Leave(rnn::Forward(plan, cell, plan.Enter(input)), output);
}

MP_KERNEL(aclnnLstmBackward, const Tensor& input, TensorList hx, TensorList params, const OptTensor& dy,
          const OptTensor& dh, const OptTensor& dc, TensorList i, TensorList g, TensorList f, TensorList o,
          TensorList h, TensorList c, TensorList tanhc, const OptTensor& batch_sizes, bool has_bias, int64_t layers,
          double dropout, bool train, bool bidirectional, bool batch_first, Tensor& dx, Tensor& dh_prev,
          Tensor& dc_prev, OutList grad_params) {
  TORCH_CHECK(dropout == 0 || !train || layers == 1, "dropout between layers is not supported: no seed arrives here");
  TORCH_CHECK(hx.size() == 2, "hx has ", hx.size(), " members; it must be the hidden and the cell state");
  const Plan plan(input, batch_sizes, layers, bidirectional, batch_first, has_bias, params);
  plan.CheckStates(hx[0], dh_prev);
  plan.CheckStates(hx[1], dc_prev);
  LstmBackward cell{hx[0], hx[1], dh, dc, i, g, f, o, h, c, tanhc, has_bias, dh_prev, dc_prev, grad_params};
  const Tensor x = plan.Enter(input);
  const int64_t width = plan.directions() * hx[0].size(-1);
  const Tensor grad = dy ? plan.Enter(*dy) : at::zeros({x.size(0), x.size(1), width}, x.options());
  plan.Leave(rnn::Backward(plan, cell, x, grad), dx);
}

MP_KERNEL(aclnnThnnFusedLstmCell, const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
          const OptTensor& input_bias, const OptTensor& hidden_bias, Tensor& hy, Tensor& cy, Tensor& storage) {
  const ScalarType type = IsHalf(cx.scalar_type()) ? at::kFloat : cx.scalar_type();
  Tensor sums = input_gates.to(type) + hidden_gates.to(type);
  if (input_bias) sums = sums + input_bias->to(type);
  if (hidden_bias) sums = sums + hidden_bias->to(type);
  const LstmGates gates = Activated(sums);
  const Tensor cell = gates.forget * cx.to(type) + gates.in * gates.candidate;
  Write(cy, cell);
  Write(hy, gates.out * cell.tanh());
  Write(storage, at::cat({gates.in, gates.forget, gates.candidate, gates.out}, 1));
}

MP_KERNEL(aclnnThnnFusedLstmCellBackward, const OptTensor& grad_hy, const OptTensor& grad_cy, const Tensor& cx,
          const Tensor& cy, const Tensor& storage, bool has_bias, Tensor& grad_gates, Tensor& grad_cx,
          Tensor* grad_bias) {
  TORCH_CHECK(cx.dim() == 2 && cy.sizes() == cx.sizes() && storage.dim() == 2 && storage.size(0) == cx.size(0) &&
                  storage.size(1) == 4 * cx.size(1),
              "storage has shape ", storage.sizes(), ", cx ", cx.sizes(), " and cy ", cy.sizes(),
              "; they must be [N, 4 * H], [N, H] and [N, H]");
  const ScalarType type = IsHalf(cx.scalar_type()) ? at::kFloat : cx.scalar_type();
  const auto parts = storage.to(type).chunk(4, 1);
  const Tensor tangent = cy.to(type).tanh();
  const Tensor dh = grad_hy ? grad_hy->to(type) : at::zeros_like(tangent);
  Tensor dc = grad_cy ? grad_cy->to(type) : at::zeros_like(tangent);
  const Tensor sums = LstmStepGradient({parts[0], parts[1], parts[2], parts[3]}, tangent, cx.to(type), dh, &dc);
  Write(grad_gates, sums);
  Write(grad_cx, dc);
  if (has_bias) Write(grad_bias, sums.sum(0));
}

}  // namespace millpond::kernels

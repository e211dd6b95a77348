// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/nn/lstm_cell.h"

#include <vector>

#include "src/kernels/nn/rnn.h"

namespace millpond::kernels {
namespace {

// A sequence that has ended keeps what it had.
Tensor Step(const Tensor& valid, const Tensor& next, const Tensor& before) {
  return valid.defined() ? at::where(valid, next, before) : next;
}

}  // namespace

LstmGates Activated(const Tensor& sums) {
  const auto parts = rnn::Gates(sums, 4);
  return {parts[0].sigmoid(), parts[1].sigmoid(), parts[2].tanh(), parts[3].sigmoid()};
}

LstmTrace RunLstm(const Tensor& from_input, const Tensor& hidden_weight, const Tensor& hidden_bias, Tensor h, Tensor c,
                  bool reversed, const ValidAt& valid) {
  const int64_t time = from_input.size(0);
  constexpr size_t kKept = 7;
  std::vector<Tensor> kept[kKept];
  for (auto& list : kept) list.resize(static_cast<size_t>(time));
  for (int64_t n = 0; n < time; ++n) {
    const int64_t t = reversed ? time - 1 - n : n;
    const LstmGates gates = Activated(from_input[t] + at::linear(h, hidden_weight, hidden_bias));
    const Tensor cell = gates.forget * c + gates.in * gates.candidate;
    const Tensor tangent = cell.tanh();
    const Tensor going_on = valid(t);
    c = Step(going_on, cell, c);
    h = Step(going_on, gates.out * tangent, h);
    const Tensor all[kKept] = {gates.in, gates.candidate, gates.forget, gates.out, h, c, tangent};
    for (size_t k = 0; k < kKept; ++k) kept[k][static_cast<size_t>(t)] = all[k];
  }
  return {at::stack(kept[0]),
          at::stack(kept[1]),
          at::stack(kept[2]),
          at::stack(kept[3]),
          at::stack(kept[4]),
          at::stack(kept[5]),
          at::stack(kept[6]),
          h,
          c};
}

Tensor LstmStepGradient(const LstmGates& gates, const Tensor& tangent, const Tensor& c_before, const Tensor& dh,
                        Tensor* dc) {
  const Tensor cell = *dc + dh * gates.out * (1 - tangent.square());
  *dc = cell * gates.forget;
  return at::cat(
      {cell * gates.candidate * gates.in * (1 - gates.in), cell * c_before * gates.forget * (1 - gates.forget),
       cell * gates.in * (1 - gates.candidate.square()), dh * tangent * gates.out * (1 - gates.out)},
      1);
}

Tensor LstmGateGradients(const LstmTrace& trace, const Tensor& c_before, const Tensor& hidden_weight,
                         const Tensor& grad, bool reversed, const ValidAt& valid, Tensor* dh, Tensor* dc) {
  const int64_t time = grad.size(0);
  std::vector<Tensor> steps(static_cast<size_t>(time));
  for (int64_t n = 0; n < time; ++n) {
    const int64_t t = reversed ? n : time - 1 - n;
    const Tensor going_on = valid(t);
    const LstmGates gates{trace.in[t], trace.forget[t], trace.candidate[t], trace.out[t]};
    Tensor dc_before = *dc;
    Tensor step = LstmStepGradient(gates, trace.tangent[t], c_before[t], *dh + grad[t], &dc_before);
    if (going_on.defined()) step = step * going_on.narrow(1, 0, 1);
    steps[static_cast<size_t>(t)] = step;
    *dh = Step(going_on, at::mm(step, hidden_weight), *dh);
    *dc = Step(going_on, dc_before, *dc);
  }
  return at::stack(steps);
}

}  // namespace millpond::kernels

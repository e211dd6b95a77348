// SPDX-License-Identifier: Apache-2.0
// One layer of an LSTM in one direction, forward and back, over sequences (time, batch, features). Gates are in the
// order input, forget, candidate, output.
#ifndef MILLPOND_SRC_KERNELS_NN_LSTM_CELL_H_
#define MILLPOND_SRC_KERNELS_NN_LSTM_CELL_H_

#include <functional>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

struct LstmGates {
  Tensor in, forget, candidate, out;
};
LstmGates Activated(const Tensor& sums);  // (batch, 4 * H)

// (batch, 1 or H), true where a sequence has not ended at that time; undefined when all go on.
using ValidAt = std::function<Tensor(int64_t time)>;

// Each (time, batch, H): the gates, the two states after each time, and the tangent of the cell state.
struct LstmTrace {
  Tensor in, candidate, forget, out, h, c, tangent;
  Tensor last_h, last_c;
};
// from_input: what the input gives to the gates, (time, batch, 4 * H).
LstmTrace RunLstm(const Tensor& from_input, const Tensor& hidden_weight, const Tensor& hidden_bias, Tensor h, Tensor c,
                  bool reversed, const ValidAt& valid);

// The gradient of the gates' sums, (time, batch, 4 * H). `grad` is the output's; *dh and *dc begin as the gradients of
// the last states and end as those of the first.
Tensor LstmGateGradients(const LstmTrace& trace, const Tensor& c_before, const Tensor& hidden_weight,
                         const Tensor& grad, bool reversed, const ValidAt& valid, Tensor* dh, Tensor* dc);
// The same for one time; returns the gates' gradient and leaves that of the cell state before in *dc.
Tensor LstmStepGradient(const LstmGates& gates, const Tensor& tangent, const Tensor& c_before, const Tensor& dh,
                        Tensor* dc);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_NN_LSTM_CELL_H_

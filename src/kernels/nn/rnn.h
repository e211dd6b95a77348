// SPDX-License-Identifier: Apache-2.0
// What LSTM and GRU share: layers over layers, one or two directions, sequences that may end at different times. A cell
// has Forward(weights, x, place, plan) -> states and Backward(weights, x, grad, place, plan) -> gradient of x; `place`
// counts layer by layer, direction by direction. Sequences are (time, batch, features); half types are computed in
// float.
#ifndef MILLPOND_SRC_KERNELS_NN_RNN_H_
#define MILLPOND_SRC_KERNELS_NN_RNN_H_

#include <vector>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels::rnn {

struct Weights {
  Tensor input, hidden;            // (gates * H, F), (gates * H, H)
  Tensor input_bias, hidden_bias;  // undefined without biases
};

class Plan {
 public:
  Plan(const Tensor& input, const OptTensor& batch_sizes, int64_t layers, bool bidirectional, bool batch_first,
       bool has_bias, TensorList params);

  int64_t layers() const { return layers_; }
  int64_t directions() const { return directions_; }
  size_t place(int64_t layer, int64_t direction) const { return static_cast<size_t>(layer * directions_ + direction); }
  bool reversed(size_t place) const { return directions_ == 2 && place % 2 == 1; }
  Weights weights(size_t place) const;
  // States are one for each layer and direction.
  void CheckStates(const Tensor& given, const Tensor& out) const;

  // A client's sequence as (time, batch, features) in the type of computation, and back.
  Tensor Enter(const Tensor& sequence) const;
  void Leave(const Tensor& sequence, Tensor& out) const;
  Tensor Wide(const Tensor& x) const { return x.to(type_); }

  // What training kept for a place, as a sequence.
  Tensor Kept(TensorList list, size_t place) const;

  // (batch, 1), true where a sequence has not ended at that time; undefined when all last to the end.
  Tensor valid(int64_t time) const;
  // With zeros where a sequence has ended.
  Tensor Trimmed(const Tensor& sequence) const;

 private:
  int64_t layers_, directions_;
  bool batch_first_, has_bias_;
  TensorList params_;
  ScalarType type_;
  int64_t time_ = 0;  // 0 unless the client gave batch sizes
  Tensor valid_;      // (time, batch, 1)
};

// The sums of (batch, gates * H), gate by gate.
std::vector<Tensor> Gates(const Tensor& sums, int64_t gates);

// What was the state before each time: the states moved by one, the initial one in front (or behind, when reversed).
Tensor Before(const Tensor& states, const Tensor& initial, bool reversed);

void WriteGradients(size_t place, bool has_bias, const Tensor& x, const Tensor& before, const Tensor& grad_input_gates,
                    const Tensor& grad_hidden_gates, OutList out);

template <class Cell>
Tensor Forward(const Plan& plan, Cell& cell, Tensor x) {
  for (int64_t layer = 0; layer < plan.layers(); ++layer) {
    std::vector<Tensor> parts;
    for (int64_t direction = 0; direction < plan.directions(); ++direction) {
      const size_t place = plan.place(layer, direction);
      parts.push_back(cell.Forward(plan.weights(place), x, place, plan));
    }
    x = plan.Trimmed(parts.size() == 1 ? parts[0] : at::cat(parts, -1));
  }
  return x;
}

// The gradient of the input, from that of the output; `states(place)` are those that the forward pass left.
template <class Cell>
Tensor Backward(const Plan& plan, Cell& cell, const Tensor& input, Tensor grad) {
  for (int64_t layer = plan.layers() - 1; layer >= 0; --layer) {
    Tensor x = input;
    if (layer > 0) {
      std::vector<Tensor> parts;
      for (int64_t direction = 0; direction < plan.directions(); ++direction) {
        parts.push_back(cell.states(plan.place(layer - 1, direction), plan));
      }
      x = plan.Trimmed(parts.size() == 1 ? parts[0] : at::cat(parts, -1));
    }
    grad = plan.Trimmed(grad);
    TORCH_CHECK(grad.size(-1) % plan.directions() == 0, "a gradient of shape ", grad.sizes(), " has not ",
                plan.directions(), " directions");
    const auto shares = grad.chunk(plan.directions(), -1);
    Tensor sum;
    for (int64_t direction = 0; direction < plan.directions(); ++direction) {
      const size_t place = plan.place(layer, direction);
      const Tensor part = cell.Backward(plan.weights(place), x, shares[static_cast<size_t>(direction)], place, plan);
      sum = sum.defined() ? sum + part : part;
    }
    grad = sum;
  }
  return grad;
}

}  // namespace millpond::kernels::rnn

#endif  // MILLPOND_SRC_KERNELS_NN_RNN_H_

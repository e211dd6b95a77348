// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/nn/rnn.h"

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels::rnn {

Plan::Plan(const Tensor& input, const OptTensor& batch_sizes, int64_t layers, bool bidirectional, bool batch_first,
           bool has_bias, TensorList params)
    : layers_(layers),
      directions_(bidirectional ? 2 : 1),
      batch_first_(batch_first),
      has_bias_(has_bias),
      params_(params),
      type_(IsHalf(input.scalar_type()) ? at::kFloat : input.scalar_type()) {
  const int64_t rank = batch_sizes && batch_sizes->numel() != 0 ? 2 : 3;
  TORCH_CHECK(input.dim() == rank, "the input has shape ", input.sizes(), "; it must have ", rank, " dimensions");
  const auto wanted = static_cast<size_t>(layers_ * directions_ * (has_bias ? 4 : 2));
  TORCH_CHECK(params.size() == wanted, "there are ", params.size(), " parameters; ", layers_, " layers in ",
              directions_, " directions need ", wanted);
  if (!batch_sizes || batch_sizes->numel() == 0) return;
  time_ = batch_sizes->numel();
  TORCH_CHECK(input.size(0) % time_ == 0, "the input has ", input.size(0), " rows, which are not ", time_,
              " times a batch: packed sequences must be padded to equal length");
  const int64_t batch = input.size(0) / time_;
  const Tensor sizes = Long(*batch_sizes).reshape({time_, 1});
  valid_ = (at::arange(batch, sizes.options()).reshape({1, batch}) < sizes).unsqueeze(-1);
  if (valid_.all().item<bool>()) valid_ = Tensor();
}

Weights Plan::weights(size_t place) const {
  const size_t first = place * (has_bias_ ? 4 : 2);
  return {Wide(params_[first]), Wide(params_[first + 1]), has_bias_ ? Wide(params_[first + 2]) : Tensor(),
          has_bias_ ? Wide(params_[first + 3]) : Tensor()};
}

void Plan::CheckStates(const Tensor& given, const Tensor& out) const {
  const int64_t places = layers_ * directions_;
  TORCH_CHECK(given.dim() == 3 && given.size(0) == places && given.sizes() == out.sizes(), "states of shape ",
              given.sizes(), " and ", out.sizes(), " are not ", places, " times batch and hidden size");
}

Tensor Plan::Enter(const Tensor& sequence) const {
  if (time_ != 0) return Wide(sequence).reshape({time_, -1, sequence.size(-1)});
  return Wide(batch_first_ ? sequence.transpose(0, 1) : sequence);
}

void Plan::Leave(const Tensor& sequence, Tensor& out) const {
  if (time_ != 0) {
    WriteElements(out, sequence);
  } else {
    Write(out, batch_first_ ? sequence.transpose(0, 1) : sequence);
  }
}

Tensor Plan::Kept(TensorList list, size_t place) const {
  TORCH_CHECK(place < list.size(), "a list of kept gates has ", list.size(), " members; run the forward with train");
  const Tensor& kept = list[place];
  return Wide(kept.dim() == 2 ? kept.unsqueeze(0) : kept);  // clients squeeze one step away
}

Tensor Plan::valid(int64_t time) const { return valid_.defined() ? valid_[time] : Tensor(); }

Tensor Plan::Trimmed(const Tensor& sequence) const { return valid_.defined() ? sequence * valid_ : sequence; }

std::vector<Tensor> Gates(const Tensor& sums, int64_t gates) {
  TORCH_CHECK(sums.dim() == 2 && sums.size(1) % gates == 0, "gates of shape ", sums.sizes(), " are not a batch of ",
              gates, " times the hidden size");
  return sums.chunk(gates, 1);
}

Tensor Before(const Tensor& states, const Tensor& initial, bool reversed) {
  const int64_t time = states.size(0);
  const Tensor first = initial.unsqueeze(0);
  if (reversed) return at::cat({states.narrow(0, 1, time - 1), first});
  return at::cat({first, states.narrow(0, 0, time - 1)});
}

void WriteGradients(size_t place, bool has_bias, const Tensor& x, const Tensor& before, const Tensor& grad_input_gates,
                    const Tensor& grad_hidden_gates, OutList out) {
  const size_t first = place * (has_bias ? 4 : 2);
  const Tensor input_gates = grad_input_gates.flatten(0, 1);
  const Tensor hidden_gates = grad_hidden_gates.flatten(0, 1);
  Write(out[first], at::mm(input_gates.t(), x.flatten(0, 1)));
  Write(out[first + 1], at::mm(hidden_gates.t(), before.flatten(0, 1)));
  if (!has_bias) return;
  Write(out[first + 2], input_gates.sum(0));
  Write(out[first + 3], hidden_gates.sum(0));
}

}  // namespace millpond::kernels::rnn

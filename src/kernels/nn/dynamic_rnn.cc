// SPDX-License-Identifier: Apache-2.0
// The GE operators behind an LSTM: one layer, one direction, any order of the gates; weights are (inputs, 4 * H).
#include "src/kernels/nn/lstm_cell.h"
#include "src/kernels/nn/rnn.h"
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

// Where each of input, forget, candidate (j or c) and output stands in the client's order.
std::array<size_t, 4> Places(string_view order) {
  std::array<size_t, 4> places;
  constexpr string_view kNames[] = {"i", "f", "jc", "o"};
  for (size_t k = 0; k < 4; ++k) {
    places[k] = order.find_first_of(kNames[k]);
    TORCH_CHECK(order.size() == 4 && places[k] != string_view::npos, "gate_order is '", std::string(order),
                "'; it must name i, f, j (or c) and o once each");
  }
  return places;
}
std::vector<Tensor> Quarters(const Tensor& gates) {
  TORCH_CHECK(gates.dim() != 0 && gates.size(-1) % 4 == 0, "gates of shape ", gates.sizes(),
              " are not four times the hidden size");
  return gates.chunk(4, -1);
}
Tensor FromOrder(const Tensor& gates, string_view order) {
  const auto parts = Quarters(gates);
  const auto places = Places(order);
  return at::cat({parts[places[0]], parts[places[1]], parts[places[2]], parts[places[3]]}, -1);
}
Tensor ToOrder(const Tensor& gates, string_view order) {
  const auto parts = Quarters(gates);
  const auto places = Places(order);
  std::vector<Tensor> ordered(4);
  for (size_t k = 0; k < 4; ++k) ordered[places[k]] = parts[k];
  return at::cat(ordered, -1);
}

bool Reversed(string_view direction) {
  TORCH_CHECK(direction == "UNIDIRECTIONAL" || direction == "REDIRECTIONAL", "direction is '", std::string(direction),
              "'; it must be UNIDIRECTIONAL or REDIRECTIONAL");
  return direction == "REDIRECTIONAL";
}

// Lengths come as one number for each sequence or as a mask (time, batch, H); a tensor without dimensions says nothing.
class Lengths {
 public:
  Lengths(const OptTensor& given, int64_t time) {
    if (!given || given->dim() == 0 || given->numel() == 0) return;
    if (given->dim() == 1) {
      const Tensor times = at::arange(time, at::TensorOptions().dtype(at::kLong)).reshape({time, 1, 1});
      valid_ = times < Long(*given).reshape({1, -1, 1});
    } else {
      valid_ = given->reshape({time, -1, given->size(-1)}) != 0;
    }
  }
  ValidAt at() const {
    return [this](int64_t t) { return valid_.defined() ? valid_[t] : Tensor(); };
  }
  Tensor Trimmed(const Tensor& sequence) const { return valid_.defined() ? sequence * valid_ : sequence; }

 private:
  Tensor valid_;
};

struct Outputs {
  Tensor &y, &h, &c, &i, &j, &f, &o, &tangent;
};

void RunLayer(const Tensor& x, const Tensor& w_input, const Tensor& w_hidden, const Tensor& bias,
              const OptTensor& lengths, const OptTensor& h0, const OptTensor& c0, bool reversed,
              const Outputs& outputs) {
  const Lengths valid(lengths, x.size(0));
  const int64_t hidden = w_hidden.size(1);
  const auto first = [&](const OptTensor& state) {
    return state ? Widened(*state).reshape({x.size(1), hidden}) : at::zeros({x.size(1), hidden}, w_hidden.options());
  };
  const LstmTrace trace =
      RunLstm(at::linear(Widened(x), w_input, bias), w_hidden, Tensor(), first(h0), first(c0), reversed, valid.at());
  Write(outputs.y, valid.Trimmed(trace.h));
  Write(outputs.h, trace.h);
  Write(outputs.c, trace.c);
  Write(outputs.i, trace.in);
  Write(outputs.j, trace.candidate);
  Write(outputs.f, trace.forget);
  Write(outputs.o, trace.out);
  Write(outputs.tangent, trace.tangent);
}

struct Gradients {
  Tensor input_weight, hidden_weight, bias, x, h0, c0;
};

Gradients LayerGradients(const Tensor& x, const Tensor& w_input, const Tensor& w_hidden, const Tensor& h0,
                         const Tensor& c0, const Tensor& h, const Tensor& c, const Tensor& dy, const Tensor& dh,
                         const Tensor& dc, const LstmTrace& trace, const OptTensor& lengths, bool reversed) {
  const Lengths valid(lengths, x.size(0));
  const int64_t batch = x.size(1);
  const int64_t hidden = w_hidden.size(1);
  const Tensor h_before = rnn::Before(Widened(h), Widened(h0).reshape({batch, hidden}), reversed);
  const Tensor c_before = rnn::Before(Widened(c), Widened(c0).reshape({batch, hidden}), reversed);
  Tensor to_h = Widened(dh).reshape({batch, hidden});
  Tensor to_c = Widened(dc).reshape({batch, hidden});
  const Tensor gates =
      LstmGateGradients(trace, c_before, w_hidden, valid.Trimmed(Widened(dy)), reversed, valid.at(), &to_h, &to_c);
  const Tensor flat = gates.flatten(0, 1);
  return {at::mm(Widened(x).flatten(0, 1).t(), flat),
          at::mm(h_before.flatten(0, 1).t(), flat),
          flat.sum(0),
          at::matmul(gates, w_input),
          to_h,
          to_c};
}

LstmTrace TraceOf(const Tensor& i, const Tensor& j, const Tensor& f, const Tensor& o, const Tensor& tangent) {
  LstmTrace trace;
  trace.in = Widened(i);
  trace.candidate = Widened(j);
  trace.forget = Widened(f);
  trace.out = Widened(o);
  trace.tangent = Widened(tangent);
  return trace;
}

// torch_npu passes zeros for networks without peepholes and masks, and zeros change nothing; what others would change
// is not computed.
struct Peepholes {
  const OptTensor &input, &forget, &output, &mask;

  void RequireZeros() const {
    const std::pair<const char*, const OptTensor*> all[] = {
        {"wci", &input}, {"wcf", &forget}, {"wco", &output}, {"mask", &mask}};
    for (const auto& [name, tensor] : all) {
      TORCH_CHECK(!*tensor || !(*tensor)->any().item<bool>(), name,
                  " has elements that are not zero, but gradients of LSTMs are computed without peepholes and masks; "
                  "leave it out, or mask the sequences by seq_length");
    }
  }
};

}  // namespace

MP_KERNEL(DynamicRnn, const Tensor& x, const Tensor& w, const Tensor& b, const OptTensor& lengths, const OptTensor& h0,
          const OptTensor& c0, string_view direction, string_view order, Tensor& y, Tensor& h, Tensor& c, Tensor& i,
          Tensor& j, Tensor& f, Tensor& o, Tensor& tangent) {
  const Tensor weight = FromOrder(Widened(w), order).t();
  const int64_t features = x.size(-1);
  RunLayer(x, weight.narrow(1, 0, features), weight.narrow(1, features, weight.size(1) - features),
           FromOrder(Widened(b), order), lengths, h0, c0, Reversed(direction), {y, h, c, i, j, f, o, tangent});
}
MP_KERNEL(DynamicRnnV2, const Tensor& x, const Tensor& w_input, const Tensor& w_hidden, const OptTensor& b,
          const OptTensor& lengths, const OptTensor& h0, const OptTensor& c0, string_view direction, string_view order,
          Tensor& y, Tensor& h, Tensor& c, Tensor& i, Tensor& j, Tensor& f, Tensor& o, Tensor& tangent) {
  RunLayer(x, FromOrder(Widened(w_input), order).t(), FromOrder(Widened(w_hidden), order).t(),
           b ? FromOrder(Widened(*b), order) : Tensor(), lengths, h0, c0, Reversed(direction),
           {y, h, c, i, j, f, o, tangent});
}

MP_KERNEL(DynamicRnnGrad, const Tensor& x, const Tensor& w, const Tensor& h0, const Tensor& c0, const Tensor& h,
          const Tensor& c, const Tensor& dy, const Tensor& dh, const Tensor& dc, const Tensor& i, const Tensor& j,
          const Tensor& f, const Tensor& o, const Tensor& tangent, const OptTensor& lengths, const OptTensor& mask,
          const OptTensor& wci, const OptTensor& wcf, const OptTensor& wco, string_view direction, string_view order,
          Tensor& dw, Tensor& db, Tensor& dx, Tensor& dh_prev, Tensor& dc_prev) {
  Peepholes{wci, wcf, wco, mask}.RequireZeros();
  const Tensor weight = FromOrder(Widened(w), order).t();
  const int64_t features = x.size(-1);
  const Gradients found =
      LayerGradients(x, weight.narrow(1, 0, features), weight.narrow(1, features, weight.size(1) - features), h0, c0, h,
                     c, dy, dh, dc, TraceOf(i, j, f, o, tangent), lengths, Reversed(direction));
  Write(dw, ToOrder(at::cat({found.input_weight, found.hidden_weight}), order));
  WriteElements(db, ToOrder(found.bias, order));
  Write(dx, found.x);
  WriteElements(dh_prev, found.h0);
  WriteElements(dc_prev, found.c0);
}
MP_KERNEL(DynamicRnnV2Grad, const Tensor& x, const Tensor& w_input, const Tensor& w_hidden, const Tensor& h0,
          const Tensor& c0, const Tensor& h, const Tensor& c, const Tensor& dy, const Tensor& dh, const Tensor& dc,
          const Tensor& i, const Tensor& j, const Tensor& f, const Tensor& o, const Tensor& tangent,
          const OptTensor& lengths, const OptTensor& wci, const OptTensor& wcf, const OptTensor& wco,
          const OptTensor& mask, string_view direction, string_view order, Tensor& dw_input, Tensor& dw_hidden,
          Tensor& db, Tensor& dx, Tensor& dh_prev, Tensor& dc_prev) {
  Peepholes{wci, wcf, wco, mask}.RequireZeros();
  // A cell's input comes without its time dimension.
  const Tensor sequence = x.dim() == 2 ? x.unsqueeze(0) : x;
  const Gradients found =
      LayerGradients(sequence, FromOrder(Widened(w_input), order).t(), FromOrder(Widened(w_hidden), order).t(), h0, c0,
                     h.reshape(i.sizes()), c.reshape(i.sizes()), dy.reshape(i.sizes()), dh, dc,
                     TraceOf(i, j, f, o, tangent), lengths, Reversed(direction));
  Write(dw_input, ToOrder(found.input_weight, order));
  Write(dw_hidden, ToOrder(found.hidden_weight, order));
  WriteElements(db, ToOrder(found.bias, order));
  WriteElements(dx, found.x);
  WriteElements(dh_prev, found.h0);
  WriteElements(dc_prev, found.c0);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and the plain cell as ONNX has them: any activations, peepholes, clipping, lengths, both directions.
#include <functional>

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

Function FunctionOf(const std::string& name, double alpha, double beta, bool has_alpha, bool has_beta) {
  if (name == "Sigmoid") return [](const Tensor& x) { return x.sigmoid(); };
  if (name == "Tanh") return [](const Tensor& x) { return x.tanh(); };
  if (name == "Relu") return [](const Tensor& x) { return x.relu(); };
  if (name == "Affine") return [=](const Tensor& x) { return x * (has_alpha ? alpha : 1.0) + (has_beta ? beta : 0.0); };
  if (name == "LeakyRelu") return [=](const Tensor& x) { return at::leaky_relu(x, has_alpha ? alpha : 0.01); };
  if (name == "ScaledTanh") {
    return [=](const Tensor& x) { return (x * (has_beta ? beta : 1.0)).tanh() * (has_alpha ? alpha : 1.0); };
  }
  if (name == "HardSigmoid") {
    return [=](const Tensor& x) { return (x * (has_alpha ? alpha : 0.2) + (has_beta ? beta : 0.5)).clamp(0, 1); };
  }
  if (name == "Elu") return [=](const Tensor& x) { return at::elu(x, has_alpha ? alpha : 1.0); };
  if (name == "Softsign") return [](const Tensor& x) { return x / (x.abs() + 1); };
  if (name == "Softplus") return [](const Tensor& x) { return at::softplus(x); };
  TORCH_CHECK(false, "activation '", name, "' is not known");
}

std::vector<Function> FunctionsOf(string_view names, DoubleArray alphas, DoubleArray betas) {
  std::vector<Function> functions;
  size_t number = 0;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    functions.push_back(FunctionOf(std::string(names.substr(0, comma)), number < alphas.size() ? alphas[number] : 0,
                                   number < betas.size() ? betas[number] : 0, number < alphas.size(),
                                   number < betas.size()));
    names.remove_prefix(std::min(comma + 1, names.size()));
    ++number;
  }
  return functions;
}

struct Cell {
  string_view kind;
  Tensor w, r, wb, rb, peepholes;
  std::vector<Function> functions;  // of this direction
  double clip;
  bool input_forget, linear_before_reset;

  Tensor Clipped(const Tensor& x) const { return clip > 0 ? x.clamp(-clip, clip) : x; }

  Tensor Gru(const Tensor& x, const Tensor& h) const {
    const auto gx = at::linear(x, w, wb).chunk(3, 1);
    const auto rs = r.chunk(3, 0);
    const auto bs = rb.chunk(3, 0);
    const Tensor z = functions[0](Clipped(gx[0] + at::linear(h, rs[0], bs[0])));
    const Tensor reset = functions[0](Clipped(gx[1] + at::linear(h, rs[1], bs[1])));
    const Tensor inner =
        linear_before_reset ? reset * at::linear(h, rs[2], bs[2]) : at::linear(reset * h, rs[2], bs[2]);
    const Tensor fresh = functions[1](Clipped(gx[2] + inner));
    return (1 - z) * fresh + z * h;
  }

  // Gates in ONNX's order: input, output, forget, cell.
  std::pair<Tensor, Tensor> Lstm(const Tensor& x, const Tensor& h, const Tensor& c) const {
    const auto gates = (at::linear(x, w, wb) + at::linear(h, r, rb)).chunk(4, 1);
    const auto p = peepholes.chunk(3, 0);
    const Tensor in = functions[0](Clipped(gates[0] + p[0] * c));
    const Tensor forget = input_forget ? 1 - in : functions[0](Clipped(gates[2] + p[2] * c));
    const Tensor next = forget * c + in * functions[1](Clipped(gates[3]));
    const Tensor out = functions[0](Clipped(gates[1] + p[1] * next));
    return {out * functions[2](next), next};
  }

  void Step(const Tensor& x, Tensor* h, Tensor* c) const {
    if (kind == "lstm") {
      std::tie(*h, *c) = Lstm(x, *h, *c);
    } else if (kind == "gru") {
      *h = Gru(x, *h);
    } else {
      *h = functions[0](Clipped(at::linear(x, w, wb) + at::linear(*h, r, rb)));
    }
  }
};

}  // namespace

MP_KERNEL(OwnRecurrent, const Tensor& x, const Tensor& w, const Tensor& r, const OptTensor& b, const OptTensor& lengths,
          const OptTensor& h, const OptTensor& c, const OptTensor& p, string_view kind, string_view direction,
          string_view activations, DoubleArray alphas, DoubleArray betas, double clip, bool input_forget,
          bool linear_before_reset, int64_t layout, Tensor& y, Tensor& y_h, Tensor& y_c) {
  const ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor steps = (layout != 0 ? x.transpose(0, 1) : x).to(type);
  const int64_t length = steps.size(0);
  const int64_t batch = steps.size(1);
  const int64_t directions = r.size(0);
  const int64_t hidden = r.size(2);
  const int64_t gates = kind == "lstm" ? 4 : kind == "gru" ? 3 : 1;
  const size_t each = kind == "lstm" ? 3 : kind == "gru" ? 2 : 1;
  const std::vector<Function> functions = FunctionsOf(activations, alphas, betas);
  TORCH_CHECK(functions.size() == each * static_cast<size_t>(directions), "there are ", functions.size(),
              " activations for ", directions, " directions of ", each);
  TORCH_CHECK(w.size(1) == gates * hidden && r.size(1) == gates * hidden, "w is ", w.sizes(), " and r ", r.sizes(),
              "; they must have ", gates, " gates");
  const auto initial = [&](const OptTensor& given, int64_t at) {
    if (!given) return at::zeros({batch, hidden}, type);
    return (layout != 0 ? given->transpose(0, 1) : *given).select(0, at).to(type);
  };
  std::vector<Tensor> all, last_h, last_c;
  for (int64_t d = 0; d < directions; ++d) {
    const Tensor bias = b ? b->select(0, d).to(type) : at::zeros({2 * gates * hidden}, type);
    const auto from = functions.begin() + static_cast<std::ptrdiff_t>(each) * d;
    const Cell cell{kind,
                    w.select(0, d).to(type),
                    r.select(0, d).to(type),
                    bias.narrow(0, 0, gates * hidden),
                    bias.narrow(0, gates * hidden, gates * hidden),
                    p ? p->select(0, d).to(type) : at::zeros({3 * hidden}, type),
                    {from, from + static_cast<std::ptrdiff_t>(each)},
                    clip,
                    input_forget,
                    linear_before_reset};
    Tensor now_h = initial(h, d);
    Tensor now_c = initial(c, d);
    const bool backwards = direction == "reverse" || d == 1;
    std::vector<Tensor> outputs(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = backwards ? length - 1 - i : i;
      Tensor next_h = now_h;
      Tensor next_c = now_c;
      cell.Step(steps[t], &next_h, &next_c);
      Tensor shown = next_h;
      if (lengths) {
        // Rows that are over keep their state and give nothing.
        const Tensor runs = lengths->to(at::kLong).gt(t).unsqueeze(1);
        next_h = at::where(runs, next_h, now_h);
        next_c = at::where(runs, next_c, now_c);
        shown = at::where(runs, next_h, at::zeros({}, type));
      }
      now_h = next_h;
      now_c = next_c;
      outputs[static_cast<size_t>(t)] = shown;
    }
    all.push_back(length > 0 ? at::stack(outputs) : at::zeros({0, batch, hidden}, type));
    last_h.push_back(now_h);
    last_c.push_back(now_c);
  }
  const Tensor stacked = at::stack(all, 1);  // [steps, directions, batch, hidden]
  Write(y, layout != 0 ? stacked.permute({2, 0, 1, 3}) : stacked);
  Write(y_h, at::stack(last_h, layout != 0 ? 1 : 0));
  Write(y_c, at::stack(last_c, layout != 0 ? 1 : 0));
}

MP_KERNEL(OwnFourier, const Tensor& x, OptIntArrayRef length, int64_t axis, bool inverse, bool onesided, Tensor& y) {
  // In double, as who compares with numpy expects: sums that cancel leave less.
  const Tensor wide = x.to(at::kDouble);
  const bool complex = x.size(-1) == 2;
  const Tensor signal = complex ? at::view_as_complex(wide.contiguous()) : wide.select(-1, 0);
  const int64_t dim = axis < 0 ? axis + x.dim() : axis;
  const std::optional<c10::SymInt> size =
      length && !length->empty() ? std::optional<c10::SymInt>((*length)[0]) : std::nullopt;
  if (onesided && inverse) {
    const Tensor half = complex ? signal : at::complex(signal, at::zeros_like(signal));
    return Write(y, at::fft_irfft_symint(half, size, dim).unsqueeze(-1));
  }
  const Tensor spectrum = inverse                ? at::fft_ifft_symint(signal, size, dim)
                          : onesided && !complex ? at::fft_rfft_symint(signal, size, dim)
                                                 : at::fft_fft_symint(signal, size, dim);
  const Tensor shown = onesided && complex ? spectrum.narrow(dim, 0, y.size(dim)) : spectrum;
  Write(y, at::view_as_real(shown.contiguous()));
}

}  // namespace millpond::kernels

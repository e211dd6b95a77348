// SPDX-License-Identifier: Apache-2.0
// Operators with their own kernels (src/ops/table/onnx.ops), signal windows, and centre crop/pad.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

void Recurrent(Context& c) {
  Builder& b = c.b;
  const bool lstm = c.type() == "LSTM";
  const bool gru = c.type() == "GRU";
  const std::string direction = c.Text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return c.Refuse("direction \"%s\" is not known", direction.c_str());
  }
  std::vector<std::string> names = c.Texts("activations");
  if (names.empty()) {
    for (int i = 0; i < (direction == "bidirectional" ? 2 : 1); ++i) {
      if (lstm || gru) names.emplace_back("Sigmoid");
      names.emplace_back("Tanh");
      if (lstm) names.emplace_back("Tanh");
    }
  }
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ",") + name;
  c.Ignore("hidden_size");
  const Val cell = lstm ? c.Maybe(6) : Val();
  const Val peepholes = lstm ? c.Maybe(7) : Val();
  const Vals out =
      b.Ops("MillpondRecurrent", {c.In(0), c.In(1), c.In(2), c.Maybe(3), c.Maybe(4), c.Maybe(5), cell, peepholes},
            {{"kind", lstm  ? "lstm"
                      : gru ? "gru"
                            : "rnn"},
             {"direction", direction},
             {"activations", joined},
             {"alphas", c.Reals("activation_alpha")},
             {"betas", c.Reals("activation_beta")},
             {"clip", c.Real("clip", 0)},
             {"input_forget", lstm && c.Int("input_forget", 0) != 0},
             {"linear_before_reset", gru && c.Int("linear_before_reset", 0) != 0},
             {"layout", c.Int("layout", 0)}});
  for (size_t i = 0; i < (lstm ? 3U : 2U); ++i) c.Out(i, out[i]);
}

void Unique(Context& c) {
  const int64_t axis = c.HasAttr("axis") ? c.Int("axis", 0) : -1000;
  const Vals out = c.b.Ops("MillpondUnique", {c.In(0)}, {{"axis", axis}, {"sorted", c.Int("sorted", 1) != 0}});
  for (size_t i = 0; i < 4; ++i) c.Out(i, out[i]);
}

void NonMaxSuppression(Context& c) {
  Builder& b = c.b;
  const auto number = [&](size_t place, double otherwise, DType type) {
    if (!c.Has(place)) return b.Scalar(type, otherwise);
    const Val value = c.In(place);
    return b.RankOf(value) == 1 ? b.Reshape(value, {}) : value;
  };
  const double none = -std::numeric_limits<float>::infinity();
  c.Out(
      b.Op("MillpondNonMaxSuppression",
           {c.In(0), c.In(1), number(2, 0, DType::kInt64), number(3, 0, DType::kFloat), number(4, none, DType::kFloat)},
           {{"center", c.Int("center_point_box", 0) != 0}}));
}

void Det(Context& c) { c.Out(c.b.Op("MillpondDeterminant", {c.In(0)})); }

void Dft(Context& c) {
  Builder& b = c.b;
  Val axis;
  if (c.opset < 20) {
    axis = b.ConstInt(c.Int("axis", 1));
  } else {
    axis = c.Has(2) ? c.In(2) : b.ConstInt(-2);
  }
  c.Out(b.Op("MillpondFourier", {c.In(0), c.Maybe(1), axis},
             {{"inverse", c.Int("inverse", 0) != 0}, {"onesided", c.Int("onesided", 0) != 0}}));
}

void Stft(Context& c) {
  Builder& b = c.b;
  Val signal = c.In(0);
  const Val window = c.Maybe(2);
  const auto number = [&](const Val& value) { return b.Reshape(b.Cast(value, DType::kInt64), {}); };
  const Val hop = number(c.In(1));
  if (!c.Has(3) && !Given(window)) return c.Refuse("it has neither a window nor a frame_length");
  const int64_t rank = c.KnownRank(signal);
  if (rank == 2) signal = b.Unsqueeze(signal, {2});
  if (rank != 2 && rank != 3) return c.Refuse("its signal has %lld dimensions", static_cast<long long>(rank));
  if (Given(window) && b.RankOf(window) != 1) return c.Refuse("its window is no vector");
  const Val size = c.Has(3) ? number(c.In(3)) : number(b.ShapeOf(window));
  const std::optional<Ints> steps = b.IntsOf(hop), sizes = b.IntsOf(size);
  const bool steps_back = steps && steps->at(0) < 1;
  const bool too_long = sizes && b.IsStatic(signal) && (sizes->at(0) < 1 || b.DimsOf(signal)[1] < sizes->at(0));
  if (steps_back || too_long) return c.Refuse("its frames do not fit the signal");
  const Val length = b.Reshape(b.Slice(b.ShapeOf(signal), 0, 1, 2), {});
  const Val frames = b.Add(b.Op("FloorDiv", {b.Sub(length, size), hop}), b.ConstInt(1));
  const auto range = [&](const Val& count) { return b.Op("Range", {b.ConstInt(0), count, b.ConstInt(1)}); };
  const Val places = b.Add(b.Reshape(b.Mul(range(frames), hop), {-1, 1}), range(size));
  Val parts = b.Op("GatherV2", {signal, places, b.ConstInt(1)});  // [N, frames, size, 1 or 2]
  if (Given(window)) parts = b.Mul(parts, b.Reshape(window, {-1, 1}));
  c.Out(b.Op("MillpondFourier", {parts, Val(), b.ConstInt(2)}, {{"onesided", c.Int("onesided", 1) != 0}}));
}

// a - b cos(2 pi n / N) + c cos(4 pi n / N).
void SignalWindow(Context& c) {
  Builder& b = c.b;
  const DType type = TypeFromOnnx(c.Int("output_datatype", 1));
  const bool periodic = c.Int("periodic", 1) != 0;
  Val size = b.Cast(c.In(0), DType::kDouble);
  if (b.RankOf(size) == 1) size = b.Reshape(size, {});
  const auto real = [&](double value) { return b.Scalar(DType::kDouble, value); };
  const Val n = b.Op("Range", {real(0), size, real(1)});
  const Val whole = periodic ? size : b.Sub(size, real(1));
  const auto cosine = [&](double times) {
    return b.Op("Cos", {b.Div(b.Mul(n, real(times * std::numbers::pi)), whole)});
  };
  Val result;
  if (c.type() == "BlackmanWindow") {
    result = b.Add(b.Sub(real(0.42), b.Mul(cosine(2), real(0.5))), b.Mul(cosine(4), real(0.08)));
  } else {
    const double a = c.type() == "HannWindow" ? 0.5 : 25.0 / 46.0;
    result = b.Sub(real(a), b.Mul(cosine(2), real(1 - a)));
  }
  c.Out(b.Cast(result, type));
}

void CenterCropPad(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val wanted = b.Cast(c.In(1), DType::kInt64);
  const int64_t rank = c.KnownRank(x);
  if (rank < 0) return;
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  axes = c.List("axes", axes);
  const auto count = static_cast<int64_t>(axes.size());
  if (b.IsStatic(wanted) && ir::ElementsOf(b.DimsOf(wanted)) != count)
    return c.Refuse("%lld sizes for %zu axes", static_cast<long long>(ir::ElementsOf(b.DimsOf(wanted))), axes.size());
  Ints places(static_cast<size_t>(2 * rank), 2 * count);  // of the pads: before, behind, and 0
  for (int64_t i = 0; i < count; ++i) {
    int64_t& axis = axes[static_cast<size_t>(i)];
    axis = c.Axis(axis, rank);
    places[static_cast<size_t>(axis)] = i;
    places[static_cast<size_t>(rank + axis)] = count + i;
  }
  const Val none = b.ConstInt(0), two = b.ConstInt(2);
  const Val size = b.Op("GatherV2", {b.ShapeOf(x), b.ConstInts(axes), none});
  const Val more = b.Op("Maximum", {b.Sub(wanted, size), none}), less = b.Op("Maximum", {b.Sub(size, wanted), none});
  const Val begin = b.Op("FloorDiv", {less, two});
  const Val end = b.Add(begin, b.Sub(size, less));
  const Val cut = b.Op("StridedSliceV2", {x, begin, end, b.ConstInts(axes), b.ConstInts(Ints(axes.size(), 1))});
  const Val before = b.Op("FloorDiv", {more, two});
  const Val pads = b.Concat({before, b.Sub(more, before), b.ConstInts({0})}, 0);
  c.Out(b.Op("PadV3", {cut, b.Op("GatherV2", {pads, b.ConstInts(places), none})}, {{"paddings_contiguous", false}}));
}

void SwiGlu(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val gate = b.Wide("Sigmoid", {b.Mul(x, b.ScalarLike(x, c.Real("alpha", 1.0)))});
  c.Out(b.Mul(b.Mul(x, gate), c.In(1)));
}

constexpr HandlerEntry kOwnHandlers[] = {
    {"BlackmanWindow", &SignalWindow},
    MP_ONNX(CenterCropPad),
    {"DFT", &Dft},
    MP_ONNX(Det),
    {"GRU", &Recurrent},
    {"HammingWindow", &SignalWindow},
    {"HannWindow", &SignalWindow},
    {"LSTM", &Recurrent},
    MP_ONNX(NonMaxSuppression),
    {"RNN", &Recurrent},
    {"STFT", &Stft},
    {"SwiGLU", &SwiGlu},
    MP_ONNX(Unique),
};

}  // namespace

std::span<const HandlerEntry> OwnHandlers() { return kOwnHandlers; }

}  // namespace millpond::onnx

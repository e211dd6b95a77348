// SPDX-License-Identifier: Apache-2.0
// AffineGrid, Col2Im, and optimiser steps (domain ai.onnx.preview.training).
#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

// Points from -1 to 1 along a dimension: aligned to its corners, or to element centres.
Val PointsAlong(Builder& b, int64_t size, bool corners) {
  const auto real = [&](double value) { return b.Scalar(DType::kFloat, value); };
  const Val n = b.Cast(b.Op("Range", {b.ConstInt(0), b.ConstInt(size), b.ConstInt(1)}), DType::kFloat);
  const double step = corners ? (size > 1 ? 2.0 / static_cast<double>(size - 1) : 0) : 2.0 / static_cast<double>(size);
  return b.Add(b.Mul(n, real(step)), real(corners ? -1 : -1 + step / 2));
}

void AffineGrid(Context& c) {
  Builder& b = c.b;
  const Val theta = c.In(0);
  const std::optional<Ints> size = b.IntsOf(c.In(1));
  const bool corners = c.Int("align_corners", 0) != 0;
  if (!size) return c.Refuse("its size must be a constant");
  if (size->size() != 4 && size->size() != 5)
    return c.Refuse("its size has %zu numbers; 4 and 5 are allowed", size->size());
  const Ints spatial(size->begin() + 2, size->end());
  Vals columns;
  for (size_t i = spatial.size(); i-- > 0;) {  // x, the last dimension, comes first
    Ints shape(spatial.size(), 1);
    shape[i] = spatial[i];
    const Val points = b.Reshape(PointsAlong(b, spatial[i], corners), shape);
    columns.push_back(b.Reshape(b.Op("BroadcastTo", {points, b.ConstInts(spatial)}), {-1, 1}));
  }
  columns.push_back(b.Op("OnesLike", {columns[0]}));
  const Val base = b.Cast(b.Concat(columns, 1), b.TypeOf(theta));  // [points, dimensions + 1]
  const Val grid = b.Op("MillpondMatMul", {base, b.Transpose(theta, {0, 2, 1})});
  Ints shape = {size->at(0)};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  shape.push_back(static_cast<int64_t>(spatial.size()));
  c.Out(b.Reshape(grid, shape));
}

void Col2Im(Context& c) {
  Builder& b = c.b;
  const Val image = c.In(1);
  if (b.RankOf(image) != 1 || b.DimsOf(image)[0] < 1) return c.Refuse("the rank of its image is not known");
  const auto spatial = static_cast<size_t>(b.DimsOf(image)[0]);
  c.Out(b.Op("MillpondCol2Im", {c.In(0), image, c.In(2)},
             {{"dilations", c.List("dilations", Ints(spatial, 1))},
              {"pads", c.List("pads", Ints(2 * spatial, 0))},
              {"strides", c.List("strides", Ints(spatial, 1))}}));
}

void MaxUnpool(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val places = c.In(1);
  if (c.Has(2)) return c.Refuse("output_shape is not supported");
  if (!b.IsStatic(x) || b.RankOf(x) < 3) return c.Refuse("its input's shape must be known");
  const ir::Dims dims = b.DimsOf(x);
  const size_t spatial = dims.size() - 2;
  const Ints kernel = c.List("kernel_shape");
  const Ints strides = c.List("strides", Ints(spatial, 1));
  const Ints pads = c.List("pads", Ints(2 * spatial, 0));
  if (kernel.size() != spatial || strides.size() != spatial || pads.size() != 2 * spatial)
    return c.Refuse("its windows do not fit");
  Ints shape = {dims[0], dims[1]};
  for (size_t i = 0; i < spatial; ++i) {
    shape.push_back((dims[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[spatial + i]);
  }
  const Val zeros = b.Op("Fill", {b.ConstInts({ir::ElementsOf(shape)}), b.ScalarLike(x, 0)});
  const Val filled = b.Op("TensorScatterUpdate", {zeros, b.Reshape(places, {-1, 1}), b.Reshape(x, {-1})});
  c.Out(b.Reshape(filled, shape));
}

struct Parameters {
  size_t count = 0;
  Val rate, step;
};
// R, T, then `each` lists of tensors of equal length.
bool ReadParameters(Context& c, size_t each, Parameters* out) {
  if (c.inputs() < 2 + each || (c.inputs() - 2) % each != 0) {
    c.Refuse("%zu inputs are not a rate, a count and %zu lists", c.inputs(), each);
    return false;
  }
  out->count = (c.inputs() - 2) / each;
  out->rate = c.In(0);
  out->step = c.b.Cast(c.In(1), DType::kFloat);
  return true;
}

Val Times(Builder& b, const Val& x, double factor) { return b.Mul(x, b.ScalarLike(x, factor)); }

void Momentum(Context& c) {
  Builder& b = c.b;
  Parameters p;
  if (!ReadParameters(c, 3, &p)) return;
  const double alpha = c.Real("alpha", 0);
  const double beta = c.Real("beta", 0);
  const double decay = c.Real("norm_coefficient", 0);
  const bool nesterov = c.Text("mode", "standard") == "nesterov";
  const Val first = b.Op("LessEqual", {p.step, b.ScalarLike(p.step, 0)});
  const Val factor = b.Where(first, b.ScalarLike(p.step, 1), b.ScalarLike(p.step, beta));
  for (size_t i = 0; i < p.count; ++i) {
    const Val x = c.In(2 + i);
    const Val v = c.In(2 + 2 * p.count + i);
    const Val g = b.Add(Times(b, x, decay), c.In(2 + p.count + i));
    const Val fresh = b.Add(Times(b, v, alpha), b.Mul(g, b.Cast(factor, b.TypeOf(g))));
    const Val move = nesterov ? b.Add(g, Times(b, fresh, alpha)) : fresh;
    c.Out(i, b.Sub(x, b.Mul(b.Cast(p.rate, b.TypeOf(x)), move)));
    c.Out(p.count + i, fresh);
  }
}

void Adagrad(Context& c) {
  Builder& b = c.b;
  Parameters p;
  if (!ReadParameters(c, 3, &p)) return;
  const double epsilon = c.Real("epsilon", 0);
  const double decay = c.Real("norm_coefficient", 0);
  const Val slowed = b.Add(Times(b, p.step, c.Real("decay_factor", 0)), b.ScalarLike(p.step, 1));
  const Val rate = b.Div(b.Cast(p.rate, DType::kFloat), slowed);
  for (size_t i = 0; i < p.count; ++i) {
    const Val x = c.In(2 + i);
    const Val g = b.Add(Times(b, x, decay), c.In(2 + p.count + i));
    const Val h = b.Add(c.In(2 + 2 * p.count + i), b.Mul(g, g));
    const Val root = b.Add(b.Wide("Sqrt", {h}), b.ScalarLike(h, epsilon));
    c.Out(i, b.Sub(x, b.Div(b.Mul(b.Cast(rate, b.TypeOf(g)), g), root)));
    c.Out(p.count + i, h);
  }
}

void Adam(Context& c) {
  Builder& b = c.b;
  Parameters p;
  if (!ReadParameters(c, 4, &p)) return;
  const double alpha = c.Real("alpha", 0.9F);
  const double beta = c.Real("beta", 0.999F);
  const double epsilon = c.Real("epsilon", 1e-6F);
  const double decay = c.Real("norm_coefficient", 0);
  const double decay_post = c.Real("norm_coefficient_post", 0);
  const auto real = [&](double value) { return b.Scalar(DType::kDouble, value); };
  const Val t = b.Cast(p.step, DType::kDouble);
  const auto rest = [&](double base) { return b.Sub(real(1), b.Op("Pow", {real(base), t})); };
  const Val corrected = b.Div(b.Op("Sqrt", {rest(beta)}), rest(alpha));
  const Val factor = b.Where(b.Op("Greater", {t, real(0)}), corrected, real(1));
  const Val rate = b.Mul(b.Cast(p.rate, DType::kDouble), factor);
  for (size_t i = 0; i < p.count; ++i) {
    const Val x = c.In(2 + i);
    const Val g = b.Add(Times(b, x, decay), c.In(2 + p.count + i));
    const Val v = b.Add(Times(b, c.In(2 + 2 * p.count + i), alpha), Times(b, g, 1 - alpha));
    const Val h = b.Add(Times(b, c.In(2 + 3 * p.count + i), beta), Times(b, b.Mul(g, g), 1 - beta));
    const Val root = b.Add(b.Wide("Sqrt", {h}), b.ScalarLike(h, epsilon));
    const Val moved = b.Sub(x, b.Mul(b.Cast(rate, b.TypeOf(x)), b.Div(v, root)));
    c.Out(i, Times(b, moved, 1 - decay_post));
    c.Out(p.count + i, v);
    c.Out(2 * p.count + i, h);
  }
}

void Binarizer(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  c.Out(b.Cast(b.Wide("Greater", {x, b.ScalarLike(x, c.Real("threshold", 0))}), b.TypeOf(x)));
}

constexpr HandlerEntry kHandlers[] = {
    MP_ONNX(AffineGrid),
    MP_ONNX(Col2Im),
    MP_ONNX(MaxUnpool),
    {"ai.onnx.ml::Binarizer", &Binarizer},
    {"ai.onnx.preview.training::Adagrad", &Adagrad},
    {"ai.onnx.preview.training::Adam", &Adam},
    {"ai.onnx.preview.training::Momentum", &Momentum},
};

}  // namespace

std::span<const HandlerEntry> MoreHandlers() { return kHandlers; }

}  // namespace millpond::onnx

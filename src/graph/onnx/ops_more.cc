// SPDX-License-Identifier: Apache-2.0
// AffineGrid, Col2Im, and optimiser steps (domain ai.onnx.preview.training).
#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

// Points from -1 to 1 along a dimension: aligned to its corners, or to element centres.
Val PointsAlong(Builder& b, const Val& size, bool corners) {
  const auto real = [&](double value) { return b.Scalar(DType::kDouble, value); };
  const Val n = b.Cast(b.Op("Range", {b.ConstInt(0), size, b.ConstInt(1)}), DType::kDouble);
  const Val count = b.Cast(size, DType::kDouble);
  if (!corners) return b.Sub(b.Div(b.Add(b.Mul(n, real(2)), real(1)), count), real(1));
  return b.Sub(b.Div(b.Mul(n, real(2)), b.Op("Maximum", {b.Sub(count, real(1)), real(1)})), real(1));
}

void AffineGrid(Context& c) {
  Builder& b = c.b;
  const Val theta = c.In(0);
  const Val size = b.Cast(c.In(1), DType::kInt64);
  const bool corners = c.Int("align_corners", 0) != 0;
  if (b.RankOf(size) != 1 || (b.DimsOf(size)[0] != 4 && b.DimsOf(size)[0] != 5))
    return c.Refuse("the length of its size must be known, and 4 or 5");
  const auto count = static_cast<size_t>(b.DimsOf(size)[0] - 2);
  const Val spatial = b.Slice(size, 0, 2, static_cast<int64_t>(count) + 2);
  Vals columns;
  for (size_t i = count; i-- > 0;) {  // x, the last dimension, comes first
    Ints shape(count, 1);
    shape[i] = -1;
    const auto place = static_cast<int64_t>(i);
    const Val along = PointsAlong(b, b.Reshape(b.Slice(spatial, 0, place, place + 1), {}), corners);
    columns.push_back(b.Reshape(b.Op("BroadcastTo", {b.Reshape(along, shape), spatial}), {-1, 1}));
  }
  columns.push_back(b.Op("OnesLike", {columns[0]}));
  const Val base = b.Cast(b.Concat(columns, 1), b.TypeOf(theta));  // [points, dimensions + 1]
  const Val grid = b.Op("MillpondMatMul", {base, b.Transpose(theta, {0, 2, 1})});
  const Val shape = b.Concat({b.Slice(size, 0, 0, 1), spatial, b.ConstInts({static_cast<int64_t>(count)})}, 0);
  c.Out(b.Op("Reshape", {grid, shape}));
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

Val Times(Builder& b, const Val& x, double factor) { return b.Mul(x, b.ScalarLike(x, factor)); }

// Of an optimiser: a rate R, a count of steps T, then lists of tensors of equal length: the parameters, their
// gradients and what it keeps of each.
class Optimised {
 public:
  explicit Optimised(Context* context) : c_(*context) {}
  // `lists` of tensors. False after refusing.
  bool Read(size_t lists) {
    if (c_.inputs() < 2 + lists || (c_.inputs() - 2) % lists != 0) {
      c_.Refuse("%zu inputs are not a rate, a count and %zu lists", c_.inputs(), lists);
      return false;
    }
    count_ = (c_.inputs() - 2) / lists;
    rate = c_.In(0);
    step = c_.b.Cast(c_.In(1), DType::kFloat);
    decay_ = c_.Real("norm_coefficient", 0);
    return true;
  }
  size_t count() const { return count_; }
  Val Parameter(size_t i) { return In(0, i); }
  // With the regularisation's part.
  Val Gradient(size_t i) { return c_.b.Add(Times(c_.b, In(0, i), decay_), In(1, i)); }
  Val Kept(size_t list, size_t i) { return In(2 + list, i); }
  void Update(size_t i, const Val& parameter, const Vals& kept) {
    c_.Out(i, parameter);
    for (size_t list = 0; list < kept.size(); ++list) c_.Out((1 + list) * count_ + i, kept[list]);
  }

  Val rate, step;

 private:
  Val In(size_t list, size_t i) { return c_.In(2 + list * count_ + i); }

  Context& c_;
  size_t count_ = 0;
  double decay_ = 0;
};

void Momentum(Context& c) {
  Builder& b = c.b;
  Optimised all(&c);
  if (!all.Read(3)) return;
  const double alpha = c.Real("alpha", 0);
  const double beta = c.Real("beta", 0);
  const bool nesterov = c.Text("mode", "standard") == "nesterov";
  const Val first = b.Op("LessEqual", {all.step, b.ScalarLike(all.step, 0)});
  const Val factor = b.Where(first, b.ScalarLike(all.step, 1), b.ScalarLike(all.step, beta));
  for (size_t i = 0; i < all.count(); ++i) {
    const Val x = all.Parameter(i);
    const Val g = all.Gradient(i);
    const Val v = b.Add(Times(b, all.Kept(0, i), alpha), b.Mul(g, b.Cast(factor, b.TypeOf(g))));
    const Val move = nesterov ? b.Add(g, Times(b, v, alpha)) : v;
    all.Update(i, b.Sub(x, b.Mul(b.Cast(all.rate, b.TypeOf(x)), move)), {v});
  }
}

void Adagrad(Context& c) {
  Builder& b = c.b;
  Optimised all(&c);
  if (!all.Read(3)) return;
  const double epsilon = c.Real("epsilon", 0);
  const Val slowed = b.Add(Times(b, all.step, c.Real("decay_factor", 0)), b.ScalarLike(all.step, 1));
  const Val rate = b.Div(b.Cast(all.rate, DType::kFloat), slowed);
  for (size_t i = 0; i < all.count(); ++i) {
    const Val g = all.Gradient(i);
    const Val h = b.Add(all.Kept(0, i), b.Mul(g, g));
    const Val root = b.Add(b.Wide("Sqrt", {h}), b.ScalarLike(h, epsilon));
    all.Update(i, b.Sub(all.Parameter(i), b.Div(b.Mul(b.Cast(rate, b.TypeOf(g)), g), root)), {h});
  }
}

void Adam(Context& c) {
  Builder& b = c.b;
  Optimised all(&c);
  if (!all.Read(4)) return;
  const double alpha = c.Real("alpha", 0.9F);
  const double beta = c.Real("beta", 0.999F);
  const double epsilon = c.Real("epsilon", 1e-6F);
  const double decay_post = c.Real("norm_coefficient_post", 0);
  const auto real = [&](double value) { return b.Scalar(DType::kDouble, value); };
  const Val t = b.Cast(all.step, DType::kDouble);
  const auto rest = [&](double base) { return b.Sub(real(1), b.Op("Pow", {real(base), t})); };
  const Val corrected = b.Div(b.Op("Sqrt", {rest(beta)}), rest(alpha));
  const Val factor = b.Where(b.Op("Greater", {t, real(0)}), corrected, real(1));
  const Val rate = b.Mul(b.Cast(all.rate, DType::kDouble), factor);
  for (size_t i = 0; i < all.count(); ++i) {
    const Val x = all.Parameter(i);
    const Val g = all.Gradient(i);
    const Val v = b.Add(Times(b, all.Kept(0, i), alpha), Times(b, g, 1 - alpha));
    const Val h = b.Add(Times(b, all.Kept(1, i), beta), Times(b, b.Mul(g, g), 1 - beta));
    const Val root = b.Add(b.Wide("Sqrt", {h}), b.ScalarLike(h, epsilon));
    const Val moved = b.Sub(x, b.Mul(b.Cast(rate, b.TypeOf(x)), b.Div(v, root)));
    all.Update(i, Times(b, moved, 1 - decay_post), {v, h});
  }
}

constexpr HandlerEntry kMoreHandlers[] = {
    MP_ONNX(AffineGrid),
    MP_ONNX(Col2Im),
    MP_ONNX(MaxUnpool),
    {"ai.onnx.preview.training::Adagrad", &Adagrad},
    {"ai.onnx.preview.training::Adam", &Adam},
    {"ai.onnx.preview.training::Momentum", &Momentum},
};

}  // namespace

std::span<const HandlerEntry> MoreHandlers() { return kMoreHandlers; }

}  // namespace millpond::onnx

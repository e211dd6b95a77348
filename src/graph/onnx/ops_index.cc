// SPDX-License-Identifier: Apache-2.0
// Operators that read, write, search and order by index.
#include <limits>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

// Negative indices count from the end, which is known only as far as the shape is.
Val Wrapped(Context& c, const Val& index, const Val& size) {
  Builder& b = c.b;
  return b.Where(b.Wide("Less", {index, b.ScalarLike(index, 0)}), b.Add(index, size), index);
}

Val SizeOf(Context& c, const Val& x, int64_t axis, DType type) {
  Builder& b = c.b;
  const int64_t rank = b.RankOf(x);
  if (rank >= 0) {
    const int64_t size = b.DimsOf(x)[static_cast<size_t>(c.Axis(axis, rank))];
    if (size >= 0) return b.Scalar(type, static_cast<double>(size));
  }
  const Val size = b.Op("GatherV2", {b.ShapeOf(x), b.ConstInt(axis < 0 ? axis + rank : axis), b.ConstInt(0)});
  return b.Cast(size, type);
}

void Gather(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t axis = c.Int("axis", 0);
  c.Out(b.Op("GatherV2", {x, c.In(1), b.ConstInt(axis)}, {{"negative_index_support", true}}));
}

void GatherElements(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t axis = c.Int("axis", 0);
  const Val index = Wrapped(c, c.In(1), SizeOf(c, x, axis, b.TypeOf(c.In(1))));
  c.Out(b.Op("GatherElements", {x, index}, {{"dim", axis}}));
}

// Each column of the last dimension is bounded by its own axis.
Val WrappedTuples(Context& c, const Val& x, const Val& indices, int64_t first_axis) {
  Builder& b = c.b;
  const int64_t rank = b.RankOf(indices);
  if (rank < 1 || b.DimsOf(indices).back() < 0) {
    c.Refuse("the length of an index is not known");
    return {};
  }
  const Val sizes = b.Slice(b.ShapeOf(x), 0, first_axis, first_axis + b.DimsOf(indices).back());
  return Wrapped(c, indices, b.Cast(sizes, b.TypeOf(indices)));
}

void GatherNd(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val indices = c.In(1);
  const int64_t batch = c.Int("batch_dims", 0);
  if (batch == 0) return c.Out(b.Op("GatherNd", {x, indices}, {{"negative_index_support", true}}));
  // The batch becomes an extra component of each index.
  if (!b.IsStatic(x) || !b.IsStatic(indices)) return c.Refuse("with batch_dims the shapes must be known");
  const ir::Dims xs = b.DimsOf(x);
  const ir::Dims is = b.DimsOf(indices);
  if (batch >= static_cast<int64_t>(is.size()) || batch > static_cast<int64_t>(xs.size()))
    return c.Refuse("batch_dims is too large");
  const int64_t rows = ir::ElementsOf({is.begin(), is.begin() + batch});
  const int64_t each = ir::ElementsOf({is.begin() + batch, is.end() - 1});
  Ints flat_x = {rows};
  flat_x.insert(flat_x.end(), xs.begin() + batch, xs.end());
  const Val tuples = b.Reshape(WrappedTuples(c, x, indices, batch), {rows, each, is.back()});
  const Val numbers = b.Reshape(b.Op("Range", {b.ConstInt(0), b.ConstInt(rows), b.ConstInt(1)}), {rows, 1, 1});
  const Val column = b.Cast(b.Op("BroadcastTo", {numbers, b.ConstInts({rows, each, 1})}), b.TypeOf(indices));
  const Val found = b.Op("GatherNd", {b.Reshape(x, flat_x), b.Concat({column, tuples}, 2)});
  Ints out(is.begin(), is.end() - 1);
  out.insert(out.end(), xs.begin() + batch + is.back(), xs.end());
  c.Out(b.Reshape(found, out));
}

void ScatterElements(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t axis = c.Int("axis", 0);
  const std::string reduction = c.Text("reduction", "none");
  const Val index = Wrapped(c, c.In(1), SizeOf(c, x, axis, b.TypeOf(c.In(1))));
  if (reduction == "max" || reduction == "min") {
    return c.Out(b.Op("MillpondScatterExtreme", {x, index, c.In(2)}, {{"axis", axis}, {"reduction", reduction}}));
  }
  c.Out(b.Op("ScatterElements", {x, index, c.In(2)}, {{"axis", axis}, {"reduction", reduction}}));
}

void ScatterNd(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const std::string reduction = c.Text("reduction", "none");
  const Val index = WrappedTuples(c, x, c.In(1), 0);
  const char* type = reduction == "none"  ? "TensorScatterUpdate"
                     : reduction == "add" ? "TensorScatterAdd"
                     : reduction == "max" ? "TensorScatterMax"
                     : reduction == "min" ? "TensorScatterMin"
                                          : nullptr;
  if (type != nullptr) return c.Out(b.Op(type, {x, index, c.In(2)}));
  if (reduction != "mul") return c.Refuse("reduction \"%s\" is not known", reduction.c_str());
  c.Out(b.Op("MillpondScatterNdMul", {x, index, c.In(2)}));
}

void ArgExtreme(Context& c) {
  Builder& b = c.b;
  Val x = c.In(0);
  const int64_t axis = c.Int("axis", 0);
  const bool last = c.Int("select_last_index", 0) != 0;
  const bool keep = c.Int("keepdims", 1) != 0;
  if (last) x = b.Op("ReverseV2", {x, b.ConstInts({axis})});
  const char* type = c.type() == "ArgMax" ? "ArgMaxV2" : "ArgMin";
  Val place = b.Op(type, {x, b.ConstInt(axis)}, {{"dtype", DType::kInt64}});
  if (last) place = b.Sub(b.Sub(SizeOf(c, x, axis, DType::kInt64), b.ConstInt(1)), place);
  if (keep) {
    const int64_t rank = c.KnownRank(x);
    if (rank < 0) return;
    place = b.Unsqueeze(place, {c.Axis(axis, rank)});
  }
  c.Out(place);
}

void TopK(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  Val k = c.opset < 10 ? b.ConstInt(c.Int("k", 0)) : c.In(1);
  if (b.RankOf(k) == 1) k = b.Reshape(k, {});
  const int64_t axis = c.Int("axis", -1);
  c.Ignore("sorted");  // sorted ones are right in any case
  const DType type = b.TypeOf(x);
  // Maps unsigned 64-bit order to signed order: the sign bit is flipped.
  const Val turn = b.ConstInt(std::numeric_limits<int64_t>::min());
  const bool turned = type == DType::kUint64;
  const Val ordered = turned ? b.Sub(b.Cast(x, DType::kInt64), turn) : x;
  const Vals out = b.Ops("MillpondTopK", {ordered, k}, {{"axis", axis}, {"largest", c.Int("largest", 1) != 0}});
  c.Out(0, turned ? b.Cast(b.Sub(out[0], turn), type) : out[0]);
  c.Out(1, out[1]);
}

void Cumulative(Context& c) {
  Builder& b = c.b;
  Val axis = c.In(1);
  if (b.RankOf(axis) == 1) axis = b.Reshape(axis, {});
  c.Out(b.Wide(c.type() == "CumSum" ? "Cumsum" : "Cumprod", {c.In(0), axis},
               {{"exclusive", c.Int("exclusive", 0) != 0}, {"reverse", c.Int("reverse", 0) != 0}}));
}

void NonZero(Context& c) { c.Out(c.b.Op("NonZero", {c.In(0)}, {{"transpose", true}, {"dtype", DType::kInt64}})); }

void Compress(Context& c) {
  Builder& b = c.b;
  Val x = c.In(0);
  const Val condition = c.In(1);
  int64_t axis = 0;
  if (c.HasAttr("axis")) {
    axis = c.Int("axis", 0);
  } else {
    x = b.Reshape(x, {-1});
  }
  const Val places = b.Reshape(b.Op("NonZero", {condition}, {{"dtype", DType::kInt64}}), {-1});
  c.Out(b.Op("GatherV2", {x, places, b.ConstInt(axis)}));
}

void OneHot(Context& c) {
  Builder& b = c.b;
  Val index = c.In(0);
  Val depth = c.In(1);
  if (b.RankOf(depth) == 1) depth = b.Reshape(depth, {});
  depth = b.Cast(depth, DType::kInt64);
  index = b.Cast(index, DType::kInt64);
  index = Wrapped(c, index, depth);
  const Val values = c.In(2);
  const Val off = b.Reshape(b.Slice(values, 0, 0, 1), {});
  const Val on = b.Reshape(b.Slice(values, 0, 1, 2), {});
  c.Out(b.Op("OneHot", {index, depth, on, off}, {{"axis", c.Int("axis", -1)}}));
}

constexpr HandlerEntry kIndexHandlers[] = {
    {"ArgMax", &ArgExtreme},
    {"ArgMin", &ArgExtreme},
    MP_ONNX(Compress),
    {"CumProd", &Cumulative},
    {"CumSum", &Cumulative},
    MP_ONNX(Gather),
    MP_ONNX(GatherElements),
    {"GatherND", &GatherNd},
    MP_ONNX(NonZero),
    MP_ONNX(OneHot),
    {"Scatter", &ScatterElements},
    MP_ONNX(ScatterElements),
    {"ScatterND", &ScatterNd},
    MP_ONNX(TopK),
};

}  // namespace

std::span<const HandlerEntry> IndexHandlers() { return kIndexHandlers; }

}  // namespace millpond::onnx

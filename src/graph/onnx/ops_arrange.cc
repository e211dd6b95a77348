// SPDX-License-Identifier: Apache-2.0
// Operators that create, reshape, join, split and transpose tensors.
#include <algorithm>
#include <limits>
#include <numeric>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

void Constant(Context& c) {
  Builder& b = c.b;
  if (c.HasAttr("value")) {
    const ir::TensorPtr tensor = c.Tensor("value");
    if (tensor != nullptr) c.Out(b.Const(tensor));
  } else if (c.HasAttr("value_int")) {
    c.Out(b.ConstInt(c.Int("value_int", 0)));
  } else if (c.HasAttr("value_ints")) {
    c.Out(b.ConstInts(c.List("value_ints")));
  } else if (c.HasAttr("value_float")) {
    c.Out(b.Scalar(DType::kFloat, c.Real("value_float", 0)));
  } else if (c.HasAttr("value_floats")) {
    const std::vector<float> values = c.Reals("value_floats");
    auto tensor = std::make_shared<ir::Tensor>();
    tensor->desc.dims = tensor->desc.origin_dims = {static_cast<int64_t>(values.size())};
    tensor->desc.has_shape = tensor->desc.has_origin_shape = true;
    tensor->data = ir::Bytes::Copy(values.data(), values.size() * sizeof(float));
    c.Out(b.Const(tensor));
  } else {
    c.Refuse("it has no value of a kind that is supported (strings and sparse tensors are not)");
  }
}

// 0 keeps the input's size, unless allowzero.
void Reshape(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  Val shape = c.In(1);
  const bool keep = c.Int("allowzero", 0) == 0;
  const std::optional<Ints> known = b.IntsOf(shape);
  if (!keep || (known && std::find(known->begin(), known->end(), 0) == known->end())) {
    return c.Out(b.Op("Reshape", {x, shape}));
  }
  const bool countable = b.RankOf(shape) == 1 && b.DimsOf(shape)[0] >= 0;
  if (!countable || b.RankOf(x) < 0) return c.Refuse("the length of its shape is not known");
  const int64_t wanted = b.DimsOf(shape)[0];
  if (known && b.IsStatic(x)) {
    Ints dims = *known;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0 && i < b.DimsOf(x).size()) dims[i] = b.DimsOf(x)[i];
    }
    return c.Out(b.Reshape(x, dims));
  }
  if (known) return c.Out(b.Op("MillpondReshape", {x}, {At("shape", *known)}));
  // The sizes to keep, as many as the shape has.
  Val sizes = b.ShapeOf(x);
  const int64_t rank = b.RankOf(x);
  if (wanted < rank) sizes = b.Slice(sizes, 0, 0, wanted);
  if (wanted > rank) sizes = b.Concat({sizes, b.ConstInts(Ints(static_cast<size_t>(wanted - rank), 0))}, 0);
  shape = b.Where(b.Op("Equal", {shape, b.ConstInt(0)}), sizes, shape);
  c.Out(b.Op("Reshape", {x, shape}));
}

void Shape(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t start = c.Int("start", 0);
  const int64_t end = c.Int("end", std::numeric_limits<int64_t>::max());
  const Val shape = b.ShapeOf(x);
  if (start == 0 && end == std::numeric_limits<int64_t>::max()) return c.Out(shape);
  c.Out(b.Slice(shape, 0, start, end));
}

void Size(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  if (b.IsStatic(x)) return c.Out(b.ConstInt(ir::ElementsOf(b.DimsOf(x))));
  c.Out(b.Op("Size", {x}, {{"dtype", DType::kInt64}}));
}

void Transpose(Context& c) {
  const Val x = c.In(0);
  Ints perm = c.List("perm");
  if (!c.HasAttr("perm")) {
    const int64_t rank = c.KnownRank(x);
    for (int64_t i = rank - 1; i >= 0; --i) perm.push_back(i);
  }
  c.Out(c.b.Transpose(x, perm));
}

void Concat(Context& c) {
  const Vals all = c.AllFrom(0);
  if (!c.HasAttr("axis") || all.empty()) return c.Refuse("it has no axis or no inputs");
  const int64_t axis = c.Int("axis", 0);
  c.Out(all.size() == 1 ? c.b.Op("Identity", {all[0]}) : c.b.Concat(all, axis));
}

void Split(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t axis = c.Int("axis", 0);
  const auto parts = static_cast<int64_t>(c.outputs());
  c.Ignore("num_outputs");
  Val sizes;
  if (c.HasAttr("split")) {
    sizes = b.ConstInts(c.List("split"));
  } else if (c.Has(1)) {
    sizes = c.In(1);
  } else {
    const int64_t rank = c.KnownRank(x);
    if (rank < 0) return;
    const int64_t size = b.DimsOf(x)[static_cast<size_t>(c.Axis(axis, rank))];
    if (size < 0) return c.Refuse("the size of axis %lld is not known", static_cast<long long>(axis));
    const int64_t each = (size + parts - 1) / parts;
    Ints made;
    for (int64_t i = 0; i < parts; ++i) made.push_back(std::clamp(size - i * each, int64_t{0}, each));
    sizes = b.ConstInts(made);
  }
  const Vals out = b.Ops("SplitV", {x, sizes, b.ConstInt(axis)}, {{"num_split", parts}}, static_cast<size_t>(parts));
  for (size_t i = 0; i < c.outputs(); ++i) c.Out(i, out[i]);
}

void Squeeze(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  if (c.opset < 13) return c.Out(b.Squeeze(x, c.List("axes")));
  const Val axes = c.Maybe(1);
  if (!Given(axes)) return c.Out(b.Squeeze(x, {}));
  const std::optional<Ints> known = b.IntsOf(axes);
  if (known && known->empty()) return c.Out(b.Op("Identity", {x}));
  c.Out(known ? b.Squeeze(x, *known) : b.Op("SqueezeV3", {x, axes}));
}

void Unsqueeze(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  if (c.opset < 13) return c.Out(b.Unsqueeze(x, c.List("axes")));
  const std::optional<Ints> known = b.IntsOf(c.In(1));
  c.Out(known ? b.Unsqueeze(x, *known) : b.Op("UnsqueezeV3", {x, c.In(1)}));
}

void Flatten(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  int64_t axis = c.Int("axis", 1);
  const int64_t rank = c.KnownRank(x);
  if (rank < 0) return;
  if (axis < 0) axis += rank;
  if (b.IsStatic(x)) {
    const ir::Dims& dims = b.DimsOf(x);
    if (axis < 0 || axis > rank)
      return c.Refuse("axis %lld of %lld", static_cast<long long>(axis), static_cast<long long>(rank));
    const int64_t rows = ir::ElementsOf({dims.begin(), dims.begin() + axis});
    return c.Out(b.Reshape(x, {rows, ir::ElementsOf({dims.begin() + axis, dims.end()})}));
  }
  if (axis == 0) return c.Out(b.Reshape(x, {1, -1}));
  // One open side, usually the batch, leaves the other known: what follows may need its size.
  const ir::Dims& dims = b.DimsOf(x);
  const auto open = [](int64_t dim) { return dim < 0; };
  const auto cut = dims.begin() + std::clamp<int64_t>(axis, 0, rank);
  if (std::none_of(cut, dims.end(), open)) {
    const int64_t columns = ir::ElementsOf({cut, dims.end()});
    if (columns > 0) return c.Out(b.Reshape(x, {-1, columns}));
  }
  if (std::none_of(dims.begin(), cut, open)) {
    const int64_t rows = ir::ElementsOf({dims.begin(), cut});
    if (rows > 0) return c.Out(b.Reshape(x, {rows, -1}));
  }
  c.Out(b.Op("Flatten", {x}, {{"axis", axis}}));
}

// Bidirectional: a 1 in the requested shape keeps the input's size.
void Expand(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val shape = c.In(1);
  const std::optional<Ints> known = b.IntsOf(shape);
  if (known && b.IsStatic(x)) {
    Ints dims = *known;
    const ir::Dims& from = b.DimsOf(x);
    if (dims.size() < from.size()) dims.insert(dims.begin(), from.size() - dims.size(), 1);
    const size_t ahead = dims.size() - from.size();
    for (size_t i = 0; i < from.size(); ++i) {
      if (dims[ahead + i] == 1) dims[ahead + i] = from[i];
    }
    return c.Out(b.Op("BroadcastTo", {x, b.ConstInts(dims)}));
  }
  // A tensor of ones has the shape; the product has the broadcast of both.
  const DType type = b.TypeOf(x);
  if (type == DType::kBool) {
    const Val ones = b.Op("Fill", {shape, b.Scalar(DType::kInt32, 1)});
    return c.Out(b.Cast(b.Mul(b.Cast(x, DType::kInt32), ones), DType::kBool));
  }
  c.Out(b.Mul(x, b.Op("Fill", {shape, b.Scalar(type, 1)})));
}

void Tile(Context& c) { c.Out(c.b.Op("Tile", {c.In(0), c.In(1)})); }

void Slice(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  if (c.opset < 10) {
    const Ints starts = c.List("starts");
    Ints axes(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
    axes = c.List("axes", axes);
    return c.Out(b.Op("StridedSliceV2", {x, b.ConstInts(starts), b.ConstInts(c.List("ends")), b.ConstInts(axes),
                                         b.ConstInts(Ints(starts.size(), 1))}));
  }
  const Val starts = c.In(1);
  Val axes = c.Maybe(3);
  Val steps = c.Maybe(4);
  const bool counted = b.RankOf(starts) == 1 && b.DimsOf(starts)[0] >= 0;
  const auto count = counted ? static_cast<size_t>(b.DimsOf(starts)[0]) : 0;
  if (!Given(axes) && counted) {
    Ints all(count);
    std::iota(all.begin(), all.end(), 0);
    axes = b.ConstInts(all);
  }
  if (!Given(steps) && counted) steps = b.ConstInts(Ints(count, 1));
  const auto wide = [&](const Val& value) { return Given(value) ? b.Cast(value, DType::kInt64) : value; };
  c.Out(b.Op("StridedSliceV2", {x, wide(starts), wide(c.In(2)), wide(axes), wide(steps)}));
}

void Pad(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const std::string mode = c.Text("mode", "constant");
  const int64_t rank = c.KnownRank(x);
  if (rank < 0) return;
  Val value = c.opset < 11 ? b.ScalarLike(x, c.Real("value", 0)) : c.Maybe(2);
  Val pads = c.opset < 11 ? b.ConstInts(c.List("pads")) : c.In(1);
  if (c.Has(3)) {
    // Each axis of x takes its pad from the given ones, the others have none.
    const Val given = b.Cast(c.In(3), DType::kInt64);
    const Val all = b.ConstInt(rank);
    const Val axes = b.Where(b.Op("Less", {given, b.ConstInt(0)}), b.Add(given, all), given);
    const Val places = b.Unsqueeze(b.Concat({axes, b.Add(axes, all)}, 0), {1});
    const Val none = b.ConstInts(Ints(static_cast<size_t>(2 * rank), 0));
    pads = b.Op("TensorScatterUpdate", {none, places, b.Cast(pads, DType::kInt64)});
  }
  const std::optional<Ints> known = b.IntsOf(pads);
  const bool cuts = !known || std::any_of(known->begin(), known->end(), [](int64_t pad) { return pad < 0; });
  if (cuts && known && mode != "constant") return c.Refuse("negative pads with mode %s", mode.c_str());
  if (Given(value) && b.RankOf(value) == 1) value = b.Reshape(value, {});
  if (!Given(value)) value = b.ScalarLike(x, 0);
  c.Out(b.Op("PadV3", {x, pads, mode == "constant" ? value : Val()},
             {{"mode", mode == "wrap" ? "circular" : mode.c_str()}, {"paddings_contiguous", false}}));
}

void ConstantOfShape(Context& c) {
  Builder& b = c.b;
  const ir::TensorPtr given = c.Tensor("value");
  Val value = b.Scalar(DType::kFloat, 0);
  if (given != nullptr) {
    auto scalar = std::make_shared<ir::Tensor>(*given);
    scalar->desc.dims = scalar->desc.origin_dims = {};
    value = b.Const(scalar);
  }
  c.Out(b.Op("Fill", {c.In(0), value}));
}

void EyeLike(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  if (b.RankOf(x) != 2 || !b.IsStatic(x)) return c.Refuse("the shape of its input must be known, with two dimensions");
  const ir::Dims dims = b.DimsOf(x);
  const int64_t k = c.Int("k", 0);
  const DType type = c.HasAttr("dtype") ? TypeFromOnnx(c.Int("dtype", 0)) : b.TypeOf(x);
  const Val rows = b.Reshape(b.Op("Range", {b.ConstInt(0), b.ConstInt(dims[0]), b.ConstInt(1)}), {dims[0], 1});
  const Val columns = b.Op("Range", {b.ConstInt(0), b.ConstInt(dims[1]), b.ConstInt(1)});
  c.Out(b.Cast(b.Op("Equal", {b.Add(rows, b.ConstInt(k)), columns}), type));
}

void Range(Context& c) {
  Builder& b = c.b;
  const Val start = c.In(0);
  const DType type = b.TypeOf(start);
  const auto scalar = [&](const Val& value) { return b.RankOf(value) == 1 ? b.Reshape(value, {}) : value; };
  if (type != DType::kInt16) {
    return c.Out(b.Op("Range", {scalar(start), scalar(c.In(1)), scalar(c.In(2))}));
  }
  const auto wide = [&](const Val& value) { return b.Cast(scalar(value), DType::kInt32); };
  c.Out(b.Cast(b.Op("Range", {wide(start), wide(c.In(1)), wide(c.In(2))}), type));
}

void DepthToSpace(Context& c) {
  c.Out(c.b.Op("DepthToSpace", {c.In(0)},
               {{"block_size", c.Int("blocksize", 1)}, {"mode", c.Text("mode", "DCR")}, {"data_format", "NCHW"}}));
}

// GE's operator orders the channels differently in this mode; a six-dimensional transpose is unambiguous.
void SpaceToDepth(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t block = c.Int("blocksize", 1);
  const std::string mode = c.Text("mode", "DCR");
  if (b.RankOf(x) != 4 || !b.IsStatic(x)) return c.Refuse("the shape of its input must be known, with four dimensions");
  const ir::Dims d = b.DimsOf(x);
  if (block < 1 || d[2] % block != 0 || d[3] % block != 0) return c.Refuse("the block does not divide the image");
  const Val parts = b.Reshape(x, {d[0], d[1], d[2] / block, block, d[3] / block, block});
  const Val turned = b.Transpose(parts, mode == "CRD" ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4});
  c.Out(b.Reshape(turned, {d[0], d[1] * block * block, d[2] / block, d[3] / block}));
}

void Trilu(Context& c) {
  const bool upper = c.Int("upper", 1) != 0;
  c.Out(c.b.Op("Trilu", {c.In(0), c.Maybe(1)}, {{"upper", upper ? 1 : 0}}));
}

void ReverseSequence(Context& c) {
  c.Out(c.b.Op("ReverseSequence", {c.In(0), c.In(1)},
               {{"seq_dim", c.Int("time_axis", 0)}, {"batch_dim", c.Int("batch_axis", 1)}}));
}

constexpr HandlerEntry kArrangeHandlers[] = {
    MP_ONNX(Concat),    MP_ONNX(Constant), MP_ONNX(ConstantOfShape), MP_ONNX(DepthToSpace),
    MP_ONNX(Expand),    MP_ONNX(EyeLike),  MP_ONNX(Flatten),         MP_ONNX(Pad),
    MP_ONNX(Range),     MP_ONNX(Reshape),  MP_ONNX(ReverseSequence), MP_ONNX(Shape),
    MP_ONNX(Size),      MP_ONNX(Slice),    MP_ONNX(SpaceToDepth),    MP_ONNX(Split),
    MP_ONNX(Squeeze),   MP_ONNX(Tile),     MP_ONNX(Transpose),       MP_ONNX(Trilu),
    MP_ONNX(Unsqueeze),
};

}  // namespace

std::span<const HandlerEntry> ArrangeHandlers() { return kArrangeHandlers; }

}  // namespace millpond::onnx

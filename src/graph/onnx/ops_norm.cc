// SPDX-License-Identifier: Apache-2.0
// Normalisation and losses.
#include <numeric>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

Ints Counted(int64_t from, int64_t to) {
  Ints axes;
  for (int64_t i = from; i < to; ++i) axes.push_back(i);
  return axes;
}

// [C] to [C, 1, 1], to broadcast along dimension 1 of a tensor of this rank.
Val AsChannels(Context& c, const Val& value, int64_t rank) {
  return rank > 2 ? c.b.Unsqueeze(value, Counted(1, rank - 1)) : value;
}

struct Moments {
  Val centred, mean, variance;
};
Moments MomentsOf(Builder& b, const Val& x, const Ints& axes) {
  Moments moments;
  moments.mean = b.Reduce("ReduceMean", x, axes, true);
  moments.centred = b.Sub(x, moments.mean);
  moments.variance = b.Reduce("ReduceMean", b.Mul(moments.centred, moments.centred), axes, true);
  return moments;
}

Val InverseRoot(Builder& b, const Val& variance, double epsilon) {
  return b.Wide("Reciprocal", {b.Wide("Sqrt", {b.Add(variance, b.ScalarLike(variance, epsilon))})});
}

void BatchNormalization(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t rank = c.KnownRank(x);
  if (rank < 2) return c.Refuse("its input must have two dimensions or more");
  const double epsilon = c.Real("epsilon", 1e-5);
  const double momentum = c.Real("momentum", 0.9);
  const bool training = c.Int("training_mode", 0) != 0;
  if (c.Int("spatial", 1) != 1) return c.Refuse("spatial must be 1");
  const Val scale = c.In(1);
  const Val bias = c.In(2);
  const Val mean = c.In(3);
  const Val variance = c.In(4);
  const DType type = b.TypeOf(x);
  const auto wide = [&](const Val& value) { return b.Cast(value, DType::kFloat); };
  if (!training) {
    const bool halves = ClassOf(type) == kHalfTypes;
    if (type == DType::kFloat || halves) {
      return c.Out(b.Op("BNInfer", {x, wide(scale), wide(bias), wide(mean), wide(variance)}, {{"epsilon", epsilon}}));
    }
    const Val factor = b.Mul(scale, InverseRoot(b, variance, epsilon));
    const Val centred = b.Sub(x, AsChannels(c, mean, rank));
    return c.Out(b.Add(b.Mul(centred, AsChannels(c, factor, rank)), AsChannels(c, bias, rank)));
  }
  Ints axes = Counted(2, rank);
  axes.insert(axes.begin(), 0);
  const Moments now = MomentsOf(b, x, axes);
  const Val normal = b.Mul(now.centred, InverseRoot(b, now.variance, epsilon));
  c.Out(0, b.Add(b.Mul(normal, AsChannels(c, scale, rank)), AsChannels(c, bias, rank)));
  const auto blend = [&](const Val& old, const Val& fresh) {
    const Val flat = b.Reshape(fresh, {-1});
    return b.Add(b.Mul(old, b.ScalarLike(old, momentum)), b.Mul(flat, b.ScalarLike(flat, 1 - momentum)));
  };
  if (c.Wants(1)) c.Out(1, blend(mean, now.mean));
  if (c.Wants(2)) c.Out(2, blend(variance, now.variance));
}

void InstanceNormalization(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t rank = c.KnownRank(x);
  if (rank < 3) return c.Refuse("its input must have three dimensions or more");
  const Moments now = MomentsOf(b, x, Counted(2, rank));
  const Val normal = b.Mul(now.centred, InverseRoot(b, now.variance, c.Real("epsilon", 1e-5)));
  c.Out(b.Add(b.Mul(normal, AsChannels(c, c.In(1), rank)), AsChannels(c, c.In(2), rank)));
}

// The type that the statistics of values of `type` are computed in.
DType StashType(Context& c, DType type) {
  const DType asked = TypeFromOnnx(c.Int("stash_type", 1));
  if (type == DType::kDouble) return type;
  return asked == DType::kUndefined ? DType::kFloat : asked;
}

// What is normalised over all dimensions from an axis on.
struct Normalised {
  Val x;
  DType type, stash;
  int64_t rank, axis;
};
// False after refusing.
bool ReadNormalised(Context& c, Normalised* out) {
  out->x = c.In(0);
  out->type = c.b.TypeOf(out->x);
  out->rank = c.KnownRank(out->x);
  if (out->rank < 0) return false;
  out->axis = c.Axis(c.Int("axis", -1), out->rank);
  out->stash = StashType(c, out->type);
  return true;
}

void LayerNormalization(Context& c) {
  Builder& b = c.b;
  Normalised read;
  if (!ReadNormalised(c, &read)) return;
  const auto& [x, type, stash, rank, axis] = read;
  const double epsilon = c.Real("epsilon", 1e-5);
  const Val scale = c.In(1);
  const Val bias = c.Maybe(2);
  const ir::Dims dims = b.DimsOf(x);
  const Ints behind(dims.begin() + axis, dims.end());
  const bool plain = type == DType::kFloat && ir::IsStatic(behind) && b.DimsOf(scale) == behind &&
                     (!Given(bias) || b.DimsOf(bias) == behind);
  if (plain) {
    const Vals out = b.Ops("LayerNormV4", {x, b.ConstInts(behind), scale, bias}, {{"epsilon", epsilon}});
    for (size_t i = 0; i < 3; ++i) c.Out(i, out[i]);
    return;
  }
  const Moments now = MomentsOf(b, b.Cast(x, stash), Counted(axis, rank));
  const Val inverse = InverseRoot(b, now.variance, epsilon);
  Val result = b.Mul(b.Cast(b.Mul(now.centred, inverse), type), scale);
  if (Given(bias)) result = b.Add(result, bias);
  c.Out(0, result);
  c.Out(1, now.mean);
  c.Out(2, inverse);
}

void RmsNormalization(Context& c) {
  Builder& b = c.b;
  Normalised read;
  if (!ReadNormalised(c, &read)) return;
  const auto& [x, type, stash, rank, axis] = read;
  const Val wide = b.Cast(x, stash);
  const Val mean = b.Reduce("ReduceMean", b.Mul(wide, wide), Counted(axis, rank), true);
  const Val normal = b.Mul(wide, InverseRoot(b, mean, c.Real("epsilon", 1e-5)));
  c.Out(b.Mul(b.Cast(normal, type), c.In(1)));
}

void GroupNormalization(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const DType type = b.TypeOf(x);
  const int64_t groups = c.Int("num_groups", 0);
  const double epsilon = c.Real("epsilon", 1e-5);
  const DType stash = StashType(c, type);
  if (!b.IsStatic(x) || b.RankOf(x) < 2) return c.Refuse("its input's shape must be known");
  const ir::Dims dims = b.DimsOf(x);
  const auto rank = static_cast<int64_t>(dims.size());
  if (groups < 1 || dims[1] % groups != 0) return c.Refuse("num_groups does not divide the channels");
  const Val parts = b.Reshape(b.Cast(x, stash), {dims[0], groups, -1});
  const Moments now = MomentsOf(b, parts, {2});
  Val normal = b.Cast(b.Mul(now.centred, InverseRoot(b, now.variance, epsilon)), type);
  Val scale = c.In(1);
  Val bias = c.In(2);
  if (c.opset < 21) {
    // One value per group.
    normal = b.Add(b.Mul(normal, b.Reshape(scale, {1, groups, 1})), b.Reshape(bias, {1, groups, 1}));
    return c.Out(b.Reshape(normal, dims));
  }
  c.Out(b.Add(b.Mul(b.Reshape(normal, dims), AsChannels(c, scale, rank)), AsChannels(c, bias, rank)));
}

void MeanVarianceNormalization(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Ints axes = c.List("axes", {0, 2, 3});
  const Moments now = MomentsOf(b, x, axes);
  const Val deviation = b.Wide("Sqrt", {now.variance});
  c.Out(b.Div(now.centred, b.Add(deviation, b.ScalarLike(deviation, 1e-9))));
}

void Lrn(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t size = c.Int("size", 1);
  const int64_t rank = c.KnownRank(x);
  if (rank < 2 || size < 1) return c.Refuse("its input must have two dimensions or more, and size must be positive");
  const int64_t before = (size - 1) / 2;
  const int64_t channels = b.DimsOf(x)[1];
  if (channels < 0 || size > 4096) return c.Refuse("the number of channels must be known");
  Ints pads(static_cast<size_t>(2 * rank), 0);
  pads[1] = before;
  pads[static_cast<size_t>(rank) + 1] = size - 1 - before;
  const Val squares = b.Op("PadV3", {b.Mul(x, x), b.ConstInts(pads)}, {{"paddings_contiguous", false}});
  Val sum = b.Slice(squares, 1, 0, channels);
  for (int64_t i = 1; i < size; ++i) sum = b.Add(sum, b.Slice(squares, 1, i, i + channels));
  const double alpha = c.Real("alpha", 1e-4) / static_cast<double>(size);
  const Val base = b.Add(b.Mul(sum, b.ScalarLike(x, alpha)), b.ScalarLike(x, c.Real("bias", 1.0)));
  c.Out(b.Div(x, b.Wide("Pow", {base, b.ScalarLike(x, c.Real("beta", 0.75))})));
}

// -x[target] times the class's weight, 0 where the target is ignored.
void NegativeLogLikelihood(Context& c, const Val& x, const Val& given_target, const Val& weight) {
  Builder& b = c.b;
  const std::string reduction = c.Text("reduction", "mean");
  const int64_t rank = c.KnownRank(x);
  if (rank < 2) return c.Refuse("its input must have two dimensions or more");
  Val target = b.Cast(given_target, DType::kInt64);
  Val ignored;
  if (c.HasAttr("ignore_index")) {
    ignored = b.Op("Equal", {target, b.ConstInt(c.Int("ignore_index", 0))});
    target = b.Where(ignored, b.ConstInt(0), target);
  }
  const Val found = b.Squeeze(b.Op("GatherElements", {x, b.Unsqueeze(target, {1})}, {{"dim", 1}}), {1});
  Val loss = b.Wide("Neg", {found});
  Val weights;
  if (Given(weight)) weights = b.Op("GatherV2", {weight, target, b.ConstInt(0)});
  if (Given(ignored)) {
    if (!Given(weights)) weights = b.Op("OnesLike", {loss});
    weights = b.Where(ignored, b.ScalarLike(weights, 0), weights);
  }
  if (Given(weights)) loss = b.Mul(loss, weights);
  const Ints all = Counted(0, rank - 1);
  if (reduction == "none") return c.Out(0, loss);
  if (reduction == "sum" || (reduction == "mean" && Given(weights))) {
    const Val sum = b.Reduce("ReduceSum", loss, all, false);
    return c.Out(0, reduction == "sum" ? sum : b.Div(sum, b.Reduce("ReduceSum", weights, all, false)));
  }
  if (reduction != "mean") return c.Refuse("reduction \"%s\" is not known", reduction.c_str());
  c.Out(0, b.Reduce("ReduceMean", loss, all, false));
}

void NllLoss(Context& c) { NegativeLogLikelihood(c, c.In(0), c.In(1), c.Maybe(2)); }

void SoftmaxCrossEntropyLoss(Context& c) {
  const Val logits = c.b.Wide("LogSoftmaxV2", {c.In(0)}, {{"axes", Ints{1}}});
  NegativeLogLikelihood(c, logits, c.In(1), c.Maybe(2));
  if (c.Wants(1)) c.Out(1, logits);
}

constexpr HandlerEntry kNormHandlers[] = {
    MP_ONNX(BatchNormalization),
    MP_ONNX(GroupNormalization),
    MP_ONNX(InstanceNormalization),
    {"LRN", &Lrn},
    MP_ONNX(LayerNormalization),
    MP_ONNX(MeanVarianceNormalization),
    {"NegativeLogLikelihoodLoss", &NllLoss},
    {"RMSNormalization", &RmsNormalization},
    MP_ONNX(SoftmaxCrossEntropyLoss),
};

}  // namespace

std::span<const HandlerEntry> NormHandlers() { return kNormHandlers; }

}  // namespace millpond::onnx

// SPDX-License-Identifier: Apache-2.0
// Attention and related operators. Shapes must be known.
#include <cmath>
#include <limits>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool AllStatic(Context& c, std::initializer_list<Val> values) {
  for (const Val& value : values) {
    if (!Given(value) || c.b.IsStatic(value)) continue;
    c.Refuse("the shapes of its inputs must be known when the model is parsed");
    return false;
  }
  return c.b.ok();
}

// [B, S, heads * size] to [B, heads, S, size].
Val SplitHeads(Context& c, const Val& x, int64_t heads) {
  const ir::Dims dims = c.b.DimsOf(x);
  if (dims.size() != 3 || heads < 1 || dims[2] % heads != 0) {
    c.Refuse("%lld heads do not divide an input of shape %s", static_cast<long long>(heads), ir::TextOf(dims).c_str());
    return {};
  }
  return c.b.Transpose(c.b.Reshape(x, {dims[0], dims[1], heads, dims[2] / heads}), {0, 2, 1, 3});
}

Val JoinHeads(Context& c, const Val& x) {
  const ir::Dims dims = c.b.DimsOf(x);
  if (dims.size() != 4) return {};
  return c.b.Reshape(c.b.Transpose(x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
}

// Repeats each head, with copies adjacent.
Val RepeatHeads(Context& c, const Val& x, int64_t times) {
  if (times == 1) return x;
  const ir::Dims d = c.b.DimsOf(x);
  const Val wide = c.b.Op("BroadcastTo", {c.b.Unsqueeze(x, {2}), c.b.ConstInts({d[0], d[1], times, d[2], d[3]})});
  return c.b.Reshape(wide, {d[0], d[1] * times, d[2], d[3]});
}

Val Counted(Builder& b, int64_t count, const Ints& shape) {
  return b.Reshape(b.Op("Range", {b.ConstInt(0), b.ConstInt(count), b.ConstInt(1)}), shape);
}

// 0 where allowed, minus infinity elsewhere.
Val BiasFrom(Builder& b, const Val& allowed, DType type) {
  return b.Where(allowed, b.Scalar(type, 0), b.Scalar(type, -kInfinity));
}

struct Masking {
  bool causal = false;
  int64_t left = -1;
  int64_t right = -1;
  Val offset;   // keys before the first query: a scalar, or one per batch
  Val lengths;  // valid keys per batch
};

// Additive mask for the scores; empty: none.
Val BiasOf(Context& c, const Val& given_mask, const Masking& masking, int64_t queries, int64_t keys, DType type) {
  Builder& b = c.b;
  Val bias;
  const auto add = [&](const Val& more) { bias = Given(bias) ? b.Add(bias, more) : more; };
  if (Given(given_mask)) {
    Val mask = given_mask;
    if (b.TypeOf(mask) == DType::kBool) mask = BiasFrom(b, mask, type);
    const ir::Dims dims = b.DimsOf(mask);
    const int64_t missing = dims.empty() ? 0 : keys - dims.back();
    if (missing > 0) {
      Ints pads(2 * dims.size(), 0);
      pads.back() = missing;
      mask = b.Op("PadV3", {mask, b.ConstInts(pads), b.ScalarLike(mask, -kInfinity)}, {{"paddings_contiguous", false}});
    }
    add(mask);
  }
  if (masking.causal || masking.left >= 0 || masking.right >= 0) {
    const Val i = b.Add(Counted(b, queries, {queries, 1}), masking.offset);
    const Val ahead = b.Sub(Counted(b, keys, {1, keys}), i);  // of the query: positive in the future
    if (masking.causal) add(BiasFrom(b, b.Op("LessEqual", {ahead, b.ConstInt(0)}), type));
    if (masking.left >= 0) add(BiasFrom(b, b.Op("GreaterEqual", {ahead, b.ConstInt(-masking.left)}), type));
    if (masking.right >= 0) add(BiasFrom(b, b.Op("LessEqual", {ahead, b.ConstInt(masking.right)}), type));
  }
  if (Given(masking.lengths)) {
    const Val count = b.Reshape(masking.lengths, {-1, 1, 1, 1});
    add(BiasFrom(b, b.Op("Less", {Counted(b, keys, {1, 1, 1, keys}), count}), type));
  }
  return bias;
}

void Attention(Context& c) {
  Builder& b = c.b;
  Val q = c.In(0);
  Val k = c.In(1);
  Val v = c.In(2);
  const Val mask = c.Maybe(3);
  const Val past_k = c.Maybe(4);
  const Val past_v = c.Maybe(5);
  const Val lengths = c.Maybe(6);
  const int64_t q_heads = c.Int("q_num_heads", 0);
  const int64_t kv_heads = c.Int("kv_num_heads", 0);
  const double softcap = c.Real("softcap", 0);
  const int64_t mode = c.Int("qk_matmul_output_mode", 0);
  if (!AllStatic(c, {q, k, v, mask, past_k, past_v, lengths})) return;
  const DType type = b.TypeOf(q);
  const bool flat = b.RankOf(q) == 3;
  if (flat) {
    q = SplitHeads(c, q, q_heads);
    k = SplitHeads(c, k, kv_heads);
    v = SplitHeads(c, v, kv_heads);
  }
  if (b.RankOf(q) != 4 || b.RankOf(k) != 4 || b.RankOf(v) != 4)
    return c.Refuse("its inputs must have 3 or 4 dimensions");
  if (Given(past_k)) k = b.Concat({past_k, k}, 2);
  if (Given(past_v)) v = b.Concat({past_v, v}, 2);
  c.Out(1, b.Op("Identity", {k}));
  c.Out(2, b.Op("Identity", {v}));
  const ir::Dims qd = b.DimsOf(q);
  const ir::Dims kd = b.DimsOf(k);
  if (qd.size() != 4 || kd.size() != 4 || kd[1] < 1 || qd[1] % kd[1] != 0) return c.Refuse("its heads do not match");
  k = RepeatHeads(c, k, qd[1] / kd[1]);
  v = RepeatHeads(c, v, qd[1] / kd[1]);
  Masking masking;
  masking.causal = c.Int("is_causal", 0) != 0;
  masking.left = c.Int("left_window_size", -1);
  masking.right = c.Int("right_window_size", -1);
  masking.lengths = lengths;
  masking.offset = b.ConstInt(Given(past_k) ? b.DimsOf(past_k)[2] : 0);
  if (!Given(past_k) && Given(lengths)) masking.offset = b.Sub(b.Reshape(lengths, {-1, 1, 1, 1}), b.ConstInt(qd[2]));
  const Val bias = BiasOf(c, mask, masking, qd[2], kd[2], type);
  const double scale = std::sqrt(c.HasAttr("scale") ? c.Real("scale", 1) : 1 / std::sqrt(static_cast<double>(qd[3])));
  const Val factor = b.Scalar(type, scale);
  Val scores = b.Wide("BatchMatMulV2", {b.Mul(q, factor), b.Transpose(b.Mul(k, factor), {0, 1, 3, 2})});
  Val shown = scores;
  if (softcap > 0) {
    scores = b.Mul(b.Wide("Tanh", {b.Div(scores, b.ScalarLike(scores, softcap))}), b.ScalarLike(scores, softcap));
    if (mode == 0) shown = scores;
  }
  if (mode == 1) shown = scores;
  if (Given(bias)) scores = b.Add(scores, bias);
  if (mode == 2) shown = scores;
  const DType precise = c.HasAttr("softmax_precision") ? TypeFromOnnx(c.Int("softmax_precision", 1)) : type;
  Val weights = b.Wide("SoftmaxV2", {b.Cast(scores, precise)}, {{"axes", Ints{-1}}});
  if (Given(bias)) {
    // A fully masked row gives zeros.
    const Val most = b.Reduce("ReduceMax", bias, {-1}, true);
    weights = b.Where(b.Wide("Equal", {most, b.ScalarLike(most, -kInfinity)}), b.ScalarLike(weights, 0), weights);
  }
  weights = b.Cast(weights, type);
  if (mode == 3) shown = weights;
  c.Out(3, shown);
  const Val result = b.Wide("BatchMatMulV2", {weights, v});
  c.Out(0, flat ? JoinHeads(c, result) : result);
}

void RotaryEmbedding(Context& c) {
  Builder& b = c.b;
  Val x = c.In(0);
  Val cos = c.In(1);
  Val sin = c.In(2);
  const int64_t heads = c.Int("num_heads", 0);
  int64_t size = c.Int("rotary_embedding_dim", 0);
  const bool interleaved = c.Int("interleaved", 0) != 0;
  if (!AllStatic(c, {x, cos, sin})) return;
  const bool flat = b.RankOf(x) == 3;
  if (flat) x = SplitHeads(c, x, heads);
  const ir::Dims d = b.DimsOf(x);  // [B, heads, S, size]
  if (d.size() != 4) return c.Refuse("its input must have 3 or 4 dimensions");
  if (size == 0) size = d[3];
  if (c.Has(3)) {
    cos = b.Op("GatherV2", {cos, c.In(3), b.ConstInt(0)});
    sin = b.Op("GatherV2", {sin, c.In(3), b.ConstInt(0)});
  }
  cos = b.Unsqueeze(cos, {1});
  sin = b.Unsqueeze(sin, {1});
  const Val turned = size == d[3] ? x : b.Slice(x, 3, 0, size);
  const auto half = [&](int64_t which) {
    if (!interleaved) return b.Slice(turned, 3, which * (size / 2), (which + 1) * (size / 2));
    return b.Op("StridedSliceV2",
                {turned, b.ConstInts({which}), b.ConstInts({size}), b.ConstInts({3}), b.ConstInts({2})});
  };
  const Val x1 = half(0);
  const Val x2 = half(1);
  const Val real = b.Sub(b.Mul(cos, x1), b.Mul(sin, x2));
  const Val imaginary = b.Add(b.Mul(sin, x1), b.Mul(cos, x2));
  Val result = interleaved ? b.Reshape(b.Concat({b.Unsqueeze(real, {4}), b.Unsqueeze(imaginary, {4})}, 4),
                                       {d[0], d[1], d[2], size})
                           : b.Concat({real, imaginary}, 3);
  if (size != d[3]) result = b.Concat({result, b.Slice(x, 3, size, d[3])}, 3);
  c.Out(flat ? JoinHeads(c, result) : result);
}

constexpr int64_t kMaxSteps = 512;

// A state [B, heads, K, V] is carried from token to token.
void LinearAttention(Context& c) {
  Builder& b = c.b;
  const Val past = c.Maybe(3);
  const Val decay_in = c.Maybe(4);
  const Val beta_in = c.Maybe(5);
  const int64_t q_heads = c.Int("q_num_heads", 0);
  const int64_t kv_heads = c.Int("kv_num_heads", 0);
  const std::string rule = c.Text("update_rule", "gated_delta");
  c.Ignore("chunk_size");
  if (!AllStatic(c, {c.In(0), c.In(1), c.In(2), past, decay_in, beta_in})) return;
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return c.Refuse("update_rule \"%s\" is not known", rule.c_str());
  const DType type = b.TypeOf(c.In(0));
  const auto wide = [&](const Val& value) { return b.Cast(value, DType::kFloat); };
  const Val q = SplitHeads(c, wide(c.In(0)), q_heads);
  const Val k = SplitHeads(c, wide(c.In(1)), kv_heads);
  const Val v = SplitHeads(c, wide(c.In(2)), kv_heads);
  if (!b.ok() || kv_heads < 1 || q_heads % kv_heads != 0) return c.Refuse("its heads do not match");
  const ir::Dims kd = b.DimsOf(k);
  const int64_t v_size = b.DimsOf(v)[3];
  const int64_t steps = kd[2];
  if (steps > kMaxSteps)
    return c.Refuse("%lld tokens; at most %lld can be unrolled", static_cast<long long>(steps),
                    static_cast<long long>(kMaxSteps));
  Val decay;
  if (Given(decay_in)) decay = b.Wide("Exp", {SplitHeads(c, wide(decay_in), kv_heads)});
  Val beta;
  if (Given(beta_in)) beta = SplitHeads(c, wide(beta_in), b.DimsOf(beta_in).back());
  if ((rule.starts_with("gated") != Given(decay)) || (rule.ends_with("delta") != Given(beta))) {
    return c.Refuse("update_rule %s does not match its inputs", rule.c_str());
  }
  const double given = c.Real("scale", 0);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(kd[3]));
  Val state = Given(past) ? wide(past) : b.Filled(DType::kFloat, 0, {kd[0], kd[1], kd[3], v_size});
  const auto at = [&](const Val& x, int64_t t) { return b.Slice(x, 2, t, t + 1); };  // [B, heads, 1, size]
  Vals outputs;
  for (int64_t t = 0; t < steps && b.ok(); ++t) {
    const Val column = b.Transpose(at(k, t), {0, 1, 3, 2});
    if (Given(decay)) state = b.Mul(state, b.Transpose(at(decay, t), {0, 1, 3, 2}));
    Val value = at(v, t);
    if (Given(beta)) value = b.Mul(at(beta, t), b.Sub(value, b.Op("BatchMatMulV2", {at(k, t), state})));
    state = b.Add(state, b.Mul(column, value));
    outputs.push_back(b.Op("BatchMatMulV2", {at(q, t), RepeatHeads(c, state, q_heads / kv_heads)}));
  }
  if (!b.ok() || outputs.empty()) return c.Refuse("it has no tokens");
  const Val all = b.Concat(outputs, 2);
  c.Out(0, b.Cast(JoinHeads(c, b.Mul(all, b.Scalar(DType::kFloat, scale))), type));
  c.Out(1, b.Cast(state, Given(past) ? b.TypeOf(past) : type));
}

void CausalConvWithState(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val weight = c.In(1);
  const Val past = c.Maybe(3);
  const std::string activation = c.Text("activation", "none");
  if (!AllStatic(c, {x, weight})) return;
  const ir::Dims xd = b.DimsOf(x);
  const ir::Dims wd = b.DimsOf(weight);
  if (xd.size() != 3 || wd.size() != 3) return c.Refuse("its inputs must have three dimensions");
  const int64_t before = wd[2] - 1;
  const DType type = b.TypeOf(x);
  Val padded = x;
  if (before > 0) padded = b.Concat({Given(past) ? past : b.Filled(type, 0, {xd[0], xd[1], before}), x}, 2);
  c.IgnoreInput(3);
  const DType computed = type == DType::kDouble ? type : DType::kFloat;
  const auto wide = [&](const Val& value) { return Given(value) ? b.Cast(value, computed) : value; };
  Val result = b.Op("MillpondConv", {wide(padded), wide(weight), wide(c.Maybe(2))},
                    {{"strides", Ints{1}}, {"pads", Ints{0, 0}}, {"dilations", Ints{1}}, {"groups", xd[1]}});
  result = b.Cast(result, type);
  if (activation == "silu" || activation == "swish") {
    const Val again = b.Cast(result, computed);
    result = b.Cast(b.Mul(again, b.Wide("Sigmoid", {again})), type);
  } else if (activation != "none") {
    return c.Refuse("activation \"%s\" is not known", activation.c_str());
  }
  c.Out(0, result);
  if (c.Wants(1)) c.Out(1, b.Slice(padded, 2, xd[2], xd[2] + before));
}

void TensorScatter(Context& c) {
  Builder& b = c.b;
  const Val past = c.In(0);
  const Val update = c.In(1);
  const std::string mode = c.Text("mode", "linear");
  if (!AllStatic(c, {past, update})) return;
  const ir::Dims pd = b.DimsOf(past);
  const ir::Dims ud = b.DimsOf(update);
  const auto rank = static_cast<int64_t>(pd.size());
  const int64_t axis = c.Axis(c.Int("axis", -2), rank);
  if (ud.size() != pd.size() || axis == 0) return c.Refuse("its shapes or its axis do not fit");
  if (mode != "linear" && mode != "circular") return c.Refuse("mode \"%s\" is not known", mode.c_str());
  Ints shape(pd.size(), 1);
  shape[static_cast<size_t>(axis)] = ud[static_cast<size_t>(axis)];
  Val places = Counted(b, ud[static_cast<size_t>(axis)], shape);
  if (c.Has(2)) {
    Ints batch(pd.size(), 1);
    batch[0] = pd[0];
    places = b.Add(places, b.Reshape(c.In(2), batch));
  }
  if (mode == "circular") places = b.Op("FloorMod", {places, b.ConstInt(pd[static_cast<size_t>(axis)])});
  places = b.Op("BroadcastTo", {places, b.ConstInts(ud)});
  c.Out(b.Op("ScatterElements", {past, places, update}, {{"axis", axis}}));
}

constexpr HandlerEntry kAttentionHandlers[] = {
    MP_ONNX(Attention),       MP_ONNX(CausalConvWithState), MP_ONNX(LinearAttention),
    MP_ONNX(RotaryEmbedding), MP_ONNX(TensorScatter),
};

}  // namespace

std::span<const HandlerEntry> AttentionHandlers() { return kAttentionHandlers; }

}  // namespace millpond::onnx

// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/attention.h"

#include <algorithm>

#include "src/kernels/attention/attention_heads.h"
#include "src/kernels/attention/attention_rows.h"

namespace millpond::kernels {
namespace {

// Few enough to stay in the cache, and to leave out most of what a causal mask hides.
constexpr int64_t kScoresPerBlock = int64_t{1} << 20;
using Block = ScoreBlock;

// The part of a tensor that broadcasts to the scores which belongs to a block.
Tensor Part(const Tensor& tensor, const Block& block) {
  Tensor part = tensor;
  if (part.dim() >= 2 && part.size(-2) != 1) part = part.narrow(-2, block.row, block.rows);
  if (part.dim() >= 1 && part.size(-1) != 1) part = part.narrow(-1, block.key, block.keys);
  return part;
}

Tensor HiddenIn(const Visibility& visible, const Block& block) {
  Tensor hidden;
  if (visible.banded()) {
    const Tensor row = at::arange(block.row, block.row + block.rows, at::kLong).unsqueeze(1);
    const Tensor key = at::arange(block.key, block.key + block.keys, at::kLong);
    const Tensor distance = key - row;
    hidden = distance.lt(visible.first).logical_or_(distance.gt(visible.last));
    if (visible.prefix > 0) hidden.logical_and_(key.ge(visible.prefix));
  }
  if (!visible.masked.defined()) return hidden;
  const Tensor masked = Part(visible.masked, block);
  return hidden.defined() ? hidden.logical_or(masked) : masked;
}

// The float inputs and how they are cut.
class Plan {
 public:
  explicit Plan(const Attention& attention)
      : attention_(attention),
        query_(attention.query.to(at::kFloat)),
        key_(attention.key.to(at::kFloat).contiguous()),
        value_(attention.value.to(at::kFloat).contiguous()) {
    TORCH_CHECK(query_.dim() == 4 && key_.dim() == 4 && value_.dim() == 4, "query, key and value have ", query_.dim(),
                ", ", key_.dim(), " and ", value_.dim(), " dimensions; they do not fit the layout");
    TORCH_CHECK(query_.size(0) == key_.size(0) && key_.size(0) == value_.size(0) && key_.size(1) == value_.size(1) &&
                    key_.size(2) == value_.size(2) && query_.size(3) == key_.size(3),
                "query ", query_.sizes(), ", key ", key_.sizes(), " and value ", value_.sizes(),
                " (batch, heads, length, head size) do not fit together");
    TORCH_CHECK(key_.size(1) > 0 && query_.size(1) % key_.size(1) == 0, "there are ", query_.size(1),
                " query heads for ", key_.size(1), " key heads; the one must be a multiple of the other");
  }

  int64_t batch() const { return query_.size(0); }
  int64_t heads() const { return query_.size(1); }
  int64_t queries() const { return query_.size(2); }
  int64_t keys() const { return key_.size(2); }
  const Tensor& query() const { return query_; }
  const Tensor& key() const { return key_; }
  const Tensor& value() const { return value_; }

  std::vector<Block> Blocks() const {
    const int64_t width = std::max<int64_t>(1, batch() * heads() * keys());
    const int64_t step = std::clamp<int64_t>(kScoresPerBlock / width, 1, std::max<int64_t>(1, queries()));
    const Visibility& visible = attention_.visible;
    std::vector<Block> blocks;
    for (int64_t row = 0; row < queries(); row += step) {
      const int64_t rows = std::min(step, queries() - row);
      int64_t from = std::clamp<int64_t>(row + visible.first, 0, keys());
      const int64_t to = std::clamp<int64_t>(std::max(row + rows + visible.last, visible.prefix), from, keys());
      if (visible.prefix > 0) from = 0;
      blocks.push_back({row, rows, from, to - from});
    }
    return blocks;
  }

  // [B, N, rows, width] with the heads of a group side by side, [B, Nkv, group * rows, width], and back.
  Tensor Grouped(const Tensor& x) const {
    return x.reshape({batch(), key_.size(1), heads() / key_.size(1) * x.size(2), x.size(3)});
  }
  Tensor Ungrouped(const Tensor& x, int64_t rows) const { return x.view({batch(), heads(), rows, x.size(3)}); }

  // [B, N, rows, keys]; -inf where hidden.
  Tensor Scores(const Block& block) const {
    const Tensor rows = Grouped(query_.narrow(2, block.row, block.rows));
    Tensor scores = at::matmul(rows, key_.narrow(2, block.key, block.keys).transpose(2, 3));
    scores = Ungrouped(scores, block.rows);
    if (attention_.bias.defined() && attention_.bias_scaled) scores.add_(Part(attention_.bias, block));
    if (attention_.scale != 1) scores.mul_(attention_.scale);
    if (attention_.bias.defined() && !attention_.bias_scaled) scores.add_(Part(attention_.bias, block));
    const Tensor hidden = HiddenIn(attention_.visible, block);
    if (hidden.defined()) scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
    return scores;
  }

  Tensor Sink() const { return attention_.sink.to(at::kFloat).reshape({1, heads(), 1, 1}); }

 private:
  const Attention& attention_;
  Tensor query_, key_, value_;
};

}  // namespace

AttentionResult Attend(const Attention& attention) {
  const Plan plan(attention);
  const auto options = plan.query().options();
  AttentionResult result{at::zeros({plan.batch(), plan.heads(), plan.queries(), plan.value().size(3)}, options),
                         at::full({plan.batch(), plan.heads(), plan.queries(), 1}, kBlindMax, options),
                         at::full({plan.batch(), plan.heads(), plan.queries(), 1}, kBlindSum, options)};
  if (result.max.numel() == 0) return result;
  if (IsPlainByHeads(attention)) {
    AttendByHeads(attention, result);
    return result;
  }
  for (const Block& block : plan.Blocks()) {
    if (block.keys == 0) continue;
    Tensor weights = plan.Scores(block);
    Tensor max = weights.amax(-1, /*keepdim=*/true);
    const Tensor blind = max.eq(-std::numeric_limits<double>::infinity());
    if (attention.sink.defined()) max = at::maximum(max, plan.Sink());
    max.masked_fill_(blind, kBlindMax);
    weights.sub_(max).exp_();
    Tensor sum = weights.sum(-1, /*keepdim=*/true);
    if (attention.sink.defined()) sum.add_((plan.Sink() - max).exp_());
    sum.masked_fill_(blind, kBlindSum);
    weights.div_(sum);
    if (attention.keep.defined()) weights.mul_(Part(attention.keep, block));
    const Tensor out = at::matmul(plan.Grouped(weights), plan.value().narrow(2, block.key, block.keys));
    result.out.narrow(2, block.row, block.rows).copy_(plan.Ungrouped(out, block.rows));
    result.max.narrow(2, block.row, block.rows).copy_(max);
    result.sum.narrow(2, block.row, block.rows).copy_(sum);
  }
  return result;
}

AttentionGrads AttendBackward(const Attention& attention, const Tensor& grad, const AttentionResult& forward) {
  const Plan plan(attention);
  AttentionGrads grads{at::zeros_like(plan.query(), at::MemoryFormat::Contiguous), at::zeros_like(plan.key()),
                       at::zeros_like(plan.value()), Tensor(), Tensor()};
  if (attention.bias.defined()) grads.bias = at::zeros(attention.bias.sizes(), plan.query().options());
  if (IsPlainByHeads(attention) && grads.query.numel() != 0) {
    const auto plain = [](const Tensor& x) { return x.to(at::kFloat).contiguous(); };
    AttendBackwardByHeads(attention, plain(grad), {plain(forward.out), plain(forward.max), plain(forward.sum)}, grads);
    return grads;
  }
  const Tensor dy = grad.to(at::kFloat);
  const Tensor max = forward.max.to(at::kFloat);
  const Tensor sum = forward.sum.to(at::kFloat);
  // What each row's weights lose together, since they add up to one.
  const Tensor shared = dy.mul(forward.out.to(at::kFloat)).sum(-1, /*keepdim=*/true);
  if (attention.sink.defined()) {
    const Tensor weight = (plan.Sink() - max).exp_().div_(sum);
    grads.sink = weight.mul_(shared).neg_().sum({0, 2, 3});
  }
  if (max.numel() == 0) return grads;
  for (const Block& block : plan.Blocks()) {
    if (block.keys == 0) continue;
    const auto rows = [&](const Tensor& x) { return x.narrow(2, block.row, block.rows); };
    const Tensor weights = plan.Scores(block).sub_(rows(max)).exp_().div_(rows(sum));
    const Tensor dy_rows = plan.Grouped(rows(dy));
    Tensor change =
        plan.Ungrouped(at::matmul(dy_rows, plan.value().narrow(2, block.key, block.keys).transpose(2, 3)), block.rows);
    Tensor used = weights;
    if (attention.keep.defined()) {
      const Tensor keep = Part(attention.keep, block);
      used = weights.mul(keep);
      change.mul_(keep);
    }
    grads.value.narrow(2, block.key, block.keys).add_(at::matmul(plan.Grouped(used).transpose(2, 3), dy_rows));
    change.sub_(rows(shared)).mul_(weights);
    if (!attention.bias_scaled && grads.bias.defined()) {
      Tensor part = Part(grads.bias, block);
      part.add_(at::sum_to(change, part.sizes()));
    }
    if (attention.scale != 1) change.mul_(attention.scale);
    if (attention.bias_scaled && grads.bias.defined()) {
      Tensor part = Part(grads.bias, block);
      part.add_(at::sum_to(change, part.sizes()));
    }
    const Tensor grouped = plan.Grouped(change);
    rows(grads.query)
        .copy_(plan.Ungrouped(at::matmul(grouped, plan.key().narrow(2, block.key, block.keys)), block.rows));
    grads.key.narrow(2, block.key, block.keys)
        .add_(at::matmul(grouped.transpose(2, 3), plan.Grouped(rows(plan.query()))));
  }
  return grads;
}

Tensor LogSumExp(const AttentionResult& result) {
  const Tensor lse = result.sum.log().add_(result.max);
  return lse.masked_fill_(result.max.eq(kBlindMax), std::numeric_limits<double>::infinity());
}

std::string UpperCase(string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

Tensor AsBnsd(const Tensor& tensor, const std::string& layout, int64_t heads) {
  const auto want = [&](int64_t dims) {
    TORCH_CHECK(tensor.dim() == dims, "a tensor in the layout ", layout, " has ", dims,
                " dimensions, this one has shape ", tensor.sizes());
  };
  const auto split = [&]() {
    want(3);
    TORCH_CHECK(heads > 0 && tensor.size(2) % heads == 0, "the last dimension of ", tensor.sizes(),
                " is not a multiple of the ", heads, " heads");
    return tensor.unflatten(2, {heads, tensor.size(2) / heads});
  };
  if (layout == "BSH") return split().permute({0, 2, 1, 3});
  if (layout == "SBH") return split().permute({1, 2, 0, 3});
  if (layout == "TND" || layout == "NTD") {
    want(3);
    return (layout == "TND" ? tensor.transpose(0, 1) : tensor).unsqueeze(0);
  }
  TORCH_CHECK(layout == "BNSD" || layout == "BSND" || layout == "NBSD", "the layout is '", layout,
              "'; supported are BSH, SBH, BSND, BNSD, NBSD, TND and NTD");
  want(4);
  if (layout == "BNSD") return tensor;
  return layout == "BSND" ? tensor.transpose(1, 2) : tensor.transpose(0, 1);
}

Visibility VisibleBy(const SparseRule& rule, const Tensor& mask, int64_t queries, int64_t keys, int64_t prefix) {
  Visibility visible;
  if (!mask.defined()) return visible;
  const int64_t corner = keys - queries;  // the diagonal that ends in the right lower corner
  const auto near = [](int64_t tokens) { return std::clamp(tokens, -Visibility::kFar / 2, Visibility::kFar / 2); };
  const auto unbounded = [](int64_t tokens) { return tokens >= std::numeric_limits<int32_t>::max(); };
  switch (rule.mode) {
    case 0:
      if (!unbounded(rule.before)) visible.first = -near(rule.before);
      if (!unbounded(rule.after)) visible.last = near(rule.after);
      visible.masked = mask;
      return visible;
    case 1:
    case 5:
      visible.masked = mask;
      return visible;
    case 2:
      visible.last = 0;
      return visible;
    case 3:
      visible.last = corner;
      return visible;
    case 4:
      if (!unbounded(rule.before)) visible.first = corner - near(rule.before);
      if (!unbounded(rule.after)) visible.last = corner + near(rule.after);
      return visible;
    case 6:
      visible.last = corner;
      visible.prefix = prefix;
      return visible;
    default:
      TORCH_CHECK(false, "sparseMode is ", rule.mode, "; supported are 0 to 6, and 7 and 8 for packed sequences");
  }
}

Span SpanOf(IntArrayRef cumulative, size_t i) {
  // Zeros at the end: sequences that take no part.
  if (std::all_of(cumulative.begin() + i, cumulative.end(), [](int64_t end) { return end == 0; })) return {};
  const int64_t start = i == 0 ? 0 : cumulative[i - 1];
  TORCH_CHECK(start >= 0 && cumulative[i] >= start, "the lengths ", cumulative,
              " must be cumulative: none may be less than the one before");
  return {start, cumulative[i] - start};
}

}  // namespace millpond::kernels

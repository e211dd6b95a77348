// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/flash_attention.h"

#include <algorithm>

#include "src/kernels/nn/keep_mask.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kStatisticsWidth = 8;  // the device repeats each maximum and each sum that often
constexpr int64_t kPseRows = 1024;       // of a compressed pse

IntArrayRef Given(const OptIntArrayRef& array) { return array.value_or(IntArrayRef()); }

// All rows of a pse that depends on the distance of key and query only, from its last ones. What lies behind the
// diagonal is not known, and hidden.
Tensor PseFromLastRows(const Tensor& last, int64_t queries, int64_t keys) {
  std::vector<Tensor> blocks;
  for (int64_t shift = 0; shift < queries; shift += kPseRows) {
    const int64_t rows = std::min(kPseRows, queries - shift);
    const Tensor block = at::constant_pad_nd(last.narrow(3, shift, keys - shift), {0, shift});
    blocks.insert(blocks.begin(), block.narrow(2, kPseRows - rows, rows));
  }
  return at::cat(blocks, 2);
}

// And back: what all rows add up to in the last ones.
void AddToLastRows(Tensor& last, const Tensor& all) {
  const int64_t queries = all.size(2), keys = all.size(3);
  for (int64_t shift = 0; shift < queries; shift += kPseRows) {
    const int64_t rows = std::min(kPseRows, queries - shift);
    const Tensor block = all.narrow(2, queries - shift - rows, rows).narrow(3, 0, keys - shift);
    last.narrow(2, kPseRows - rows, rows).narrow(3, shift, keys - shift).add_(block);
  }
}

int64_t ElementOr(const OptIntArrayRef& array, size_t i, int64_t otherwise) {
  const IntArrayRef values = Given(array);
  if (values.empty()) return otherwise;
  return values[std::min(i, values.size() - 1)];
}

}  // namespace

FlashAttention::FlashAttention(const FlashArguments& arguments)
    : given_(arguments), layout_(UpperCase(arguments.layout)), heads_(arguments.heads) {
  TORCH_CHECK(heads_ > 0, "headNum is ", heads_, "; it must be positive");
  query_ = AsBnsd(given_.query, layout_, heads_);
  TORCH_CHECK(query_.size(1) == heads_, "headNum is ", heads_, ", the query has ", query_.size(1), " heads");
  key_heads_ = heads_;
  if (layout_ == "BSH" || layout_ == "SBH") {
    const int64_t size = std::max<int64_t>(1, query_.size(3));
    TORCH_CHECK(given_.key.dim() == 3 && given_.key.size(2) % size == 0, "the key ", given_.key.sizes(),
                " is not made of heads of the query's size ", size);
    key_heads_ = std::max<int64_t>(1, given_.key.size(2) / size);
  }
  key_ = AsBnsd(given_.key, layout_, key_heads_);
  value_ = AsBnsd(given_.value, layout_, key_heads_);
  key_heads_ = key_.size(1);
  if (given_.query_rope && given_.query_rope->numel() != 0) {
    TORCH_CHECK(given_.key_rope, "queryRope is given without keyRope");
    query_ = at::cat({query_, AsBnsd(*given_.query_rope, layout_, heads_)}, -1);
    key_ = at::cat({key_, AsBnsd(*given_.key_rope, layout_, key_heads_)}, -1);
  }
  TORCH_CHECK(given_.pse_type >= 0 && given_.pse_type <= 3, "pseType is ", given_.pse_type, "; it must be 0 to 3");
  if (packed()) {
    TORCH_CHECK(
        !Given(given_.query_lengths).empty() && Given(given_.query_lengths).size() == Given(given_.key_lengths).size(),
        "the layout ", layout_, " needs as many lengths of queries as of keys; there are ",
        Given(given_.query_lengths).size(), " and ", Given(given_.key_lengths).size());
    const auto last = [](IntArrayRef ends) { return *std::max_element(ends.begin(), ends.end()); };
    TORCH_CHECK(last(*given_.query_lengths) <= query_.size(2) && last(*given_.key_lengths) <= key_.size(2),
                "the lengths end at ", last(*given_.query_lengths), " and ", last(*given_.key_lengths),
                ", the tensors have ", query_.size(2), " and ", key_.size(2), " tokens");
  }
  TORCH_CHECK(given_.sparse.mode != 6 || !given_.mask || !Given(given_.prefix).empty(),
              "sparseMode 6 needs prefix, which is absent");
  if (given_.keep_prob < 1) {
    TORCH_CHECK(given_.keep_prob > 0, "keepProb is ", given_.keep_prob, "; it must be in (0, 1]");
    const Piece last = Pieces().back();
    const int64_t scores = last.scores_before + last.batches * heads_ * last.query.length * last.key.length;
    Tensor bits;
    if (given_.drop && given_.drop->numel() != 0) {
      bits = *given_.drop;
    } else {
      bits = at::empty({(scores + 7) / 8}, at::kByte);
      FillKeepMask(bits, scores, 1 - given_.keep_prob, given_.seed, given_.offset);
    }
    keep_ = KeepFactors(bits, {scores}, 1 / given_.keep_prob, at::kFloat);
  }
}

std::vector<FlashAttention::Piece> FlashAttention::Pieces() const {
  std::vector<Piece> pieces;
  if (packed()) {
    int64_t scores = 0;
    for (size_t i = 0; i < given_.query_lengths->size(); ++i) {
      const Span query = SpanOf(*given_.query_lengths, i);
      const Span key = SpanOf(*given_.key_lengths, i);
      pieces.push_back({i, 0, 1, query, key, scores});
      scores += heads_ * query.length * key.length;
    }
    return pieces;
  }
  const Span query{0, query_.size(2)};
  const Span key{0, key_.size(2)};
  // Each batch has a prefix of its own.
  const int64_t step = given_.sparse.mode == 6 ? 1 : std::max<int64_t>(1, query_.size(0));
  for (int64_t batch = 0; batch < query_.size(0); batch += step) {
    pieces.push_back({static_cast<size_t>(batch), batch, step, query, key, batch * heads_ * query.length * key.length});
  }
  if (pieces.empty()) pieces.push_back({0, 0, 0, query, key, 0});
  return pieces;
}

SparseRule FlashAttention::RuleOf(const Piece& piece, const std::vector<Piece>& pieces) const {
  SparseRule rule = given_.sparse;
  if (!packed() || (rule.mode != 7 && rule.mode != 8)) return rule;
  // A sequence cut between ranks is the last one here (7) or the first one (8), and has a band of its own.
  const auto filled = [](const Piece& x) { return x.query.length != 0 && x.key.length != 0; };
  const Piece* cut = nullptr;
  for (const Piece& candidate : pieces) {
    if (filled(candidate) && (cut == nullptr || rule.mode == 7)) cut = &candidate;
  }
  const bool is_cut = cut != nullptr && cut->number == piece.number;
  rule.mode = is_cut ? 4 : (rule.mode == 7 ? 3 : 2);
  return rule;
}

Tensor FlashAttention::MaskOf(const Piece& piece) const {
  if (!given_.mask || given_.mask->numel() == 0) return {};
  Tensor mask = *given_.mask;
  if (mask.scalar_type() != at::kBool) mask = mask.ne(0);
  const int64_t mode = given_.sparse.mode;
  if (mode != 0 && mode != 1 && mode != 5) return mask;  // compressed
  TORCH_CHECK(mask.dim() >= 2 && mask.dim() <= 4, "attenMask has shape ", mask.sizes(),
              "; it must have 2 to 4 dimensions");
  if (mask.dim() == 3) mask = mask.unsqueeze(1);
  if (mask.dim() == 4 && mask.size(0) != 1) {
    const int64_t first = packed() ? static_cast<int64_t>(piece.number) : piece.first_batch;
    TORCH_CHECK(first + piece.batches <= mask.size(0), "attenMask ", mask.sizes(), " has no part for batch ", first);
    mask = mask.narrow(0, first, piece.batches);
  }
  TORCH_CHECK(mask.size(-2) >= piece.query.length && mask.size(-1) >= piece.key.length, "attenMask ", mask.sizes(),
              " is smaller than the scores, ", piece.query.length, " by ", piece.key.length);
  return mask.narrow(-2, 0, piece.query.length).narrow(-1, 0, piece.key.length);
}

Tensor FlashAttention::Distance(const Piece& piece) const {
  const Tensor row = at::arange(piece.query.length, at::kFloat).unsqueeze(1) + ElementOr(given_.query_start, 0, 0);
  const Tensor key = at::arange(piece.key.length, at::kFloat) + ElementOr(given_.key_start, 0, 0);
  const Tensor distance = (key - row).abs_();
  return given_.pse_type == 3 ? distance.sqrt_().neg_() : distance.neg_();
}

bool FlashAttention::IsPseCompressed(const Piece& piece) const {
  return given_.pse && !generated_bias() && given_.pse->dim() == 4 && given_.pse->size(2) == kPseRows &&
         piece.query.length > kPseRows;
}

// The part of `pse` (or of its gradient, where it is not compressed) for a piece.
Tensor FlashAttention::BiasOf(const Tensor& pse, const Piece& piece) const {
  const int64_t first = packed() ? static_cast<int64_t>(piece.number) : piece.first_batch;
  if (generated_bias()) {
    TORCH_CHECK((pse.dim() == 1 || pse.dim() == 2) && pse.size(-1) == heads_, "with pseType ", given_.pse_type,
                " the slopes have shape [N] or [B, N], not ", pse.sizes());
    if (pse.dim() == 1) return pse.view({1, heads_, 1, 1});
    return pse.narrow(0, first, piece.batches).view({piece.batches, heads_, 1, 1});
  }
  if (pse.dim() == 1) {
    const int64_t scores = heads_ * piece.query.length * piece.key.length;
    TORCH_CHECK(packed() && piece.scores_before + scores <= pse.numel(), "pse has ", pse.numel(),
                " elements; a flat one is for packed sequences and has one for each score");
    return pse.narrow(0, piece.scores_before, scores).view({1, heads_, piece.query.length, piece.key.length});
  }
  TORCH_CHECK(pse.dim() == 4, "pse has shape ", pse.sizes(), "; it must have 4 dimensions");
  Tensor part = pse.size(0) == 1 ? pse : pse.narrow(0, first, piece.batches);
  if (IsPseCompressed(piece)) {
    const int64_t mode = given_.sparse.mode;
    TORCH_CHECK(piece.query.length == piece.key.length && part.size(3) == piece.key.length && given_.mask &&
                    (mode == 0 || mode == 2 || mode == 3),
                "pse ", pse.sizes(),
                " is compressed: it needs a causal mask (sparseMode 0, 2 or 3) and as many keys as ", "the ",
                piece.query.length, " queries");
    return PseFromLastRows(part, piece.query.length, piece.key.length);
  }
  TORCH_CHECK(part.size(2) == 1 || part.size(2) >= piece.query.length, "pse ", pse.sizes(), " has fewer rows than the ",
              piece.query.length, " queries");
  TORCH_CHECK(part.size(3) >= piece.key.length, "pse ", pse.sizes(), " has fewer columns than the ", piece.key.length,
              " keys");
  if (part.size(2) != 1) part = part.narrow(2, 0, piece.query.length);
  return part.narrow(3, 0, piece.key.length);
}

// [B, N, S, 8] of a tensor of maxima or sums. Packed ones stand sequence by sequence, each [N, S, 8], or as the input.
Tensor FlashAttention::StatisticsOf(const Tensor& statistics, const Piece& piece) const {
  if (!packed()) return statistics.narrow(0, piece.first_batch, piece.batches);
  TORCH_CHECK(statistics.dim() == 3 && statistics.size(1) == heads_,
              "softmaxMax and softmaxSum of packed sequences have "
              "shape [T, N, 8], not ",
              statistics.sizes());
  const Tensor tokens = statistics.narrow(0, piece.query.start, piece.query.length);
  if (given_.softmax_layout == "same_as_input") return tokens.transpose(0, 1).unsqueeze(0);
  TORCH_CHECK(given_.softmax_layout.empty(), "the softmax's layout is '", std::string(given_.softmax_layout),
              "'; supported are 'same_as_input' and ''");
  return tokens.view({1, heads_, piece.query.length, statistics.size(2)});
}

Tensor FlashAttention::Rows(const Tensor& tensor, const Piece& piece) const {
  return tensor.narrow(0, piece.first_batch, piece.batches).narrow(2, piece.query.start, piece.query.length);
}
Tensor FlashAttention::Keys(const Tensor& tensor, const Piece& piece) const {
  return tensor.narrow(0, piece.first_batch, piece.batches).narrow(2, piece.key.start, piece.key.length);
}

Attention FlashAttention::Build(const Piece& piece, const std::vector<Piece>& pieces) const {
  Attention attention;
  attention.query = Rows(query_, piece);
  attention.key = Keys(key_, piece);
  attention.value = Keys(value_, piece);
  attention.scale = given_.scale;
  if (given_.pse && given_.pse->numel() != 0) {
    attention.bias = BiasOf(given_.pse->to(at::kFloat), piece);
    if (generated_bias()) attention.bias = attention.bias * Distance(piece);
    attention.bias_scaled = given_.pse_type == 1;
  }
  if (keep_.defined()) {
    const int64_t scores = piece.batches * heads_ * piece.query.length * piece.key.length;
    attention.keep = keep_.narrow(0, piece.scores_before, scores)
                         .view({piece.batches, heads_, piece.query.length, piece.key.length});
  }
  if (given_.sink && given_.sink->numel() != 0) attention.sink = *given_.sink;
  attention.visible = VisibleBy(RuleOf(piece, pieces), MaskOf(piece), piece.query.length, piece.key.length,
                                ElementOr(given_.prefix, piece.number, 0));
  return attention;
}

void FlashAttention::Forward(Tensor& max, Tensor& sum, Tensor& out) const {
  Tensor result = AsBnsd(out, layout_, heads_);
  if (packed()) result.zero_();  // tokens behind the last sequence
  const std::vector<Piece> pieces = Pieces();
  for (const Piece& piece : pieces) {
    const AttentionResult attended = Attend(Build(piece, pieces));
    Tensor rows = Rows(result, piece);
    TORCH_CHECK(rows.sizes() == attended.out.sizes(), "the result has shape ", attended.out.sizes(), ", the output ",
                rows.sizes(), " (batch, heads, length, head size)");
    rows.copy_(attended.out);
    StatisticsOf(max, piece).copy_(attended.max.expand({-1, -1, -1, kStatisticsWidth}));
    StatisticsOf(sum, piece).copy_(attended.sum.expand({-1, -1, -1, kStatisticsWidth}));
  }
}

void FlashAttention::Backward(const Tensor& dy, const OptTensor& max, const OptTensor& sum, const OptTensor& out,
                              const GradOutputs& grads) const {
  const auto wanted = [](const Tensor* tensor) { return tensor != nullptr && tensor->numel() != 0; };
  const Tensor dys = AsBnsd(dy, layout_, heads_);
  const auto floats = [](const Tensor& like) { return at::zeros(like.sizes(), at::kFloat); };
  const std::vector<Piece> pieces = Pieces();
  const bool whole = pieces.size() == 1 && !packed();  // one piece is everything: nothing to add up
  Tensor dquery = whole ? Tensor() : floats(query_);
  Tensor dkey = whole ? Tensor() : floats(key_);
  Tensor dvalue = whole ? Tensor() : floats(value_);
  const Tensor dpse = given_.pse ? floats(*given_.pse) : Tensor();
  const Tensor dsink = given_.sink ? floats(*given_.sink) : Tensor();
  const bool known = max && sum && out && max->numel() != 0 && sum->numel() != 0;
  for (const Piece& piece : pieces) {
    const Attention attention = Build(piece, pieces);
    AttentionResult forward;
    if (known) {
      forward = {Rows(AsBnsd(*out, layout_, heads_), piece), StatisticsOf(*max, piece).narrow(3, 0, 1),
                 StatisticsOf(*sum, piece).narrow(3, 0, 1)};
    } else {
      forward = Attend(attention);
    }
    const AttentionGrads part = AttendBackward(attention, Rows(dys, piece), forward);
    if (whole) {
      dquery = part.query;
      dkey = part.key;
      dvalue = part.value;
    } else {
      Rows(dquery, piece).add_(part.query);
      Keys(dkey, piece).add_(part.key);
      Keys(dvalue, piece).add_(part.value);
    }
    if (part.bias.defined() && IsPseCompressed(piece)) {
      const int64_t first = packed() ? static_cast<int64_t>(piece.number) : piece.first_batch;
      Tensor target = dpse.size(0) == 1 ? dpse : dpse.narrow(0, first, piece.batches);
      AddToLastRows(target, part.bias);
    } else if (part.bias.defined()) {
      const Tensor bias = generated_bias() ? part.bias * Distance(piece) : part.bias;
      Tensor target = BiasOf(dpse, piece);
      target.add_(at::sum_to(bias, target.sizes()));
    }
    if (part.sink.defined()) dsink.add_(part.sink);
  }
  const auto write = [&](Tensor* target, const Tensor& value, int64_t heads) {
    if (!wanted(target)) return;
    Tensor view = AsBnsd(*target, layout_, heads);
    Write(view, value);
  };
  const int64_t rope = given_.query_rope && given_.query_rope->numel() != 0 ? given_.query_rope->size(-1) : 0;
  const int64_t size = query_.size(3) - rope;
  write(grads.query, dquery.narrow(3, 0, size), heads_);
  write(grads.key, dkey.narrow(3, 0, size), key_heads_);
  write(grads.value, dvalue, key_heads_);
  if (rope != 0) {
    write(grads.query_rope, dquery.narrow(3, size, rope), heads_);
    write(grads.key_rope, dkey.narrow(3, size, rope), key_heads_);
  }
  if (dpse.defined() && wanted(grads.pse)) Write(*grads.pse, dpse);
  if (wanted(grads.sink)) Write(*grads.sink, dsink.defined() ? dsink : at::zeros_like(*grads.sink));
}

}  // namespace millpond::kernels

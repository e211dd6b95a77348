// SPDX-License-Identifier: Apache-2.0
// Attention between chosen blocks of queries and keys, and Floyd's attention along two axes; with their gradients.
#include <algorithm>

#include "src/kernels/attention/sequences.h"

namespace millpond::kernels {
namespace {

// The operators' arguments, one sequence at a time.
class Blocks {
 public:
  Blocks(const Tensor& query, const Tensor& key, const OptTensor& mask, OptIntArrayRef shape, OptIntArrayRef lengths,
         OptIntArrayRef key_lengths, string_view layout, string_view key_layout, int64_t key_heads)
      : mask_(mask), lengths_(lengths), key_lengths_(key_lengths), layout_(UpperCase(layout)) {
    TORCH_CHECK(layout_ == UpperCase(key_layout), "the layouts ", layout_, " and ", UpperCase(key_layout),
                " must be the same");
    TORCH_CHECK(layout_ == "TND" || layout_ == "BNSD" || layout_ == "BSND", "the layout is '", layout_,
                "'; supported are TND, BNSD and BSND");
    TORCH_CHECK(layout_ != "TND" || (lengths && key_lengths && lengths->size() == key_lengths->size()),
                "the layout TND needs the lengths of queries and keys");
    TORCH_CHECK(!shape || shape->size() >= 2, "blockShape has ", shape ? shape->size() : 0, " entries; two are needed");
    if (shape) rows_ = (*shape)[0], columns_ = (*shape)[1];
    TORCH_CHECK(rows_ > 0 && columns_ > 0, "blocks of ", rows_, " x ", columns_, "; both must be above 0");
    const int64_t found = key.size(layout_ == "BNSD" ? 1 : -2);
    TORCH_CHECK(key_heads == found, "numKeyValueHeads is ", key_heads, ", the key has ", found, " heads");
    batches_ = layout_ == "TND" ? static_cast<int64_t>(lengths->size()) : query.size(0);
  }

  int64_t batches() const { return batches_; }
  // [1, N, S, D] of one batch: a view.
  Tensor Queries(const Tensor& tensor, int64_t batch) const { return Part(tensor, batch, lengths_); }
  Tensor Keys(const Tensor& tensor, int64_t batch) const { return Part(tensor, batch, key_lengths_); }

  Attention Of(const Tensor& query, const Tensor& key, const Tensor& value, double scale, int64_t batch) const {
    Attention attention;
    attention.query = Queries(query, batch);
    attention.key = Keys(key, batch);
    attention.value = Keys(value, batch);
    attention.scale = scale;
    if (mask_) {
      const Tensor seen = (*mask_)[batch].to(at::kBool);
      attention.visible.masked = seen.repeat_interleave(rows_, 1)
                                     .narrow(1, 0, attention.query.size(2))
                                     .repeat_interleave(columns_, 2)
                                     .narrow(2, 0, attention.key.size(2))
                                     .logical_not()
                                     .unsqueeze(0);
    }
    return attention;
  }

 private:
  Tensor Part(const Tensor& tensor, int64_t batch, const OptIntArrayRef& lengths) const {
    const auto place = static_cast<size_t>(batch);
    if (layout_ == "TND") {
      int64_t start = 0;
      for (size_t i = 0; i < place; ++i) start += (*lengths)[i];
      return HeadsFirst(tensor.narrow(0, start, (*lengths)[place]));
    }
    const Tensor heads = layout_ == "BNSD" ? tensor[batch] : tensor[batch].transpose(0, 1);
    return heads.narrow(1, 0, lengths ? (*lengths)[place] : heads.size(1)).unsqueeze(0);
  }

  const OptTensor& mask_;
  OptIntArrayRef lengths_, key_lengths_;
  std::string layout_;
  int64_t rows_ = 128;
  int64_t columns_ = 128;
  int64_t batches_ = 0;
};

struct Floyd {
  Tensor q, k1, v1, k2, v2, scores;
};

// Scores of a point (n, m) with all k: q(n, m) k1(n, k) + q(n, m) k2(k, m).
Floyd FloydOf(const Tensor& query, const Tensor& key1, const Tensor& value1, const Tensor& key2, const Tensor& value2,
              const OptTensor& mask, double scale) {
  const auto wide = [](const Tensor& x) { return x.to(at::kFloat); };
  Floyd f{wide(query), wide(key1), wide(value1), wide(key2), wide(value2), {}};
  f.scores = at::einsum("bhnmd,bhnkd->bhnmk", {f.q, f.k1}) + at::einsum("bhnmd,bhkmd->bhnmk", {f.q, f.k2});
  f.scores.mul_(scale);
  if (mask) f.scores.masked_fill_(mask->to(at::kBool), -std::numeric_limits<double>::infinity());
  return f;
}

}  // namespace

MP_KERNEL(aclnnBlockSparseAttention, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& mask,
          OptIntArrayRef shape, OptIntArrayRef lengths, OptIntArrayRef key_lengths, string_view layout,
          string_view key_layout, int64_t key_heads, double scale, int64_t lse_wanted, Tensor& out, Tensor* lse) {
  const Blocks blocks(query, key, mask, shape, lengths, key_lengths, layout, key_layout, key_heads);
  TORCH_CHECK(lse_wanted == 0 || lse != nullptr, "softmaxLseFlag is set, and softmaxLse is NULL");
  for (int64_t batch = 0; batch < blocks.batches(); ++batch) {
    const AttentionResult result = Attend(blocks.Of(query, key, value, scale, batch));
    blocks.Queries(out, batch).copy_(result.out);
    if (lse_wanted != 0) blocks.Queries(*lse, batch).copy_(LogSumExp(result));
  }
}
MP_KERNEL(aclnnBlockSparseAttentionGrad, const Tensor& grad, const Tensor& query, const Tensor& key,
          const Tensor& value, const Tensor& out, const Tensor& lse, const OptTensor& mask, OptIntArrayRef shape,
          OptIntArrayRef lengths, OptIntArrayRef key_lengths, string_view layout, string_view key_layout,
          int64_t key_heads, double scale, Tensor& dq, Tensor& dk, Tensor& dv) {
  const Blocks blocks(query, key, mask, shape, lengths, key_lengths, layout, key_layout, key_heads);
  for (Tensor* written : {&dq, &dk, &dv}) written->zero_();
  for (int64_t batch = 0; batch < blocks.batches(); ++batch) {
    const Tensor max = blocks.Queries(lse, batch).to(at::kFloat);
    const AttentionResult forward{blocks.Queries(out, batch).to(at::kFloat), max, at::ones_like(max)};
    const AttentionGrads grads =
        AttendBackward(blocks.Of(query, key, value, scale, batch), blocks.Queries(grad, batch), forward);
    blocks.Queries(dq, batch).copy_(grads.query);
    blocks.Keys(dk, batch).copy_(grads.key);
    blocks.Keys(dv, batch).copy_(grads.value);
  }
}

MP_KERNEL(aclnnFusedFloydAttention, const Tensor& query, const Tensor& key1, const Tensor& value1, const Tensor& key2,
          const Tensor& value2, const OptTensor& mask, double scale, Tensor& max, Tensor& sum, Tensor& out) {
  const Floyd f = FloydOf(query, key1, value1, key2, value2, mask, scale);
  const Tensor most = f.scores.amax(-1, /*keepdim=*/true);
  const Tensor shares = (f.scores - most).exp_();
  const Tensor total = shares.sum(-1, /*keepdim=*/true);
  Write(max, most.expand_as(max));
  Write(sum, total.expand_as(sum));
  const Tensor p = shares / total;
  Write(out, at::einsum("bhnmk,bhnkd->bhnmd", {p, f.v1}) + at::einsum("bhnmk,bhkmd->bhnmd", {p, f.v2}));
}
MP_KERNEL(aclnnFusedFloydAttentionGrad, const Tensor& query, const Tensor& key1, const Tensor& value1,
          const Tensor& key2, const Tensor& value2, const Tensor& dy, const OptTensor& mask, const Tensor& max,
          const Tensor& sum, const Tensor& out, double scale, Tensor& dq, Tensor& dk1, Tensor& dv1, Tensor& dk2,
          Tensor& dv2) {
  const Floyd f = FloydOf(query, key1, value1, key2, value2, mask, scale);
  const Tensor g = dy.to(at::kFloat);
  const Tensor p = (f.scores - max.narrow(-1, 0, 1)).exp_() / sum.narrow(-1, 0, 1);
  const Tensor dp = at::einsum("bhnmd,bhnkd->bhnmk", {g, f.v1}) + at::einsum("bhnmd,bhkmd->bhnmk", {g, f.v2});
  const Tensor ds = p * (dp - (g * out.to(at::kFloat)).sum(-1, /*keepdim=*/true)) * scale;
  Write(dq, at::einsum("bhnmk,bhnkd->bhnmd", {ds, f.k1}) + at::einsum("bhnmk,bhkmd->bhnmd", {ds, f.k2}));
  Write(dk1, at::einsum("bhnmk,bhnmd->bhnkd", {ds, f.q}));
  Write(dk2, at::einsum("bhnmk,bhnmd->bhkmd", {ds, f.q}));
  Write(dv1, at::einsum("bhnmk,bhnmd->bhnkd", {p, g}));
  Write(dv2, at::einsum("bhnmk,bhnmd->bhkmd", {p, g}));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Choosing the next token, and getting ready for it.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

void CheckLogits(const Tensor& logits) {
  TORCH_CHECK(logits.dim() == 2, "logits has shape ", logits.sizes(), "; it must be [batch, vocabulary]");
}

}  // namespace

// Keeps the k largest, and of those the fewest whose probabilities reach p; the rest becomes -inf.
MP_KERNEL(aclnnApplyTopKTopP, const Tensor& logits, const OptTensor& p, const OptTensor& k, Tensor& out) {
  CheckLogits(logits);
  TORCH_CHECK(k || p, "k and p are both NULL: there is nothing to filter by");
  auto [sorted, order] = at::sort(logits, /*stable=*/true, -1, /*descending=*/false);
  Tensor values = sorted.to(at::kFloat);
  if (k) {
    const int64_t words = logits.size(1);
    const Tensor count = Long(*k).reshape({-1, 1});
    // A count outside [1, words) leaves its row as it is: nothing is below the smallest.
    const Tensor kept = at::where(count.ge(1).logical_and_(count.lt(words)), count, words);
    values.masked_fill_(values.lt(values.gather(1, words - kept)), kHidden);
  }
  if (p) {
    const Tensor reached = at::softmax(values, -1).cumsum(-1);
    Tensor hidden = reached.le(1 - p->to(at::kFloat).reshape({-1, 1}));
    hidden.select(1, logits.size(1) - 1).fill_(false);
    values.masked_fill_(hidden, kHidden);
  }
  Write(out, at::empty_like(values).scatter_(1, order, values));
}

// As above, then the largest probability, divided by the noise q where there is one. A k or p outside its range leaves
// that step out for its row.
MP_KERNEL(aclnnTopKTopPSample, const Tensor& logits, const Tensor& top_k, const Tensor& top_p, const OptTensor& q,
          double eps, bool logits_wanted, Tensor& selected, Tensor& filtered) {
  CheckLogits(logits);
  constexpr int64_t kMaxKept = 1024;
  const int64_t words = logits.size(1);
  auto [sorted, order] = at::sort(logits, /*stable=*/true, -1, /*descending=*/true);
  Tensor values = sorted.to(at::kFloat);
  const Tensor k = Long(top_k).reshape({-1, 1});
  const Tensor limited = k.ge(1).logical_and(k.le(std::min(words, kMaxKept)));
  values.masked_fill_(limited.logical_and(at::arange(words, at::kLong).ge(k)), kHidden);
  const Tensor p = top_p.to(at::kFloat).reshape({-1, 1});
  const Tensor chances = at::softmax(values, -1);
  Tensor hidden = (chances.cumsum(-1) - chances).gt(p).logical_and_(p.lt(1));
  hidden.select(1, 0).fill_(false);
  values.masked_fill_(hidden, kHidden);
  Tensor scores = at::softmax(values, -1);
  if (q) scores = scores / (q->to(at::kFloat).gather(1, order) + eps);
  WriteElements(selected, order.gather(1, scores.argmax(-1, /*keepdim=*/true)));
  if (logits_wanted) Write(filtered, at::empty_like(values).scatter_(1, order, values));
}

// The sampled tokens become the next step's input; each sequence grows by one.
MP_KERNEL(aclnnAdvanceStep, Tensor& input_tokens, const Tensor& sampled, Tensor& positions, Tensor& lengths,
          Tensor& slots, const Tensor& block_tables, int64_t sequences, int64_t queries, int64_t block_size) {
  TORCH_CHECK(block_size > 0 && queries <= sequences, "there are ", queries, " queries, ", sequences,
              " sequences and blocks of ", block_size, " tokens");
  for (const Tensor* x : {&input_tokens, &positions, &lengths, &slots}) {
    TORCH_CHECK(x->numel() == sequences, "a tensor of shape ", x->sizes(), " does not go with ", sequences,
                " sequences");
  }
  TORCH_CHECK(sampled.numel() == queries && block_tables.dim() == 2 && block_tables.size(0) == sequences,
              "sampledTokenIds of shape ", sampled.sizes(), " and blockTables of shape ", block_tables.sizes(),
              " do not go with ", queries, " queries and ", sequences, " sequences");
  const auto front = [&](const Tensor& x) { return x.reshape({-1}).narrow(0, 0, queries); };
  const Tensor position = Long(front(lengths)).clone();
  const Tensor block = position.div(block_size, "floor");
  const Tensor table = Long(block_tables).narrow(0, 0, queries).gather(1, block.unsqueeze(1)).squeeze(1);
  input_tokens.view({-1}).narrow(0, 0, queries).copy_(front(sampled));
  positions.view({-1}).narrow(0, 0, queries).copy_(position);
  lengths.view({-1}).narrow(0, 0, queries).copy_(position + 1);
  slots.view({-1}).narrow(0, 0, queries).copy_(table * block_size + position % block_size);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Native sparse attention: keys pressed together by windows, attention over those, and over the blocks it chooses.
#include <algorithm>

#include "src/kernels/attention/sequences.h"

namespace millpond::kernels {
namespace {

void RequireTokens(string_view layout) {
  TORCH_CHECK(layout.empty() || UpperCase(layout) == "TND", "the layout is '", std::string(layout),
              "'; TND is supported, as on the device");
}

void RequireWindows(int64_t size, int64_t stride) {
  TORCH_CHECK(stride > 0 && size >= stride, "windows of ", size, " by steps of ", stride,
              "; the size must be at least the step, and both above 0");
}

int64_t WindowsIn(int64_t length, int64_t size, int64_t stride) {
  return length < size ? 0 : (length - size) / stride + 1;
}

// [windows, N, D, size] of [S, N, D].
Tensor Windows(const Tensor& rows, int64_t size, int64_t stride) { return rows.unfold(0, size, stride); }

// A statistic [1, N, S, 1] as [S, N, 8].
Tensor Eightfold(const Tensor& statistic) { return statistic[0].transpose(0, 1).expand({-1, -1, 8}); }
Tensor FromEightfold(const Tensor& kept) { return kept.to(at::kFloat).narrow(-1, 0, 1).transpose(0, 1).unsqueeze(0); }

// [N, Sq, blocks] of the shares [N, Sq, windows]: a block has those of the windows that touch it.
Tensor WorthOfBlocks(const Tensor& shares, int64_t blocks, int64_t per_block, int64_t per_window) {
  Tensor worth = at::zeros({shares.size(0), shares.size(1), blocks}, at::kFloat);
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t m = 0; m < per_block; ++m) {
      for (int64_t n = 0; n < per_window; ++n) {
        const int64_t place = per_block * block - m - n;
        if (place >= 0 && place < shares.size(-1)) worth.select(-1, block).add_(shares.select(-1, place));
      }
    }
  }
  return worth;
}

// One new token for each sequence, whose keys lie in pages.
class NewTokens {
 public:
  NewTokens(const Tensor& query, int64_t heads, int64_t key_heads, int64_t page, const OptTensor& table,
            const OptIntArrayRef& query_lengths, const OptIntArrayRef& key_lengths, string_view layout)
      : key_heads_(key_heads), page_(page) {
    const std::string known = layout.empty() ? "BSND" : UpperCase(layout);
    TORCH_CHECK(known == "BSND" || known == "TND" || known == "BSH", "the layout is '", known,
                "'; supported are BSND, TND and BSH");
    TORCH_CHECK(table.has_value() && key_lengths.has_value(), "the block table and the lengths of the keys are needed");
    table_ = Long(*table);
    lengths_ = key_lengths->vec();
    const auto batches = static_cast<int64_t>(lengths_.size());
    TORCH_CHECK(heads > 0 && key_heads > 0 && heads % key_heads == 0 && table_.dim() == 2 && table_.size(0) == batches,
                "there are ", heads, " heads, ", key_heads, " of keys, ", batches,
                " lengths and a block table of shape ", table_.sizes());
    const bool single = !query_lengths || std::all_of(query_lengths->begin(), query_lengths->end(),
                                                      [](int64_t length) { return length == 1; });
    query_ = query.reshape({-1, heads, query.size(-1) / (known == "BSH" ? heads : 1)});
    TORCH_CHECK(single && query_.size(0) == batches, "a query of shape ", query.sizes(), " for ", batches,
                " sequences: several new tokens for a sequence are not supported");
  }

  int64_t batches() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t keys(int64_t batch) const { return lengths_[static_cast<size_t>(batch)]; }
  Tensor Query(int64_t batch) const { return query_[batch].unsqueeze(1).unsqueeze(0); }  // [1, N, 1, D]
  // [1, Nkv, S, D] of a cache of pages.
  Tensor Cached(const Tensor& cache, int64_t batch) const {
    TORCH_CHECK(cache.dim() >= 3 && cache.size(1) == page_, "a cache has shape ", cache.sizes(),
                " and pageBlockSize is ", page_);
    const int64_t pages = (keys(batch) + page_ - 1) / page_;
    TORCH_CHECK(keys(batch) >= 0 && pages <= table_.size(1), "sequence ", batch, " has ", keys(batch),
                " keys; the block table has ", table_.size(1), " pages of ", page_);
    const Tensor own = cache.index_select(0, table_[batch].narrow(0, 0, pages)).flatten(0, 1).narrow(0, 0, keys(batch));
    return HeadsFirst(own.reshape({keys(batch), key_heads_, -1}));
  }

 private:
  int64_t key_heads_, page_;
  Tensor query_, table_;
  std::vector<int64_t> lengths_;
};

struct Selected : OverChosen {
  const OptTensor& mask;
  int64_t block_count;
};

// One sequence of the selected attention. Mode 2 hides later keys, counted from the first of both, when there is a
// mask.
Attention SelectedPart(const Selected& given, Span queries, Span keys) {
  TORCH_CHECK(given.mode == 0 || given.mode == 2, "sparseMode is ", given.mode, "; supported are 0 and 2");
  TORCH_CHECK(given.block_size > 0 && given.block_count == given.chosen.size(-1), "blocks of ", given.block_size, ", ",
              given.block_count, " of them, with indices of shape ", given.chosen.sizes());
  Attention attention;
  attention.query = HeadsFirst(given.query.narrow(0, queries.start, queries.length));
  attention.key = HeadsFirst(given.key.narrow(0, keys.start, keys.length));
  attention.value = HeadsFirst(given.value.narrow(0, keys.start, keys.length));
  attention.scale = given.scale;
  Tensor hidden = NotChosen(given.chosen.narrow(0, queries.start, queries.length), given.block_size, keys.length);
  if (given.mask && given.mode == 2) {
    hidden = hidden.logical_or(at::ones({queries.length, keys.length}, at::kBool).triu(1));
  } else if (given.mask) {
    const Tensor mask = given.mask->to(at::kBool);
    TORCH_CHECK(mask.dim() == 2 && mask.size(0) >= queries.length && mask.size(1) >= keys.length, "the mask has shape ",
                mask.sizes(), "; ", queries.length, " x ", keys.length, " are needed");
    hidden = hidden.logical_or(mask.narrow(0, 0, queries.length).narrow(1, 0, keys.length));
  }
  attention.visible.masked = hidden.repeat_interleave(attention.query.size(1) / hidden.size(0), 0).unsqueeze(0);
  return attention;
}

}  // namespace

MP_WIDE_KERNEL(aclnnNsaCompress, const Tensor& input, const Tensor& weight, IntArrayRef ends, string_view layout,
               int64_t size, int64_t stride, Tensor& output) {
  RequireTokens(layout);
  RequireWindows(size, stride);
  int64_t written = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const Span span = SpanOf(ends, i);
    const int64_t count = WindowsIn(span.length, size, stride);
    if (count == 0) continue;
    TORCH_CHECK(written + count <= output.size(0), "the output has ", output.size(0), " rows; ", written + count,
                " are needed");
    const Tensor windows = Windows(input.narrow(0, span.start, span.length), size, stride);
    output.narrow(0, written, count).copy_(at::einsum("wndl,ln->wnd", {windows, weight}));
    written += count;
  }
}
MP_WIDE_KERNEL(aclnnNsaCompressGrad, const Tensor& grad, const Tensor& input, const Tensor& weight, IntArrayRef ends,
               int64_t size, int64_t stride, string_view layout, Tensor& input_grad, Tensor& weight_grad) {
  RequireTokens(layout);
  RequireWindows(size, stride);
  Tensor by_input = at::zeros_like(input);
  Tensor by_weight = at::zeros_like(weight);
  int64_t read = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const Span span = SpanOf(ends, i);
    const int64_t count = WindowsIn(span.length, size, stride);
    if (count == 0) continue;
    TORCH_CHECK(read + count <= grad.size(0), "outputGrad has ", grad.size(0), " rows; ", read + count, " are needed");
    const Tensor part = grad.narrow(0, read, count);
    const Tensor windows = Windows(input.narrow(0, span.start, span.length), size, stride);
    by_weight.add_(at::einsum("wnd,wndl->ln", {part, windows}));
    const Tensor spread = at::einsum("wnd,ln->wlnd", {part, weight});
    for (int64_t w = 0; w < count; ++w) by_input.narrow(0, span.start + w * stride, size).add_(spread[w]);
    read += count;
  }
  Write(input_grad, by_input);
  Write(weight_grad, by_weight);
}
// A sequence whose last tokens fill a window gives one row to the cache.
MP_WIDE_KERNEL(aclnnNsaCompressWithCache, const Tensor& input, const Tensor& weight, const Tensor& slots,
               IntArrayRef lengths, const OptTensor& table, string_view layout, int64_t size, int64_t stride,
               Tensor& cache) {
  if (!table) RequireTokens(layout);
  RequireWindows(size, stride);
  const Tensor places = Long(slots).reshape({-1});
  TORCH_CHECK(places.numel() >= static_cast<int64_t>(lengths.size()), "there are ", places.numel(), " slots for ",
              lengths.size(), " sequences");
  int64_t start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t length = lengths[i];
    const int64_t begin = start;
    start += length;
    if (length < size || (length - size) % stride != 0) continue;
    Tensor rows;
    if (table) {
      const int64_t page = input.size(1);
      const Tensor pages = Long((*table)[static_cast<int64_t>(i)].narrow(0, 0, (length + page - 1) / page));
      rows = input.index_select(0, pages).flatten(0, 1).narrow(0, length - size, size);
    } else {
      rows = input.narrow(0, begin + length - size, size);
    }
    const int64_t slot = places[static_cast<int64_t>(i)].item<int64_t>();
    TORCH_CHECK(slot >= 0 && slot < cache.size(0), "slot ", slot, " of a cache of ", cache.size(0), " rows");
    cache[slot].copy_((rows * weight.unsqueeze(-1)).sum(0));
  }
}

MP_KERNEL(aclnnNsaSelectedAttention, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& chosen,
          const OptTensor& mask, IntArrayRef query_ends, IntArrayRef key_ends, double scale, int64_t heads,
          string_view layout, int64_t mode, int64_t block_size, int64_t block_count, Tensor& max, Tensor& sum,
          Tensor& out) {
  RequireTokens(layout);
  TORCH_CHECK(heads == query.size(1) && query_ends.size() == key_ends.size(), "headNum is ", heads,
              " and the query has ", query.size(1), " heads; there are ", query_ends.size(), " and ", key_ends.size(),
              " lengths");
  const Selected given{{query, key, value, chosen, scale, block_size, mode}, mask, block_count};
  for (size_t i = 0; i < query_ends.size(); ++i) {
    const Span queries = SpanOf(query_ends, i);
    const Span keys = SpanOf(key_ends, i);
    if (queries.length == 0 || keys.length == 0) continue;
    const AttentionResult result = Attend(SelectedPart(given, queries, keys));
    out.narrow(0, queries.start, queries.length).copy_(result.out[0].transpose(0, 1));
    max.narrow(0, queries.start, queries.length).copy_(Eightfold(result.max));
    sum.narrow(0, queries.start, queries.length).copy_(Eightfold(result.sum));
  }
}
MP_KERNEL(aclnnNsaSelectedAttentionGrad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
          const Tensor& grad, const Tensor& max, const Tensor& sum, const Tensor& chosen, IntArrayRef query_ends,
          IntArrayRef key_ends, const OptTensor& mask, double scale, int64_t block_size, int64_t block_count,
          int64_t heads, string_view layout, int64_t mode, Tensor& dq, Tensor& dk, Tensor& dv) {
  RequireTokens(layout);
  TORCH_CHECK(heads == query.size(1) && query_ends.size() == key_ends.size(), "headNum is ", heads,
              " and the query has ", query.size(1), " heads; there are ", query_ends.size(), " and ", key_ends.size(),
              " lengths");
  const Selected given{{query, key, value, chosen, scale, block_size, mode}, mask, block_count};
  for (Tensor* written : {&dq, &dk, &dv}) written->zero_();
  for (size_t i = 0; i < query_ends.size(); ++i) {
    const Span queries = SpanOf(query_ends, i);
    const Span keys = SpanOf(key_ends, i);
    if (queries.length == 0 || keys.length == 0) continue;
    const auto part = [&](const Tensor& x) { return x.narrow(0, queries.start, queries.length); };
    const AttentionResult forward{HeadsFirst(part(out)).to(at::kFloat), FromEightfold(part(max)),
                                  FromEightfold(part(sum))};
    const AttentionGrads grads = AttendBackward(SelectedPart(given, queries, keys), HeadsFirst(part(grad)), forward);
    part(dq).copy_(grads.query[0].transpose(0, 1));
    dk.narrow(0, keys.start, keys.length).copy_(grads.key[0].transpose(0, 1));
    dv.narrow(0, keys.start, keys.length).copy_(grads.value[0].transpose(0, 1));
  }
}

// Attention over the pressed keys; the shares of those that make up a block are added, over all heads of a group, and
// the blocks with the largest sums are named.
MP_KERNEL(aclnnNsaCompressAttention, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& mask,
          const OptTensor& block_mask, IntArrayRef query_ends, IntArrayRef key_ends, IntArrayRef block_ends,
          double scale, int64_t heads, string_view layout, int64_t mode, int64_t size, int64_t stride,
          int64_t block_size, int64_t block_count, Tensor& max, Tensor& sum, Tensor& out, Tensor& chosen) {
  RequireTokens(layout);
  RequireWindows(size, stride);
  TORCH_CHECK(mode == 0 || mode == 1, "sparseMode is ", mode, "; supported are 0 and 1");
  TORCH_CHECK(heads == query.size(1) && block_size >= size && block_size % stride == 0 && size % stride == 0,
              "headNum ", heads, ", windows of ", size, " by ", stride, " and blocks of ", block_size,
              " do not go together with a query of shape ", query.sizes());
  const int64_t per_block = block_size / stride;
  const int64_t per_window = size / stride;
  const int64_t key_heads = key.size(1);
  for (size_t i = 0; i < query_ends.size(); ++i) {
    const Span queries = SpanOf(query_ends, i);
    const Span keys = SpanOf(key_ends, i);
    const Span blocks = SpanOf(block_ends, i);
    if (queries.length == 0 || keys.length == 0) continue;
    Attention attention;
    attention.query = HeadsFirst(query.narrow(0, queries.start, queries.length));
    attention.key = HeadsFirst(key.narrow(0, keys.start, keys.length));
    attention.value = HeadsFirst(value.narrow(0, keys.start, keys.length));
    attention.scale = scale;
    if (mask) {
      attention.visible.masked = mask->to(at::kBool).narrow(0, 0, queries.length).narrow(1, 0, keys.length);
    }
    const AttentionResult result = Attend(attention);
    out.narrow(0, queries.start, queries.length).copy_(result.out[0].transpose(0, 1));
    max.narrow(0, queries.start, queries.length).copy_(Eightfold(result.max));
    sum.narrow(0, queries.start, queries.length).copy_(Eightfold(result.sum));
    const int64_t group = query.size(1) / key_heads;
    Tensor scores = at::matmul(attention.query[0].to(at::kFloat),
                               attention.key[0].to(at::kFloat).repeat_interleave(group, 0).transpose(-2, -1)) *
                    scale;
    if (mask) scores.masked_fill_(attention.visible.masked, -std::numeric_limits<double>::infinity());
    const Tensor shares = at::softmax(scores, -1).nan_to_num(0).view({key_heads, group, queries.length, -1}).sum(1);
    Tensor worth = WorthOfBlocks(shares, blocks.length, per_block, per_window);
    if (block_mask) {
      worth.masked_fill_(block_mask->to(at::kBool).narrow(0, 0, queries.length).narrow(1, 0, blocks.length),
                         -std::numeric_limits<double>::infinity());
    }
    TORCH_CHECK(block_count <= blocks.length, "selectBlockCount is ", block_count, "; there are ", blocks.length,
                " blocks");
    const Tensor best = std::get<1>(at::topk(worth, block_count, -1));
    chosen.narrow(0, queries.start, queries.length).copy_(best.transpose(0, 1));
  }
}

MP_KERNEL(aclnnNsaSelectedAttentionInfer, const Tensor& query, const Tensor& key, const Tensor& value,
          const Tensor& chosen, const OptTensor& table, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          string_view layout, int64_t heads, int64_t key_heads, int64_t block_size, int64_t block_count, int64_t page,
          double scale, Tensor& out) {
  const NewTokens tokens(query, heads, key_heads, page, table, query_lengths, key_lengths, layout);
  TORCH_CHECK(block_size > 0 && block_count == chosen.size(-1), "blocks of ", block_size, ", ", block_count,
              " of them, with indices of shape ", chosen.sizes());
  const Tensor blocks = chosen.reshape({tokens.batches(), key_heads, block_count});
  Tensor result = at::zeros(
      {tokens.batches(), heads, value.numel() / std::max<int64_t>(value.size(0) * page * key_heads, 1)}, at::kFloat);
  for (int64_t batch = 0; batch < tokens.batches(); ++batch) {
    if (tokens.keys(batch) == 0) continue;
    Attention attention;
    attention.query = tokens.Query(batch);
    attention.key = tokens.Cached(key, batch);
    attention.value = tokens.Cached(value, batch);
    attention.scale = scale;
    const Tensor hidden = NotChosen(blocks.narrow(0, batch, 1), block_size, tokens.keys(batch));
    attention.visible.masked = hidden.repeat_interleave(heads / key_heads, 0).unsqueeze(0);
    result[batch].copy_(Attend(attention).out[0].squeeze(1));
  }
  WriteElements(out, result);
}
MP_KERNEL(aclnnNsaCompressAttentionInfer, const Tensor& query, const Tensor& key, const Tensor& value,
          const OptTensor& table, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          OptIntArrayRef plain_lengths, int64_t heads, int64_t key_heads, int64_t block_size, int64_t block_count,
          int64_t size, int64_t stride, double scale, string_view layout, int64_t page, Tensor& out, Tensor& chosen) {
  RequireWindows(size, stride);
  const NewTokens tokens(query, heads, key_heads, page, table, query_lengths, key_lengths, layout);
  TORCH_CHECK(block_size >= size && block_size % stride == 0 && size % stride == 0, "windows of ", size, " by ", stride,
              " and blocks of ", block_size, " do not go together");
  Tensor result = at::zeros({tokens.batches(), heads, out.size(-1)}, at::kFloat);
  Tensor best = at::zeros({tokens.batches(), key_heads, block_count}, at::kLong);
  for (int64_t batch = 0; batch < tokens.batches(); ++batch) {
    const int64_t windows = tokens.keys(batch);
    if (windows == 0) continue;
    Attention attention;
    attention.query = tokens.Query(batch);
    attention.key = tokens.Cached(key, batch);
    attention.value = tokens.Cached(value, batch);
    attention.scale = scale;
    result[batch].copy_(Attend(attention).out[0].squeeze(1));
    const Tensor keys = attention.key[0].to(at::kFloat).repeat_interleave(heads / key_heads, 0);
    const Tensor scores = at::matmul(attention.query[0].to(at::kFloat), keys.transpose(-2, -1)) * scale;
    const Tensor shares = at::softmax(scores, -1).view({key_heads, -1, 1, windows}).sum(1);
    const bool told = plain_lengths && plain_lengths->size() == static_cast<size_t>(tokens.batches());
    const int64_t plain = told ? (*plain_lengths)[static_cast<size_t>(batch)] : (windows - 1) * stride + size;
    const int64_t blocks = (plain + block_size - 1) / block_size;
    TORCH_CHECK(block_count <= blocks, "selectBlockCount is ", block_count, "; sequence ", batch, " has ", blocks,
                " blocks");
    const Tensor worth = WorthOfBlocks(shares, blocks, block_size / stride, size / stride);
    best[batch].copy_(std::get<1>(at::topk(worth, block_count, -1)).squeeze(1));
  }
  WriteElements(out, result);
  WriteElements(chosen, best);
}

}  // namespace millpond::kernels

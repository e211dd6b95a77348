// SPDX-License-Identifier: Apache-2.0
// The attention of the transformer boost library: sequences of tokens one after another, keys beside them or in pages.
#include <vector>

#include "src/kernels/attention/attention.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

enum MaskMode : int64_t { kNoMask = 0, kAdded = 1, kAddedByToken = 2, kCausal = 3, kWindow = 4 };

struct BoostArguments {
  const Tensor& query;
  const Tensor& key;
  const OptTensor& value;
  const OptTensor &query_rope, &key_rope;
  const OptTensor& table;
  IntArrayRef query_lengths, key_lengths;
  const OptTensor& mask;
  const OptTensor &key_scale, &key_offset, &value_scale, &value_offset;
  const OptTensor &prev_out, &prev_lse;
  int64_t mask_mode;
  double mask_factor;
  int64_t window, heads, key_heads, value_size;
  bool fractal;
  double scale;
};

// [tokens, heads, size] of [tokens, hidden], or of what has heads already.
Tensor ByHead(const Tensor& tokens, int64_t heads, const char* name) {
  TORCH_CHECK(heads > 0, "the number of heads of ", name, " is ", heads, "; it must be positive");
  if (tokens.dim() == 3 && tokens.size(1) == heads) return tokens;
  TORCH_CHECK(tokens.dim() >= 2 && tokens.size(-1) % heads == 0, name, " has shape ", tokens.sizes(),
              "; it must be [tokens, ", heads, " heads * size] or [tokens, ", heads, ", size]");
  return tokens.reshape({-1, heads, tokens.size(-1) / heads});
}

Tensor HeadsInFront(const Tensor& rows) { return rows.transpose(0, 1).unsqueeze(0); }

// What int8 keys and values stand for: a scale and an offset for each element of a token.
Tensor Dequantized(const Tensor& rows, const OptTensor& scale, const OptTensor& offset) {
  if (!scale) return rows;
  const auto spread = [&](const Tensor& x) {
    TORCH_CHECK(rows.numel() == 0 || (rows.size(1) * rows.size(2)) % x.numel() == 0, "a scale or offset of ", x.numel(),
                " elements does not fit tokens of ", rows.size(1), " heads of ", rows.size(2));
    return x.numel() == rows.size(1) * rows.size(2) ? x.reshape({rows.size(1), rows.size(2)})
                                                    : x.reshape({-1, 1}).expand({x.numel(), 1});
  };
  Tensor value = rows.to(at::kFloat);
  if (offset) value = value.add(spread(offset->to(at::kFloat)));
  return value.mul(spread(DecodedScale(*scale).to(at::kFloat)));
}

class BoostAttention {
 public:
  explicit BoostAttention(const BoostArguments& given)
      : given_(given), key_heads_(given.key_heads == 0 ? given.heads : given.key_heads) {
    query_ = ByHead(given.query, given.heads, "query");
    if (given.query_rope) query_ = at::cat({query_, ByHead(*given.query_rope, given.heads, "queryRope")}, -1);
    TORCH_CHECK(given.query_lengths.size() == given.key_lengths.size(), "there are ", given.query_lengths.size(),
                " lengths of queries and ", given.key_lengths.size(), " of keys");
    TORCH_CHECK(given.heads % key_heads_ == 0, given.heads, " heads of queries do not divide into ", key_heads_);
  }

  void Run(Tensor& out, Tensor* lse) const {
    int64_t row = 0, key_row = 0;
    const Tensor rows_out = ByHead(out, given_.heads, "the output");
    for (size_t batch = 0; batch < given_.query_lengths.size(); ++batch) {
      const Span rows{row, given_.query_lengths[batch]}, keys{key_row, given_.key_lengths[batch]};
      TORCH_CHECK(rows.length >= 0 && keys.length >= 0 && row + rows.length <= query_.size(0), "the lengths ",
                  given_.query_lengths, " are more than the ", query_.size(0), " tokens of the query");
      row += rows.length;
      key_row += keys.length;
      if (rows.length != 0) RunOne(static_cast<int64_t>(batch), rows, keys, rows_out, lse);
    }
  }

 private:
  void RunOne(int64_t batch, const Span& rows, const Span& keys, const Tensor& out, Tensor* lse) const {
    Attention attention;
    attention.query = HeadsInFront(query_.narrow(0, rows.start, rows.length));
    const Tensor key = KeysOf(batch, keys);
    attention.key = HeadsInFront(Dequantized(key, given_.key_scale, given_.key_offset));
    attention.value = HeadsInFront(ValuesOf(batch, keys, key));
    attention.scale = given_.scale;
    Hide(batch, rows, keys.length, &attention);
    const AttentionResult result = Attend(attention);
    Tensor value = result.out;
    Tensor sums = LogSumExp(result);  // [1, N, S, 1]
    if (given_.prev_out && given_.prev_lse) {
      const Tensor before_sums =
          given_.prev_lse->to(at::kFloat).narrow(1, rows.start, rows.length).reshape(sums.sizes());
      const Tensor before = HeadsInFront(
          ByHead(*given_.prev_out, given_.heads, "prevOut").to(at::kFloat).narrow(0, rows.start, rows.length));
      const Tensor both = at::logaddexp(before_sums, sums);
      value = before.mul(before_sums.sub(both).exp()).add(value.mul(sums.sub(both).exp()));
      sums = both;
    }
    Tensor target = out.narrow(0, rows.start, rows.length);
    target.copy_(value.squeeze(0).transpose(0, 1));
    if (lse == nullptr) return;
    const Tensor by_head = sums.reshape({given_.heads, rows.length});
    if (lse->size(0) == query_.size(0) && lse->dim() == 3) {
      lse->narrow(0, rows.start, rows.length).squeeze(2).copy_(by_head.transpose(0, 1));
    } else {
      lse->narrow(1, rows.start, rows.length).copy_(by_head);
    }
  }

  // [length, Nkv, D] of one sequence.
  Tensor Tokens(const Tensor& tensor, int64_t batch, const Span& keys, const char* name) const {
    if (!given_.table) return ByHead(tensor, key_heads_, name).narrow(0, keys.start, keys.length);
    TORCH_CHECK(tensor.dim() == 4 || (tensor.dim() == 3 && !given_.fractal), "the cache of ", name, " has shape ",
                tensor.sizes(), "; it must be [blocks, block size, heads, size]");
    const int64_t size = tensor.size(given_.fractal ? 2 : 1);
    const int64_t count = (keys.length + size - 1) / size;
    TORCH_CHECK(batch < given_.table->size(0) && count <= given_.table->size(1), "the block table ",
                given_.table->sizes(), " does not reach ", count, " blocks of sequence ", batch);
    Tensor pages = tensor.index_select(0, Long(given_.table->select(0, batch).narrow(0, 0, count)));
    if (given_.fractal) pages = pages.transpose(1, 2);
    return pages.reshape({count * size, key_heads_, -1}).narrow(0, 0, keys.length);
  }
  Tensor KeysOf(int64_t batch, const Span& keys) const {
    const Tensor key = Tokens(given_.key, batch, keys, "key");
    return given_.key_rope ? at::cat({key, Tokens(*given_.key_rope, batch, keys, "keyRope")}, -1) : key;
  }
  Tensor ValuesOf(int64_t batch, const Span& keys, const Tensor& key) const {
    if (given_.value) {
      return Dequantized(Tokens(*given_.value, batch, keys, "value"), given_.value_scale, given_.value_offset);
    }
    TORCH_CHECK(given_.value_size > 0 && given_.value_size <= key.size(2), "values of size ", given_.value_size,
                " do not lie in keys of size ", key.size(2));
    return key.narrow(2, 0, given_.value_size);
  }

  void Hide(int64_t batch, const Span& rows, int64_t keys, Attention* attention) const {
    const int64_t corner = keys - rows.length;
    switch (given_.mask_mode) {
      case kNoMask:
        return;
      case kCausal:
        attention->visible.last = corner;
        return;
      case kWindow:
        attention->visible.last = corner;
        attention->visible.first = corner - given_.window + 1;
        return;
      case kAdded:
      case kAddedByToken:
        TORCH_CHECK(given_.mask, "the mask is missing");
        attention->bias = AddedFor(batch, rows, keys);
        return;
      default:
        TORCH_CHECK(false, "maskMode is ", given_.mask_mode, "; it must be 0 to 4");
    }
  }

  // [1, 1 or N, rows, keys].
  Tensor AddedFor(int64_t batch, const Span& rows, int64_t keys) const {
    Tensor mask = *given_.mask;
    const auto batches = static_cast<int64_t>(given_.query_lengths.size());
    TORCH_CHECK(mask.dim() >= 2 && mask.dim() <= 4, "the mask has shape ", mask.sizes(),
                "; it must have 2 to 4 dimensions");
    if (mask.dim() == 4) mask = mask[mask.size(0) == 1 ? 0 : batch];
    // Of three dimensions the first counts heads, or sequences where it has their number.
    if (given_.mask->dim() == 3 && (mask.size(0) == batches || mask.size(0) == 1)) {
      mask = mask.narrow(0, mask.size(0) == 1 ? 0 : batch, 1);
    }
    if (mask.dim() == 2) mask = mask.unsqueeze(0);
    const int64_t first = given_.mask_mode == kAddedByToken ? rows.start : 0;
    const bool each_row = mask.size(1) != 1 || rows.length == 1;
    TORCH_CHECK((!each_row || mask.size(1) >= first + rows.length || mask.size(1) == 1) && mask.size(2) >= keys,
                "the mask ", given_.mask->sizes(), " is smaller than the scores of sequence ", batch, ": ",
                first + rows.length, " rows of ", keys);
    if (mask.size(1) != 1) mask = mask.narrow(1, first, rows.length);
    return mask.narrow(2, 0, keys).to(at::kFloat).mul(given_.mask_factor).unsqueeze(0);
  }

  const BoostArguments& given_;
  int64_t key_heads_;
  Tensor query_;  // [tokens, N, D]
};

}  // namespace

MP_KERNEL(AtbAttention, const Tensor& query, const Tensor& key, const OptTensor& value, const OptTensor& query_rope,
          const OptTensor& key_rope, const OptTensor& table, IntArrayRef query_lengths, IntArrayRef key_lengths,
          const OptTensor& mask, const OptTensor& key_scale, const OptTensor& key_offset, const OptTensor& value_scale,
          const OptTensor& value_offset, const OptTensor& prev_out, const OptTensor& prev_lse, int64_t mask_mode,
          double mask_factor, int64_t window, int64_t heads, int64_t key_heads, int64_t value_size, bool fractal,
          double scale, Tensor& out, Tensor* lse) {
  const BoostArguments arguments{query,         key,         value,      query_rope, key_rope,    table,
                                 query_lengths, key_lengths, mask,       key_scale,  key_offset,  value_scale,
                                 value_offset,  prev_out,    prev_lse,   mask_mode,  mask_factor, window,
                                 heads,         key_heads,   value_size, fractal,    scale};
  BoostAttention(arguments).Run(out, lse);
}

}  // namespace millpond::kernels

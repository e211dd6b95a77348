// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/infer_attention.h"

#include <optional>
#include <string>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

bool Given(const OptTensor& tensor) { return tensor && tensor->numel() != 0; }

class Inference {
 public:
  explicit Inference(const InferArguments& given) : given_(given), heads_(given.heads), key_heads_(given.key_heads) {
    const std::string layout = UpperCase(given.layout);
    const size_t dash = layout.find('_');
    layout_ = layout.substr(0, dash);
    out_layout_ = dash == std::string::npos ? layout_ : layout.substr(dash + 1);
    if (key_heads_ == 0) key_heads_ = heads_;
    query_ = AsBnsd(given.query, layout_, heads_);
    if (Given(given.query_rope)) {
      TORCH_CHECK(Given(given.key_rope), "queryRope is given without keyRope");
      query_ = at::cat({query_, AsBnsd(*given.query_rope, layout_, heads_)}, -1);
    }
    TORCH_CHECK(!given.key.empty() && given.key.size() == given.value.size(), "there are ", given.key.size(),
                " key tensors and ", given.value.size(), " value tensors");
    for (const Tensor& tensor : given.key) {
      TORCH_CHECK(at::isFloatingType(tensor.scalar_type()) && at::isFloatingType(given.query.scalar_type()),
                  "query is ", given.query.scalar_type(), " and key ", tensor.scalar_type(),
                  "; quantised attention is not supported, pass float16, bfloat16 or float32");
    }
    if (paged()) {
      TORCH_CHECK(given.block_table->dim() == 2 && given.block_size > 0,
                  "pages need a block table of two dimensions "
                  "and a block size; they are ",
                  given.block_table->sizes(), " and ", given.block_size);
      TORCH_CHECK(given.key_lengths && !given.key_lengths->empty(), "pages need the lengths of the keys");
      TORCH_CHECK(given.key.size() == 1, "pages stand in one tensor, there are ", given.key.size());
    }
    if (packed()) {
      TORCH_CHECK(given.query_lengths && !given.query_lengths->empty() && given.key_lengths &&
                      given.key_lengths->size() >= given.query_lengths->size(),
                  "the layout ", layout_, " needs the lengths of queries and keys");
    }
  }

  void Run(Tensor& out, Tensor* lse) {
    Tensor result = AsBnsd(out, out_layout_, heads_);
    result.zero_();
    Tensor logs = lse == nullptr ? Tensor() : LseView(*lse);
    if (logs.defined()) logs.fill_(std::numeric_limits<double>::infinity());
    const auto store = [&](const AttentionResult& attended, int64_t batch, int64_t batches, const Span& rows) {
      const auto part = [&](const Tensor& x) { return x.narrow(0, batch, batches).narrow(2, rows.start, rows.length); };
      Tensor target = part(result);
      Write(target, attended.out);
      if (logs.defined()) part(logs).copy_(LogSumExp(attended));
    };
    if (Uniform()) {
      Attention attention =
          Common(query_, AsBnsd(Keys(0), layout_, key_heads_), AsBnsd(given_.value[0], layout_, key_heads_));
      Complete(&attention, std::nullopt, {0, query_.size(2)}, {0, attention.key.size(2)}, 0);
      store(Attend(attention), 0, query_.size(0), {0, query_.size(2)});
      return;
    }
    for (int64_t batch = 0; batch < Batches(); ++batch) {
      const Span rows = QueryRows(batch);
      if (rows.length == 0) continue;
      const int64_t place = packed() ? 0 : batch;
      const Tensor query = query_.narrow(0, place, 1).narrow(2, rows.start, rows.length);
      const Span keys = KeyRows(batch);
      Attention attention = Common(query, KeysOf(batch, keys), ValuesOf(batch, keys));
      const Span own = packed() ? Span{0, rows.length} : rows;
      const Span seen{packed() || paged() ? 0 : keys.start, attention.key.size(2)};
      Complete(&attention, batch, own, seen, batch);
      store(Attend(attention), place, 1, rows);
    }
  }

 private:
  bool packed() const { return IsTokenLayout(layout_); }
  bool paged() const { return Given(given_.block_table); }
  bool has_prefix() const { return Given(given_.key_prefix); }
  bool Uniform() const {
    return !packed() && !paged() && given_.key.size() == 1 && !has_prefix() && !HasLengths(QueryLengths()) &&
           !HasLengths(given_.key_lengths);
  }
  bool one_row() const { return !packed() && query_.size(2) == 1; }
  // A row alone has one length, whatever is given.
  OptIntArrayRef QueryLengths() const { return one_row() ? OptIntArrayRef() : given_.query_lengths; }
  static bool HasLengths(const OptIntArrayRef& lengths) { return lengths && !lengths->empty(); }
  int64_t Batches() const { return packed() ? static_cast<int64_t>(given_.query_lengths->size()) : query_.size(0); }

  Tensor LseView(Tensor& lse) const {
    if (lse.dim() == 4) return lse;
    TORCH_CHECK(lse.dim() == 3, "softmaxLse has shape ", lse.sizes(), "; it must be [B, N, S, 1] or [T, N, 1]");
    return lse.transpose(0, 1).unsqueeze(0);
  }

  static int64_t LengthOf(const OptIntArrayRef& lengths, int64_t batch, int64_t otherwise) {
    if (!HasLengths(lengths)) return otherwise;
    if (lengths->size() == 1) return (*lengths)[0];
    TORCH_CHECK(static_cast<size_t>(batch) < lengths->size(), "there are ", lengths->size(),
                " lengths, none for batch ", batch);
    return (*lengths)[static_cast<size_t>(batch)];
  }

  // Where the valid part of a padded sequence stands: in front, or `padding` before the end.
  static Span Padded(const OptIntArrayRef& lengths, const OptTensor& padding, int64_t batch, int64_t room) {
    const int64_t length = LengthOf(lengths, batch, room);
    TORCH_CHECK(length >= 0 && length <= room, "the length of batch ", batch, " is ", length, "; it must be 0 to ",
                room);
    if (!Given(padding) || !HasLengths(lengths)) return {0, length};
    const int64_t start = room - std::max<int64_t>(0, padding->reshape({-1})[0].item<int64_t>()) - length;
    return start >= 0 ? Span{start, length} : Span{};  // no room is no tokens
  }

  Span QueryRows(int64_t batch) const {
    if (packed()) return SpanOf(*given_.query_lengths, static_cast<size_t>(batch));
    return Padded(QueryLengths(), given_.query_padding, batch, query_.size(2));
  }
  Span KeyRows(int64_t batch) const {
    if (paged()) return {0, LengthOf(given_.key_lengths, batch, 0)};
    if (packed()) return SpanOf(*given_.key_lengths, static_cast<size_t>(batch));
    const Tensor& key = given_.key[given_.key.size() == 1 ? 0 : static_cast<size_t>(batch)];
    return Padded(given_.key_lengths, given_.key_padding, batch, AsBnsd(key, layout_, key_heads_).size(2));
  }

  Tensor Keys(size_t number) const {
    const Tensor& key = given_.key[number];
    if (!Given(given_.key_rope)) return key;
    if (layout_ != "BSH") return at::cat({key, *given_.key_rope}, -1);
    const auto split = [&](const Tensor& x) { return x.unflatten(2, {key_heads_, x.size(2) / key_heads_}); };
    return at::cat({split(key), split(*given_.key_rope)}, -1).flatten(2);
  }

  // [1, N, S, D] of one batch.
  Tensor Sequence(const TensorList& tensors, const Tensor& whole, int64_t batch, const Span& keys) const {
    if (paged()) return FromPages(whole, batch, keys.length);
    if (tensors.size() > 1) {
      TORCH_CHECK(static_cast<size_t>(batch) < tensors.size(), "there is no key tensor for batch ", batch);
      return AsBnsd(tensors[static_cast<size_t>(batch)], layout_, key_heads_).narrow(2, keys.start, keys.length);
    }
    const Tensor view = AsBnsd(whole, layout_, key_heads_);
    return view.narrow(0, packed() ? 0 : batch, 1).narrow(2, keys.start, keys.length);
  }

  Tensor KeysOf(int64_t batch, const Span& keys) const {
    Tensor key = Sequence(given_.key, given_.key[0], batch, keys);
    if (Given(given_.key_rope)) key = at::cat({key, Sequence({}, *given_.key_rope, batch, keys)}, -1);
    return WithPrefix(key, given_.key_prefix);
  }
  Tensor ValuesOf(int64_t batch, const Span& keys) const {
    return WithPrefix(Sequence(given_.value, given_.value[0], batch, keys), given_.value_prefix);
  }

  Tensor WithPrefix(const Tensor& own, const OptTensor& prefix) const {
    if (!Given(prefix)) return own;
    const Tensor shared = AsBnsd(*prefix, layout_, key_heads_);
    return at::cat({shared.narrow(2, 0, LengthOf(given_.prefix_length, 0, shared.size(2))), own}, 2);
  }

  // Pages are [blocks, size, N * D], [blocks, N, size, D] or [blocks, N, D / 16, size, 16].
  Tensor FromPages(const Tensor& cache, int64_t batch, int64_t length) const {
    const int64_t size = given_.block_size;
    const int64_t count = (length + size - 1) / size;
    const Tensor& table = *given_.block_table;
    TORCH_CHECK(batch < table.size(0) && count <= table.size(1), "the block table ", table.sizes(), " does not reach ",
                count, " blocks of batch ", batch);
    const Tensor pages = cache.index_select(0, Long(table.select(0, batch).narrow(0, 0, count)));
    Tensor tokens;  // [blocks, size, N, D]
    if (pages.dim() == 3) {
      TORCH_CHECK(pages.size(1) == size && pages.size(2) % key_heads_ == 0, "the cache ", cache.sizes(),
                  " is not made of blocks of ", size, " tokens with ", key_heads_, " heads");
      tokens = pages.unflatten(2, {key_heads_, pages.size(2) / key_heads_});
    } else if (pages.dim() == 4) {
      TORCH_CHECK(pages.size(1) == key_heads_ && pages.size(2) == size, "the cache ", cache.sizes(),
                  " is not [blocks, ", key_heads_, " heads, ", size, " tokens, head size]");
      tokens = pages.transpose(1, 2);
    } else {
      TORCH_CHECK(pages.dim() == 5 && pages.size(1) == key_heads_ && pages.size(3) == size, "the cache ", cache.sizes(),
                  " is not [blocks, ", key_heads_, " heads, head size / 16, ", size, " tokens, 16]");
      tokens = pages.permute({0, 3, 1, 2, 4}).flatten(3);
    }
    return tokens.reshape({count * size, key_heads_, tokens.size(3)}).narrow(0, 0, length).transpose(0, 1).unsqueeze(0);
  }

  Attention Common(const Tensor& query, const Tensor& key, const Tensor& value) const {
    Attention attention;
    attention.query = query;
    attention.key = key;
    attention.value = value;
    attention.scale = given_.scale;
    if (Given(given_.sink)) attention.sink = *given_.sink;
    return attention;
  }

  // A part of a tensor that has the scores' rows and columns, for one batch or for all.
  static Tensor Window(Tensor tensor, const char* name, std::optional<int64_t> batch, const Span& rows,
                       const Span& keys) {
    if (batch && tensor.dim() > 2 && tensor.size(0) != 1) tensor = tensor.narrow(0, *batch, 1);
    const bool each_row = tensor.size(-2) != 1;
    TORCH_CHECK(
        (!each_row || tensor.size(-2) >= rows.start + rows.length) && tensor.size(-1) >= keys.start + keys.length, name,
        " ", tensor.sizes(), " is smaller than the scores, ", rows.start + rows.length, " by ",
        keys.start + keys.length);
    if (each_row) tensor = tensor.narrow(-2, rows.start, rows.length);
    return tensor.narrow(-1, keys.start, keys.length);
  }

  void Complete(Attention* attention, std::optional<int64_t> batch, const Span& rows, const Span& keys,
                int64_t number) const {
    if (Given(given_.bias)) {
      TORCH_CHECK(given_.bias->dim() == 4, "pseShift has shape ", given_.bias->sizes(), "; it must have 4 dimensions");
      attention->bias = Window(*given_.bias, "pseShift", batch, rows, keys);
    }
    if (!Given(given_.mask)) return;
    SparseRule rule = given_.sparse;
    TORCH_CHECK(rule.mode >= 0 && rule.mode <= 4, "sparseMode is ", rule.mode, "; supported are 0 to 4");
    // One new token sees all that came before it; the device does not look at the mode then, but for latent attention.
    const bool decoding =
        one_row() && !Given(given_.query_rope) && attention->query.size(3) == attention->value.size(3);
    if (decoding && rule.mode >= 2) return;
    if (decoding) rule = {1, 0, 0};
    Tensor mask = given_.mask->scalar_type() == at::kBool ? *given_.mask : given_.mask->ne(0);
    if (rule.mode <= 1) {
      TORCH_CHECK(mask.dim() >= 2 && mask.dim() <= 4, "attenMask has shape ", mask.sizes(),
                  "; it must have 2 to 4 dimensions");
      if (decoding && mask.dim() == 2) mask = mask.unsqueeze(1);  // [B, Skv]
      if (mask.dim() == 3) mask = mask.unsqueeze(1);
      mask = Window(mask, "attenMask", mask.dim() > 2 && batch ? std::optional(number) : std::nullopt, rows, keys);
    }
    attention->visible = VisibleBy(rule, mask, attention->query.size(2), attention->key.size(2), 0);
  }

  const InferArguments& given_;
  std::string layout_, out_layout_;
  int64_t heads_, key_heads_;
  Tensor query_;
};

}  // namespace

void InferAttention(const InferArguments& arguments, Tensor& out, Tensor* lse) { Inference(arguments).Run(out, lse); }

}  // namespace millpond::kernels

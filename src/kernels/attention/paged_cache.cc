// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/paged_cache.h"

#include <algorithm>
#include <string>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kFractalBytes = 32;

int64_t FractalWidth(const Tensor& cache) { return kFractalBytes / static_cast<int64_t>(cache.element_size()); }

struct Places {
  Tensor block, place;
};
Places PlacesOf(const Tensor& cache_view, const Tensor& slots) {
  const int64_t size = cache_view.size(1);
  const Tensor block = slots.div(size, "floor");
  return {block, slots - block * size};
}

void CheckSlots(const Tensor& cache_view, const Tensor& slots) {
  if (slots.numel() == 0) return;
  const int64_t room = cache_view.size(0) * cache_view.size(1);
  TORCH_CHECK(slots.max().item<int64_t>() < room, "slot ", slots.max().item<int64_t>(), " is outside the cache of ",
              room, " tokens");
}

void Scatter(Tensor& cache, const Tensor& tokens, const Tensor& slots, string_view cache_mode,
             string_view scatter_mode) {
  TORCH_CHECK(scatter_mode.empty() || scatter_mode == "None" || scatter_mode == "Nct" || scatter_mode == "NHSD",
              "scatterMode is '", std::string(scatter_mode), "'; supported are None, Nct and NHSD");
  if (cache.numel() == 0 || tokens.numel() == 0) return;
  TORCH_CHECK(tokens.dim() == 3, "the tokens have shape ", tokens.sizes(), "; it must be [tokens, heads, head size]");
  if (cache_mode == "PA_NZ") {
    TORCH_CHECK(cache.dim() >= 4, "a cache in PA_NZ has 4 or 5 dimensions, not shape ", cache.sizes());
    PutTokens(ByFractal(cache, cache.size(-2)), tokens, slots);
    return;
  }
  TORCH_CHECK(cache_mode.empty() || cache_mode == "Norm", "cacheMode is '", std::string(cache_mode),
              "'; supported are Norm and PA_NZ");
  if (scatter_mode == "NHSD") {
    TORCH_CHECK(cache.dim() == 4, "with NHSD the cache has 4 dimensions, not shape ", cache.sizes());
    PutTokens(cache.transpose(1, 2), tokens, slots);
    return;
  }
  PutTokens(ByToken(cache), tokens, slots);
}

void RefuseCompression(const OptTensor& lengths, const OptTensor& offsets, const OptTensor& sequences) {
  TORCH_CHECK(!lengths && !offsets && !sequences,
              "compressed caches (compressLens, compressSeqOffset, seqLens) are not supported");
}

}  // namespace

Tensor ByToken(const Tensor& cache) {
  TORCH_CHECK(cache.dim() >= 3, "a cache by token has shape [blocks, block size, ...], not ", cache.sizes());
  return cache;
}

Tensor ByFractal(const Tensor& cache, int64_t block_size) {
  TORCH_CHECK(cache.is_contiguous(), "a cache in fractals must be contiguous");
  const int64_t width = FractalWidth(cache);
  const int64_t token = cache.size(0) == 0 ? 0 : cache.numel() / cache.size(0) / block_size;
  TORCH_CHECK(token % width == 0, "a token of ", token, " elements is not made of pieces of ", kFractalBytes, " bytes");
  return cache.view({cache.size(0), token / width, block_size, width}).transpose(1, 2);
}

void PutTokens(const Tensor& cache_view, const Tensor& tokens, const Tensor& slots) {
  Tensor target = Long(slots).reshape({-1});
  std::vector<int64_t> shape{target.numel()};
  for (int64_t i = 2; i < cache_view.dim(); ++i) shape.push_back(cache_view.size(i));
  Tensor values = tokens.reshape(shape);
  const Tensor wanted = target.ge(0);
  if (!wanted.all().item<bool>()) {
    const Tensor kept = wanted.nonzero().squeeze(1);
    target = target.index_select(0, kept);
    values = values.index_select(0, kept);
  }
  CheckSlots(cache_view, target);
  const Places places = PlacesOf(cache_view, target);
  Tensor cache = cache_view;
  cache.index_put_({places.block, places.place}, values.to(cache.scalar_type()));
}

Tensor TakeTokens(const Tensor& cache_view, const Tensor& slots) {
  const Tensor source = Long(slots).reshape({-1});
  CheckSlots(cache_view, source);
  const Places places = PlacesOf(cache_view, source);
  return cache_view.index({places.block, places.place}).reshape({source.numel(), -1});
}

MP_KERNEL(aclnnScatterPaKvCache, const Tensor& key, Tensor& key_cache, const Tensor& slots, const OptTensor& value,
          Tensor* value_cache, const OptTensor& compress_lengths, const OptTensor& compress_offsets,
          const OptTensor& sequence_lengths, string_view cache_mode, string_view scatter_mode) {
  RefuseCompression(compress_lengths, compress_offsets, sequence_lengths);
  Scatter(key_cache, key, slots, cache_mode, scatter_mode);
  TORCH_CHECK(!value || value->numel() == 0 || value_cache != nullptr, "value is given and valueCacheRef is NULL");
  if (value && value_cache != nullptr) Scatter(*value_cache, *value, slots, cache_mode, scatter_mode);
}

MP_KERNEL(aclnnGatherPaKvCache, const Tensor& key_cache, const Tensor& value_cache, const Tensor& block_tables,
          const Tensor& lengths, Tensor& key, Tensor& value, const OptTensor& offsets, string_view cache_mode,
          bool cumulative) {
  const bool fractal = cache_mode == "PA_NZ";
  TORCH_CHECK(fractal || cache_mode.empty() || cache_mode == "Norm", "cacheMode is '", std::string(cache_mode),
              "'; supported are Norm and PA_NZ");
  const int64_t size = fractal ? key_cache.size(-2) : key_cache.size(1);
  Tensor each = Long(lengths).reshape({-1});
  if (cumulative)
    each = each.numel() == block_tables.size(0) ? each.diff(1, 0, at::zeros({1}, at::kLong)) : each.diff();
  TORCH_CHECK(each.numel() == block_tables.size(0), "there are ", each.numel(), " lengths for ", block_tables.size(0),
              " rows of the block table");
  const Tensor tables = Long(block_tables);
  // An offset skips whole blocks.
  const Tensor skipped = offsets ? Long(*offsets).reshape({-1}).div(size, "floor") : at::zeros_like(each);
  TORCH_CHECK(skipped.numel() == each.numel(), "there are ", skipped.numel(), " offsets for ", each.numel(),
              " lengths");
  std::vector<Tensor> slots{at::empty({0}, at::kLong)};
  for (int64_t batch = 0; batch < each.numel(); ++batch) {
    const Tensor position = at::arange(each[batch].item<int64_t>(), at::kLong) + skipped[batch] * size;
    const Tensor block = position.div(size, "floor");
    slots.push_back(tables.select(0, batch).index_select(0, block) * size + (position - block * size));
  }
  const Tensor source = at::cat(slots);
  const auto take = [&](const Tensor& cache, Tensor& out) {
    WriteElements(out, TakeTokens(fractal ? ByFractal(cache, size) : ByToken(cache), source));
  };
  take(key_cache, key);
  take(value_cache, value);
}

}  // namespace millpond::kernels

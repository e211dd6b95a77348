// SPDX-License-Identifier: Apache-2.0
// A cache in which each head of each sequence keeps a part of its keys, one behind the other from a slot of its own.
#include "src/kernels/attention/paged_cache.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// What stays of a head's keys [tokens, size]: with an offset the `length` tokens there become their mean, without one
// the last `length` stay.
Tensor Kept(const Tensor& keys, int64_t tokens, int64_t length, std::optional<int64_t> offset) {
  const int64_t first = offset.value_or(tokens - length);
  TORCH_CHECK(tokens <= keys.size(0) && first >= 0 && length >= (offset ? 1 : 0) && first + length <= tokens,
              "a sequence of ", tokens, " tokens in room for ", keys.size(0), " has no ", length, " from ", first);
  const Tensor part = keys.narrow(0, first, length);
  if (!offset) return part;
  const Tensor mean = part.to(at::kFloat).mean(0, /*keepdim=*/true).to(keys.scalar_type());
  return at::cat({keys.narrow(0, 0, first), mean, keys.narrow(0, first + length, tokens - first - length)});
}

Tensor ForEachHead(const Tensor& numbers, const Tensor& key, const char* name) {
  TORCH_CHECK(numbers.numel() == key.size(0) * key.size(2), name, " has ", numbers.numel(), " elements for ",
              key.size(0), " sequences of ", key.size(2), " heads");
  return Long(numbers).reshape({key.size(0), key.size(2)}).contiguous();
}

// key: [batch, tokens, heads, size]
void PutCompressed(Tensor& cache, const Tensor& key, const Tensor& slots, const Tensor& lengths,
                   const OptTensor& offsets, const Tensor& sequences) {
  TORCH_CHECK(cache.is_contiguous() && cache.dim() == 4 && cache.size(2) == 1 && cache.size(3) == key.size(3),
              "keyCacheRef has shape ", cache.sizes(), "; it must be [blocks, block size, 1, ", key.size(3), "]");
  TORCH_CHECK(sequences.numel() == key.size(0), "seqLens has ", sequences.numel(), " elements for ", key.size(0),
              " sequences");
  const Tensor slot = ForEachHead(slots, key, "slotMapping");
  const Tensor length = ForEachHead(lengths, key, "compressLens");
  const Tensor offset = offsets ? ForEachHead(*offsets, key, "compressSeqOffset") : Tensor();
  const Tensor tokens = Long(sequences).reshape({-1}).contiguous();
  const Tensor rows = cache.view({-1, cache.size(3)});
  const auto at = [](const Tensor& numbers, int64_t i) { return numbers.const_data_ptr<int64_t>()[i]; };
  for (int64_t i = 0; i < slot.numel(); ++i) {
    const int64_t batch = i / key.size(2);
    const Tensor kept = Kept(key.select(0, batch).select(1, i % key.size(2)), at(tokens, batch), at(length, i),
                             offsets ? std::optional(at(offset, i)) : std::nullopt);
    TORCH_CHECK(at(slot, i) >= 0 && at(slot, i) + kept.size(0) <= rows.size(0), kept.size(0), " tokens from slot ",
                at(slot, i), " are outside the cache of ", rows.size(0));
    rows.narrow(0, at(slot, i), kept.size(0)).copy_(kept);
  }
}

}  // namespace

MP_KERNEL(aclnnScatterPaCache, const Tensor& key, Tensor& key_cache, const Tensor& slots, const OptTensor& lengths,
          const OptTensor& offsets, const OptTensor& sequences) {
  if (key.numel() == 0 || key_cache.numel() == 0) return;
  if (key.dim() == 4) {
    TORCH_CHECK(lengths && sequences, "a key of four dimensions needs compressLens and seqLens");
    return PutCompressed(key_cache, key, slots, *lengths, offsets, *sequences);
  }
  TORCH_CHECK(key.dim() == 3 && !lengths && !offsets && !sequences, "key has shape ", key.sizes(),
              "; it must be [tokens, heads, size], or have four dimensions with compressLens and seqLens");
  PutTokens(ByToken(key_cache), key, slots);
}

}  // namespace millpond::kernels

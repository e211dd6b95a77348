// SPDX-License-Identifier: Apache-2.0
// Normalise, turn, and file in a cache: the front of a latent key-value vector is normalised, its end is turned by its
// position, and both go to caches of their own.
#include "src/kernels/attention/rotary_cache.h"

#include <string>

#include "src/kernels/attention/paged_cache.h"
#include "src/kernels/attention/rotary.h"
#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

void FileInCache(Tensor& cache, const Tensor& x, const Tensor& index, string_view mode) {
  const int64_t batches = x.size(0);
  const int64_t length = x.size(2);
  const Tensor where = Long(index);
  if (mode.empty() || mode == "Norm") {
    const Tensor rows = where.reshape({batches, length});
    const Tensor tokens = x.transpose(1, 2);  // [B, S, N, D]
    for (int64_t batch = 0; batch < batches; ++batch) {
      // One batch of a cache is a block of its own.
      PutTokens(cache.narrow(0, batch, 1).transpose(1, 2), tokens[batch], rows[batch]);
    }
    return;
  }
  const int64_t size = cache.size(1);
  Tensor slots = where.reshape({-1});
  if (mode == "PA_BLK_BNSD" || mode == "PA_BLK_NZ") {
    const int64_t blocks = (length + size - 1) / size;
    const Tensor starts = slots.reshape({batches, blocks, 1});
    const Tensor places = at::arange(size, at::kLong);
    slots = at::where(starts.ge(0), starts.div(size, "floor") * size + places, -1).flatten(1).narrow(1, 0, length);
  } else {
    TORCH_CHECK(mode == "PA" || mode == "PA_BNSD" || mode == "PA_NZ", "cacheMode is '", std::string(mode),
                "'; supported are Norm, PA, PA_BNSD, PA_NZ, PA_BLK_BNSD and PA_BLK_NZ");
  }
  const bool fractal = mode == "PA_NZ" || mode == "PA_BLK_NZ";
  const Tensor tokens = x.transpose(1, 2).flatten(0, 1);
  PutTokens(fractal ? ByFractal(cache, size) : ByToken(cache), tokens, slots);
}

namespace {

Tensor Quantized(const Tensor& x, const OptTensor& scale, const OptTensor& offset, ScalarType type) {
  TORCH_CHECK(scale || !offset, "a quantised cache has an offset and no scale");
  TORCH_CHECK(scale || (type != at::kChar), "an int8 cache without its scale is not supported");
  if (!scale) return x;
  TORCH_CHECK(type == at::kChar, "the cache is ", type, "; quantised caches are supported as int8");
  // [D] or [N, D] against [B, N, S, D].
  const auto along = [](const Tensor& t) { return t.dim() == 2 ? t.to(at::kFloat).unsqueeze(1) : t.to(at::kFloat); };
  Tensor value = x.mul(along(*scale));
  if (offset) value.add_(along(*offset));
  return value.round_().clamp_(-128, 127);
}

struct CacheScales {
  const OptTensor& key_scale;
  const OptTensor& value_scale;
  const OptTensor& key_offset;
  const OptTensor& value_offset;
};

void NormRopeCache(const Tensor& kv, const Tensor& gamma, const Tensor& cos, const Tensor& sin, const Tensor& index,
                   Tensor& key_cache, Tensor& value_cache, const CacheScales& scales, const OptTensor& v,
                   double epsilon, string_view mode, bool output, Tensor* key_out, Tensor* value_out) {
  TORCH_CHECK(kv.dim() == 4, "kv has shape ", kv.sizes(), "; it must be [B, N, S, D]");
  const int64_t normal = gamma.size(-1);
  const Tensor wide = kv.to(at::kFloat);
  const Tensor normed = RmsNorm(wide.narrow(3, 0, normal), gamma.to(at::kFloat), epsilon).y;
  Tensor key;
  Tensor value;
  if (v) {  // the front of the normalised vector is turned; the values stand by themselves
    const int64_t turned = cos.size(-1);
    key = at::cat({Rotary(normed.narrow(3, 0, turned), cos, sin, RotaryMode::kInterleaveHalf),
                   normed.narrow(3, turned, normal - turned)},
                  -1);
    value = v->to(at::kFloat);
  } else {
    key = Rotary(wide.narrow(3, normal, kv.size(3) - normal), cos, sin, RotaryMode::kInterleaveHalf);
    value = normed;
  }
  FileInCache(key_cache, Quantized(key, scales.key_scale, scales.key_offset, key_cache.scalar_type()), index, mode);
  FileInCache(value_cache, Quantized(value, scales.value_scale, scales.value_offset, value_cache.scalar_type()), index,
              mode);
  if (!output) return;
  TORCH_CHECK(key_out != nullptr && value_out != nullptr, "isOutputKv is true; kRopeOut or cKvOut is NULL");
  Write(*key_out, key);
  Write(*value_out, value);
}

}  // namespace

MP_KERNEL(aclnnKvRmsNormRopeCacheV2, const Tensor& kv, const Tensor& gamma, const Tensor& cos, const Tensor& sin,
          const Tensor& index, Tensor& key_cache, Tensor& value_cache, const OptTensor& key_scale,
          const OptTensor& value_scale, const OptTensor& key_offset, const OptTensor& value_offset, const OptTensor& v,
          double epsilon, string_view mode, bool output, Tensor* key_out, Tensor* value_out) {
  NormRopeCache(kv, gamma, cos, sin, index, key_cache, value_cache, {key_scale, value_scale, key_offset, value_offset},
                v, epsilon, mode, output, key_out, value_out);
}

// Queries, keys and values side by side in each row: the first two are normalised and turned, keys and values filed.
MP_KERNEL(aclnnQkvRmsNormRopeCache, const Tensor& qkv, const Tensor& query_gamma, const Tensor& key_gamma,
          const Tensor& cos, const Tensor& sin, const Tensor& index, Tensor& query_out, Tensor& key_cache,
          Tensor& value_cache, const OptTensor& key_scale, const OptTensor& value_scale, const OptTensor& key_offset,
          const OptTensor& value_offset, IntArrayRef sizes, IntArrayRef heads, double epsilon, string_view mode,
          Tensor* query_plain, Tensor* key_plain, Tensor* value_plain) {
  TORCH_CHECK(sizes.size() == 4 && heads.size() == 3 && heads[1] == heads[2] &&
                  heads[0] + heads[1] + heads[2] == sizes[2] && qkv.dim() == 2 && qkv.size(0) == sizes[0] * sizes[1] &&
                  qkv.size(1) == sizes[2] * sizes[3],
              "qkv of shape ", qkv.sizes(), ", qkvSize ", sizes, " and headNums ", heads, " do not go together");
  TORCH_CHECK(mode == "PA_NZ" && key_cache.dim() == 4 && value_cache.dim() == 4, "cacheMode is '", std::string(mode),
              "' for caches of ", key_cache.dim(), " and ", value_cache.dim(),
              " dimensions; PA_NZ with four is supported, as on the device");
  const Tensor rows = qkv.to(at::kFloat).view({qkv.size(0), sizes[2], sizes[3]});
  const auto turned = [&](const Tensor& x, const Tensor& gamma) {
    const Tensor normed = RmsNorm(x, gamma.to(at::kFloat), epsilon).y;
    return Rotary(normed, cos.unsqueeze(1), sin.unsqueeze(1), RotaryMode::kHalf);
  };
  const Tensor query = turned(rows.narrow(1, 0, heads[0]), query_gamma);
  const Tensor key = turned(rows.narrow(1, heads[0], heads[1]), key_gamma);
  const Tensor value = rows.narrow(1, heads[0] + heads[1], heads[2]);
  const auto quantized = [](const Tensor& x, const OptTensor& scale, const OptTensor& offset, const Tensor& cache) {
    TORCH_CHECK((cache.scalar_type() == at::kChar) == scale.has_value(), "a cache is of type ", cache.scalar_type(),
                scale ? " beside a scale" : " without a scale", "; an INT8 cache has one, another has none");
    if (!scale) return x;
    Tensor steps = x / scale->to(at::kFloat);
    if (offset) steps = steps + offset->to(at::kFloat);
    return steps.round().clamp(-128, 127);
  };
  const auto file = [&](Tensor& cache, const Tensor& tokens) {
    PutTokens(ByFractal(cache, cache.size(2)), tokens, Long(index));
  };
  WriteElements(query_out, query);
  file(key_cache, quantized(key, key_scale, key_offset, key_cache));
  file(value_cache, quantized(value, value_scale, value_offset, value_cache));
  const auto told = [](Tensor* out, const Tensor& x) {
    if (out != nullptr && out->numel() != 0) WriteElements(*out, x);
  };
  told(query_plain, query);
  told(key_plain, key);
  told(value_plain, value);
}

// A row is queries, keys and values; whole numbers get their scales and the bias first.
MP_KERNEL(aclnnDequantRopeQuantKvcache, const Tensor& x, const Tensor& cos, const Tensor& sin, Tensor& key_cache,
          Tensor& value_cache, const Tensor& indices, const Tensor& key_scale, const Tensor& value_scale,
          const OptTensor& key_offset, const OptTensor& value_offset, const OptTensor& weight_scale,
          const OptTensor& activation_scale, const OptTensor& bias, IntArrayRef sizes, bool output, string_view mode,
          Tensor& query_out, Tensor* key_out, Tensor* value_out) {
  TORCH_CHECK((x.dim() == 2 || x.dim() == 3) && sizes.size() == 3 && sizes[1] == sizes[2] &&
                  sizes[0] + sizes[1] + sizes[2] == x.size(-1),
              "x of shape ", x.sizes(), " is not split by sizeSplits ", sizes);
  const int64_t batches = x.size(0), length = x.dim() == 3 ? x.size(1) : 1, size = cos.size(-1);
  Tensor rows = x.to(at::kFloat).reshape({batches * length, -1});
  if (x.scalar_type() == at::kInt) {
    TORCH_CHECK(weight_scale.has_value(), "weightScaleOptional is NULL beside x of type INT32");
    if (bias && bias->scalar_type() == at::kInt) rows = rows + bias->to(at::kFloat);
    rows = rows * weight_scale->to(at::kFloat);
    if (activation_scale) rows = rows * activation_scale->to(at::kFloat).reshape({-1, 1});
    if (bias && bias->scalar_type() != at::kInt) rows = rows + bias->to(at::kFloat);
  }
  const auto part = [&](int64_t from, int64_t count) { return rows.narrow(1, from, count).unflatten(1, {-1, size}); };
  const auto turned = [&](const Tensor& heads) {
    return Rotary(heads, cos.reshape({-1, 1, size}), sin.reshape({-1, 1, size}), RotaryMode::kHalf);
  };
  const Tensor query = turned(part(0, sizes[0])), key = turned(part(sizes[0], sizes[1]));
  const Tensor value = part(sizes[0] + sizes[1], sizes[2]);
  Tensor slots = Long(indices).reshape({-1});
  TORCH_CHECK(mode.empty() || mode == "contiguous" || mode == "page", "cacheModeOptional is '", std::string(mode),
              "'; contiguous and page are supported, as on the device");
  if (mode != "page") {  // each batch has a row of the cache, and is put there from its index on
    TORCH_CHECK(slots.numel() == batches && batches <= key_cache.size(0), "there are ", slots.numel(), " indices for ",
                batches, " batches and a cache of ", key_cache.size(0));
    if (batches != 0) CheckPlaces("indices", slots, std::max<int64_t>(key_cache.size(1) - length + 1, 0));
    slots = (slots + at::arange(batches, at::kLong) * key_cache.size(1)).unsqueeze(1) + at::arange(length, at::kLong);
  }
  const auto file = [&](Tensor& cache, const Tensor& tokens, const Tensor& scale, const OptTensor& offset) {
    Tensor steps = tokens * scale.to(at::kFloat);
    if (offset) steps = steps + offset->to(at::kFloat);
    PutTokens(ByToken(cache), steps.round().clamp(-128, 127), slots);
  };
  file(key_cache, key, key_scale, key_offset);
  file(value_cache, value, value_scale, value_offset);
  WriteElements(query_out, query);
  if (!output) return;
  TORCH_CHECK(key_out != nullptr && value_out != nullptr, "kvOutput is true; kOut or vOut is NULL");
  WriteElements(*key_out, key);
  WriteElements(*value_out, value);
}

}  // namespace millpond::kernels

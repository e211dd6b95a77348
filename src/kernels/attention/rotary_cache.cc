// SPDX-License-Identifier: Apache-2.0
// Normalise, turn, and file in a cache: the front of a latent key-value vector is normalised, its end is turned by its
// position, and both go to caches of their own.
#include <string>

#include "src/kernels/attention/paged_cache.h"
#include "src/kernels/attention/rotary.h"
#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
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

// `x` is [B, N, S, D].
void File(Tensor& cache, const Tensor& x, const Tensor& index, string_view mode) {
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
  File(key_cache, Quantized(key, scales.key_scale, scales.key_offset, key_cache.scalar_type()), index, mode);
  File(value_cache, Quantized(value, scales.value_scale, scales.value_offset, value_cache.scalar_type()), index, mode);
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

}  // namespace millpond::kernels

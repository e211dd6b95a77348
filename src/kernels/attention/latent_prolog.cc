// SPDX-License-Identifier: Apache-2.0
// What comes before attention over latent keys (MLA): a token becomes a narrow query and a latent key, both normalised;
// the query grows to all heads and is moved into the keys' space, and the parts that know positions are turned.
#include <string>

#include "src/kernels/attention/rotary.h"
#include "src/kernels/attention/rotary_cache.h"
#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Rows times a weight, in float; quantised ones have a scale for each row and each column.
Tensor Product(const Tensor& rows, const Tensor& weight, const OptTensor& row_scale, const OptTensor& column_scale) {
  const bool quantized = rows.element_size() == 1;
  TORCH_CHECK(quantized == (weight.element_size() == 1), "values of type ", rows.scalar_type(),
              " and a weight of type ", weight.scalar_type(), " do not go together");
  if (!quantized) return at::matmul(rows.to(at::kFloat), weight.to(at::kFloat));
  TORCH_CHECK(row_scale.has_value() && column_scale.has_value() && row_scale->scalar_type() == at::kFloat &&
                  column_scale->scalar_type() == at::kFloat && row_scale->numel() == rows.size(0) &&
                  column_scale->numel() == weight.size(1),
              "a quantised product needs a FLOAT scale for each of ", rows.size(0), " rows and ", weight.size(1),
              " columns; scales of blocks are not supported");
  const Tensor product = ExactGemm(rows, weight).to(at::kFloat);
  return product * row_scale->reshape({-1, 1}) * column_scale->reshape({1, -1});
}

struct Narrow {
  Tensor values;  // float, or quantised as the weight behind it wants
  OptTensor scale;
};

Narrow NarrowQuery(const Tensor& normed, const Tensor& weight, const OptTensor& smooth) {
  if (weight.element_size() != 1) return {normed, {}};
  const Tensor smoothed = smooth ? normed * smooth->to(at::kFloat).reshape({1, -1}) : normed;
  Tensor values = at::empty(normed.sizes(), weight.options());
  const Scaled scaled = ScaledToLargest(smoothed, {-1}, QuantizedMaximum(values));
  WriteQuantized(values, scaled.values);
  return {values, scaled.scale};
}

// `x` is [T, D]; T counts tokens, or batches of `length` each.
void FileLatent(Tensor& cache, const Tensor& x, const OptTensor& index, string_view mode, int64_t length, bool merged) {
  if (cache.numel() == 0 || x.numel() == 0) return;
  TORCH_CHECK(cache.is_floating_point() && cache.element_size() > 1, "a cache is of type ", cache.scalar_type(),
              "; caches that are quantised are not supported");
  if (mode == "BSND" || mode == "TND") {
    TORCH_CHECK(merged == (mode == "TND"), "cacheMode ", std::string(mode), " does not go with tokenX of ",
                merged ? 2 : 3, " dimensions");
    return WriteElements(cache, x);
  }
  TORCH_CHECK(index.has_value(), "cacheIndex is NULL; cacheMode ", std::string(mode), " needs it");
  const bool blocks = mode == "PA_BLK_BSND" || mode == "PA_BLK_NZ";
  TORCH_CHECK(!blocks || !merged, "cacheMode ", std::string(mode), " with tokens of all batches in one row is not ",
              "supported; give tokenX as [B, S, He]");
  TORCH_CHECK(blocks || mode.empty() || mode == "PA_BSND" || mode == "PA_NZ", "cacheMode is '", std::string(mode),
              "'; supported are PA_BSND, PA_NZ, PA_BLK_BSND, PA_BLK_NZ, BSND and TND");
  const string_view known = mode == "PA_BLK_BSND" ? "PA_BLK_BNSD" : mode.empty() || mode == "PA_BSND" ? "PA" : mode;
  FileInCache(cache, x.view({-1, length, x.size(-1)}).unsqueeze(1), *index, known);
}

}  // namespace

MP_KERNEL(LatentProlog, const Tensor& token, const Tensor& down_query, const Tensor& up_query, const Tensor& up_key,
          const Tensor& down_key, const Tensor& gamma_query, const Tensor& gamma_key, const Tensor& sin,
          const Tensor& cos, Tensor& key_cache, Tensor& rope_cache, const OptTensor& index,
          const OptTensor& scale_token, const OptTensor& scale_down_query, const OptTensor& scale_up_query,
          const OptTensor& scale_down_key, const OptTensor& smooth, double eps_query, double eps_key, string_view mode,
          double factor_query, double factor_key, Tensor& query_out, Tensor& rope_out, Tensor* norm_out,
          Tensor* norm_scale) {
  TORCH_CHECK(token.dim() == 2 || token.dim() == 3, "tokenX has shape ", token.sizes(), "; [T, He] or [B, S, He]");
  TORCH_CHECK(up_key.dim() == 3 && query_out.is_floating_point() && query_out.element_size() > 1, "weightUk has shape ",
              up_key.sizes(), " and queryOut type ", query_out.scalar_type(),
              "; [N, D, Hckv] and a type that is not quantised are supported");
  const bool merged = token.dim() == 2;
  const Tensor rows = token.reshape({-1, token.size(-1)});
  const int64_t heads = up_key.size(0), plain = up_key.size(1), latent = up_key.size(2), turned = cos.size(-1);
  TORCH_CHECK(up_query.size(1) == heads * (plain + turned) && down_key.size(1) == latent + turned, "weightUqQr ",
              up_query.sizes(), " and weightDkvKr ", down_key.sizes(), " do not go with ", heads, " heads of ", plain,
              " + ", turned, " and latent keys of ", latent);
  const auto normed = [](const Tensor& x, const Tensor& gamma, double eps, double factor) {
    return RmsNorm(x, gamma.to(at::kFloat), eps).y * factor;
  };
  const Tensor query =
      normed(Product(rows, down_query, scale_token, scale_down_query), gamma_query, eps_query, factor_query);
  const Narrow narrow = NarrowQuery(query, up_query, smooth);
  const Tensor all = Product(narrow.values, up_query, narrow.scale, scale_up_query).view({-1, heads, plain + turned});
  WriteElements(query_out, at::einsum("tnd,ndh->tnh", {all.narrow(2, 0, plain), up_key.to(at::kFloat)}));
  const Tensor angle_cos = cos.reshape({-1, turned}), angle_sin = sin.reshape({-1, turned});
  WriteElements(rope_out, Rotary(all.narrow(2, plain, turned), angle_cos.unsqueeze(1), angle_sin.unsqueeze(1),
                                 RotaryMode::kInterleaveHalf));
  const Tensor key = Product(rows, down_key, scale_token, scale_down_key);
  const int64_t length = merged ? 1 : token.size(1);
  FileLatent(key_cache, normed(key.narrow(1, 0, latent), gamma_key, eps_key, factor_key), index, mode, length, merged);
  FileLatent(rope_cache, Rotary(key.narrow(1, latent, turned), angle_cos, angle_sin, RotaryMode::kInterleaveHalf),
             index, mode, length, merged);
  if (norm_out != nullptr && norm_out->numel() != 0) WriteElements(*norm_out, narrow.values);
  if (norm_scale != nullptr && norm_scale->numel() != 0 && narrow.scale) WriteElements(*norm_scale, *narrow.scale);
}

}  // namespace millpond::kernels

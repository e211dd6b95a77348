// SPDX-License-Identifier: Apache-2.0
// Mixture of experts: tokens in the order of their experts, and back. Sums are made in float and rounded once.
#include "src/kernels/quant/mx_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

void CheckUnpadded(bool padded) {
  TORCH_CHECK(!padded, "paddedMode true is not supported, as on the device; pass false");
}

Tensor Ranks(int64_t count, int64_t each, const Tensor& like) {
  return at::arange(count, like.options().dtype(at::kLong)).floor_divide_(std::max<int64_t>(each, 1));
}

// rows[place[i]] with zeros where place[i] names no row: a dropped token has none.
Tensor RowsOrZero(const Tensor& rows, const Tensor& place) {
  const Tensor dropped = place.lt(0).logical_or_(place.ge(rows.size(0)));
  if (rows.size(0) == 0) return at::zeros({place.numel(), rows.size(1)}, rows.options());
  return rows.index_select(0, place.masked_fill(dropped, 0)).masked_fill_(dropped.unsqueeze(-1), 0);
}

// result[place[i]] += values[i] for places that exist.
Tensor SumAt(int64_t rows, const Tensor& place, const Tensor& values) {
  const Tensor kept = place.ge(0).logical_and_(place.lt(rows)).nonzero().squeeze(-1);
  return at::zeros({rows, values.size(1)}, values.options())
      .index_add_(0, place.index_select(0, kept), values.index_select(0, kept));
}

Tensor Flat(const Tensor& index) { return Long(index).reshape({-1}); }

// The chosen (expert, token) pairs' tokens, expert by expert.
Tensor TokensByExpert(const Tensor& map) { return map.to(at::kBool).t().nonzero().select(1, 1); }

Tensor ProbsByExpert(const Tensor& probs, const Tensor& map) { return probs.t().masked_select(map.to(at::kBool).t()); }

const Tensor& Needed(const OptTensor& tensor, const char* name) {
  TORCH_CHECK(tensor.has_value(), name, " is NULL; it is needed here");
  return *tensor;
}

// With rows of zeros up to `rows`.
Tensor WithZeros(const Tensor& x, int64_t rows) {
  if (x.size(0) == rows) return x;
  auto sizes = x.sizes().vec();
  sizes[0] = rows;
  Tensor result = at::zeros(sizes, x.options());
  result.narrow(0, 0, x.size(0)).copy_(x);
  return result;
}

// probs[token, expert] for each padded place.
Tensor PaddedProbs(const Tensor& probs, const Tensor& tokens) {
  const int64_t capacity = tokens.numel() / std::max<int64_t>(probs.size(1), 1);
  return probs.index({tokens, Ranks(tokens.numel(), capacity, tokens)});
}

}  // namespace

MP_KERNEL(aclnnMoeTokenPermuteV2, const Tensor& tokens, const Tensor& indices, bool padded, Tensor& permuted,
          Tensor& sorted_out, Tensor* scales) {
  CheckUnpadded(padded);
  const Tensor flat = Flat(indices);
  TORCH_CHECK(indices.dim() >= 1 && indices.dim() <= 2 && indices.size(0) == tokens.size(0), "indices has shape ",
              indices.sizes(), " for ", tokens.size(0), " tokens");
  const int64_t top_k = indices.dim() == 2 ? indices.size(1) : 1;
  const Tensor order = at::argsort(flat, /*stable=*/true, 0);
  TORCH_CHECK(permuted.size(0) <= order.numel(), "permuteTokensOut has ", permuted.size(0), " rows; there are ",
              order.numel(), " indices");
  const Tensor rows = tokens.index_select(0, order.narrow(0, 0, permuted.size(0)).floor_divide(top_k));
  if (at::isFloat8Type(permuted.scalar_type())) {
    TORCH_CHECK(scales != nullptr, "expandedScaleOut is NULL beside an output of type ", permuted.scalar_type());
    MxQuantAlong(rows, -1, /*algorithm=*/0, permuted, *scales);
  } else {
    // A token's own dimensions may be others in the output, of as many elements.
    WriteElements(permuted, rows);
  }
  Write(sorted_out, at::argsort(order, /*stable=*/true, 0));
}

MP_KERNEL(aclnnMoeTokenPermuteGrad, const Tensor& grad, const Tensor& sorted, int64_t top_k, bool padded, Tensor& out) {
  CheckUnpadded(padded);
  TORCH_CHECK(top_k > 0, "numTopk is ", top_k, "; it must be positive");
  const Tensor rows = RowsOrZero(grad.to(at::kFloat), Flat(sorted));
  Write(out, rows.view({-1, top_k, grad.size(1)}).sum(1));
}

MP_KERNEL(aclnnMoeTokenUnpermute, const Tensor& permuted, const Tensor& sorted, const OptTensor& probs, bool padded,
          Tensor& out) {
  CheckUnpadded(padded);
  const int64_t top_k = probs.has_value() ? probs->size(-1) : 1;
  Tensor rows = RowsOrZero(permuted.to(at::kFloat), Flat(sorted)).view({-1, top_k, permuted.size(1)});
  if (probs.has_value()) rows = rows.mul(probs->to(at::kFloat).reshape({-1, top_k, 1}));
  Write(out, rows.sum(1));
}

MP_KERNEL(aclnnMoeTokenUnpermuteGrad, const OptTensor& permuted, const Tensor& grad, const Tensor& sorted,
          const OptTensor& probs, bool padded, Tensor& permuted_grad, Tensor* probs_grad) {
  CheckUnpadded(padded);
  const Tensor place = Flat(sorted);
  const int64_t top_k = probs.has_value() ? probs->size(-1) : 1;
  const Tensor wide = grad.to(at::kFloat).unsqueeze(1);
  Tensor spread = wide.expand({-1, top_k, -1});
  if (probs.has_value()) {
    const Tensor rows =
        RowsOrZero(Needed(permuted, "permutedTokensOptional").to(at::kFloat), place).view({-1, top_k, grad.size(1)});
    Write(probs_grad, rows.mul(wide).sum(-1));
    spread = spread.mul(probs->to(at::kFloat).reshape({-1, top_k, 1}));
  }
  Write(permuted_grad, SumAt(permuted_grad.size(0), place, spread.reshape({place.numel(), grad.size(1)})));
}

MP_KERNEL(aclnnMoeTokenPermuteWithRoutingMap, const Tensor& tokens, const Tensor& routing_map, const OptTensor& probs,
          int64_t out_tokens, bool drop_and_pad, Tensor& permuted, Tensor* permuted_probs, Tensor& sorted_out) {
  const Tensor map = routing_map.to(at::kBool);
  const int64_t experts = map.size(1);
  TORCH_CHECK(out_tokens >= 0 && out_tokens <= map.numel(), "numOutTokens is ", out_tokens, " for a map of ",
              map.sizes());
  if (drop_and_pad) {
    const int64_t capacity = out_tokens / std::max<int64_t>(experts, 1);
    TORCH_CHECK(capacity <= map.size(0), "an expert's capacity is ", capacity, "; there are ", map.size(0), " tokens");
    const Tensor order = at::argsort(map.t().to(at::kByte), /*stable=*/true, 1, /*descending=*/true);
    const Tensor chosen = order.narrow(1, 0, capacity).reshape({-1});
    Write(permuted, tokens.index_select(0, chosen));
    if (probs.has_value()) Write(permuted_probs, PaddedProbs(*probs, chosen));
    Write(sorted_out, chosen);
    return;
  }
  const int64_t top_k = map.size(0) == 0 ? 0 : out_tokens / map.size(0);
  TORCH_CHECK(map.sum(1).le(top_k).all().item<bool>(), "a token has more experts than numOutTokens / tokens = ", top_k);
  const Tensor chosen = TokensByExpert(map);
  const int64_t places = map.size(0) * top_k;
  Write(permuted, WithZeros(tokens.index_select(0, chosen), places));
  if (probs.has_value()) Write(permuted_probs, WithZeros(ProbsByExpert(*probs, map), places));
  // Each token has top_k slots; those that it does not use hold -1.
  const Tensor place = at::argsort(chosen, /*stable=*/true, 0);
  const Tensor token = chosen.index_select(0, place);
  const Tensor count = map.sum(1);
  const Tensor first = count.cumsum(0).sub(count);
  const Tensor slot = token * top_k + at::arange(place.numel(), place.options()).sub(first.index_select(0, token));
  Write(sorted_out, at::full({places}, -1, place.options()).index_put_({slot}, place));
}

MP_KERNEL(aclnnMoeTokenPermuteWithRoutingMapGrad, const Tensor& grad, const OptTensor& permuted_probs_grad,
          const Tensor& sorted, const OptTensor& map, int64_t experts, int64_t tokens, bool drop_and_pad,
          Tensor& tokens_grad, Tensor* probs_grad) {
  const Tensor place = Flat(sorted);
  const Tensor wide = grad.to(at::kFloat);
  if (drop_and_pad) {
    Write(tokens_grad, SumAt(tokens, place, wide));
  } else {
    const int64_t top_k = tokens == 0 ? 1 : place.numel() / tokens;
    Write(tokens_grad, RowsOrZero(wide, place).view({tokens, top_k, grad.size(1)}).sum(1));
  }
  if (!permuted_probs_grad.has_value() || probs_grad == nullptr) return;
  const Tensor values = permuted_probs_grad->reshape({-1});
  Tensor result = at::zeros({tokens, experts}, values.options());
  if (drop_and_pad) {
    const int64_t capacity = grad.size(0) / std::max<int64_t>(experts, 1);
    result.index_put_({place, Ranks(place.numel(), capacity, place)}, values);
  } else {
    const Tensor chosen = Needed(map, "routingMapOptional").to(at::kBool).t();
    result = result.t().masked_scatter(chosen, values).t();
  }
  Write(probs_grad, result);
}

MP_KERNEL(aclnnMoeTokenUnpermuteWithRoutingMap, const Tensor& permuted, const Tensor& sorted, const OptTensor& map,
          const OptTensor& probs, bool padded, Tensor& out, Tensor& out_index, Tensor& token_id,
          Tensor* permuted_probs) {
  const Tensor place = Flat(sorted);
  Tensor rows = permuted.to(at::kFloat);
  if (probs.has_value()) {
    const Tensor weights = padded ? PaddedProbs(*probs, place)
                                  : WithZeros(ProbsByExpert(*probs, Needed(map, "routingMapOptional")), rows.size(0));
    if (permuted_probs != nullptr) WriteElements(*permuted_probs, weights);
    rows = rows.mul(weights.to(at::kFloat).unsqueeze(-1));
  }
  if (padded) {
    const auto [tokens, order] = at::sort(place, /*stable=*/true, 0, /*descending=*/false);
    Write(out, SumAt(out.size(0), place, rows));
    WriteElements(out_index, order);
    WriteElements(token_id, tokens);
    return;
  }
  const int64_t top_k = out.size(0) == 0 ? 1 : place.numel() / out.size(0);
  Write(out, RowsOrZero(rows, place).view({out.size(0), top_k, permuted.size(1)}).sum(1));
  WriteElements(out_index, place);
  WriteElements(token_id, Ranks(place.numel(), top_k, place));
}

MP_KERNEL(aclnnMoeTokenUnpermuteWithRoutingMapGrad, const Tensor& grad, const Tensor& out_index, const Tensor& token_id,
          const OptTensor& map, const OptTensor& permuted, const OptTensor& probs, bool drop_and_pad,
          Tensor& permuted_grad, Tensor* probs_grad) {
  const Tensor place = Flat(out_index);
  // Without padding clients pass the sorted indices twice: place i belongs to token i / topK.
  const int64_t top_k = grad.size(0) == 0 ? 1 : place.numel() / grad.size(0);
  const Tensor tokens = drop_and_pad ? Flat(token_id) : Ranks(place.numel(), top_k, place);
  const Tensor spread = SumAt(permuted_grad.size(0), place, grad.to(at::kFloat).index_select(0, tokens));
  if (!probs.has_value()) {
    Write(permuted_grad, spread);
    return;
  }
  const Tensor by_expert = spread.mul(Needed(permuted, "permutedTokensOptional").to(at::kFloat)).sum(-1);
  Tensor result = at::zeros(probs->sizes(), by_expert.options());
  Tensor weights;
  if (drop_and_pad) {
    const Tensor padded_tokens = at::empty_like(tokens).index_put_({place}, tokens);
    weights = PaddedProbs(*probs, padded_tokens);
    const int64_t capacity = place.numel() / std::max<int64_t>(probs->size(1), 1);
    result.index_put_({padded_tokens, Ranks(place.numel(), capacity, place)}, by_expert);
  } else {
    const Tensor& chosen = Needed(map, "routingMapOptional");
    weights = WithZeros(ProbsByExpert(*probs, chosen), spread.size(0));
    result = result.t().masked_scatter(chosen.to(at::kBool).t(), by_expert).t();
  }
  Write(probs_grad, result);
  Write(permuted_grad, spread.mul(weights.to(at::kFloat).unsqueeze(-1)));
}

}  // namespace millpond::kernels

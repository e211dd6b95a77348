// SPDX-License-Identifier: Apache-2.0
// Attention computed in parts over different keys, put together; and the split of a joint projection before attention.
#include <string>
#include <vector>

#include "src/kernels/attention/attention.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Where the query tokens of packed sequences end, from lengths that may start with a 0.
std::vector<int64_t> Ends(const Tensor& lengths) {
  const Tensor list = Long(lengths).reshape({-1}).contiguous();
  std::vector<int64_t> ends(list.const_data_ptr<int64_t>(), list.const_data_ptr<int64_t>() + list.numel());
  if (!ends.empty() && ends.front() == 0) ends.erase(ends.begin());
  return ends;
}

// Statistics [T, N, 8] whose sequences stand as [N, S, 8] each, ordered by token.
Tensor OrderedByToken(const Tensor& statistics, const OptTensor& lengths) {
  TORCH_CHECK(lengths, "packed sequences whose statistics stand sequence by sequence need actualSeqQlen");
  const std::vector<int64_t> ends = Ends(*lengths);
  Tensor ordered = statistics.clone();
  for (size_t i = 0; i < ends.size(); ++i) {
    const Span span = SpanOf(ends, i);
    const Tensor part = statistics.narrow(0, span.start, span.length).contiguous();
    ordered.narrow(0, span.start, span.length)
        .copy_(part.view({part.size(1), part.size(0), part.size(2)}).transpose(0, 1));
  }
  return ordered;
}

}  // namespace

MP_KERNEL(aclnnRingAttentionUpdateV2, const Tensor& prev_out, const Tensor& prev_max, const Tensor& prev_sum,
          const Tensor& cur_out, const Tensor& cur_max, const Tensor& cur_sum, const OptTensor& lengths,
          string_view layout_name, string_view softmax_layout, Tensor& out, Tensor& max_out, Tensor& sum_out) {
  const std::string layout = layout_name.empty() ? "SBH" : UpperCase(layout_name);
  TORCH_CHECK(layout == "SBH" || layout == "TND", "the layout is '", layout, "'; supported are SBH and TND");
  const std::string order = UpperCase(softmax_layout);
  TORCH_CHECK(layout == "SBH" || order.empty() || order == "SBH" || order == "TND", "inputSoftmaxLayout is '", order,
              "'; '', SBH and TND are known");
  TORCH_CHECK(layout == "SBH" || lengths, "TND needs actualSeqQlen, which is NULL");
  const Tensor max = at::maximum(prev_max, cur_max);
  const Tensor prev_part = (prev_max - max).exp_().mul_(prev_sum);
  const Tensor cur_part = (cur_max - max).exp_().mul_(cur_sum);
  const Tensor sum = prev_part + cur_part;
  const auto share = [&](const Tensor& part) {  // [B, N, S, 1], as the output's view
    const Tensor weight = part.div(sum);
    if (layout == "SBH") return weight.narrow(-1, 0, 1);
    const Tensor by_token = order == "TND" ? weight : OrderedByToken(weight, lengths);
    return by_token.narrow(-1, 0, 1).transpose(0, 1).unsqueeze(0);
  };
  const int64_t heads = layout == "SBH" ? prev_max.size(1) : prev_out.size(1);
  const auto view = [&](const Tensor& x) { return AsBnsd(x, layout, heads); };
  const Tensor joined =
      view(prev_out).to(at::kFloat).mul(share(prev_part)) + view(cur_out).to(at::kFloat).mul(share(cur_part));
  Tensor target = view(out);
  Write(target, joined);
  Write(max_out, max);
  Write(sum_out, sum);
}

MP_KERNEL(aclnnAttentionUpdate, TensorList lses, TensorList parts, int64_t update_type, Tensor& out, Tensor* lse_out) {
  TORCH_CHECK(!lses.empty() && lses.size() == parts.size(), "there are ", lses.size(), " lse for ", parts.size(),
              " parts of the output");
  TORCH_CHECK(update_type == 0 || update_type == 1, "updateType is ", update_type, "; 0 and 1 are known");
  TORCH_CHECK(update_type == 0 || lse_out != nullptr, "updateType 1 needs lseOut, which is NULL");
  const Tensor all = at::stack(lses).to(at::kFloat);
  const Tensor lse = at::logsumexp(all, 0);
  Tensor joined = at::zeros(out.sizes(), at::kFloat);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor weight = (all[static_cast<int64_t>(i)] - lse).exp_().nan_to_num_(0);
    joined.add_(parts[i].to(at::kFloat).mul(weight.unsqueeze(-1)));
  }
  Write(out, joined);
  if (update_type == 1) Write(*lse_out, lse);
}

MP_KERNEL(aclnnTransformBiasRescaleQkv, const Tensor& qkv, const Tensor& bias, int64_t heads, Tensor& q, Tensor& k,
          Tensor& v) {
  TORCH_CHECK(qkv.dim() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0, "qkv has shape ", qkv.sizes(),
              "; it must be [B, T, 3 * heads * head size] with ", heads, " heads");
  const int64_t size = qkv.size(2) / (3 * heads);
  const auto type = IsHalf(qkv.scalar_type()) ? at::kFloat : qkv.scalar_type();
  const Tensor sum = qkv.to(type) + bias.to(type);
  const Tensor split = sum.view({qkv.size(0), qkv.size(1), 3, heads, size}).permute({2, 0, 3, 1, 4});
  Write(q, split[0] / std::sqrt(static_cast<double>(size)));
  Write(k, split[1]);
  Write(v, split[2]);
}

}  // namespace millpond::kernels

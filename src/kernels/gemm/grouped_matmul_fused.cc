// SPDX-License-Identifier: Apache-2.0
// Feed-forward blocks of experts: a GEMM for each group of rows, with an epilogue.
#include "src/kernels/gemm/matmul.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor FfnActivation(const Tensor& value, string_view name) {
  if (name == "gelu") return at::gelu(value, "tanh");
  if (name == "fastgelu") return value.mul(value.mul(1.702).sigmoid());
  if (name == "relu") return value.relu();
  TORCH_CHECK(name == "silu", "activation '", std::string(name), "' is none of gelu, fastgelu, relu, silu");
  return at::silu(value);
}

OptTensor OfExpert(const OptTensor& tensor, int64_t expert, bool grouped) {
  const OptTensor given = Given(tensor);
  return given.has_value() && grouped ? OptTensor(given->select(0, expert)) : given;
}

struct Layer {
  const Tensor& weight;
  const OptTensor& bias;
  const OptTensor& dequant_scale;
  const OptTensor& antiquant_scale;
  const OptTensor& antiquant_offset;
};

Tensor LayerOutput(const Tensor& x, const Layer& layer, int64_t expert, bool grouped) {
  const Tensor weight = grouped ? layer.weight.select(0, expert) : layer.weight;
  const OptTensor bias = OfExpert(layer.bias, expert, grouped);
  const OptTensor antiquant = OfExpert(layer.antiquant_scale, expert, grouped);
  if (antiquant.has_value()) {
    const Tensor plain = PlainWeight(weight, x.size(-1));
    const Tensor value =
        at::matmul(x.to(at::kFloat), Dequantized(plain, *antiquant, OfExpert(layer.antiquant_offset, expert, grouped)));
    return bias.has_value() ? value.add(bias->to(at::kFloat)) : value;
  }
  return ScaledGemm(x, weight, {bias, OfExpert(layer.dequant_scale, expert, grouped), {}, {}}, /*raw=*/false);
}

// The rows [begin, end) of an expert: product, dequantisation, SwiGLU, and a scale for each row. int4 weights come with
// an assist.
void SwigluQuantRows(const Tensor& x, const Tensor& weight, const Tensor& weight_scale, const Tensor& x_scale,
                     const OptTensor& assist, const std::pair<int64_t, int64_t>& range, Tensor& y, Tensor& scale_out) {
  const auto [begin, end] = range;
  const Tensor rows_of_x = x.slice(0, begin, end);
  const Tensor factors = x_scale.slice(0, begin, end);
  const Tensor value = assist.has_value()
                           ? ShiftedGemm(rows_of_x, weight, weight_scale, *assist, factors)
                           : ScaledGemm(rows_of_x, weight, {{}, weight_scale, {}, factors}, /*raw=*/false);
  const int64_t half = value.size(1) / 2;
  const Scaled scaled = ScaledToLargest(at::silu(value.narrow(1, 0, half)).mul(value.narrow(1, half, half)), {-1}, 127);
  Tensor rows = y.slice(0, begin, end);
  WriteQuantized(rows, scaled.values);
  Tensor scales = scale_out.slice(0, begin, end);
  WriteElements(scales, scaled.scale);
}

}  // namespace

MP_KERNEL(aclnnFFNV2, const Tensor& x, const Tensor& weight1, const Tensor& weight2, OptIntArrayRef expert_tokens,
          const OptTensor& bias1, const OptTensor& bias2, const OptTensor& scale, const OptTensor& offset,
          const OptTensor& dequant1, const OptTensor& dequant2, const OptTensor& antiquant1,
          const OptTensor& antiquant2, const OptTensor& anti_offset1, const OptTensor& anti_offset2,
          string_view activation, bool tokens_are_ends, Tensor& y) {
  const Tensor rows = x.reshape({-1, x.size(-1)});
  const bool grouped = weight1.dim() == 3;
  const bool listed = expert_tokens.has_value() && !expert_tokens->empty();
  TORCH_CHECK(listed == grouped, "expertTokens goes with weights of three dimensions; weight1 has ", weight1.dim());
  std::vector<std::pair<int64_t, int64_t>> ranges{{0, rows.size(0)}};
  if (listed) {
    ranges = GroupRanges(*expert_tokens, !tokens_are_ends, rows.size(0));
    TORCH_CHECK(ranges.back().second == rows.size(0), "expertTokens speaks of ", ranges.back().second,
                " tokens; x has ", rows.size(0));
  }
  Tensor out = y.view({-1, y.size(-1)});
  const Layer first{weight1, bias1, dequant1, antiquant1, anti_offset1};
  const Layer second{weight2, bias2, dequant2, antiquant2, anti_offset2};
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, end] = ranges[i];
    const auto expert = static_cast<int64_t>(i);
    Tensor middle = FfnActivation(LayerOutput(rows.slice(0, begin, end), first, expert, grouped), activation);
    if (rows.scalar_type() == at::kChar) {
      TORCH_CHECK(Given(scale).has_value(), "an int8 x needs scale, which is NULL");
      // One scale for each expert also comes as [experts].
      middle = middle.mul(OfExpert(scale, expert, grouped)->to(at::kFloat));
      const OptTensor shift = OfExpert(offset, expert, grouped);
      if (shift.has_value()) middle = middle.add(shift->to(at::kFloat));
      Tensor stored = at::empty(middle.sizes(), middle.options().dtype(at::kChar));
      WriteQuantized(stored, middle);
      middle = stored;
    }
    Tensor part = out.slice(0, begin, end);
    Write(part, LayerOutput(middle, second, expert, grouped));
  }
}

MP_KERNEL(aclnnGroupedMatmulSwigluQuantWeightNZ, const Tensor& x, const Tensor& weight, const OptTensor& bias,
          const OptTensor& offset, const Tensor& weight_scale, const Tensor& x_scale, const Tensor& group_list,
          Tensor& y, Tensor& scale_out) {
  CheckPlain(weight, "weight");
  TORCH_CHECK(!Given(offset).has_value(), "offset is not supported, as on the device; pass NULL");
  const bool int4 = IsInt4(weight) || weight.scalar_type() == at::kInt;
  TORCH_CHECK(int4 == Given(bias).has_value(),
              "int4 weights without their bias, and others with one, are not supported");
  TORCH_CHECK(group_list.numel() <= weight.size(0), "groupList has ", group_list.numel(), " entries for ",
              weight.size(0), " matrices of weights");
  int64_t group = 0;
  for (const auto& range : GroupRanges(HostList(group_list), /*counts=*/false, x.size(0))) {
    SwigluQuantRows(x, PlainWeight(weight.select(0, group), x.size(1)), weight_scale.select(0, group), x_scale,
                    OfExpert(bias, group, true), range, y, scale_out);
    ++group;
  }
}

// One stack of weights for all groups, or one matrix for each.
MP_KERNEL(aclnnGroupedMatmulSwigluQuantV2, const Tensor& x, TensorList weight, TensorList weight_scale,
          const Tensor& x_scale, const Tensor& group_list, int64_t dequant_type, int64_t list_type, Tensor& y,
          Tensor& scale_out) {
  constexpr int64_t kUndefined = 28;
  TORCH_CHECK(dequant_type == 0 || dequant_type == kUndefined, "dequantDtype is ", dequant_type,
              "; 0 (FLOAT) and 28 (not given) are supported");
  TORCH_CHECK(list_type == 0 || list_type == 1, "groupListType is ", list_type, "; it must be 0 (ends) or 1 (counts)");
  TORCH_CHECK(!weight.empty() && weight.size() == weight_scale.size(), "weight has ", weight.size(),
              " members and weightScale ", weight_scale.size(), "; they must have as many, and one at least");
  const bool stacked = weight.size() == 1 && weight[0].dim() > 2;
  const std::vector<int64_t> list = HostList(group_list);
  const auto experts = stacked ? weight[0].size(0) : static_cast<int64_t>(weight.size());
  TORCH_CHECK(static_cast<int64_t>(list.size()) == experts, "groupList has ", list.size(), " entries for ", experts,
              " matrices of weights");
  size_t group = 0;
  for (const auto& range : GroupRanges(list, list_type == 1, x.size(0))) {
    const auto place = static_cast<int64_t>(group);
    const Tensor& matrix = weight[stacked ? 0 : group];
    CheckPlain(matrix, "weight");
    TORCH_CHECK(x.scalar_type() == at::kChar && matrix.scalar_type() == at::kChar && !IsInt4(matrix) && !IsInt4(x),
                "x and weight must be INT8 of that type itself; 4-bit and 8-bit floating-point types, and INT4, are "
                "not supported");
    const Tensor& factors = weight_scale[stacked ? 0 : group];
    SwigluQuantRows(x, stacked ? matrix.select(0, place) : matrix,
                    stacked ? factors.select(0, place) : factors.reshape({-1}), x_scale, {}, range, y, scale_out);
    ++group;
  }
}

MP_KERNEL(aclnnGroupedMatmulFinalizeRoutingV3, const Tensor& x1, const Tensor& x2, const OptTensor& scale,
          const OptTensor& bias, const OptTensor& token_scale, const OptTensor& group_list,
          const OptTensor& shared_input, const OptTensor& logit, const OptTensor& row_index, double shared_weight,
          int64_t shared_offset, bool transpose1, bool transpose2, int64_t list_type, Tensor& out) {
  CheckPlain(x2, "x2");
  TORCH_CHECK(group_list.has_value() && row_index.has_value(), "groupList and rowIndex are needed");
  const bool int4 = x1.scalar_type() == at::kChar && (IsInt4(x2) || x2.scalar_type() == at::kInt);
  TORCH_CHECK(!int4 || (Given(bias).has_value() && Given(scale).has_value()),
              "an int4 x2 without scale and the bias that its page describes is not supported");
  const Tensor a = transpose1 ? x1.t() : x1;
  const Tensor b = transpose2 ? x2.transpose(1, 2) : x2;
  Tensor sum = at::zeros(out.sizes(), out.options().dtype(at::kFloat));
  if (Given(shared_input).has_value()) {
    sum.narrow(0, shared_offset, shared_input->size(0)).add_(shared_input->to(at::kFloat), shared_weight);
  }
  int64_t group = 0;
  for (const auto& [begin, end] : GroupRanges(HostList(*group_list), list_type == 1, a.size(0))) {
    OptTensor token_factors = Given(token_scale);
    if (token_factors.has_value()) token_factors = token_factors->reshape({-1}).slice(0, begin, end);
    const Tensor rows = a.slice(0, begin, end);
    const Tensor matrix = b.select(0, group);
    const OptTensor factors = OfExpert(scale, group, true);
    const OptTensor shift = OfExpert(bias, group, true);
    Tensor value = int4 ? ShiftedGemm(rows, PlainWeight(matrix, rows.size(1)), *factors, *shift, token_factors)
                        : ScaledGemm(rows, matrix, {shift, factors, {}, token_factors}, /*raw=*/false);
    if (Given(logit).has_value()) value = value.mul(logit->to(at::kFloat).slice(0, begin, end).unsqueeze(-1));
    sum.index_add_(0, Long(*row_index).slice(0, begin, end), value);
    ++group;
  }
  Write(out, sum);
}

// The list of tokens is in the device's memory.
MP_KERNEL(aclnnFFNV3, const Tensor& x, const Tensor& weight1, const Tensor& weight2, const OptTensor& expert_tokens,
          const OptTensor& bias1, const OptTensor& bias2, const OptTensor& scale, const OptTensor& offset,
          const OptTensor& dequant1, const OptTensor& dequant2, const OptTensor& antiquant1,
          const OptTensor& antiquant2, const OptTensor& anti_offset1, const OptTensor& anti_offset2,
          string_view activation, bool tokens_are_ends, Tensor& y) {
  std::vector<int64_t> listed;
  if (expert_tokens) listed = HostList(*expert_tokens);
  aclnnFFNV2(x, weight1, weight2, expert_tokens ? OptIntArrayRef(listed) : OptIntArrayRef(), bias1, bias2, scale,
             offset, dequant1, dequant2, antiquant1, antiquant2, anti_offset1, anti_offset2, activation,
             tokens_are_ends, y);
}

}  // namespace millpond::kernels

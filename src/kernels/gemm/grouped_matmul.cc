// SPDX-License-Identifier: Apache-2.0
// One GEMM for each group of rows (m), or for each group along the summed dimension (k).
#include "src/kernels/gemm/matmul.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

enum GroupType : int64_t { kNoGroups = -1, kGroupsOfRows = 0, kGroupsOfDepth = 2 };

bool Absent(const OptTensorList& list) { return !list.has_value() || list->empty() || (*list)[0].numel() == 0; }

// One tensor for all groups has a dimension of groups in front.
OptTensor OfGroup(const OptTensorList& list, int64_t group, bool stacked) {
  if (Absent(list)) return {};
  if (stacked && list->size() == 1) return (*list)[0].select(0, group);
  TORCH_CHECK(group < static_cast<int64_t>(list->size()), "a list has ", list->size(), " tensors; group ", group,
              " is asked for");
  return (*list)[group];
}

Tensor Activated(const Tensor& value, int64_t type) {
  switch (type) {
    case 0:
      return value;
    case 1:
      return value.relu();
    case 2:
      return at::gelu(value, "tanh");
    case 4:
      return value.mul(value.mul(1.702).sigmoid());
    case 5:
      return at::silu(value);
    default:
      TORCH_CHECK(false, "actType is ", type, "; 0 (none), 1 (relu), 2 (gelu), 4 (fast gelu) and 5 (silu) are known");
  }
}

struct Lists {
  OptTensorList bias;
  OptTensorList scale;
  OptTensorList offset;
  OptTensorList antiquant_scale;
  OptTensorList antiquant_offset;
  OptTensorList token_scale;
  int64_t act_type = 0;
  bool stacked = false;
  bool x_is_int4 = false;
  bool weight_is_int4 = false;
};

// int8 or int4 against int4.
Tensor Int4Product(const Tensor& x, const Tensor& weight, const Lists& lists, int64_t group,
                   const OptTensor& token_scale) {
  TORCH_CHECK(Absent(lists.offset) && lists.act_type == 0, "with int4 weights offset and activation are not supported");
  const OptTensor scale = OfGroup(lists.scale, group, lists.stacked);
  const OptTensor bias = OfGroup(lists.bias, group, lists.stacked);
  TORCH_CHECK(scale.has_value(), "int4 weights without a scale are not supported");
  TORCH_CHECK(
      lists.x_is_int4 != bias.has_value(),
      "int4 weights are not supported with an int4 x and a bias, nor with an int8 x and none: its page says which");
  const Tensor plain = PlainWeight(weight, x.size(-1));
  return bias.has_value() ? ShiftedGemm(x, plain, *scale, *bias, token_scale)
                          : NarrowGemm(x, plain, *scale, token_scale);
}

void GroupGemm(Tensor& out, const Tensor& x, const Tensor& weight, const Lists& lists, int64_t group,
               const OptTensor& token_scale) {
  const OptTensor bias = OfGroup(lists.bias, group, lists.stacked);
  if (!Absent(lists.antiquant_scale)) {
    const Tensor plain = PlainWeight(weight, x.size(-1));
    const Tensor scale = *OfGroup(lists.antiquant_scale, group, lists.stacked);
    Tensor value =
        at::matmul(x.to(at::kFloat), Dequantized(plain, scale, OfGroup(lists.antiquant_offset, group, lists.stacked)));
    if (bias.has_value()) value = value.add(bias->to(at::kFloat));
    return WriteGemm(out, Activated(value, lists.act_type));
  }
  const bool plain = at::isFloatingType(x.scalar_type()) && !at::isFloat8Type(x.scalar_type()) && Absent(lists.scale) &&
                     !token_scale.has_value() && !bias.has_value() && lists.act_type == 0;
  if (plain && x.scalar_type() == weight.scalar_type()) return Multiply(out, x, weight);
  if (x.scalar_type() == at::kChar && (lists.weight_is_int4 || weight.scalar_type() == at::kInt)) {
    return WriteGemm(out, Int4Product(x, weight, lists, group, token_scale));
  }
  TORCH_CHECK(x.scalar_type() != at::kChar || weight.scalar_type() == at::kChar, "an int8 x with a weight of type ",
              weight.scalar_type(), " is not supported; int8 and int4 are");
  const Tensor value = ScaledGemm(
      x, weight,
      {bias, OfGroup(lists.scale, group, lists.stacked), OfGroup(lists.offset, group, lists.stacked), token_scale},
      /*raw=*/out.scalar_type() == at::kInt);
  WriteGemm(out, Activated(value, lists.act_type));
}

// The group list's third form: (expert, rows) pairs; experts that are not named have no rows.
struct Groups {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::vector<int64_t> experts;
};

Groups ReadGroups(const OptTensor& list, int64_t type, int64_t size) {
  Groups groups;
  if (!list.has_value()) return groups;
  TORCH_CHECK(type >= 0 && type <= 2, "groupListType is ", type, "; 0 (ends), 1 (lengths) and 2 (pairs) are known");
  std::vector<int64_t> values;
  const Tensor flat = Long(*list);
  if (type == 2) {
    TORCH_CHECK(flat.dim() == 2 && flat.size(1) == 2, "groupList has shape ", flat.sizes(), ", not [groups, 2]");
    groups.experts = HostList(flat.select(1, 0));
    values = HostList(flat.select(1, 1));
  } else {
    values = HostList(flat);
    for (size_t i = 0; i < values.size(); ++i) groups.experts.push_back(static_cast<int64_t>(i));
  }
  groups.ranges = GroupRanges(values, type != 0, size);
  return groups;
}

Tensor WeightOf(TensorList weights, int64_t group, bool stacked) {
  if (stacked) return weights[0].select(0, group);
  TORCH_CHECK(group < static_cast<int64_t>(weights.size()), "there are ", weights.size(), " weights; group ", group,
              " is asked for");
  return weights[group];
}

// Each x with its own weight; one y takes them all one after the other.
void EachWithItsOwn(TensorList x, TensorList weight, const Lists& lists, OutList y) {
  int64_t row = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto group = static_cast<int64_t>(i);
    const OptTensor token_scale = Absent(lists.token_scale) ? OptTensor() : OptTensor((*lists.token_scale)[i]);
    const bool together = y.size() == 1 && x.size() > 1;
    Tensor out = together ? y[0].narrow(0, row, x[i].size(0)) : y[i];
    GroupGemm(out, x[i], WeightOf(weight, group, lists.stacked), lists, group, token_scale);
    row += x[i].size(0);
  }
}

void RowGroups(const Tensor& x, TensorList weight, const Lists& lists, const Groups& groups, OutList y) {
  for (size_t i = 0; i < groups.ranges.size(); ++i) {
    const auto [begin, end] = groups.ranges[i];
    if (begin == end) continue;
    const int64_t expert = groups.experts[i];
    OptTensor token_scale;
    if (!Absent(lists.token_scale)) token_scale = (*lists.token_scale)[0].slice(0, begin, end);
    Tensor out = y.size() == 1 ? y[0].slice(0, begin, end) : y[i];
    GroupGemm(out, x.slice(0, begin, end), WeightOf(weight, expert, lists.stacked), lists, expert, token_scale);
  }
}

void DepthGroups(const Tensor& x, TensorList weight, const Groups& groups, OutList y) {
  TORCH_CHECK(weight[0].dim() == 2, "groups along k need weights of two dimensions, the first has ", weight[0].dim());
  for (size_t i = 0; i < groups.ranges.size(); ++i) {
    const auto [begin, end] = groups.ranges[i];
    Tensor out = y.size() == 1 && weight.size() == 1 ? y[0].select(0, groups.experts[i]) : y[i];
    Multiply(out, x.slice(1, begin, end), weight.size() == 1 ? weight[0].slice(0, begin, end) : weight[i]);
  }
}

// Without a list each weight takes its own number of rows of the summed dimension.
Groups GroupsOfWeights(TensorList weight, int64_t size) {
  Groups groups;
  std::vector<int64_t> lengths;
  for (const Tensor& matrix : weight) {
    groups.experts.push_back(static_cast<int64_t>(lengths.size()));
    lengths.push_back(matrix.size(0));
  }
  groups.ranges = GroupRanges(lengths, /*counts=*/true, size);
  return groups;
}

// Only a kernel's own operands can be asked, so before anything is made of them.
void CheckAllPlain(TensorList weight) {
  for (const Tensor& matrix : weight) CheckPlain(matrix, "weight");
}

// Several x say by themselves how long each group is; a list beside them must say the same.
void CheckList(TensorList x, const OptTensor& list, int64_t list_type) {
  if (x.size() < 2 || !list.has_value()) return;
  int64_t rows = 0;
  for (const Tensor& one : x) rows += one.size(0);
  const Groups groups = ReadGroups(list, list_type, rows);
  bool same = groups.ranges.size() == x.size();
  for (size_t i = 0; same && i < x.size(); ++i) {
    same = groups.ranges[i].second - groups.ranges[i].first == x[i].size(0);
  }
  TORCH_CHECK(same, "groupList does not say how many rows each of the ", x.size(), " tensors of x has");
}

void GroupedMatmul(TensorList x, TensorList weight, Lists lists, const OptTensor& group_list, int64_t group_type,
                   int64_t group_list_type, OutList y) {
  TORCH_CHECK(!x.empty() && !weight.empty() && y.size() != 0, "x, weight and y need at least one tensor each");
  lists.stacked = weight.size() == 1 && weight[0].dim() == 3;
  const bool bare = Absent(lists.bias) && Absent(lists.scale) && Absent(lists.antiquant_scale) && lists.act_type == 0;
  if (group_type == kGroupsOfDepth && x.size() == 1 && weight.size() > 1) {
    TORCH_CHECK(bare && !group_list.has_value() && y.size() == weight.size(),
                "several weights with groups along k go without groupList, bias, scales and activation, and have as "
                "many outputs");
    return DepthGroups(x[0], weight, GroupsOfWeights(weight, x[0].size(1)), y);
  }
  CheckList(x, group_list, group_list_type);
  if (x.size() > 1 || !group_list.has_value() || group_type == kNoGroups) {
    return EachWithItsOwn(x, weight, lists, y);
  }
  TORCH_CHECK(group_type == kGroupsOfRows || group_type == kGroupsOfDepth, "groupType is ", group_type,
              "; -1 (none), 0 (rows) and 2 (depth) are known");
  const int64_t size = x[0].size(group_type == kGroupsOfRows ? 0 : 1);
  const Groups groups = ReadGroups(group_list, group_list_type, size);
  TORCH_CHECK(size == 0 || !groups.ranges.empty(), "the group list is empty; the grouped dimension has ", size,
              " elements");
  if (group_type == kGroupsOfRows) return RowGroups(x[0], weight, lists, groups, y);
  TORCH_CHECK(bare, "groups along k go without bias, scales and activation");
  DepthGroups(x[0], weight, groups, y);
}

std::vector<Tensor> Transposed(TensorList list, bool transpose) {
  std::vector<Tensor> members(list.begin(), list.end());
  for (Tensor& member : members) {
    if (transpose) member = member.transpose(-1, -2);
  }
  return members;
}

void GroupedAdd(const Tensor& x, const Tensor& weight, const Tensor& group_list, Tensor& y, bool transpose_x,
                bool transpose_weight, int64_t group_type, int64_t list_type) {
  TORCH_CHECK(group_type == kGroupsOfDepth, "groupType is ", group_type, "; 2 (depth) is supported");
  const Tensor a = transpose_x ? x.t() : x;
  const Tensor b = transpose_weight ? weight.t() : weight;
  TORCH_CHECK(list_type == 0 || list_type == 1, "groupListType is ", list_type, "; 0 (ends) and 1 (lengths) are known");
  const Groups groups = ReadGroups(group_list, list_type, a.size(1));
  const auto count = static_cast<int64_t>(groups.ranges.size());
  Tensor sums = y.view({count, a.size(0), b.size(1)});
  for (int64_t i = 0; i < count; ++i) {
    const auto [begin, end] = groups.ranges[i];
    if (begin == end) continue;
    sums.select(0, groups.experts[i])
        .add_(at::mm(a.slice(1, begin, end).to(at::kFloat), b.slice(0, begin, end).to(at::kFloat)));
  }
}

}  // namespace

MP_KERNEL(GroupedGemm, TensorList x, TensorList weight, OptTensorList bias, OptTensorList scale, OptTensorList offset,
          OptTensorList antiquant_scale, OptTensorList antiquant_offset, OptTensorList token_scale,
          const OptTensor& group_list, OptIntArrayRef group_ends, int64_t group_type, int64_t list_type,
          int64_t act_type, bool transpose_x, bool transpose_weight, OutList y) {
  CheckAllPlain(weight);
  OptTensor list;
  if (group_list && group_list->numel() != 0) list = group_list;
  if (group_ends && !group_ends->empty()) {
    list = at::tensor(*group_ends, at::kLong);
    if (group_type == kNoGroups) group_type = kGroupsOfRows;
  }
  Lists lists{bias, scale, offset, antiquant_scale, antiquant_offset, token_scale, act_type};
  lists.x_is_int4 = !x.empty() && IsInt4(x[0]);
  lists.weight_is_int4 = !weight.empty() && IsInt4(weight[0]);
  const std::vector<Tensor> left = Transposed(x, transpose_x);
  const std::vector<Tensor> right = Transposed(weight, transpose_weight);
  GroupedMatmul(left, right, lists, list, group_type, list_type, y);
}

MP_KERNEL(aclnnGroupedMatmulAddV2, const Tensor& x, const Tensor& weight, const Tensor& group_list, Tensor& y,
          bool transpose_x, bool transpose_weight, int64_t group_type, int64_t list_type) {
  GroupedAdd(x, weight, group_list, y, transpose_x, transpose_weight, group_type, list_type);
}

}  // namespace millpond::kernels

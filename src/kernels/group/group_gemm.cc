// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/group/group_gemm.h"

#include "src/kernels/gemm/matmul.h"
#include "src/kernels/quant/block_scale.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

Tensor& Workspace(Group& group, const Tensor& out) {
  Tensor& work = group.kept(0);
  work = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  return work;
}
void Finish(Group& group, Tensor& out) {
  if (!group.kept(0).is_same(out)) Write(out, group.kept(0));
}

void AddTo(Group& group, Tensor& work, const OptTensor& addend) {
  if (!Given(addend).has_value()) return;
  const int64_t size = addend->numel();
  const bool fits = size == 0 ? work.numel() == 0 : work.numel() % size == 0;
  TORCH_CHECK(fits && addend->dim() <= work.dim(), "what is added to the product has shape ", addend->sizes(),
              ", and the product ", work.sizes());
  if (!group.checking()) work.add_(*addend);
}

void CheckSizes(const Tensor& out, const Tensor& x1, const Tensor& x2) {
  if (x1.dim() < 1 || x2.dim() != 2 || x1.numel() == 0) return;  // ATen says what is wrong with these
  TORCH_CHECK(x1.size(-1) == x2.size(0), "x1 has rows of ", x1.size(-1), " elements, and x2 has columns of ",
              x2.size(0), ": shapes ", x1.sizes(), " and ", x2.sizes());
  TORCH_CHECK(out.numel() == x1.numel() / x1.size(-1) * x2.size(1), "the product of shapes ", x1.sizes(), " and ",
              x2.sizes(), " does not fill the output's ", out.sizes());
}

void GroupGemm(Group& group, Tensor& out, const Tensor& x1, const Tensor& x2, const Factors& factors) {
  const OptTensor bias = Given(factors.bias), x1_scale = Given(factors.x1_scale), x2_scale = Given(factors.x2_scale);
  const Blocks blocks = BlocksOf(x1, x2, x1_scale, x2_scale);
  CheckGroupSize(factors.group_size, blocks);
  if (blocks != Blocks::kNone) {
    if (group.checking()) return;
    const Tensor value = BlockGemm(x1, x2, *x1_scale, *x2_scale, blocks);
    return Write(out, bias.has_value() ? value.add(bias->to(at::kFloat)) : value);
  }
  if (IsQuantized(x1)) {
    TORCH_CHECK(x2_scale.has_value(), "x1 has type ", x1.scalar_type(), ", and x2 has no scale");
    if (group.checking()) return;
    const bool bias_first = factors.bias_first && at::isFloat8Type(x1.scalar_type());
    return Write(out, ScaledGemm(x1, PlainWeight(x2, x1.size(-1)), {bias, *x2_scale, {}, x1_scale, bias_first},
                                 /*raw=*/false));
  }
  TORCH_CHECK(at::isFloatingType(x1.scalar_type()), "x1 has type ", x1.scalar_type());
  TORCH_CHECK(!x1_scale.has_value() && !x2_scale.has_value(), "x1 has type ", x1.scalar_type(),
              ", which is not quantised, and scales are given");
  CheckSizes(out, x1, x2);
  if (!group.checking()) Multiply(out, x1, x2);
  AddTo(group, out, bias);
}

void CheckSum(string_view reduction) {
  TORCH_CHECK(reduction == "sum", "reduceOp is '", std::string(reduction),
              "'; only sum is supported, as on the device");
}

void CheckAxes(const OptIntArrayRef& axes, int64_t first, int64_t second) {
  if (!axes.has_value() || axes->empty()) return;
  const bool good = axes->size() == 2 && (*axes)[0] == first && (*axes)[1] == second;
  TORCH_CHECK(good, "the axes of the exchange are ", *axes, "; only [", first, ", ", second, "] is supported");
}

void ShareRows(Group& group, string_view name, const Tensor& rows, size_t place) {
  const int64_t ranks = group.ranks(name);
  TORCH_CHECK(rows.dim() == 2 && rows.size(0) % ranks == 0, "x1, or its scales, are rows of shape ", rows.sizes(),
              "; they are shared evenly by ", ranks, " ranks");
  group.kept(place) = group.Packed(rows);
  group.kept(place + 1) = at::empty({ranks, rows.size(0) / ranks, rows.size(1)}, rows.options());
  group.AlltoAll(name, group.kept(place), group.kept(place + 1));
}

Tensor SideBySide(const Tensor& parts) {
  return parts.permute({1, 0, 2}).reshape({parts.size(1), parts.size(0) * parts.size(2)});
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// GEMM with a collective before or after them. The product is the plain operator's, rounded to the output's type, and
// what the group does with it is the plain collective: the bits are those of calling one after the other.
#include "src/kernels/gemm/matmul.h"

#include "src/kernels/group/group_gemm.h"
#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/quant/block_scale.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// The pages add the offset to x2 before they scale it, those of the forms with a norm behind the product afterwards.
enum class Offset { kBeforeScale, kAfterScale };

Tensor PlainFloats(const Tensor& x2, const Tensor& scale, const OptTensor& offset, Offset when) {
  if (when == Offset::kBeforeScale || !offset.has_value()) return Dequantized(x2, scale, offset);
  return Dequantized(x2, scale, {}).add_(Dequantized(at::ones_like(x2), *offset, {}));
}

void WeightQuantGemm(Group& group, Tensor& out, const Tensor& x1, const Tensor& x2, const Tensor& scale,
                     const OptTensor& offset, const OptTensor& bias, Offset when = Offset::kBeforeScale) {
  TORCH_CHECK(at::isFloatingType(x1.scalar_type()), "x1 has type ", x1.scalar_type(), "; x2 alone is quantised");
  if (group.checking()) return;
  const Tensor plain = PlainWeight(x2, x1.size(-1));
  Tensor value = at::matmul(x1.to(at::kFloat), PlainFloats(plain, scale, Given(offset), when));
  if (Given(bias).has_value()) value = value.add(bias->to(at::kFloat));
  Write(out, value);
}

// y = residual + sum, and its norm.
void AddNorm(const Tensor& sum, const Tensor& residual, const Tensor& gamma, double eps, Tensor& y, Tensor& norm) {
  const Tensor added = at::add(sum.reshape(residual.sizes()), residual);
  Write(norm, RmsNorm(added, gamma, eps).y);
  Write(y, added);
}

// Room for the product, in the type and the shape of the norm.
Tensor& SumRoom(Group& group, const Tensor& x1, const Tensor& x2, const Tensor& residual, const Tensor& gamma) {
  TORCH_CHECK(x1.dim() >= 1 && residual.dim() >= 1 && gamma.numel() == residual.size(-1), "residual has shape ",
              residual.sizes(), ", and gamma has ", gamma.numel(), " elements; it needs one for each column");
  std::vector<int64_t> sizes = x1.sizes().vec();
  sizes.back() = residual.size(-1);
  TORCH_CHECK(x2.dim() == 2, "x2 has ", x2.dim(), " dimensions; it needs 2");
  group.kept(0) = at::empty(sizes, residual.options());
  TORCH_CHECK(group.kept(0).numel() == residual.numel(), "the product has shape ", group.kept(0).sizes(),
              ", and residual ", residual.sizes());
  return group.kept(0);
}

}  // namespace

MP_GROUP_KERNEL(MatmulAllReduce, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
                bool turn1, bool turn2, string_view name, string_view reduction, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckSum(reduction);
  CheckPlain(x2, "x2");
  Tensor& work = Workspace(group, out);
  GroupGemm(group, work, Transposed(x1, turn1), Transposed(x2, turn2), {bias, {}, {}});
  AddTo(group, work, x3);
  group.AllReduce(name, work, reduction);
}

MP_GROUP_KERNEL(WeightQuantMatmulAllReduce, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& scale, const OptTensor& offset, const OptTensor& x3, string_view name,
                string_view reduction, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckSum(reduction);
  CheckPlain(x2, "x2");
  Tensor& work = Workspace(group, out);
  WeightQuantGemm(group, work, x1, x2, scale, offset, bias);
  AddTo(group, work, x3);
  group.AllReduce(name, work, reduction);
}

MP_GROUP_KERNEL(MatmulAllReduceAddRmsNorm, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& residual, const Tensor& gamma, double eps, string_view name, string_view reduction,
                Tensor& y, Tensor& norm) {
  if (group.step() > 0) return AddNorm(group.kept(0), residual, gamma, eps, y, norm);
  CheckSum(reduction);
  CheckPlain(x2, "x2");
  Tensor& sum = SumRoom(group, x1, x2, residual, gamma);
  GroupGemm(group, sum, x1, x2, {bias, {}, {}});
  group.AllReduce(name, sum, reduction);
}
MP_GROUP_KERNEL(QuantMatmulAllReduceAddRmsNorm, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& scale, const Tensor& residual, const Tensor& gamma, double eps, string_view name,
                string_view reduction, Tensor& y, Tensor& norm) {
  if (group.step() > 0) return AddNorm(group.kept(0), residual, gamma, eps, y, norm);
  CheckSum(reduction);
  CheckPlain(x2, "x2");
  Tensor& sum = SumRoom(group, x1, x2, residual, gamma);
  GroupGemm(group, sum, x1, x2, {bias, {}, scale});
  group.AllReduce(name, sum, reduction);
}
MP_GROUP_KERNEL(WeightQuantMatmulAllReduceAddRmsNorm, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& scale, const OptTensor& offset, const Tensor& residual, const Tensor& gamma, double eps,
                string_view name, string_view reduction, Tensor& y, Tensor& norm) {
  if (group.step() > 0) return AddNorm(group.kept(0), residual, gamma, eps, y, norm);
  CheckSum(reduction);
  CheckPlain(x2, "x2");
  Tensor& sum = SumRoom(group, x1, x2, residual, gamma);
  WeightQuantGemm(group, sum, x1, x2, scale, offset, bias, Offset::kAfterScale);
  group.AllReduce(name, sum, reduction);
}

MP_GROUP_KERNEL(AllGatherMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x1_scale,
                const OptTensor& x2_scale, int64_t group_size, bool turn1, bool turn2, int64_t gather_index,
                int64_t ranks, string_view name, bool gathered, Tensor& out, Tensor* gather_out) {
  TORCH_CHECK(gather_index == 0, "gatherIndex is ", gather_index, "; only x1, 0, can be gathered");
  group.CheckRanks(name, ranks);
  const Tensor rows = Transposed(x1, turn1), columns = Transposed(x2, turn2);
  const bool scaled = Given(x1_scale).has_value();
  const bool in_blocks = BlocksOf(rows, columns, Given(x1_scale), Given(x2_scale)) != Blocks::kNone;
  const int64_t members = group.ranks(name);
  if (group.step() == 0) {
    CheckPlain(x2, "x2");
    TORCH_CHECK(rows.dim() == 2, "x1 has ", rows.dim(), " dimensions; it needs 2");
    group.kept(0) = group.Packed(rows);
    group.kept(1) = at::empty({rows.size(0) * members, rows.size(1)}, rows.options());
    const bool shown = gathered && gather_out != nullptr && gather_out->numel() != 0;
    TORCH_CHECK(!shown || gather_out->numel() == group.kept(1).numel(), "gatherOut has shape ", gather_out->sizes(),
                ", and what is gathered ", group.kept(1).sizes());
    // Scales of rows belong to this rank's own.
    const Tensor& factor = IsQuantized(rows) ? rows : group.kept(1);
    if (group.checking()) GroupGemm(group, out, factor, columns, {bias, x1_scale, x2_scale, group_size});
    return group.AllGather(name, group.kept(0), group.kept(1));
  }
  if (scaled && group.step() == 1) {
    // A rank has one scale for all its rows, or one for each, or those of its blocks.
    const Tensor own = in_blocks ? *x1_scale : x1_scale->to(at::kFloat).reshape({-1}).expand({rows.size(0)});
    std::vector<int64_t> shape = own.sizes().vec();
    shape.insert(shape.begin(), members);
    group.kept(2) = own.contiguous();
    group.kept(3) = at::empty(shape, own.options());
    return group.AllGather(name, group.kept(2), group.kept(3));
  }
  if (gathered && gather_out != nullptr && gather_out->numel() != 0) Write(*gather_out, group.kept(1));
  const OptTensor scale = scaled ? OptTensor(group.kept(3)) : OptTensor();
  const Factors factors{bias, scale, x2_scale, group_size, /*bias_first=*/true};
  if (!in_blocks) return GroupGemm(group, out, group.kept(1), columns, factors);
  // Each rank's blocks begin anew.
  Tensor by_rank = out.unflatten(0, {members, rows.size(0)});
  GroupGemm(group, by_rank, group.kept(1).unflatten(0, {members, rows.size(0)}), columns, factors);
}

MP_GROUP_KERNEL(MatmulReduceScatter, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const OptTensor& x1_scale, const OptTensor& x2_scale, int64_t group_size, bool turn1, bool turn2,
                int64_t ranks, string_view name, string_view reduction, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckSum(reduction);
  CheckPlain(x2, "x2");
  group.CheckRanks(name, ranks);
  const Tensor rows = Transposed(x1, turn1), columns = Transposed(x2, turn2);
  TORCH_CHECK(rows.dim() == 2 && columns.dim() == 2, "x1 has ", rows.dim(), " dimensions and x2 ", columns.dim(),
              "; both need 2");
  TORCH_CHECK(rows.size(0) % group.ranks(name) == 0, rows.size(0), " rows cannot be shared evenly by ",
              group.ranks(name), " ranks");
  group.kept(1) = at::empty({rows.size(0), out.size(-1)}, out.options());
  GroupGemm(group, group.kept(1), rows, columns, {bias, x1_scale, x2_scale, group_size});
  group.ReduceScatter(name, group.kept(1), Workspace(group, out), reduction);
}

MP_GROUP_KERNEL(AlltoAllMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, OptIntArrayRef axes,
                bool turn1, bool turn2, int64_t ranks, string_view name, bool gathered, Tensor& out,
                Tensor* alltoall_out) {
  if (group.step() == 0) {
    CheckPlain(x2, "x2");
    TORCH_CHECK(!turn1, "transposeX1 is set, which the device does not support either");
    CheckAxes(axes, -2, -1);
    group.CheckRanks(name, ranks);
    ShareRows(group, name, x1, 0);
    if (group.checking()) {
      const int64_t members = group.ranks(name);
      const Tensor come = at::empty({x1.size(0) / members, x1.size(1) * members}, x1.options());
      GroupGemm(group, out, come, Transposed(x2, turn2), {bias, {}, {}});
    }
    return;
  }
  const Tensor rows = SideBySide(group.kept(1));
  if (gathered && alltoall_out != nullptr && alltoall_out->numel() != 0) Write(*alltoall_out, rows);
  GroupGemm(group, out, rows, Transposed(x2, turn2), {bias, {}, {}});
}

MP_GROUP_KERNEL(MatmulAlltoAll, const Tensor& x1, const Tensor& x2, const OptTensor& bias, OptIntArrayRef axes,
                bool turn1, bool turn2, const OptTensor& x1_scale, const OptTensor& x2_scale, int64_t x1_mode,
                int64_t x2_mode, int64_t group_size, int64_t ranks, string_view name, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckPlain(x2, "x2");
  TORCH_CHECK(!turn1, "transposeX1 is set, which the device does not support either");
  CheckAxes(axes, -1, -2);
  group.CheckRanks(name, ranks);
  const Tensor rows = x1, columns = Transposed(x2, turn2);
  const int64_t members = group.ranks(name);
  TORCH_CHECK(rows.dim() == 2 && columns.dim() == 2 && columns.size(1) % members == 0, "x1 has shape ", rows.sizes(),
              " and x2 ", columns.sizes(), "; x2's columns are shared evenly by ", members, " ranks");
  Tensor product = at::empty({rows.size(0), columns.size(1)}, out.options());
  const bool in_blocks = BlocksOf(rows, columns, Given(x1_scale), Given(x2_scale)) == Blocks::kMx;
  const bool known = in_blocks ? x1_mode == kByMx && x2_mode == kByMx : x1_mode == kByRow && x2_mode == kByColumn;
  TORCH_CHECK(known || !Given(x2_scale).has_value(), "x1QuantMode is ", x1_mode, " and x2QuantMode ", x2_mode,
              "; 3 and 2 (scales for each row and column), or 6 and 6 (mx), are supported, with scales of those types");
  GroupGemm(group, product, rows, columns, {bias, x1_scale, x2_scale, group_size, /*bias_first=*/true});
  group.kept(1) = group.Packed(product.view({rows.size(0), members, columns.size(1) / members}).permute({1, 0, 2}));
  group.AlltoAll(name, group.kept(1), Workspace(group, out));
}

}  // namespace millpond::kernels

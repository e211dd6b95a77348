// SPDX-License-Identifier: Apache-2.0
// GEMM with a collective before or after them. The product is the plain operator's, rounded to the output's type, and
// what the group does with it is the plain collective: the bits are those of calling one after the other.
#include "src/kernels/gemm/matmul.h"

#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor Turned(const Tensor& matrix, bool turn) { return turn ? matrix.transpose(-1, -2) : matrix; }

// A contiguous tensor to compute into and to communicate: the output itself where that is one.
Tensor& Workspace(Group& group, const Tensor& out) {
  Tensor& work = group.kept(0);
  work = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  return work;
}
void Finish(Group& group, Tensor& out) {
  if (!group.kept(0).is_same(out)) Write(out, group.kept(0));
}

void AddTo(Tensor& work, const OptTensor& addend) {
  if (Given(addend).has_value()) work.add_(addend->to(work.scalar_type()));
}

// Rows and columns may be scaled integers or 8-bit floats.
struct Factors {
  OptTensor bias;
  OptTensor x1_scale;
  OptTensor x2_scale;
};
bool IsQuantized(const Tensor& x) { return x.scalar_type() == at::kChar || at::isFloat8Type(x.scalar_type()); }

void Product(Tensor& out, const Tensor& x1, const Tensor& x2, const Factors& factors) {
  if (IsQuantized(x1)) {
    TORCH_CHECK(Given(factors.x2_scale).has_value(), "x1 has type ", x1.scalar_type(), ", and x2 has no scale");
    const Tensor weight = PlainWeight(x2, x1.size(-1));
    return Write(out, ScaledGemm(x1, weight, {Given(factors.bias), *factors.x2_scale, {}, Given(factors.x1_scale)},
                                 /*raw=*/false));
  }
  TORCH_CHECK(at::isFloatingType(x1.scalar_type()), "x1 has type ", x1.scalar_type());
  TORCH_CHECK(!Given(factors.x1_scale).has_value() && !Given(factors.x2_scale).has_value(), "x1 has type ",
              x1.scalar_type(), ", which is not quantised, and scales are given");
  Multiply(out, x1, x2);
  AddTo(out, factors.bias);
}

void WeightQuantProduct(Tensor& out, const Tensor& x1, const Tensor& x2, const Tensor& scale, const OptTensor& offset,
                        const OptTensor& bias) {
  const Tensor plain = PlainWeight(x2, x1.size(-1));
  Tensor value = at::matmul(x1.to(at::kFloat), Dequantized(plain, scale, Given(offset)));
  if (Given(bias).has_value()) value = value.add(bias->to(at::kFloat));
  Write(out, value);
}

void CheckAxes(const OptIntArrayRef& axes, int64_t first, int64_t second) {
  if (!axes.has_value() || axes->empty()) return;
  const bool good = axes->size() == 2 && (*axes)[0] == first && (*axes)[1] == second;
  TORCH_CHECK(good, "the axes of the exchange are ", *axes, "; only [", first, ", ", second, "] is supported");
}

// y = residual + sum, and its norm.
void AddNorm(const Tensor& sum, const Tensor& residual, const Tensor& gamma, double eps, Tensor& y, Tensor& norm) {
  const Tensor added = at::add(sum.reshape(residual.sizes()), residual);
  Write(norm, RmsNorm(added, gamma, eps).y);
  Write(y, added);
}

// Room for the product, in the type and the shape of the norm.
Tensor& SumRoom(Group& group, const Tensor& x1, const Tensor& x2, const Tensor& residual) {
  std::vector<int64_t> sizes = x1.sizes().vec();
  sizes.back() = residual.size(-1);
  TORCH_CHECK(x2.dim() == 2, "x2 has ", x2.dim(), " dimensions; it needs 2");
  group.kept(0) = at::empty(sizes, residual.options());
  return group.kept(0);
}

}  // namespace

MP_GROUP_KERNEL(MatmulAllReduce, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
                bool turn1, bool turn2, string_view name, string_view reduction, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckPlain(x2, "x2");
  Tensor& work = Workspace(group, out);
  Product(work, Turned(x1, turn1), Turned(x2, turn2), {bias, {}, {}});
  AddTo(work, x3);
  group.AllReduce(name, work, reduction);
}

MP_GROUP_KERNEL(QuantMatmulAllReduce, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
                const Tensor& x2_scale, const OptTensor& x1_scale, string_view name, string_view reduction,
                Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckPlain(x2, "x2");
  TORCH_CHECK(IsQuantized(x1), "x1 has type ", x1.scalar_type(), "; int8 and 8-bit floats are quantised");
  Tensor& work = Workspace(group, out);
  Product(work, x1, x2, {bias, x1_scale, x2_scale});
  AddTo(work, x3);
  group.AllReduce(name, work, reduction);
}

MP_GROUP_KERNEL(WeightQuantMatmulAllReduce, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& scale, const OptTensor& offset, const OptTensor& x3, string_view name,
                string_view reduction, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckPlain(x2, "x2");
  Tensor& work = Workspace(group, out);
  WeightQuantProduct(work, x1, x2, scale, offset, bias);
  AddTo(work, x3);
  group.AllReduce(name, work, reduction);
}

MP_GROUP_KERNEL(MatmulAllReduceAddRmsNorm, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& residual, const Tensor& gamma, double eps, string_view name, string_view reduction,
                Tensor& y, Tensor& norm) {
  if (group.step() > 0) return AddNorm(group.kept(0), residual, gamma, eps, y, norm);
  CheckPlain(x2, "x2");
  Tensor& sum = SumRoom(group, x1, x2, residual);
  Product(sum, x1, x2, {bias, {}, {}});
  group.AllReduce(name, sum, reduction);
}
MP_GROUP_KERNEL(QuantMatmulAllReduceAddRmsNorm, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& scale, const Tensor& residual, const Tensor& gamma, double eps, string_view name,
                string_view reduction, Tensor& y, Tensor& norm) {
  if (group.step() > 0) return AddNorm(group.kept(0), residual, gamma, eps, y, norm);
  CheckPlain(x2, "x2");
  Tensor& sum = SumRoom(group, x1, x2, residual);
  Product(sum, x1, x2, {bias, {}, scale});
  group.AllReduce(name, sum, reduction);
}
MP_GROUP_KERNEL(WeightQuantMatmulAllReduceAddRmsNorm, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const Tensor& scale, const OptTensor& offset, const Tensor& residual, const Tensor& gamma, double eps,
                string_view name, string_view reduction, Tensor& y, Tensor& norm) {
  if (group.step() > 0) return AddNorm(group.kept(0), residual, gamma, eps, y, norm);
  CheckPlain(x2, "x2");
  Tensor& sum = SumRoom(group, x1, x2, residual);
  WeightQuantProduct(sum, x1, x2, scale, offset, bias);
  group.AllReduce(name, sum, reduction);
}

MP_GROUP_KERNEL(AllGatherMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x1_scale,
                const OptTensor& x2_scale, bool turn1, bool turn2, int64_t gather_index, int64_t ranks,
                string_view name, bool gathered, Tensor& out, Tensor* gather_out) {
  TORCH_CHECK(gather_index == 0, "gatherIndex is ", gather_index, "; only x1, 0, can be gathered");
  group.CheckRanks(name, ranks);
  const bool scaled = Given(x1_scale).has_value();
  const size_t product_step = scaled ? 2 : 1;
  if (group.step() == 0) {
    CheckPlain(x2, "x2");
    const Tensor rows = Turned(x1, turn1);
    TORCH_CHECK(rows.dim() == 2, "x1 has ", rows.dim(), " dimensions; it needs 2");
    group.kept(0) = rows.contiguous();
    group.kept(1) = at::empty({rows.size(0) * group.ranks(name), rows.size(1)}, rows.options());
    return group.AllGather(name, group.kept(0), group.kept(1));
  }
  if (group.step() < product_step) {
    // A rank has one scale for all its rows, or one for each.
    const Tensor own = x1_scale->to(at::kFloat).reshape({-1});
    group.kept(2) = own.expand({group.kept(0).size(0)}).contiguous();
    group.kept(3) = at::empty({group.kept(1).size(0)}, own.options());
    return group.AllGather(name, group.kept(2), group.kept(3));
  }
  if (gathered && gather_out != nullptr && gather_out->numel() != 0) Write(*gather_out, group.kept(1));
  const OptTensor scale = scaled ? OptTensor(group.kept(3)) : OptTensor();
  Product(out, group.kept(1), Turned(x2, turn2), {bias, scale, x2_scale});
}

MP_GROUP_KERNEL(MatmulReduceScatter, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const OptTensor& x1_scale, const OptTensor& x2_scale, bool turn1, bool turn2, int64_t ranks,
                string_view name, string_view reduction, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckPlain(x2, "x2");
  group.CheckRanks(name, ranks);
  const Tensor rows = Turned(x1, turn1), columns = Turned(x2, turn2);
  TORCH_CHECK(rows.dim() == 2 && columns.dim() == 2, "x1 has ", rows.dim(), " dimensions and x2 ", columns.dim(),
              "; both need 2");
  TORCH_CHECK(rows.size(0) % group.ranks(name) == 0, rows.size(0), " rows cannot be shared evenly by ",
              group.ranks(name), " ranks");
  group.kept(1) = at::empty({rows.size(0), out.size(-1)}, out.options());
  Product(group.kept(1), rows, columns, {bias, x1_scale, x2_scale});
  group.ReduceScatter(name, group.kept(1), Workspace(group, out), reduction);
}

namespace {

// Each rank gets its share of all ranks' rows.
void ShareRows(Group& group, string_view name, const Tensor& x1) {
  TORCH_CHECK(x1.dim() == 2 && x1.size(0) % group.ranks(name) == 0, "x1 has shape ", x1.sizes(),
              "; its rows are shared "
              "evenly by ",
              group.ranks(name), " ranks");
  group.kept(0) = x1.contiguous();
  group.kept(1) = at::empty({group.ranks(name), x1.size(0) / group.ranks(name), x1.size(1)}, x1.options());
  group.AlltoAll(name, group.kept(0), group.kept(1));
}
// They stand side by side.
Tensor SharedRows(Group& group) {
  const Tensor& parts = group.kept(1);
  return parts.permute({1, 0, 2}).reshape({parts.size(1), parts.size(0) * parts.size(2)});
}

}  // namespace

MP_GROUP_KERNEL(AlltoAllMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, OptIntArrayRef axes,
                bool turn1, bool turn2, int64_t ranks, string_view name, bool gathered, Tensor& out,
                Tensor* alltoall_out) {
  if (group.step() == 0) {
    CheckPlain(x2, "x2");
    TORCH_CHECK(!turn1, "transposeX1 is set, which the device does not support either");
    CheckAxes(axes, -2, -1);
    group.CheckRanks(name, ranks);
    return ShareRows(group, name, x1);
  }
  const Tensor rows = SharedRows(group);
  if (gathered && alltoall_out != nullptr && alltoall_out->numel() != 0) Write(*alltoall_out, rows);
  Product(out, rows, Turned(x2, turn2), {bias, {}, {}});
}

// Rows are quantised when they have come.
MP_GROUP_KERNEL(AlltoAllQuantMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& smooth,
                const Tensor& x2_scale, OptIntArrayRef axes, int64_t x1_mode, bool turn1, bool turn2, string_view name,
                Tensor& out, Tensor* alltoall_out) {
  if (group.step() == 0) {
    CheckPlain(x2, "x2");
    TORCH_CHECK(!turn1, "transposeX1 is set, which the device does not support either");
    TORCH_CHECK(x1_mode == 7 && x2.scalar_type() == at::kChar, "x1QuantMode is ", x1_mode, " and x2 has type ",
                x2.scalar_type(),
                "; rows that are quantised on the way in (x1QuantMode 7) and an int8 x2 are supported");
    CheckAxes(axes, -2, -1);
    return ShareRows(group, name, x1);
  }
  const Tensor rows = SharedRows(group);
  if (alltoall_out != nullptr && alltoall_out->numel() != 0) Write(*alltoall_out, rows);
  Tensor value = rows.to(at::kFloat);
  if (Given(smooth).has_value()) value = value.mul(smooth->to(at::kFloat));
  const Scaled scaled = ScaledToLargest(value, {-1}, 127);
  Tensor quantised = at::empty(value.sizes(), value.options().dtype(at::kChar));
  WriteQuantized(quantised, scaled.values);
  Product(out, quantised, Turned(x2, turn2), {bias, scaled.scale.reshape({-1}), x2_scale});
}

MP_GROUP_KERNEL(MatmulAlltoAll, const Tensor& x1, const Tensor& x2, const OptTensor& bias, OptIntArrayRef axes,
                bool turn1, bool turn2, const OptTensor& x1_scale, const OptTensor& x2_scale, int64_t ranks,
                string_view name, Tensor& out) {
  if (group.step() > 0) return Finish(group, out);
  CheckPlain(x2, "x2");
  CheckAxes(axes, -1, -2);
  group.CheckRanks(name, ranks);
  const Tensor rows = Turned(x1, turn1), columns = Turned(x2, turn2);
  const int64_t members = group.ranks(name);
  TORCH_CHECK(rows.dim() == 2 && columns.dim() == 2 && columns.size(1) % members == 0, "x1 has shape ", rows.sizes(),
              " and x2 ", columns.sizes(), "; x2's columns are shared evenly by ", members, " ranks");
  Tensor product = at::empty({rows.size(0), columns.size(1)}, out.options());
  Product(product, rows, columns, {bias, x1_scale, x2_scale});
  group.kept(1) = product.view({rows.size(0), members, columns.size(1) / members}).permute({1, 0, 2}).contiguous();
  group.AlltoAll(name, group.kept(1), Workspace(group, out));
}

}  // namespace millpond::kernels

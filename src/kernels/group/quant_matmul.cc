// SPDX-License-Identifier: Apache-2.0
// Products of quantised matrices whose collective is more than a plain one: sums that travel in int8, and rows that are
// quantised when they have come.
#include "src/kernels/gemm/matmul.h"
#include "src/kernels/group/group_gemm.h"
#include "src/kernels/quant/block_scale.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor Quantised(const Tensor& value, ScalarType type = at::kChar) {
  Tensor stored = at::empty(value.sizes(), value.options().dtype(type));
  WriteQuantized(stored, value);
  return stored;
}

// The scales of the columns on the way to the sum, and on the way back.
struct CommScales {
  Tensor there;
  Tensor back;
};
CommScales CommScalesOf(const OptTensor& there, const OptTensor& back, int64_t columns) {
  TORCH_CHECK(
      Given(there).has_value() && Given(back).has_value() && there->numel() == columns && back->numel() == columns,
      "for communication in int8, commQuantScale1 and commQuantScale2 both have ", columns,
      " elements, one for each column");
  return {there->to(at::kFloat).reshape({1, columns}), back->to(at::kFloat).reshape({1, columns})};
}

// Page "aclnnQuantMatmulAllReduceV3": each rank quantises its product, adds up a share of all ranks' rows as integers,
// quantises the sum and gives it to all.
void AllReduceInInt8(Group& group, string_view name, const CommScales& scales, Tensor& out) {
  const int64_t ranks = group.ranks(name), columns = out.size(-1);
  const int64_t rows = columns == 0 ? 0 : out.numel() / columns, share = (rows + ranks - 1) / ranks;
  if (group.step() == 0) {
    if (group.checking()) {
      group.kept(1) = at::empty({share * ranks, columns}, out.options().dtype(at::kChar));
    } else {
      const Tensor value = group.kept(0).reshape({rows, columns}).to(at::kFloat).div(scales.there);
      group.kept(1) = Quantised(at::constant_pad_nd(value, {0, 0, 0, share * ranks - rows}));
    }
    group.kept(2) = at::empty_like(group.kept(1));
    return group.AlltoAll(name, group.kept(1), group.kept(2));
  }
  if (group.step() == 1) {
    const Tensor sum = group.kept(2).view({ranks, share, columns}).to(at::kInt).sum(0).to(at::kFloat);
    group.kept(1) = Quantised(sum.mul(scales.there.div(scales.back)));
    return group.AllGather(name, group.kept(1), group.kept(2));
  }
  const Tensor all = group.kept(2).view({ranks * share, columns}).narrow(0, 0, rows);
  Write(out, all.to(at::kFloat).mul(scales.back).reshape(out.sizes()));
}

}  // namespace

MP_GROUP_KERNEL(QuantMatmulAllReduce, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
                const Tensor& x2_scale, const OptTensor& x1_scale, const OptTensor& comm_scale1,
                const OptTensor& comm_scale2, int64_t group_size, string_view name, string_view reduction,
                Tensor& out) {
  const bool in_int8 = Given(comm_scale1).has_value() || Given(comm_scale2).has_value();
  if (group.step() > 0 && !in_int8) return Finish(group, out);
  if (group.step() == 0) {
    CheckSum(reduction);
    CheckPlain(x2, "x2");
    TORCH_CHECK(IsQuantized(x1), "x1 has type ", x1.scalar_type(), "; int8 and 8-bit floats are quantised");
    TORCH_CHECK(!in_int8 || x1.scalar_type() == at::kChar,
                "commQuantScale1 and commQuantScale2 belong to an int8 x1, and it has type ", x1.scalar_type());
    Tensor& work = Workspace(group, out);
    GroupGemm(group, work, x1, x2, {bias, x1_scale, x2_scale, group_size, /*bias_first=*/true});
    AddTo(group, work, x3);
    if (!in_int8) return group.AllReduce(name, work, reduction);
  }
  AllReduceInInt8(group, name, CommScalesOf(comm_scale1, comm_scale2, out.size(-1)), out);
}

namespace {

// The type that rows are quantised to when they have come, by x2's.
ScalarType DynamicType(const Tensor& x2, int64_t told) {
  constexpr int64_t kE5m2 = 35, kE4m3 = 36;
  if (x2.scalar_type() == at::kChar) return at::kChar;
  TORCH_CHECK(at::isFloat8Type(x2.scalar_type()) && (told == kE5m2 || told == kE4m3), "x2 has type ", x2.scalar_type(),
              " and x1QuantDtype is ", told,
              "; int8, or an 8-bit float with x1QuantDtype 35 (float8_e5m2) or 36 (float8_e4m3fn), is supported");
  return told == kE5m2 ? at::kFloat8_e5m2 : at::kFloat8_e4m3fn;
}

}  // namespace

// Rows are quantised when they have come, or are and have scales that come with them.
MP_GROUP_KERNEL(AlltoAllQuantMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
                const OptTensor& x1_scale, const Tensor& x2_scale, OptIntArrayRef axes, int64_t x1_mode,
                int64_t x2_mode, int64_t x1_type, int64_t group_size, bool turn1, bool turn2, string_view name,
                Tensor& out, Tensor* alltoall_out) {
  const bool mx = x1_mode == kByMx;
  if (group.step() == 0) {
    CheckPlain(x2, "x2");
    TORCH_CHECK(!turn1, "transposeX1 is set, which the device does not support either");
    TORCH_CHECK(mx ? x2_mode == kByMx : x1_mode == kByRowWhenCome && x2_mode == kByColumn, "x1QuantMode is ", x1_mode,
                " and x2QuantMode ", x2_mode,
                "; 7 (rows that are quantised when they have come) and 2, or 6 and 6 (mx), are supported");
    TORCH_CHECK(!mx || Given(x1_scale).has_value(), "x1QuantMode is 6 (mx), and x1Scale is not given");
    CheckAxes(axes, -2, -1);
    if (mx) CheckGroupSize(group_size, Blocks::kMx);
    if (!mx) DynamicType(x2, x1_type);
    return ShareRows(group, name, x1, 0);
  }
  if (mx && group.step() == 1) {
    return ShareRows(group, name, x1_scale->view(at::kByte).reshape({x1_scale->size(0), -1}), 2);
  }
  const Tensor columns = Transposed(x2, turn2);
  const Tensor rows = SideBySide(group.kept(1));
  if (alltoall_out != nullptr && alltoall_out->numel() != 0) Write(*alltoall_out, rows);
  if (mx) {
    const Tensor left = SideBySide(MxInFloat(group.kept(1), group.kept(3)));
    const Tensor value = at::matmul(left, MxColumnsInFloat(columns, x2_scale, /*by_column=*/true));
    return Write(out, Given(bias).has_value() ? value.add(bias->to(at::kFloat)) : value);
  }
  Tensor value = rows.to(at::kFloat);
  if (Given(x1_scale).has_value()) value = value.mul(x1_scale->to(at::kFloat));
  const ScalarType type = DynamicType(x2, x1_type);
  const Scaled scaled = ScaledToLargest(value, {-1}, QuantizedMaximum(at::empty({0}, value.options().dtype(type))));
  GroupGemm(group, out, Quantised(scaled.values, type), columns,
            {bias, scaled.scale.reshape({-1}), x2_scale, group_size, /*bias_first=*/true});
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// An activation between one GEMM and the next: what comes in may be quantised, what goes out is.
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

bool IsDynamic(string_view mode) {
  TORCH_CHECK(mode == "dynamic" || mode == "static" || mode.empty(), "quantMode '", std::string(mode),
              "' is neither static nor dynamic");
  return mode == "dynamic";
}

void CheckRint(string_view mode) {
  TORCH_CHECK(mode.empty() || mode == "rint" || mode == "round", "roundMode '", std::string(mode),
              "' is not supported; rint is");
}

struct Gate {
  int64_t mode = 0;
  bool activate_left = false;
  double limit = 0;
  double alpha = 1;
  double bias = 0;
};

Tensor Gated(const Tensor& x, const Gate& gate) {
  const int64_t half = x.size(-1) / 2;
  TORCH_CHECK(x.size(-1) % 2 == 0, "the last dimension is ", x.size(-1), "; a gated unit needs an even one");
  Tensor glu = gate.mode == 1 ? x.slice(-1, 0, {}, 2) : x.narrow(-1, 0, half);
  Tensor linear = gate.mode == 1 ? x.slice(-1, 1, {}, 2) : x.narrow(-1, half, half);
  TORCH_CHECK(gate.mode != 1 || gate.activate_left, "with swigluMode 1 activateLeft must be true");
  TORCH_CHECK(gate.mode == 0 || (gate.limit > 0 && std::isfinite(gate.limit)), "clampLimit is ", gate.limit,
              "; it must be positive and finite");
  if (!gate.activate_left) std::swap(glu, linear);
  switch (gate.mode) {
    case 0:
      return at::silu(glu).mul(linear);
    case 1:
    case 2:
      glu = glu.clamp_max(gate.limit);
      return glu.mul(glu.mul(gate.alpha).sigmoid()).mul(linear.clamp(-gate.limit, gate.limit).add(gate.bias));
    case 3:
      return at::silu(glu).clamp_max(gate.limit).mul(linear.clamp(-gate.limit, gate.limit));
    default:
      TORCH_CHECK(false, "swigluMode is ", gate.mode, "; 0 to 3 are known");
  }
}

struct Rows {
  Tensor x;            // the rows that belong to a group
  Tensor group;        // and which
  int64_t groups = 0;  // 0 without a list
};

// Row g of `table` for each row of a tensor; a table of one row serves all. One number for each group looks like one
// row where there are as many groups as columns: with a list it is the former.
Tensor OfGroup(const Tensor& table, const Rows& rows, int64_t width) {
  Tensor wide = table.to(at::kFloat);
  if (wide.numel() == 1) return wide.reshape({1, 1});
  if (wide.dim() == 1) {
    const bool row = wide.numel() == width && wide.numel() != rows.groups;
    wide = row ? wide.unsqueeze(0) : wide.unsqueeze(1);
  }
  return wide.size(0) == 1 ? wide : wide.index_select(0, rows.group);
}

Rows GroupedRows(const Tensor& x, const OptTensor& group_index, bool counts) {
  const Tensor rows = x.reshape({-1, x.size(-1)});
  if (!group_index.has_value()) return {rows, at::zeros({rows.size(0)}, rows.options().dtype(at::kLong))};
  const Tensor list = Long(*group_index);
  const bool pairs = list.dim() == 2;  // of a group's number and its rows
  TORCH_CHECK(!pairs || list.size(1) == 2, "groupIndex has shape ", list.sizes(),
              "; it must be [groups] or [groups, 2]");
  const Tensor place = GroupOfRow(pairs ? list.select(1, 1) : list, counts || pairs, rows.size(0));
  const int64_t used = place.ge(0).sum().item<int64_t>();
  const Tensor group = place.narrow(0, 0, used);
  return {rows.narrow(0, 0, used), pairs ? list.select(1, 0).index_select(0, group) : group, list.size(0)};
}

// Writes the first rows; those behind the last group keep what they had, as on the device.
void WriteRows(Tensor& y, const Tensor& value) {
  Tensor first = y.view({-1, y.size(-1)}).narrow(0, 0, value.size(0));
  const double largest = QuantizedMaximum(y);  // of y itself: a view does not tell INT4 from int8
  WriteQuantized(first, first.scalar_type() == at::kChar ? value.round().clamp_(-largest - 1, largest) : value);
}
void WriteFirst(Tensor& out, const Tensor& value) {
  out.view({-1}).narrow(0, 0, value.numel()).copy_(value.reshape({-1}));
}

struct Dequant {
  const OptTensor& weight_scale;
  const OptTensor& activation_scale;
  const OptTensor& bias;
};

Tensor Dequantised(const Rows& rows, const Dequant& d) {
  if (rows.x.scalar_type() != at::kInt) {
    TORCH_CHECK(!d.weight_scale.has_value() && !d.activation_scale.has_value() && !d.bias.has_value(),
                "weightScale, activationScale and bias go with an int32 x; it is ", rows.x.scalar_type());
    return rows.x.to(at::kFloat);
  }
  TORCH_CHECK(d.weight_scale.has_value(), "x is int32, which needs weightScale; it is NULL");
  const int64_t width = rows.x.size(1);
  Tensor value = rows.x.to(at::kDouble);  // int32 sums do not fit into a float
  const bool early = d.bias.has_value() && d.bias->scalar_type() == at::kInt;
  if (early) value = value.add(OfGroup(*d.bias, rows, width).to(at::kDouble));
  value = value.to(at::kFloat).mul(OfGroup(*d.weight_scale, rows, width));
  if (d.activation_scale.has_value()) {
    const Tensor scale = d.activation_scale->to(at::kFloat).reshape({-1, 1});
    value = value.mul(scale.size(0) == 1 ? scale : scale.narrow(0, 0, value.size(0)));
  }
  if (d.bias.has_value() && !early) value = value.add(OfGroup(*d.bias, rows, width));
  return value;
}

void DequantSwigluQuant(const Tensor& x, const Dequant& dequant, const OptTensor& quant_scale,
                        const OptTensor& quant_offset, const OptTensor& group_index, string_view quant_mode,
                        const Gate& gate, Tensor& y, Tensor& scale_out) {
  const Rows rows = GroupedRows(x, group_index, /*counts=*/true);
  Tensor value = Gated(Dequantised(rows, dequant), gate);
  const int64_t width = value.size(1);
  if (IsDynamic(quant_mode)) {
    TORCH_CHECK(!quant_offset.has_value(), "quantOffset goes with quantMode static only");
    if (quant_scale.has_value()) value = value.mul(OfGroup(*quant_scale, rows, width));
    const Scaled scaled = ScaledToLargest(value, {-1}, QuantizedMaximum(y));
    WriteRows(y, scaled.values);
    WriteFirst(scale_out, scaled.scale);
    return;
  }
  TORCH_CHECK(quant_scale.has_value(), "quantMode static needs quantScale, which is NULL");
  value = value.div(OfGroup(*quant_scale, rows, width));
  if (quant_offset.has_value()) value = value.add(OfGroup(*quant_offset, rows, width));
  WriteRows(y, value);
  scale_out.zero_();
}

}  // namespace

MP_KERNEL(aclnnGeluQuant, const Tensor& self, const OptTensor& scale, const OptTensor& offset, string_view approximate,
          string_view quant_mode, string_view round_mode, Tensor& y, Tensor* scale_out) {
  TORCH_CHECK(round_mode.empty() || round_mode == "rint", "roundMode '", std::string(round_mode),
              "' is not supported; rint is");
  TORCH_CHECK(approximate == "none" || approximate == "tanh", "approximate '", std::string(approximate),
              "' is neither none nor tanh");
  Tensor value = at::gelu(self.to(at::kFloat), approximate == "tanh" ? "tanh" : "none");
  if (scale.has_value()) value = value.mul(scale->to(at::kFloat));
  if (!IsDynamic(quant_mode)) {
    TORCH_CHECK(scale.has_value(), "quantMode static needs inputScale, which is NULL");
    WriteQuantized(y, offset.has_value() ? value.add(offset->to(at::kFloat)) : value);
    return;
  }
  TORCH_CHECK(scale_out != nullptr, "quantMode dynamic needs outScale, which is NULL");
  const Scaled scaled = ScaledToLargest(value, {-1}, QuantizedMaximum(y));
  WriteQuantized(y, scaled.values);
  WriteElements(*scale_out, scaled.scale);
}

MP_KERNEL(aclnnSwiGluQuantV2, const Tensor& x, const OptTensor& smooth, const OptTensor& offsets,
          const OptTensor& group_index, bool activate_left, string_view quant_mode, int64_t group_list_type,
          int64_t dst_type, Tensor& y, Tensor& scale_out) {
  constexpr int64_t kInt8Type = 2;
  constexpr int64_t kInt4Type = 29;
  TORCH_CHECK(group_list_type == 0 || group_list_type == 1, "groupListType is ", group_list_type,
              "; 0 (ends) and 1 (counts) are known");
  TORCH_CHECK(dst_type == (IsInt4(y) ? kInt4Type : kInt8Type), "dstType ", dst_type,
              " is not supported with this output; it must be 2 for INT8 and 29 for INT4");
  TORCH_CHECK(y.scalar_type() == at::kChar, "the output has type ", y.scalar_type(), "; int8 is supported");
  const Rows rows = GroupedRows(x, group_index, group_list_type == 1);
  Tensor value = Gated(rows.x.to(at::kFloat), {.activate_left = activate_left});
  const int64_t width = value.size(1);
  if (smooth.has_value()) value = value.mul(OfGroup(*smooth, rows, width));
  if (!IsDynamic(quant_mode)) {
    if (offsets.has_value()) value = value.add(OfGroup(*offsets, rows, width));
    WriteRows(y, value);
    scale_out.zero_();
    return;
  }
  const Scaled scaled = ScaledToLargest(value, {-1}, QuantizedMaximum(y));
  WriteRows(y, scaled.values);
  WriteFirst(scale_out, scaled.scale.reciprocal());  // this one operator gives the factor, not the step
}

MP_KERNEL(aclnnDequantSwigluQuantV2, const Tensor& x, const OptTensor& weight_scale, const OptTensor& activation_scale,
          const OptTensor& bias, const OptTensor& quant_scale, const OptTensor& quant_offset,
          const OptTensor& group_index, bool activate_left, string_view quant_mode, string_view round_mode,
          int64_t activate_dim, int64_t swiglu_mode, double limit, double alpha, double glu_bias, Tensor& y,
          Tensor& scale_out) {
  CheckRint(round_mode);
  TORCH_CHECK(at::maybe_wrap_dim(activate_dim, x.dim()) == x.dim() - 1, "activateDim is ", activate_dim,
              "; only the last is supported");
  DequantSwigluQuant(x, {weight_scale, activation_scale, bias}, quant_scale, quant_offset, group_index, quant_mode,
                     {swiglu_mode, activate_left, limit, alpha, glu_bias}, y, scale_out);
}

}  // namespace millpond::kernels

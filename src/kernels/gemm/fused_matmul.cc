// SPDX-License-Identifier: Apache-2.0
// GEMM with packed weights, and attention.
#include <ATen/core/dispatch/Dispatcher.h>

#include "src/kernels/gemm/fused.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

// oneDNN's matrix has a row for each column of the result.
Tensor PackedMatrix(const Tensor& weight, bool transposed, int64_t rows) {
  static const auto call = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("mkldnn::_reorder_linear_weight", "")
                               .typed<Tensor(const Tensor&, std::optional<int64_t>)>();
  return call.call(transposed ? weight : weight.t().contiguous(), rows);
}

Tensor Linear(const Tensor& x, const Tensor& weight, const OptTensor& bias, const OptTensor& addend,
              const PostOp& post) {
  using List = c10::List<std::optional<Scalar>>;
  if (!addend.has_value()) {
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("mkldnn::_linear_pointwise", "")
                                 .typed<Tensor(const Tensor&, const Tensor&, const OptTensor&, string_view, List,
                                               std::optional<string_view>)>();
    return call.call(x, weight, bias, post.attr, PostOp::NoScalars(), post.algorithm);
  }
  static const auto call =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_linear_pointwise", "binary")
          .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const OptTensor&, string_view)>();
  return call.call(x, *addend, weight, bias, "add");
}

bool FitsTiles(const Tensor& weight) {
  return IsPackingWorthwhile() && weight.dim() == 2 && weight.scalar_type() == at::kFloat && weight.numel() > 0;
}

Rhs ShapeOf(const Tensor& weight, bool transposed) {
  return {weight.size(transposed ? 1 : 0), weight.size(transposed ? 0 : 1)};
}

void GemmTiles(const Tensor& x, const Tensor& packed, const OptTensor& bias, const OptTensor& addend, int64_t columns,
               bool relu, Tensor& y) {
  const Rhs shape{x.size(-1), columns};
  const float* right = UnpackRhs(packed.const_data_ptr(), static_cast<int64_t>(packed.nbytes()), shape);
  TORCH_CHECK(y.is_contiguous(), "the GEMM's result is not contiguous");
  const Tensor added = addend.has_value() ? addend->expand(y.sizes()).contiguous() : Tensor();
  const Tensor shift = bias.has_value() ? bias->expand({columns}).contiguous() : Tensor();
  const Epilogue epilogue{.bias = shift.defined() ? shift.const_data_ptr<float>() : nullptr,
                          .addend = added.defined() ? added.const_data_ptr<float>() : nullptr,
                          .relu = relu};
  Gemm(x.const_data_ptr<float>(), x.numel() / shape.depth, right, shape, epilogue, y.data_ptr<float>());
}

// From a layout's order of dimensions to batch, heads, sequence, depth.
Tensor Heads(const Tensor& value, string_view layout) {
  std::vector<int64_t> order;
  for (const char letter : {'b', 'h', 's', 'd'}) {
    const size_t at = layout.find(letter);
    TORCH_CHECK(at < 4 && layout.size() == 4, "'", layout, "' is no layout of heads");
    order.push_back(static_cast<int64_t>(at));
  }
  return value.permute(order);
}

}  // namespace

MP_KERNEL(OwnFusedMatMul, const Tensor& x, const Tensor& weight, const OptTensor& bias, const OptTensor& addend,
          int64_t columns, bool transposed, string_view activation, Tensor& y) {
  TORCH_CHECK(!addend.has_value() || activation == "none", "an addend and an activation in one GEMM");
  // In a graph with unknown shapes an addend may turn out smaller or larger than the result.
  std::vector<int64_t> own = x.sizes().vec();
  own.back() = columns;
  if (addend.has_value() && (addend->sizes() != own || y.sizes() != own)) {
    Tensor product = IsTiled(weight)    ? at::empty(own, y.options())
                     : IsPacked(weight) ? Linear(x, Unpack(weight, {columns, x.size(-1)}), bias, {}, PostOp("none"))
                     : transposed       ? at::linear(x, weight)
                                        : at::matmul(x, weight);
    if (IsTiled(weight)) GemmTiles(x.contiguous(), weight, bias, {}, columns, false, product);
    const Tensor sum = product + *addend;
    return Write(y, bias.has_value() && !IsTiled(weight) && !IsPacked(weight) ? sum + *bias : sum);
  }
  if (IsTiled(weight)) {
    GemmTiles(x.contiguous(), weight, bias, addend, columns, activation == "relu", y);
    if (activation != "relu") Activate(y, activation);
    return;
  }
  if (IsPacked(weight)) {
    const Tensor packed = Unpack(weight, {columns, x.size(-1)});
    Produce(y, [&] { return Linear(x, packed, bias, addend, PostOp(activation)); });
    return;
  }
  Produce(y, [&] {
    Tensor value = transposed ? at::linear(x, weight) : at::matmul(x, weight);
    if (bias.has_value()) value.add_(*bias);
    if (addend.has_value()) value.add_(*addend);
    Activate(value, activation);
    return value;
  });
}

MP_KERNEL(OwnMatMulPackedBytes, const Tensor& weight, bool transposed, int64_t rows, Tensor& y) {
  if (FitsTiles(weight)) {
    y.fill_(PackedRhsBytes(ShapeOf(weight, transposed)));
    return;
  }
  y.fill_(PackedBytes(PackedMatrix(weight, transposed, rows)));
}

MP_KERNEL(OwnMatMulPack, const Tensor& weight, bool transposed, int64_t rows, Tensor& y) {
  if (FitsTiles(weight)) {
    const int64_t by_depth = weight.stride(transposed ? 1 : 0);
    const int64_t by_column = weight.stride(transposed ? 0 : 1);
    PackRhs(ShapeOf(weight, transposed), weight.const_data_ptr<float>(), by_depth, by_column, y.data_ptr());
    return;
  }
  Pack(PackedMatrix(weight, transposed, rows), y);
}

MP_KERNEL(OwnAttention, const Tensor& q, const Tensor& k, const Tensor& v, const OptTensor& mask, double scale,
          string_view q_layout, string_view k_layout, string_view v_layout, string_view y_layout, Tensor& y) {
  Tensor result = Heads(y, y_layout);
  // Batches, heads and rows that only some have, in a graph with unknown shapes: the result has them all.
  const auto wide = [&](const Tensor& value, int64_t rows) {
    return value.expand({result.size(0), result.size(1), rows, value.size(3)});
  };
  const Tensor queries = wide(Heads(q, q_layout), result.size(2));
  const Tensor keys = wide(Heads(k, k_layout), -1);
  const Tensor values = wide(Heads(v, v_layout), -1);
  // ATen reads the mask's rows and columns, which a single number does not have.
  const bool flat = mask.has_value() && mask->dim() < 2;
  const OptTensor rows = flat ? OptTensor(mask->expand({queries.size(-2), keys.size(-2)})) : mask;
  result.copy_(at::scaled_dot_product_attention(queries, keys, values, rows, /*dropout_p=*/0.0,
                                                /*is_causal=*/false, scale));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Fuses a GEMM with constant RHS and what follows it.
#include "src/graph/passes/activations.h"
#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {
namespace {

class MatMulFusion : public FusingPass {
  using FusingPass::FusingPass;

  Status Visit(const ir::NodePtr& node) override {
    Product product;
    return Read(node, &product) ? Fuse(&product) : Ok();
  }

  struct Product {
    ir::NodePtr node;
    ir::NodePtr last;
    int64_t columns = 0;      // of the result
    bool transposed = false;  // the matrix is [columns, inner]
    ir::Endpoint bias, addend;
    std::string activation = kNoActivation;
  };

  bool Read(const ir::NodePtr& node, Product* product) const {
    const bool batched = node->type == "BatchMatMulV2" || node->type == "BatchMatMul";
    const bool plain = node->type == "MatMul" || node->type == "MatMulV2";
    if (!batched && !plain && node->type != "MillpondMatMul") return false;
    if (!fuser_.MayMove(*node) || !Fuser::IsFloat({node, 0})) return false;
    const ir::Endpoint x = Fuser::At(*node, 0);
    if (!Fuser::IsFloat(x) || Fuser::RankOf(x) < 2 || fuser_.IsMutable(x)) return false;
    const ir::TensorPtr matrix = Fuser::ConstOf(Fuser::At(*node, 1), DType::kFloat);
    if (matrix == nullptr || matrix->desc.dims.size() != 2 || ir::ElementsOf(matrix->desc.dims) == 0) return false;
    if (Fuser::BoolAttr(*node, batched ? "adj_x1" : "transpose_x1", false)) return false;
    if (Fuser::IntAttr(*node, "offset_x", 0) != 0 || Fuser::At(*node, 3).node != nullptr) return false;
    product->node = product->last = node;
    product->transposed = Fuser::BoolAttr(*node, batched ? "adj_x2" : "transpose_x2", false);
    product->columns = matrix->desc.dims[product->transposed ? 0 : 1];
    if (const ir::Endpoint bias = Fuser::At(*node, 2); bias.node != nullptr) {
      if (!IsBias(bias, *product)) return false;
      product->bias = bias;
    }
    return true;
  }

  static bool IsBias(const ir::Endpoint& value, const Product& product) {
    const ir::TensorPtr row = Fuser::ConstOf(value, DType::kFloat);
    return row != nullptr && ir::ElementsOf(row->desc.dims) == product.columns &&
           (product.columns == 1 || row->desc.dims.back() == product.columns);
  }

  Status Fuse(Product* product) {
    Sum(product, [&](const ir::Endpoint& other) {
      if (product->bias.node != nullptr || !IsBias(other, *product)) return false;
      product->bias = other;
      return true;
    });
    const bool added = Sum(product, [&](const ir::Endpoint& other) {
      if (!Fuser::IsFloat(other) || fuser_.IsMutable(other)) return false;
      const ir::TensorDesc& own = product->last->outputs[0];
      const ir::TensorDesc& that = Fuser::DescOf(other);
      // As for convolutions: what turns out at run time the node can handle.
      if (Fuser::RankOf(other) < 0 || own.dims != that.dims) return false;
      product->addend = other;
      return true;
    });
    if (!added) {
      const ir::NodePtr after = fuser_.SoleReader({product->last, 0});
      const std::string activation = after != nullptr ? ActivationOf(*after) : "";
      if (!activation.empty()) {
        product->activation = activation;
        product->last = after;
      }
    }
    return Emit(*product);
  }

  // Absorbs the sum that reads the result, if `take` accepts the other operand.
  template <class Take>
  bool Sum(Product* product, Take take) {
    const ir::NodePtr sum = fuser_.SoleReader({product->last, 0});
    ir::Endpoint other;
    if (sum == nullptr || (sum->type != "Add" && sum->type != "BiasAdd")) return false;
    if (!Fuser::Pairs(*sum, {product->last, 0}, &other) || !take(other)) return false;
    product->last = sum;
    return true;
  }

  Status Emit(const Product& product) {
    ir::Endpoint bias = product.bias;
    const ir::TensorPtr row = bias.node != nullptr ? Fuser::ConstOf(bias, DType::kFloat) : nullptr;
    if (row != nullptr && row->desc.dims.size() != 1) {
      ir::NodePtr flat;
      MP_RETURN_IF_ERROR(fuser_.NewConst(*product.node, DType::kFloat, {product.columns}, row->data.data, &flat));
      bias = {flat, 0};
    }
    ir::Attributes attributes;
    attributes["columns"].value = product.columns;
    attributes["transposed"].value = product.transposed;
    attributes["activation"].value = product.activation;
    const Fuser::Operand inputs[] = {{"x", Fuser::At(*product.node, 0)},
                                     {"weight", Fuser::At(*product.node, 1)},
                                     {"bias", bias},
                                     {"addend", product.addend}};
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(fuser_.NewNode("MillpondFusedMatMul", *product.node, inputs, product.last->outputs[0],
                                      std::move(attributes), &made));
    return fuser_.Fuse({product.last, 0}, made);
  }
};

}  // namespace

Status FuseMatMul(ir::Graph* graph, bool* out_changed) { return MatMulFusion(graph).Run(out_changed); }

}  // namespace millpond::passes

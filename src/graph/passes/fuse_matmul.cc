// SPDX-License-Identifier: Apache-2.0
// Fuses a GEMM with constant RHS and what follows it.
#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tail.h"

namespace millpond::passes {
namespace {

class MatMulFusion : public TailFusingPass {
 public:
  using TailFusingPass::TailFusingPass;

 private:
  Status Visit(const ir::NodePtr& node) override {
    MatMul matmul;
    return Read(node, &matmul) ? Fuse(&matmul) : Ok();
  }

  struct MatMul : Tail {
    int64_t columns = 0;      // of the result
    bool transposed = false;  // the matrix is [columns, inner]
    ir::Endpoint bias;
  };

  bool Read(const ir::NodePtr& node, MatMul* matmul) const {
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
    matmul->node = matmul->last = node;
    matmul->transposed = Fuser::BoolAttr(*node, batched ? "adj_x2" : "transpose_x2", false);
    matmul->columns = matrix->desc.dims[matmul->transposed ? 0 : 1];
    if (const ir::Endpoint bias = Fuser::At(*node, 2); bias.node != nullptr) {
      if (!IsBias(bias, *matmul)) return false;
      matmul->bias = bias;
    }
    return true;
  }

  static bool IsBias(const ir::Endpoint& value, const MatMul& matmul) {
    const ir::TensorPtr row = Fuser::ConstOf(value, DType::kFloat);
    return row != nullptr && ir::ElementsOf(row->desc.dims) == matmul.columns &&
           (matmul.columns == 1 || row->desc.dims.back() == matmul.columns);
  }

  Status Fuse(MatMul* matmul) {
    AbsorbSum(matmul, [&](const ir::Node&, const ir::Endpoint& other) {
      if (matmul->bias.node != nullptr || !IsBias(other, *matmul)) return false;
      matmul->bias = other;
      return true;
    });
    const bool added = AbsorbSum(matmul, [&](const ir::Node&, const ir::Endpoint& other) {
      if (!IsAddend(*matmul, other)) return false;
      matmul->addend = other;
      return true;
    });
    if (!added) AbsorbActivation(matmul);
    return Emit(*matmul);
  }

  Status Emit(const MatMul& matmul) {
    ir::Endpoint bias = matmul.bias;
    const ir::TensorPtr row = bias.node != nullptr ? Fuser::ConstOf(bias, DType::kFloat) : nullptr;
    if (row != nullptr && row->desc.dims.size() != 1) {
      ir::NodePtr flat;
      MP_RETURN_IF_ERROR(fuser_.NewConst(*matmul.node, DType::kFloat, {matmul.columns}, row->data.data, &flat));
      bias = {flat, 0};
    }
    ir::Attributes attributes;
    attributes["columns"].value = matmul.columns;
    attributes["transposed"].value = matmul.transposed;
    attributes["activation"].value = matmul.activation;
    const Fuser::Operand inputs[] = {{"x", Fuser::At(*matmul.node, 0)},
                                     {"weight", Fuser::At(*matmul.node, 1)},
                                     {"bias", bias},
                                     {"addend", matmul.addend}};
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(fuser_.NewNode("MillpondFusedMatMul", *matmul.node, inputs, matmul.last->outputs[0],
                                      std::move(attributes), &made));
    return fuser_.Fuse({matmul.last, 0}, made);
  }
};

}  // namespace

Status FuseMatMul(ir::Graph* graph, bool* out_changed) { return MatMulFusion(graph).Run(out_changed); }

}  // namespace millpond::passes

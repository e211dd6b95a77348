// SPDX-License-Identifier: Apache-2.0
// Removes transposes that cancel out, or only move dimensions of size 1.
#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {
namespace {

using Perm = std::vector<int64_t>;

bool IsIdentity(const Perm& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Dimensions larger than 1 keep their order, so the bytes do not move.
bool KeepsBytes(const Perm& perm, const ir::Dims& dims) {
  int64_t last = -1;
  for (const int64_t dim : perm) {
    if (dims[static_cast<size_t>(dim)] == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

class Transposes : public FusingPass {
  using FusingPass::FusingPass;

  Status Visit(const ir::NodePtr& node) override {
    if (!fuser_.MayMove(*node)) return Ok();
    Perm perm = Fuser::PermOf(*node);
    ir::Endpoint x = Fuser::At(*node, 0);
    if (perm.empty() || x.node == nullptr || Fuser::RankOf(x) != static_cast<int>(perm.size())) return Ok();
    bool joined = false;
    for (Perm inner = Fuser::PermOf(*x.node); inner.size() == perm.size() && fuser_.MayMove(*x.node);
         inner = Fuser::PermOf(*x.node)) {
      for (int64_t& dim : perm) dim = inner[static_cast<size_t>(dim)];
      x = Fuser::At(*x.node, 0);
      joined = true;
    }
    if (IsIdentity(perm)) return fuser_.Replace({node, 0}, x);
    const ir::TensorDesc& desc = Fuser::DescOf(x);
    if (desc.is_static() && KeepsBytes(perm, desc.dims)) return AsReshape(node, x);
    if (!joined) return Ok();
    ir::NodePtr made;
    const Fuser::Operand inputs[] = {{"x", x}};
    ir::Attributes attributes;
    attributes["perm"].value = std::move(perm);
    MP_RETURN_IF_ERROR(fuser_.NewNode("TransposeD", *node, inputs, node->outputs[0], std::move(attributes), &made));
    return fuser_.Replace({node, 0}, {made, 0});
  }

  Status AsReshape(const ir::NodePtr& node, const ir::Endpoint& x) {
    const ir::Dims& dims = node->outputs[0].dims;
    ir::NodePtr shape, made;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*node, DType::kInt64, {static_cast<int64_t>(dims.size())}, dims.data(), &shape));
    const Fuser::Operand inputs[] = {{"x", x}, {"shape", {shape, 0}}};
    MP_RETURN_IF_ERROR(fuser_.NewNode("Reshape", *node, inputs, node->outputs[0], {}, &made));
    return fuser_.Replace({node, 0}, {made, 0});
  }
};

}  // namespace

Status RemoveTransposes(ir::Graph* graph, bool* out_changed) { return Transposes(graph).Run(out_changed); }

}  // namespace millpond::passes

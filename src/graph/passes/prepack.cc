// SPDX-License-Identifier: Apache-2.0
// Packs constant filters and matrices of fused nodes for their kernels. Kernels do the packing too: one returns the
// size in bytes, the other packs.
#include <algorithm>
#include <cstring>

#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {
namespace {

class Packing {
 public:
  Packing(ir::Graph* graph, const PassEnvironment& environment) : fuser_(graph), environment_(environment) {}

  Status Run(bool* out_changed) {
    const std::vector<ir::NodePtr> nodes(fuser_.graph()->nodes().begin(), fuser_.graph()->nodes().end());
    for (const ir::NodePtr& node : nodes) {
      if (node->type == "MillpondFusedConv") MP_RETURN_IF_ERROR(Conv(node));
      if (node->type == "MillpondFusedMatMul") MP_RETURN_IF_ERROR(MatMul(node));
    }
    fuser_.Finish();
    *out_changed |= fuser_.changed();
    return Ok();
  }

 private:
  static constexpr size_t kConstant = 1;  // the place of filter and weight
  // Assumed for unknown sizes. Weights packed for them work for others too.
  static constexpr int64_t kLikelyPixels = 56;
  static constexpr int64_t kLikelyRows = 128;

  Status Conv(const ir::NodePtr& node) {
    const ir::TensorDesc& x = Fuser::DescOf(Fuser::At(*node, 0));
    if (!Fuser::BoolAttr(*node, "channels_last", false) || Fuser::RankOf(Fuser::At(*node, 0)) != 4) return Ok();
    const auto size = [&](size_t dim, int64_t likely) { return x.dims[dim] < 0 ? likely : x.dims[dim]; };
    if (x.dims[3] <= 0) return Ok();
    ir::Attributes attributes;
    for (const char* name : {"strides", "pads", "dilations", "groups"}) attributes[name] = node->attributes[name];
    attributes["input_dims"].value =
        std::vector<int64_t>{size(0, 1), x.dims[3], size(1, kLikelyPixels), size(2, kLikelyPixels)};
    return Pack(node, "filter", "MillpondConvPack", std::move(attributes));
  }

  Status MatMul(const ir::NodePtr& node) {
    const ir::TensorDesc& x = Fuser::DescOf(Fuser::At(*node, 0));
    if (Fuser::RankOf(Fuser::At(*node, 0)) < 1 || x.dims.back() <= 0) return Ok();
    int64_t rows = 1;
    bool known = true;
    for (size_t i = 0; i + 1 < x.dims.size(); ++i) {
      known &= x.dims[i] >= 0;
      rows *= x.dims[i] >= 0 ? x.dims[i] : 1;
    }
    if (rows == 0) return Ok();
    if (!known) rows = std::max(rows, kLikelyRows);
    ir::Attributes attributes;
    attributes["transposed"] = node->attributes["transposed"];
    attributes["rows"].value = rows;
    return Pack(node, "weight", "MillpondMatMulPack", std::move(attributes));
  }

  Status Pack(const ir::NodePtr& node, const char* operand, const std::string& type, ir::Attributes attributes) {
    const ir::Endpoint from = Fuser::At(*node, kConstant);
    const ir::TensorPtr plain = Fuser::ConstOf(from, DType::kFloat);
    if (plain == nullptr || plain->data.size == 0) return Ok();
    std::vector<ir::TensorPtr> made;
    if (!RunOn(type + "edBytes", operand, plain, attributes, &made)) return Ok();
    int64_t bytes = 0;
    std::memcpy(&bytes, made[0]->data.data, sizeof bytes);
    if (bytes <= 0) return Ok();
    attributes["bytes"].value = std::vector<int64_t>{bytes};
    if (!RunOn(type, operand, plain, attributes, &made)) return Ok();
    ir::NodePtr packed;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*node, made[0], &packed));
    const ir::NodePtr old = from.node;
    packed->attributes[std::string(kOriginNames)].value = std::vector<std::string>{old->name};
    packed->attributes[std::string(kOriginTypes)].value = std::vector<std::string>{old->type};
    node->inputs[kConstant].desc = packed->outputs[0];
    node->inputs[kConstant].desc.name = operand;
    MP_RETURN_IF_ERROR(node->Connect(kConstant, packed, 0));
    fuser_.Drop(old);
    return Ok();
  }

  // A kernel that cannot pack is not a failure: the plain constant works too.
  bool RunOn(const std::string& type, const char* operand, const ir::TensorPtr& value, const ir::Attributes& attributes,
             std::vector<ir::TensorPtr>* out) const {
    ir::Node node(type, type);
    node.attributes = attributes;
    node.inputs.emplace_back();
    node.inputs[0].desc = value->desc;
    node.inputs[0].desc.name = operand;
    node.outputs.emplace_back();
    node.outputs[0].name = "y";
    out->clear();
    return environment_.run(node, std::span(&value, 1), out).ok() && out->size() == 1 && (*out)[0] != nullptr;
  }

  Fuser fuser_;
  const PassEnvironment& environment_;
};

}  // namespace

Status Prepack(ir::Graph* graph, const PassEnvironment& environment, bool* out_changed) {
  if (!environment.run) return Ok();
  return Packing(graph, environment).Run(out_changed);
}

}  // namespace millpond::passes

// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/precision.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/rewrite.h"

namespace millpond::passes {

namespace {

bool Rounds(DType type) { return type == DType::kFloat || type == DType::kBfloat16; }

// `from` in half precision, in its own type again.
Status AddRounded(ir::Graph* graph, const ir::Endpoint& from, ir::NodePtr* out) {
  ir::NodePtr half;
  MP_RETURN_IF_ERROR(AddCast(graph, from, DType::kHalf, &half));
  return AddCast(graph, {half, 0}, from.node->outputs[static_cast<size_t>(from.index)].dtype, out);
}

// Everyone who reads `from`, and the graph's outputs, get the rounded value.
Status RoundOutput(ir::Graph* graph, const ir::Endpoint& from, Returned* returned) {
  ir::NodePtr rounded;
  MP_RETURN_IF_ERROR(AddRounded(graph, from, &rounded));
  MP_RETURN_IF_ERROR(ReplaceUses(from, {rounded, 0}, returned));
  return rounded->inputs[0].source->Connect(0, from.node, from.index);  // it reads the value itself
}

bool IsMatrixOperator(const ir::Node& node) {
  static constexpr const char* kTypes[] = {"MatMul",
                                           "MatMulV2",
                                           "MatMulV3",
                                           "BatchMatMul",
                                           "BatchMatMulV2",
                                           "BatchMatMulV3",
                                           "GEMM",
                                           "FullyConnection",
                                           "Conv2D",
                                           "Conv2DV2",
                                           "Conv3D",
                                           "Conv3DV2",
                                           "DepthwiseConv2D",
                                           "Conv2DTranspose",
                                           "Conv2DTransposeD",
                                           "Conv3DTranspose",
                                           "Deconvolution",
                                           "ConvTranspose",
                                           "Conv2DBackpropInput",
                                           "Conv2DBackpropFilter",
                                           "Convolution",
                                           "Conv2DCompress"};
  return std::any_of(std::begin(kTypes), std::end(kTypes), [&](const char* type) { return node.type == type; });
}

Status RoundMatrixInputs(ir::Graph* graph, const ir::NodePtr& node) {
  for (size_t place = 0; place < std::min<size_t>(node->inputs.size(), 2); ++place) {  // not the bias
    const ir::Input input = node->inputs[place];
    if (input.source == nullptr || input.source->outputs[static_cast<size_t>(input.index)].dtype != DType::kFloat) {
      continue;
    }
    ir::NodePtr rounded;
    MP_RETURN_IF_ERROR(AddRounded(graph, {input.source, input.index}, &rounded));
    MP_RETURN_IF_ERROR(node->Connect(place, rounded, 0));
  }
  return Ok();
}

}  // namespace

Status AddCast(ir::Graph* graph, const ir::Endpoint& from, DType type, ir::NodePtr* out) {
  auto cast = std::make_shared<ir::Node>(FreeName(*graph, from.node->name + "_" + std::to_string(from.index) + "_cast"),
                                         "Cast");
  cast->inputs.emplace_back().desc = from.node->outputs[static_cast<size_t>(from.index)];
  cast->inputs[0].desc.name = "x";
  cast->outputs.push_back(cast->inputs[0].desc);
  cast->outputs[0].name = "y";
  cast->outputs[0].dtype = type;
  cast->attributes["dst_type"].value = static_cast<int64_t>(type);
  MP_RETURN_IF_ERROR(graph->AddNode(cast));
  MP_RETURN_IF_ERROR(cast->Connect(0, from.node, from.index));
  *out = std::move(cast);
  return Ok();
}

Status RoundToHalf(ir::Graph* graph, Rounding rounding, bool* out_changed) {
  const MutableOutputs changed_in_place(*graph);
  Returned returned(graph);
  const std::vector<ir::NodePtr> nodes(graph->nodes().begin(), graph->nodes().end());
  for (const ir::NodePtr& node : nodes) {
    if (rounding == Rounding::kMatrixInputs) {
      if (IsMatrixOperator(*node)) MP_RETURN_IF_ERROR(RoundMatrixInputs(graph, node));
      continue;
    }
    if (KindOf(*node) == Kind::kVariable) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      const auto index = static_cast<int32_t>(i);
      if (!Rounds(node->outputs[i].dtype) || changed_in_place.Contains(node.get(), index)) continue;
      MP_RETURN_IF_ERROR(RoundOutput(graph, {node, index}, &returned));
    }
  }
  *out_changed = true;
  return Ok();
}

}  // namespace millpond::passes

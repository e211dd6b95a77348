// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "src/api/ge/shared/summary.h"
#include "src/base/json.h"

namespace millpond::geapi {

namespace {

std::string DescJson(const ir::TensorDesc& desc) {
  std::string dims;
  for (const int64_t dim : desc.dims) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  return "{\"name\":" + JsonQuoted(desc.name) + ",\"dtype\":" + JsonQuoted(DTypeName(desc.dtype)) +
         ",\"shape\":" + (desc.has_shape ? "[" + dims + "]" : "null") + "}";
}

std::string NodeJson(const ir::Node& node) {
  std::string text = "{\"name\":" + JsonQuoted(node.name) + ",\"type\":" + JsonQuoted(node.type) + ",\"inputs\":[";
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ir::Input& input = node.inputs[i];
    if (i > 0) text += ',';
    text += input.source == nullptr ? "null" : JsonQuoted(input.source->name + ":" + std::to_string(input.index));
  }
  text += "],\"outputs\":[";
  for (size_t i = 0; i < node.outputs.size(); ++i) text += (i > 0 ? "," : "") + DescJson(node.outputs[i]);
  text += "],\"controls\":[";
  for (size_t i = 0; i < node.controls.size(); ++i) {
    text += (i > 0 ? "," : "") + JsonQuoted(node.controls[i] == nullptr ? "" : node.controls[i]->name);
  }
  return text + "]}";
}

}  // namespace

std::string GraphJson(const ir::Graph& graph) {
  std::string text = "{\"name\":" + JsonQuoted(graph.name) + ",\"nodes\":[";
  bool first = true;
  for (const ir::NodePtr& node : graph.nodes()) {
    if (!first) text += ',';
    text += '\n' + NodeJson(*node);
    first = false;
  }
  text += "],\"outputs\":[";
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::Endpoint& output = graph.outputs[i];
    text += (i > 0 ? "," : "") +
            JsonQuoted((output.node == nullptr ? "" : output.node->name) + ":" + std::to_string(output.index));
  }
  text += "],\"subgraphs\":[";
  first = true;
  for (const ir::GraphPtr& subgraph : graph.subgraphs()) {
    if (!first) text += ',';
    text += '\n' + GraphJson(*subgraph);
    first = false;
  }
  return text + "]}";
}

}  // namespace millpond::geapi

// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/types.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/exec/session/error.h"
#include "src/graph/passes/precision.h"

namespace millpond {

namespace {

constexpr char kHalfInputs[] = "ge.INPUT_NODES_SET_FP16";
constexpr char kOutputTypes[] = "ge.outputDatatype";

std::vector<std::string> Items(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const size_t end = text.find(';');
    if (end != 0) items.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return items;
}

std::optional<DType> TypeNamed(std::string_view name) {
  if (name == "FP32") return DType::kFloat;
  if (name == "FP16") return DType::kHalf;
  if (name == "UINT8") return DType::kUint8;
  if (name == "INT8") return DType::kInt8;
  return std::nullopt;
}

Status FeedAsHalf(ir::Graph* graph, const ir::NodePtr& data) {
  const DType type = data->outputs[0].dtype;
  if (type == DType::kHalf) return Ok();
  const auto reads = data->Reads();
  ir::NodePtr cast;
  MP_RETURN_IF_ERROR(passes::AddCast(graph, {data, 0}, type, &cast));
  for (ir::Input& input : data->inputs) input.desc.dtype = DType::kHalf;
  data->outputs[0].dtype = cast->inputs[0].desc.dtype = DType::kHalf;
  return ReadInstead(graph, reads, data, cast);
}

Status CastOutput(ir::Graph* graph, size_t which, DType type) {
  ir::NodePtr cast;
  MP_RETURN_IF_ERROR(passes::AddCast(graph, graph->outputs[which], type, &cast));
  graph->outputs[which] = {std::move(cast), 0};
  return Ok();
}

// "node:0:FP16": the outputs of the graph that it means.
Status ReadOutputType(const ir::Graph& graph, const std::string& item, std::vector<size_t>* which, DType* type) {
  const size_t last = item.rfind(':');
  const size_t first = last == std::string_view::npos || last == 0 ? std::string_view::npos : item.rfind(':', last - 1);
  const std::optional<DType> named = last == std::string_view::npos ? std::nullopt : TypeNamed(item.substr(last + 1));
  if (first == std::string_view::npos || !named) {
    return OptionError(kOutputTypes, item, "write FP32, FP16, UINT8 or INT8, or \"node:0:FP16;other:1:FP32\"");
  }
  *type = *named;
  const std::string node = item.substr(0, first);
  const std::string index = item.substr(first + 1, last - first - 1);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::Endpoint& output = graph.outputs[i];
    if (output.node->name == node && std::to_string(output.index) == index) which->push_back(i);
  }
  if (which->empty()) {
    return OptionError(kOutputTypes, item, "the model has no output " + node + ":" + index + "; --out_nodes makes one");
  }
  return Ok();
}

}  // namespace

bool ChangesTypes(const GraphOptions& options) {
  return !OptionOr(options, kHalfInputs, "").empty() || !OptionOr(options, kOutputTypes, "").empty();
}

Status ReadInstead(ir::Graph* graph, std::span<const std::pair<ir::NodePtr, size_t>> reads, const ir::NodePtr& data,
                   const ir::NodePtr& instead) {
  for (const auto& [user, place] : reads) MP_RETURN_IF_ERROR(user->Connect(place, instead, 0));
  for (ir::Endpoint& output : graph->outputs) {
    if (output.node == data) output = {instead, 0};
  }
  return Ok();
}

Status ApplyInputTypes(const GraphOptions& options, ir::Graph* graph) {
  const std::string text(OptionOr(options, kHalfInputs, ""));
  for (const std::string& name : Items(text)) {
    ir::NodePtr data;
    for (const ir::NodePtr& input : graph->inputs) {
      if (input->name == name && !input->outputs.empty()) data = input;
    }
    if (data == nullptr) return OptionError(kHalfInputs, text, "the model has no input " + name);
    MP_RETURN_IF_ERROR(FeedAsHalf(graph, data));
  }
  return Ok();
}

Status ApplyOutputTypes(const GraphOptions& options, ir::Graph* graph) {
  const std::string text(OptionOr(options, kOutputTypes, ""));
  if (text.empty()) return Ok();
  std::vector<std::pair<size_t, DType>> casts;
  if (const std::optional<DType> all = TypeNamed(text)) {
    for (size_t i = 0; i < graph->outputs.size(); ++i) casts.emplace_back(i, *all);
  } else {
    for (const std::string& item : Items(text)) {
      std::vector<size_t> which;
      DType type = DType::kUndefined;
      MP_RETURN_IF_ERROR(ReadOutputType(*graph, item, &which, &type));
      for (const size_t i : which) casts.emplace_back(i, type);
    }
  }
  // A NetOutput node stands for the old outputs.
  std::vector<ir::NodePtr> gone;
  for (const ir::NodePtr& node : graph->nodes()) {
    if (node->type == "NetOutput") gone.push_back(node);
  }
  graph->RemoveNodes(gone);
  for (const auto& [which, type] : casts) MP_RETURN_IF_ERROR(CastOutput(graph, which, type));
  return Ok();
}

}  // namespace millpond

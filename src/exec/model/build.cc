// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/build.h"

#include <charconv>
#include <memory>
#include <utility>

#include "src/base/mutex.h"
#include "src/exec/model/info.h"
#include "src/exec/model/shapes.h"
#include "src/exec/model/types.h"
#include "src/exec/session/error.h"
#include "src/graph/io/om.h"

namespace millpond {

namespace {

// "node:0;other:1": these are the outputs, in this order.
Status ApplyOutputs(const GraphOptions& options, ir::Graph* graph) {
  constexpr char kKey[] = "ge.outputNodeName";
  std::string_view text = OptionOr(options, kKey, "");
  if (text.empty()) return Ok();
  const std::string whole(text);
  std::vector<ir::Endpoint> outputs;
  while (!text.empty()) {
    const size_t end = text.find(';');
    const std::string_view item = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (item.empty()) continue;
    const size_t colon = item.rfind(':');
    int32_t index = 0;
    const std::string_view number = colon == std::string_view::npos ? std::string_view() : item.substr(colon + 1);
    const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (number.empty() || error != std::errc() || last != number.data() + number.size()) {
      return OptionError(kKey, whole, "write \"node:0;other:1\", the number being the node's output");
    }
    const std::string name(item.substr(0, colon));
    const ir::NodePtr node = graph->FindNode(name);
    if (node == nullptr) return OptionError(kKey, whole, "the model has no node " + name);
    if (index < 0 || static_cast<size_t>(index) >= node->outputs.size()) {
      return OptionError(kKey, whole,
                         Format("node %s has %zu outputs, counted from 0", name.c_str(), node->outputs.size()));
    }
    outputs.push_back({node, index});
  }
  // A NetOutput node stands for the old outputs.
  std::vector<ir::NodePtr> gone;
  for (const ir::NodePtr& node : graph->nodes()) {
    if (node->type == "NetOutput") gone.push_back(node);
  }
  graph->RemoveNodes(gone);
  graph->outputs = std::move(outputs);
  return Ok();
}

std::string OutputName(const ir::Endpoint& output) {
  std::string name = output.node->name + ":" + std::to_string(output.index);
  const ir::TensorDesc& desc = output.node->outputs[static_cast<size_t>(output.index)];
  if (desc.attributes == nullptr) return name;
  const auto found = desc.attributes->find("origin_output_tensor_name");
  if (found == desc.attributes->end()) return name;
  const auto* origin = found->second.As<std::string>();
  return origin == nullptr || origin->empty() ? name : name + ":" + *origin;
}

// Whose output it is, for the file: NetOutput's inputs stand for what they read.
Status NameOutputs(const ir::Graph& graph, std::vector<std::string>* out) {
  for (const ir::Endpoint& output : graph.outputs) {
    MP_REQUIRE(
        output.node != nullptr && output.index >= 0 && static_cast<size_t>(output.index) < output.node->outputs.size(),
        "an output of graph %s is not an output of any node", graph.name.c_str());
    out->push_back(OutputName(output));
  }
  MP_REQUIRE(!out->empty(), "graph %s has no outputs: an offline model returns at least one", graph.name.c_str());
  return Ok();
}

}  // namespace

Status BuildModel(const ir::Graph& graph, const GraphOptions& options, std::string* out_file) {
  MP_RETURN_IF_ERROR(CheckOptions(options));
  io::OmModel model;
  MP_RETURN_IF_ERROR(ParseGears(options, &model.gears));
  model.graph = graph.Clone();
  model.name = graph.name;
  model.options = options;
  MP_RETURN_IF_ERROR(ReadAippFile(&model.options));
  MP_RETURN_IF_ERROR(ApplyOutputs(options, model.graph.get()));
  MP_RETURN_IF_ERROR(ApplyShapes(options, model.gears, model.graph.get()));
  MP_RETURN_IF_ERROR(ApplyInputTypes(options, model.graph.get()));
  MP_RETURN_IF_ERROR(NameOutputs(*model.graph, &model.output_names));
  MP_RETURN_IF_ERROR(ApplyOutputTypes(options, model.graph.get()));  // outputs keep their names
  std::shared_ptr<const ModelInfo> info;
  MP_RETURN_IF_ERROR(ModelInfo::Make(model, &info));  // it can run, in every gear
  return io::WriteOm(model, out_file);
}

ModelBuilder& ModelBuilder::Get() {
  static ModelBuilder* const builder = new ModelBuilder;  // outlives every client
  return *builder;
}

Status ModelBuilder::Initialize(const GraphOptions& options) {
  MP_RETURN_IF_ERROR(CheckOptions(options));
  MutexLock lock(mutex_);
  if (initialized_) return Ok();
  initialized_ = true;
  options_ = options;
  return Ok();
}

void ModelBuilder::Finalize() {
  MutexLock lock(mutex_);
  initialized_ = false;
  options_.clear();
}

Status ModelBuilder::RequireInitialized() const {
  MutexLock lock(mutex_);
  if (initialized_) return Ok();
  return SequenceError(Code::kUninitialized, "builds are not initialised; call aclgrphBuildInitialize first");
}

Status ModelBuilder::Build(const ir::Graph& graph, const GraphOptions& options, std::string* out_file) const {
  MP_RETURN_IF_ERROR(RequireInitialized());
  GraphOptions merged;
  {
    MutexLock lock(mutex_);
    merged = MergeOptions(options_, options);
  }
  return BuildModel(graph, merged, out_file);
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
// Models, graphs, nodes and edges.
#include "src/graph/io/ge_ir_write.h"

#include "src/graph/io/ge_ir.h"
#include "src/graph/io/ge_ir_format.h"

namespace millpond::io {

using wire::Writer;

namespace {

std::string EdgeText(const ir::Node& source, int64_t index) { return source.name + ':' + std::to_string(index); }

Status WriteInputs(const ir::Node& node, Writer* writer) {
  for (const ir::Input& input : node.inputs) {
    MP_REQUIRE(input.source == nullptr || input.source->graph() == node.graph(),
               "its input \"%.200s\" comes from \"%.200s\", which is not in its graph", input.desc.name.c_str(),
               input.source->name.c_str());
    writer->TextAlways(kOpInput, input.source ? EdgeText(*input.source, input.index) : std::string());
  }
  for (const ir::NodePtr& control : node.controls) {
    MP_REQUIRE(control->graph() == node.graph(), "it waits for \"%.200s\", which is not in its graph",
               control->name.c_str());
    writer->TextAlways(kOpInput, EdgeText(*control, -1));
  }
  return Ok();
}

// The file has only the graphs' names; the operand of each follows from the type, or is added.
Status WriteSubgraphs(const ir::Node& node, Writer* writer) {
  if (node.subgraphs.empty()) return Ok();
  std::vector<std::string> operands;
  for (const ir::SubgraphRef& ref : node.subgraphs) {
    MP_REQUIRE(!ref.graph.empty(), "its subgraph \"%.200s\" has no graph", ref.name.c_str());
    writer->TextAlways(kOpSubgraph, ref.graph);
    operands.push_back(ref.name);
  }
  if (SubgraphOperands(node.type, operands.size()) == operands) return Ok();
  return WriteEntry(kOpAttr, kSubgraphOperands, ir::Attr{std::move(operands)}, writer);
}

Status WriteNode(const ir::Node& node, int64_t id, Writer* writer) {
  writer->Text(kOpName, node.name);
  writer->Text(kOpType, node.type);
  MP_RETURN_IF_ERROR(WriteInputs(node, writer));
  MP_RETURN_IF_ERROR(WriteAttributes(kOpAttr, node.attributes, writer));
  MP_RETURN_IF_ERROR(WriteSubgraphs(node, writer));
  writer->Int(kOpId, id);
  for (const ir::Input& input : node.inputs) {
    MP_RETURN_IF_ERROR(writer->Message(kOpInputDesc, [&] { return WriteDesc(input.desc, writer); }));
  }
  for (const ir::TensorDesc& output : node.outputs) {
    MP_RETURN_IF_ERROR(writer->Message(kOpOutputDesc, [&] { return WriteDesc(output, writer); }));
  }
  return Ok();
}

}  // namespace

Status WriteGraph(const ir::Graph& graph, Writer* writer) {
  writer->Text(kGraphName, graph.name);
  const auto has = [&](const ir::NodePtr& node) { return node != nullptr && node->graph() == &graph; };
  for (const ir::NodePtr& input : graph.inputs) {
    MP_REQUIRE(has(input), "graph \"%.200s\" has an input that is not in it", graph.name.c_str());
    writer->TextAlways(kGraphInput, EdgeText(*input, 0));
  }
  for (const ir::Endpoint& output : graph.outputs) {
    MP_REQUIRE(has(output.node), "graph \"%.200s\" has an output that is not in it", graph.name.c_str());
    writer->TextAlways(kGraphOutput, EdgeText(*output.node, output.index));
  }
  int64_t id = 0;
  for (const ir::NodePtr& node : graph.nodes()) {
    Status status = writer->Message(kGraphOp, [&] { return WriteNode(*node, id++, writer); });
    if (!status.ok()) {
      return std::move(status).Prefixed(Format("node \"%.200s\" (%.100s)", node->name.c_str(), node->type.c_str()));
    }
  }
  if (!graph.targets.empty()) {
    std::vector<std::string> targets;
    for (const ir::NodePtr& target : graph.targets) {
      MP_REQUIRE(has(target), "graph \"%.200s\" has a target that is not in it", graph.name.c_str());
      targets.push_back(target->name);
    }
    MP_RETURN_IF_ERROR(WriteEntry(kGraphAttr, kTargets, ir::Attr{std::move(targets)}, writer));
  }
  return WriteAttributes(kGraphAttr, graph.attributes, writer);
}

Status WriteModel(const ir::Graph& graph, std::string* out) { return WriteModel(graph, true, out); }

Status WriteModel(const ir::Graph& graph, bool with_data, std::string* out) {
  return Writer::Write(
      [&](Writer* writer) {
        writer->with_data = with_data;
        writer->Text(kModelName, graph.name);
        MP_RETURN_IF_ERROR(writer->Message(kModelGraph, [&] { return WriteGraph(graph, writer); }));
        for (const ir::GraphPtr& subgraph : graph.subgraphs()) {
          MP_RETURN_IF_ERROR(writer->Message(kModelGraph, [&] { return WriteGraph(*subgraph, writer); }));
        }
        return Ok();
      },
      out);
}

}  // namespace millpond::io

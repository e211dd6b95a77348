// SPDX-License-Identifier: Apache-2.0
// Models, graphs, nodes and edges. A graph is read in two passes: a node may refer to a source that comes later.
#include "src/graph/io/ge_ir_read.h"

#include <algorithm>
#include <limits>

#include "src/graph/io/ge_ir.h"
#include "src/graph/io/ge_ir_format.h"

namespace millpond::io {

using wire::Field;
using wire::Reader;

namespace {

// Saved by GE for itself: redundant with the operator's definition or the names below.
constexpr std::string_view kDropped[] = {"_opt_input",
                                         "_ir_attr_names",
                                         "_ir_inputs_key",
                                         "_ir_inputs_value",
                                         "_ir_outputs_key",
                                         "_ir_outputs_value",
                                         "_input_name_key",
                                         "_input_name_value",
                                         "_output_name_key",
                                         "_output_name_value",
                                         "_src_out_peer_index_for_ge_txt_load"};
constexpr std::string_view kNetOutput = "NetOutput";

int Shown(std::string_view text) { return static_cast<int>(std::min<size_t>(text.size(), 200)); }

struct Edge {
  std::string_view source;
  int32_t index = 0;  // -1: a control edge
};

// "name:index", split at the last ':', since names may have some.
Status ParseEdge(std::string_view text, Edge* out) {
  const size_t colon = text.rfind(':');
  const std::optional<int64_t> index =
      colon == std::string_view::npos ? std::nullopt : ParseInt(text.substr(colon + 1));
  MP_REQUIRE(index && *index >= -1 && *index <= std::numeric_limits<int32_t>::max(),
             "\"%.*s\" does not name a source; \"name:index\" was expected, with index -1 for a control edge",
             Shown(text), text.data());
  *out = {text.substr(0, colon), static_cast<int32_t>(*index)};
  return Ok();
}

Status FindSource(const ir::Graph& graph, std::string_view name, ir::NodePtr* out) {
  *out = graph.FindNode(name);
  MP_REQUIRE(*out != nullptr, "\"%.*s\" is not a node of graph \"%.200s\"", Shown(name), name.data(),
             graph.name.c_str());
  return Ok();
}

// A node with what can only be resolved once all of them are read. Strings point into the input.
struct Pending {
  ir::NodePtr node;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> subgraphs;
};

// Pairs of names and places that GE saves; they win over the names in the descriptions.
template <class SetName>
void TakeNames(ir::Attributes* attributes, std::string_view keys_name, std::string_view values_name,
               const SetName& set_name) {
  std::vector<std::string> keys;
  std::vector<int64_t> values;
  const bool has_keys = TakeAttr(attributes, keys_name, &keys);
  const bool has_values = TakeAttr(attributes, values_name, &values);
  if (!has_keys || !has_values || keys.size() != values.size()) return;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (values[i] >= 0) set_name(static_cast<size_t>(values[i]), std::move(keys[i]));
  }
}

void NameOperands(ir::Node* node) {
  TakeNames(&node->attributes, "_input_name_key", "_input_name_value", [&](size_t place, std::string name) {
    if (place < node->inputs.size()) node->inputs[place].desc.name = std::move(name);
  });
  TakeNames(&node->attributes, "_output_name_key", "_output_name_value", [&](size_t place, std::string name) {
    if (place < node->outputs.size()) node->outputs[place].name = std::move(name);
  });
  for (const std::string_view name : kDropped) {
    if (const auto found = node->attributes.find(name); found != node->attributes.end()) node->attributes.erase(found);
  }
  RecoverOperandNames(node);
}

void NameSubgraphs(const Pending& pending) {
  ir::Node* node = pending.node.get();
  std::vector<std::string> operands;
  if (!TakeAttr(&node->attributes, kSubgraphOperands, &operands)) {
    operands = SubgraphOperands(node->type, pending.subgraphs.size());
  }
  for (size_t i = 0; i < pending.subgraphs.size(); ++i) {
    const std::string graph(pending.subgraphs[i]);
    if (graph.empty()) continue;  // an optional one that this node does not have
    const bool known = i < operands.size() && !operands[i].empty();
    node->subgraphs.push_back({known ? operands[i] : graph, graph});
  }
}

Status Text(const Reader& reader, const Field& field, std::string_view* out) {
  if (field.kind != wire::Kind::kBytes) return reader.Wrong(field, "text");
  *out = field.text();
  return Ok();
}

Status Descs(const ModelReader& model, const Reader& outer, const Pending& pending, const std::vector<Field>& inputs,
             const std::vector<Field>& outputs) {
  ir::Node* node = pending.node.get();
  const bool is_source = IsSourceType(node->type);
  Reader inner({});
  node->inputs.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    MP_RETURN_IF_ERROR(outer.Enter(inputs[i], &inner));
    MP_RETURN_IF_ERROR(model.Desc(&inner, is_source, &node->inputs[i].desc));
  }
  node->outputs.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    MP_RETURN_IF_ERROR(outer.Enter(outputs[i], &inner));
    MP_RETURN_IF_ERROR(model.Desc(&inner, is_source, &node->outputs[i]));
  }
  return Ok();
}

Status ReadNode(const ModelReader& model, Reader* reader, Pending* out) {
  out->node = std::make_shared<ir::Node>("", "");
  ir::Node* node = out->node.get();
  std::vector<Field> inputs;
  std::vector<Field> outputs;
  Field field;
  while (reader->Next(&field)) {
    switch (field.number) {
      case kOpName:
        MP_RETURN_IF_ERROR(reader->Text(field, &node->name));
        break;
      case kOpType:
        MP_RETURN_IF_ERROR(reader->Text(field, &node->type));
        break;
      case kOpInput:
        MP_RETURN_IF_ERROR(Text(*reader, field, &out->inputs.emplace_back()));
        break;
      case kOpAttr:
        MP_RETURN_IF_ERROR(model.Entry(*reader, field, &node->attributes));
        break;
      case kOpInputDesc:
        MP_RETURN_IF_ERROR(model.Spend(sizeof field + sizeof(ir::Input)));
        inputs.push_back(field);
        break;
      case kOpOutputDesc:
        MP_RETURN_IF_ERROR(model.Spend(sizeof field + sizeof(ir::TensorDesc)));
        outputs.push_back(field);
        break;
      case kOpSubgraph:
        MP_RETURN_IF_ERROR(Text(*reader, field, &out->subgraphs.emplace_back()));
        break;
    }
  }
  MP_RETURN_IF_ERROR(reader->status());
  MP_RETURN_IF_ERROR(Descs(model, *reader, *out, inputs, outputs));
  NameSubgraphs(*out);
  return Ok();
}

// Data inputs are in order; an empty string takes a slot and connects nothing.
Status Link(const ir::Graph& graph, const Pending& pending) {
  ir::Node* node = pending.node.get();
  size_t place = 0;
  for (const std::string_view text : pending.inputs) {
    Edge edge;
    if (!text.empty()) MP_RETURN_IF_ERROR(ParseEdge(text, &edge));
    if (edge.index < 0) {
      ir::NodePtr source;
      MP_RETURN_IF_ERROR(FindSource(graph, edge.source, &source));
      MP_REQUIRE(source.get() != node, "it waits for itself");
      node->AddControl(source);
      continue;
    }
    if (place == node->inputs.size()) node->inputs.emplace_back().desc.dtype = DType::kUndefined;
    if (!text.empty()) {
      ir::NodePtr source;
      MP_RETURN_IF_ERROR(FindSource(graph, edge.source, &source));
      MP_RETURN_IF_ERROR(node->Connect(place, source, edge.index));
    }
    ++place;
  }
  NameOperands(node);
  return Ok();
}

int64_t IndexOf(const ir::Node& node) {
  // Within a subgraph the parent's input decides.
  for (const char* name : {"_parent_node_index", "index"}) {
    const ir::Attr* attr = node.FindAttr(name);
    if (attr != nullptr && attr->As<int64_t>() != nullptr) return *attr->As<int64_t>();
  }
  return 0;
}

void InputsByIndex(ir::Graph* graph) {
  for (const ir::NodePtr& node : graph->nodes()) {
    if (IsDataType(node->type)) graph->inputs.push_back(node);
  }
  std::stable_sort(graph->inputs.begin(), graph->inputs.end(),
                   [](const ir::NodePtr& left, const ir::NodePtr& right) { return IndexOf(*left) < IndexOf(*right); });
}

void OutputsOf(const ir::Node& net_output, ir::Graph* graph) {
  for (const ir::Input& input : net_output.inputs) {
    if (input.source) graph->outputs.push_back({input.source, input.index});
  }
}

Status Ends(const std::vector<std::string_view>& inputs, const std::vector<std::string_view>& outputs,
            ir::Graph* graph) {
  for (const std::string_view text : inputs) {
    Edge edge;
    MP_RETURN_IF_ERROR(ParseEdge(text, &edge));
    MP_RETURN_IF_ERROR(FindSource(*graph, edge.source, &graph->inputs.emplace_back()));
  }
  if (inputs.empty()) InputsByIndex(graph);
  for (const std::string_view text : outputs) {
    Edge edge;
    ir::NodePtr node;
    MP_RETURN_IF_ERROR(ParseEdge(text, &edge));
    MP_RETURN_IF_ERROR(FindSource(*graph, edge.source, &node));
    if (node->type == kNetOutput) {
      OutputsOf(*node, graph);
      continue;
    }
    MP_REQUIRE(edge.index >= 0 && static_cast<size_t>(edge.index) < node->outputs.size(),
               "output %d of \"%.200s\" is an output of the graph, but it has %zu", edge.index, node->name.c_str(),
               node->outputs.size());
    graph->outputs.push_back({node, edge.index});
  }
  if (outputs.empty()) {
    const auto found = std::find_if(graph->nodes().begin(), graph->nodes().end(),
                                    [](const ir::NodePtr& node) { return node->type == kNetOutput; });
    if (found != graph->nodes().end()) OutputsOf(**found, graph);
  }
  std::vector<std::string> targets;
  TakeAttr(&graph->attributes, kTargets, &targets);
  for (const std::string& name : targets) {
    MP_RETURN_IF_ERROR(FindSource(*graph, name, &graph->targets.emplace_back()));
  }
  return Ok();
}

std::string NodeContext(const ir::Node& node) {
  return Format("node \"%.200s\" (%.100s)", node.name.c_str(), node.type.c_str());
}

}  // namespace

Status ModelReader::Graph(Reader* reader, ir::GraphPtr* out) const {
  MP_RETURN_IF_ERROR(Spend(sizeof(ir::Graph)));
  auto graph = std::make_shared<ir::Graph>("");
  std::vector<Pending> pending;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  Reader inner({});
  Field field;
  while (reader->Next(&field)) {
    switch (field.number) {
      case kGraphName:
        MP_RETURN_IF_ERROR(reader->Text(field, &graph->name));
        break;
      case kGraphInput:
        MP_RETURN_IF_ERROR(Text(*reader, field, &inputs.emplace_back()));
        break;
      case kGraphOutput:
        MP_RETURN_IF_ERROR(Text(*reader, field, &outputs.emplace_back()));
        break;
      case kGraphOp: {
        MP_RETURN_IF_ERROR(reader->Enter(field, &inner));
        Pending& node = pending.emplace_back();
        MP_RETURN_IF_ERROR(Spend(sizeof(Pending) + sizeof(ir::Node)));
        if (Status status = ReadNode(*this, &inner, &node); !status.ok()) {
          return std::move(status).Prefixed(NodeContext(*node.node));
        }
        MP_RETURN_IF_ERROR(graph->AddNode(node.node));
        break;
      }
      case kGraphAttr:
        MP_RETURN_IF_ERROR(Entry(*reader, field, &graph->attributes));
        break;
    }
  }
  MP_RETURN_IF_ERROR(reader->status());
  for (const Pending& node : pending) {
    if (Status status = Link(*graph, node); !status.ok()) return std::move(status).Prefixed(NodeContext(*node.node));
  }
  if (Status status = Ends(inputs, outputs, graph.get()); !status.ok()) {
    return std::move(status).Prefixed(Format("graph \"%.200s\"", graph->name.c_str()));
  }
  graph->valid = true;
  *out = std::move(graph);
  return Ok();
}

Status ReadModel(std::span<const std::byte> bytes, std::shared_ptr<const void> keep, ir::GraphPtr* out) {
  MP_CHECK(!bytes.empty(), kParseFile, "not a serialised graph: there are no bytes");
  ir::Budget budget = ir::Budget::ForFile(bytes.size());
  const ModelReader model(std::move(keep), &budget);
  ir::GraphPtr root;
  Reader reader(bytes);
  Reader inner({});
  Field field;
  while (reader.Next(&field)) {
    if (field.number != kModelGraph) continue;
    MP_RETURN_IF_ERROR(reader.Enter(field, &inner));
    ir::GraphPtr graph;
    MP_RETURN_IF_ERROR(model.Graph(&inner, &graph));
    if (root == nullptr) {
      root = std::move(graph);
    } else {
      MP_RETURN_IF_ERROR(root->AddSubgraph(graph));
    }
  }
  MP_RETURN_IF_ERROR(reader.status());
  MP_CHECK(root != nullptr, kParseFile, "the model of %zu bytes has no graph", bytes.size());
  MP_RETURN_IF_ERROR(root->CheckSubgraphs());
  *out = std::move(root);
  return Ok();
}

}  // namespace millpond::io

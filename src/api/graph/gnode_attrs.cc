// SPDX-License-Identifier: Apache-2.0
// ge::GNode: attributes of the node and of its operands, and its subgraphs.
#include <algorithm>

#include "include/graph/attr_value.h"
#include "include/graph/gnode.h"
#include "include/graph/graph.h"
#include "src/api/graph/graph_impl.h"
#include "src/api/graph/operator_attr.h"

namespace ge {

using millpond::Ok;
using millpond::Status;
using millpond::api::Answer;
using millpond::api::NodeOf;
using millpond::api::RequireNode;
using millpond::ir::NodePtr;

namespace {

template <class T>
graphStatus Get(const GNode& self, const AscendString& name, T* value) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  const NodePtr node = NodeOf(self);
  return millpond::api::GetFrom("ge::GNode::GetAttr", node == nullptr ? nullptr : &node->attributes, name.GetString(),
                                value);
}

template <class T>
graphStatus Set(const GNode& self, const AscendString& name, const T& value) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  return Answer("ge::GNode::SetAttr", [&]() -> Status {
    NodePtr node;
    MP_RETURN_IF_ERROR(RequireNode(self, &node));
    millpond::ir::Attr attr;
    MP_RETURN_IF_ERROR(millpond::api::MakeAttr(value, &attr));
    node->attributes[name.GetString()] = std::move(attr);
    return Ok();
  });
}

enum class Side { kInput, kOutput };

Status Operand(const GNode& self, Side side, uint32_t index, NodePtr* out_node, millpond::ir::TensorDesc** out) {
  MP_RETURN_IF_ERROR(RequireNode(self, out_node));
  millpond::ir::Node& node = **out_node;
  const size_t count = side == Side::kInput ? node.inputs.size() : node.outputs.size();
  MP_REQUIRE(index < count, "node \"%s\" (%s): %s %u was asked for, but it has %zu", node.name.c_str(),
             node.type.c_str(), side == Side::kInput ? "input" : "output", index, count);
  *out = side == Side::kInput ? &node.inputs[index].desc : &node.outputs[index];
  return Ok();
}

graphStatus GetOperand(const char* api, const GNode& self, Side side, uint32_t index, const AscendString& name,
                       AttrValue* value) {
  NodePtr node;
  millpond::ir::TensorDesc* desc = nullptr;
  const graphStatus found = Answer(api, [&] { return Operand(self, side, index, &node, &desc); });
  if (found != GRAPH_SUCCESS) return found;
  return millpond::api::GetFrom(api, desc->attributes.get(), name.GetString(), value);
}

graphStatus SetOperand(const char* api, const GNode& self, Side side, uint32_t index, const AscendString& name,
                       const AttrValue& value) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  return Answer(api, [&]() -> Status {
    NodePtr node;
    millpond::ir::TensorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(Operand(self, side, index, &node, &desc));
    millpond::ir::Attr attr;
    MP_RETURN_IF_ERROR(millpond::api::MakeAttr(value, &attr));
    millpond::api::SetOperandAttr(desc, name.GetString(), std::move(attr));
    return Ok();
  });
}

// Puts the graph into the root, and its name into the node's place of that name, which is made when it is not there.
Status Attach(const NodePtr& node, const std::string& instance, const Graph& subgraph) {
  MP_REQUIRE(node->graph() != nullptr, "node \"%s\" (%s) is in no graph", node->name.c_str(), node->type.c_str());
  MP_RETURN_IF_ERROR(millpond::api::RequireBuiltGraph(subgraph));
  const auto graph = millpond::api::GraphOf(subgraph);
  MP_REQUIRE(graph.get() != node->graph(), "node \"%s\" (%s) cannot run the graph that it is in", node->name.c_str(),
             node->type.c_str());
  MP_RETURN_IF_ERROR(node->graph()->AddSubgraph(graph));
  auto place = std::find_if(node->subgraphs.begin(), node->subgraphs.end(),
                            [&](const auto& ref) { return ref.name == instance; });
  if (place == node->subgraphs.end()) place = node->subgraphs.insert(place, {instance, {}});
  place->graph = graph->name;
  return Ok();
}

}  // namespace

bool GNode::HasAttr(const AscendString& name) {
  const NodePtr node = NodeOf(*this);
  return node != nullptr && node->FindAttr(name.GetString()) != nullptr;
}

#define MP_ATTR(type)                                                            \
  graphStatus GNode::GetAttr(const AscendString& name, type& attr_value) const { \
    return Get(*this, name, &attr_value);                                        \
  }                                                                              \
  graphStatus GNode::SetAttr(const AscendString& name, type& attr_value) const { return Set(*this, name, attr_value); }

MP_ATTR(int64_t)
MP_ATTR(int32_t)
MP_ATTR(uint32_t)
MP_ATTR(float32_t)
MP_ATTR(bool)
MP_ATTR(AscendString)
MP_ATTR(ge::DataType)
MP_ATTR(Tensor)
MP_ATTR(OpBytes)
MP_ATTR(std::vector<int64_t>)
MP_ATTR(std::vector<int32_t>)
MP_ATTR(std::vector<uint32_t>)
MP_ATTR(std::vector<float32_t>)
MP_ATTR(std::vector<bool>)
MP_ATTR(std::vector<AscendString>)
MP_ATTR(std::vector<ge::DataType>)
MP_ATTR(std::vector<Tensor>)
MP_ATTR(std::vector<std::vector<int64_t>>)
MP_ATTR(AttrValue)

graphStatus GNode::GetInputAttr(const AscendString& name, uint32_t input_index, AttrValue& attr_value) const {
  return GetOperand("ge::GNode::GetInputAttr", *this, Side::kInput, input_index, name, &attr_value);
}
graphStatus GNode::SetInputAttr(const AscendString& name, uint32_t input_index, const AttrValue& attr_value) {
  return SetOperand("ge::GNode::SetInputAttr", *this, Side::kInput, input_index, name, attr_value);
}
graphStatus GNode::GetOutputAttr(const AscendString& name, uint32_t output_index, AttrValue& attr_value) const {
  return GetOperand("ge::GNode::GetOutputAttr", *this, Side::kOutput, output_index, name, &attr_value);
}
graphStatus GNode::SetOutputAttr(const AscendString& name, uint32_t output_index, const AttrValue& attr_value) {
  return SetOperand("ge::GNode::SetOutputAttr", *this, Side::kOutput, output_index, name, attr_value);
}

graphStatus GNode::GetSubgraph(uint32_t index, GraphPtr& graph) const {
  return Answer("ge::GNode::GetSubgraph", [&]() -> Status {
    NodePtr node;
    MP_RETURN_IF_ERROR(RequireNode(*this, &node));
    MP_REQUIRE(index < node->subgraphs.size(), "node \"%s\" (%s): subgraph %u was asked for, but it has %zu",
               node->name.c_str(), node->type.c_str(), index, node->subgraphs.size());
    const auto& ref = node->subgraphs[index];
    const auto found = node->graph() == nullptr ? nullptr : node->graph()->FindSubgraph(ref.graph);
    MP_REQUIRE(found != nullptr, "node \"%s\" (%s): its subgraph \"%s\" has not been set", node->name.c_str(),
               node->type.c_str(), ref.name.c_str());
    graph = std::make_shared<Graph>(millpond::api::Wrap(found));
    return Ok();
  });
}

graphStatus GNode::GetALLSubgraphs(std::vector<GraphPtr>& graph_list) const {
  return Answer("ge::GNode::GetALLSubgraphs", [&]() -> Status {
    NodePtr node;
    MP_RETURN_IF_ERROR(RequireNode(*this, &node));
    graph_list.clear();
    for (const auto& ref : node->subgraphs) {
      const auto found = node->graph() == nullptr ? nullptr : node->graph()->FindSubgraph(ref.graph);
      if (found != nullptr) graph_list.push_back(std::make_shared<Graph>(millpond::api::Wrap(found)));
    }
    return Ok();
  });
}

graphStatus GNode::SetSubgraph(const AscendString& subgraph_ir_name, const Graph& subgraph) {
  return Answer("ge::GNode::SetSubgraph", [&]() -> Status {
    NodePtr node;
    MP_RETURN_IF_ERROR(RequireNode(*this, &node));
    MP_REQUIRE(subgraph_ir_name.GetLength() > 0, "node \"%s\" (%s): the subgraph's name is empty", node->name.c_str(),
               node->type.c_str());
    return Attach(node, millpond::api::TextOf(subgraph_ir_name), subgraph);
  });
}

graphStatus GNode::SetSubgraphs(const AscendString& subgraph_ir_name, const std::vector<Graph>& subgraphs) {
  return Answer("ge::GNode::SetSubgraphs", [&]() -> Status {
    NodePtr node;
    MP_RETURN_IF_ERROR(RequireNode(*this, &node));
    MP_REQUIRE(subgraph_ir_name.GetLength() > 0, "node \"%s\" (%s): the subgraphs' name is empty", node->name.c_str(),
               node->type.c_str());
    for (size_t index = 0; index < subgraphs.size(); ++index) {
      const std::string instance =
          millpond::api::DynamicName(subgraph_ir_name.GetString(), static_cast<uint32_t>(index));
      MP_RETURN_IF_ERROR(Attach(node, instance, subgraphs[index]));
    }
    return Ok();
  });
}

}  // namespace ge

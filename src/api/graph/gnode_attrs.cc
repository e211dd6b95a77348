// SPDX-License-Identifier: Apache-2.0
// ge::GNode: attributes of the node and of its operands, and its subgraphs.
#include <algorithm>

#include "include/graph/attr_value.h"
#include "include/graph/gnode.h"
#include "include/graph/graph.h"
#include "src/api/graph/graph_impl.h"
#include "src/api/graph/operator_attr.h"

namespace ge {

namespace {

template <class T>
graphStatus Get(const GNode& self, const AscendString& name, T* value) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  const ir::NodePtr node = NodeOf(self);
  return GetFrom("ge::GNode::GetAttr", node == nullptr ? nullptr : &node->attributes, name.GetString(), value);
}

template <class T>
graphStatus Set(const GNode& self, const AscendString& name, const T& value) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  return AnswerFor(self, "ge::GNode::SetAttr", [&](const ir::NodePtr& node) -> Status {
    ir::Attr attr;
    MP_RETURN_IF_ERROR(MakeAttr(value, &attr));
    node->attributes[name.GetString()] = std::move(attr);
    return Ok();
  });
}

Status Operand(const GNode& self, Side side, uint32_t index, ir::NodePtr* out_node, ir::TensorDesc** out) {
  MP_RETURN_IF_ERROR(RequireNode(self, out_node));
  ir::Node& node = **out_node;
  const size_t count = side == Side::kInput ? node.inputs.size() : node.outputs.size();
  MP_REQUIRE(index < count, "node \"%s\" (%s): %s %u was asked for, but it has %zu", node.name.c_str(),
             node.type.c_str(), side == Side::kInput ? "input" : "output", index, count);
  *out = side == Side::kInput ? &node.inputs[index].desc : &node.outputs[index];
  return Ok();
}

graphStatus GetOperand(const char* api, const GNode& self, Side side, uint32_t index, const AscendString& name,
                       AttrValue* value) {
  ir::NodePtr node;
  ir::TensorDesc* desc = nullptr;
  const graphStatus found = Answer(api, [&] { return Operand(self, side, index, &node, &desc); });
  if (found != GRAPH_SUCCESS) return found;
  return GetFrom(api, desc->attributes.get(), name.GetString(), value);
}

graphStatus SetOperand(const char* api, const GNode& self, Side side, uint32_t index, const AscendString& name,
                       const AttrValue& value) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  return Answer(api, [&]() -> Status {
    ir::NodePtr node;
    ir::TensorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(Operand(self, side, index, &node, &desc));
    ir::Attr attr;
    MP_RETURN_IF_ERROR(MakeAttr(value, &attr));
    SetOperandAttr(desc, name.GetString(), std::move(attr));
    return Ok();
  });
}

// Puts the graph into the root, and its name into the node's place of that name, which is made when it is not there.
Status Attach(const ir::NodePtr& node, const std::string& instance, const Graph& subgraph) {
  MP_REQUIRE(node->graph() != nullptr, "node \"%s\" (%s) is in no graph", node->name.c_str(), node->type.c_str());
  MP_RETURN_IF_ERROR(RequireBuiltGraph(subgraph));
  const auto graph = GraphOf(subgraph);
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
  const ir::NodePtr node = NodeOf(*this);
  return node != nullptr && node->FindAttr(name.GetString()) != nullptr;
}

// NOLINTBEGIN(bugprone-macro-parentheses): in parentheses a type is no type
#define MP_ATTR(type)                                                            \
  graphStatus GNode::GetAttr(const AscendString& name, type& attr_value) const { \
    return Get(*this, name, &attr_value);                                        \
  }                                                                              \
  graphStatus GNode::SetAttr(const AscendString& name, type& attr_value) const { return Set(*this, name, attr_value); }
// NOLINTEND(bugprone-macro-parentheses)

MP_EACH_ATTR_VALUE(MP_ATTR)
MP_EACH_ATTR_OBJECT(MP_ATTR)
MP_EACH_NARROW_ATTR_VALUE(MP_ATTR)
MP_EACH_NARROW_ATTR_OBJECT(MP_ATTR)
MP_ATTR(OpBytes)
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
  return AnswerFor(*this, "ge::GNode::GetSubgraph", [&](const ir::NodePtr& node) -> Status {
    MP_REQUIRE(index < node->subgraphs.size(), "node \"%s\" (%s): subgraph %u was asked for, but it has %zu",
               node->name.c_str(), node->type.c_str(), index, node->subgraphs.size());
    const auto& ref = node->subgraphs[index];
    const auto found = node->graph() == nullptr ? nullptr : node->graph()->FindSubgraph(ref.graph);
    MP_REQUIRE(found != nullptr, "node \"%s\" (%s): its subgraph \"%s\" has not been set", node->name.c_str(),
               node->type.c_str(), ref.name.c_str());
    graph = std::make_shared<Graph>(Wrap(found));
    return Ok();
  });
}

graphStatus GNode::GetALLSubgraphs(std::vector<GraphPtr>& graph_list) const {
  return AnswerFor(*this, "ge::GNode::GetALLSubgraphs", [&](const ir::NodePtr& node) -> Status {
    graph_list.clear();
    for (const auto& ref : node->subgraphs) {
      const auto found = node->graph() == nullptr ? nullptr : node->graph()->FindSubgraph(ref.graph);
      if (found != nullptr) graph_list.push_back(std::make_shared<Graph>(Wrap(found)));
    }
    return Ok();
  });
}

graphStatus GNode::SetSubgraph(const AscendString& subgraph_ir_name, const Graph& subgraph) {
  return AnswerFor(*this, "ge::GNode::SetSubgraph", [&](const ir::NodePtr& node) -> Status {
    MP_REQUIRE(subgraph_ir_name.GetLength() > 0, "node \"%s\" (%s): the subgraph's name is empty", node->name.c_str(),
               node->type.c_str());
    return Attach(node, TextOf(subgraph_ir_name), subgraph);
  });
}

graphStatus GNode::SetSubgraphs(const AscendString& subgraph_ir_name, const std::vector<Graph>& subgraphs) {
  return AnswerFor(*this, "ge::GNode::SetSubgraphs", [&](const ir::NodePtr& node) -> Status {
    MP_REQUIRE(subgraph_ir_name.GetLength() > 0, "node \"%s\" (%s): the subgraphs' name is empty", node->name.c_str(),
               node->type.c_str());
    for (size_t index = 0; index < subgraphs.size(); ++index) {
      const std::string instance = DynamicName(subgraph_ir_name.GetString(), static_cast<uint32_t>(index));
      MP_RETURN_IF_ERROR(Attach(node, instance, subgraphs[index]));
    }
    return Ok();
  });
}

}  // namespace ge

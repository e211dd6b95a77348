// SPDX-License-Identifier: Apache-2.0
// ge::GNode: what it is, its neighbours, operands and subgraphs.
#include "include/graph/gnode.h"

#include <algorithm>

#include "include/graph/graph.h"
#include "src/api/graph/graph_impl.h"

namespace millpond::api {

ir::NodePtr NodeOf(const ge::GNode& node) {
  const auto& impl = BuildAccess::Impl(node);
  return impl == nullptr ? nullptr : impl->node.lock();
}

ge::GNode WrapNode(const ir::NodePtr& node) {
  ge::GNode wrapped;
  if (const auto& impl = BuildAccess::Impl(wrapped)) impl->node = node;
  return wrapped;
}

Status RequireNode(const ge::GNode& node, ir::NodePtr* out_node) {
  *out_node = NodeOf(node);
  MP_REQUIRE(*out_node != nullptr, "the node stands for nothing: it was never set, or its graph is gone");
  return Ok();
}

ir::TensorPtr ConstantOf(const ir::Node& node, size_t place) {
  const ir::Node* reader = &node;
  ir::NodePtr parent;
  // A subgraph's Data stands for an input of the node that runs it, which may be another subgraph's.
  for (int depth = 0; depth < 64 && place < reader->inputs.size(); ++depth) {
    const ir::NodePtr source = reader->inputs[place].source;
    if (source == nullptr) return nullptr;
    if (source->type == "Const" || source->type == "Constant") {
      const ir::Attr* value = source->FindAttr("value");
      return value == nullptr || value->As<ir::TensorPtr>() == nullptr ? nullptr : *value->As<ir::TensorPtr>();
    }
    if (!IsData(*source) || source->graph() == nullptr) return nullptr;
    parent = ParentNodeOf(*source->graph());
    const ir::Attr* index = source->FindAttr("_parent_node_index");
    if (parent == nullptr || index == nullptr || index->As<int64_t>() == nullptr || *index->As<int64_t>() < 0) {
      return nullptr;
    }
    place = static_cast<size_t>(*index->As<int64_t>());
    reader = parent.get();
  }
  return nullptr;
}

}  // namespace millpond::api

namespace ge {

namespace {

Status Place(const char* side, const ir::NodePtr& node, int64_t index, size_t count) {
  MP_REQUIRE(index >= 0 && static_cast<size_t>(index) < count,
             "node \"%s\" (%s): %s %lld was asked for, but it has %zu", node->name.c_str(), node->type.c_str(), side,
             static_cast<long long>(index), count);
  return Ok();
}

// Nodes that `list(node, &nodes)` finds around this one; none where it stands for nothing.
template <class List>
std::vector<GNodePtr> ListNodes(const char* api, const GNode& self, List&& list) {
  return Value(api, std::vector<GNodePtr>(), [&] {
    std::vector<GNodePtr> nodes;
    if (const ir::NodePtr node = NodeOf(self); node != nullptr) list(node, &nodes);
    return nodes;
  });
}

template <class Find>
graphStatus IndexByName(const char* api, const GNode& self, const AscendString& name, int32_t* index, Find&& find) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  return AnswerFor(self, api, [&](const ir::NodePtr& node) -> Status {
    const int found = find(*node, name.GetString());
    MP_REQUIRE(found >= 0, "node \"%s\" (%s) has no operand \"%s\"", node->name.c_str(), node->type.c_str(),
               name.GetString());
    *index = found;
    return Ok();
  });
}

// name0, name1, ... as far as they go.
template <class Find>
graphStatus IndexesByName(const char* api, const GNode& self, const AscendString& name, std::vector<int32_t>* indexes,
                          Find&& find) {
  if (name.GetLength() == 0) return GRAPH_PARAM_INVALID;
  return AnswerFor(self, api, [&](const ir::NodePtr& node) -> Status {
    std::vector<int32_t> found;
    for (uint32_t index = 0;; ++index) {
      const int place = find(*node, DynamicName(name.GetString(), index));
      if (place < 0) break;
      found.push_back(place);
    }
    MP_REQUIRE(!found.empty(), "node \"%s\" (%s) has no dynamic operand \"%s\"", node->name.c_str(), node->type.c_str(),
               name.GetString());
    *indexes = std::move(found);
    return Ok();
  });
}

GNodePtr Shared(const ir::NodePtr& node) { return std::make_shared<GNode>(WrapNode(node)); }

int FindInput(const ir::Node& node, std::string_view name) { return node.FindInput(name); }
int FindOutput(const ir::Node& node, std::string_view name) { return node.FindOutput(name); }

}  // namespace

GNode::GNode() {
  static_cast<void>(Answer("ge::GNode::GNode", [&] {
    impl_ = std::make_shared<NodeImpl>();
    return Ok();
  }));
}

graphStatus GNode::GetType(AscendString& type) const {
  return AnswerFor(*this, "ge::GNode::GetType", [&](const ir::NodePtr& node) -> Status {
    type = Wrap(std::string_view(node->type));
    return Ok();
  });
}

graphStatus GNode::GetName(AscendString& name) const {
  return AnswerFor(*this, "ge::GNode::GetName", [&](const ir::NodePtr& node) -> Status {
    name = Wrap(std::string_view(node->name));
    return Ok();
  });
}

std::pair<GNodePtr, int32_t> GNode::GetInDataNodesAndPortIndexs(const int32_t index) const {
  std::pair<GNodePtr, int32_t> found = {nullptr, 0xFF};
  static_cast<void>(AnswerFor(*this, "ge::GNode::GetInDataNodesAndPortIndexs", [&](const ir::NodePtr& node) -> Status {
    MP_RETURN_IF_ERROR(Place("input", node, index, node->inputs.size()));
    const auto& input = node->inputs[static_cast<size_t>(index)];
    if (input.source != nullptr) found = {Shared(input.source), input.index};
    return Ok();
  }));
  return found;
}

std::vector<std::pair<GNodePtr, int32_t>> GNode::GetOutDataNodesAndPortIndexs(const int32_t index) const {
  std::vector<std::pair<GNodePtr, int32_t>> found;
  static_cast<void>(AnswerFor(*this, "ge::GNode::GetOutDataNodesAndPortIndexs", [&](const ir::NodePtr& node) -> Status {
    MP_RETURN_IF_ERROR(Place("output", node, index, node->outputs.size()));
    for (const ir::NodePtr& user : node->Users()) {
      for (size_t place = 0; place < user->inputs.size(); ++place) {
        const auto& input = user->inputs[place];
        if (input.source == node && input.index == index) found.emplace_back(Shared(user), static_cast<int32_t>(place));
      }
    }
    return Ok();
  }));
  return found;
}

std::vector<GNodePtr> GNode::GetInControlNodes() const {
  return ListNodes("ge::GNode::GetInControlNodes", *this, [](const ir::NodePtr& node, std::vector<GNodePtr>* nodes) {
    for (const ir::NodePtr& control : node->controls) nodes->push_back(Shared(control));
  });
}

std::vector<GNodePtr> GNode::GetOutControlNodes() const {
  return ListNodes("ge::GNode::GetOutControlNodes", *this, [](const ir::NodePtr& node, std::vector<GNodePtr>* nodes) {
    for (const ir::NodePtr& user : node->Users()) {
      if (std::find(user->controls.begin(), user->controls.end(), node) != user->controls.end()) {
        nodes->push_back(Shared(user));
      }
    }
  });
}

graphStatus GNode::GetInputConstData(const int32_t index, Tensor& data) const {
  bool constant = false;
  const graphStatus status = AnswerFor(*this, "ge::GNode::GetInputConstData", [&](const ir::NodePtr& node) -> Status {
    MP_RETURN_IF_ERROR(Place("input", node, index, node->inputs.size()));
    const auto tensor = ConstantOf(*node, static_cast<size_t>(index));
    constant = tensor != nullptr;
    if (constant) data = Wrap(*tensor);
    return Ok();
  });
  if (status != GRAPH_SUCCESS) return status;
  return constant ? GRAPH_SUCCESS : GRAPH_NODE_WITHOUT_CONST_INPUT;
}

size_t GNode::GetInputsSize() const {
  const ir::NodePtr node = NodeOf(*this);
  return node == nullptr ? 0 : node->inputs.size();
}
size_t GNode::GetOutputsSize() const {
  const ir::NodePtr node = NodeOf(*this);
  return node == nullptr ? 0 : node->outputs.size();
}

graphStatus GNode::GetInputIndexByName(const AscendString& name, int32_t& index) {
  return IndexByName("ge::GNode::GetInputIndexByName", *this, name, &index, FindInput);
}
graphStatus GNode::GetOutputIndexByName(const AscendString& name, int32_t& index) {
  return IndexByName("ge::GNode::GetOutputIndexByName", *this, name, &index, FindOutput);
}
graphStatus GNode::GetDynamicInputIndexesByName(const AscendString& name, std::vector<int32_t>& indexes) {
  return IndexesByName("ge::GNode::GetDynamicInputIndexesByName", *this, name, &indexes, FindInput);
}
graphStatus GNode::GetDynamicOutputIndexesByName(const AscendString& name, std::vector<int32_t>& indexes) {
  return IndexesByName("ge::GNode::GetDynamicOutputIndexesByName", *this, name, &indexes, FindOutput);
}

graphStatus GNode::GetInputDesc(const int32_t index, TensorDesc& tensor_desc) const {
  return AnswerFor(*this, "ge::GNode::GetInputDesc", [&](const ir::NodePtr& node) -> Status {
    MP_RETURN_IF_ERROR(Place("input", node, index, node->inputs.size()));
    tensor_desc = Wrap(node->inputs[static_cast<size_t>(index)].desc);
    return Ok();
  });
}

graphStatus GNode::UpdateInputDesc(const int32_t index, const TensorDesc& tensor_desc) {
  return AnswerFor(*this, "ge::GNode::UpdateInputDesc", [&](const ir::NodePtr& node) -> Status {
    MP_RETURN_IF_ERROR(Place("input", node, index, node->inputs.size()));
    Update(&node->inputs[static_cast<size_t>(index)].desc, tensor_desc);
    return Ok();
  });
}

graphStatus GNode::GetOutputDesc(const int32_t index, TensorDesc& tensor_desc) const {
  return AnswerFor(*this, "ge::GNode::GetOutputDesc", [&](const ir::NodePtr& node) -> Status {
    MP_RETURN_IF_ERROR(Place("output", node, index, node->outputs.size()));
    tensor_desc = Wrap(node->outputs[static_cast<size_t>(index)]);
    return Ok();
  });
}

graphStatus GNode::UpdateOutputDesc(const int32_t index, const TensorDesc& tensor_desc) {
  return AnswerFor(*this, "ge::GNode::UpdateOutputDesc", [&](const ir::NodePtr& node) -> Status {
    MP_RETURN_IF_ERROR(Place("output", node, index, node->outputs.size()));
    Update(&node->outputs[static_cast<size_t>(index)], tensor_desc);
    return Ok();
  });
}

}  // namespace ge

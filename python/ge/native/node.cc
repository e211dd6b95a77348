// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs, and the operators that become nodes.
#include "include/graph/operator_factory.h"
#include "python/ge/native/wrapper.h"

using gepy::Attr;
using gepy::Call;
using gepy::kFailed;
using gepy::kSuccess;
using gepy::Value;

namespace {

enum Side : int32_t { kNode = 0, kInput = 1, kOutput = 2 };

void* NewNode(const ge::GNodePtr& node) { return node == nullptr ? nullptr : new ge::GNode(*node); }

char* TextFrom(const ge::GNode* node, ge::graphStatus (ge::GNode::*get)(ge::AscendString&) const) {
  return Value<char*>(nullptr, [&]() -> char* {
    ge::AscendString text;
    if (node == nullptr || (node->*get)(text) != ge::GRAPH_SUCCESS) return nullptr;
    return gepy::NewText(text.GetString());
  });
}

// The protected half of an operator, for definitions that Python writes.
struct Defining : ge::Operator {
  explicit Defining(const ge::Operator& op) : ge::Operator(op) {}
  using ge::Operator::InputRegister;
  using ge::Operator::OptionalInputRegister;
  using ge::Operator::OutputRegister;
};

}  // namespace

GEPY_EXPORT void gepy_node_destroy(ge::GNode* node) { delete node; }
GEPY_EXPORT char* gepy_node_name(const ge::GNode* node) { return TextFrom(node, &ge::GNode::GetName); }
GEPY_EXPORT char* gepy_node_type(const ge::GNode* node) { return TextFrom(node, &ge::GNode::GetType); }

GEPY_EXPORT uint32_t gepy_node_controls(const ge::GNode* node, bool out, void*** nodes, size_t* count) {
  return Call([&] {
    if (node == nullptr) return kFailed;
    return gepy::NewHandles(out ? node->GetOutControlNodes() : node->GetInControlNodes(), NewNode, nodes, count);
  });
}

GEPY_EXPORT ge::GNode* gepy_node_source(const ge::GNode* node, int32_t input, int32_t* output) {
  return Value<ge::GNode*>(nullptr, [&]() -> ge::GNode* {
    if (node == nullptr) return nullptr;
    const auto [source, index] = node->GetInDataNodesAndPortIndexs(input);
    *output = index;
    return static_cast<ge::GNode*>(NewNode(source));
  });
}

// inputs: which input of each user; given back to gepy_free.
GEPY_EXPORT uint32_t gepy_node_users(const ge::GNode* node, int32_t output, void*** nodes, int32_t** inputs,
                                     size_t* count) {
  return Call([&] {
    *inputs = nullptr;
    if (node == nullptr || output < 0 || static_cast<size_t>(output) >= node->GetOutputsSize()) return kFailed;
    const auto users = node->GetOutDataNodesAndPortIndexs(output);
    auto* places = static_cast<int32_t*>(std::calloc(users.size() + 1, sizeof(int32_t)));
    if (places == nullptr) return kFailed;
    for (size_t i = 0; i < users.size(); ++i) places[i] = users[i].second;
    *inputs = places;
    return gepy::NewHandles(
        users, [](const auto& user) { return NewNode(user.first); }, nodes, count);
  });
}

GEPY_EXPORT size_t gepy_node_size(const ge::GNode* node, bool outputs) {
  return Value<size_t>(0, [&]() -> size_t {
    if (node == nullptr) return 0;
    return outputs ? node->GetOutputsSize() : node->GetInputsSize();
  });
}

// Which input or output `name` is, the `place`th of a dynamic one (-1: it is not dynamic); -1 when there is none.
GEPY_EXPORT int32_t gepy_node_operand(ge::GNode* node, bool output, const char* name, int32_t place) {
  return Value<int32_t>(-1, [&]() -> int32_t {
    if (node == nullptr || name == nullptr) return -1;
    const ge::AscendString text(name);
    int32_t index = -1;
    std::vector<int32_t> indexes;
    if (place < 0) {
      const auto status = output ? node->GetOutputIndexByName(text, index) : node->GetInputIndexByName(text, index);
      return status == ge::GRAPH_SUCCESS ? index : -1;
    }
    const auto status =
        output ? node->GetDynamicOutputIndexesByName(text, indexes) : node->GetDynamicInputIndexesByName(text, indexes);
    if (status != ge::GRAPH_SUCCESS || static_cast<size_t>(place) >= indexes.size()) return -1;
    return indexes[static_cast<size_t>(place)];
  });
}

GEPY_EXPORT ge::TensorDesc* gepy_node_get_desc(const ge::GNode* node, bool output, int32_t index) {
  return Value<ge::TensorDesc*>(nullptr, [&]() -> ge::TensorDesc* {
    ge::TensorDesc desc;
    if (node == nullptr) return nullptr;
    const auto status = output ? node->GetOutputDesc(index, desc) : node->GetInputDesc(index, desc);
    return status == ge::GRAPH_SUCCESS ? new ge::TensorDesc(desc) : nullptr;
  });
}

GEPY_EXPORT uint32_t gepy_node_set_desc(ge::GNode* node, bool output, int32_t index, const ge::TensorDesc* desc) {
  return Call([&] {
    if (node == nullptr || desc == nullptr) return kFailed;
    return output ? node->UpdateOutputDesc(index, *desc) : node->UpdateInputDesc(index, *desc);
  });
}

GEPY_EXPORT bool gepy_node_has_attr(ge::GNode* node, const char* name) {
  return Value(false, [&] { return node != nullptr && name != nullptr && node->HasAttr(ge::AscendString(name)); });
}

GEPY_EXPORT uint32_t gepy_node_set_attr(ge::GNode* node, int32_t side, uint32_t index, const char* name,
                                        const Attr* attr) {
  return Call([&] {
    ge::AttrValue value;
    if (node == nullptr || name == nullptr || attr == nullptr || !ToAttrValue(*attr, &value)) return kFailed;
    const ge::AscendString text(name);
    if (side == kInput) return node->SetInputAttr(text, index, value);
    if (side == kOutput) return node->SetOutputAttr(text, index, value);
    return node->SetAttr(text, value);
  });
}

GEPY_EXPORT Attr* gepy_node_get_attr(const ge::GNode* node, int32_t side, uint32_t index, const char* name) {
  return Value<Attr*>(nullptr, [&]() -> Attr* {
    if (node == nullptr || name == nullptr) return nullptr;
    const ge::AscendString text(name);
    ge::AttrValue value;
    const auto status = side == kInput    ? node->GetInputAttr(text, index, value)
                        : side == kOutput ? node->GetOutputAttr(text, index, value)
                                          : node->GetAttr(text, value);
    return status == ge::GRAPH_SUCCESS ? gepy::NewAttr(value) : nullptr;
  });
}

GEPY_EXPORT uint32_t gepy_node_set_subgraphs(ge::GNode* node, const char* name, void* const* graphs, size_t count,
                                             bool dynamic) {
  return Call([&] {
    if (node == nullptr || name == nullptr) return kFailed;
    std::vector<ge::Graph> list;
    for (size_t i = 0; i < count; ++i) {
      if (graphs[i] == nullptr) return kFailed;
      list.push_back(*static_cast<ge::Graph*>(graphs[i]));
    }
    if (dynamic) return node->SetSubgraphs(ge::AscendString(name), list);
    return list.size() == 1 ? node->SetSubgraph(ge::AscendString(name), list.front()) : kFailed;
  });
}

// --- Operators: filled in, then given to gepy_graph_add_operator.
// Null when nobody has defined the type.
GEPY_EXPORT ge::Operator* gepy_operator_create(const char* name, const char* type) {
  return Value<ge::Operator*>(nullptr, [&]() -> ge::Operator* {
    if (name == nullptr || type == nullptr) return nullptr;
    const ge::Operator made = ge::OperatorFactory::CreateOperator(name, type);
    return made.IsEmpty() ? nullptr : new ge::Operator(made);
  });
}
GEPY_EXPORT void gepy_operator_destroy(ge::Operator* op) { delete op; }

GEPY_EXPORT char* gepy_operator_text(const ge::Operator* op, bool type) {
  return Value<char*>(nullptr, [&]() -> char* {
    ge::AscendString text;
    if (op == nullptr) return nullptr;
    if ((type ? op->GetOpType(text) : op->GetName(text)) != ge::GRAPH_SUCCESS) return nullptr;
    return gepy::NewText(text.GetString());
  });
}

GEPY_EXPORT uint32_t gepy_operator_dynamic(ge::Operator* op, bool output, const char* name, uint32_t count) {
  return Call([&] {
    if (op == nullptr || name == nullptr) return kFailed;
    if (output) {
      op->DynamicOutputRegister(name, count);
    } else {
      op->DynamicInputRegister(name, count);
    }
    return (output ? op->GetDynamicOutputNum(name) : op->GetDynamicInputNum(name)) == static_cast<int32_t>(count)
               ? kSuccess
               : kFailed;
  });
}

// What: 0 an input, 1 an input that may be absent, 2 an output.
GEPY_EXPORT uint32_t gepy_operator_define(ge::Operator* op, int32_t what, const char* name) {
  return Call([&] {
    if (op == nullptr || name == nullptr) return kFailed;
    Defining defining(*op);  // copies are one operator
    if (what == 0) defining.InputRegister(name);
    if (what == 1) defining.OptionalInputRegister(name);
    if (what == 2) defining.OutputRegister(name);
    return kSuccess;
  });
}

GEPY_EXPORT uint32_t gepy_operator_set_attr(ge::Operator* op, const char* name, const Attr* attr) {
  return Call([&] {
    ge::AttrValue value;
    if (op == nullptr || name == nullptr || attr == nullptr || !ToAttrValue(*attr, &value)) return kFailed;
    op->SetAttr(name, value);
    return kSuccess;
  });
}

GEPY_EXPORT uint32_t gepy_operator_set_desc(ge::Operator* op, bool output, const char* name,
                                            const ge::TensorDesc* desc) {
  return Call([&] {
    if (op == nullptr || name == nullptr || desc == nullptr) return kFailed;
    return output ? op->UpdateOutputDesc(name, *desc) : op->UpdateInputDesc(name, *desc);
  });
}

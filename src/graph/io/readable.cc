// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/readable.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "src/base/format.h"
#include "src/base/half.h"
#include "src/graph/io/prototext.h"
#include "src/ops/ge_ops.h"

namespace millpond::io {

namespace {

constexpr size_t kShownEnds = 3;  // values shown at each end of a longer constant

template <class T>
T ValueAt(const ir::Tensor& tensor, size_t place) {
  T value;
  std::memcpy(&value, tensor.data.data + place * sizeof(T), sizeof(T));
  return value;
}

std::string RealText(double value) { return Format("%f", value); }

// Empty when the type has no text form.
std::string ElementText(const ir::Tensor& tensor, size_t place) {
  std::string text;
  if (VisitInteger(tensor.desc.dtype,
                   [&](auto zero) { text = std::to_string(ValueAt<decltype(zero)>(tensor, place)); })) {
    return text;
  }
  switch (tensor.desc.dtype) {
    case DType::kFloat:
      return RealText(static_cast<double>(ValueAt<float>(tensor, place)));
    case DType::kDouble:
      return RealText(ValueAt<double>(tensor, place));
    case DType::kHalf:
      return RealText(static_cast<double>(FloatFromHalf(ValueAt<uint16_t>(tensor, place))));
    case DType::kBfloat16:
      return RealText(static_cast<double>(FloatFromBfloat16(ValueAt<uint16_t>(tensor, place))));
    case DType::kBool:
      return ValueAt<uint8_t>(tensor, place) != 0 ? "true" : "false";
    default:
      return {};
  }
}

// An attribute's value; empty when it has nothing to show.
struct AttrText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return RealText(static_cast<double>(value)); }
  std::string operator()(const std::string& value) const { return value.empty() ? std::string() : QuotedText(value); }
  std::string operator()(const ir::ByteString& value) const { return (*this)(value.bytes); }
  std::string operator()(DType value) const { return std::string("DT_") + DTypeName(value); }
  std::string operator()(const ir::TensorPtr& value) const { return value ? ValuesText(*value) : std::string(); }
  std::string operator()(const std::shared_ptr<const ir::TensorDesc>&) const { return {}; }
  std::string operator()(const std::shared_ptr<const ir::NamedAttributes>&) const { return {}; }
  std::string operator()(const ir::GraphPtr&) const { return {}; }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text;
    for (const T& value : values) {
      const std::string one = (*this)(value);
      if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
    }
    return text.empty() ? std::string() : '{' + text + '}';
  }
};

class ReadablePrinter {
 public:
  ReadablePrinter(const ir::Graph& root, bool with_types, std::string* out)
      : root_(root), with_types_(with_types), out_(out) {}

  void Print() {
    Graph(root_);
    for (const ir::GraphPtr& subgraph : root_.subgraphs()) {
      *out_ += '\n';
      Graph(*subgraph);
    }
  }

 private:
  void Graph(const ir::Graph& graph) {
    *out_ += Format("graph(%s):\n", QuotedText(graph.name).c_str());
    results_ = 0;
    instance_of_.clear();
    std::vector<ir::NodePtr> order;
    // A cyclic graph has no order; then nodes are listed as stored.
    if (!graph.Sorted(&order).ok()) order.assign(graph.nodes().begin(), graph.nodes().end());
    CountUsers(graph);
    for (const ir::NodePtr& node : order) {
      if (node->type != "NetOutput") Node(*node);
    }
    *out_ += "\n  return (";
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (i > 0) *out_ += ", ";
      if (graph.outputs.size() > 1) *out_ += Format("output_%zu=", i);
      *out_ += graph.outputs[i].node ? Instance(*graph.outputs[i].node, graph.outputs[i].index) : "<nothing>";
    }
    *out_ += ")\n";
  }

  void CountUsers(const ir::Graph& graph) {
    users_of_.clear();
    const auto count = [this](const ir::Node* node, int32_t index) {
      std::vector<size_t>& users = users_of_[node];
      const auto place = static_cast<size_t>(std::max(index, 0));
      if (users.size() < node->outputs.size()) users.resize(node->outputs.size());
      if (place < users.size()) ++users[place];
    };
    bool has_net_output = false;
    for (const ir::NodePtr& node : graph.nodes()) {
      has_net_output = has_net_output || node->type == "NetOutput";
      for (const ir::Input& input : node->inputs) {
        if (input.source) count(input.source.get(), input.index);
      }
    }
    if (has_net_output) return;
    for (const ir::Endpoint& output : graph.outputs) {
      if (output.node) count(output.node.get(), output.index);
    }
  }

  // "%name", or the name given to one of several outputs.
  std::string Instance(const ir::Node& node, int32_t index) const {
    const auto found = instance_of_.find(&node);
    const auto place = static_cast<size_t>(std::max(index, 0));
    if (found != instance_of_.end() && place < found->second.size()) return '%' + found->second[place];
    return '%' + node.name;
  }

  void Node(const ir::Node& node) {
    std::string inside = Inputs(node);
    const std::string attributes = Attributes(node);
    if (!inside.empty()) inside = "inputs = (" + inside + ')';
    if (!attributes.empty()) inside += (inside.empty() ? "attrs = {" : ", attrs = {") + attributes + '}';
    *out_ += "  %" + node.name + Format(" : [#users=%zu] = Node[type=%s] (", node.outputs.size(), node.type.c_str());
    *out_ += inside + ')';
    if (with_types_ && !node.outputs.empty()) *out_ += "  #" + Types(node);
    *out_ += '\n';
    if (node.outputs.size() < 2) return;
    std::vector<std::string>& names = instance_of_[&node];
    const std::vector<size_t>& users = users_of_[&node];
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      names.push_back(results_ == 0 ? "ret" : "ret_" + std::to_string(results_));
      ++results_;
      *out_ += Format("  %%%s : [#users=%zu] = get_element[node=%%%s](%zu)\n", names.back().c_str(),
                      i < users.size() ? users[i] : 0, node.name.c_str(), i);
    }
  }

  static std::string Types(const ir::Node& node) {
    std::string text;
    for (const ir::TensorDesc& output : node.outputs) {
      text += ' ' + std::string(DTypeName(output.dtype)) + (output.has_shape ? ir::TextOf(output.dims) : "[?]");
    }
    return text;
  }

  // Members of a dynamic operand are numbered separately: x0 is shown as x_0.
  static std::string OperandName(const GeOp* definition, const std::string& name, size_t place) {
    if (name.empty()) return "_input_" + std::to_string(place);
    if (definition == nullptr || definition->FindInput(name) != nullptr) return name;
    for (const GeOperand& operand : definition->inputs) {
      if (operand.presence != GePresence::kDynamic || !name.starts_with(operand.name)) continue;
      const std::string digits = name.substr(operand.name.size());
      if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos) {
        return std::string(operand.name) + '_' + digits;
      }
    }
    return name;
  }

  std::string Inputs(const ir::Node& node) const {
    const GeOp* definition = FindGeDefinition(node.type);
    std::string text;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::Input& input = node.inputs[i];
      if (!input.source) continue;
      if (!text.empty()) text += ", ";
      text += OperandName(definition, input.desc.name, i) + '=' + Instance(*input.source, input.index);
    }
    return text;
  }

  // Those of the definition, in its order; none that begin with '_'.
  static std::string Attributes(const ir::Node& node) {
    std::string text;
    const auto add = [&text](std::string_view name, const std::string& value) {
      if (value.empty()) return;
      if (!text.empty()) text += ", ";
      text.append(name).append(": ").append(value);
    };
    for (size_t i = 0; i < node.subgraphs.size(); ++i) {
      const std::string& name = node.subgraphs[i].name;
      add(name.empty() ? "_graph_" + std::to_string(i) : name, '%' + node.subgraphs[i].graph);
    }
    if (const GeOp* definition = FindGeDefinition(node.type)) {
      for (const GeAttribute& attribute : definition->attributes) {
        if (const ir::Attr* attr = node.FindAttr(attribute.name)) {
          add(attribute.name, std::visit(AttrText(), attr->value));
        }
      }
      return text;
    }
    for (const auto& [name, attr] : node.attributes) {
      if (!name.starts_with('_')) add(name, std::visit(AttrText(), attr.value));
    }
    return text;
  }

  const ir::Graph& root_;
  const bool with_types_;
  std::string* out_;
  size_t results_ = 0;
  std::unordered_map<const ir::Node*, std::vector<std::string>> instance_of_;
  std::unordered_map<const ir::Node*, std::vector<size_t>> users_of_;
};

}  // namespace

std::string ValuesText(const ir::Tensor& tensor) {
  if (tensor.data.size == 0) return "<empty>";
  const auto bits = static_cast<size_t>(BitsOf(tensor.desc.dtype));
  if (bits < 8) return "<not_supported>";
  // As many as there are bytes for, whatever the shape says.
  size_t count = tensor.data.size / (bits / 8);
  if (ir::IsStatic(tensor.desc.dims)) {
    const int64_t elements = ir::ElementsOf(tensor.desc.dims);
    if (elements >= 0) count = std::min(count, static_cast<size_t>(elements));
  }
  if (count == 0) return "<empty>";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (count > 2 * kShownEnds && i == kShownEnds) {
      text += " ...";
      i = count - kShownEnds;
    }
    const std::string one = ElementText(tensor, i);
    if (one.empty()) return "<not_supported>";
    text += (text.empty() ? "" : " ") + one;
  }
  return '[' + text + ']';
}

void PrintReadable(const ir::Graph& graph, bool with_types, std::string* out) {
  ReadablePrinter(graph, with_types, out).Print();
}

}  // namespace millpond::io

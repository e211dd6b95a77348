// SPDX-License-Identifier: Apache-2.0
// ge::es::CompliantNodeBuilder: a node from a definition that the client writes down.
#include <map>
#include <string>

#include "include/ge/compliant_node_builder.h"
#include "include/graph/operator_factory.h"
#include "src/api/es/es.h"
#include "src/api/graph/access.h"

using millpond::InvalidArgument;
using millpond::api::Made;
using millpond::api::Refused;

namespace ge::es {
namespace {

constexpr char kBuild[] = "ge::es::CompliantNodeBuilder::Build";

const char_t* TextOr(const char_t* text) { return text == nullptr ? "" : text; }

// Either the definition that is known, or one with nothing in it; declaring what is there already changes nothing.
struct Defining : Operator {
  explicit Defining(const Operator& op) : Operator(op) {}
  using Operator::InputRegister;
  using Operator::OptionalInputRegister;
  using Operator::OutputRegister;
  using Operator::RequiredAttrWithTypeRegister;
};

Operator NewOperator(const std::string& name, const std::string& type) {
  if (OperatorFactory::IsExistOp(type.c_str())) return OperatorFactory::CreateOperator(name.c_str(), type.c_str());
  return Operator(name.c_str(), type.c_str());
}

}  // namespace

graphStatus AddEdgeAndUpdatePeerDesc(Graph& graph, GNode& src_node, int32_t src_port_index, GNode& dst_node,
                                     int32_t dst_port_index) {
  const graphStatus linked = graph.AddDataEdge(src_node, src_port_index, dst_node, dst_port_index);
  if (linked != GRAPH_SUCCESS) return linked;
  TensorDesc desc;
  const graphStatus found = src_node.GetOutputDesc(src_port_index, desc);
  return found == GRAPH_SUCCESS ? dst_node.UpdateInputDesc(dst_port_index, desc) : found;
}

class CompliantNodeBuilder::IrInputDefV2::Impl {
 public:
  std::string name, symbol;
  IrInputType type = kEsIrInputRequired;
};
class CompliantNodeBuilder::IrOutputDefV2::Impl {
 public:
  std::string name, symbol;
  IrOutputType type = kEsIrOutputRequired;
};
class CompliantNodeBuilder::IrAttrDefV2::Impl {
 public:
  std::string name, data_type;
  IrAttrType type = kEsAttrOptional;
  AttrValue value;
};

#define MP_ES_VALUE(Class)                                                                                   \
  CompliantNodeBuilder::Class::Class() : impl_(new Impl) {}                                                  \
  CompliantNodeBuilder::Class::~Class() { delete impl_; }                                                    \
  CompliantNodeBuilder::Class::Class(const Class& other)                                                     \
      : impl_(other.impl_ == nullptr ? nullptr : new Impl(*other.impl_)) {}                                  \
  CompliantNodeBuilder::Class::Class(Class&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {} \
  CompliantNodeBuilder::Class& CompliantNodeBuilder::Class::operator=(const Class& other) {                  \
    Class copy(other);                                                                                       \
    std::swap(impl_, copy.impl_);                                                                            \
    return *this;                                                                                            \
  }                                                                                                          \
  CompliantNodeBuilder::Class& CompliantNodeBuilder::Class::operator=(Class&& other) noexcept {              \
    std::swap(impl_, other.impl_);                                                                           \
    return *this;                                                                                            \
  }
MP_ES_VALUE(IrInputDefV2)
MP_ES_VALUE(IrOutputDefV2)
MP_ES_VALUE(IrAttrDefV2)
#undef MP_ES_VALUE

using Input = CompliantNodeBuilder::IrInputDefV2;
Input::IrInputDefV2(const char_t* name, IrInputType ir_input_type, const char_t* symbol_id)
    : impl_(new Impl{TextOr(name), TextOr(symbol_id), ir_input_type}) {}
Input& Input::Name(const char_t* name) { return impl_->name = TextOr(name), *this; }
Input& Input::InputType(IrInputType ir_input_type) { return impl_->type = ir_input_type, *this; }
Input& Input::SymbolId(const char_t* symbol_id) { return impl_->symbol = TextOr(symbol_id), *this; }
const char_t* Input::GetName() const { return impl_->name.c_str(); }
CompliantNodeBuilder::IrInputType Input::GetInputType() const { return impl_->type; }
const char_t* Input::GetSymbolId() const { return impl_->symbol.c_str(); }

using Output = CompliantNodeBuilder::IrOutputDefV2;
Output::IrOutputDefV2(const char_t* name, IrOutputType ir_output_type, const char_t* symbol_id)
    : impl_(new Impl{TextOr(name), TextOr(symbol_id), ir_output_type}) {}
Output& Output::Name(const char_t* name) { return impl_->name = TextOr(name), *this; }
Output& Output::OutputType(IrOutputType ir_output_type) { return impl_->type = ir_output_type, *this; }
Output& Output::SymbolId(const char_t* symbol_id) { return impl_->symbol = TextOr(symbol_id), *this; }
const char_t* Output::GetName() const { return impl_->name.c_str(); }
CompliantNodeBuilder::IrOutputType Output::GetOutputType() const { return impl_->type; }
const char_t* Output::GetSymbolId() const { return impl_->symbol.c_str(); }

using Attribute = CompliantNodeBuilder::IrAttrDefV2;
Attribute::IrAttrDefV2(const char_t* attr_name, IrAttrType ir_attr_type, const char_t* attr_data_type,
                       const AttrValue& attr_default_value)
    : impl_(new Impl{TextOr(attr_name), TextOr(attr_data_type), ir_attr_type, attr_default_value}) {}
Attribute& Attribute::AttrName(const char_t* attr_name) { return impl_->name = TextOr(attr_name), *this; }
Attribute& Attribute::AttrType(IrAttrType ir_attr_type) { return impl_->type = ir_attr_type, *this; }
Attribute& Attribute::AttrDataType(const char_t* attr_data_type) {
  return impl_->data_type = TextOr(attr_data_type), *this;
}
Attribute& Attribute::DefaultValue(const AttrValue& attr_default_value) {
  return impl_->value = attr_default_value, *this;
}
const char_t* Attribute::GetAttrName() const { return impl_->name.c_str(); }
CompliantNodeBuilder::IrAttrType Attribute::GetAttrType() const { return impl_->type; }
const char_t* Attribute::GetAttrDataType() const { return impl_->data_type.c_str(); }
const AttrValue& Attribute::GetDefaultValue() const { return impl_->value; }

class CompliantNodeBuilder::CompliantNodeBuilderImpl {
 public:
  using Change = std::function<void(TensorDesc&)>;

  Graph* graph = nullptr;
  std::string type, name;
  std::vector<IrInputDefV2> inputs;
  std::vector<IrOutputDefV2> outputs;
  std::vector<IrAttrDefV2> attributes;
  std::map<std::string, int32_t> input_counts, output_counts;
  std::vector<std::pair<std::string, Change>> changes;  // of outputs, in the order of the calls

  void Declare(Defining* op) const {
    for (const IrInputDefV2& input : inputs) {
      const char_t* const own = input.GetName();
      if (input.GetInputType() == kEsIrInputRequired) op->InputRegister(own);
      if (input.GetInputType() == kEsIrInputOptional) op->OptionalInputRegister(own);
      if (input.GetInputType() == kEsIrInputDynamic) op->DynamicInputRegister(own, CountOf(input_counts, own));
    }
    for (const IrOutputDefV2& output : outputs) {
      const char_t* const own = output.GetName();
      if (output.GetOutputType() == kEsIrOutputRequired) op->OutputRegister(own);
      if (output.GetOutputType() == kEsIrOutputDynamic) op->DynamicOutputRegister(own, CountOf(output_counts, own));
    }
    for (const IrAttrDefV2& attribute : attributes) {
      const char_t* const own = attribute.GetAttrName();
      const AttrValue& value = attribute.GetDefaultValue();
      const bool empty = std::holds_alternative<std::monostate>(millpond::api::AttrOf(value).value);
      if (attribute.GetAttrType() == kEsAttrRequired) {
        op->RequiredAttrWithTypeRegister(own, attribute.GetAttrDataType());
      } else {
        op->AttrRegister(own, value);
      }
      if (!empty) op->SetAttr(own, value);
    }
  }

  bool Describe(Operator* op) const {
    for (const auto& [output, change] : changes) {
      TensorDesc desc = op->GetOutputDescByName(output.c_str());
      change(desc);
      if (op->UpdateOutputDesc(output.c_str(), desc) != GRAPH_SUCCESS) return false;
    }
    return true;
  }

 private:
  static uint32_t CountOf(const std::map<std::string, int32_t>& counts, const char_t* name) {
    const auto found = counts.find(name);
    return found == counts.end() || found->second < 0 ? 0 : static_cast<uint32_t>(found->second);
  }
};

CompliantNodeBuilder::CompliantNodeBuilder(ge::Graph* graph) : impl_(new CompliantNodeBuilderImpl) {
  impl_->graph = graph;
}
CompliantNodeBuilder::~CompliantNodeBuilder() = default;
CompliantNodeBuilder::CompliantNodeBuilder(CompliantNodeBuilder&& other) noexcept = default;
CompliantNodeBuilder& CompliantNodeBuilder::operator=(CompliantNodeBuilder&& other) noexcept = default;

using Builder = CompliantNodeBuilder;
Builder& Builder::OpType(const char_t* type) { return impl_->type = TextOr(type), *this; }
Builder& Builder::Name(const char_t* name) { return impl_->name = TextOr(name), *this; }
Builder& Builder::IrDefInputsV2(const IrInputDefV2* input_ir_def, size_t input_ir_def_num) {
  return impl_->inputs.assign(input_ir_def, input_ir_def + input_ir_def_num), *this;
}
Builder& Builder::IrDefOutputsV2(const IrOutputDefV2* output_ir_def, size_t output_ir_def_num) {
  return impl_->outputs.assign(output_ir_def, output_ir_def + output_ir_def_num), *this;
}
Builder& Builder::IrDefAttrsV2(const IrAttrDefV2* attr_ir_def, size_t attr_ir_def_num) {
  return impl_->attributes.assign(attr_ir_def, attr_ir_def + attr_ir_def_num), *this;
}
Builder& Builder::InstanceDynamicInputNum(const char_t* ir_name, int32_t num) {
  return impl_->input_counts[TextOr(ir_name)] = num, *this;
}
Builder& Builder::InstanceDynamicOutputNum(const char_t* ir_name, int32_t num) {
  return impl_->output_counts[TextOr(ir_name)] = num, *this;
}
Builder& Builder::InstanceOutputDataType(const char_t* name, ge::DataType data_type) {
  impl_->changes.emplace_back(TextOr(name), [data_type](TensorDesc& desc) { desc.SetDataType(data_type); });
  return *this;
}
Builder& Builder::InstanceOutputShape(const char_t* name, const std::vector<int64_t>& shape) {
  return InstanceOutputOriginShape(name, shape).InstanceOutputStorageShape(name, shape);
}
Builder& Builder::InstanceOutputOriginShape(const char_t* name, const std::vector<int64_t>& shape) {
  impl_->changes.emplace_back(TextOr(name), [shape](TensorDesc& desc) { desc.SetOriginShape(Shape(shape)); });
  return *this;
}
Builder& Builder::InstanceOutputStorageShape(const char_t* name, const std::vector<int64_t>& shape) {
  impl_->changes.emplace_back(TextOr(name), [shape](TensorDesc& desc) { desc.SetShape(Shape(shape)); });
  return *this;
}
Builder& Builder::InstanceOutputFormat(const char_t* name, ge::Format format) {
  return InstanceOutputOriginFormat(name, format).InstanceOutputStorageFormat(name, format);
}
Builder& Builder::InstanceOutputOriginFormat(const char_t* name, ge::Format format) {
  impl_->changes.emplace_back(TextOr(name), [format](TensorDesc& desc) { desc.SetOriginFormat(format); });
  return *this;
}
Builder& Builder::InstanceOutputStorageFormat(const char_t* name, ge::Format format) {
  impl_->changes.emplace_back(TextOr(name), [format](TensorDesc& desc) { desc.SetFormat(format); });
  return *this;
}

ge::GNode CompliantNodeBuilder::Build() const {
  return Made(kBuild, GNode(), [&]() -> GNode {
    if (impl_->graph == nullptr || impl_->type.empty()) {
      static_cast<void>(Refused(
          kBuild, InvalidArgument(millpond::Format("the %s; OpType gives one, the constructor the other",
                                                   impl_->graph == nullptr ? "graph is null" : "type is empty"))));
      return {};
    }
    Defining op(NewOperator(impl_->name, impl_->type));
    impl_->Declare(&op);
    return impl_->Describe(&op) ? impl_->graph->AddNodeByOp(op) : GNode();
  });
}

}  // namespace ge::es

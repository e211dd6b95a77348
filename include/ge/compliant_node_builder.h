// SPDX-License-Identifier: Apache-2.0
//
// A node from a definition that the program writes down: what functions for operators of the user's own are made of.
#ifndef MILLPOND_INCLUDE_GE_COMPLIANT_NODE_BUILDER_H_
#define MILLPOND_INCLUDE_GE_COMPLIANT_NODE_BUILDER_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ge/ge_api_types.h"
#include "graph/attr_value.h"
#include "graph/gnode.h"
#include "graph/graph.h"
#include "graph/operator.h"

namespace ge {
namespace es {

template <typename T>
AttrValue CreateFrom(T&& value) {
  const AttrValue made;
  static_cast<void>(made.SetAttrValue(std::forward<T>(value)));
  return made;
}

// Whether an attribute has its default: exactly, or for float to within a millionth.
template <typename T>
bool ValuesEqual(const T& a, const T& b) {
  return a == b;
}
template <>
inline bool ValuesEqual<float>(const float& a, const float& b) {
  return std::abs(a - b) < 1e-6F;
}
template <typename T>
bool ValuesEqual(const std::vector<T>& a, const std::vector<T>& b) {
  bool equal = a.size() == b.size();
  for (size_t i = 0; equal && i < a.size(); ++i) equal = ValuesEqual<T>(a[i], b[i]);
  return equal;
}

// An empty value, which leaves the attribute at its default, when it has that value anyway.
template <typename T>
AttrValue CreateFromIfNotEqual(T&& value, typename std::decay<T>::type default_value) {
  return ValuesEqual(value, default_value) ? AttrValue() : CreateFrom(std::forward<T>(value));
}

// Links an output to an input, which takes the output's description.
GE_FUNC_HOST_VISIBILITY graphStatus AddEdgeAndUpdatePeerDesc(Graph& graph, GNode& src_node, int32_t src_port_index,
                                                             GNode& dst_node, int32_t dst_port_index);

class GE_FUNC_HOST_VISIBILITY CompliantNodeBuilder {
 public:
  // An operator whose definition may be written from outside.
  class AnyTypeOperator : public Operator {
   public:
    AnyTypeOperator(const char_t* name, const char_t* type) : Operator(name, type) {}
    using Operator::AttrRegister;
    using Operator::DynamicInputRegister;
    using Operator::DynamicOutputRegister;
    using Operator::InputRegister;
    using Operator::OptionalInputRegister;
    using Operator::OutputRegister;
    using Operator::RequiredAttrWithTypeRegister;
    using Operator::SubgraphRegister;
  };

  enum IrAttrType { kEsAttrRequired, kEsAttrOptional };
  enum IrInputType { kEsIrInputRequired, kEsIrInputOptional, kEsIrInputDynamic, kEsIrInputTypeEnd };
  enum IrOutputType { kEsIrOutputRequired, kEsIrOutputDynamic, kEsIrOutputTypeEnd };

  struct IrAttrDef {
    std::string attr_name;
    IrAttrType ir_attr_type;
    std::string attr_data_type;
    AttrValue attr_default_value;
  };
  struct IrInputDef {
    std::string name;
    IrInputType ir_input_type;
    std::string symbol_id;
  };
  struct IrOutputDef {
    std::string name;
    IrOutputType ir_output_type;
    std::string symbol_id;
  };

  // The same without a std::string in it: programs of either string ABI pass these.
  class GE_FUNC_HOST_VISIBILITY IrInputDefV2 {
   public:
    IrInputDefV2();
    IrInputDefV2(const char_t* name, IrInputType ir_input_type, const char_t* symbol_id);
    ~IrInputDefV2();
    IrInputDefV2(const IrInputDefV2& other);
    IrInputDefV2& operator=(const IrInputDefV2& other);
    IrInputDefV2(IrInputDefV2&& other) noexcept;
    IrInputDefV2& operator=(IrInputDefV2&& other) noexcept;

    IrInputDefV2& Name(const char_t* name);
    IrInputDefV2& InputType(IrInputType ir_input_type);
    IrInputDefV2& SymbolId(const char_t* symbol_id);
    const char_t* GetName() const;
    IrInputType GetInputType() const;
    const char_t* GetSymbolId() const;

   private:
    class Impl;
    Impl* impl_;
  };

  class GE_FUNC_HOST_VISIBILITY IrOutputDefV2 {
   public:
    IrOutputDefV2();
    IrOutputDefV2(const char_t* name, IrOutputType ir_output_type, const char_t* symbol_id);
    ~IrOutputDefV2();
    IrOutputDefV2(const IrOutputDefV2& other);
    IrOutputDefV2& operator=(const IrOutputDefV2& other);
    IrOutputDefV2(IrOutputDefV2&& other) noexcept;
    IrOutputDefV2& operator=(IrOutputDefV2&& other) noexcept;

    IrOutputDefV2& Name(const char_t* name);
    IrOutputDefV2& OutputType(IrOutputType ir_output_type);
    IrOutputDefV2& SymbolId(const char_t* symbol_id);
    const char_t* GetName() const;
    IrOutputType GetOutputType() const;
    const char_t* GetSymbolId() const;

   private:
    class Impl;
    Impl* impl_;
  };

  // The value is what the node gets; an empty one leaves the default.
  class GE_FUNC_HOST_VISIBILITY IrAttrDefV2 {
   public:
    IrAttrDefV2();
    IrAttrDefV2(const char_t* attr_name, IrAttrType ir_attr_type, const char_t* attr_data_type,
                const AttrValue& attr_default_value);
    ~IrAttrDefV2();
    IrAttrDefV2(const IrAttrDefV2& other);
    IrAttrDefV2& operator=(const IrAttrDefV2& other);
    IrAttrDefV2(IrAttrDefV2&& other) noexcept;
    IrAttrDefV2& operator=(IrAttrDefV2&& other) noexcept;

    IrAttrDefV2& AttrName(const char_t* attr_name);
    IrAttrDefV2& AttrType(IrAttrType ir_attr_type);
    IrAttrDefV2& AttrDataType(const char_t* attr_data_type);
    IrAttrDefV2& DefaultValue(const AttrValue& attr_default_value);
    const char_t* GetAttrName() const;
    IrAttrType GetAttrType() const;
    const char_t* GetAttrDataType() const;
    const AttrValue& GetDefaultValue() const;

   private:
    class Impl;
    Impl* impl_;
  };

  explicit CompliantNodeBuilder(ge::Graph* graph);
  ~CompliantNodeBuilder();
  CompliantNodeBuilder(CompliantNodeBuilder&& other) noexcept;
  CompliantNodeBuilder& operator=(CompliantNodeBuilder&& other) noexcept;
  CompliantNodeBuilder(const CompliantNodeBuilder&) = delete;
  CompliantNodeBuilder& operator=(const CompliantNodeBuilder&) = delete;

  CompliantNodeBuilder& OpType(const char_t* type);
  CompliantNodeBuilder& Name(const char_t* name);

  // The definition, in its order. What a built-in type has beside it, it keeps.
  CompliantNodeBuilder& IrDefInputsV2(const IrInputDefV2* input_ir_def, size_t input_ir_def_num);
  CompliantNodeBuilder& IrDefOutputsV2(const IrOutputDefV2* output_ir_def, size_t output_ir_def_num);
  CompliantNodeBuilder& IrDefAttrsV2(const IrAttrDefV2* attr_ir_def, size_t attr_ir_def_num);
  CompliantNodeBuilder& IrDefInputsV2(std::initializer_list<IrInputDefV2> input_ir_def) {
    return IrDefInputsV2(input_ir_def.begin(), input_ir_def.size());
  }
  CompliantNodeBuilder& IrDefInputsV2(const std::vector<IrInputDefV2>& input_ir_def) {
    return IrDefInputsV2(input_ir_def.data(), input_ir_def.size());
  }
  CompliantNodeBuilder& IrDefOutputsV2(std::initializer_list<IrOutputDefV2> output_ir_def) {
    return IrDefOutputsV2(output_ir_def.begin(), output_ir_def.size());
  }
  CompliantNodeBuilder& IrDefOutputsV2(const std::vector<IrOutputDefV2>& output_ir_def) {
    return IrDefOutputsV2(output_ir_def.data(), output_ir_def.size());
  }
  CompliantNodeBuilder& IrDefAttrsV2(std::initializer_list<IrAttrDefV2> attr_ir_def) {
    return IrDefAttrsV2(attr_ir_def.begin(), attr_ir_def.size());
  }
  CompliantNodeBuilder& IrDefAttrsV2(const std::vector<IrAttrDefV2>& attr_ir_def) {
    return IrDefAttrsV2(attr_ir_def.data(), attr_ir_def.size());
  }
  // Turned into the others by the program itself, whatever its strings are.
  CompliantNodeBuilder& IrDefInputs(std::vector<IrInputDef> input_ir_def) {
    std::vector<IrInputDefV2> plain;
    for (const IrInputDef& one : input_ir_def) {
      plain.emplace_back(one.name.c_str(), one.ir_input_type, one.symbol_id.c_str());
    }
    return IrDefInputsV2(plain);
  }
  CompliantNodeBuilder& IrDefOutputs(std::vector<IrOutputDef> output_ir_def) {
    std::vector<IrOutputDefV2> plain;
    for (const IrOutputDef& one : output_ir_def) {
      plain.emplace_back(one.name.c_str(), one.ir_output_type, one.symbol_id.c_str());
    }
    return IrDefOutputsV2(plain);
  }
  CompliantNodeBuilder& IrDefAttrs(std::vector<IrAttrDef> attr_ir_def) {
    std::vector<IrAttrDefV2> plain;
    for (const IrAttrDef& one : attr_ir_def) {
      plain.emplace_back(one.attr_name.c_str(), one.ir_attr_type, one.attr_data_type.c_str(), one.attr_default_value);
    }
    return IrDefAttrsV2(plain);
  }

  // How many tensors a dynamic operand has.
  CompliantNodeBuilder& InstanceDynamicInputNum(const char_t* ir_name, int32_t num);
  CompliantNodeBuilder& InstanceDynamicOutputNum(const char_t* ir_name, int32_t num);

  // Of one output, by its own name: y, or y0 of a dynamic one.
  CompliantNodeBuilder& InstanceOutputDataType(const char_t* name, ge::DataType data_type);
  CompliantNodeBuilder& InstanceOutputShape(const char_t* name, const std::vector<int64_t>& shape);
  CompliantNodeBuilder& InstanceOutputOriginShape(const char_t* name, const std::vector<int64_t>& shape);
  CompliantNodeBuilder& InstanceOutputStorageShape(const char_t* name, const std::vector<int64_t>& shape);
  CompliantNodeBuilder& InstanceOutputFormat(const char_t* name, ge::Format format);
  CompliantNodeBuilder& InstanceOutputOriginFormat(const char_t* name, ge::Format format);
  CompliantNodeBuilder& InstanceOutputStorageFormat(const char_t* name, ge::Format format);

  // Adds the node to the graph. One that cannot be made stands for no node, with a message.
  ge::GNode Build() const;

 private:
  class CompliantNodeBuilderImpl;
  std::unique_ptr<CompliantNodeBuilderImpl> impl_;
};

}  // namespace es
}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_COMPLIANT_NODE_BUILDER_H_

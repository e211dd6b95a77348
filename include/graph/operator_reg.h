// SPDX-License-Identifier: Apache-2.0
//
// Definitions of operators:
//
//   REG_OP(Axpy)
//       .INPUT(x, TensorType({DT_FLOAT}))
//       .OUTPUT(y, TensorType({DT_FLOAT}))
//       .ATTR(alpha, Float, 1.0)
//       .OP_END_FACTORY_REG(Axpy)
//
// makes a class ge::op::Axpy with set_input_x, get_output_desc_y, set_attr_alpha and their like. The words are INPUT,
// OPTIONAL_INPUT, DYNAMIC_INPUT, OUTPUT, DYNAMIC_OUTPUT, ATTR, REQUIRED_ATTR, OPTIONAL_ATTR (ours: no default), GRAPH,
// DYNAMIC_GRAPH and DATATYPE. Order counts: it is the order of the operands.
#ifndef MILLPOND_INCLUDE_GRAPH_OPERATOR_REG_H_
#define MILLPOND_INCLUDE_GRAPH_OPERATOR_REG_H_

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "graph/graph.h"
#include "graph/operator.h"
#include "graph/operator_factory.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace ge {

using std::function;
using std::string;
using std::vector;

// The libraries take text as AscendString, which has one ABI.
inline AscendString ToRegistered(const std::string& value) { return AscendString(value.data(), value.size()); }
inline std::vector<AscendString> ToRegistered(const std::vector<std::string>& values) {
  std::vector<AscendString> converted;
  for (const std::string& value : values) converted.push_back(ToRegistered(value));
  return converted;
}
template <class T>
const T& ToRegistered(const T& value) {
  return value;
}

// Which output of an operator an input takes: the only one, or one by its index or name.
class SourceOutput {
 public:
  SourceOutput() {}
  template <class T, class = typename std::enable_if<std::is_integral<T>::value || std::is_enum<T>::value>::type>
  SourceOutput(T index) : kind_(Kind::kIndex), index_(static_cast<uint32_t>(index)) {}
  SourceOutput(const char* name) : kind_(Kind::kName), name_(name) {}
  SourceOutput(const std::string& name) : kind_(Kind::kName), name_(name.c_str()) {}

 private:
  friend class DefinedOperator;
  enum class Kind { kOnly, kIndex, kName };
  Kind kind_ = Kind::kOnly;
  uint32_t index_ = 0;
  const char* name_ = nullptr;  // of the caller: a SourceOutput lives as long as the call that it is an argument of
};

// An operator's name, in whichever form the client has it.
class OperatorName {
 public:
  OperatorName(const char* name) : text_(name) {}
  OperatorName(const AscendString& name) : text_(name.GetString()) {}
  OperatorName(const std::string& name) : text_(name.c_str()) {}

 private:
  friend class DefinedOperator;
  const char* text_;  // of the caller, likewise
};

// What the functions of every definition come down to. A client may include thousands of definitions, and what the
// compiler spends on them is choosing among overloads and building temporaries: so that is done here, once, and each
// function of a definition is a call with one meaning. It adds no member: every operator is an Operator and nothing
// besides.
class DefinedOperator : public Operator {
 protected:
  explicit DefinedOperator(const char* type) : Operator(type) {}
  DefinedOperator(const OperatorName& name, const char* type) : Operator(name.text_, type) {}

  static std::string TextOf(const char* name) { return name; }
  static void CopyName(AscendString& to, const char* name) { to = AscendString(name); }

  void Link(const char* input, const Operator& from, const SourceOutput& output) {
    switch (output.kind_) {
      case SourceOutput::Kind::kOnly:
        (void)Operator::SetInput(input, from);
        break;
      case SourceOutput::Kind::kIndex:
        (void)Operator::SetInput(input, from, output.index_);
        break;
      case SourceOutput::Kind::kName:
        (void)Operator::SetInput(input, from, output.name_);
        break;
    }
  }
  graphStatus SetInputDesc(const char* name, const TensorDesc& desc) { return Operator::UpdateInputDesc(name, desc); }
  graphStatus SetOutputDesc(const char* name, const TensorDesc& desc) { return Operator::UpdateOutputDesc(name, desc); }
  void DefineInput(const char* name, const char* types) { Operator::InputRegister(name, types); }
  void DefineOptionalInput(const char* name, const char* types) { Operator::OptionalInputRegister(name, types); }
  void DefineOutput(const char* name, const char* types) { Operator::OutputRegister(name, types); }

  void DefineRequiredAttr(const char* name, const char* type) { Operator::RequiredAttrWithTypeRegister(name, type); }
  void DefineOptionalAttr(const char*, const char*) {}  // it has no default, so there is nothing to register

// For each type of attribute, by the word that definitions use for it.
#define MILLPOND_ATTR_TYPE_(Word, T, kind)                                                                            \
  kind void DefineAttr##Word(const char* name, const T& value) { Operator::AttrRegister(name, ToRegistered(value)); } \
  kind void SetAttr##Word(const char* name, const T& value) { (void)Operator::SetAttr(name, ToRegistered(value)); }   \
  kind void SetAttr##Word##From(const char* name, const function<T()>& value) { SetAttr##Word(name, value()); }       \
  kind T GetAttr##Word(const char* name, T value) const {                                                             \
    (void)Operator::GetAttr(name, value);                                                                             \
    return value;                                                                                                     \
  }                                                                                                                   \
  kind graphStatus ReadAttr##Word(const char* name, T& value) const { return Operator::GetAttr(name, value); }
  MILLPOND_ATTR_TYPE_(Int, OpInt, )
  MILLPOND_ATTR_TYPE_(Float, OpFloat, )
  MILLPOND_ATTR_TYPE_(Bool, OpBool, )
  MILLPOND_ATTR_TYPE_(String, OpString, )
  MILLPOND_ATTR_TYPE_(AscendString, OpAscendString, )
  MILLPOND_ATTR_TYPE_(Type, OpType, )
  MILLPOND_ATTR_TYPE_(Tensor, OpTensor, )
  MILLPOND_ATTR_TYPE_(Bytes, OpBytes, )
  MILLPOND_ATTR_TYPE_(ListInt, OpListInt, )
  MILLPOND_ATTR_TYPE_(ListFloat, OpListFloat, )
  MILLPOND_ATTR_TYPE_(ListBool, OpListBool, )
  MILLPOND_ATTR_TYPE_(ListString, OpListString, )
  MILLPOND_ATTR_TYPE_(ListAscendString, OpListAscendString, )
  MILLPOND_ATTR_TYPE_(ListType, OpListType, )
  MILLPOND_ATTR_TYPE_(ListTensor, OpListTensor, )
  MILLPOND_ATTR_TYPE_(ListListInt, OpListListInt, )
  // NamedAttrs is the client's to complete.
  MILLPOND_ATTR_TYPE_(NamedAttrs, T, template <class T = OpNamedAttrs>)
  MILLPOND_ATTR_TYPE_(ListNamedAttrs, T, template <class T = OpListNamedAttrs>)
#undef MILLPOND_ATTR_TYPE_
  void SetAttrChars(const char* name, const char* value) { (void)Operator::SetAttr(name, value); }
};

// A definition is one expression to its writer. Each word closes the member function that the word before it opened,
// with a call of its own, and opens the next one: so the constructor walks through all of them in order.
class OpReg {
 public:
  static void Next() {}
};

}  // namespace ge

#define REG_OP(x)                                                                        \
  namespace op {                                                                         \
  class x : public DefinedOperator {                                                     \
    typedef x ThisOp;                                                                    \
                                                                                         \
   public:                                                                               \
    x() : DefinedOperator(#x) { define_first(); }                                        \
    explicit x(const OperatorName& name) : DefinedOperator(name, #x) { define_first(); } \
                                                                                         \
   private:                                                                              \
    void define_first() {                                                                \
      OpReg()

#define MILLPOND_NAME_OF_(kind, x)                                    \
  static const std::string name_##kind##_##x() { return TextOf(#x); } \
  static void name_##kind##_##x(AscendString& name) { CopyName(name, #x); }

#define MILLPOND_INPUT_(x, define, t)                                                                      \
  Next();                                                                                                  \
  define_in_##x();                                                                                         \
  }                                                                                                        \
                                                                                                           \
 public:                                                                                                   \
  MILLPOND_NAME_OF_(in, x)                                                                                 \
  ThisOp& set_input_##x(const Operator& v, const SourceOutput& output = SourceOutput()) {                  \
    Link(#x, v, output);                                                                                   \
    return *this;                                                                                          \
  }                                                                                                        \
  TensorDesc get_input_desc_##x() const { return GetInputDescByName(#x); }                                 \
  graphStatus update_input_desc_##x(const TensorDesc& tensorDesc) { return SetInputDesc(#x, tensorDesc); } \
                                                                                                           \
 private:                                                                                                  \
  void define_in_##x() {                                                                                   \
    define(#x, t);                                                                                         \
    OpReg()

#define INPUT(x, t) MILLPOND_INPUT_(x, DefineInput, #t)
#define OPTIONAL_INPUT(x, t) MILLPOND_INPUT_(x, DefineOptionalInput, #t)

#define OUTPUT(x, t)                                                                                         \
  Next();                                                                                                    \
  define_out_##x();                                                                                          \
  }                                                                                                          \
                                                                                                             \
 public:                                                                                                     \
  MILLPOND_NAME_OF_(out, x)                                                                                  \
  TensorDesc get_output_desc_##x() const { return GetOutputDescByName(#x); }                                 \
  graphStatus update_output_desc_##x(const TensorDesc& tensorDesc) { return SetOutputDesc(#x, tensorDesc); } \
                                                                                                             \
 private:                                                                                                    \
  void define_out_##x() {                                                                                    \
    DefineOutput(#x, #t);                                                                                    \
    OpReg()

#define DYNAMIC_INPUT(x, t)                                                                                        \
  Next();                                                                                                          \
  define_dynamic_in_##x();                                                                                         \
  }                                                                                                                \
                                                                                                                   \
 public:                                                                                                           \
  ThisOp& create_dynamic_input_##x(uint32_t num, bool isPushBack = true) {                                         \
    Operator::DynamicInputRegister(#x, num, #t, isPushBack);                                                       \
    return *this;                                                                                                  \
  }                                                                                                                \
  ThisOp& create_dynamic_input_byindex_##x(uint32_t num, size_t index) {                                           \
    Operator::DynamicInputRegisterByIndex(#x, num, index);                                                         \
    return *this;                                                                                                  \
  }                                                                                                                \
  TensorDesc get_dynamic_input_desc_##x(uint32_t index) const { return Operator::GetDynamicInputDesc(#x, index); } \
  graphStatus update_dynamic_input_desc_##x(uint32_t index, const TensorDesc& tensorDesc) {                        \
    return Operator::UpdateDynamicInputDesc(#x, index, tensorDesc);                                                \
  }                                                                                                                \
  ThisOp& set_dynamic_input_##x(uint32_t dstIndex, const Operator& v) {                                            \
    Operator::SetInput(#x, dstIndex, v);                                                                           \
    return *this;                                                                                                  \
  }                                                                                                                \
  ThisOp& set_dynamic_input_##x(uint32_t dstIndex, const Operator& v, const char* srcName) {                       \
    Operator::SetInput(#x, dstIndex, v, srcName);                                                                  \
    return *this;                                                                                                  \
  }                                                                                                                \
  ThisOp& set_dynamic_input_##x(uint32_t dstIndex, const Operator& v, const std::string& srcName) {                \
    return set_dynamic_input_##x(dstIndex, v, srcName.c_str());                                                    \
  }                                                                                                                \
                                                                                                                   \
 private:                                                                                                          \
  void define_dynamic_in_##x() {                                                                                   \
    Operator::DynamicInputRegister(#x, 0, #t, true);                                                               \
    OpReg()

#define DYNAMIC_OUTPUT(x, t)                                                                                         \
  Next();                                                                                                            \
  define_dynamic_out_##x();                                                                                          \
  }                                                                                                                  \
                                                                                                                     \
 public:                                                                                                             \
  ThisOp& create_dynamic_output_##x(uint32_t num, bool isPushBack = true) {                                          \
    Operator::DynamicOutputRegister(#x, num, #t, isPushBack);                                                        \
    return *this;                                                                                                    \
  }                                                                                                                  \
  TensorDesc get_dynamic_output_desc_##x(uint32_t index) const { return Operator::GetDynamicOutputDesc(#x, index); } \
  graphStatus update_dynamic_output_desc_##x(uint32_t index, const TensorDesc& tensorDesc) {                         \
    return Operator::UpdateDynamicOutputDesc(#x, index, tensorDesc);                                                 \
  }                                                                                                                  \
                                                                                                                     \
 private:                                                                                                            \
  void define_dynamic_out_##x() {                                                                                    \
    Operator::DynamicOutputRegister(#x, 0, #t, true);                                                                \
    OpReg()

// Text can be given and asked for as AscendString too.
#define MILLPOND_ATTR_AscendString(x) \
  graphStatus get_attr_##x(AscendString& ret) const { return ReadAttrAscendString(#x, ret); }
#define MILLPOND_ATTR_ListAscendString(x) \
  graphStatus get_attr_##x(std::vector<AscendString>& ret) const { return ReadAttrListAscendString(#x, ret); }
#define MILLPOND_ATTR_String(x)                                       \
  MILLPOND_ATTR_AscendString(x) ThisOp& set_attr_##x(const char* v) { \
    SetAttrChars(#x, v);                                              \
    return *this;                                                     \
  }                                                                   \
  ThisOp& set_attr_##x(const function<AscendString()>& v) {           \
    SetAttrAscendStringFrom(#x, v);                                   \
    return *this;                                                     \
  }
#define MILLPOND_ATTR_ListString(x)                                                            \
  MILLPOND_ATTR_ListAscendString(x) ThisOp& set_attr_##x(const std::vector<AscendString>& v) { \
    SetAttrListAscendString(#x, v);                                                            \
    return *this;                                                                              \
  }                                                                                            \
  ThisOp& set_attr_##x(const function<vector<AscendString>()>& v) {                            \
    SetAttrListAscendStringFrom(#x, v);                                                        \
    return *this;                                                                              \
  }
#define MILLPOND_ATTR_Int(x)
#define MILLPOND_ATTR_Float(x)
#define MILLPOND_ATTR_Bool(x)
#define MILLPOND_ATTR_Type(x)
#define MILLPOND_ATTR_Tensor(x)
#define MILLPOND_ATTR_Bytes(x)
#define MILLPOND_ATTR_NamedAttrs(x)
#define MILLPOND_ATTR_ListInt(x)
#define MILLPOND_ATTR_ListFloat(x)
#define MILLPOND_ATTR_ListBool(x)
#define MILLPOND_ATTR_ListType(x)
#define MILLPOND_ATTR_ListTensor(x)
#define MILLPOND_ATTR_ListListInt(x)
#define MILLPOND_ATTR_ListNamedAttrs(x)

// A function is asked for the value at once.
#define MILLPOND_ATTR_(x, Type)                                     \
  Next();                                                           \
  define_attr_##x();                                                \
  }                                                                 \
                                                                    \
 public:                                                            \
  MILLPOND_NAME_OF_(attr, x)                                        \
  MILLPOND_ATTR_##Type(x) ThisOp& set_attr_##x(const Op##Type& v) { \
    SetAttr##Type(#x, v);                                           \
    return *this;                                                   \
  }                                                                 \
  ThisOp& set_attr_##x(const function<Op##Type()>& v) {             \
    SetAttr##Type##From(#x, v);                                     \
    return *this;                                                   \
  }

#define ATTR(x, Type, ...)                                                 \
  MILLPOND_ATTR_(x, Type)                                                  \
  Op##Type get_attr_##x() const { return GetAttr##Type(#x, __VA_ARGS__); } \
                                                                           \
 private:                                                                  \
  void define_attr_##x() {                                                 \
    DefineAttr##Type(#x, __VA_ARGS__);                                     \
    OpReg()

#define MILLPOND_ATTR_WITHOUT_DEFAULT_(x, Type, define)                   \
  MILLPOND_ATTR_(x, Type)                                                 \
  Op##Type get_attr_##x() const { return GetAttr##Type(#x, Op##Type()); } \
                                                                          \
 private:                                                                 \
  void define_attr_##x() {                                                \
    define(#x, #Type);                                                    \
    OpReg()

#define REQUIRED_ATTR(x, Type) MILLPOND_ATTR_WITHOUT_DEFAULT_(x, Type, DefineRequiredAttr)
#define OPTIONAL_ATTR(x, Type) MILLPOND_ATTR_WITHOUT_DEFAULT_(x, Type, DefineOptionalAttr)

#define GRAPH(x)                                                                                \
  Next();                                                                                       \
  define_graph_##x();                                                                           \
  }                                                                                             \
                                                                                                \
 public:                                                                                        \
  MILLPOND_NAME_OF_(graph, x)                                                                   \
  SubgraphBuilder get_subgraph_builder_##x() const { return Operator::GetSubgraphBuilder(#x); } \
  ThisOp& set_subgraph_builder_##x(const SubgraphBuilder& v) {                                  \
    Operator::SetSubgraphBuilder(#x, 0, v);                                                     \
    return *this;                                                                               \
  }                                                                                             \
  Graph get_subgraph_##x() const { return Operator::GetSubgraph(#x); }                          \
                                                                                                \
 private:                                                                                       \
  void define_graph_##x() {                                                                     \
    Operator::SubgraphRegister(#x, false);                                                      \
    Operator::SubgraphCountRegister(#x, 1);                                                     \
    OpReg()

#define DYNAMIC_GRAPH(x)                                                                                   \
  Next();                                                                                                  \
  define_graph_##x();                                                                                      \
  }                                                                                                        \
                                                                                                           \
 public:                                                                                                   \
  MILLPOND_NAME_OF_(graph, x)                                                                              \
  ThisOp& create_dynamic_subgraph_##x(uint32_t num) {                                                      \
    Operator::SubgraphCountRegister(#x, num);                                                              \
    return *this;                                                                                          \
  }                                                                                                        \
  SubgraphBuilder get_dynamic_subgraph_builder_##x(uint32_t index) const {                                 \
    return Operator::GetDynamicSubgraphBuilder(#x, index);                                                 \
  }                                                                                                        \
  ThisOp& set_dynamic_subgraph_builder_##x(uint32_t index, const SubgraphBuilder& v) {                     \
    Operator::SetSubgraphBuilder(#x, index, v);                                                            \
    return *this;                                                                                          \
  }                                                                                                        \
  Graph get_dynamic_subgraph_##x(uint32_t index) const { return Operator::GetDynamicSubgraph(#x, index); } \
                                                                                                           \
 private:                                                                                                  \
  void define_graph_##x() {                                                                                \
    Operator::SubgraphRegister(#x, true);                                                                  \
    OpReg()

#define DATATYPE(x, ...)                         \
  Next();                                        \
  define_type_##x();                             \
  }                                              \
                                                 \
 private:                                        \
  void define_type_##x() {                       \
    Operator::DataTypeRegister(#x, __VA_ARGS__); \
    OpReg()

// For types that the libraries know without being told: the class alone.
#define MILLPOND_OP_END(x)                                                                     \
  Next();                                                                                      \
  }                                                                                            \
  static_assert(std::is_same<x, ThisOp>::value, "the definition ends with another name: " #x); \
  }                                                                                            \
  ;                                                                                            \
  }

#define MILLPOND_UNIQUE_JOIN_(name, number) name##number
#define MILLPOND_UNIQUE_(name, number) MILLPOND_UNIQUE_JOIN_(name, number)

#ifdef DISABLE_COMPILE_V1
#define OP_END_FACTORY_REG(x) MILLPOND_OP_END(x)
#else
#define OP_END_FACTORY_REG(x)                                                     \
  MILLPOND_OP_END(x)                                                              \
  static const OperatorCreatorRegister MILLPOND_UNIQUE_(g_register, __COUNTER__)( \
      #x, [](const AscendString& name) -> Operator { return op::x(name); });
#endif

// Functions that infer and verify, and their registration.
#define IMPLEMT_INFERFUNC(op_name, func_name) static graphStatus func_name(op::op_name& op)
#define IMPLEMT_COMMON_INFERFUNC(func_name) static graphStatus func_name(Operator& op)
#define IMPLEMT_INFERFORMAT_FUNC(op_name, func_name) static graphStatus func_name(op::op_name& op)
#define IMPLEMT_VERIFIER(op_name, func_name) static graphStatus func_name(op::op_name op)
#define IMPL_INFER_VALUE_RANGE_FUNC(op_name, func_name) static graphStatus func_name(op::op_name& op)

// Every operator is an Operator and nothing besides, so that one may be taken for the class that its type names.
#define INFER_VERIFY_FUNC(op_name, x) [](Operator& v) { return x(static_cast<op::op_name&>(v)); }
#define COMMON_INFER_VERIFY_FUNC(x) [](Operator& v) { return x(v); }
#define INFER_FORMAT_FUNC(op_name, x) INFER_VERIFY_FUNC(op_name, x)
#define INFER_VALUE_RANGE_FUNC(op_name, x) INFER_VERIFY_FUNC(op_name, x)

#define INFER_FUNC_REG(op_name, x)                                                         \
  static const InferShapeFuncRegister MILLPOND_UNIQUE_(if_register, __COUNTER__)(#op_name, \
                                                                                 INFER_VERIFY_FUNC(op_name, x))
#define COMMON_INFER_FUNC_REG(op_name, x)                                                  \
  static const InferShapeFuncRegister MILLPOND_UNIQUE_(if_register, __COUNTER__)(#op_name, \
                                                                                 COMMON_INFER_VERIFY_FUNC((x)))
#define VERIFY_FUNC_REG(op_name, x) \
  static const VerifyFuncRegister MILLPOND_UNIQUE_(vf_register, __COUNTER__)(#op_name, INFER_VERIFY_FUNC(op_name, x))
#define INFER_FORMAT_FUNC_REG(op_name, x)                                                   \
  static const InferFormatFuncRegister MILLPOND_UNIQUE_(ff_register, __COUNTER__)(#op_name, \
                                                                                  INFER_FORMAT_FUNC(op_name, x))
#define INFER_VALUE_RANGE_DEFAULT_REG(op_name) \
  static const InferValueRangeFuncRegister MILLPOND_UNIQUE_(iv_reg_default, __COUNTER__)(#op_name)
#define INFER_VALUE_RANGE_CUSTOM_FUNC_REG(op_name, when_call, x)                         \
  static const InferValueRangeFuncRegister MILLPOND_UNIQUE_(iv_reg_custom, __COUNTER__)( \
      #op_name, when_call, INFER_VALUE_RANGE_FUNC(op_name, x))

// The output is as the input.
#define ELMTWISE_INFER_SHAPEANDTYPE(in_name, out_name) \
  [](Operator op) -> graphStatus { return ::ge::InferAsInput(op, (in_name), (out_name)); }

// The output's shape is what the inputs' shapes broadcast to.
#define BROADCAST_INFER(in1_name, in2_name, out_name)                                                              \
  [](Operator op) -> graphStatus {                                                                                 \
    return BroadCastInfer([&op]() { return op.GetInputDescByName(in1_name).GetShape().GetDims(); },                \
                          [&op]() { return op.GetInputDescByName(in2_name).GetShape().GetDims(); },                \
                          [&op](const std::vector<int64_t>& dims) { ::ge::SetOutputDims(op, (out_name), dims); }); \
  }

namespace ge {

GE_FUNC_HOST_VISIBILITY graphStatus BroadCastInfer(const function<vector<int64_t>()>& get_in1_shape,
                                                   const function<vector<int64_t>()>& get_in2_shape,
                                                   const function<void(const std::vector<int64_t>&)>& set_out_shape);

inline graphStatus InferAsInput(Operator& op, const char* in_name, const char* out_name) {
  const TensorDesc from = op.GetInputDescByName(in_name);
  TensorDesc to = op.GetOutputDescByName(out_name);
  to.SetDataType(from.GetDataType());
  to.SetShape(Shape(from.GetShape().GetDims()));
  to.SetOriginShape(Shape(from.GetShape().GetDims()));
  std::vector<std::pair<int64_t, int64_t>> range;
  if (from.GetShapeRange(range) == GRAPH_SUCCESS && !range.empty()) (void)to.SetShapeRange(range);
  return op.UpdateOutputDesc(out_name, to);
}

inline void SetOutputDims(Operator& op, const char* out_name, const std::vector<int64_t>& dims) {
  TensorDesc to = op.GetOutputDescByName(out_name);
  to.SetShape(Shape(dims));
  (void)op.UpdateOutputDesc(out_name, to);
}

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_OPERATOR_REG_H_

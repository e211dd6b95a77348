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

// A definition is one expression to its writer. Each word closes the member function that the word before it opened,
// with a call of its own, and opens the next one: so the constructor walks through all of them in order.
class OpReg {
 public:
  OpReg& Next() { return *this; }
};

}  // namespace ge

#define REG_OP(x)                                                                         \
  namespace op {                                                                          \
  class x : public Operator {                                                             \
    typedef x ThisOp;                                                                     \
                                                                                          \
   public:                                                                                \
    x() : Operator(#x) { define_first(); }                                                \
    explicit x(const char* name) : Operator(name, #x) { define_first(); }                 \
    explicit x(const AscendString& name) : Operator(name, #x) { define_first(); }         \
    explicit x(const std::string& name) : Operator(name.c_str(), #x) { define_first(); } \
                                                                                          \
   private:                                                                               \
    void define_first() {                                                                 \
      OpReg()

#define MILLPOND_NAME_OF_(kind, x)                        \
  static const std::string name_##kind##_##x() { return #x; } \
  static void name_##kind##_##x(AscendString& name) { name = AscendString(#x); }

#define MILLPOND_INPUT_(x, register_call)                                                                         \
  Next();                                                                                                         \
  define_in_##x();                                                                                                \
  }                                                                                                               \
                                                                                                                  \
 public:                                                                                                          \
  MILLPOND_NAME_OF_(in, x)                                                                                        \
  ThisOp& set_input_##x(const Operator& v) {                                                                      \
    Operator::SetInput(#x, v);                                                                                    \
    return *this;                                                                                                 \
  }                                                                                                               \
  ThisOp& set_input_##x(const Operator& v, uint32_t index) {                                                      \
    Operator::SetInput(#x, v, index);                                                                             \
    return *this;                                                                                                 \
  }                                                                                                               \
  ThisOp& set_input_##x(const Operator& v, const char* srcName) {                                                 \
    Operator::SetInput(#x, v, srcName);                                                                           \
    return *this;                                                                                                 \
  }                                                                                                               \
  ThisOp& set_input_##x(const Operator& v, const std::string& srcName) { return set_input_##x(v, srcName.c_str()); } \
  TensorDesc get_input_desc_##x() const { return Operator::GetInputDescByName(#x); }                              \
  graphStatus update_input_desc_##x(const TensorDesc& tensorDesc) {                                               \
    return Operator::UpdateInputDesc(#x, tensorDesc);                                                             \
  }                                                                                                               \
                                                                                                                  \
 private:                                                                                                         \
  void define_in_##x() {                                                                                          \
    register_call;                                                                                                \
    (void)OpReg()

#define INPUT(x, t) MILLPOND_INPUT_(x, Operator::InputRegister(#x, #t))
#define OPTIONAL_INPUT(x, t) MILLPOND_INPUT_(x, Operator::OptionalInputRegister(#x, #t))

#define OUTPUT(x, t)                                                                   \
  Next();                                                                              \
  define_out_##x();                                                                    \
  }                                                                                    \
                                                                                       \
 public:                                                                               \
  MILLPOND_NAME_OF_(out, x)                                                            \
  TensorDesc get_output_desc_##x() const { return Operator::GetOutputDescByName(#x); } \
  graphStatus update_output_desc_##x(const TensorDesc& tensorDesc) {                   \
    return Operator::UpdateOutputDesc(#x, tensorDesc);                                 \
  }                                                                                    \
                                                                                       \
 private:                                                                              \
  void define_out_##x() {                                                              \
    Operator::OutputRegister(#x, #t);                                                  \
    (void)OpReg()

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
    (void)OpReg()

#define DYNAMIC_OUTPUT(x, t)                                                                 \
  Next();                                                                                    \
  define_dynamic_out_##x();                                                                  \
  }                                                                                          \
                                                                                             \
 public:                                                                                     \
  ThisOp& create_dynamic_output_##x(uint32_t num, bool isPushBack = true) {                  \
    Operator::DynamicOutputRegister(#x, num, #t, isPushBack);                                \
    return *this;                                                                            \
  }                                                                                          \
  TensorDesc get_dynamic_output_desc_##x(uint32_t index) const {                             \
    return Operator::GetDynamicOutputDesc(#x, index);                                        \
  }                                                                                          \
  graphStatus update_dynamic_output_desc_##x(uint32_t index, const TensorDesc& tensorDesc) { \
    return Operator::UpdateDynamicOutputDesc(#x, index, tensorDesc);                         \
  }                                                                                          \
                                                                                             \
 private:                                                                                    \
  void define_dynamic_out_##x() {                                                            \
    Operator::DynamicOutputRegister(#x, 0, #t, true);                                        \
    (void)OpReg()

// Text can be given and asked for as AscendString too.
#define MILLPOND_TEXT_ATTR_(x)                                                                              \
  graphStatus get_attr_##x(AscendString& ret) const { return MillpondTextOf_##x(ret); }                     \
  ThisOp& set_attr_##x(const char* v) {                                                                     \
    Operator::SetAttr(#x, v);                                                                               \
    return *this;                                                                                           \
  }                                                                                                         \
  ThisOp& set_attr_##x(const function<AscendString()>& v) {                                                 \
    Operator::SetAttr(#x, v());                                                                             \
    return *this;                                                                                           \
  }

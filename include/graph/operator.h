// SPDX-License-Identifier: Apache-2.0
//
// An operator: what a graph is built from. Copies are one operator. A mistake (an operand that is not there, an index
// past the last) changes nothing and leaves a message for GEGetErrorMsg.
#ifndef MILLPOND_INCLUDE_GRAPH_OPERATOR_H_
#define MILLPOND_INCLUDE_GRAPH_OPERATOR_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/error_codes.h"
#include "graph/inference_context.h"
#include "graph/tensor.h"
#include "graph/types.h"

#ifndef USER_GE_LOGI
#define USER_GE_LOGI(...)
#endif
#ifndef USER_GE_LOGW
#define USER_GE_LOGW(...)
#endif
#ifndef USER_GE_LOGE
#define USER_GE_LOGE(...)
#endif

// Attributes that say how many tensors a dynamic operand has.
#define DYNAMIC_OUTPUT_TD_NUM(name) ("__dynamic_output_" + (name) + "_cnt")
#define DYNAMIC_INPUT_TD_NUM(name) ("__dynamic_input_" + (name) + "_cnt")

// The library's own way in.
namespace millpond {
namespace api {
struct BuildAccess;
}
}  // namespace millpond

namespace ge {

class AttrValue;
class Graph;
class NamedAttrs;
class Operator;
class OperatorImpl;
using OperatorImplPtr = std::shared_ptr<OperatorImpl>;
using OperatorPtr = std::shared_ptr<Operator>;
using SubgraphBuilder = std::function<Graph()>;
using std::function;
using std::shared_ptr;
using std::string;

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY Operator {
 public:
  // The words of REG_OP for the types of attributes.
  using OpInt = int64_t;
  using OpFloat = float32_t;
  using OpBool = bool;
  using OpString = std::string;
  using OpAscendString = AscendString;
  using OpType = ge::DataType;
  using OpTensor = Tensor;
  using OpBytes = std::vector<uint8_t>;
  using OpNamedAttrs = ge::NamedAttrs;
  using OpListInt = std::vector<int64_t>;
  using OpListFloat = std::vector<float32_t>;
  using OpListBool = std::vector<bool>;
  using OpListString = std::vector<std::string>;
  using OpListAcendString = std::vector<AscendString>;
  using OpListAscendString = OpListAcendString;
  using OpListType = std::vector<ge::DataType>;
  using OpListTensor = std::vector<Tensor>;
  using OpListListInt = std::vector<std::vector<int64_t>>;
  using OpListNamedAttrs = std::vector<ge::NamedAttrs>;

  // An empty one: IsEmpty() is true and every other call on it fails.
  Operator() {}
  // Named after the type and a number.
  explicit Operator(const char_t* type);
  Operator(const char_t* name, const char_t* type);
  Operator(const AscendString& name, const AscendString& type);
  ATTRIBUTED_DEPRECATED(Operator(const char_t*))
  explicit Operator(const std::string& type);
  ATTRIBUTED_DEPRECATED(Operator(const char_t*, const char_t*))
  Operator(const std::string& name, const std::string& type);
  virtual ~Operator() = default;

  bool IsEmpty() const;
  graphStatus GetName(AscendString& name) const;
  graphStatus GetOpType(AscendString& type) const;
  ATTRIBUTED_DEPRECATED(graphStatus GetName(AscendString&) const)
  std::string GetName() const;
  ATTRIBUTED_DEPRECATED(graphStatus GetOpType(AscendString&) const)
  std::string GetOpType() const;

  // Links. A source without a named or numbered output must have just one.
  Operator& SetInput(const char_t* dst_name, const Operator& src_oprt);
  Operator& SetInput(const char_t* dst_name, const Operator& src_oprt, const char_t* name);
  Operator& SetInput(const char_t* dst_name, const Operator& src_oprt, uint32_t index);
  Operator& SetInput(uint32_t dst_index, const Operator& src_oprt, uint32_t src_index);
  // One of a dynamic operand's.
  Operator& SetInput(const char_t* dst_name, uint32_t dst_index, const Operator& src_oprt);
  Operator& SetInput(const char_t* dst_name, uint32_t dst_index, const Operator& src_oprt, const char_t* name);
  Operator& SetInput(const std::string& dst_name, const Operator& src_oprt);
  Operator& SetInput(const std::string& dst_name, const Operator& src_oprt, const std::string& name);
  Operator& SetInput(const std::string& dst_name, const Operator& src_oprt, uint32_t index);
  // Runs after that one.
  Operator& AddControlInput(const Operator& src_oprt);
  // Unlinks it from its sources and its users.
  void BreakConnect() const;

  // Descriptions of operands. What is not there reads as the default description.
  size_t GetInputsSize() const;
  size_t GetOutputsSize() const;
  TensorDesc GetInputDesc(uint32_t index) const;
  TensorDesc GetInputDescByName(const char_t* name) const;
  // Fails when the input is not there or is optional and absent.
  graphStatus TryGetInputDesc(const char_t* name, TensorDesc& tensor_desc) const;
  graphStatus UpdateInputDesc(const uint32_t index, const TensorDesc& tensor_desc);
  graphStatus UpdateInputDesc(const char_t* name, const TensorDesc& tensor_desc);
  TensorDesc GetOutputDesc(uint32_t index) const;
  TensorDesc GetOutputDescByName(const char_t* name) const;
  graphStatus UpdateOutputDesc(const uint32_t index, const TensorDesc& tensor_desc);
  graphStatus UpdateOutputDesc(const char_t* name, const TensorDesc& tensor_desc);
  int32_t GetDynamicInputNum(const char_t* name) const;
  TensorDesc GetDynamicInputDesc(const char_t* name, uint32_t index) const;
  graphStatus UpdateDynamicInputDesc(const char_t* name, uint32_t index, const TensorDesc& tensor_desc);
  int32_t GetDynamicOutputNum(const char_t* name) const;
  TensorDesc GetDynamicOutputDesc(const char_t* name, uint32_t index) const;
  graphStatus UpdateDynamicOutputDesc(const char_t* name, uint32_t index, const TensorDesc& tensor_desc);
  TensorDesc GetInputDesc(const std::string& name) const;
  graphStatus TryGetInputDesc(const std::string& name, TensorDesc& tensor_desc) const;
  graphStatus UpdateInputDesc(const std::string& name, const TensorDesc& tensor_desc);
  TensorDesc GetOutputDesc(const std::string& name) const;
  graphStatus UpdateOutputDesc(const std::string& name, const TensorDesc& tensor_desc);
  int32_t GetDynamicInputNum(const std::string& name) const;
  TensorDesc GetDynamicInputDesc(const std::string& name, uint32_t index) const;
  graphStatus UpdateDynamicInputDesc(const std::string& name, uint32_t index, const TensorDesc& tensor_desc);
  int32_t GetDynamicOutputNum(const std::string& name) const;
  TensorDesc GetDynamicOutputDesc(const std::string& name, uint32_t index) const;
  graphStatus UpdateDynamicOutputDesc(const std::string& name, uint32_t index, const TensorDesc& tensor_desc);
  // The value of an input whose source is a constant.
  graphStatus GetInputConstData(const char_t* dst_name, Tensor& data) const;
  graphStatus GetInputConstData(const std::string& dst_name, Tensor& data) const;

  // Attributes. One read as another type than it has fails and leaves the argument alone.
  Operator& SetAttr(const char_t* name, int64_t attr_value);
  Operator& SetAttr(const char_t* name, int32_t attr_value);
  Operator& SetAttr(const char_t* name, uint32_t attr_value);
  Operator& SetAttr(const char_t* name, float32_t attr_value);
  Operator& SetAttr(const char_t* name, bool attr_value);
  Operator& SetAttr(const char_t* name, const char_t* attr_value);
  Operator& SetAttr(const char_t* name, const AscendString& attr_value);
  Operator& SetAttr(const char_t* name, const ge::DataType& attr_value);
  Operator& SetAttr(const char_t* name, const Tensor& attr_value);
  Operator& SetAttr(const char_t* name, const OpBytes& attr_value);
  Operator& SetAttr(const char_t* name, const ge::NamedAttrs& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<int64_t>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<int32_t>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<uint32_t>& attr_value);
  Operator& SetAttr(const char_t* name, std::initializer_list<int64_t>&& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<float32_t>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<AscendString>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<bool>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<ge::DataType>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<Tensor>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<std::vector<int64_t>>& attr_value);
  Operator& SetAttr(const char_t* name, const std::vector<ge::NamedAttrs>& attr_value);
  Operator& SetAttr(const char_t* name, AttrValue&& attr_value);
  Operator& SetAttr(const char_t* name, const AttrValue& attr_value);
  graphStatus GetAttr(const char_t* name, int64_t& attr_value) const;
  graphStatus GetAttr(const char_t* name, int32_t& attr_value) const;
  graphStatus GetAttr(const char_t* name, uint32_t& attr_value) const;
  graphStatus GetAttr(const char_t* name, float32_t& attr_value) const;
  graphStatus GetAttr(const char_t* name, bool& attr_value) const;
  graphStatus GetAttr(const char_t* name, AscendString& attr_value) const;
  graphStatus GetAttr(const char_t* name, ge::DataType& attr_value) const;
  graphStatus GetAttr(const char_t* name, Tensor& attr_value) const;
  graphStatus GetAttr(const char_t* name, OpBytes& attr_value) const;
  graphStatus GetAttr(const char_t* name, ge::NamedAttrs& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<int64_t>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<int32_t>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<float32_t>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<AscendString>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<bool>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<ge::DataType>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<Tensor>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus GetAttr(const char_t* name, std::vector<ge::NamedAttrs>& attr_value) const;
  graphStatus GetAttr(const char_t* name, AttrValue& attr_value) const;
  Operator& SetAttr(const std::string& name, int64_t attr_value);
  Operator& SetAttr(const std::string& name, int32_t attr_value);
  Operator& SetAttr(const std::string& name, uint32_t attr_value);
  Operator& SetAttr(const std::string& name, float32_t attr_value);
  Operator& SetAttr(const std::string& name, bool attr_value);
  Operator& SetAttr(const std::string& name, const std::string& attr_value);
  Operator& SetAttr(const std::string& name, const ge::DataType& attr_value);
  Operator& SetAttr(const std::string& name, const Tensor& attr_value);
  Operator& SetAttr(const std::string& name, const OpBytes& attr_value);
  Operator& SetAttr(const std::string& name, const ge::NamedAttrs& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<int64_t>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<int32_t>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<uint32_t>& attr_value);
  Operator& SetAttr(const std::string& name, std::initializer_list<int64_t>&& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<float32_t>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<std::string>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<bool>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<ge::DataType>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<Tensor>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<std::vector<int64_t>>& attr_value);
  Operator& SetAttr(const std::string& name, const std::vector<ge::NamedAttrs>& attr_value);
  Operator& SetAttr(const std::string& name, AttrValue&& attr_value);
  graphStatus GetAttr(const std::string& name, int64_t& attr_value) const;
  graphStatus GetAttr(const std::string& name, int32_t& attr_value) const;
  graphStatus GetAttr(const std::string& name, uint32_t& attr_value) const;
  graphStatus GetAttr(const std::string& name, float32_t& attr_value) const;
  graphStatus GetAttr(const std::string& name, bool& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::string& attr_value) const;
  graphStatus GetAttr(const std::string& name, ge::DataType& attr_value) const;
  graphStatus GetAttr(const std::string& name, Tensor& attr_value) const;
  graphStatus GetAttr(const std::string& name, OpBytes& attr_value) const;
  graphStatus GetAttr(const std::string& name, ge::NamedAttrs& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<int64_t>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<int32_t>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<float32_t>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<std::string>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<bool>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<ge::DataType>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<Tensor>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus GetAttr(const std::string& name, std::vector<ge::NamedAttrs>& attr_value) const;
  graphStatus GetAttr(const std::string& name, AttrValue& attr_value) const;
  // Names to types, such as VT_INT: all that are set, or those that the definition has.
  graphStatus GetAllAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const;
  graphStatus GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const;
  ATTRIBUTED_DEPRECATED(graphStatus GetAllAttrNamesAndTypes(std::map<AscendString, AscendString>&) const)
  const std::map<std::string, std::string> GetAllAttrNamesAndTypes() const;

  // Attributes of one operand.
  Operator& SetInputAttr(const int32_t index, const char_t* name, int64_t attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, int32_t attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, uint32_t attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, float32_t attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, bool attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const char_t* attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const AscendString& attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<int64_t>& attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<int32_t>& attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<uint32_t>& attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<float32_t>& attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<bool>& attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, int64_t& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, int32_t& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, uint32_t& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, float32_t& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, bool& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, AscendString& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<int64_t>& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<int32_t>& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<float32_t>& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<bool>& attr_value) const;
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, int64_t attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, int32_t attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, uint32_t attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, float32_t attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, bool attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const char_t* attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const AscendString& attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<int64_t>& attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<int32_t>& attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<uint32_t>& attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<float32_t>& attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<bool>& attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, int64_t& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, int32_t& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, uint32_t& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, float32_t& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, bool& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, AscendString& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<int64_t>& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<int32_t>& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<float32_t>& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<bool>& attr_value) const;
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, int64_t attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, int32_t attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, uint32_t attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, float32_t attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, bool attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const char_t* attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const AscendString& attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<int64_t>& attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<int32_t>& attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<uint32_t>& attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<float32_t>& attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<bool>& attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, int64_t& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, int32_t& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, uint32_t& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, float32_t& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, bool& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, AscendString& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<int64_t>& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<int32_t>& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<float32_t>& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<bool>& attr_value) const;
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, int64_t attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, int32_t attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, uint32_t attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, float32_t attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, bool attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const char_t* attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const AscendString& attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<int64_t>& attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<int32_t>& attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<uint32_t>& attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<float32_t>& attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<bool>& attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, int64_t& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, int32_t& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, uint32_t& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, float32_t& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, bool& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, AscendString& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<int64_t>& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<int32_t>& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<float32_t>& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<bool>& attr_value) const;
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<AscendString>& attr_value) const;

  // Subgraphs. A builder is called when the operator comes into a graph.
  size_t GetSubgraphNamesCount() const;
  graphStatus GetSubgraphNames(std::vector<AscendString>& names) const;
  void SetSubgraphBuilder(const char_t* ir_name, uint32_t index, const SubgraphBuilder& builder);
  SubgraphBuilder GetSubgraphBuilder(const char_t* name) const;
  SubgraphBuilder GetDynamicSubgraphBuilder(const char_t* name, uint32_t index) const;
  Graph GetSubgraph(const char_t* name) const;
  Graph GetDynamicSubgraph(const char_t* name, uint32_t index) const;
  graphStatus SetSubgraphInstanceName(const uint32_t index, const char_t* name);
  std::vector<std::string> GetSubgraphNames() const;
  SubgraphBuilder GetSubgraphBuilder(const std::string& name) const;
  SubgraphBuilder GetDynamicSubgraphBuilder(const std::string& name, uint32_t index) const;
  Graph GetSubgraph(const std::string& name) const;
  Graph GetDynamicSubgraph(const std::string& name, uint32_t index) const;

  // Types and shapes of the outputs, from the function registered for the type, else from the built-in operator.
  graphStatus InferShapeAndType();
  graphStatus VerifyAllAttr(bool disable_common_verifier = false);
  void SetInferenceContext(const InferenceContextPtr& inference_context);
  InferenceContextPtr GetInferenceContext() const;

  // What a definition that knows its operands only late adds to the operator.
  void DynamicInputRegister(const char_t* name, const uint32_t num, bool is_push_back = true);
  void DynamicInputRegister(const char_t* name, const uint32_t num, const char_t* datatype_symbol,
                            bool is_push_back = true);
  void DynamicInputRegisterByIndex(const char_t* name, const uint32_t num, size_t index);
  void DynamicOutputRegister(const char_t* name, const uint32_t num, bool is_push_back = true);
  void DynamicOutputRegister(const char_t* name, const uint32_t num, const char_t* datatype_symbol,
                             bool is_push_back = true);
  void SubgraphCountRegister(const char_t* ir_name, uint32_t count);
  void AttrRegister(const char_t* name, const AttrValue& attr_value);

 protected:
  // What REG_OP calls in the order of the definition.
  explicit Operator(OperatorImplPtr&& op_impl);
  void InputRegister(const char_t* name);
  void InputRegister(const char_t* name, const char_t* datatype_symbol);
  void OptionalInputRegister(const char_t* name);
  void OptionalInputRegister(const char_t* name, const char_t* datatype_symbol);
  void OutputRegister(const char_t* name);
  void OutputRegister(const char_t* name, const char_t* datatype_symbol);
  void SubgraphRegister(const char_t* ir_name, bool dynamic);
  void RequiredAttrRegister(const char_t* name);
  void RequiredAttrWithTypeRegister(const char_t* name, const char_t* type);
  void AttrRegister(const char_t* name, int64_t attr_value);
  void AttrRegister(const char_t* name, float32_t attr_value);
  void AttrRegister(const char_t* name, bool attr_value);
  void AttrRegister(const char_t* name, const AscendString& attr_value);
  void AttrRegister(const char_t* name, const ge::DataType& attr_value);
  void AttrRegister(const char_t* name, const Tensor& attr_value);
  void AttrRegister(const char_t* name, const OpBytes& attr_value);
  void AttrRegister(const char_t* name, const ge::NamedAttrs& attr_value);
  void AttrRegister(const char_t* name, const std::vector<int64_t>& attr_value);
  void AttrRegister(const char_t* name, const std::vector<float32_t>& attr_value);
  void AttrRegister(const char_t* name, const std::vector<bool>& attr_value);
  void AttrRegister(const char_t* name, const std::vector<AscendString>& attr_value);
  void AttrRegister(const char_t* name, const std::vector<ge::DataType>& attr_value);
  void AttrRegister(const char_t* name, const std::vector<Tensor>& attr_value);
  void AttrRegister(const char_t* name, const std::vector<std::vector<int64_t>>& attr_value);
  void AttrRegister(const char_t* name, const std::vector<ge::NamedAttrs>& attr_value);
  void AttrRegister(const char_t* name, const char_t* attr_value);
  // What a symbol that stands for the types of operands may be.
  void DataTypeRegister(const char_t* datatype_symbol, const TensorType& type_range);
  void DataTypeRegister(const char_t* datatype_symbol, const ListTensorType& list_type_range);
  void DataTypeRegister(const char_t* datatype_symbol, const Promote& promote_rule);
  void InferFuncRegister(const std::function<graphStatus(Operator&)>& func);
  void VerifierFuncRegister(const std::function<graphStatus(Operator&)>& func);
  void InferFormatFuncRegister(const std::function<graphStatus(Operator&)>& func);
  graphStatus VerifyAll();
  Graph GetSubgraphImpl(const char_t* name) const;

  void InputRegister(const std::string& name);
  void OptionalInputRegister(const std::string& name);
  void OutputRegister(const std::string& name);
  void DynamicInputRegister(const std::string& name, const uint32_t num, bool is_push_back = true);
  void DynamicInputRegisterByIndex(const std::string& name, const uint32_t num, size_t index);
  void DynamicOutputRegister(const std::string& name, const uint32_t num, bool is_push_back = true);
  void SubgraphRegister(const std::string& ir_name, bool dynamic);
  void SubgraphCountRegister(const std::string& ir_name, uint32_t count);
  void SetSubgraphBuilder(const std::string& ir_name, uint32_t index, const SubgraphBuilder& builder);
  void RequiredAttrRegister(const std::string& name);
  void AttrRegister(const std::string& name, int64_t attr_value);
  void AttrRegister(const std::string& name, float32_t attr_value);
  void AttrRegister(const std::string& name, bool attr_value);
  void AttrRegister(const std::string& name, const AscendString& attr_value);
  void AttrRegister(const std::string& name, const ge::DataType& attr_value);
  void AttrRegister(const std::string& name, const Tensor& attr_value);
  void AttrRegister(const std::string& name, const OpBytes& attr_value);
  void AttrRegister(const std::string& name, const ge::NamedAttrs& attr_value);
  void AttrRegister(const std::string& name, const std::vector<int64_t>& attr_value);
  void AttrRegister(const std::string& name, const std::vector<float32_t>& attr_value);
  void AttrRegister(const std::string& name, const std::vector<bool>& attr_value);
  void AttrRegister(const std::string& name, const std::vector<AscendString>& attr_value);
  void AttrRegister(const std::string& name, const std::vector<ge::DataType>& attr_value);
  void AttrRegister(const std::string& name, const std::vector<Tensor>& attr_value);
  void AttrRegister(const std::string& name, const std::vector<std::vector<int64_t>>& attr_value);
  void AttrRegister(const std::string& name, const std::vector<ge::NamedAttrs>& attr_value);
  void AttrRegister(const std::string& name, const std::string& attr_value);
  void AttrRegister(const std::string& name, const std::vector<std::string>& attr_value);
  Operator& SetInput(const std::string& dst_name, uint32_t dst_index, const Operator& src_oprt);
  Operator& SetInput(const std::string& dst_name, uint32_t dst_index, const Operator& src_oprt,
                     const std::string& name);
  Graph GetSubgraphImpl(const std::string& name) const;

 private:
  friend struct ::millpond::api::BuildAccess;
  OperatorImplPtr operator_impl_{nullptr};
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_OPERATOR_H_

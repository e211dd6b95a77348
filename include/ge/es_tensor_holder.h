// SPDX-License-Identifier: Apache-2.0
//
// An output of a node, in C++. Copies stand for the same output; the builder owns it.
#ifndef MILLPOND_INCLUDE_GE_ES_TENSOR_HOLDER_H_
#define MILLPOND_INCLUDE_GE_ES_TENSOR_HOLDER_H_

#include <cstdint>
#include <vector>

#include "esb_funcs.h"
#include "ge/ge_api_types.h"
#include "graph/gnode.h"
#include "graph/types.h"

namespace ge {
namespace es {

class GE_FUNC_HOST_VISIBILITY EsTensorHolder {
 public:
  EsTensorHolder() = default;
  EsTensorHolder(EsCTensorHolder* tensor) : tensor_holder_(tensor) {}  // NOLINT: meant to convert

  // Nodes of the types Add, Sub, Mul and Div.
  EsTensorHolder operator+(const EsTensorHolder& other) const;
  EsTensorHolder operator-(const EsTensorHolder& other) const;
  EsTensorHolder operator*(const EsTensorHolder& other) const;
  EsTensorHolder operator/(const EsTensorHolder& other) const;

  // One that fails leaves the tensor as it is, and a message.
  EsTensorHolder& SetDataType(const ge::DataType data_type) {
    return After(EsSetDataType(tensor_holder_, C_DataType(data_type)));
  }
  EsTensorHolder& SetFormat(const ge::Format format) { return After(EsSetFormat(tensor_holder_, C_Format(format))); }
  EsTensorHolder& SetShape(const std::vector<int64_t>& dims) {
    return After(EsSetShape(tensor_holder_, dims.data(), int64_t(dims.size())));
  }
  EsTensorHolder& SetOriginSymbolShape(const std::vector<const char*>& dims) {
    return After(EsSetOriginSymbolShape(tensor_holder_, dims.data(), int64_t(dims.size())));
  }

  Status SetAttr(const char* attr_name, int64_t value) {
    return EsSetInt64AttrForTensor(tensor_holder_, attr_name, value);
  }
  Status SetAttr(const char* attr_name, const char* value) {
    return EsSetStringAttrForTensor(tensor_holder_, attr_name, value);
  }
  Status SetAttr(const char* attr_name, bool value) { return EsSetBoolAttrForTensor(tensor_holder_, attr_name, value); }
  Status SetAttrForNode(const char* attr_name, int64_t value) {
    return EsSetInt64AttrForNode(tensor_holder_, attr_name, value);
  }
  Status SetAttrForNode(const char* attr_name, const char* value) {
    return EsSetStringAttrForNode(tensor_holder_, attr_name, value);
  }
  Status SetAttrForNode(const char* attr_name, bool value) {
    return EsSetBoolAttrForNode(tensor_holder_, attr_name, value);
  }

  EsCTensorHolder* GetCTensorHolder() const { return tensor_holder_; }
  // -1 and null for a holder of nothing.
  int32_t GetProducerOutIndex() const;
  GNode* GetProducer() const;
  // This tensor's node runs after the nodes of those.
  Status AddControlEdge(const std::vector<EsTensorHolder>& ctrl_ins) const;

 private:
  EsTensorHolder& After(uint32_t /*the message tells*/) { return *this; }

  EsCTensorHolder* tensor_holder_ = nullptr;
};

}  // namespace es
}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_ES_TENSOR_HOLDER_H_

// SPDX-License-Identifier: Apache-2.0
//
// The value of an attribute, of any of the types that attributes have.
#ifndef MILLPOND_INCLUDE_GRAPH_ATTR_VALUE_H_
#define MILLPOND_INCLUDE_GRAPH_ATTR_VALUE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/error_codes.h"
#include "graph/tensor.h"
#include "graph/types.h"

// Programs written for CANN use these without std::, because its header brings them in.
using std::make_shared;
using std::map;
using std::pair;
using std::string;
using std::to_string;
using std::unique_ptr;
using std::vector;

namespace ge {

class AttrValueImpl;

// Copies are one value. Reading it as another type than it has fails and changes nothing.
class GE_FUNC_HOST_VISIBILITY AttrValue {
 public:
  using INT = int64_t;
  using FLOAT = float;
  using STR = std::string;

  AttrValue();
  ~AttrValue() = default;

  // T is one of INT, FLOAT, STR; DT is what a T converts to.
  template <typename T, typename DT>
  graphStatus GetValue(DT& val) const {
    T own{};
    const graphStatus status = GetValue(own);
    if (status == GRAPH_SUCCESS) val = DT(own);
    return status;
  }
  template <typename T, typename DT>
  static T CreateFrom(DT&& val) {
    return val;
  }
  graphStatus GetValue(AscendString& val);

  graphStatus SetAttrValue(const int64_t& attr_value) const;
  graphStatus SetAttrValue(const float32_t& attr_value) const;
  graphStatus SetAttrValue(const bool& attr_value) const;
  graphStatus SetAttrValue(const AscendString& attr_value) const;
  graphStatus SetAttrValue(const ge::DataType& attr_value) const;
  graphStatus SetAttrValue(const Tensor& attr_value) const;
  graphStatus SetAttrValue(const std::vector<int64_t>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<float32_t>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<bool>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<AscendString>& attr_values) const;
  graphStatus SetAttrValue(const std::vector<ge::DataType>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<Tensor>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<std::vector<int64_t>>& attr_value) const;

  graphStatus GetAttrValue(int64_t& attr_value) const;
  graphStatus GetAttrValue(float32_t& attr_value) const;
  graphStatus GetAttrValue(bool& attr_value) const;
  graphStatus GetAttrValue(AscendString& attr_value) const;
  graphStatus GetAttrValue(ge::DataType& attr_value) const;
  graphStatus GetAttrValue(Tensor& attr_value) const;
  graphStatus GetAttrValue(std::vector<int64_t>& attr_value) const;
  graphStatus GetAttrValue(std::vector<float32_t>& attr_value) const;
  graphStatus GetAttrValue(std::vector<bool>& attr_value) const;
  graphStatus GetAttrValue(std::vector<AscendString>& attr_values) const;
  graphStatus GetAttrValue(std::vector<ge::DataType>& attr_value) const;
  graphStatus GetAttrValue(std::vector<Tensor>& attr_value) const;
  graphStatus GetAttrValue(std::vector<std::vector<int64_t>>& attr_value) const;

  std::shared_ptr<AttrValueImpl> impl;

 private:
  graphStatus GetValue(AttrValue::STR& val) const;
  graphStatus GetValue(AttrValue::INT& val) const;
  graphStatus GetValue(AttrValue::FLOAT& val) const;
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_ATTR_VALUE_H_

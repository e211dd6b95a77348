// SPDX-License-Identifier: Apache-2.0
// Operators of small graphs, for programs with and without gtest.
#ifndef MILLPOND_TESTS_GE_OPERATORS_H_
#define MILLPOND_TESTS_GE_OPERATORS_H_

#include <cstdint>
#include <vector>

#include "graph/operator.h"
#include "graph/operator_factory.h"
#include "graph/tensor.h"

namespace ge_test {

inline ge::Operator Data(const char* name, int64_t index, const std::vector<int64_t>& dims) {
  ge::Operator data = ge::OperatorFactory::CreateOperator(name, "Data");
  const ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
  data.SetAttr("index", index);
  data.UpdateInputDesc("x", desc);
  data.UpdateOutputDesc("y", desc);
  return data;
}

inline ge::Operator Const(const char* name, const std::vector<int64_t>& dims, float value) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  const std::vector<float> values(count, value);
  const ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
  ge::Operator made = ge::OperatorFactory::CreateOperator(name, "Const");
  made.SetAttr("value", ge::Tensor(desc, reinterpret_cast<const uint8_t*>(values.data()), count * sizeof(float)));
  made.UpdateOutputDesc("y", desc);
  return made;
}

inline ge::Operator Binary(const char* name, const char* type, const ge::Operator& left, const ge::Operator& right) {
  ge::Operator made = ge::OperatorFactory::CreateOperator(name, type);
  made.SetInput("x1", left);
  made.SetInput("x2", right);
  return made;
}

}  // namespace ge_test

#endif  // MILLPOND_TESTS_GE_OPERATORS_H_

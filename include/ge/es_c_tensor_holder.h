// SPDX-License-Identifier: Apache-2.0
//
// What EsCTensorHolder is to C++: an output of a node, in the graph of one builder.
#ifndef MILLPOND_INCLUDE_GE_ES_C_TENSOR_HOLDER_H_
#define MILLPOND_INCLUDE_GE_ES_C_TENSOR_HOLDER_H_

#include <cstdint>
#include <memory>

#include "ge/ge_api_types.h"
#include "graph/gnode.h"

struct EsCGraphBuilder;

struct GE_FUNC_HOST_VISIBILITY EsCTensorHolder {
 public:
  EsCTensorHolder(EsCGraphBuilder& owner, const ge::GNode& producer, int32_t index);
  ~EsCTensorHolder();
  EsCTensorHolder(EsCTensorHolder&& other) noexcept;
  EsCTensorHolder& operator=(EsCTensorHolder&& other) noexcept;
  EsCTensorHolder(const EsCTensorHolder&) = delete;
  EsCTensorHolder& operator=(const EsCTensorHolder&) = delete;

  // SetFormat and SetShape are both of the other two: the original and what is stored.
  ge::Status SetDataType(const ge::DataType data_type);
  ge::Status SetFormat(const ge::Format format);
  ge::Status SetOriginFormat(const ge::Format format);
  ge::Status SetStorageFormat(const ge::Format format);
  ge::Status SetShape(const ge::Shape& shape);
  ge::Status SetOriginShape(const ge::Shape& shape);
  ge::Status SetStorageShape(const ge::Shape& shape);
  // Refused: shapes are numbers here.
  ge::Status SetOriginSymbolShape(const char* const* shape_str, const int64_t shape_str_num);

  ge::GNode& GetProducer();
  int32_t GetOutIndex() const;
  EsCGraphBuilder& GetOwnerBuilder();

 private:
  struct EsCTensorHolderImpl;
  std::unique_ptr<EsCTensorHolderImpl> impl_;
};

#endif  // MILLPOND_INCLUDE_GE_ES_C_TENSOR_HOLDER_H_

// SPDX-License-Identifier: Apache-2.0
//
// What the functions that gen_esb writes are made of: one node, its inputs linked, its outputs handed out. Operands
// come in the order of the definition. A mistake leaves a message and makes every output null.
#ifndef MILLPOND_INCLUDE_MILLPOND_ES_NODE_H_
#define MILLPOND_INCLUDE_MILLPOND_ES_NODE_H_

#include <memory>

#include "ge/es_c_graph_builder.h"
#include "ge/esb_funcs.h"

namespace millpond {

class GE_FUNC_HOST_VISIBILITY EsNode {
 public:
  // Null: the builder of the first tensor.
  EsNode(EsCGraphBuilder* builder, const char* type);
  ~EsNode();
  EsNode(const EsNode&) = delete;
  EsNode& operator=(const EsNode&) = delete;

  EsNode& Input(const char* name, EsCTensorHolder* tensor);
  EsNode& OptionalInput(const char* name, EsCTensorHolder* tensor);
  EsNode& DynamicInput(const char* name, EsCTensorHolder* const* tensors, int64_t count);
  EsNode& Output(const char* name);
  EsNode& DynamicOutput(const char* name, int64_t count);

  // Null leaves an attribute at its default.
  EsNode& Attr(const char* name, int64_t value);
  EsNode& Attr(const char* name, float value);
  EsNode& Attr(const char* name, bool value);
  EsNode& Attr(const char* name, const char* value);
  EsNode& Attr(const char* name, C_DataType value);
  EsNode& Attr(const char* name, EsCTensor* taken);
  EsNode& Attr(const char* name, const int64_t* values, int64_t count);
  EsNode& Attr(const char* name, const float* values, int64_t count);
  EsNode& Attr(const char* name, const bool* values, int64_t count);
  EsNode& Attr(const char* name, const char* const* values, int64_t count);
  EsNode& Attr(const char* name, const C_DataType* values, int64_t count);
  EsNode& Attr(const char* name, EsCTensor* const* taken, int64_t count);
  EsNode& Attr(const char* name, const int64_t* const* values, int64_t count, const int64_t* inner_counts);

  // The graphs are taken over, whether this works or not.
  EsNode& Subgraph(const char* name, EsCGraph* taken);
  EsNode& DynamicSubgraph(const char* name, EsCGraph* const* taken, int64_t count);

  // Adds the node, and gives its next output, or its next so many. A node without outputs gives what stands for itself.
  EsCTensorHolder* Next();
  EsCTensorHolder** Next(int64_t count, int64_t* out_count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millpond

#endif  // MILLPOND_INCLUDE_MILLPOND_ES_NODE_H_

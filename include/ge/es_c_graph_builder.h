// SPDX-License-Identifier: Apache-2.0
//
// What EsCGraphBuilder is to C++: the graph that is being built, and all that was handed out for it.
#ifndef MILLPOND_INCLUDE_GE_ES_C_GRAPH_BUILDER_H_
#define MILLPOND_INCLUDE_GE_ES_C_GRAPH_BUILDER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "es_c_tensor_holder.h"
#include "graph/c_types.h"
#include "graph/graph.h"

struct GE_FUNC_HOST_VISIBILITY EsCGraphBuilder {
 public:
  EsCGraphBuilder();
  explicit EsCGraphBuilder(const char* name);
  ~EsCGraphBuilder();
  EsCGraphBuilder(EsCGraphBuilder&& other) noexcept;
  EsCGraphBuilder& operator=(EsCGraphBuilder&& other) noexcept;
  EsCGraphBuilder(const EsCGraphBuilder&) = delete;
  EsCGraphBuilder& operator=(const EsCGraphBuilder&) = delete;

  // Null where the node has no such output.
  EsCTensorHolder* GetTensorHolderFromNode(const ge::GNode& node, int32_t output_index);
  // Outputs start_idx to start_idx + output_num - 1; owned by the builder, null where one is not there.
  std::vector<EsCTensorHolder*>* CreateDynamicTensorHolderFromNode(const ge::GNode& node, int32_t start_idx,
                                                                   int32_t output_num);
  // The input behind the last one.
  EsCTensorHolder* AppendGraphInput(const ge::char_t* name = nullptr, const ge::char_t* type = nullptr);
  EsCTensorHolder* AddGraphInput(int32_t index, const ge::char_t* name = nullptr, const ge::char_t* type = nullptr,
                                 C_DataType data_type = C_DT_FLOAT, C_Format format = C_FORMAT_ND,
                                 const int64_t* dims = nullptr, int64_t dim_num = 0);
  ge::Status SetGraphOutput(EsCTensorHolder* tensor, int64_t output_index);
  // Null when the graph was given away.
  ge::Graph* GetGraph();
  std::unique_ptr<ge::Graph> BuildGraphAndReset();
  ge::AscendString GenerateNodeName(const ge::char_t* node_type);

  // Public for clang, which asks who may name it where the default argument is used.
  template <typename T>
  static void DefaultDeleter(void* ptr) {
    std::default_delete<T>()(static_cast<T*>(ptr));
  }

  // Kept as long as the builder.
  template <typename T>
  T* AddResource(std::unique_ptr<T> value, std::function<void(void*)> deleter = DefaultDeleter<T>) {
    return static_cast<T*>(AddResource(value.release(), std::move(deleter)));
  }

 private:
  void* AddResource(void* resource_ptr, std::function<void(void*)> deleter);

  struct EsCGraphBuilderImpl;
  std::unique_ptr<EsCGraphBuilderImpl> impl_;
};

#endif  // MILLPOND_INCLUDE_GE_ES_C_GRAPH_BUILDER_H_

// SPDX-License-Identifier: Apache-2.0
//
// What an operator's function takes for a tensor: a tensor, numbers that become a constant of its graph, or nothing.
#ifndef MILLPOND_INCLUDE_GE_ES_TENSOR_LIKE_H_
#define MILLPOND_INCLUDE_GE_ES_TENSOR_LIKE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "es_c_tensor_holder.h"
#include "es_graph_builder.h"
#include "es_tensor_holder.h"

namespace ge {
namespace es {

class GE_FUNC_HOST_VISIBILITY EsTensorLike {
 public:
  // NOLINTBEGIN: meant to convert
  EsTensorLike(const EsTensorHolder& tensor);
  EsTensorLike(const std::nullptr_t absent);
  EsTensorLike(const int64_t value);
  EsTensorLike(const float value);
  EsTensorLike(const std::vector<int64_t>& values);
  EsTensorLike(const std::vector<float>& values);
  // NOLINTEND
  ~EsTensorLike();
  EsTensorLike(const EsTensorLike&) = delete;
  EsTensorLike& operator=(const EsTensorLike&) = delete;
  EsTensorLike(EsTensorLike&&) = delete;
  EsTensorLike& operator=(EsTensorLike&&) = delete;

  // Null where it is not a tensor.
  EsCGraphBuilder* GetOwnerBuilder() const;
  EsTensorHolder ToTensorHolder(EsCGraphBuilder* graph) const;

 private:
  class EsTensorLikeImpl;
  std::unique_ptr<EsTensorLikeImpl> impl_;
};

// The builder of the first argument that has one.
inline EsCGraphBuilder* ResolveBuilderImpl(const std::nullptr_t /*absent*/) { return nullptr; }
inline EsCGraphBuilder* ResolveBuilderImpl(EsCGraphBuilder* graph_builder) { return graph_builder; }
inline EsCGraphBuilder* ResolveBuilderImpl(const EsGraphBuilder* graph_builder) {
  return graph_builder == nullptr ? nullptr : graph_builder->GetCGraphBuilder();
}
inline EsCGraphBuilder* ResolveBuilderImpl(const EsTensorLike& tensor_like) { return tensor_like.GetOwnerBuilder(); }
inline EsCGraphBuilder* ResolveBuilderImpl(EsCTensorHolder* esb_tensor) {
  return esb_tensor == nullptr ? nullptr : EsGetOwnerBuilder(esb_tensor);
}
inline EsCGraphBuilder* ResolveBuilderImpl(const std::vector<EsCTensorHolder*>& esb_tensors) {
  EsCGraphBuilder* found = nullptr;
  for (size_t i = 0; found == nullptr && i < esb_tensors.size(); ++i) found = ResolveBuilderImpl(esb_tensors[i]);
  return found;
}
inline EsCGraphBuilder* ResolveBuilderImpl(const std::vector<EsTensorHolder>& tensors) {
  return ResolveBuilderImpl(TensorsToEsCTensorHolders(tensors));
}

inline EsCGraphBuilder* ResolveBuilder() { return nullptr; }
template <typename T, typename... Ts>
EsCGraphBuilder* ResolveBuilder(const T& first, const Ts&... rest) {
  EsCGraphBuilder* const own = ResolveBuilderImpl(first);
  return own != nullptr ? own : ResolveBuilder(rest...);
}

}  // namespace es
}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_ES_TENSOR_LIKE_H_

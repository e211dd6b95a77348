// SPDX-License-Identifier: Apache-2.0
//
// What an operator's inference knows beyond its own operands: what lies behind handles, and shared resources.
#ifndef MILLPOND_INCLUDE_GRAPH_INFERENCE_CONTEXT_H_
#define MILLPOND_INCLUDE_GRAPH_INFERENCE_CONTEXT_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/error_codes.h"
#include "graph/resource_context.h"
#include "graph/tensor.h"
#include "graph/types.h"

// The library's own way in.
namespace millpond {
namespace api {
struct BuildAccess;
}
}  // namespace millpond

namespace ge {

class ShapeAndTypeImpl;
struct InnerInferenceContext;

// Copies are one.
class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY ShapeAndType {
 public:
  ShapeAndType();
  ~ShapeAndType() = default;
  ShapeAndType(const Shape& shape, DataType data_type);

  Shape GetShape() const;
  void SetShape(const Shape& shape);
  DataType GetDataType() const;
  void SetType(DataType data_type);

 private:
  std::shared_ptr<ShapeAndTypeImpl> shape_and_type_impl_;
};

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY InferenceContext {
 public:
  // The manager is CANN's own business: pass null, or get none.
  static std::unique_ptr<InferenceContext> Create(void* resource_context_mgr = nullptr);
  ~InferenceContext() = default;
  InferenceContext(const InferenceContext& context) = delete;
  InferenceContext(const InferenceContext&& context) = delete;
  InferenceContext& operator=(const InferenceContext& context) = delete;
  InferenceContext& operator=(const InferenceContext&& context) = delete;

  // For each handle among the operands, the tensors behind it.
  const std::vector<std::vector<ShapeAndType>>& GetInputHandleShapesAndTypes() const;
  void SetInputHandleShapesAndTypes(std::vector<std::vector<ShapeAndType>>&& shapes_and_types);
  const std::vector<std::vector<ShapeAndType>>& GetOutputHandleShapesAndTypes() const;
  void SetOutputHandleShapesAndTypes(const std::vector<std::vector<ShapeAndType>>& shapes_and_types);
  void SetOutputHandleShapesAndTypes(std::vector<std::vector<ShapeAndType>>&& shapes_and_types);

  // Words that inference functions leave for each other.
  void GetMarks(std::vector<AscendString>& marks) const;
  void SetMarks(const std::vector<AscendString>& marks);
  ATTRIBUTED_DEPRECATED(void GetMarks(std::vector<AscendString>&) const)
  const std::vector<std::string>& GetMarks() const;
  ATTRIBUTED_DEPRECATED(void SetMarks(const std::vector<AscendString>&))
  void SetMarks(const std::vector<std::string>& marks);

  // Null when nobody has set it. A context that is set belongs to this object, and frees the one before it.
  ResourceContext* GetResourceContext(const ge::AscendString& key);
  graphStatus SetResourceContext(const ge::AscendString& key, ResourceContext* resource_context);
  graphStatus RegisterReliedOnResourceKey(const ge::AscendString& key);
  const std::set<ge::AscendString>& GetReliedOnResourceKeys() const;
  graphStatus AddChangedResourceKey(const ge::AscendString& key);
  const std::set<ge::AscendString>& GetChangedResourceKeys() const;
  void ClearChangedResourceKeys();

 private:
  friend struct ::millpond::api::BuildAccess;
  explicit InferenceContext(std::unique_ptr<InnerInferenceContext>& inner_context);
  std::shared_ptr<InnerInferenceContext> inner_inference_context_;
};

using InferenceContextPtr = std::shared_ptr<InferenceContext>;

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_INFERENCE_CONTEXT_H_

// SPDX-License-Identifier: Apache-2.0
#include "include/graph/inference_context.h"

#include <map>

#include "src/api/graph/operator_impl.h"
#include "src/api/graph/text_holder.h"

namespace ge {

class ShapeAndTypeImpl {
 public:
  Shape shape;
  DataType type = DT_UNDEFINED;
};

struct InnerInferenceContext {
  std::vector<std::vector<ShapeAndType>> inputs;
  std::vector<std::vector<ShapeAndType>> outputs;
  std::vector<AscendString> marks;
  TextHolder mark_texts = HoldTexts({});
  std::map<AscendString, std::unique_ptr<ResourceContext>> resources;
  std::set<AscendString> relied_on;
  std::set<AscendString> changed;
};

}  // namespace ge

namespace millpond::api {

const TextHolder* MarksOf(const ge::InferenceContext& context) { return &BuildAccess::Impl(context)->mark_texts; }

}  // namespace millpond::api

namespace ge {

ShapeAndType::ShapeAndType() : shape_and_type_impl_(std::make_shared<ShapeAndTypeImpl>()) {}

ShapeAndType::ShapeAndType(const Shape& shape, DataType data_type) : ShapeAndType() {
  SetShape(shape);
  SetType(data_type);
}

Shape ShapeAndType::GetShape() const { return shape_and_type_impl_ == nullptr ? Shape() : shape_and_type_impl_->shape; }
void ShapeAndType::SetShape(const Shape& shape) {
  // A shape's copies are one shape: this keeps its own.
  if (shape_and_type_impl_ != nullptr) shape_and_type_impl_->shape = Shape(shape.GetDims());
}
DataType ShapeAndType::GetDataType() const {
  return shape_and_type_impl_ == nullptr ? DT_UNDEFINED : shape_and_type_impl_->type;
}
void ShapeAndType::SetType(DataType data_type) {
  if (shape_and_type_impl_ != nullptr) shape_and_type_impl_->type = data_type;
}

InferenceContext::InferenceContext(std::unique_ptr<InnerInferenceContext>& inner_context)
    : inner_inference_context_(std::move(inner_context)) {}

std::unique_ptr<InferenceContext> InferenceContext::Create(void* resource_context_mgr) {
  std::unique_ptr<InferenceContext> context;
  static_cast<void>(Answer("ge::InferenceContext::Create", [&]() -> Status {
    MP_CHECK(resource_context_mgr == nullptr, kUnsupported,
             "a manager of resource contexts cannot be made through the public API; pass null");
    auto inner = std::make_unique<InnerInferenceContext>();
    context.reset(new InferenceContext(inner));
    return Ok();
  }));
  return context;
}

const std::vector<std::vector<ShapeAndType>>& InferenceContext::GetInputHandleShapesAndTypes() const {
  return inner_inference_context_->inputs;
}
void InferenceContext::SetInputHandleShapesAndTypes(std::vector<std::vector<ShapeAndType>>&& shapes_and_types) {
  inner_inference_context_->inputs = std::move(shapes_and_types);
}
const std::vector<std::vector<ShapeAndType>>& InferenceContext::GetOutputHandleShapesAndTypes() const {
  return inner_inference_context_->outputs;
}
void InferenceContext::SetOutputHandleShapesAndTypes(const std::vector<std::vector<ShapeAndType>>& shapes_and_types) {
  inner_inference_context_->outputs = shapes_and_types;
}
void InferenceContext::SetOutputHandleShapesAndTypes(std::vector<std::vector<ShapeAndType>>&& shapes_and_types) {
  inner_inference_context_->outputs = std::move(shapes_and_types);
}

void InferenceContext::GetMarks(std::vector<AscendString>& marks) const { marks = inner_inference_context_->marks; }
void InferenceContext::SetMarks(const std::vector<AscendString>& marks) {
  inner_inference_context_->marks = marks;
  inner_inference_context_->mark_texts = HoldTexts(marks);
}

ResourceContext* InferenceContext::GetResourceContext(const ge::AscendString& key) {
  const auto found = inner_inference_context_->resources.find(key);
  return found == inner_inference_context_->resources.end() ? nullptr : found->second.get();
}

graphStatus InferenceContext::SetResourceContext(const ge::AscendString& key, ResourceContext* resource_context) {
  return Answer("ge::InferenceContext::SetResourceContext", [&]() -> Status {
    MP_REQUIRE(resource_context != nullptr, "the resource context of \"%s\" is null", key.GetString());
    std::unique_ptr<ResourceContext>& place = inner_inference_context_->resources[key];
    if (place.get() != resource_context) place.reset(resource_context);
    return Ok();
  });
}

namespace {

graphStatus Insert(const char* api, const AscendString& key, std::set<AscendString>* keys) {
  return Answer(api, [&] {
    keys->insert(key);
    return Ok();
  });
}

}  // namespace

graphStatus InferenceContext::RegisterReliedOnResourceKey(const ge::AscendString& key) {
  return Insert("ge::InferenceContext::RegisterReliedOnResourceKey", key, &inner_inference_context_->relied_on);
}
const std::set<ge::AscendString>& InferenceContext::GetReliedOnResourceKeys() const {
  return inner_inference_context_->relied_on;
}
graphStatus InferenceContext::AddChangedResourceKey(const ge::AscendString& key) {
  return Insert("ge::InferenceContext::AddChangedResourceKey", key, &inner_inference_context_->changed);
}
const std::set<ge::AscendString>& InferenceContext::GetChangedResourceKeys() const {
  return inner_inference_context_->changed;
}
void InferenceContext::ClearChangedResourceKeys() { inner_inference_context_->changed.clear(); }

}  // namespace ge

// SPDX-License-Identifier: Apache-2.0
// Offline models: loading, unloading, sizes (docs/compat.md, "Offline models and operators").
#include <algorithm>

#include "include/acl/error_codes/ge_error_codes.h"
#include "src/api/acl/mdl/model.h"
#include "src/api/common/message.h"
#include "src/api/common/refuse.h"
#include "src/device/memory/memory.h"
#include "src/graph/io/files.h"

namespace millpond::acl {

aclError ModelNumber(Code code, aclError usual) {
  switch (code) {
    case Code::kInvalidFile:
      return ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID;
    case Code::kGraphUnknown:
      return ACL_ERROR_GE_EXEC_MODEL_ID_INVALID;
    case Code::kInvalidHandle:
      return ACL_ERROR_INVALID_BUNDLE_MODEL_ID;
    case Code::kOverLimit:
      return ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID;
    case Code::kArrayTooSmall:
      return ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID;
    default:
      return usual;
  }
}

Status ReadModelFile(const char* path, std::shared_ptr<const void>* out_keep, std::span<const std::byte>* out_bytes) {
  io::FileBytes file;
  const Status status = io::ReadFile(path, &file);
  MP_CHECK(status.ok(), kInvalidFile, "%s", status.message().c_str());
  *out_keep = file.keep;
  *out_bytes = file.bytes;
  return Ok();
}

Status InfoFromFile(const char* path, std::shared_ptr<const ModelInfo>* out, const std::string& weights) {
  std::shared_ptr<const void> keep;
  std::span<const std::byte> bytes;
  MP_RETURN_IF_ERROR(ReadModelFile(path, &keep, &bytes));
  return ModelInfo::Read(bytes, std::move(keep), out, weights).Prefixed(Format("\"%s\"", path));
}

Status InfoFromMemory(const void* model, size_t bytes, std::shared_ptr<const ModelInfo>* out,
                      const std::string& weights) {
  MP_REQUIRE(bytes > 0, "modelSize is 0; it must be the size of the offline model in bytes");
  MP_RETURN_IF_ERROR(CheckReadable("model", model, bytes));
  return ModelInfo::Read({static_cast<const std::byte*>(model), bytes}, nullptr, out, weights);
}

Status LoadModel(std::shared_ptr<const ModelInfo> info, const ModelMemory& memory, int32_t priority, uint32_t* out_id) {
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(RequireContext(&context));
  std::shared_ptr<Model> model;
  MP_RETURN_IF_ERROR(Model::Load(std::move(info), memory, context, &model));
  model->set_priority(priority);
  *out_id = ModelTable::Get().Add(model);
  model->DumpTo(dump::ForModel(model->info().name(), *out_id, model->device()->id()));
  return Ok();
}

size_t WorkBytes(const ModelInfo& info) { return std::max(info.work_bytes(), program::kMinFeatureBytes); }
size_t WeightBytes(const ModelInfo& info) { return std::max(info.weight_bytes(), program::kMinFeatureBytes); }

namespace {

Status QuerySize(const ModelInfo& info, size_t* work, size_t* weight) {
  MP_REQUIRE(!info.is_dynamic(),
             "the model's shapes are known only when it runs, so its memory has no size beforehand; load it without "
             "memory of your own");
  *work = WorkBytes(info);
  *weight = WeightBytes(info);
  return Ok();
}

Status LoadFile(const char* path, const ModelMemory& memory, uint32_t* modelId) {
  if (path == nullptr) return NullPointer("modelPath");
  if (IsWild(path)) return WildPointer("modelPath", path);
  MP_NOT_NULL(modelId);
  *modelId = 0;
  std::shared_ptr<const ModelInfo> info;
  MP_RETURN_IF_ERROR(InfoFromFile(path, &info));
  return LoadModel(std::move(info), memory, 0, modelId);
}

Status LoadMemory(const void* model, size_t bytes, const ModelMemory& memory, uint32_t* modelId) {
  MP_NOT_NULL(model);
  MP_NOT_NULL(modelId);
  *modelId = 0;
  std::shared_ptr<const ModelInfo> info;
  MP_RETURN_IF_ERROR(InfoFromMemory(model, bytes, &info));
  return LoadModel(std::move(info), memory, 0, modelId);
}

}  // namespace
}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId) {
  return ModelGuard(__func__, [&] { return LoadFile(modelPath, {}, modelId); });
}

extern "C" aclError aclmdlLoadFromMem(const void* model, size_t modelSize, uint32_t* modelId) {
  return ModelGuard(__func__, [&] { return LoadMemory(model, modelSize, {}, modelId); });
}

extern "C" aclError aclmdlLoadFromFileWithMem(const char* modelPath, uint32_t* modelId, void* workPtr, size_t workSize,
                                              void* weightPtr, size_t weightSize) {
  return ModelGuard(__func__, [&] { return LoadFile(modelPath, {workPtr, workSize, weightPtr, weightSize}, modelId); });
}

extern "C" aclError aclmdlLoadFromMemWithMem(const void* model, size_t modelSize, uint32_t* modelId, void* workPtr,
                                             size_t workSize, void* weightPtr, size_t weightSize) {
  return ModelGuard(__func__, [&] {
    return LoadMemory(model, modelSize, {workPtr, workSize, weightPtr, weightSize}, modelId);
  });
}

extern "C" aclError aclmdlUnload(uint32_t modelId) {
  return ModelGuard(__func__, [&] { return ModelTable::Get().Remove(modelId); });
}

extern "C" aclError aclmdlQuerySize(const char* fileName, size_t* workSize, size_t* weightSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(fileName);
    MP_NOT_NULL(workSize);
    MP_NOT_NULL(weightSize);
    std::shared_ptr<const ModelInfo> info;
    MP_RETURN_IF_ERROR(InfoFromFile(fileName, &info));
    return QuerySize(*info, workSize, weightSize);
  });
}

extern "C" aclError aclmdlQuerySizeFromMem(const void* model, size_t modelSize, size_t* workSize, size_t* weightSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(model);
    MP_NOT_NULL(workSize);
    MP_NOT_NULL(weightSize);
    std::shared_ptr<const ModelInfo> info;
    MP_RETURN_IF_ERROR(InfoFromMemory(model, modelSize, &info));
    return QuerySize(*info, workSize, weightSize);
  });
}

// A stream's priority orders streams here, and models have none of their own: the number is kept and handed back.
extern "C" aclError aclmdlSetAttribute(uint32_t modelId, aclmdlAttr attr, aclmdlAttrValue_t* attrValue) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(attrValue);
    MP_REQUIRE(attr == ACL_MDL_ATTR_PRIORITY_INT32, "attr is %d; there is 0 (the priority)", static_cast<int>(attr));
    MP_REQUIRE(attrValue->mdlPriority <= 7, "the priority is %u; it must be 0 (highest) to 7", attrValue->mdlPriority);
    std::shared_ptr<Model> model;
    MP_RETURN_IF_ERROR(ModelTable::Get().Find(modelId, &model));
    model->set_priority(static_cast<int32_t>(attrValue->mdlPriority));
    return Ok();
  });
}

extern "C" aclError aclmdlGetAttribute(uint32_t modelId, aclmdlAttr attr, aclmdlAttrValue_t* attrValue) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(attrValue);
    MP_REQUIRE(attr == ACL_MDL_ATTR_PRIORITY_INT32, "attr is %d; there is 0 (the priority)", static_cast<int>(attr));
    std::shared_ptr<Model> model;
    MP_RETURN_IF_ERROR(ModelTable::Get().Find(modelId, &model));
    attrValue->mdlPriority = static_cast<uint32_t>(model->priority());
    return Ok();
  });
}

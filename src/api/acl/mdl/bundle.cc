// SPDX-License-Identifier: Apache-2.0
// Bundles: several offline models in one file (docs/compat.md, "Offline models and operators"). Models of one bundle
// share no variables here, so the memory for them has size 0.
#include <cstring>

#include "src/api/acl/mdl/model.h"
#include "src/api/common/message.h"
#include "src/device/memory/memory.h"
#include "src/graph/io/om.h"

namespace millpond::acl {

namespace {

// The client may free its memory after the call.
Status CopyOf(const void* model, size_t bytes, std::shared_ptr<const void>* out_keep,
              std::span<const std::byte>* out_bytes) {
  MP_NOT_NULL(model);
  MP_REQUIRE(bytes > 0, "modelSize is 0; it must be the size of the bundle in bytes");
  MP_RETURN_IF_ERROR(CheckReadable("model", model, bytes));
  // Validated before it is copied: a wrong size is then found by the header.
  io::OmKind kind;
  MP_RETURN_IF_ERROR(io::CheckOm({static_cast<const std::byte*>(model), bytes}, &kind));
  const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
  std::memcpy(copy.get(), model, bytes);
  *out_bytes = {copy.get(), bytes};
  *out_keep = copy;
  return Ok();
}

Status LoadPart(uint32_t bundle, size_t index, const ModelMemory& memory, int32_t priority, uint32_t* out_model) {
  std::span<const std::byte> file;
  std::shared_ptr<const void> keep;
  MP_RETURN_IF_ERROR(ModelTable::Get().BundlePart(bundle, index, &file, &keep));
  std::shared_ptr<const ModelInfo> info;
  MP_RETURN_IF_ERROR(ModelInfo::Read(file, std::move(keep), &info).Prefixed(Format("model %zu of the bundle", index)));
  uint32_t model = 0;
  MP_RETURN_IF_ERROR(LoadModel(std::move(info), memory, priority, &model));
  Status told = ModelTable::Get().SetBundleModel(bundle, index, model);
  if (!told.ok()) {  // the bundle was unloaded meanwhile
    ModelTable::Get().Remove(model).Ignore();
    return told;
  }
  *out_model = model;
  return Ok();
}

Status LoadAll(std::span<const std::byte> file, std::shared_ptr<const void> keep, uint32_t* out_bundle) {
  uint32_t bundle = 0;
  MP_RETURN_IF_ERROR(ModelTable::Get().AddBundle(file, std::move(keep), &bundle));
  size_t count = 0;
  Status status = ModelTable::Get().BundleSize(bundle, &count);
  for (size_t i = 0; status.ok() && i < count; ++i) {
    uint32_t model = 0;
    status = LoadPart(bundle, i, {}, 0, &model);
  }
  if (!status.ok()) {
    ModelTable::Get().RemoveBundle(bundle).Ignore();
    return status;
  }
  *out_bundle = bundle;
  return Ok();
}

Status CheckVariableMemory(const void* memory, size_t bytes) {
  MP_REQUIRE(memory != nullptr || bytes == 0, "varWeightSize is %zu and varWeightPtr NULL", bytes);
  return Ok();
}

Status Query(std::span<const std::byte> file, const std::shared_ptr<const void>& keep, aclmdlBundleQueryInfo* out) {
  std::vector<std::span<const std::byte>> parts;
  MP_RETURN_IF_ERROR(io::ReadOmBundle(file, &parts));
  std::vector<aclmdlBundleQueryInfo::Part> sizes;
  for (const auto& part : parts) {
    std::shared_ptr<const ModelInfo> info;
    MP_RETURN_IF_ERROR(ModelInfo::Read(part, keep, &info));
    sizes.push_back({info->is_dynamic() ? 0 : WorkBytes(*info), WeightBytes(*info)});
  }
  out->parts = std::move(sizes);
  return Ok();
}

Status CheckQuery(const aclmdlBundleQueryInfo* info) {
  return CheckHandle("queryInfo", "aclmdlBundleCreateQueryInfo", info);
}

}  // namespace
}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclmdlBundleQueryInfo* aclmdlBundleCreateQueryInfo() { return MakeObject<aclmdlBundleQueryInfo>(__func__); }

extern "C" aclError aclmdlBundleDestroyQueryInfo(aclmdlBundleQueryInfo* queryInfo) {
  return DestroyChecked(__func__, "queryInfo", queryInfo, CheckQuery);
}

extern "C" aclError aclmdlBundleQueryInfoFromFile(const char* fileName, aclmdlBundleQueryInfo* queryInfo) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(fileName);
    MP_RETURN_IF_ERROR(CheckQuery(queryInfo));
    std::shared_ptr<const void> keep;
    std::span<const std::byte> file;
    MP_RETURN_IF_ERROR(ReadModelFile(fileName, &keep, &file));
    return Query(file, keep, queryInfo);
  });
}

extern "C" aclError aclmdlBundleQueryInfoFromMem(const void* model, size_t modelSize,
                                                 aclmdlBundleQueryInfo* queryInfo) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(model);
    MP_RETURN_IF_ERROR(CheckQuery(queryInfo));
    return Query({static_cast<const std::byte*>(model), modelSize}, nullptr, queryInfo);
  });
}

extern "C" aclError aclmdlBundleGetQueryModelNum(const aclmdlBundleQueryInfo* queryInfo, size_t* modelNum) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckQuery(queryInfo));
    MP_NOT_NULL(modelNum);
    *modelNum = queryInfo->parts.size();
    return Ok();
  });
}

extern "C" aclError aclmdlBundleGetVarWeightSize(const aclmdlBundleQueryInfo* queryInfo, size_t* variableWeightSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckQuery(queryInfo));
    MP_NOT_NULL(variableWeightSize);
    *variableWeightSize = 0;
    return Ok();
  });
}

extern "C" aclError aclmdlBundleGetSize(const aclmdlBundleQueryInfo* queryInfo, size_t index, size_t* workSize,
                                        size_t* constWeightSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckQuery(queryInfo));
    MP_NOT_NULL(workSize);
    MP_NOT_NULL(constWeightSize);
    MP_REQUIRE(index < queryInfo->parts.size(), "index is %zu; the bundle has %zu models", index,
               queryInfo->parts.size());
    *workSize = queryInfo->parts[index].work_bytes;
    *constWeightSize = queryInfo->parts[index].weight_bytes;
    return Ok();
  });
}

extern "C" aclError aclmdlBundleInitFromFile(const char* modelPath, void* varWeightPtr, size_t varWeightSize,
                                             uint32_t* bundleId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(modelPath);
    MP_NOT_NULL(bundleId);
    MP_RETURN_IF_ERROR(CheckVariableMemory(varWeightPtr, varWeightSize));
    std::shared_ptr<const void> keep;
    std::span<const std::byte> file;
    MP_RETURN_IF_ERROR(ReadModelFile(modelPath, &keep, &file));
    return ModelTable::Get().AddBundle(file, std::move(keep), bundleId);
  });
}

extern "C" aclError aclmdlBundleInitFromMem(const void* model, size_t modelSize, void* varWeightPtr,
                                            size_t varWeightSize, uint32_t* bundleId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(bundleId);
    MP_RETURN_IF_ERROR(CheckVariableMemory(varWeightPtr, varWeightSize));
    std::shared_ptr<const void> keep;
    std::span<const std::byte> file;
    MP_RETURN_IF_ERROR(CopyOf(model, modelSize, &keep, &file));
    return ModelTable::Get().AddBundle(file, std::move(keep), bundleId);
  });
}

extern "C" aclError aclmdlBundleLoadFromFile(const char* modelPath, uint32_t* bundleId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(modelPath);
    MP_NOT_NULL(bundleId);
    std::shared_ptr<const void> keep;
    std::span<const std::byte> file;
    MP_RETURN_IF_ERROR(ReadModelFile(modelPath, &keep, &file));
    return LoadAll(file, std::move(keep), bundleId);
  });
}

extern "C" aclError aclmdlBundleLoadFromMem(const void* model, size_t modelSize, uint32_t* bundleId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(bundleId);
    std::shared_ptr<const void> keep;
    std::span<const std::byte> file;
    MP_RETURN_IF_ERROR(CopyOf(model, modelSize, &keep, &file));
    return LoadAll(file, std::move(keep), bundleId);
  });
}

extern "C" aclError aclmdlBundleGetModelNum(uint32_t bundleId, size_t* modelNum) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(modelNum);
    return ModelTable::Get().BundleSize(bundleId, modelNum);
  });
}

extern "C" aclError aclmdlBundleGetModelId(uint32_t bundleId, size_t index, uint32_t* modelId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(modelId);
    uint32_t model = 0;
    MP_RETURN_IF_ERROR(ModelTable::Get().BundleModel(bundleId, index, &model));
    MP_REQUIRE(model != 0, "model %zu of bundle %u is not loaded; load it with aclmdlBundleLoadModel", index, bundleId);
    *modelId = model;
    return Ok();
  });
}

extern "C" aclError aclmdlBundleLoadModel(uint32_t bundleId, size_t index, uint32_t* modelId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(modelId);
    return LoadPart(bundleId, index, {}, 0, modelId);
  });
}

extern "C" aclError aclmdlBundleLoadModelWithConfig(uint32_t bundleId, size_t index, aclmdlConfigHandle* handle,
                                                    uint32_t* modelId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateConfigHandle", handle));
    MP_NOT_NULL(modelId);
    return LoadPart(bundleId, index, handle->memory, handle->priority, modelId);
  });
}

extern "C" aclError aclmdlBundleLoadModelWithMem(uint32_t bundleId, size_t index, void* workPtr, size_t workSize,
                                                 void* weightPtr, size_t weightSize, uint32_t* modelId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(modelId);
    return LoadPart(bundleId, index, {workPtr, workSize, weightPtr, weightSize}, 0, modelId);
  });
}

extern "C" aclError aclmdlBundleUnloadModel(uint32_t bundleId, uint32_t modelId) {
  return ModelGuard(__func__, [&] { return ModelTable::Get().RemoveBundleModel(bundleId, modelId); });
}

extern "C" aclError aclmdlBundleUnload(uint32_t bundleId) {
  return ModelGuard(__func__, [&] { return ModelTable::Get().RemoveBundle(bundleId); });
}

// SPDX-License-Identifier: Apache-2.0
// Datasets: the buffers of all inputs or all outputs of a run, and which sizes it has (docs/compat.md, "Offline models
// and operators").
#include <memory>

#include "src/api/acl/mdl/model.h"
#include "src/api/common/message.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"

namespace millpond::acl {

namespace {

Status CheckBuffer(const char* parameter, const aclDataBuffer* buffer) {
  if (buffer == nullptr) return NullPointer(parameter);
  MP_REQUIRE(IsAlive(buffer), "%s %p is not a live data buffer (destroyed, or not from aclCreateDataBuffer)", parameter,
             static_cast<const void*>(buffer));
  return Ok();
}

const char* WayToSet(io::OmGears::Kind kind) {
  switch (kind) {
    case io::OmGears::Kind::kBatch:
      return "aclmdlSetDynamicBatchSize";
    case io::OmGears::Kind::kImage:
      return "aclmdlSetDynamicHWSize";
    case io::OmGears::Kind::kDims:
      return "aclmdlSetInputDynamicDims";
    case io::OmGears::Kind::kNone:
      break;
  }
  return "aclmdlSetDatasetTensorDesc";
}

// Tells the dataset, and the memory of the input that chooses: a client may read it back.
Status SetGear(uint32_t model_id, aclmdlDataset* dataset, size_t index, io::OmGears::Kind kind,
               std::span<const int64_t> sizes) {
  MP_RETURN_IF_ERROR(CheckDataset("dataset", dataset));
  std::shared_ptr<Model> model;
  MP_RETURN_IF_ERROR(ModelTable::Get().Find(model_id, &model));
  const ModelInfo& info = model->info();
  MP_REQUIRE(info.gears().kind == kind, "model %u %s; use %s", model_id,
             info.has_gears() ? "was built for other choices" : "has no sizes to choose from",
             WayToSet(info.gears().kind));
  MP_REQUIRE(index == info.graph_inputs(), "index is %zu; the input that chooses (%s) is %zu", index,
             ModelInfo::kGearInput, info.graph_inputs());
  for (const auto& blob : dataset->blobs) {
    MP_REQUIRE(blob.desc == nullptr, "the dataset has shapes from aclmdlSetDatasetTensorDesc, which exclude %s",
               WayToSet(kind));
  }
  const size_t gear = info.FindGear(sizes);
  MP_CHECK(gear != ModelInfo::kNoGear, kOverLimit, "model %u was not built for %s; it has %zu choices", model_id,
           ir::TextOf({sizes.begin(), sizes.end()}).c_str(), info.gears().values.size());
  const std::vector<int64_t>& values = info.gears().values[gear];
  MP_RETURN_IF_ERROR(WriteInput(*dataset, index, values.data(), values.size() * sizeof(int64_t)));
  dataset->gear_sizes = values;
  model->set_last_gear(gear);
  return Ok();
}

// For what answers with an entry or null.
bool HasBlob(const char* api, const aclmdlDataset* dataset, size_t index) {
  return ModelGuard(api, [&]() -> Status {
           MP_RETURN_IF_ERROR(CheckDataset("dataset", dataset));
           MP_REQUIRE(index < dataset->blobs.size(), "index is %zu; the dataset has %zu buffers", index,
                      dataset->blobs.size());
           return Ok();
         }) == ACL_SUCCESS;
}

}  // namespace

Status WriteInput(const aclmdlDataset& dataset, size_t index, const void* from, size_t bytes) {
  MP_REQUIRE(index < dataset.blobs.size(), "index is %zu; the dataset has %zu buffers: add one for each input first",
             index, dataset.blobs.size());
  const aclDataBuffer* const buffer = dataset.blobs[index].buffer;
  MP_RETURN_IF_ERROR(CheckBuffer("the dataset's buffer", buffer));
  MP_REQUIRE(buffer->data != nullptr, "the buffer of input %zu has no memory; it takes %zu bytes", index, bytes);
  MP_CHECK(buffer->length >= bytes, kArrayTooSmall, "the buffer of input %zu has %zu bytes; it takes %zu", index,
           buffer->length, bytes);
  MP_RETURN_IF_ERROR(CheckRange("the memory of the input", buffer->data, bytes));
  return RunOnCaller([&] { CopyBytes(buffer->data, from, bytes); });
}

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclmdlDataset* aclmdlCreateDataset() { return MakeObject<aclmdlDataset>(__func__); }

extern "C" aclError aclmdlDestroyDataset(const aclmdlDataset* dataset) {
  return DestroyChecked(__func__, "dataset", dataset, [](const auto* one) { return CheckDataset("dataset", one); });
}

extern "C" aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* dataBuffer) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckDataset("dataset", dataset));
    MP_RETURN_IF_ERROR(CheckBuffer("dataBuffer", dataBuffer));
    dataset->blobs.push_back({dataBuffer, nullptr});
    return Ok();
  });
}

extern "C" size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset) {
  const aclError code = ModelGuard(__func__, [&] { return CheckDataset("dataset", dataset); });
  return code == ACL_SUCCESS ? dataset->blobs.size() : 0;
}

extern "C" aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index) {
  return HasBlob(__func__, dataset, index) ? dataset->blobs[index].buffer : nullptr;
}

extern "C" aclTensorDesc* aclmdlGetDatasetTensorDesc(const aclmdlDataset* dataset, size_t index) {
  return HasBlob(__func__, dataset, index) ? dataset->blobs[index].desc.get() : nullptr;
}

extern "C" aclError aclmdlSetDatasetTensorDesc(aclmdlDataset* dataset, aclTensorDesc* tensorDesc, size_t index) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckDataset("dataset", dataset));
    MP_REQUIRE(index < dataset->blobs.size(), "index is %zu; the dataset has %zu buffers: add them first", index,
               dataset->blobs.size());
    if (tensorDesc == nullptr) {
      dataset->blobs[index].desc.reset();
      return Ok();
    }
    MP_RETURN_IF_ERROR(CheckTensorDesc(tensorDesc, "tensorDesc"));
    MP_REQUIRE(dataset->gear_sizes.empty(),
               "sizes were chosen for the dataset by aclmdlSetDynamic*, which exclude aclmdlSetDatasetTensorDesc");
    dataset->blobs[index].desc = std::make_unique<aclTensorDesc>(*tensorDesc);
    dataset->blobs[index].desc->of_dataset = true;
    return Ok();
  });
}

extern "C" aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset* dataset, size_t index,
                                              uint64_t batchSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_REQUIRE(batchSize > 0 && batchSize <= INT64_MAX, "batchSize is %llu; it must be a positive size",
               static_cast<unsigned long long>(batchSize));
    const int64_t sizes[] = {static_cast<int64_t>(batchSize)};
    return SetGear(modelId, dataset, index, io::OmGears::Kind::kBatch, sizes);
  });
}

extern "C" aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset* dataset, size_t index, uint64_t height,
                                           uint64_t width) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_REQUIRE(height > 0 && width > 0 && height <= INT64_MAX && width <= INT64_MAX,
               "height is %llu and width %llu; both must be positive", static_cast<unsigned long long>(height),
               static_cast<unsigned long long>(width));
    const int64_t sizes[] = {static_cast<int64_t>(height), static_cast<int64_t>(width)};
    return SetGear(modelId, dataset, index, io::OmGears::Kind::kImage, sizes);
  });
}

extern "C" aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset* dataset, size_t index,
                                              const aclmdlIODims* dims) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(dims);
    MP_REQUIRE(dims->dimCount > 0 && dims->dimCount <= ACL_MAX_DIM_CNT, "dims has %zu dimensions; it must be 1 to %d",
               dims->dimCount, ACL_MAX_DIM_CNT);
    return SetGear(modelId, dataset, index, io::OmGears::Kind::kDims, {dims->dims, dims->dimCount});
  });
}

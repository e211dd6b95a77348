// SPDX-License-Identifier: Apache-2.0
// What an offline model takes and gives (docs/compat.md, "Offline models and operators").
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "src/api/acl/mdl/model.h"
#include "src/api/common/message.h"
#include "src/base/mutex.h"

namespace millpond::acl {

namespace {

enum class Side : uint8_t { kInput, kOutput };

const char* SideName(Side side) { return side == Side::kInput ? "input" : "output"; }

// A description that says something.
Status RequireDescribed(const aclmdlDesc* desc) {
  MP_RETURN_IF_ERROR(CheckDesc(desc));
  MP_REQUIRE(desc->info != nullptr, "modelDesc describes no model yet; call aclmdlGetDesc first");
  return Ok();
}

std::span<const ModelTensor> TensorsOf(const aclmdlDesc& desc, Side side) {
  return side == Side::kInput ? desc.info->inputs() : desc.info->outputs();
}

Status FindTensor(const aclmdlDesc* desc, Side side, size_t index, const ModelTensor** out) {
  MP_RETURN_IF_ERROR(RequireDescribed(desc));
  const std::span<const ModelTensor> tensors = TensorsOf(*desc, side);
  MP_REQUIRE(index < tensors.size(), "index is %zu; the model has %zu %ss", index, tensors.size(), SideName(side));
  *out = &tensors[index];
  return Ok();
}

// Getters without an error code answer `otherwise`; the reason is in the recent message.
template <class Result, class Body>
Result AskTensor(const char* api, const aclmdlDesc* desc, Side side, size_t index, Result otherwise, Body body) {
  const ModelTensor* tensor = nullptr;
  const aclError code = ModelGuard(api, [&] { return FindTensor(desc, side, index, &tensor); });
  return code == ACL_SUCCESS ? body(*tensor) : otherwise;
}

// A name that does not fit is replaced by one that does, and that aclmdlGetTensorRealName turns back.
std::string ShortName(const aclmdlDesc& desc, Side side, size_t index, const std::string& name) {
  if (name.size() < ACL_MAX_TENSOR_NAME_LEN) return name;
  return Format("acl_modelId_%u_%s_%zu", desc.model, SideName(side), index);
}

Status PutDims(const std::string& name, const ir::Dims& dims, aclmdlIODims* out) {
  MP_REQUIRE(dims.size() <= ACL_MAX_DIM_CNT, "%s has %zu dimensions; aclmdlIODims holds %d", name.c_str(), dims.size(),
             ACL_MAX_DIM_CNT);
  std::memset(out->name, 0, sizeof out->name);
  std::memcpy(out->name, name.data(), std::min(name.size(), sizeof out->name - 1));
  out->dimCount = dims.size();
  std::copy(dims.begin(), dims.end(), out->dims);
  return Ok();
}

aclError GetDims(const char* api, const aclmdlDesc* desc, Side side, size_t index, aclmdlIODims* dims,
                 ir::Dims ModelTensor::*which = &ModelTensor::dims) {
  return ModelGuard(api, [&]() -> Status {
    MP_NOT_NULL(dims);
    const ModelTensor* tensor = nullptr;
    MP_RETURN_IF_ERROR(FindTensor(desc, side, index, &tensor));
    // Pictures that each run describes have no shape but the model's.
    const bool has_rank = (tensor->*which).size() >= tensor->dims.size();
    return PutDims(ShortName(*desc, side, index, tensor->name), has_rank ? tensor->*which : tensor->dims, dims);
  });
}

aclError GetIndex(const char* api, const aclmdlDesc* desc, Side side, const char* name, size_t* index) {
  return ModelGuard(api, [&]() -> Status {
    MP_NOT_NULL(name);
    MP_NOT_NULL(index);
    MP_RETURN_IF_ERROR(RequireDescribed(desc));
    const std::span<const ModelTensor> tensors = TensorsOf(*desc, side);
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].name != name && ShortName(*desc, side, i, tensors[i].name) != name) continue;
      *index = i;
      return Ok();
    }
    return InvalidArgument(Format("the model has no %s \"%s\"", SideName(side), name));
  });
}

size_t GetCount(const char* api, const aclmdlDesc* desc, Side side) {
  const aclError code = ModelGuard(api, [&] { return RequireDescribed(desc); });
  return code == ACL_SUCCESS ? TensorsOf(*desc, side).size() : 0;
}

void Describe(aclmdlDesc* desc, std::shared_ptr<const ModelInfo> info, uint32_t model) {
  desc->info = std::move(info);
  desc->model = model;
  MutexLock lock(desc->mutex);
  desc->attributes.clear();
}

// "acl_modelId_3_input_0" -> the input's name; null when it is nothing of the kind.
const char* RealName(const aclmdlDesc& desc, std::string_view name) {
  for (const Side side : {Side::kInput, Side::kOutput}) {
    const std::span<const ModelTensor> tensors = TensorsOf(desc, side);
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].name == name || Format("acl_modelId_%u_%s_%zu", desc.model, SideName(side), i) == name) {
        return tensors[i].name.c_str();
      }
    }
  }
  return nullptr;
}

// The model's choices if they are of this kind, as many as the caller's struct has room for.
using Gears = std::span<const std::vector<int64_t>>;
Status GearsOf(const ModelInfo& info, io::OmGears::Kind kind, const char* what, size_t room, Gears* out) {
  const io::OmGears& gears = info.gears();
  if (gears.kind != kind) return Ok();
  MP_REQUIRE(gears.values.size() <= room, "the model has %zu %s holds %zu", gears.values.size(), what, room);
  *out = gears.values;
  return Ok();
}

std::string JoinNames(const ir::Attr& attr) {
  std::string text;
  if (const auto* names = attr.As<std::vector<std::string>>()) {
    for (const std::string& name : *names) text += Format("[%zu]", name.size()) + name;
  }
  return text;
}

}  // namespace
}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclmdlDesc* aclmdlCreateDesc() { return MakeObject<aclmdlDesc>(__func__); }

extern "C" aclError aclmdlDestroyDesc(aclmdlDesc* modelDesc) {
  return DestroyChecked(__func__, "modelDesc", modelDesc, CheckDesc);
}

extern "C" aclError aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckDesc(modelDesc));
    std::shared_ptr<Model> model;
    MP_RETURN_IF_ERROR(ModelTable::Get().Find(modelId, &model));
    Describe(modelDesc, model->shared_info(), modelId);
    return Ok();
  });
}

extern "C" aclError aclmdlGetDescFromFile(aclmdlDesc* modelDesc, const char* modelPath) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckDesc(modelDesc));
    MP_NOT_NULL(modelPath);
    std::shared_ptr<const ModelInfo> info;
    MP_RETURN_IF_ERROR(InfoFromFile(modelPath, &info));
    Describe(modelDesc, std::move(info), 0);
    return Ok();
  });
}

extern "C" aclError aclmdlGetDescFromMem(aclmdlDesc* modelDesc, const void* model, size_t modelSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckDesc(modelDesc));
    MP_NOT_NULL(model);
    std::shared_ptr<const ModelInfo> info;
    MP_RETURN_IF_ERROR(InfoFromMemory(model, modelSize, &info));
    Describe(modelDesc, std::move(info), 0);
    return Ok();
  });
}

extern "C" size_t aclmdlGetNumInputs(aclmdlDesc* modelDesc) { return GetCount(__func__, modelDesc, Side::kInput); }
extern "C" size_t aclmdlGetNumOutputs(aclmdlDesc* modelDesc) { return GetCount(__func__, modelDesc, Side::kOutput); }

extern "C" const char* aclmdlGetInputNameByIndex(const aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kInput, index, "",
                   [](const ModelTensor& tensor) { return tensor.name.c_str(); });
}
extern "C" const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kOutput, index, "",
                   [](const ModelTensor& tensor) { return tensor.name.c_str(); });
}

extern "C" size_t aclmdlGetInputSizeByIndex(aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kInput, index, size_t{0},
                   [](const ModelTensor& tensor) { return tensor.bytes; });
}
extern "C" size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kOutput, index, size_t{0},
                   [](const ModelTensor& tensor) { return tensor.bytes; });
}

extern "C" aclDataType aclmdlGetInputDataType(const aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kInput, index, ACL_DT_UNDEFINED,
                   [](const ModelTensor& tensor) { return static_cast<aclDataType>(tensor.dtype); });
}
extern "C" aclDataType aclmdlGetOutputDataType(const aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kOutput, index, ACL_DT_UNDEFINED,
                   [](const ModelTensor& tensor) { return static_cast<aclDataType>(tensor.dtype); });
}

extern "C" aclFormat aclmdlGetInputFormat(const aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kInput, index, ACL_FORMAT_UNDEFINED,
                   [](const ModelTensor& tensor) { return static_cast<aclFormat>(tensor.format); });
}
extern "C" aclFormat aclmdlGetOutputFormat(const aclmdlDesc* modelDesc, size_t index) {
  return AskTensor(__func__, modelDesc, Side::kOutput, index, ACL_FORMAT_UNDEFINED,
                   [](const ModelTensor& tensor) { return static_cast<aclFormat>(tensor.format); });
}

extern "C" aclError aclmdlGetInputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index) {
  return GetIndex(__func__, modelDesc, Side::kInput, name, index);
}
extern "C" aclError aclmdlGetOutputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index) {
  return GetIndex(__func__, modelDesc, Side::kOutput, name, index);
}

extern "C" aclError aclmdlGetInputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return GetDims(__func__, modelDesc, Side::kInput, index, dims);
}
// A picture of static AIPP as it lies in memory: the product is its bytes.
extern "C" aclError aclmdlGetInputDimsV2(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return GetDims(__func__, modelDesc, Side::kInput, index, dims, &ModelTensor::memory);
}
extern "C" aclError aclmdlGetOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return GetDims(__func__, modelDesc, Side::kOutput, index, dims);
}

extern "C" aclError aclmdlGetInputDimsRange(const aclmdlDesc* modelDesc, size_t index, aclmdlIODimsRange* dimsRange) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(dimsRange);
    const ModelTensor* tensor = nullptr;
    MP_RETURN_IF_ERROR(FindTensor(modelDesc, Side::kInput, index, &tensor));
    dimsRange->rangeCount = 0;
    if (modelDesc->info->has_gears()) return Ok();
    MP_REQUIRE(tensor->dims.size() <= ACL_MAX_DIM_CNT, "input %zu has %zu dimensions; aclmdlIODimsRange holds %d",
               index, tensor->dims.size(), ACL_MAX_DIM_CNT);
    for (size_t i = 0; i < tensor->dims.size(); ++i) {
      const int64_t dim = tensor->dims[i];
      const bool open = dim < 0;
      const bool bounded = i < tensor->range.size();
      dimsRange->range[i][0] = bounded ? tensor->range[i].first : open ? 0 : dim;
      dimsRange->range[i][1] = bounded ? tensor->range[i].second : dim;
    }
    dimsRange->rangeCount = tensor->dims.size();
    return Ok();
  });
}

extern "C" aclError aclmdlGetCurOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(dims);
    const ModelTensor* tensor = nullptr;
    MP_RETURN_IF_ERROR(FindTensor(modelDesc, Side::kOutput, index, &tensor));
    const ModelInfo& info = *modelDesc->info;
    if (info.is_dynamic()) {
      return NotSupported(
          "the model's shapes are known only when it runs; after aclmdlExecute ask aclmdlGetDatasetTensorDesc");
    }
    const std::string name = ShortName(*modelDesc, Side::kOutput, index, tensor->name);
    if (!info.has_gears()) return PutDims(name, tensor->dims, dims);
    std::shared_ptr<Model> model;
    MP_RETURN_IF_ERROR(ModelTable::Get().Find(modelDesc->model, &model));
    const size_t gear = model->last_gear();
    return PutDims(name, gear == ModelInfo::kNoGear ? tensor->dims : info.gear_output(gear, index), dims);
  });
}

extern "C" const char* aclmdlGetTensorRealName(const aclmdlDesc* modelDesc, const char* name) {
  const char* real = nullptr;
  ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(name);
    MP_RETURN_IF_ERROR(RequireDescribed(modelDesc));
    real = RealName(*modelDesc, name);
    MP_REQUIRE(real != nullptr, "\"%s\" is the name of no tensor of the model, neither its own nor a replacement",
               name);
    return Ok();
  });
  return real;
}

extern "C" const char* aclmdlGetOpAttr(aclmdlDesc* modelDesc, const char* opName, const char* attr) {
  const char* text = nullptr;
  ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(opName);
    MP_NOT_NULL(attr);
    MP_RETURN_IF_ERROR(RequireDescribed(modelDesc));
    MP_REQUIRE(std::string_view(attr) == ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES,
               "attr is \"%s\"; only " ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES " can be asked for", attr);
    const ir::NodePtr node = modelDesc->info->graph().FindNode(opName);
    MP_REQUIRE(node != nullptr, "the model has no operator \"%s\"", opName);
    const ir::Attr* const value = node->FindAttr(attr);
    MutexLock lock(modelDesc->mutex);
    // An operator that nobody fused is its own origin.
    std::string joined = value != nullptr ? JoinNames(*value) : Format("[%zu]", node->name.size()) + node->name;
    text = modelDesc->attributes.insert_or_assign(opName, std::move(joined)).first->second.c_str();
    return Ok();
  });
  return text;
}

extern "C" aclError aclmdlGetDynamicBatch(const aclmdlDesc* modelDesc, aclmdlBatch* batch) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(batch);
    MP_RETURN_IF_ERROR(RequireDescribed(modelDesc));
    batch->batchCount = 0;
    Gears gears;
    MP_RETURN_IF_ERROR(
        GearsOf(*modelDesc->info, io::OmGears::Kind::kBatch, "batch sizes; aclmdlBatch", ACL_MAX_BATCH_NUM, &gears));
    for (const auto& gear : gears) batch->batch[batch->batchCount++] = static_cast<uint64_t>(gear[0]);
    return Ok();
  });
}

extern "C" aclError aclmdlGetDynamicHW(const aclmdlDesc* modelDesc, size_t /*index*/, aclmdlHW* hw) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(hw);
    MP_RETURN_IF_ERROR(RequireDescribed(modelDesc));
    hw->hwCount = 0;
    Gears gears;
    MP_RETURN_IF_ERROR(
        GearsOf(*modelDesc->info, io::OmGears::Kind::kImage, "image sizes; aclmdlHW", ACL_MAX_HW_NUM, &gears));
    for (const auto& gear : gears) {
      hw->hw[hw->hwCount][0] = static_cast<uint64_t>(gear[0]);
      hw->hw[hw->hwCount++][1] = static_cast<uint64_t>(gear[1]);
    }
    return Ok();
  });
}

extern "C" aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* modelDesc, size_t index, size_t* gearCount) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(gearCount);
    MP_RETURN_IF_ERROR(RequireDescribed(modelDesc));
    MP_REQUIRE(index == SIZE_MAX, "index is %zu; it must be -1, as a choice is for all inputs together", index);
    const io::OmGears& gears = modelDesc->info->gears();
    *gearCount = gears.kind == io::OmGears::Kind::kDims ? gears.values.size() : 0;
    return Ok();
  });
}

extern "C" aclError aclmdlGetInputDynamicDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims,
                                              size_t gearCount) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(dims);
    MP_RETURN_IF_ERROR(RequireDescribed(modelDesc));
    MP_REQUIRE(index == SIZE_MAX, "index is %zu; it must be -1, as a choice is for all inputs together", index);
    const ModelInfo& info = *modelDesc->info;
    if (info.gears().kind != io::OmGears::Kind::kDims) return Ok();
    MP_REQUIRE(gearCount >= info.gears().values.size(), "gearCount is %zu; the model has %zu choices", gearCount,
               info.gears().values.size());
    for (size_t gear = 0; gear < info.gears().values.size(); ++gear) {
      MP_RETURN_IF_ERROR(PutDims("", info.AllDims(gear), &dims[gear]));
    }
    return Ok();
  });
}

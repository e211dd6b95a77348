// SPDX-License-Identifier: Apache-2.0
// Image preprocessing (AIPP): the parameters of a run of a model with dynamic AIPP, and what a model has of it
// (docs/compat.md, "Offline models and operators").
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "src/api/acl/mdl/model.h"
#include "src/api/common/message.h"
#include "src/base/half.h"

struct aclmdlAIPP {
  millpond::aipp::Header header;
  std::vector<millpond::aipp::Record> records;  // one for each picture
  millpond::acl::Magic<0x6d6c41697070> magic;
};

namespace millpond::acl {

namespace {

using aipp::Header;
using aipp::Record;

constexpr double kMaxHalf = 65504;

Status CheckAippObject(const aclmdlAIPP* aipp) { return CheckHandle("aippParmsSet", "aclmdlCreateAIPP", aipp); }

Status InRange(const char* parameter, double value, double low, double high) {
  if (std::isfinite(value) && value >= low && value <= high) return Ok();
  return InvalidValue(parameter, Format("%g", value), Format("it must be from %g to %g", low, high));
}

Status SwitchFrom(const char* parameter, int8_t value, int8_t* out) {
  MP_RETURN_IF_ERROR(InRange(parameter, value, 0, 1));
  *out = value;
  return Ok();
}

// One of four numbers, for the message: "dtcPixelMeanChn2".
template <class Value>
Status FourInRange(const char* parameter, const Value (&values)[4], double low, double high) {
  for (int i = 0; i < 4; ++i) MP_RETURN_IF_ERROR(InRange(Format("%s%d", parameter, i).c_str(), values[i], low, high));
  return Ok();
}

// For all pictures together.
template <class Body>
aclError SetHeader(const char* api, aclmdlAIPP* aipp, Body body) {
  return ModelGuard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckAippObject(aipp));
    return body(&aipp->header);
  });
}

// For one picture; nothing is changed when the body fails.
template <class Body>
aclError SetRecord(const char* api, aclmdlAIPP* aipp, uint64_t index, Body body) {
  return ModelGuard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckAippObject(aipp));
    if (index >= aipp->records.size()) {
      return InvalidValue("batchIndex", std::to_string(index),
                          Format("the parameters are for %zu pictures, counted from 0", aipp->records.size()));
    }
    Record record = aipp->records[index];
    MP_RETURN_IF_ERROR(body(&record));
    aipp->records[index] = record;
    return Ok();
  });
}

// What is to be said of input `index`; null when there is no AIPP.
const AippInput* AippOf(const ModelInfo& info, size_t index) {
  for (const AippInput& input : info.aipp()) {
    if (input.input == index) return &input;
  }
  return nullptr;
}
const AippInput* AippWithParameters(const ModelInfo& info, size_t index) {
  for (const AippInput& input : info.aipp()) {
    if (input.config.dynamic && input.parameters == index) return &input;
  }
  return nullptr;
}

Status FindModel(uint32_t id, size_t index, std::shared_ptr<Model>* out) {
  MP_RETURN_IF_ERROR(ModelTable::Get().Find(id, out));
  const size_t inputs = (*out)->info().inputs().size();
  MP_REQUIRE(index < inputs, "index is %zu; model %u has %zu inputs", index, id, inputs);
  return Ok();
}

// The block that the model's extra input takes.
Status WriteParameters(const AippInput& input, const ModelInfo& info, const aclmdlAIPP& aipp, aclmdlDataset* dataset) {
  MP_RETURN_IF_ERROR(CheckDataset("dataset", dataset));
  const size_t bytes = aipp::BlockBytes(aipp.records.size());
  MP_REQUIRE(bytes == info.inputs()[input.parameters].bytes,
             "the parameters are for %zu pictures, and the model reads %zu at most: give aclmdlCreateAIPP that number",
             aipp.records.size(), (info.inputs()[input.parameters].bytes - sizeof(Header)) / sizeof(Record));
  Header header = aipp.header;
  header.records = static_cast<int8_t>(aipp.records.size());
  AippSizes wanted = AippSizesOf(input.wanted, input.wanted.dims);
  for (size_t i = 0; i < aipp.records.size(); ++i) {
    MP_RETURN_IF_ERROR(CheckAipp(header, aipp.records[i], wanted).Prefixed(Format("picture %zu", i)));
    if (i == 0) wanted.size = aipp::ResultOf(header, aipp.records[0]);  // all become of one size
  }
  std::vector<std::byte> block(bytes);
  std::memcpy(block.data(), &header, sizeof header);
  std::memcpy(block.data() + sizeof header, aipp.records.data(), bytes - sizeof header);
  return WriteInput(*dataset, input.parameters, block.data(), bytes);
}

void PutShape(const ir::Dims& dims, aclmdlIODims* out) {
  out->dimCount = dims.size();
  std::copy(dims.begin(), dims.end(), out->dims);
}

void PutStatic(const io::AippConfig& config, aclAippInfo* out) {
  const Header& header = config.header;
  const Record& record = config.record;
  out->inputFormat = static_cast<aclAippInputFormat>(header.format);
  out->srcImageSizeW = header.width;
  out->srcImageSizeH = header.height;
  out->cropSwitch = record.crop;
  out->loadStartPosW = record.left;
  out->loadStartPosH = record.top;
  out->cropSizeW = record.part_width;
  out->cropSizeH = record.part_height;
  out->paddingSwitch = record.pad;
  out->leftPaddingSize = record.pad_left;
  out->rightPaddingSize = record.pad_right;
  out->topPaddingSize = record.pad_top;
  out->bottomPaddingSize = record.pad_bottom;
  out->cscSwitch = header.convert;
  out->rbuvSwapSwitch = header.swap_rb_uv;
  out->axSwapSwitch = header.swap_ax;
  int32_t* const matrix[] = {&out->matrixR0C0, &out->matrixR0C1, &out->matrixR0C2, &out->matrixR1C0, &out->matrixR1C1,
                             &out->matrixR1C2, &out->matrixR2C0, &out->matrixR2C1, &out->matrixR2C2};
  for (size_t i = 0; i < std::size(matrix); ++i) *matrix[i] = header.matrix[i / 3][i % 3];
  int32_t* const bias_out[] = {&out->outputBias0, &out->outputBias1, &out->outputBias2};
  int32_t* const bias_in[] = {&out->inputBias0, &out->inputBias1, &out->inputBias2};
  for (size_t i = 0; i < std::size(bias_out); ++i) {
    *bias_out[i] = header.bias_out[i];
    *bias_in[i] = header.bias_in[i];
  }
  int32_t* const mean[] = {&out->meanChn0, &out->meanChn1, &out->meanChn2, &out->meanChn3};
  float* const min[] = {&out->minChn0, &out->minChn1, &out->minChn2, &out->minChn3};
  float* const factor[] = {&out->varReciChn0, &out->varReciChn1, &out->varReciChn2, &out->varReciChn3};
  for (size_t i = 0; i < std::size(mean); ++i) {
    *mean[i] = record.mean[i];
    *min[i] = FloatFromHalf(record.min[i]);
    *factor[i] = FloatFromHalf(record.factor[i]);
  }
}

void PutInfo(const AippInput& input, const ModelInfo& info, aclAippInfo* out) {
  std::memset(static_cast<void*>(out), 0, sizeof *out);
  if (!input.config.dynamic) PutStatic(input.config, out);
  out->srcFormat = static_cast<aclFormat>(input.wanted.format);
  out->srcDatatype = static_cast<aclDataType>(input.wanted.dtype);
  out->srcDimNum = input.wanted.dims.size();
  out->shapeCount = info.has_gears() ? info.gears().values.size() : 1;
  const DType made = input.wanted.dtype == DType::kUint8 ? DType::kUint8 : DType::kHalf;
  for (size_t i = 0; i < out->shapeCount; ++i) {
    const ir::Dims& dims = info.has_gears() ? info.gear_inputs(i)[input.input] : input.wanted.dims;
    aclAippDims& shape = out->outDims[i];
    PutShape(dims, &shape.srcDims);
    PutShape(dims, &shape.aippOutdims);
    shape.srcSize = static_cast<size_t>(ir::BytesOf(input.wanted.dtype, dims));
    shape.aippOutSize = static_cast<size_t>(ir::BytesOf(made, dims));
  }
}
static_assert(io::kMaxGears <= ACL_MAX_SHAPE_COUNT);

}  // namespace
}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclmdlAIPP* aclmdlCreateAIPP(uint64_t batchSize) {
  aclmdlAIPP* made = nullptr;
  ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(InRange("batchSize", static_cast<double>(batchSize), 1, aipp::kMaxRecords));
    auto object = std::make_unique<aclmdlAIPP>();
    object->records.resize(batchSize);
    made = object.release();
    return Ok();
  });
  return made;
}

extern "C" aclError aclmdlDestroyAIPP(const aclmdlAIPP* aippParmsSet) {
  return DestroyChecked(__func__, "aippParmsSet", aippParmsSet, CheckAippObject);
}

extern "C" aclError aclmdlSetAIPPInputFormat(aclmdlAIPP* aippParmsSet, aclAippInputFormat inputFormat) {
  return SetHeader(__func__, aippParmsSet, [&](Header* header) -> Status {
    const auto number = static_cast<uint32_t>(inputFormat);
    if (number > UINT8_MAX || aipp::BytesOfTwo(static_cast<uint8_t>(number)) == 0) {
      return InvalidValue("inputFormat", std::to_string(number),
                          "AIPP takes ACL_YUV420SP_U8, ACL_XRGB8888_U8, ACL_RGB888_U8 and ACL_YUV400_U8");
    }
    header->format = static_cast<uint8_t>(number);
    return Ok();
  });
}

extern "C" aclError aclmdlSetAIPPCscParams(aclmdlAIPP* aippParmsSet, int8_t cscSwitch, int16_t cscMatrixR0C0,
                                           int16_t cscMatrixR0C1, int16_t cscMatrixR0C2, int16_t cscMatrixR1C0,
                                           int16_t cscMatrixR1C1, int16_t cscMatrixR1C2, int16_t cscMatrixR2C0,
                                           int16_t cscMatrixR2C1, int16_t cscMatrixR2C2, uint8_t cscOutputBiasR0,
                                           uint8_t cscOutputBiasR1, uint8_t cscOutputBiasR2, uint8_t cscInputBiasR0,
                                           uint8_t cscInputBiasR1, uint8_t cscInputBiasR2) {
  return SetHeader(__func__, aippParmsSet, [&](Header* header) -> Status {
    const int16_t matrix[] = {cscMatrixR0C0, cscMatrixR0C1, cscMatrixR0C2, cscMatrixR1C0, cscMatrixR1C1,
                              cscMatrixR1C2, cscMatrixR2C0, cscMatrixR2C1, cscMatrixR2C2};
    for (size_t i = 0; i < std::size(matrix); ++i) {
      MP_RETURN_IF_ERROR(InRange(Format("cscMatrixR%zuC%zu", i / 3, i % 3).c_str(), matrix[i], -32677, 32676));
    }
    MP_RETURN_IF_ERROR(SwitchFrom("cscSwitch", cscSwitch, &header->convert));
    std::memcpy(header->matrix, matrix, sizeof matrix);
    const uint8_t bias_out[] = {cscOutputBiasR0, cscOutputBiasR1, cscOutputBiasR2};
    const uint8_t bias_in[] = {cscInputBiasR0, cscInputBiasR1, cscInputBiasR2};
    std::memcpy(header->bias_out, bias_out, sizeof bias_out);
    std::memcpy(header->bias_in, bias_in, sizeof bias_in);
    return Ok();
  });
}

extern "C" aclError aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP* aippParmsSet, int8_t rbuvSwapSwitch) {
  return SetHeader(__func__, aippParmsSet,
                   [&](Header* header) { return SwitchFrom("rbuvSwapSwitch", rbuvSwapSwitch, &header->swap_rb_uv); });
}

extern "C" aclError aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP* aippParmsSet, int8_t axSwapSwitch) {
  return SetHeader(__func__, aippParmsSet,
                   [&](Header* header) { return SwitchFrom("axSwapSwitch", axSwapSwitch, &header->swap_ax); });
}

extern "C" aclError aclmdlSetAIPPSrcImageSize(aclmdlAIPP* aippParmsSet, int32_t srcImageSizeW, int32_t srcImageSizeH) {
  return SetHeader(__func__, aippParmsSet, [&](Header* header) -> Status {
    MP_RETURN_IF_ERROR(InRange("srcImageSizeW", srcImageSizeW, 2, 4096));
    MP_RETURN_IF_ERROR(InRange("srcImageSizeH", srcImageSizeH, 1, 4096));
    header->width = srcImageSizeW;
    header->height = srcImageSizeH;
    return Ok();
  });
}

extern "C" aclError aclmdlSetAIPPScfParams(aclmdlAIPP* aippParmsSet, int8_t scfSwitch, int32_t /*scfInputSizeW*/,
                                           int32_t /*scfInputSizeH*/, int32_t /*scfOutputSizeW*/,
                                           int32_t /*scfOutputSizeH*/, uint64_t batchIndex) {
  return SetRecord(__func__, aippParmsSet, batchIndex, [&](Record* record) -> Status {
    MP_RETURN_IF_ERROR(SwitchFrom("scfSwitch", scfSwitch, &record->resize));
    if (scfSwitch == 0) return Ok();  // the sizes mean nothing then
    return NotSupported(
        "AIPP does not resize: CANN's pages reserve it; resize with acldvppVpcResizeAsync before the run");
  });
}

extern "C" aclError aclmdlSetAIPPCropParams(aclmdlAIPP* aippParmsSet, int8_t cropSwitch, int32_t cropStartPosW,
                                            int32_t cropStartPosH, int32_t cropSizeW, int32_t cropSizeH,
                                            uint64_t batchIndex) {
  return SetRecord(__func__, aippParmsSet, batchIndex, [&](Record* record) -> Status {
    MP_RETURN_IF_ERROR(SwitchFrom("cropSwitch", cropSwitch, &record->crop));
    if (cropSwitch == 0) return Ok();
    MP_RETURN_IF_ERROR(InRange("cropStartPosW", cropStartPosW, 0, 4095));
    MP_RETURN_IF_ERROR(InRange("cropStartPosH", cropStartPosH, 0, 4095));
    MP_RETURN_IF_ERROR(InRange("cropSizeW", cropSizeW, 1, 4096));
    MP_RETURN_IF_ERROR(InRange("cropSizeH", cropSizeH, 1, 4096));
    record->left = cropStartPosW;
    record->top = cropStartPosH;
    record->part_width = cropSizeW;
    record->part_height = cropSizeH;
    return Ok();
  });
}

extern "C" aclError aclmdlSetAIPPPaddingParams(aclmdlAIPP* aippParmsSet, int8_t paddingSwitch, int32_t paddingSizeTop,
                                               int32_t paddingSizeBottom, int32_t paddingSizeLeft,
                                               int32_t paddingSizeRight, uint64_t batchIndex) {
  return SetRecord(__func__, aippParmsSet, batchIndex, [&](Record* record) -> Status {
    MP_RETURN_IF_ERROR(SwitchFrom("paddingSwitch", paddingSwitch, &record->pad));
    if (paddingSwitch == 0) return Ok();
    MP_RETURN_IF_ERROR(InRange("paddingSizeTop", paddingSizeTop, 0, 32));
    MP_RETURN_IF_ERROR(InRange("paddingSizeBottom", paddingSizeBottom, 0, 32));
    MP_RETURN_IF_ERROR(InRange("paddingSizeLeft", paddingSizeLeft, 0, 32));
    MP_RETURN_IF_ERROR(InRange("paddingSizeRight", paddingSizeRight, 0, 32));
    record->pad_top = paddingSizeTop;
    record->pad_bottom = paddingSizeBottom;
    record->pad_left = paddingSizeLeft;
    record->pad_right = paddingSizeRight;
    return Ok();
  });
}

extern "C" aclError aclmdlSetAIPPDtcPixelMean(aclmdlAIPP* aippParmsSet, int16_t dtcPixelMeanChn0,
                                              int16_t dtcPixelMeanChn1, int16_t dtcPixelMeanChn2,
                                              int16_t dtcPixelMeanChn3, uint64_t batchIndex) {
  return SetRecord(__func__, aippParmsSet, batchIndex, [&](Record* record) -> Status {
    const int16_t values[] = {dtcPixelMeanChn0, dtcPixelMeanChn1, dtcPixelMeanChn2, dtcPixelMeanChn3};
    MP_RETURN_IF_ERROR(FourInRange("dtcPixelMeanChn", values, 0, 255));
    std::memcpy(record->mean, values, sizeof values);
    return Ok();
  });
}

extern "C" aclError aclmdlSetAIPPDtcPixelMin(aclmdlAIPP* aippParmsSet, float dtcPixelMinChn0, float dtcPixelMinChn1,
                                             float dtcPixelMinChn2, float dtcPixelMinChn3, uint64_t batchIndex) {
  return SetRecord(__func__, aippParmsSet, batchIndex, [&](Record* record) -> Status {
    const float values[] = {dtcPixelMinChn0, dtcPixelMinChn1, dtcPixelMinChn2, dtcPixelMinChn3};
    MP_RETURN_IF_ERROR(FourInRange("dtcPixelMinChn", values, 0, 255));
    std::transform(std::begin(values), std::end(values), record->min, &HalfFromFloat);
    return Ok();
  });
}

extern "C" aclError aclmdlSetAIPPPixelVarReci(aclmdlAIPP* aippParmsSet, float dtcPixelVarReciChn0,
                                              float dtcPixelVarReciChn1, float dtcPixelVarReciChn2,
                                              float dtcPixelVarReciChn3, uint64_t batchIndex) {
  return SetRecord(__func__, aippParmsSet, batchIndex, [&](Record* record) -> Status {
    const float values[] = {dtcPixelVarReciChn0, dtcPixelVarReciChn1, dtcPixelVarReciChn2, dtcPixelVarReciChn3};
    MP_RETURN_IF_ERROR(FourInRange("dtcPixelVarReciChn", values, -kMaxHalf, kMaxHalf));
    std::transform(std::begin(values), std::end(values), record->factor, &HalfFromFloat);
    return Ok();
  });
}

extern "C" aclError aclmdlGetAippDataSize(uint64_t batchSize, size_t* size) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(size);
    MP_RETURN_IF_ERROR(InRange("batchSize", static_cast<double>(batchSize), 1, aipp::kMaxRecords));
    *size = aipp::BlockBytes(batchSize);
    return Ok();
  });
}

extern "C" aclError aclmdlSetInputAIPP(uint32_t modelId, aclmdlDataset* dataset, size_t index,
                                       const aclmdlAIPP* aippParmsSet) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckAippObject(aippParmsSet));
    std::shared_ptr<Model> model;
    MP_RETURN_IF_ERROR(FindModel(modelId, index, &model));
    const AippInput* const input = AippWithParameters(model->info(), index);
    MP_REQUIRE(input != nullptr, "input %zu of model %u takes no AIPP parameters; aclmdlGetAippType says which does",
               index, modelId);
    return WriteParameters(*input, model->info(), *aippParmsSet, dataset);
  });
}

extern "C" aclError aclmdlSetAIPPByInputIndex(uint32_t modelId, aclmdlDataset* dataset, size_t index,
                                              const aclmdlAIPP* aippParmsSet) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckAippObject(aippParmsSet));
    std::shared_ptr<Model> model;
    MP_RETURN_IF_ERROR(FindModel(modelId, index, &model));
    const AippInput* const input = AippOf(model->info(), index);
    MP_REQUIRE(input != nullptr && input->config.dynamic, "input %zu of model %u has no dynamic AIPP", index, modelId);
    return WriteParameters(*input, model->info(), *aippParmsSet, dataset);
  });
}

extern "C" aclError aclmdlGetAippType(uint32_t modelId, size_t index, aclmdlInputAippType* type,
                                      size_t* dynamicAttachedDataIndex) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(type);
    MP_NOT_NULL(dynamicAttachedDataIndex);
    std::shared_ptr<Model> model;
    MP_RETURN_IF_ERROR(FindModel(modelId, index, &model));
    *dynamicAttachedDataIndex = ACL_INVALID_NODE_INDEX;
    *type = AippWithParameters(model->info(), index) != nullptr ? ACL_DYNAMIC_AIPP_NODE : ACL_DATA_WITHOUT_AIPP;
    const AippInput* const input = AippOf(model->info(), index);
    if (input == nullptr) return Ok();
    *type = input->config.dynamic ? ACL_DATA_WITH_DYNAMIC_AIPP : ACL_DATA_WITH_STATIC_AIPP;
    if (input->config.dynamic) *dynamicAttachedDataIndex = input->parameters;
    return Ok();
  });
}

extern "C" aclError aclmdlGetFirstAippInfo(uint32_t modelId, size_t index, aclAippInfo* aippInfo) {
  return Guard(__func__, [&]() -> Outcome {
    MP_NOT_NULL(aippInfo);
    std::shared_ptr<Model> model;
    if (Status found = FindModel(modelId, index, &model); !found.ok()) {
      const Code code = found.code();
      return {ModelNumber(code, AclErrorFrom(code)), std::move(found)};
    }
    const AippInput* const input = AippOf(model->info(), index);
    if (input == nullptr) {
      return {ACL_ERROR_GE_AIPP_NOT_EXIST,
              InvalidArgument(Format("input %zu of model %u has no AIPP", index, modelId))};
    }
    PutInfo(*input, model->info(), aippInfo);
    return Ok();
  });
}

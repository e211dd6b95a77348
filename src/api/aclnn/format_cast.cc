// SPDX-License-Identifier: Apache-2.0
// Private formats at aclnn's door: the question before aclnnNpuFormatCast (which storage will the result have?), how
// much room a weight needs, and a weight that is laid out where it is.
#include <algorithm>
#include <numeric>
#include <vector>

#include "include/aclnn/acl_meta.h"
#include "src/api/aclnn/aclnn_guard.h"
#include "src/api/aclnn/entry.h"
#include "src/api/aclnn/objects.h"
#include "src/base/format.h"
#include "src/base/private_layout.h"
#include "src/ops/row.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

namespace {

// Formats whose dimensions stand in the order of the layouts of src/base/private_layout.h.
bool IsChannelsFirst(int format) {
  return format == ACL_FORMAT_ND || format == ACL_FORMAT_NCHW || format == ACL_FORMAT_NCDHW || format == ACL_FORMAT_NCL;
}

Status FormatCastShape(const TensorView& source, int wanted, int extra_type, std::vector<int64_t>* out_shape,
                       int* out_format) {
  const PrivateLayout layout = LayoutOfFormat(wanted);
  const DType block_type = extra_type < 0 ? source.dtype : static_cast<DType>(extra_type);
  *out_format = wanted;
  if (layout == PrivateLayout::kPlain) {
    MP_CHECK(
        IsChannelsFirst(wanted), kUnsupported,
        "dstFormat is %d; ND (2), NCHW (0), NCDHW (30), NCL (47) and the private formats 3, 4, 29, 32, 33 are made "
        "here, those with channels last are not",
        wanted);
    out_shape->assign(source.dims, source.dims + source.rank);
    return Ok();
  }
  MP_CHECK(source.layout != PrivateLayout::kPlain || IsChannelsFirst(source.format), kUnsupported,
           "srcTensor has format %d; a private format is made here of ND (2), NCHW (0), NCDHW (30) and NCL (47)",
           source.format);
  const int64_t told = BlockOfFormat(wanted);
  const int64_t c0 = told != 0 ? told : BlockOf(block_type);
  *out_shape = StorageShape(layout, source.shape(), c0);
  MP_REQUIRE(!out_shape->empty(), "srcTensor has shape %s and additionalDtype is %d; format %d has no storage for that",
             ShapeText(source.shape()).c_str(), extra_type, wanted);
  return Ok();
}

// Elements of a weight's storage in blocks of 16 x C0.
Outcome WeightSize(const aclIntArray* shape, aclDataType type, uint64_t* size) {
  if (shape == nullptr || size == nullptr)
    return IsNull(shape == nullptr ? "tensorShape is NULL" : "weightTensorSize is NULL");
  MP_REQUIRE(Alive(shape), "tensorShape is not a live aclIntArray");
  const auto& dims = shape->values;
  MP_REQUIRE(dims.size() >= 2 && dims.size() <= 6, "tensorShape has %zu dimensions; 2 to 6 are allowed", dims.size());
  MP_REQUIRE(std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim > 0; }),
             "tensorShape is %s; an empty weight is not allowed", ShapeText(dims).c_str());
  MP_REQUIRE(type == ACL_FLOAT16 || type == ACL_BF16 || type == ACL_INT8,
             "dataType is %d; FLOAT16 (1), BF16 (27) and INT8 (2) are allowed", static_cast<int>(type));
  const auto storage = StorageShape(PrivateLayout::kNz, dims, BlockOf(static_cast<DType>(type)));
  *size = static_cast<uint64_t>(std::accumulate(storage.begin(), storage.end(), int64_t{1}, std::multiplies<>()));
  return Ok();
}

uint32_t WeightRow() {
  static const uint32_t row = FindOp("TransMatmulWeight")->id;
  return row;
}

Outcome CheckWeight(const aclTensor* weight) {
  if (weight == nullptr) return IsNull("mmWeightRef is NULL");
  MP_REQUIRE(Alive(weight), "mmWeightRef is not a live aclTensor");
  const TensorView& view = weight->view;
  MP_REQUIRE(view.dtype == DType::kHalf || view.dtype == DType::kBfloat16 || view.dtype == DType::kInt8,
             "mmWeightRef is of type %s; FLOAT16, BF16 and INT8 are allowed", DTypeName(view.dtype));
  MP_REQUIRE(view.layout == PrivateLayout::kPlain,
             "mmWeightRef has the private format %d already; give one of format ND", view.format);
  MP_REQUIRE(view.rank >= 2 && view.rank <= 6 && view.elements() != 0,
             "mmWeightRef has shape %s; 2 to 6 dimensions and no empty one are allowed",
             ShapeText(view.shape()).c_str());
  return Ok();
}

}  // namespace

extern "C" ACL_FUNC_VISIBILITY aclnnStatus
aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor, const int dstFormat, const int additionalDtype,
                                         int64_t** dstShape, uint64_t* dstShapeSize, int* actualFormat) {
  return Guard("aclnnNpuFormatCastCalculateSizeAndFormat", [&]() -> Outcome {
    if (srcTensor == nullptr || dstShape == nullptr || dstShapeSize == nullptr || actualFormat == nullptr) {
      return IsNull("an argument is NULL");
    }
    MP_REQUIRE(Alive(srcTensor), "srcTensor is not a live aclTensor");
    std::vector<int64_t> shape;
    int format = 0;
    MP_RETURN_IF_ERROR(FormatCastShape(srcTensor->view, dstFormat, additionalDtype, &shape, &format));
    *dstShape = new int64_t[shape.size()];  // the caller releases it with delete[]
    std::copy(shape.begin(), shape.end(), *dstShape);
    *dstShapeSize = shape.size();
    *actualFormat = format;
    return Ok();
  });
}

extern "C" ACL_FUNC_VISIBILITY aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* tensorShape,
                                                                          uint64_t* weightTensorSize) {
  return Guard("aclnnCalculateMatmulWeightSize",
               [&]() -> Outcome { return WeightSize(tensorShape, ACL_FLOAT16, weightTensorSize); });
}

extern "C" ACL_FUNC_VISIBILITY aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* tensorShape,
                                                                            aclDataType dataType,
                                                                            uint64_t* weightTensorSize) {
  return Guard("aclnnCalculateMatmulWeightSizeV2",
               [&]() -> Outcome { return WeightSize(tensorShape, dataType, weightTensorSize); });
}

// The weight is read as it is and written as FRACTAL_NZ, which its aclTensor says from now on.
extern "C" ACL_FUNC_VISIBILITY aclnnStatus aclnnTransMatmulWeightGetWorkspaceSize(aclTensor* mmWeightRef,
                                                                                  uint64_t* workspaceSize,
                                                                                  aclOpExecutor** executor) {
  const aclnnStatus checked =
      Guard("aclnnTransMatmulWeightGetWorkspaceSize", [&]() -> Outcome { return CheckWeight(mmWeightRef); });
  if (checked != 0) return checked;
  aclTensor* laid_out = ObjectArena<aclTensor>::Get().Create();
  laid_out->view = mmWeightRef->view;
  laid_out->view.format = ACL_FORMAT_FRACTAL_NZ;
  laid_out->view.layout = PrivateLayout::kNz;
  laid_out->view.c0 = static_cast<uint8_t>(BlockOf(mmWeightRef->view.dtype));
  const uint64_t words[] = {Word(mmWeightRef), Word(laid_out)};
  const aclnnStatus prepared = millpondAclnnPrepare(WeightRow(), __func__, words, workspaceSize, executor);
  if (prepared == 0) mmWeightRef->view = laid_out->view;
  ObjectArena<aclTensor>::Get().Destroy(laid_out);
  return prepared;
}

extern "C" ACL_FUNC_VISIBILITY aclnnStatus aclnnTransMatmulWeight(void*, uint64_t, aclOpExecutor* executor,
                                                                  aclrtStream stream) {
  return millpondAclnnLaunch(WeightRow(), __builtin_return_address(0), executor, stream);
}

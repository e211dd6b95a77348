// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/op/tensor_desc.h"

#include <memory>

#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"

namespace millpond::acl {

Status CheckTensorDesc(const aclTensorDesc* desc, const char* parameter) {
  if (desc == nullptr) return NullPointer(parameter);
  MP_REQUIRE(IsAlive(desc), "%s %p is not a live tensor descriptor (destroyed twice, or not from aclCreateTensorDesc)",
             parameter, static_cast<const void*>(desc));
  return Ok();
}

namespace {

// An upper bound far above any real tensor: a garbage count is refused before it is believed.
constexpr size_t kMaxDims = 1024;

Status CheckDims(int num_dims, const int64_t* dims) {
  MP_REQUIRE(num_dims >= 0 && static_cast<size_t>(num_dims) <= kMaxDims, "numDims is %d; it must be between 0 and %zu",
             num_dims, kMaxDims);
  MP_REQUIRE(num_dims == 0 || dims != nullptr, "dims cannot be a NULL pointer while numDims is %d", num_dims);
  if (num_dims != 0 && !HostCanRead({dims})) return WildPointer("dims", dims);
  return Ok();
}

Status CopyRanges(size_t count, const int64_t (*from)[2], const char* count_name, const char* from_name,
                  std::vector<aclTensorDesc::Range>* to) {
  MP_REQUIRE(count <= kMaxDims, "%s is %zu; it must be at most %zu", count_name, count, kMaxDims);
  MP_REQUIRE(count == 0 || from != nullptr, "%s cannot be a NULL pointer while %s is %zu", from_name, count_name,
             count);
  if (count != 0 && !HostCanRead({from})) return WildPointer(from_name, from);
  to->clear();
  for (size_t i = 0; i < count; ++i) to->emplace_back(from[i][0], from[i][1]);
  return Ok();
}

template <class Body>
aclError WithDesc(const char* api, const aclTensorDesc* desc, Body body) {
  return Guard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckTensorDesc(desc));
    return body();
  });
}

// Getters without an error code answer `fallback` for a bad descriptor; the reason is in the recent message.
template <class Result, class Body>
Result Ask(const char* api, const aclTensorDesc* desc, Result fallback, Body body) {
  Result result = fallback;
  const aclError code = WithDesc(api, desc, [&]() -> Status { return body(&result); });
  return code == ACL_SUCCESS ? result : fallback;
}

Status CountElements(const aclTensorDesc& desc, size_t* count) {
  size_t product = 1;
  for (const int64_t dim : desc.dims) {
    MP_REQUIRE(dim >= 0, "dimension %lld is unknown, so the tensor has no size yet; set a shape first",
               static_cast<long long>(dim));
    MP_REQUIRE(!__builtin_mul_overflow(product, static_cast<size_t>(dim), &product),
               "the element count of the shape does not fit 64 bits");
  }
  *count = product;
  return Ok();
}

Status DimAt(const aclTensorDesc& desc, size_t index, int64_t* dim) {
  MP_REQUIRE(index < desc.dims.size(), "index is %zu; the tensor has %zu dimensions", index, desc.dims.size());
  *dim = desc.dims[index];
  return Ok();
}

aclError SetDims(const char* api, aclTensorDesc* desc, int num_dims, const int64_t* dims,
                 std::vector<int64_t> aclTensorDesc::*member) {
  return WithDesc(api, desc, [=]() -> Status {
    MP_NOT_NULL(dims);
    MP_RETURN_IF_ERROR(CheckDims(num_dims, dims));
    (desc->*member).assign(dims, dims + num_dims);
    return Ok();
  });
}

// The reference accepts a null descriptor in these three setters and does nothing. Doing nothing is not a success:
// refuse.
aclError SetFormat(const char* api, aclTensorDesc* desc, aclFormat format, aclFormat aclTensorDesc::*member) {
  return WithDesc(api, desc, [=]() -> Status {
    desc->*member = format;
    return Ok();
  });
}

}  // namespace
}  // namespace millpond::acl

using millpond::Ok;
using millpond::Status;
using namespace millpond::acl;  // NOLINT: the entry points below live outside every namespace

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims, aclFormat format) {
  aclTensorDesc* created = nullptr;
  Guard("aclCreateTensorDesc", [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckDims(numDims, dims));
    auto desc = std::make_unique<aclTensorDesc>();
    desc->data_type = dataType;
    desc->format = format;
    if (numDims > 0) desc->dims.assign(dims, dims + numDims);
    desc->storage_dims = desc->dims;
    created = desc.release();
    return Ok();
  });
  return created;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  if (desc == nullptr) return;
  WithDesc("aclDestroyTensorDesc", desc, [desc]() -> Status {
    MP_REQUIRE(!desc->of_dataset, "desc %p belongs to a dataset and ends with it (aclmdlDestroyDataset)",
               static_cast<const void*>(desc));
    return Destroy("desc", desc);
  });
}

// The documents call this one reserved.
aclError aclTransTensorDescFormat(const aclTensorDesc* srcDesc, aclFormat dstFormat, aclTensorDesc** dstDesc) {
  return Guard("aclTransTensorDescFormat", [=]() -> Status {
    MP_RETURN_IF_ERROR(CheckTensorDesc(srcDesc, "srcDesc"));
    MP_NOT_NULL(dstDesc);
    return millpond::Unsupported(
        millpond::Format("aclTransTensorDescFormat to format %d: the documents reserve this function; create a "
                         "descriptor with the target shape by aclCreateTensorDesc instead",
                         static_cast<int>(dstFormat)));
  });
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescType", desc, ACL_DT_UNDEFINED, [desc](aclDataType* type) {
    *type = desc->data_type;
    return Ok();
  });
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescFormat", desc, ACL_FORMAT_UNDEFINED, [desc](aclFormat* format) {
    *format = desc->format;
    return Ok();
  });
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescElementCount", desc, size_t{0},
             [desc](size_t* count) { return CountElements(*desc, count); });
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescSize", desc, size_t{0}, [desc](size_t* bytes) -> Status {
    size_t count = 0;
    MP_RETURN_IF_ERROR(CountElements(*desc, &count));
    MP_REQUIRE(!__builtin_mul_overflow(count, aclDataTypeSize(desc->data_type), bytes),
               "%zu elements of data type %d do not fit 64 bits of size", count, static_cast<int>(desc->data_type));
    return Ok();
  });
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescNumDims", desc, size_t{0}, [desc](size_t* count) {
    const bool unknown_rank = !desc->dims.empty() && desc->dims[0] == kUnknownRank;
    *count = unknown_rank ? ACL_UNKNOWN_RANK : desc->dims.size();
    return Ok();
  });
}

aclError aclGetTensorDescDimRange(const aclTensorDesc* desc, size_t index, size_t dimRangeNum, int64_t* dimRange) {
  return WithDesc("aclGetTensorDescDimRange", desc, [=]() -> Status {
    MP_NOT_NULL(dimRange);
    MP_REQUIRE(index < desc->shape_range.size(), "index is %zu; aclSetTensorShapeRange gave %zu ranges", index,
               desc->shape_range.size());
    MP_REQUIRE(dimRangeNum >= ACL_TENSOR_SHAPE_RANGE_NUM, "dimRangeNum is %zu; a range needs room for %d numbers",
               dimRangeNum, ACL_TENSOR_SHAPE_RANGE_NUM);
    dimRange[0] = desc->shape_range[index].first;
    dimRange[1] = desc->shape_range[index].second;
    return Ok();
  });
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  return Ask("aclGetTensorDescDim", desc, int64_t{-1}, [=](int64_t* dim) { return DimAt(*desc, index, dim); });
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  return WithDesc("aclGetTensorDescDimV2", desc, [=]() -> Status {
    MP_NOT_NULL(dimSize);
    return DimAt(*desc, index, dimSize);
  });
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return Ask("aclGetTensorDescName", desc, "", [desc](const char** name) {
    *name = desc->name.c_str();
    return Ok();
  });
}

void* aclGetTensorDescAddress(const aclTensorDesc* desc) {
  return Ask<void*>("aclGetTensorDescAddress", desc, nullptr, [desc](void** address) {
    *address = desc->address;
    return Ok();
  });
}

// A descriptor of ours stands alone; arrays of them come only from aclmdlCreateAndGetOpDesc.
aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc* desc, size_t index) {
  return Ask<aclTensorDesc*>("aclGetTensorDescByIndex", desc, nullptr, [=](aclTensorDesc** out) -> Status {
    MP_REQUIRE(index == 0, "index is %zu; this descriptor is not part of an array, only 0 exists", index);
    *out = desc;
    return Ok();
  });
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return SetFormat("aclSetTensorFormat", desc, format, &aclTensorDesc::storage_format);
}

aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) {
  return SetFormat("aclSetTensorStorageFormat", desc, format, &aclTensorDesc::storage_format);
}

aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format) {
  return SetFormat("aclSetTensorOriginFormat", desc, format, &aclTensorDesc::format);
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return SetDims("aclSetTensorShape", desc, numDims, dims, &aclTensorDesc::storage_dims);
}

aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return SetDims("aclSetTensorStorageShape", desc, numDims, dims, &aclTensorDesc::storage_dims);
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return SetDims("aclSetTensorOriginShape", desc, numDims, dims, &aclTensorDesc::dims);
}

aclError aclSetTensorShapeRange(aclTensorDesc* desc, size_t dimsCount,
                                int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
  return WithDesc("aclSetTensorShapeRange", desc,
                  [=] { return CopyRanges(dimsCount, dimsRange, "dimsCount", "dimsRange", &desc->shape_range); });
}

aclError aclSetTensorValueRange(aclTensorDesc* desc, size_t valueCount,
                                int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM]) {
  return WithDesc("aclSetTensorValueRange", desc,
                  [=] { return CopyRanges(valueCount, valueRange, "valueCount", "valueRange", &desc->value_range); });
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  WithDesc("aclSetTensorDescName", desc, [=]() -> Status {
    desc->name = name == nullptr ? "" : name;
    return Ok();
  });
}

aclError aclSetTensorDynamicInput(aclTensorDesc* desc, const char* dynamicInputName) {
  return WithDesc("aclSetTensorDynamicInput", desc, [=]() -> Status {
    MP_NOT_NULL(dynamicInputName);
    desc->dynamic_input = dynamicInputName;
    return Ok();
  });
}

// The bytes are copied now: the caller may free them at once.
aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return WithDesc("aclSetTensorConst", desc, [=]() -> Status {
    MP_NOT_NULL(dataBuffer);
    MP_REQUIRE(length > 0, "length is 0; a constant has at least one byte");
    const char* bytes = static_cast<const char*>(dataBuffer);
    desc->const_data.assign(bytes, bytes + length);
    return Ok();
  });
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  return WithDesc("aclSetTensorPlaceMent", desc, [=]() -> Status {
    MP_REQUIRE(memType >= ACL_MEMTYPE_DEVICE && memType <= ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT,
               "memType is %d; it must be 0 (device), 1 (host) or 2 (host, compile independent)",
               static_cast<int>(memType));
    desc->placement = memType;
    return Ok();
  });
}

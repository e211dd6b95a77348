// SPDX-License-Identifier: Apache-2.0
// Tensors of aclnn: a view of a storage, described by the client.
#include <algorithm>

#include "include/aclnn/acl_meta.h"
#include "src/api/aclnn/aclnn_guard.h"
#include "src/api/aclnn/objects.h"
#include "src/base/format.h"
#include "src/base/private_layout.h"
#include "src/device/memory/memory.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

namespace {

constexpr size_t kMaxRank = TensorView::kMaxRank;

// A storage's shape ends in C0; one that is only told as so many elements has the C0 of its format or its type.
void DescribeBlocks(aclTensor* tensor, aclFormat format) {
  TensorView& view = tensor->view;
  const int64_t told = BlockOfFormat(format);
  view.c0 = static_cast<uint8_t>(told != 0 ? told : BlockOf(view.dtype));
  const size_t rank = StorageShape(view.layout, view.shape(), 1).size();
  if (rank == 0 || tensor->storage_rank != rank) return;
  const int64_t last = tensor->storage_dims[rank - 1];
  if (last > 0 && last <= UINT8_MAX) view.c0 = static_cast<uint8_t>(last);
}

Status Describe(aclTensor* tensor, const int64_t* view_dims, uint64_t rank, aclDataType type, const int64_t* strides,
                int64_t offset, aclFormat format, const int64_t* storage_dims, uint64_t storage_rank, void* data) {
  MP_REQUIRE(view_dims != nullptr || rank == 0, "viewDims is NULL though viewDimsNum is %llu",
             static_cast<unsigned long long>(rank));
  MP_REQUIRE(storage_dims != nullptr || storage_rank == 0, "storageDims is NULL though storageDimsNum is %llu",
             static_cast<unsigned long long>(storage_rank));
  MP_REQUIRE(rank <= kMaxRank && storage_rank <= kMaxRank,
             "a tensor has at most %zu dimensions; viewDimsNum is %llu, storageDimsNum %llu", kMaxRank,
             static_cast<unsigned long long>(rank), static_cast<unsigned long long>(storage_rank));
  MP_REQUIRE(HostCanRead({rank != 0 ? view_dims : nullptr, rank != 0 ? strides : nullptr,
                          storage_rank != 0 ? storage_dims : nullptr}),
             "nothing can be read at viewDims (%p), stride (%p) or storageDims (%p); pass arrays in host memory",
             static_cast<const void*>(view_dims), static_cast<const void*>(strides),
             static_cast<const void*>(storage_dims));
  MP_REQUIRE(offset >= 0, "offset is %lld; it counts elements from the start of the storage and cannot be negative",
             static_cast<long long>(offset));
  TensorView& view = tensor->view;
  for (size_t i = 0; i < rank; ++i) {
    MP_REQUIRE(view_dims[i] >= 0, "viewDims[%zu] is %lld; a size cannot be negative", i,
               static_cast<long long>(view_dims[i]));
    MP_REQUIRE(strides == nullptr || strides[i] >= 0, "stride[%zu] is %lld; a stride cannot be negative", i,
               static_cast<long long>(strides == nullptr ? 0 : strides[i]));
  }
  view.data = data;
  view.offset = offset;
  view.dtype = static_cast<DType>(type);
  view.format = static_cast<int16_t>(format);
  view.rank = static_cast<uint8_t>(rank);
  std::copy_n(view_dims, rank, view.dims);
  if (strides != nullptr) {
    std::copy_n(strides, rank, view.strides);
  } else {
    view.SetContiguousStrides();
  }
  tensor->storage_rank = static_cast<uint8_t>(storage_rank);
  std::copy_n(storage_dims, storage_rank, tensor->storage_dims);
  view.layout = LayoutOfFormat(format);
  if (view.layout != PrivateLayout::kPlain) DescribeBlocks(tensor, format);
  return Ok();
}

constexpr char kNotAlive[] = "tensor is not a live aclTensor: it was never created or is destroyed already";

// The common part of the questions about a tensor.
template <class Body, class... Out>
aclnnStatus Ask(const char* api, const aclTensor* tensor, Body body, const Out*... out) {
  return Guard(api, [&]() -> Outcome {
    if (tensor == nullptr || ((out == nullptr) || ...)) return IsNull("an argument is NULL");
    MP_REQUIRE(Alive(tensor), kNotAlive);
    body();
    return Ok();
  });
}

// The caller releases the array with delete[].
void Hand(const int64_t* values, size_t count, int64_t** out_values, uint64_t* out_count) {
  *out_values = new int64_t[count];
  std::copy_n(values, count, *out_values);
  *out_count = count;
}

}  // namespace

static_assert(static_cast<int>(DType::kFloat) == ACL_FLOAT && static_cast<int>(DType::kBfloat16) == ACL_BF16 &&
              static_cast<int>(DType::kInt64) == ACL_INT64 && static_cast<int>(DType::kComplex128) == ACL_COMPLEX128 &&
              static_cast<int>(DType::kFloat4E1m2) == ACL_FLOAT4_E1M2);

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData) {
  return GuardedCreate<aclTensor>("aclCreateTensor", [&](aclTensor* tensor) {
    return Describe(tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum,
                    tensorData);
  });
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims,
                          uint64_t storageDimsNum, void* tensorDataAddr) {
  return Guard("aclInitTensor", [&]() -> Outcome {
    if (tensor == nullptr) return IsNull("tensor is NULL");
    MP_REQUIRE(Alive(tensor), kNotAlive);
    return Describe(tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum,
                    tensorDataAddr);
  });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return Guard("aclDestroyTensor", [&]() -> Status {
    MP_REQUIRE(tensor == nullptr || ObjectArena<aclTensor>::Get().Destroy(tensor), kNotAlive);
    return Ok();
  });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return Ask(
      "aclGetViewShape", tensor, [&] { Hand(tensor->view.dims, tensor->view.rank, viewDims, viewDimsNum); }, viewDims,
      viewDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  return Ask(
      "aclGetViewStrides", tensor, [&] { Hand(tensor->view.strides, tensor->view.rank, stridesValue, stridesNum); },
      stridesValue, stridesNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  return Ask(
      "aclGetStorageShape", tensor,
      [&] { Hand(tensor->storage_dims, tensor->storage_rank, storageDims, storageDimsNum); }, storageDims,
      storageDimsNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return Ask(
      "aclGetViewOffset", tensor, [&] { *offset = tensor->view.offset; }, offset);
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return Ask(
      "aclGetFormat", tensor, [&] { *format = static_cast<aclFormat>(tensor->view.format); }, format);
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return Ask(
      "aclGetDataType", tensor, [&] { *dataType = static_cast<aclDataType>(tensor->view.dtype); }, dataType);
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return Ask("aclSetRawTensorAddr", tensor, [&] { tensor->view.data = addr; });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return Ask(
      "aclGetRawTensorAddr", tensor, [&] { *addr = tensor->view.data; }, addr);
}

// SPDX-License-Identifier: Apache-2.0
//
// The tensors that ge::GeSession takes and gives: values, not handles, whose layout every caller has compiled in.
//   Tensor    shapes 0, formats 536, version 632, type 636, memory 640, reserved 712: 752 bytes. Moves, does not copy.
//   TensorV2  a Tensor whose version is 1, strides 752, offset 1000, reserved 1008: 1048 bytes
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_RUNTIME_TENSOR_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_RUNTIME_TENSOR_H_

#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "exe_graph/runtime/storage_format.h"
#include "exe_graph/runtime/storage_shape.h"
#include "exe_graph/runtime/stride.h"
#include "exe_graph/runtime/tensor_data.h"
#include "graph/error_codes.h"
#include "graph/types.h"
#include "utils/extern_math_util.h"

namespace gert {

using ConstTensorAddress = void* const;

enum TensorVersion : uint8_t {
  kTensorV1 = 0,
  kTensorV2 = 1,  // strides and an offset follow
};

class Tensor {
 public:
  Tensor() : Tensor(StorageShape(), StorageFormat(), ge::DT_UNDEFINED) {}
  Tensor(const StorageShape& storage_shape, const StorageFormat& storage_format, ge::DataType data_type)
      : storage_shape_(storage_shape),
        storage_format_(storage_format),
        version_(kTensorV1),
        reserved_{},
        data_type_(data_type),
        reserved_field_{} {}
  // The caller's memory, as many bytes as shape and type ask for.
  Tensor(const StorageShape& storage_shape, const StorageFormat& storage_format, const TensorPlacement placement,
         const ge::DataType data_type, TensorAddress addr)
      : Tensor(storage_shape, storage_format, placement, data_type, addr, nullptr) {}
  Tensor(const StorageShape& storage_shape, const StorageFormat& storage_format, const TensorPlacement placement,
         const ge::DataType data_type, TensorAddress addr, TensorAddrManager manager)
      : Tensor(storage_shape, storage_format, data_type) {
    const size_t bytes = static_cast<size_t>(ge::GetSizeInBytes(GetShapeSize(), data_type));
    tensor_data_ = TensorData(addr, manager, bytes, placement);
  }

  const StorageShape& GetShape() const { return storage_shape_; }
  StorageShape& GetShape() { return storage_shape_; }
  const Shape& GetStorageShape() const { return storage_shape_.GetStorageShape(); }
  Shape& MutableStorageShape() { return storage_shape_.MutableStorageShape(); }
  const Shape& GetOriginShape() const { return storage_shape_.GetOriginShape(); }
  Shape& MutableOriginShape() { return storage_shape_.MutableOriginShape(); }
  // Elements of the storage shape.
  int64_t GetShapeSize() const { return GetStorageShape().GetShapeSize(); }

  const StorageFormat& GetFormat() const { return storage_format_; }
  StorageFormat& MutableFormat() { return storage_format_; }
  ge::Format GetStorageFormat() const { return storage_format_.GetStorageFormat(); }
  void SetStorageFormat(const ge::Format storage_format) { storage_format_.SetStorageFormat(storage_format); }
  ge::Format GetOriginFormat() const { return storage_format_.GetOriginFormat(); }
  void SetOriginFormat(const ge::Format origin_format) { storage_format_.SetOriginFormat(origin_format); }
  ExpandDimsType GetExpandDimsType() const { return storage_format_.GetExpandDimsType(); }
  void SetExpandDimsType(const ExpandDimsType& expand_dims_type) {
    storage_format_.SetExpandDimsType(expand_dims_type);
  }

  ge::DataType GetDataType() const { return data_type_; }
  void SetDataType(const ge::DataType data_type) { data_type_ = data_type; }

  const TensorData& GetTensorData() const { return tensor_data_; }
  TensorData& MutableTensorData() { return tensor_data_; }
  void SetData(TensorData&& data) { tensor_data_ = std::move(data); }
  size_t GetSize() const { return tensor_data_.GetSize(); }
  void SetSize(const size_t size) { tensor_data_.SetSize(size); }
  TensorPlacement GetPlacement() const { return tensor_data_.GetPlacement(); }
  void SetPlacement(const TensorPlacement placement) { tensor_data_.SetPlacement(placement); }

  void* GetAddr() { return GetPlacement() == kFollowing ? static_cast<void*>(this + 1) : tensor_data_.GetAddr(); }
  const void* GetAddr() const {
    return GetPlacement() == kFollowing ? static_cast<const void*>(this + 1) : tensor_data_.GetAddr();
  }
  template <class T>
  const T* GetData() const {
    return static_cast<const T*>(GetAddr());
  }
  template <class T>
  auto GetData() -> T* {
    return static_cast<T*>(GetAddr());
  }

  TensorVersion GetVersion() const { return version_; }

  // A Tensor with its data right after it. `total_size`: bytes of both. Null when there is no memory, or no such size.
  static std::unique_ptr<uint8_t[]> CreateFollowing(const int64_t shape_size, const ge::DataType dt,
                                                    size_t& total_size) {
    return CreateFollowing(dt, static_cast<size_t>(ge::GetSizeInBytes(shape_size, dt)), total_size);
  }
  static std::unique_ptr<uint8_t[]> CreateFollowing(const ge::DataType dt, const size_t tensor_size,
                                                    size_t& total_size) {
    if (ge::AddOverflow(tensor_size, sizeof(Tensor), total_size)) return nullptr;
    std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[total_size]);
    if (memory == nullptr) return nullptr;
    Tensor* tensor = new (memory.get()) Tensor(StorageShape(), StorageFormat(), dt);
    tensor->tensor_data_ = TensorData(nullptr, nullptr, tensor_size, kFollowing);
    return memory;
  }

 private:
  friend class TensorV2;
  void SetVersion(const TensorVersion version) { version_ = version; }

  StorageShape storage_shape_;
  StorageFormat storage_format_;
  TensorVersion version_;
  uint8_t reserved_[3];
  ge::DataType data_type_;
  TensorData tensor_data_;
  uint8_t reserved_field_[40];
};
static_assert(std::is_standard_layout<Tensor>::value && sizeof(Tensor) == 752, "frozen");

class TensorV2 {
 public:
  TensorV2() : TensorV2(StorageShape(), StorageFormat(), ge::DT_UNDEFINED) {}
  TensorV2(const StorageShape& storage_shape, const StorageFormat& storage_format, ge::DataType data_type)
      : tensor_(storage_shape, storage_format, data_type), offset_(0), reserved_field_{} {
    tensor_.SetVersion(kTensorV2);
  }
  TensorV2(const StorageShape& storage_shape, const StorageFormat& storage_format, const TensorPlacement placement,
           const ge::DataType data_type, TensorAddress addr)
      : TensorV2(storage_shape, storage_format, placement, data_type, addr, nullptr) {}
  TensorV2(const StorageShape& storage_shape, const StorageFormat& storage_format, const TensorPlacement placement,
           const ge::DataType data_type, TensorAddress addr, TensorAddrManager manager)
      : TensorV2(storage_shape, storage_format, placement, data_type, addr, manager, Stride(), 0) {}
  TensorV2(const StorageShape& storage_shape, const StorageFormat& storage_format, const TensorPlacement placement,
           const ge::DataType data_type, TensorAddress addr, TensorAddrManager manager, const Stride& stride,
           const int64_t offset)
      : tensor_(storage_shape, storage_format, placement, data_type, addr, manager),
        stride_(stride),
        offset_(offset),
        reserved_field_{} {
    tensor_.SetVersion(kTensorV2);
  }

  const Stride& GetStride() const { return stride_; }
  Stride& MutableStride() { return stride_; }
  // Elements from the address to the first one.
  int64_t GetOffset() const { return offset_; }
  void SetOffset(const int64_t offset) { offset_ = offset; }

  // The rest as Tensor has it.
  const StorageShape& GetShape() const { return tensor_.GetShape(); }
  StorageShape& GetShape() { return tensor_.GetShape(); }
  const Shape& GetStorageShape() const { return tensor_.GetStorageShape(); }
  Shape& MutableStorageShape() { return tensor_.MutableStorageShape(); }
  const Shape& GetOriginShape() const { return tensor_.GetOriginShape(); }
  Shape& MutableOriginShape() { return tensor_.MutableOriginShape(); }
  int64_t GetShapeSize() const { return tensor_.GetShapeSize(); }
  const StorageFormat& GetFormat() const { return tensor_.GetFormat(); }
  StorageFormat& MutableFormat() { return tensor_.MutableFormat(); }
  ge::Format GetStorageFormat() const { return tensor_.GetStorageFormat(); }
  void SetStorageFormat(const ge::Format storage_format) { tensor_.SetStorageFormat(storage_format); }
  ge::Format GetOriginFormat() const { return tensor_.GetOriginFormat(); }
  void SetOriginFormat(const ge::Format origin_format) { tensor_.SetOriginFormat(origin_format); }
  ExpandDimsType GetExpandDimsType() const { return tensor_.GetExpandDimsType(); }
  void SetExpandDimsType(const ExpandDimsType& expand_dims_type) { tensor_.SetExpandDimsType(expand_dims_type); }
  ge::DataType GetDataType() const { return tensor_.GetDataType(); }
  void SetDataType(const ge::DataType data_type) { tensor_.SetDataType(data_type); }
  const TensorData& GetTensorData() const { return tensor_.GetTensorData(); }
  TensorData& MutableTensorData() { return tensor_.MutableTensorData(); }
  void SetData(TensorData&& data) { tensor_.SetData(std::move(data)); }
  size_t GetSize() const { return tensor_.GetSize(); }
  void SetSize(const size_t size) { tensor_.SetSize(size); }
  TensorPlacement GetPlacement() const { return tensor_.GetPlacement(); }
  void SetPlacement(const TensorPlacement placement) { tensor_.SetPlacement(placement); }
  TensorVersion GetVersion() const { return tensor_.GetVersion(); }

  // Data that follows does so after this larger object.
  void* GetAddr() { return GetPlacement() == kFollowing ? static_cast<void*>(this + 1) : tensor_.GetAddr(); }
  const void* GetAddr() const {
    return GetPlacement() == kFollowing ? static_cast<const void*>(this + 1) : tensor_.GetAddr();
  }
  template <class T>
  const T* GetData() const {
    return static_cast<const T*>(GetAddr());
  }
  template <class T>
  auto GetData() -> T* {
    return static_cast<T*>(GetAddr());
  }

  static std::unique_ptr<uint8_t[]> CreateFollowing(const int64_t shape_size, const ge::DataType dt,
                                                    size_t& total_size) {
    return CreateFollowing(dt, static_cast<size_t>(ge::GetSizeInBytes(shape_size, dt)), total_size);
  }
  static std::unique_ptr<uint8_t[]> CreateFollowing(const ge::DataType dt, const size_t tensor_size,
                                                    size_t& total_size) {
    if (ge::AddOverflow(tensor_size, sizeof(TensorV2), total_size)) return nullptr;
    std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[total_size]);
    if (memory == nullptr) return nullptr;
    TensorV2* tensor = new (memory.get()) TensorV2(StorageShape(), StorageFormat(), dt);
    tensor->MutableTensorData() = TensorData(nullptr, nullptr, tensor_size, kFollowing);
    return memory;
  }

 private:
  Tensor tensor_;
  Stride stride_;
  int64_t offset_;
  uint8_t reserved_field_[40];
};
static_assert(std::is_standard_layout<TensorV2>::value && sizeof(TensorV2) == 1048, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_RUNTIME_TENSOR_H_

// SPDX-License-Identifier: Apache-2.0
//
// A vector whose elements follow its header in one block of memory, and a vector of such vectors.
//   ContinuousVector        capacity 0, size 8, reserved 16, elements 56: 64 bytes with the first 8 of elements
//   ContinuousVectorVector  the same with the distance to each inner vector at 56
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_CONTINUOUS_VECTOR_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_CONTINUOUS_VECTOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "graph/error_codes.h"
#include "utils/extern_math_util.h"

namespace gert {

class ContinuousVector {
 public:
  // Room for `capacity` elements of type T; `total_size` is the bytes of it all. Null when there is no memory.
  template <typename T>
  static std::unique_ptr<uint8_t[]> Create(size_t capacity, size_t& total_size) {
    if (ge::MulOverflow(capacity, sizeof(T), total_size)) return nullptr;
    if (ge::AddOverflow(total_size, sizeof(ContinuousVector), total_size)) return nullptr;
    std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[total_size]);
    if (memory != nullptr) reinterpret_cast<ContinuousVector*>(memory.get())->Init(capacity);
    return memory;
  }
  template <typename T>
  static std::unique_ptr<uint8_t[]> Create(const size_t capacity) {
    size_t total_size = 0;
    return Create<T>(capacity, total_size);
  }
  void Init(const size_t capacity) {
    capacity_ = capacity;
    size_ = 0;
    std::memset(reserved_, 0, sizeof(reserved_));
  }

  size_t GetCapacity() const { return capacity_; }
  size_t GetSize() const { return size_; }
  ge::graphStatus SetSize(const size_t size) {
    if (size > capacity_) return ge::GRAPH_PARAM_OUT_OF_RANGE;
    size_ = size;
    return ge::GRAPH_SUCCESS;
  }
  const void* GetData() const { return elements; }
  void* MutableData() { return elements; }

 private:
  size_t capacity_;
  size_t size_;
  uint8_t reserved_[40];
  uint8_t elements[8];
};
static_assert(std::is_standard_layout<ContinuousVector>::value && sizeof(ContinuousVector) == 64, "frozen");

// The same with the type of its elements.
template <typename T>
class TypedContinuousVector : private ContinuousVector {
 public:
  using ContinuousVector::GetCapacity;
  using ContinuousVector::GetSize;
  using ContinuousVector::SetSize;
  T* MutableData() { return static_cast<T*>(ContinuousVector::MutableData()); }
  const T* GetData() const { return static_cast<const T*>(ContinuousVector::GetData()); }
};

// Lies in memory that the caller sized: GetOverHeadLength(capacity) and then the inner vectors.
class ContinuousVectorVector {
 public:
  void Init(const size_t capacity) {
    capacity_ = capacity;
    std::memset(reserved_, 0, sizeof(reserved_));
    if (capacity_ != 0) Offsets()[0] = GetOverHeadLength(capacity_);
  }
  // The next inner vector, full of elements to be written; null when there are `capacity` already.
  template <typename T>
  ContinuousVector* Add(size_t inner_vector_capacity) {
    if (size_ >= capacity_) return nullptr;
    size_t length = 0;
    if (ge::MulOverflow(inner_vector_capacity, sizeof(T), length)) return nullptr;
    if (ge::AddOverflow(length, sizeof(ContinuousVector), length)) return nullptr;
    const size_t offset = Offsets()[size_];
    auto* inner = reinterpret_cast<ContinuousVector*>(reinterpret_cast<uint8_t*>(this) + offset);
    inner->Init(inner_vector_capacity);
    static_cast<void>(inner->SetSize(inner_vector_capacity));
    if (++size_ < capacity_) Offsets()[size_] = offset + length;
    return inner;
  }
  const ContinuousVector* Get(const size_t index) const {
    const size_t* offsets = offset_;
    return reinterpret_cast<const ContinuousVector*>(reinterpret_cast<const uint8_t*>(this) + offsets[index]);
  }
  size_t GetSize() const { return size_; }

  static size_t GetOverHeadLength(const size_t capacity) {
    return capacity == 0 ? sizeof(ContinuousVectorVector)
                         : sizeof(ContinuousVectorVector) + (capacity - 1) * sizeof(size_t);
  }

 private:
  size_t* Offsets() { return offset_; }

  size_t capacity_ = 0;
  size_t size_ = 0;
  uint8_t reserved_[40];
  size_t offset_[1];
};
static_assert(std::is_standard_layout<ContinuousVectorVector>::value && sizeof(ContinuousVectorVector) == 64, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_CONTINUOUS_VECTOR_H_

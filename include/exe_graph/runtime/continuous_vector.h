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
    if (!BytesFor(capacity, sizeof(T), &total_size)) return nullptr;
    auto* const bytes = new (std::nothrow) uint8_t[total_size];
    if (bytes != nullptr) reinterpret_cast<ContinuousVector*>(bytes)->Init(capacity);
    return std::unique_ptr<uint8_t[]>(bytes);
  }
  template <typename T>
  static std::unique_ptr<uint8_t[]> Create(size_t capacity) {
    size_t unused = 0;
    return Create<T>(capacity, unused);
  }
  // Its memory is as it was found: nothing may be left to a constructor.
  void Init(size_t capacity) {
    room_ = capacity;
    used_ = 0;
    std::memset(&reserved_, 0, sizeof(reserved_));
  }

  size_t GetCapacity() const { return room_; }
  size_t GetSize() const { return used_; }
  ge::graphStatus SetSize(size_t size) {
    const bool fits = size <= room_;
    if (fits) used_ = size;
    return fits ? ge::GRAPH_SUCCESS : ge::GRAPH_PARAM_OUT_OF_RANGE;
  }
  void* MutableData() { return first_; }
  const void* GetData() const { return first_; }

 private:
  friend class ContinuousVectorVector;

  // The header and `count` elements of `each` bytes; false when that is more than there are numbers for.
  static bool BytesFor(size_t count, size_t each, size_t* bytes) {
    return !ge::MulOverflow(count, each, *bytes) && !ge::AddOverflow(*bytes, sizeof(ContinuousVector), *bytes);
  }

  size_t room_;
  size_t used_;
  uint8_t reserved_[40];
  uint8_t first_[8];  // and what follows
};
static_assert(std::is_standard_layout<ContinuousVector>::value && sizeof(ContinuousVector) == 64, "frozen");

// The same with the type of its elements.
template <typename T>
class TypedContinuousVector : private ContinuousVector {
 public:
  using ContinuousVector::GetCapacity;
  using ContinuousVector::GetSize;
  using ContinuousVector::SetSize;
  const T* GetData() const { return static_cast<const T*>(ContinuousVector::GetData()); }
  T* MutableData() { return static_cast<T*>(ContinuousVector::MutableData()); }
};

// Lies in memory that the caller sized: GetOverHeadLength(capacity) and then the inner vectors.
class ContinuousVectorVector {
 public:
  void Init(size_t capacity) {
    room_ = capacity;
    std::memset(&reserved_, 0, sizeof(reserved_));
    if (room_ > 0) Distance(0) = GetOverHeadLength(room_);
  }
  // The next inner vector, full of elements to be written; null when there are `capacity` already.
  template <typename T>
  ContinuousVector* Add(size_t elements) {
    size_t bytes = 0;
    if (used_ == room_ || !ContinuousVector::BytesFor(elements, sizeof(T), &bytes)) return nullptr;
    const size_t distance = Distance(used_++);
    if (used_ != room_) Distance(used_) = distance + bytes;
    auto* const added = reinterpret_cast<ContinuousVector*>(reinterpret_cast<uint8_t*>(this) + distance);
    added->Init(elements);
    added->used_ = elements;
    return added;
  }
  const ContinuousVector* Get(size_t index) const {
    const size_t* const distances = distances_;
    return reinterpret_cast<const ContinuousVector*>(reinterpret_cast<const uint8_t*>(this) + distances[index]);
  }
  size_t GetSize() const { return used_; }

  // The header with a distance for each of `capacity` vectors, of which it has one already.
  static size_t GetOverHeadLength(size_t capacity) {
    const size_t more = capacity > 1 ? capacity - 1 : 0;
    return sizeof(ContinuousVectorVector) + more * sizeof(size_t);
  }

 private:
  size_t& Distance(size_t index) {
    size_t* const distances = distances_;
    return distances[index];
  }

  size_t room_ = 0;
  size_t used_ = 0;
  uint8_t reserved_[40];
  size_t distances_[1];  // and what follows
};
static_assert(std::is_standard_layout<ContinuousVectorVector>::value && sizeof(ContinuousVectorVector) == 64, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_CONTINUOUS_VECTOR_H_

// SPDX-License-Identifier: Apache-2.0
//
// The distance between neighbours in each dimension, in elements. Layout as gert::Shape: 248 bytes.
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STRIDE_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STRIDE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

namespace gert {

struct Stride {
 public:
  static constexpr size_t kMaxDimNum = 25;
  static constexpr int64_t kInvalidStrideValue = std::numeric_limits<int64_t>::min();

  Stride() : dim_num_(0), strides_{}, reserved_{} {}
  // More than kMaxDimNum give none.
  Stride(const std::initializer_list<int64_t>& args) : Stride() {
    if (args.size() > kMaxDimNum) return;
    for (const int64_t stride : args) strides_[dim_num_++] = stride;
  }
  Stride(const Stride& other) : Stride() { *this = other; }
  Stride& operator=(const Stride& other) {
    dim_num_ = other.dim_num_;
    std::memmove(strides_, other.strides_, sizeof(strides_));
    return *this;
  }

  bool operator==(const Stride& rht) const {
    if (dim_num_ != rht.dim_num_) return false;
    for (size_t i = 0; i < dim_num_; ++i) {
      if (strides_[i] != rht.strides_[i]) return false;
    }
    return true;
  }
  bool operator!=(const Stride& rht) const { return !(*this == rht); }

  size_t GetDimNum() const { return dim_num_; }
  void SetDimNum(const size_t dim_num) { dim_num_ = dim_num; }

  // kInvalidStrideValue past kMaxDimNum. The operators do not check.
  int64_t GetStride(const size_t idx) const { return idx < kMaxDimNum ? strides_[idx] : kInvalidStrideValue; }
  const int64_t& operator[](const size_t idx) const { return strides_[idx]; }
  int64_t& operator[](const size_t idx) { return strides_[idx]; }
  // The count grows to `idx` at most, as that of gert::Shape.
  void SetStride(size_t idx, const int64_t stride) {
    if (idx >= kMaxDimNum) return;
    strides_[idx] = stride;
    if (dim_num_ < idx) dim_num_ = idx;
  }
  Stride& AppendStride(const int64_t value) {
    if (dim_num_ < kMaxDimNum) strides_[dim_num_++] = value;
    return *this;
  }

 private:
  size_t dim_num_;
  int64_t strides_[kMaxDimNum];
  uint8_t reserved_[40];
};
static_assert(std::is_standard_layout<Stride>::value && sizeof(Stride) == 248, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STRIDE_H_

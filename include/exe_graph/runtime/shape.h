// SPDX-License-Identifier: Apache-2.0
//
// A shape by value, as kernels get it. Layout: count at 0, 25 dimensions at 8, 40 reserved bytes at 208: 248 bytes.
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_SHAPE_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_SHAPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iostream>  // programs count on its coming along
#include <limits>
#include <type_traits>
#include <vector>

#include "utils/extern_math_util.h"

namespace gert {

struct Shape {
 public:
  static constexpr size_t kMaxDimNum = 25;
  static constexpr int64_t kInvalidDimValue = std::numeric_limits<int64_t>::min();

  Shape() : dim_num_(0), dims_{}, reserved_{} {}
  // More than kMaxDimNum dimensions give a scalar.
  Shape(const std::initializer_list<int64_t>& args) : Shape() {
    if (args.size() > kMaxDimNum) return;
    for (const int64_t dim : args) dims_[dim_num_++] = dim;
  }
  // Written out because it decides how a Shape is passed: by reference to a copy, not on the stack.
  Shape(const Shape& other) : Shape() { *this = other; }
  Shape& operator=(const Shape& other) {
    dim_num_ = other.dim_num_;
    std::memmove(dims_, other.dims_, sizeof(dims_));
    return *this;
  }

  bool operator==(const Shape& rht) const {
    if (dim_num_ != rht.dim_num_) return false;
    for (size_t i = 0; i < dim_num_; ++i) {
      if (dims_[i] != rht.dims_[i]) return false;
    }
    return true;
  }
  bool operator!=(const Shape& rht) const { return !(*this == rht); }

  // The product, 1 for a scalar; kInvalidDimValue when it does not fit.
  int64_t GetShapeSize() const {
    int64_t product = 1;
    for (size_t i = 0; i < dim_num_; ++i) {
      if (ge::MulOverflow(product, dims_[i], product)) return kInvalidDimValue;
    }
    return product;
  }

  bool IsScalar() const { return dim_num_ == 0; }
  void SetScalar() { dim_num_ = 0; }
  size_t GetDimNum() const { return dim_num_; }
  void SetDimNum(const size_t dim_num) { dim_num_ = dim_num; }

  // kInvalidDimValue past kMaxDimNum. The operators do not check.
  int64_t GetDim(const size_t idx) const { return idx < kMaxDimNum ? dims_[idx] : kInvalidDimValue; }
  const int64_t& operator[](const size_t idx) const { return dims_[idx]; }
  int64_t& operator[](const size_t idx) { return dims_[idx]; }
  // Past kMaxDimNum nothing happens. As in CANN a shape with fewer than `idx` dimensions gets that many, not one more:
  // call SetDimNum or AppendDim to make room.
  void SetDim(size_t idx, const int64_t dim_value) {
    if (idx >= kMaxDimNum) return;
    dims_[idx] = dim_value;
    if (dim_num_ < idx) dim_num_ = idx;
  }
  // Does nothing when there are kMaxDimNum.
  Shape& AppendDim(const int64_t value) {
    if (dim_num_ < kMaxDimNum) dims_[dim_num_++] = value;
    return *this;
  }

 private:
  size_t dim_num_;
  int64_t dims_[kMaxDimNum];
  uint8_t reserved_[40];
};
static_assert(std::is_standard_layout<Shape>::value && sizeof(Shape) == 248, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_SHAPE_H_

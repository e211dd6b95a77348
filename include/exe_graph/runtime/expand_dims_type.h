// SPDX-License-Identifier: Apache-2.0
//
// Which dimensions of a shape were put in as 1: a digit per dimension of the result, from the left, '1' for one put in.
// "0110" makes [2,2] [2,1,1,2]; "100" makes [2,3] [1,2,3]; "1000" does not fit [2,3], which lacks a dimension. 48
// bytes.
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_EXPAND_DIMS_TYPE_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_EXPAND_DIMS_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "exe_graph/runtime/shape.h"
#include "graph/error_codes.h"
#include "graph/types.h"

namespace gert {

class ExpandDimsType {
 public:
  using AxisIndex = uint64_t;
  static constexpr size_t kMaxExpandSize = 56;

  ExpandDimsType() : size_(0), mask_(0), reserved_{} {}
  // No rule when it is null or longer than kMaxExpandSize.
  explicit ExpandDimsType(const ge::char_t* const expand_dims_type) : ExpandDimsType() {
    if (expand_dims_type == nullptr || std::strlen(expand_dims_type) > kMaxExpandSize) return;
    size_ = std::strlen(expand_dims_type) & 0xff;
    for (AxisIndex i = 0; i < size_; ++i) {
      if (expand_dims_type[i] == '1') SetExpandIndex(i);
    }
  }
  // The length in the top 8 bits, below them bit i for the digit at place i: "1100" is 0x0400000000000003.
  explicit ExpandDimsType(const int64_t reshape_type_mask) : ExpandDimsType() {
    const uint64_t bits = static_cast<uint64_t>(reshape_type_mask);
    if ((bits >> kMaxExpandSize) > kMaxExpandSize) return;
    size_ = static_cast<uint8_t>(bits >> kMaxExpandSize);
    mask_ = bits & kAllPlaces;
  }

  bool operator==(const ExpandDimsType& other) const { return size_ == other.size_ && mask_ == other.mask_; }

  // Dimensions of the result.
  AxisIndex GetFullSize() const { return size_; }
  void SetExpandIndex(const AxisIndex index) {
    if (index < kMaxExpandSize) mask_ = (mask_ | (1ULL << index)) & kAllPlaces;
  }
  bool IsExpandIndex(const AxisIndex index) const { return index < kMaxExpandSize && ((mask_ >> index) & 1) != 0; }

  // A shape that already has all dimensions stays as it is; those past the rule's end are kept.
  ge::graphStatus Expand(const Shape& shape, Shape& out_shape) const {
    Shape expanded(shape);
    const ge::graphStatus status = Expand(expanded);
    out_shape = expanded;
    return status;
  }
  ge::graphStatus Expand(Shape& shape) const {
    if (shape.GetDimNum() == size_) return ge::GRAPH_SUCCESS;
    Shape expanded;
    size_t taken = 0;
    for (AxisIndex i = 0; i < size_; ++i) {
      if (!IsExpandIndex(i) && taken == shape.GetDimNum()) return ge::GRAPH_FAILED;
      static_cast<void>(expanded.AppendDim(IsExpandIndex(i) ? 1 : shape.GetDim(taken++)));
    }
    while (taken < shape.GetDimNum()) static_cast<void>(expanded.AppendDim(shape.GetDim(taken++)));
    shape = expanded;
    return ge::GRAPH_SUCCESS;
  }

 private:
  static constexpr uint64_t kAllPlaces = (1ULL << kMaxExpandSize) - 1;

  uint64_t size_ : 8;
  uint64_t mask_ : kMaxExpandSize;
  uint8_t reserved_[40];
};
static_assert(sizeof(ExpandDimsType) == 48, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_EXPAND_DIMS_TYPE_H_

// SPDX-License-Identifier: Apache-2.0
// A strided view of a storage, at the client's address. Plain data: copied into every launched operation.
#ifndef MILLPOND_SRC_BASE_TENSOR_VIEW_H_
#define MILLPOND_SRC_BASE_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "src/base/dtype.h"

namespace millpond {

// How the elements lie in a storage of a private format (src/base/private_layout.h); kPlain: by the view's strides.
enum class PrivateLayout : uint8_t { kPlain, kNz, kNc1hwc0, kFractalZ, kNdc1hwc0, kFractalZ3d };

struct TensorView {
  static constexpr size_t kMaxRank = 8;  // the NPU's own limit

  void* data = nullptr;  // start of the storage
  int64_t offset = 0;    // of the first element, in elements
  DType dtype = DType::kUndefined;
  uint8_t rank = 0;
  int16_t format = 2;
  PrivateLayout layout = PrivateLayout::kPlain;
  uint8_t c0 = 0;  // of a private layout: the elements of a storage's last dimension
  int64_t dims[kMaxRank];
  int64_t strides[kMaxRank];  // in elements

  std::span<const int64_t> shape() const { return {dims, rank}; }

  int64_t elements() const {
    int64_t count = 1;
    for (size_t i = 0; i < rank; ++i) count *= dims[i];
    return count;
  }
  // Elements spanned by the view, from the first to one past the last; 0 for an empty view. Strides are not negative.
  int64_t extent() const {
    int64_t last = 0;
    for (size_t i = 0; i < rank; ++i) {
      if (dims[i] == 0) return 0;
      last += (dims[i] - 1) * strides[i];
    }
    return last + 1;
  }
  // Bytes of `count` elements, rounded up for types smaller than a byte.
  size_t BytesOf(int64_t count) const {
    return (static_cast<size_t>(count) * static_cast<size_t>(BitsOf(dtype)) + 7) / 8;
  }
  const void* first() const { return static_cast<const std::byte*>(data) + BytesOf(offset); }
  void SetContiguousStrides() {
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
      strides[i] = stride;
      stride *= dims[i];
    }
  }
};

// "[2, 3]", for messages.
std::string ShapeText(std::span<const int64_t> dims);

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_TENSOR_VIEW_H_

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/api/graph/access.h"
#include "src/api/graph/impl.h"

namespace ge {

Shape::Shape() : impl_(std::make_shared<ShapeImpl>()) {}

Shape::Shape(const std::vector<int64_t>& dims) : impl_(std::make_shared<ShapeImpl>()) {
  const bool unknown_rank = std::find(dims.begin(), dims.end(), UNKNOWN_DIM_NUM) != dims.end();
  impl_->dims = unknown_rank ? UNKNOWN_RANK : dims;
}

size_t Shape::GetDimNum() const {
  const auto& dims = DimsOf(*this);
  return std::find(dims.begin(), dims.end(), UNKNOWN_DIM_NUM) != dims.end() ? 0 : dims.size();
}

int64_t Shape::GetDim(size_t idx) const {
  const auto& dims = DimsOf(*this);
  return idx < dims.size() ? dims[idx] : 0;
}

graphStatus Shape::SetDim(size_t idx, int64_t value) {
  return Answer("ge::Shape::SetDim", [&]() -> Status {
    const size_t rank = DimsOf(*this).size();
    MP_REQUIRE(idx < rank, "dimension %zu of a shape that has %zu; make the shape with all its dimensions", idx, rank);
    impl_->dims[idx] = value;
    return Status();
  });
}

std::vector<int64_t> Shape::GetDims() const { return DimsOf(*this); }

int64_t Shape::GetShapeSize() const {
  const auto& dims = DimsOf(*this);
  if (dims.empty()) return 0;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == UNKNOWN_DIM || dim == UNKNOWN_DIM_NUM; })) {
    return -1;
  }
  int64_t product = 1;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product)) return 0;
  }
  return product;
}

}  // namespace ge

namespace millpond::api {

const ir::Dims& DimsOf(const ge::Shape& shape) { return Held(shape, &ge::ShapeImpl::dims); }

}  // namespace millpond::api

// SPDX-License-Identifier: Apache-2.0
#include "src/base/private_layout.h"

#include <numeric>
#include <utility>

#include "src/base/format.h"

namespace millpond {
namespace {

// Formats by CANN's numbers.
constexpr int kFormatNc1hwc0 = 3;
constexpr int kFormatFractalZ = 4;
constexpr int kFormatNz = 29;
constexpr int kFormatNdc1hwc0 = 32;
constexpr int kFormatFractalZ3d = 33;
constexpr int kFormatNzC0x16 = 50;
constexpr int kFormatNzC0x32 = 51;
constexpr int kFormatNzC0x2 = 52;
constexpr int kFormatNzC0x4 = 53;
constexpr int kFormatNzC0x8 = 54;

int64_t Blocks(int64_t count, int64_t block) { return (count + block - 1) / block; }

bool IsContiguous(std::span<const int64_t> dims, const int64_t* strides) {
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

}  // namespace

PrivateLayout LayoutOfFormat(int format) {
  switch (format) {
    case kFormatNc1hwc0:
      return PrivateLayout::kNc1hwc0;
    case kFormatFractalZ:
      return PrivateLayout::kFractalZ;
    case kFormatNdc1hwc0:
      return PrivateLayout::kNdc1hwc0;
    case kFormatFractalZ3d:
      return PrivateLayout::kFractalZ3d;
    case kFormatNz:
    case kFormatNzC0x16:
    case kFormatNzC0x32:
    case kFormatNzC0x2:
    case kFormatNzC0x4:
    case kFormatNzC0x8:
      return PrivateLayout::kNz;
    default:
      return PrivateLayout::kPlain;
  }
}

int64_t BlockOfFormat(int format) {
  switch (format) {
    case kFormatNzC0x16:
      return 16;
    case kFormatNzC0x32:
      return 32;
    case kFormatNzC0x2:
      return 2;
    case kFormatNzC0x4:
      return 4;
    case kFormatNzC0x8:
      return 8;
    default:
      return 0;
  }
}

std::vector<int64_t> StorageShape(PrivateLayout layout, std::span<const int64_t> dims, int64_t c0) {
  const size_t rank = dims.size();
  if (c0 <= 0) return {};
  switch (layout) {
    case PrivateLayout::kNz: {
      if (rank < 2) return {};
      std::vector<int64_t> shape(dims.begin(), dims.end() - 2);
      shape.insert(shape.end(), {Blocks(dims[rank - 1], c0), Blocks(dims[rank - 2], kFractal), kFractal, c0});
      return shape;
    }
    case PrivateLayout::kNc1hwc0:
      if (rank != 4) return {};
      return {dims[0], Blocks(dims[1], c0), dims[2], dims[3], c0};
    case PrivateLayout::kNdc1hwc0:
      if (rank != 5) return {};
      return {dims[0], dims[2], Blocks(dims[1], c0), dims[3], dims[4], c0};
    case PrivateLayout::kFractalZ:
      if (rank != 4) return {};
      return {Blocks(dims[1], c0) * dims[2] * dims[3], Blocks(dims[0], kFractal), kFractal, c0};
    case PrivateLayout::kFractalZ3d:
      if (rank != 5) return {};
      return {dims[2] * Blocks(dims[1], c0) * dims[3] * dims[4], Blocks(dims[0], kFractal), kFractal, c0};
    case PrivateLayout::kPlain:
      break;
  }
  return {dims.begin(), dims.end()};
}

Status LaidOutShape(const TensorView& view, std::vector<int64_t>* out_dims, bool* out_transposed) {
  out_dims->assign(view.dims, view.dims + view.rank);
  *out_transposed = false;
  if (!IsContiguous(*out_dims, view.strides)) {
    std::vector<int64_t> strides(view.strides, view.strides + view.rank);
    if (view.rank >= 2) {
      std::swap((*out_dims)[view.rank - 1U], (*out_dims)[view.rank - 2U]);
      std::swap(strides[view.rank - 1U], strides[view.rank - 2U]);
    }
    MP_REQUIRE(view.layout == PrivateLayout::kNz && IsContiguous(*out_dims, strides.data()),
               "a tensor of private format %d is part of another (shape %s); only whole ones, or for FRACTAL_NZ "
               "transposed ones, can be used: convert it to ND first",
               view.format, ShapeText(view.shape()).c_str());
    *out_transposed = true;
  }
  MP_REQUIRE(view.offset == 0,
             "a tensor of private format %d begins at element %lld of its storage; only whole ones "
             "can be used: convert it to ND first",
             view.format, static_cast<long long>(view.offset));
  MP_REQUIRE(!StorageShape(view.layout, *out_dims, view.c0).empty(),
             "a tensor of shape %s cannot have the private format %d", ShapeText(view.shape()).c_str(), view.format);
  return Ok();
}

int64_t StorageElements(const TensorView& view) {
  std::vector<int64_t> dims;
  bool transposed = false;
  if (!LaidOutShape(view, &dims, &transposed).ok()) return 0;
  const std::vector<int64_t> shape = StorageShape(view.layout, dims, view.c0);
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace millpond

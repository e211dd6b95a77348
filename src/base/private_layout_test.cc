// SPDX-License-Identifier: Apache-2.0
#include "src/base/private_layout.h"

#include <gtest/gtest.h>

namespace millpond {
namespace {

using Shape = std::vector<int64_t>;

TensorView View(const Shape& dims, PrivateLayout layout, uint8_t c0) {
  TensorView view;
  view.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  view.SetContiguousStrides();
  view.layout = layout;
  view.c0 = c0;
  return view;
}

TEST(PrivateLayout, StoragesHaveWholeBlocks) {
  EXPECT_EQ(StorageShape(PrivateLayout::kNz, Shape{510, 270}, 32), (Shape{9, 32, 16, 32}));
  EXPECT_EQ(StorageShape(PrivateLayout::kNz, Shape{3, 16, 16}, 16), (Shape{3, 1, 1, 16, 16}));
  EXPECT_EQ(StorageShape(PrivateLayout::kNc1hwc0, Shape{2, 17, 5, 6}, 16), (Shape{2, 2, 5, 6, 16}));
  EXPECT_EQ(StorageShape(PrivateLayout::kNdc1hwc0, Shape{2, 17, 3, 5, 6}, 16), (Shape{2, 3, 2, 5, 6, 16}));
  EXPECT_EQ(StorageShape(PrivateLayout::kFractalZ, Shape{20, 3, 7, 7}, 16), (Shape{49, 2, 16, 16}));
  EXPECT_EQ(StorageShape(PrivateLayout::kFractalZ3d, Shape{20, 17, 3, 7, 7}, 16), (Shape{294, 2, 16, 16}));
}

TEST(PrivateLayout, ARankThatALayoutDoesNotHaveGivesNothing) {
  EXPECT_TRUE(StorageShape(PrivateLayout::kNz, Shape{5}, 16).empty());
  EXPECT_TRUE(StorageShape(PrivateLayout::kNc1hwc0, Shape{5, 5}, 16).empty());
  EXPECT_TRUE(StorageShape(PrivateLayout::kNz, Shape{5, 5}, 0).empty());
}

TEST(PrivateLayout, ATransposedViewIsOfTheTensorBefore) {
  TensorView view = View({5, 20}, PrivateLayout::kNz, 16);
  std::swap(view.dims[0], view.dims[1]);
  std::swap(view.strides[0], view.strides[1]);
  Shape dims;
  bool transposed = false;
  ASSERT_TRUE(LaidOutShape(view, &dims, &transposed).ok());
  EXPECT_EQ(dims, (Shape{5, 20}));
  EXPECT_TRUE(transposed);
  EXPECT_EQ(StorageElements(view), 2 * 1 * 16 * 16);
}

TEST(PrivateLayout, APartIsRefused) {
  Shape dims;
  bool transposed = false;
  TensorView part = View({5, 20}, PrivateLayout::kNz, 16);
  part.strides[0] = 40;
  EXPECT_FALSE(LaidOutShape(part, &dims, &transposed).ok());
  TensorView later = View({5, 20}, PrivateLayout::kNz, 16);
  later.offset = 3;
  EXPECT_FALSE(LaidOutShape(later, &dims, &transposed).ok());
  TensorView image = View({2, 3, 4, 5}, PrivateLayout::kNc1hwc0, 16);
  std::swap(image.dims[2], image.dims[3]);
  std::swap(image.strides[2], image.strides[3]);
  EXPECT_FALSE(LaidOutShape(image, &dims, &transposed).ok());
}

TEST(PrivateLayout, ABlockIs32Bytes) {
  EXPECT_EQ(BlockOf(DType::kHalf), 16);
  EXPECT_EQ(BlockOf(DType::kInt8), 32);
  EXPECT_EQ(BlockOf(DType::kFloat), 8);
  EXPECT_EQ(BlockOf(DType::kInt4), 64);
  EXPECT_EQ(BlockOfFormat(50), 16);
  EXPECT_EQ(BlockOfFormat(29), 0);
}

}  // namespace
}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
// gert's values: what GeSession takes and gives.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/runtime_tensor.h"

namespace {

TEST(GertShape, AnswersForItsDimensions) {
  gert::Shape shape{2, 3};
  EXPECT_EQ(shape.GetDimNum(), 2u);
  EXPECT_EQ(shape.GetShapeSize(), 6);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.AppendDim(4).GetDim(2), 4);
  EXPECT_EQ(shape, (gert::Shape{2, 3, 4}));
  EXPECT_NE(shape, (gert::Shape{2, 3}));
  shape.SetScalar();
  EXPECT_TRUE(shape.IsScalar());
  EXPECT_EQ(shape.GetShapeSize(), 1);
}

TEST(GertShape, KeepsItsBounds) {
  gert::Shape shape;
  for (int i = 0; i < 30; ++i) shape.AppendDim(i);
  EXPECT_EQ(shape.GetDimNum(), gert::Shape::kMaxDimNum + 0);
  EXPECT_EQ(shape.GetDim(25), gert::Shape::kInvalidDimValue + 0);
  shape.SetDim(25, 1);
  EXPECT_EQ(shape.GetDimNum(), 25u);
  EXPECT_EQ((gert::Shape{int64_t{1} << 40, int64_t{1} << 40}.GetShapeSize()), std::numeric_limits<int64_t>::min());
  const gert::Shape too_many{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_TRUE(too_many.IsScalar());
}

TEST(GertShape, SetDimGrowsToTheIndexAndNotPastIt) {
  gert::Shape shape;
  shape.SetDim(2, 7);
  EXPECT_EQ(shape.GetDimNum(), 2u);
  EXPECT_EQ(shape.GetDim(2), 7);
}

TEST(GertStride, ReturnsItsStrides) {
  gert::Stride stride{3, 1};
  EXPECT_EQ(stride.GetStride(0), 3);
  EXPECT_EQ(stride.GetStride(25), gert::Stride::kInvalidStrideValue + 0);
  stride.SetStride(0, 6);
  EXPECT_EQ(stride[0], 6);
  EXPECT_EQ(stride.AppendStride(1).GetDimNum(), 3u);
  EXPECT_EQ(stride, (gert::Stride{6, 1, 1}));
}

// The table of the documents.
TEST(GertExpandDims, PutsOnesWhereTheRuleSays) {
  gert::Shape out;
  EXPECT_EQ(gert::ExpandDimsType("0110").Expand(gert::Shape{2, 2}, out), ge::GRAPH_SUCCESS);
  EXPECT_EQ(out, (gert::Shape{2, 1, 1, 2}));
  gert::Shape shape{2, 3};
  EXPECT_EQ(gert::ExpandDimsType("100").Expand(shape), ge::GRAPH_SUCCESS);
  EXPECT_EQ(shape, (gert::Shape{1, 2, 3}));
  gert::Shape unfit{2, 3};
  EXPECT_EQ(gert::ExpandDimsType("1000").Expand(unfit), ge::GRAPH_FAILED);
  EXPECT_EQ(unfit, (gert::Shape{2, 3}));
  gert::Shape full{2, 3, 4};
  EXPECT_EQ(gert::ExpandDimsType("100").Expand(full), ge::GRAPH_SUCCESS);
  EXPECT_EQ(full, (gert::Shape{2, 3, 4})) << "all dimensions are there already";
}

TEST(GertExpandDims, RulesAreStringsOrBitMasks) {
  const gert::ExpandDimsType text("1100");
  EXPECT_EQ(text.GetFullSize(), 4u);
  EXPECT_TRUE(text.IsExpandIndex(0) && text.IsExpandIndex(1) && !text.IsExpandIndex(2));
  EXPECT_FALSE(text.IsExpandIndex(64));
  EXPECT_EQ(text, gert::ExpandDimsType((int64_t{4} << 56) | 3));
  EXPECT_EQ(gert::ExpandDimsType(static_cast<const char*>(nullptr)), gert::ExpandDimsType());
  EXPECT_EQ(gert::ExpandDimsType(int64_t{-1}), gert::ExpandDimsType()) << "longer than a rule can be";
}

// Counts its owners; the data is one int.
struct Block {
  int owners = 1;
  bool refuses = false;
  int data = 42;
};

ge::graphStatus Manage(void* addr, gert::TensorOperateType operation, void** out) {
  auto* block = static_cast<Block*>(addr);
  if (block->refuses) return ge::GRAPH_FAILED;
  if (operation == gert::kGetTensorAddress) *out = &block->data;
  if (operation == gert::kFreeTensor) --block->owners;
  if (operation == gert::kPlusShareCount) ++block->owners;
  return ge::GRAPH_SUCCESS;
}

TEST(GertTensorData, CallsItsManagerAndFreesOnce) {
  Block block;
  {
    gert::TensorData data(&block, Manage, 4, gert::kOnHost);
    EXPECT_EQ(data.GetAddr(), &block.data);
    gert::TensorData moved(std::move(data));
    EXPECT_EQ(data.GetAddr(), nullptr);  // NOLINT: the moved-from state is defined
    EXPECT_EQ(data.GetPlacement(), gert::kTensorPlacementEnd);
    EXPECT_EQ(moved.GetSize(), 4u);
    gert::TensorData shared;
    EXPECT_EQ(shared.ShareFrom(moved), ge::GRAPH_SUCCESS);
    EXPECT_EQ(shared.ShareFrom(moved), ge::GRAPH_SUCCESS) << "already shared";
    EXPECT_TRUE(shared.IsSharedWith(moved));
    EXPECT_EQ(block.owners, 2);
    EXPECT_EQ(moved.Free(), ge::GRAPH_SUCCESS);
    EXPECT_EQ(moved.Free(), ge::GRAPH_SUCCESS);
    EXPECT_EQ(block.owners, 1);
    shared = gert::TensorData(&block, nullptr);
    EXPECT_EQ(block.owners, 0);
    EXPECT_EQ(shared.GetAddr(), &block) << "without a manager the address is the data";
  }
  EXPECT_EQ(block.owners, 0);
}

TEST(GertTensorData, ReleaseTransfersOwnershipAndAFailingManagerChangesNothing) {
  Block block;
  gert::TensorAddrManager manager = nullptr;
  {
    gert::TensorData data(&block, Manage, 4, gert::kOnDeviceHbm);
    EXPECT_EQ(data.Release(manager), &block);
    EXPECT_EQ(manager, &Manage);
  }
  EXPECT_EQ(block.owners, 1);
  block.refuses = true;
  gert::TensorData data(&block, Manage, 4, gert::kOnHost);
  EXPECT_EQ(data.GetAddr(), nullptr);
  EXPECT_EQ(data.Free(), ge::GRAPH_FAILED);
  EXPECT_EQ(data.SetAddr(nullptr, nullptr), ge::GRAPH_FAILED);
  gert::TensorData other;
  EXPECT_EQ(other.ShareFrom(data), ge::GRAPH_FAILED);
  EXPECT_EQ(other.GetAddr(), nullptr) << "what it may not share it does not have";
  block.refuses = false;
}

TEST(GertTensor, StartsEmptyWithZeroedReservedFields) {
  alignas(gert::Tensor) unsigned char memory[sizeof(gert::Tensor)];
  std::memset(memory, 0xab, sizeof(memory));
  auto* tensor = new (memory) gert::Tensor();
  EXPECT_EQ(tensor->GetAddr(), nullptr);
  EXPECT_EQ(tensor->GetSize(), 0u);
  EXPECT_EQ(tensor->GetPlacement(), gert::kTensorPlacementEnd);
  EXPECT_EQ(tensor->GetVersion(), gert::kTensorV1);
  EXPECT_EQ(tensor->GetDataType(), ge::DT_UNDEFINED);
  for (size_t i = 712; i < sizeof(memory); ++i) ASSERT_EQ(memory[i], 0) << i;
  for (size_t i = 633; i < 636; ++i) ASSERT_EQ(memory[i], 0) << i;
  tensor->~Tensor();
}

TEST(GertTensor, AllocatesTheSizeOfItsShapeAndType) {
  float values[6] = {};
  gert::Tensor tensor({{2, 3}, {2, 3}}, {ge::FORMAT_ND, ge::FORMAT_ND, {}}, gert::kOnHost, ge::DT_FLOAT, values);
  EXPECT_EQ(tensor.GetSize(), 24u);
  EXPECT_EQ(tensor.GetShapeSize(), 6);
  EXPECT_EQ(tensor.GetData<float>(), values);
  EXPECT_EQ(tensor.GetOriginShape(), (gert::Shape{2, 3}));
  gert::Tensor moved(std::move(tensor));
  EXPECT_EQ(moved.GetAddr(), values);
  tensor = std::move(moved);
  EXPECT_EQ(tensor.GetAddr(), values);
  Block block;
  tensor.SetData(gert::TensorData(&block, Manage, 4, gert::kOnHost));
  EXPECT_EQ(*tensor.GetData<int>(), 42);
  tensor = gert::Tensor();
  EXPECT_EQ(block.owners, 0);
}

TEST(GertTensor, DataMayFollowTheTensor) {
  size_t total = 0;
  const auto memory = gert::Tensor::CreateFollowing(4, ge::DT_FLOAT, total);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(total, sizeof(gert::Tensor) + 16);
  auto* tensor = reinterpret_cast<gert::Tensor*>(memory.get());
  EXPECT_EQ(tensor->GetAddr(), memory.get() + sizeof(gert::Tensor));
  EXPECT_EQ(tensor->GetSize(), 16u);
  EXPECT_EQ(tensor->GetPlacement(), gert::kFollowing);
  const auto wide = gert::TensorV2::CreateFollowing(ge::DT_INT8, 3, total);
  ASSERT_NE(wide, nullptr);
  EXPECT_EQ(reinterpret_cast<gert::TensorV2*>(wide.get())->GetAddr(), wide.get() + sizeof(gert::TensorV2));
  EXPECT_EQ(gert::Tensor::CreateFollowing(-1, ge::DT_FLOAT, total), nullptr);
  EXPECT_EQ(gert::Tensor::CreateFollowing(1, ge::DT_STRING, total), nullptr);
}

TEST(GertTensor, TheSecondVersionHasStridesAndAnOffset) {
  float values[6] = {};
  gert::TensorV2 tensor({{2, 3}, {2, 3}}, {}, gert::kOnHost, ge::DT_FLOAT, values, nullptr, {1, 2}, 3);
  EXPECT_EQ(tensor.GetVersion(), gert::kTensorV2);
  EXPECT_EQ(tensor.GetStride(), (gert::Stride{1, 2}));
  EXPECT_EQ(tensor.GetOffset(), 3);
  EXPECT_EQ(reinterpret_cast<gert::Tensor*>(&tensor)->GetVersion(), gert::kTensorV2) << "it begins with a Tensor";
  EXPECT_EQ(gert::TensorV2().GetVersion(), gert::kTensorV2);
}

TEST(GertContinuousVector, KeepsItsCapacity) {
  size_t total = 0;
  const auto memory = gert::ContinuousVector::Create<int64_t>(4, total);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(total, sizeof(gert::ContinuousVector) + 32);
  auto* vector = reinterpret_cast<gert::TypedContinuousVector<int64_t>*>(memory.get());
  EXPECT_EQ(vector->GetCapacity(), 4u);
  EXPECT_EQ(vector->SetSize(4), ge::GRAPH_SUCCESS);
  EXPECT_EQ(vector->SetSize(5), ge::GRAPH_PARAM_OUT_OF_RANGE);
  vector->MutableData()[3] = 7;
  EXPECT_EQ(vector->GetData()[3], 7);
  EXPECT_EQ(gert::ContinuousVector::Create<int64_t>(std::numeric_limits<size_t>::max()), nullptr);
}

TEST(GertContinuousVector, VectorsOfVectorsAreInOneBlock) {
  alignas(8) uint8_t memory[1024] = {};
  auto* outer = new (memory) gert::ContinuousVectorVector();
  outer->Init(2);
  gert::ContinuousVector* first = outer->Add<int64_t>(2);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uint8_t*>(first), memory + gert::ContinuousVectorVector::GetOverHeadLength(2));
  ASSERT_NE(outer->Add<int32_t>(3), nullptr);
  EXPECT_EQ(outer->Add<int32_t>(1), nullptr) << "no room";
  EXPECT_EQ(outer->GetSize(), 2u);
  EXPECT_EQ(outer->Get(0), first);
  EXPECT_EQ(outer->Get(1)->GetSize(), 3u);
}

}  // namespace
